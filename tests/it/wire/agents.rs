//! Agents over the real binary, with a model on loopback: a parent that plans, starts two of them and waits, and goes
//! on by itself after its process was killed; limits, failures, cancellation and a user who comes first.

use super::client::{Client, Start, Wire};
use super::ground::{Folder, is_event, wait_state};
use models::testing::{Act, Asked, Reply, Server, chunk, done, usage};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const FOLDER: &str = "/code/parser";
const JOB: &str = "Build the parser.";

/// Names and arguments of calls.
type Calls<'a> = &'a [(&'a str, &'a str, Value)];

/// An answer with these calls: id, name and arguments of each.
fn calls(calls: Calls<'_>) -> Reply {
    let call = |(index, (id, name, arguments)): (usize, &(&str, &str, Value))| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        json!({ "index": index, "id": id, "type": "function", "function": function })
    };
    let all: Value = calls.iter().enumerate().map(call).collect();
    let delta = chunk(&json!({ "tool_calls": all }), None);
    Reply::stream(vec![delta, chunk(&json!({}), Some("tool_calls")), usage(), done()])
}

/// The messages of a request to the model.
fn messages(asked: &Asked) -> Vec<Value> {
    asked.body["messages"].as_array().expect("messages").clone()
}

/// The text of a message, whatever its form.
fn text(message: &Value) -> String {
    match &message["content"] {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        content => content.as_str().unwrap_or_default().to_owned(),
    }
}

/// The request that a session began with, and the number of answers since.
fn place(asked: &Asked) -> (String, usize) {
    let all = messages(asked);
    let request = all.iter().find(|message| message["role"] == "user").map(text).expect("a request");
    (request, all.iter().filter(|message| message["role"] == "assistant").count())
}

fn asked_by(server: &Server, request: &str) -> Vec<Asked> {
    server.asked().into_iter().filter(|asked| place(asked).0.starts_with(request)).collect()
}

fn serve(folder: &Folder, server: &Server, more: Value) -> Client {
    let mut settings = json!({
        "model": { "wire": "openai-chat", "name": "m", "baseUrl": server.url(), "window": 32_000 },
        "ownTools": ["todo", "read_scope", "start_agent", "wait_agents"], "deltaIntervalMs": 0,
    });
    settings.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    let mut client = Start::new(Wire::Pipes).start();
    client.initialize(json!({
        "capabilities": {}, "workspaceFolders": [{ "uri": format!("file://{FOLDER}"), "name": "parser" }],
        "initializationOptions": { "threadhold": {
            "protocolVersion": 1, "storage": { "path": folder.path() },
            "capabilities": { "toolInvoke": true, "requestPermission": true }, "settings": settings,
        } },
    }));
    client
}

fn open(client: &mut Client) -> Value {
    let tools =
        json!([{ "name": "check", "kind": "execute", "policy": "ask" }, { "name": "read", "kind": "read" }]);
    let params = json!({ "workspaceFolder": FOLDER, "sessionId": "parent", "tools": tools });
    client.call("session/open", params).expect("it opens")["snapshot"].take()
}

fn start(client: &mut Client, content: &str) -> Value {
    client.call("turn/start", json!({ "sessionId": "parent", "content": content })).expect("it starts")
}

/// Waits for an event of a session with this type.
fn event(client: &mut Client, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    let wanted = |frame: &Value| frame["method"] == "session/event" && is_it(&frame["params"]);
    client.wait_notification(what, wanted)["params"].take()
}

fn agent_is(client: &mut Client, name: &str, state: &str, status: &str) -> String {
    let what = format!("{name} is {state} and {status}");
    let told = event(client, &what, |event| {
        let agent = &event["agent"];
        (event["type"].as_str(), event["sessionId"].as_str()) == (Some("agentUpdated"), Some("parent"))
            && (agent["name"] == name && agent["state"] == state && agent["status"] == status)
    });
    told["agent"]["sessionId"].as_str().expect("an id").to_owned()
}

fn turn_ends(client: &mut Client, session: &str) -> Value {
    event(client, &format!("the end of a turn of {session}"), |event| {
        event["type"] == "runtimeUpdated" && event["sessionId"] == session && event.get("status").is_some()
    })
}

fn start_calls() -> [(&'static str, &'static str, Value); 2] {
    [
        ("s1", "start_agent", json!({ "task": "Write the lexer.", "name": "Lexer", "tools": ["read"] })),
        ("s2", "start_agent", json!({ "task": "Write the grammar.", "name": "Grammar" })),
    ]
}

/// The model of the job: the parent plans, starts two agents, waits and joins; one agent needs an approved call.
fn job(asked: &Asked) -> Reply {
    let (request, answers) = place(asked);
    match (request.as_str(), answers) {
        (request, 0) if request.starts_with(JOB) => {
            calls(&[("t", "todo", json!({ "add": ["the lexer", "the grammar"] }))])
        }
        (request, 1) if request.starts_with(JOB) => calls(&start_calls()),
        (request, 2) if request.starts_with(JOB) => calls(&[("w", "wait_agents", json!({}))]),
        (request, _) if request.starts_with(JOB) => Reply::says(&["Seven tokens, three rules: joined."]),
        (request, _) if request.starts_with("Write the lexer.") => {
            Reply::says(&["The lexer has seven tokens."])
        }
        (_, 0) => calls(&[("c", "check", json!({ "command": "make grammar" }))]),
        _ => calls(&[("f", "agent_finish", json!({ "summary": "The grammar has three rules." }))]),
    }
}

#[test]
fn two_agents_finish_a_job_whose_process_is_killed() {
    let folder = Folder::new();
    let server = Server::start(|_, asked| job(asked));
    let mut client = serve(&folder, &server, json!({}));
    open(&mut client);
    let turn = start(&mut client, JOB)["turnId"].take();
    // The user is asked in the name of the agent.
    let asked = client.wait_request("tool/requestPermission");
    let grammar = asked["params"]["sessionId"].as_str().expect("an id").to_owned();
    let agent = json!({ "name": "Grammar", "parentId": "parent" });
    assert_eq!(asked["params"]["agent"], agent);
    let paused = event(&mut client, "the pause", |event| event["type"] == "pauseRequired");
    assert_eq!((&paused["sessionId"], &paused["agent"]), (&json!(grammar), &agent));
    agent_is(&mut client, "Lexer", "idle", "completed");
    wait_state(&mut client, "parent", "waitingUserInput");
    client.kill();
    client.wait_exit();
    drop(client);

    // Nobody opens the parent: a process that serves its folder goes on with its turn.
    let mut client = serve(&folder, &server, json!({}));
    let listed = client.call("session/list", json!({ "workspaceFolder": FOLDER })).expect("a list");
    let of_parent = listed["sessions"].as_array().expect("sessions").iter();
    let mut children: Vec<_> = of_parent
        .filter(|session| session["parentId"] == "parent")
        .map(|session| (session["title"].as_str(), session["kind"].as_str(), session["state"].as_str()))
        .collect();
    children.sort_unstable();
    let expected = [("Grammar", "paused"), ("Lexer", "idle")];
    assert_eq!(children, expected.map(|(name, state)| (Some(name), Some("agent"), Some(state))));
    let decided = json!([{ "toolCallId": "c", "decision": "allowOnce" }]);
    client.call("tool/decide", json!({ "sessionId": grammar, "decisions": decided })).expect("it waits");
    let invoked = client.wait_request("tool/invoke");
    assert_eq!(invoked["params"]["sessionId"], grammar);
    client.respond(&invoked["id"], json!({ "content": "made" }));
    let ended = turn_ends(&mut client, "parent");
    assert_eq!((&ended["status"], &ended["turnId"]), (&json!("completed"), &turn));

    let snapshot = open(&mut client);
    assert_eq!(snapshot["turns"].as_array().map(Vec::len), Some(1), "it is the same turn");
    let shown = |agent: &Value| (agent["name"].clone(), agent["status"].clone());
    let agents: Vec<_> = snapshot["agents"].as_array().expect("agents").iter().map(shown).collect();
    assert_eq!(agents, ["Lexer", "Grammar"].map(|name| (json!(name), json!("completed"))));
    // The parent's model read both answers, and each of its prompts begins with the one before.
    let prompts = asked_by(&server, JOB);
    assert_eq!(prompts.len(), 4);
    for two in prompts.windows(2) {
        let (before, after) = (messages(&two[0]), messages(&two[1]));
        assert_eq!(before[..], after[..before.len()]);
    }
    let answers = text(messages(&prompts[3]).last().expect("a result"));
    assert!(answers.contains("\"Lexer\" completed]\nThe lexer has seven tokens."), "{answers}");
    assert!(answers.contains("\"Grammar\" completed]\nThe grammar has three rules."), "{answers}");
    // The agents saw the plan of the work, not the conversation, and only the tools that they were given.
    let lexer = asked_by(&server, "Write the lexer.");
    let request = messages(&lexer[0]);
    assert!(text(&request[request.len() - 1]).contains("Open todos:\n1. the lexer (pending)"), "{request:?}");
    assert!(!lexer[0].body.to_string().contains(JOB));
    let tools = lexer[0].body["tools"].as_array().expect("tools").iter();
    let tools: Vec<&str> = tools.filter_map(|tool| tool["function"]["name"].as_str()).collect();
    assert_eq!(tools, ["agent_finish", "read"]);
}

/// The agent whose process died is not restarted: its parent learns that, and starts another one.
#[test]
fn interrupted_agent_is_an_answer_for_its_parent() {
    let folder = Folder::new();
    let is_killed = Arc::new(AtomicBool::new(false));
    let killed = is_killed.clone();
    let server = Server::start(move |_, asked| match place(asked) {
        (request, 0) if request.starts_with(JOB) => calls(&start_calls()[..1]),
        (request, 1) if request.starts_with(JOB) => calls(&[("w", "wait_agents", json!({}))]),
        (request, _) if request.starts_with(JOB) => Reply::says(&["It did not work."]),
        _ if killed.load(Ordering::SeqCst) => Reply::says(&["never asked"]),
        _ => Reply::stream(vec![chunk(&json!({ "content": "Half a" }), None), Act::Hold]),
    });
    let mut client = serve(&folder, &server, json!({}));
    open(&mut client);
    start(&mut client, JOB);
    wait_state(&mut client, "parent", "waitingUserInput");
    event(&mut client, "the agent's answer", |event| event["type"] == "streamDelta");
    client.kill();
    client.wait_exit();
    is_killed.store(true, Ordering::SeqCst);
    let mut client = serve(&folder, &server, json!({}));
    open(&mut client);
    assert_eq!(turn_ends(&mut client, "parent")["status"], "completed");
    let answers = text(messages(asked_by(&server, JOB).last().expect("a prompt")).last().expect("a result"));
    assert!(answers.contains("\"Lexer\" interrupted: its process ended"), "{answers}");
    assert_eq!(asked_by(&server, "Write the lexer.").len(), 1, "nothing is asked again by itself");
}

#[test]
fn limits_and_failures_are_answers_for_the_model() {
    let folder = Folder::new();
    let server = Server::start(|_, asked| match place(asked) {
        (request, 0) if request.starts_with(JOB) => calls(&start_calls()),
        (request, 1) if request.starts_with(JOB) => {
            calls(&[("w", "wait_agents", json!({})), ("u", "wait_agents", json!({ "agents": ["nobody"] }))])
        }
        (request, 2) if request.starts_with(JOB) => calls(&[
            ("x", "start_agent", json!({ "task": "x", "tools": ["rm"] })),
            ("p", "start_agent", json!({ "task": "x", "preset": "fast" })),
        ]),
        (request, _) if request.starts_with(JOB) => Reply::says(&["So be it."]),
        _ => Reply::body(400, r#"{"error":{"message":"no such model"}}"#),
    });
    let mut client = serve(&folder, &server, json!({ "mostAgents": 1, "agentDepth": 1 }));
    open(&mut client);
    start(&mut client, JOB);
    assert_eq!(turn_ends(&mut client, "parent")["status"], "completed");
    let prompts = asked_by(&server, JOB);
    let results: Vec<String> =
        messages(&prompts[3]).iter().filter(|message| message["role"] == "tool").map(text).collect();
    let expected = [
        "its name is \"Lexer\"",
        "[agent limit reached: 1 agents of this session are at work and the limit is 1 (mostAgents)",
        "\"Lexer\" failed: ",
        "[no agent of this session has the id \"nobody\"",
        "[no agent was started: this session has no tool \"rm\"; it has: check, read,",
        "[no agent was started: unknown preset \"fast\"; presets: there are none]",
    ];
    assert_eq!(results.len(), expected.len(), "{results:#?}");
    for (result, expected) in results.iter().zip(expected) {
        assert!(result.contains(expected), "{expected} in {results:#?}");
    }
    assert!(results[2].contains("no such model"), "{}", results[2]);
    // At the deepest level there are no tools to start or await agents.
    let agent = asked_by(&server, "Write the lexer.");
    assert!(!agent[0].body["tools"].to_string().contains("start_agent"));
}

/// A cancelled turn takes its agents along; a message of the user leaves them running.
#[test]
fn agents_are_cancelled_with_their_parent_only() {
    let folder = Folder::new();
    let server = Server::start(|_, asked| match place(asked) {
        (request, 0) if request.starts_with(JOB) => calls(&start_calls()[..1]),
        (request, 1 | 3) if request.starts_with(JOB) => calls(&[("w", "wait_agents", json!({}))]),
        (request, _) if request.starts_with(JOB) => Reply::says(&["I am waiting for the lexer."]),
        _ => Reply::stream(vec![chunk(&json!({ "content": "Half a" }), None), Act::Hold]),
    });
    let mut client = serve(&folder, &server, json!({}));
    open(&mut client);
    start(&mut client, JOB);
    wait_state(&mut client, "parent", "waitingUserInput");
    let asked = start(&mut client, "What are you doing?");
    assert_eq!(asked.get("queuedPosition"), None);
    let first = turn_ends(&mut client, "parent");
    assert_eq!(first["status"], "completed", "the turn that waited");
    let second = turn_ends(&mut client, "parent");
    assert_eq!((&second["status"], &second["turnId"]), (&json!("completed"), &asked["turnId"]));
    let prompt = messages(&asked_by(&server, JOB)[2]);
    let result = prompt.iter().rfind(|message| message["role"] == "tool").map(text).expect("a result");
    assert!(result.contains("they keep running"), "{result}");

    start(&mut client, "Wait again.");
    wait_state(&mut client, "parent", "waitingUserInput");
    client.call("turn/cancel", json!({ "sessionId": "parent" })).expect("it is cancelled");
    agent_is(&mut client, "Lexer", "idle", "cancelled");
    assert!(client.frames().iter().any(|frame| is_event(frame, "agentUpdated")));
}

/// An agent of a preset has its model and role, starts an agent of its own with another model, and that one starts none.
#[test]
fn agent_of_a_preset_starts_one_with_another_model() {
    let folder = Folder::new();
    let server = Server::start(|_, asked| match place(asked) {
        (request, 0) if request.starts_with(JOB) => calls(&[(
            "s",
            "start_agent",
            json!({ "task": "Write the lexer.", "name": "Lexer", "preset": "fast" }),
        )]),
        (request, 0) if request.starts_with("Write the lexer.") => calls(&[(
            "s",
            "start_agent",
            json!({ "task": "Write the table.", "name": "Table", "model": "tiny" }),
        )]),
        (request, _) if request.starts_with("Write the table.") => Reply::says(&["The table has two rows."]),
        (_, 1) => calls(&[("w", "wait_agents", json!({}))]),
        (request, _) if request.starts_with("Write the lexer.") => Reply::says(&["The lexer is done."]),
        _ => Reply::says(&["All is done."]),
    });
    let model = json!({ "wire": "openai-chat", "name": "quick", "baseUrl": server.url(), "window": 32_000 });
    let preset = json!({ "name": "fast", "model": model, "role": "You are terse." });
    let mut client = serve(&folder, &server, json!({ "agentPresets": [preset] }));
    open(&mut client);
    start(&mut client, JOB);
    let lexer = agent_is(&mut client, "Lexer", "idle", "completed");
    event(&mut client, "the end of the parent's turn", |event| {
        event["type"] == "turnCompleted" && event["sessionId"] == "parent" && event["outcome"] == "completed"
    });

    let of_lexer = asked_by(&server, "Write the lexer.");
    let of_table = asked_by(&server, "Write the table.");
    assert_eq!((&of_lexer[0].body["model"], &of_table[0].body["model"]), (&json!("quick"), &json!("tiny")));
    for asked in [&of_lexer[0], &of_table[0]] {
        assert!(asked.body["messages"].to_string().contains("You are terse."), "settings are inherited");
    }
    let tools = |asked: &Asked| asked.body["tools"].to_string();
    assert!(tools(&of_lexer[0]).contains("start_agent") && !tools(&of_table[0]).contains("start_agent"));
    let result = messages(of_lexer.last().expect("a prompt")).last().map(text).expect("a result");
    assert!(result.contains("\"Table\" completed]\nThe table has two rows."), "{result}");
    let listed = client.call("session/list", json!({ "workspaceFolder": FOLDER })).expect("a list");
    let all = listed["sessions"].as_array().expect("sessions");
    let table = all.iter().find(|session| session["title"] == "Table").expect("it is listed");
    assert_eq!(table["parentId"], json!(lexer));
}

/// The process died after it had started an agent and before that was stored as the call's result: the call is run again
/// and names the agent that is there.
#[test]
fn call_that_started_an_agent_starts_no_second_one() {
    let folder = Folder::new();
    let server = Server::start(|_, asked| match place(asked) {
        (request, 0) if request.starts_with(JOB) => calls(&start_calls()[..1]),
        (request, 1) if request.starts_with(JOB) => Reply::says(&["It is at work."]),
        (request, 2) if request.starts_with(JOB) => calls(&[("w", "wait_agents", json!({}))]),
        (request, _) if request.starts_with(JOB) => Reply::says(&["The lexer is there."]),
        _ => Reply::says(&["The lexer has seven tokens."]),
    });
    let mut client = serve(&folder, &server, json!({}));
    open(&mut client);
    start(&mut client, JOB);
    let agent = agent_is(&mut client, "Lexer", "idle", "completed");
    client.call("session/close", json!({ "sessionId": "parent" })).expect("it is closed");
    client.kill();
    client.wait_exit();
    let file = Connection::open(Path::new(folder.path()).join("threadhold.db")).expect("the store");
    let undone = "DELETE FROM chat_messages WHERE segment = 'parent' AND ord >= 2;
        UPDATE chat_turns SET status = 'running' WHERE segment = 'parent';
        UPDATE chat_activity SET messages = 2 WHERE session = 'parent';";
    file.execute_batch(undone).expect("as if nothing had been written after the call");
    drop(file);

    let mut client = serve(&folder, &server, json!({}));
    assert_eq!(open(&mut client)["state"], "executingTools");
    let ended = event(&mut client, "the end of the turn", |event| event["type"] == "turnCompleted");
    assert_eq!((&ended["sessionId"], &ended["outcome"]), (&json!("parent"), &json!("completed")));
    let prompt = messages(asked_by(&server, JOB).last().expect("a prompt"));
    let result = text(prompt.last().expect("the result"));
    assert!(result.contains(&agent), "{result}");
    start(&mut client, "Wait for it.");
    assert_eq!(turn_ends(&mut client, "parent")["status"], "completed");
    assert_eq!(asked_by(&server, "Write the lexer.").len(), 1, "its task was given once");
    let listed = client.call("session/list", json!({ "workspaceFolder": FOLDER })).expect("a list");
    let agents = listed["sessions"].as_array().expect("sessions").iter();
    assert_eq!(agents.filter(|session| session["parentId"] == "parent").count(), 1);
}
