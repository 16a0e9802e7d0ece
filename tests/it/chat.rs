//! `threadhold chat` as a user sees it: the built binary, typed lines, output, Ctrl-C, in pipes and in a
//! terminal. Tools are tested in their module, sessions elsewhere.

mod person;
mod servers;
mod sessions;
mod tasks;
mod terminal;
mod tools;

use crate::wire::client::{Client, Start, Wire};
use models::testing::{Act, Reply, Server, chunk};
use person::{Folder, Person};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A stream with this text that stays open until the client disconnects.
fn holds(text: &str) -> Reply {
    Reply::stream(vec![chunk(&json!({ "content": text }), None), Act::Hold])
}

/// Flags for a chat with this server.
fn with(server: &Server) -> [String; 4] {
    ["--model".into(), "openai-chat:m".into(), "--base-url".into(), server.url()]
}

/// Roles and texts of a request's messages.
fn messages(body: &Value) -> Vec<(String, String)> {
    let text = |content: &Value| match content {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        other => other.as_str().unwrap_or_default().to_owned(),
    };
    let messages = body["messages"].as_array().expect("messages");
    let said = |message: &Value| {
        (message["role"].as_str().unwrap_or_default().to_owned(), text(&message["content"]))
    };
    messages.iter().map(said).collect()
}

fn pair(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

/// The tool result in the last request.
fn told(server: &Server) -> String {
    let asked = server.asked();
    let (role, text) = messages(&asked.last().expect("it was asked").body).pop().expect("a message");
    assert_eq!(role, "tool");
    text
}

#[test]
fn stopped_answer_keeps_its_streamed_text() {
    let folder = Folder::new();
    let server = Server::replies(vec![holds("Once upon"), Reply::says(&["So ", "it ", "went."])]);
    let mut person = Person::new(&folder, &with(&server));
    person.types("Tell me a story.");
    person.hears("Once upon");
    person.presses_ctrl_c();
    person.sees("(stopped; the partial answer is kept)");
    person.types("Go on.");
    person.hears("went.\n");
    let said = person.leaves();
    assert_eq!((said.out.as_str(), said.code), ("Once upon\nSo it went.\n", Some(0)), "{}", said.err);
    let asked = server.asked();
    let expected = [pair("user", "Tell me a story."), pair("assistant", "Once upon"), pair("user", "Go on.")];
    assert_eq!(messages(&asked[1].body), expected);

    // The partial answer survives the process.
    let mut person = Person::new(&folder, &[&with(&server)[..], &["--continue".into()]].concat());
    person.types("And then?");
    person.hears("went.\n");
    person.leaves();
    let asked = server.asked();
    let expected = [expected.to_vec(), vec![pair("assistant", "So it went."), pair("user", "And then?")]];
    assert_eq!(messages(&asked[2].body), expected.concat());
}

#[test]
fn each_call_needs_approval_until_always() {
    let folder = Folder::new();
    folder.write("a.txt", "hello");
    let call = || Reply::calls("c", "run_command", r#"{"command":"cat a.txt"}"#);
    let done = || Reply::says(&["Done."]);
    let server = Server::replies(vec![call(), done(), call(), done(), call(), done(), call(), done()]);
    let mut person = Person::new(&folder, &with(&server));
    person.types("Read it.");
    person.sees("allow?");
    // Other input is no decision.
    person.types("perhaps");
    person.sees("allow?");
    assert_eq!(server.asked().len(), 1, "nothing ran before the user decided");
    person.types("y");
    person.hears("Done.\n");
    assert_eq!(told(&server), "hello");
    person.types("Read it again.");
    person.sees("allow?");
    person.types("n not this one");
    person.hears("Done.\n");
    assert!(told(&server).contains("not this one") && !told(&server).contains("hello"), "{}", told(&server));
    person.types("Read it after all.");
    person.sees("allow?");
    person.types("always");
    person.hears("Done.\n");
    assert_eq!(told(&server), "hello");
    person.types("And once more.");
    person.hears("Done.\n");
    assert_eq!(told(&server), "hello");
    let said = person.leaves();
    assert_eq!(said.code, Some(0));
    assert_eq!(said.err.matches("allow?").count(), 4, "{}", said.err);
}

#[test]
fn a_call_is_asked_about_with_unseen_characters_named() {
    let folder = Folder::new();
    let path = "a\u{202e}txt.b\u{202c}\u{200b}\u{a0}c\u{e0041}";
    let arguments = format!("{{\"path\":\"{path}\",\r\"old\":\"a\",\"new\":\"b\"}}");
    let server =
        Server::replies(vec![Reply::calls("c", "edit_file", &arguments), Reply::says(&["As you wish."])]);
    let mut person = Person::new(&folder, &with(&server));
    person.types("Change it.");
    person.sees("allow?");
    person.types("n");
    person.hears("As you wish.\n");
    let named = r#"{"path":"a[U+202E]txt.b[U+202C][U+200B][U+00A0]c[U+E0041]",[U+000D]"old":"a","new":"b"}"#;
    let said = person.leaves();
    assert!(said.err.contains(&format!("edit_file {named} (")), "{}", said.err);
    assert!(!said.err.chars().any(|c| path.contains(c) && !c.is_ascii()), "{}", said.err);
}

#[test]
fn a_question_that_was_left_open_is_asked_again() {
    let folder = Folder::new();
    folder.write("a.txt", "hello");
    let server = Server::replies(vec![
        Reply::calls("c", "run_command", r#"{"command":"cat a.txt"}"#),
        Reply::says(&["It says hello."]),
    ]);
    let mut person = Person::new(&folder, &with(&server));
    person.types("Read it.");
    person.sees("allow?");
    person.kill();
    let mut person = Person::new(&folder, &[&with(&server)[..], &["--continue".into()]].concat());
    person.sees("allow?");
    person.types("y");
    person.hears("It says hello.\n");
    assert_eq!(told(&server), "hello");
    person.leaves();
}

/// A server that does steps at length, and sums them up; the goal of a summary by the number of its request.
fn sums_up(goal: impl Fn(usize) -> String + Send + Sync + 'static) -> Server {
    let long = format!("I did it.{}", " And so on.".repeat(500));
    Server::start(move |at, asked| {
        let (_, last) = messages(&asked.body).pop().expect("a message");
        let summary = format!(
            "<summary>\n## Goal\n{}\n## Decisions\nNone.\n## State\nGood.\n## Next steps\nMore.\n\
             ## Open questions\nNone.\n</summary>",
            goal(at)
        );
        if last.starts_with("Do") { Reply::says(&[&long]) } else { Reply::says(&[&summary]) }
    })
}

/// Has four steps done, enough for a compaction.
fn has_steps_done(person: &mut Person) {
    for step in 1..5 {
        person.types(&format!("Do step {step}."));
        person.hears("And so on.\n");
    }
}

#[test]
fn a_compaction_by_hand_is_made_and_taken_back() {
    let folder = Folder::new();
    let server = sums_up(|_| "SUMMED UP".to_owned());
    let mut person = Person::new(&folder, &with(&server));
    has_steps_done(&mut person);
    person.types("/compact the first step");
    person.sees("(done; /undo reverts it)");
    person.types("Do step 5.");
    person.hears("And so on.\n");
    let shown = |server: &Server| messages(&server.asked().last().expect("it was asked").body);
    assert!(shown(&server).iter().any(|(_, text)| text.contains("SUMMED UP")), "{:?}", shown(&server));
    person.types("/undo");
    person.sees("(reverted");
    person.types("Do step 6.");
    person.hears("And so on.\n");
    assert!(!shown(&server).iter().any(|(_, text)| text.contains("SUMMED UP")), "{:?}", shown(&server));
    person.types("/summon");
    person.sees("unknown command /summon");
    assert_eq!(person.leaves().code, Some(0));
}

/// Runs one turn of an editor's session over pipes, with this server.
fn serves(folder: &Folder, server: &Server, content: &str) -> Value {
    let mut editor = Client::new(Wire::Pipes);
    editor.initialize(json!({ "capabilities": {}, "initializationOptions": { "threadhold": {
        "protocolVersion": 1, "storage": { "path": folder.storage() },
        "settings": { "model": { "wire": "openai-chat", "name": "m", "baseUrl": server.url() } },
    } } }));
    let open = json!({ "workspaceFolder": folder.path(), "sessionId": "s" });
    let opened = editor.call("session/open", open).expect("it opens");
    editor.call("turn/start", json!({ "sessionId": "s", "content": content })).expect("it starts");
    editor.wait_notification("the end of the turn", |frame| frame["params"]["status"] == "completed");
    editor.call("shutdown", Value::Null).expect("it shuts down");
    editor.notify("exit", Value::Null);
    editor.wait_exit();
    opened
}

#[test]
fn session_moves_between_editor_and_terminal() {
    let folder = Folder::new();
    let server = Server::start(|at, _| Reply::says(&[&format!("Answer {at}.")]));
    serves(&folder, &server, "From the editor.");
    for flag in ["--session=s", "--continue"] {
        let mut person = Person::new(&folder, &[&with(&server)[..], &[flag.into()]].concat());
        person.types("From the terminal.");
        person.hears("Answer");
        assert_eq!(person.leaves().code, Some(0));
    }
    let opened = serves(&folder, &server, "From the editor again.");
    assert_eq!(opened["snapshot"]["messages"].as_array().map(Vec::len), Some(6));
    let asked = server.asked();
    let expected = [
        pair("user", "From the editor."),
        pair("assistant", "Answer 0."),
        pair("user", "From the terminal."),
        pair("assistant", "Answer 1."),
        pair("user", "From the terminal."),
        pair("assistant", "Answer 2."),
        pair("user", "From the editor again."),
    ];
    assert_eq!(messages(&asked[3].body), expected);
}

/// The dumped model requests of a process, in order.
fn dumped(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read_to_string(file).expect("a text")).collect()
}

/// The client's parameters of this method in a recording.
fn recorded(file: &Path, method: &str) -> Value {
    let text = std::fs::read_to_string(file).expect("a recording");
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let frame = lines.find(|line| line["frame"]["method"] == method);
    frame.unwrap_or_else(|| panic!("no {method} was said"))["frame"]["params"].clone()
}

#[test]
fn terminal_and_editor_send_the_same_bytes() {
    let folder = Folder::new();
    folder.write("a.txt", "hello");
    folder.write("AGENTS.md", "Be brief.");
    let fixtures = [
        json!({ "answers": [{ "say": "It is fine." }] }),
        json!({ "answers": [{ "say": "Let me look.", "call": { "name": "read_file", "arguments": { "path": "a.txt" } } },
                            { "call": { "name": "grep", "arguments": { "pattern": "hel+o" } } },
                            { "say": "It says hello." }] }),
        json!({ "answers": [{ "call": { "name": "run_command", "arguments": "{broken" } }, { "say": "Well." }] }),
        json!({ "answers": [{ "call": { "name": "unknown" } }], "then": "empty" }),
    ];
    for (at, (calls, fixture)) in [0, 0, 1, 0].into_iter().zip(&fixtures).enumerate() {
        let place = |name: &str| folder.beside(&format!("{name}-{at}"));
        let (model, recording) = (place("model"), place("recording"));
        std::fs::write(&model, fixture.to_string()).expect("a file");
        let flags = |dump: &Path| {
            let (model, dump) = (format!("scripted:{}", model.display()), dump.display().to_string());
            ["--model".to_owned(), model, "--dump-prompts".into(), dump]
        };
        let (ours, theirs) = (place("chat"), place("serve"));
        let more =
            ["--record".to_owned(), recording.display().to_string(), "--session".into(), format!("s{at}")];
        let mut person = Person::new(&folder, &[&flags(&ours)[..], &more[..]].concat());
        person.types("What is in a.txt?");
        (0..calls).for_each(|_| person.types("y"));
        person.types("/quit");
        person.ends();

        let mut open = recorded(&recording, "session/open");
        let mut turn = recorded(&recording, "turn/start");
        open["settings"] = json!({ "model": { "wire": "scripted", "baseUrl": model } });
        for params in [&mut open, &mut turn] {
            params["sessionId"] = json!("editor");
        }
        let start =
            Start::new(Wire::Pipes).argument("--dump-prompts").argument(theirs.to_str().expect("text"));
        let mut editor = start.start();
        editor.initialize(json!({ "capabilities": {}, "initializationOptions": { "threadhold": {
            "protocolVersion": 1, "storage": { "backend": "memory" }, "capabilities": { "toolInvoke": true },
        } } }));
        editor.call("session/open", open).expect("it opens");
        editor.call("turn/start", turn).expect("it starts");
        answers_for_the_person(&mut editor, &recording);
        editor.call("shutdown", Value::Null).expect("it shuts down");
        editor.notify("exit", Value::Null);
        editor.wait_exit();
        let (ours, theirs) = (dumped(&ours), dumped(&theirs));
        assert!(!ours.is_empty());
        assert_eq!(ours, theirs, "{fixture}");
    }
}

/// Answers permissions and questions as in this recording, until the turn ends.
fn answers_for_the_person(editor: &mut Client, recording: &Path) {
    let text = std::fs::read_to_string(recording).expect("a recording");
    let mut results = text.lines().filter_map(|line| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        let is_result = line["from"] == "client" && line["frame"]["result"]["content"].is_array();
        is_result.then(|| line["frame"]["result"].take())
    });
    loop {
        let frame = editor.wait("a question, a call or the end", |frame| {
            frame["method"] == "tool/invoke"
                || frame["params"]["type"] == "pauseRequired"
                || frame["params"]["status"] == "completed"
        });
        if frame["method"] == "tool/invoke" {
            let result = results.next().expect("the chat ran as many tools");
            editor.respond(&frame["id"], result);
        } else if frame["params"]["type"] == "pauseRequired" {
            let decide =
                |reason: &Value| json!({ "toolCallId": reason["toolCallId"], "decision": "allowOnce" });
            let reasons = frame["params"]["reasons"].as_array().expect("reasons");
            let decisions: Vec<Value> = reasons.iter().map(decide).collect();
            let params = json!({ "sessionId": "editor", "decisions": decisions });
            editor.call("tool/decide", params).expect("it is decided");
        } else {
            return;
        }
    }
}

#[test]
fn fresh_machine_has_a_model_and_failures_are_shown() {
    let folder = Folder::new();
    let mut person = Person::new(&folder, &[]);
    person.types("Hello.");
    person.hears("Hello.");
    let said = person.leaves();
    assert!(said.err.contains("no model is set"), "{}", said.err);
    assert_eq!(said.code, Some(0));

    let server = Server::replies(vec![Reply::body(401, r#"{"error":{"message":"no such key"}}"#)]);
    let mut person = Person::new(&folder, &with(&server));
    person.types("Hello.");
    person.sees("no such key");
    let said = person.leaves();
    assert_eq!((said.out.as_str(), said.code), ("", Some(1)), "{}", said.err);
}

#[test]
fn what_cannot_be_meant_is_said_and_nothing_begins() {
    let folder = Folder::new();
    for (flags, said) in [
        (["--model", "oracle:m"], "--model oracle:m: expected WIRE:NAME"),
        (["--model", "ollama"], "--model ollama: the model's name is missing: ollama:NAME"),
        (["--model", "editor:m"], "--model editor:m: expected WIRE:NAME"),
        (["--folder", "nowhere"], "not a directory"),
        (["--set", "modl.window=3"], "similar: model.window"),
        (["--session", "a b"], "must have 1 to 128 characters"),
    ] {
        let person = Person::new(&folder, &flags.map(str::to_owned));
        let ended = person.ends();
        assert!(ended.err.contains(said), "{}", ended.err);
        assert_eq!((ended.out.as_str(), ended.code), ("", Some(2)));
    }
}

/// Output cannot be taken back, so the reader is told which part of it is void.
#[test]
fn answer_that_breaks_off_is_shown_again_from_its_beginning() {
    let folder = Folder::new();
    let cut = Reply::stream(vec![chunk(&json!({ "content": "Once upon" }), None), Act::Cut]);
    let server = Server::replies(vec![cut, Reply::says(&["It ", "was."])]);
    let mut person = Person::new(&folder, &with(&server));
    person.types("Tell me a story.");
    person.hears("It was.\n");
    let said = person.leaves();
    assert_eq!((said.out.as_str(), said.code), ("Once upon\nIt was.\n", Some(0)), "{}", said.err);
    assert!(said.err.contains("(the answer broke off and begins again)"), "{}", said.err);
}
