//! Failures that only a whole server can show: words of one session in another, replays that differ from the
//! server, very small windows. Failures of a prompt, the store or a single session are in `promises`.

use super::client::{Client, Wire};
use super::editor_driven::Turn;
use super::script::{Editor, Folder, Summaries, bytes, calls, prose, read_by, says, tools};
use crate::facts::{self, models};
use engine::compact::policy::DEFAULT;
use engine::message::{AssistantPart, Beside, Body, NewMessage, ToolCall};
use engine::prompt::item::{Approval, Tool, ToolKind};
use engine::settings::BudgetSettings;
use import::{Entry, Format, Import};
use serde_json::{Value, json};
use std::collections::VecDeque;
use threadhold::convert;
use threadhold::replay::{Options, Render, Watch, replay};
use threadhold::tokenizer::O200k;

fn settings(model: &Value) -> Value {
    json!({ "model": model })
}

/// Rounds with one call of `read` each.
fn rounds(name: &str, count: usize) -> impl Iterator<Item = Value> {
    (0..count).map(move |n| {
        let mut said = calls(&format!("The {name} of {n}."), ["c"]);
        said[1]["id"] = json!(format!("{name}{n}"));
        said[1]["arguments"] = json!({ "path": format!("src/{name}{n}.rs") });
        said
    })
}

/// Two compacted sessions in turn: neither sees a word of the other.
#[test]
fn two_sessions_never_see_each_others_words_or_summaries() {
    for model in &models(6000) {
        keep_to_themselves(model);
    }
}

fn keep_to_themselves(model: &Value) {
    let folder = Folder::new(&format!("failures-two-{}", facts::name(model)));
    let mut editor = Editor::start(&folder, settings(model));
    for session in ["alpha", "beta"] {
        editor.open(session, None);
    }
    for turn in 0..4 {
        for (session, other) in [("alpha", "beta"), ("beta", "alpha")] {
            let before = editor.asked.len();
            editor.answers.extend(rounds(session, 6));
            editor.answers.push_back(says(&format!("The {session} is done.")));
            let content = format!("Make {session} work, step {turn}.");
            let ended = editor.turn(json!({ "sessionId": session, "content": content }));
            assert_eq!(ended["status"], "completed", "{ended}");
            for asked in &editor.asked[before..] {
                assert_eq!(asked["sessionId"], session, "{asked}");
                assert!(!bytes(&asked["messages"]).contains(other), "{session} is shown the {other}");
            }
        }
    }
    for session in ["alpha", "beta"] {
        let mut all = editor.asked.iter().filter(|asked| asked["sessionId"] == session);
        let last = all.rfind(|asked| asked["purpose"] == "turn").expect("it was asked");
        let words = bytes(&last["messages"]);
        assert_eq!(words.matches("<conversation-summary>").count(), 1, "{session} was summed up");
    }
}

/// The script's tool.
fn read() -> Tool {
    let tool = tools()[0].clone();
    Tool {
        rules: Vec::new(),
        ends_turn: None,
        name: "read".into(),
        description: tool["description"].as_str().expect("a description").into(),
        input_schema: tool["inputSchema"].clone(),
        kind: Some(ToolKind::Read),
        guidelines: None,
        approval: Approval::default(),
        origin: None,
    }
}

/// The answers of the conversation that is both replayed and served.
fn conversation() -> Vec<Value> {
    let mut said: Vec<Value> = rounds("parser", 14).collect();
    said.push(says("The parser works."));
    said
}

/// Prompts and plans of a replay, in the form of the protocol.
#[derive(Default)]
struct Replayed(Vec<(Value, Value)>);

impl Watch for Replayed {
    fn rendered(&mut self, render: &Render<'_>) {
        let prompt = render.outcome.as_ref().expect("it fits");
        let marks = convert::breakpoints(prompt);
        let messages = json!(convert::prompt_messages(&prompt.items, &marks));
        self.0.push((messages, json!(convert::plan(&prompt.plan, true))));
    }
}

fn replayed() -> Replayed {
    let mut entries = vec![Entry::Message(NewMessage::user("Make the parser work."))];
    for said in conversation() {
        let text = said[0]["text"].as_str().expect("words").into();
        let called: Vec<&Value> = said.as_array().expect("parts").iter().skip(1).collect();
        let calls = called.iter().map(|call| {
            let id = call["id"].as_str().expect("an id");
            ToolCall::new(id, "read", &call["arguments"].to_string())
        });
        let parts = vec![AssistantPart::Text(text)];
        let body = Body::Assistant { parts, calls: calls.collect(), beside: Beside::default() };
        entries.push(Entry::Message(NewMessage::new(body)));
        for call in called {
            let id = call["id"].as_str().expect("an id");
            entries.push(Entry::Message(NewMessage::new(Body::result(id, &read_by(id)))));
        }
    }
    let import = Import {
        format: Format::Jsonl,
        title: None,
        system: Some("You are a careful programmer.".into()),
        tools: vec![read()],
        entries,
        skipped: Vec::new(),
    };
    let options = Options {
        window: 6000,
        policy: DEFAULT,
        budget: BudgetSettings::default(),
        max_result: Some(16_000),
        recorded: false,
    };
    let mut prompts = Replayed::default();
    replay(&import, &options, &O200k, &mut None, &mut prompts).expect("a window");
    prompts
}

/// A conversation through a replay and through the server, without a model: prompts and plans are byte
/// identical, before, at and after a compaction.
#[test]
fn replay_and_server_make_equal_prompts_and_plans() {
    let folder = Folder::new("failures-replay");
    let mut client = Client::new(Wire::Pipes);
    client.initialize(json!({
        "capabilities": {},
        "initializationOptions": { "threadhold": {
            "protocolVersion": 1, "storage": { "path": folder.path() }, "capabilities": {},
        } },
    }));
    let mut editor = Editor {
        client,
        answers: VecDeque::new(),
        summaries: Summaries::Good,
        asked: Vec::new(),
        ran: Vec::new(),
    };
    let mut turn = Turn::new("request-1", "Make the parser work.");
    let replayed = replayed().0;
    let mut compacted = 0;
    for (n, (said, (messages, plan))) in conversation().iter().zip(&replayed).enumerate() {
        let mut params = turn.params();
        params["model"] = json!({ "name": "m", "window": 6000 });
        params["sections"] = json!([{ "name": "system", "content": "You are a careful programmer." }]);
        let rendered = editor.call("prompt/render", params);
        assert_eq!(rendered["messages"], *messages, "render {n}");
        assert_eq!(rendered["plan"], *plan, "render {n}");
        compacted += usize::from(rendered["metadata"] != json!({}));
        turn.goes_on(said);
    }
    assert!(compacted > 1, "{compacted} compactions");
    assert!(editor.asked.is_empty(), "no model was asked");
}

/// A long turn with few tools in a small window is compacted repeatedly, and completes.
#[test]
fn long_turn_completes_in_a_small_window() {
    for (window, least) in [(4000, 5), (8000, 2)] {
        let cases = models(window).into_iter().flat_map(|model| {
            let each = [Summaries::Good, Summaries::Failing, Summaries::TooLong];
            each.map(|summaries| (model.clone(), summaries))
        });
        for (model, summaries) in cases {
            let name = format!("{}, {window}, {summaries:?}", facts::name(&model));
            let folder =
                Folder::new(&format!("failures-small-{}-{window}-{summaries:?}", facts::name(&model)));
            let mut editor = Editor::start(&folder, settings(&model));
            editor.summaries = summaries;
            editor.open("s", None);
            editor.answers.extend(rounds("parser", 30));
            editor.answers.push_back(says("The parser works."));
            let ended = editor.turn(json!({ "sessionId": "s", "content": "Make the parser work." }));
            assert_eq!(ended["status"], "completed", "{name}: {ended}");
            let phases = editor.events("compactionUpdated");
            let made = |phase: &str| phases.iter().filter(|event| event["phase"] == phase).count();
            assert!(made("accepted") >= least, "{name}: {} compactions", made("accepted"));
            assert_eq!(made("cannotFit"), 0, "{name}");
            assert_eq!(editor.ran.len(), 30, "{name}: each tool ran once");
            editor.use_is_told(&model);
            for asked in editor.asked_for("turn") {
                let words = bytes(&asked["messages"]);
                assert_eq!(words.matches("Make the parser work.").count(), 1, "{name}");
            }
        }
    }
}

/// Forty tools of about five thousand tokens.
fn many_tools() -> Value {
    let about = prose("tool", 6);
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    (0..40)
        .map(|n| json!({ "name": format!("tool_{n}"), "description": about, "inputSchema": schema }))
        .collect()
}

/// If the tools alone exceed the window, both drivers get the sizes; a larger window works.
#[test]
fn oversized_tools_are_named_with_their_size() {
    for model in &models(4000) {
        names_their_size(model);
    }
}

fn names_their_size(model: &Value) {
    let folder = Folder::new(&format!("failures-tools-{}", facts::name(model)));
    let mut editor = Editor::start(&folder, settings(model));
    editor.call(
        "session/open",
        json!({ "workspaceFolder": "/code/parser", "sessionId": "s", "driver": "sidecar", "tools": many_tools() }),
    );
    let is_named = |data: &Value| {
        assert_eq!((&data["kind"], &data["window"]), (&json!("CannotFit"), &json!(4000)), "{data}");
        let sections = data["sections"].as_array().expect("sections");
        let size = |name: &str| {
            sections
                .iter()
                .find(|section| section["name"] == name)
                .and_then(|section| section["tokens"].as_u64())
        };
        assert!(size("tools") > Some(4000) && size("tools") > data["limit"].as_u64(), "{data}");
        let all = ["tools", "system", "pins", "currentMessage", "newestRound"].into_iter().filter_map(size);
        assert_eq!(data["needed"].as_u64(), Some(all.sum()), "{data}");
    };
    let ended = editor.turn(json!({ "sessionId": "s", "content": "Make the parser work." }));
    assert_eq!(ended["status"], "failed", "{ended}");
    is_named(&ended["error"]["data"]);
    assert!(editor.asked.is_empty(), "nothing was sent");
    let mut params = Turn::of(model, "request-1", "Make the parser work.").params();
    params["tools"] = many_tools();
    is_named(&editor.refused("prompt/render", params.clone())["data"]);
    params["model"]["window"] = json!(32_000);
    let rendered = editor.call("prompt/render", params);
    assert!(bytes(&rendered["messages"]).contains("Make the parser work."));
}

/// A model without system and tool roles gets every call followed by its result, before and after a
/// compaction.
#[test]
fn model_of_two_roles_gets_each_call_with_its_result() {
    for roles in [json!(["user", "assistant"]), json!(["user", "assistant", "system"]), Value::Null] {
        let folder = Folder::new(&format!("failures-roles-{}", roles.as_array().map_or(0, Vec::len)));
        let mut editor = Editor::start(&folder, Value::Null);
        let mut turn = Turn::new("request-1", "Make the parser work.");
        let mut compacted = 0;
        for n in 0..12 {
            let said = calls("Three more.", [&format!("a{n}"), &format!("b{n}"), &format!("c{n}")]);
            let mut params = turn.params();
            params["model"] = json!({ "name": "m", "window": 6000, "roles": roles });
            let rendered = editor.call("prompt/render", params);
            compacted += usize::from(rendered["metadata"] != json!({}));
            let messages = rendered["messages"].as_array().expect("messages");
            let ids = |message: &Value, kind: &str, id: &str| -> Vec<String> {
                let parts = message["parts"].as_array().into_iter().flatten();
                let of_kind = parts.filter(|part| part["type"] == kind);
                of_kind.filter_map(|part| part[id].as_str().map(str::to_owned)).collect()
            };
            let mut open: Vec<String> = Vec::new();
            for message in messages {
                let is_known = roles.as_array().is_none_or(|roles| roles.contains(&message["role"]));
                assert!(is_known, "{roles}: {}", message["role"]);
                for answered in ids(message, "toolResult", "toolCallId") {
                    let at = open.iter().position(|call| *call == answered);
                    open.remove(at.unwrap_or_else(|| panic!("{roles}: an orphan {answered}")));
                }
                let called = ids(message, "toolCall", "id");
                assert!(called.is_empty() || open.is_empty(), "{roles}: {open:?} is not answered");
                open.extend(called);
            }
            assert_eq!(open, [""; 0], "{roles}");
            turn.goes_on(&said);
        }
        assert!(compacted > 1, "{roles}: {compacted} compactions");
    }
}
