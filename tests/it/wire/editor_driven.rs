//! Sessions with the editor as their driver across a crash: rounds and results given before an overflow stay,
//! no tool runs twice, and the next prompt is byte identical. `histories` tests histories that differ.

use super::script::{
    Editor, Folder, Summaries, asks_for_summary, bytes, calls, prose, read_by, says, sections, tools,
};
use crate::facts::{self, models};
use serde_json::{Value, json};

/// A turn as an editor runs it: the editor keeps rounds and results and runs each call once.
pub struct Turn {
    /// The model, as the user picked it.
    pub model: Value,
    /// The request, as `prompt/render` takes it.
    pub input: Value,
    /// The turn's rounds, the newest without results.
    pub rounds: Vec<Value>,
    /// Results of the newest round.
    pub results: Vec<Value>,
    /// The calls that ran, in order.
    pub ran: Vec<String>,
    /// Metadata from renders.
    pub given: Vec<Value>,
}

impl Turn {
    /// A new turn of the usual model.
    pub fn new(id: &str, content: &str) -> Self {
        let [usual, _] = models(8000);
        Self::of(&usual, id, content)
    }

    /// A new turn of this model.
    pub fn of(model: &Value, id: &str, content: &str) -> Self {
        let (model, input) = (model.clone(), json!({ "externalId": id, "content": content }));
        Self { model, input, rounds: vec![], results: vec![], ran: vec![], given: vec![] }
    }

    /// Parameters of the next render, with the newest results apart, as after a failed render.
    pub fn params(&self) -> Value {
        json!({
            "sessionId": "e", "workspaceFolder": "/code/parser", "tools": tools(), "sections": sections(),
            "model": self.model,
            "input": self.input, "rounds": self.rounds, "toolResults": self.results,
        })
    }

    /// Handles an answer: begins a round and runs its calls.
    pub fn goes_on(&mut self, said: &Value) {
        let results = std::mem::take(&mut self.results);
        if let Some(last) = self.rounds.last_mut() {
            last["results"] = json!(results);
        }
        let id = format!(
            "{}-round-{}",
            self.input["externalId"].as_str().unwrap_or("none"),
            self.rounds.len() + 1
        );
        self.rounds.push(json!({ "id": id, "assistant": { "parts": said } }));
        for part in said.as_array().into_iter().flatten().filter(|part| part["type"] == "toolCall") {
            let call = part["id"].as_str().expect("a call has an id");
            self.ran.push(call.to_owned());
            self.results.push(json!({ "toolCallId": call, "content": read_by(call) }));
        }
    }

    /// The turn as the editor stores it.
    pub fn persisted(&self, metadata: Option<&Value>) -> Value {
        let mut turn = json!({
            "externalId": self.input["externalId"], "request": self.input["content"], "rounds": self.rounds,
        });
        if let Some(metadata) = metadata {
            turn["metadata"] = metadata.clone();
        }
        turn
    }
}

/// The answers of the long turn; its third render exceeds the limit.
pub fn answers() -> Vec<Value> {
    vec![
        calls(&prose("first answer", 130), ["c1"]),
        calls(&prose("second answer", 80), ["c2", "c3"]),
        calls("Now the rest.", ["c4"]),
        says("The parser works."),
    ]
}

/// Runs the long turn; returns it with the metadata of its end.
pub fn long_turn(editor: &mut Editor) -> (Turn, Value) {
    let [usual, _] = models(8000);
    long_turn_of(&usual, editor)
}

fn long_turn_of(model: &Value, editor: &mut Editor) -> (Turn, Value) {
    let mut turn = Turn::of(model, "request-1", "Make the parser work.");
    for answer in answers() {
        let rendered = editor.call("prompt/render", turn.params());
        for call in &turn.ran {
            assert!(rendered["messages"].to_string().contains(call.as_str()), "{call} is shown or named");
        }
        if rendered["metadata"] != json!({}) {
            turn.given.push(rendered["metadata"].clone());
        }
        turn.goes_on(&answer);
    }
    let last = turn.rounds.last().cloned().expect("it has rounds");
    editor.call("round/append", json!({ "sessionId": "e", "round": last }));
    let ended = editor.call("turn/end", json!({ "sessionId": "e", "status": "completed" }));
    (turn, ended["metadata"].clone())
}

/// Renders the next request; returns its messages.
pub fn next(editor: &mut Editor, params: Value) -> String {
    let mut all = Turn::new("request-2", "And now the docs.").params();
    let (all_fields, more) = (all.as_object_mut().expect("an object"), params);
    for (name, value) in more.as_object().cloned().unwrap_or_default() {
        if value.is_null() { drop(all_fields.remove(&name)) } else { drop(all_fields.insert(name, value)) }
    }
    let rendered = editor.call("prompt/render", all);
    assert_eq!(rendered["metadata"], json!({}), "nothing new is made");
    assert_eq!(rendered["diagnostics"], json!([]));
    assert!(rendered.get("revision").is_none(), "{rendered}");
    bytes(&rendered["messages"])
}

/// Results are given before the overflow, the summary is made inline, and the process is killed; then
/// restored from the store, from the editor's history and metadata, and by `session/open` without a history.
/// Each tool ran once.
#[test]
fn next_render_after_a_crash_is_byte_identical() {
    for model in &models(8000) {
        a_crash_changes_no_byte(model);
    }
}

fn a_crash_changes_no_byte(model: &Value) {
    let folder = Folder::new(&format!("editor-reference-{}", facts::name(model)));
    let mut reference = Editor::start(&folder, Value::Null);
    let (turn, metadata) = long_turn_of(model, &mut reference);
    assert_eq!(turn.ran, ["c1", "c2", "c3", "c4"], "each tool ran once");
    assert!(reference.ran.is_empty(), "the sidecar runs no tool of an editor's loop");
    assert_eq!(reference.asked_for("summary").len(), 1);
    assert_eq!(reference.asked.len(), 1, "the editor's own model is its own business");
    // The render's result has the new metadata, the turn's end all of it.
    assert_eq!(turn.given, std::slice::from_ref(&metadata));
    assert_eq!(metadata["summary"]["toolCallRoundId"], "request-1-round-1");
    assert_eq!(metadata["summaries"], json!([metadata["summary"]]));
    let messages = next(&mut reference, json!({ "model": model }));
    assert_eq!(messages.matches("<conversation-summary>").count(), 1);

    let folder = Folder::new(&format!("editor-killed-{}", facts::name(model)));
    let mut editor = Editor::start(&folder, Value::Null);
    let (turn, metadata) = long_turn_of(model, &mut editor);
    editor.kill();
    let history = json!([turn.persisted(Some(&metadata))]);
    let nowhere = |n: u32| Folder::new(&format!("editor-nowhere-{n}-{}", facts::name(model)));
    let cases = [
        ("store", folder.copy(&format!("editor-store-{}", facts::name(model))), json!({})),
        ("both", folder.copy(&format!("editor-both-{}", facts::name(model))), json!({ "history": history })),
        (
            "found",
            folder.copy(&format!("editor-found-{}", facts::name(model))),
            json!({ "history": history, "sessionId": null }),
        ),
        ("history", nowhere(1), json!({ "history": history })),
        ("kept nowhere", nowhere(2), json!({ "history": history, "sessionId": null })),
        ("opened", folder.copy(&format!("editor-opened-{}", facts::name(model))), json!({})),
    ];
    for (what, folder, mut params) in cases {
        params["model"] = model.clone();
        let mut editor = Editor::start(&folder, Value::Null);
        if what == "opened" {
            let opened = editor.open_with("e", "editor", None);
            assert_eq!(opened["restore"]["source"], "store");
            assert_eq!(opened["snapshot"]["turns"][0]["metadata"], metadata);
        }
        assert_eq!(next(&mut editor, params), messages, "{what}");
        assert!(editor.asked.is_empty() && editor.ran.is_empty(), "{what}: nobody is asked again");
    }
}

/// Killed within the turn, during the summary and after it. The given results are there, and the same render
/// has the same bytes, whether rounds and results are sent again or not.
#[test]
fn turn_continues_in_a_new_process() {
    for model in &models(8000) {
        goes_on_in_a_new_process(model);
    }
}

fn goes_on_in_a_new_process(model: &Value) {
    let folder = Folder::new(&format!("editor-middle-{}", facts::name(model)));
    let mut editor = Editor::start(&folder, Value::Null);
    let mut turn = Turn::of(model, "request-1", "Make the parser work.");
    for answer in answers().iter().take(2) {
        editor.call("prompt/render", turn.params());
        turn.goes_on(answer);
    }
    editor.client.request("prompt/render", turn.params());
    editor.until("a question for a summary", asks_for_summary);
    let in_summary = folder.copy(&format!("editor-in-summary-{}", facts::name(model)));
    editor.kill();
    let mut editor = Editor::start(&in_summary, Value::Null);
    let made = editor.call("prompt/render", json!({ "sessionId": "e", "model": model }));
    assert_eq!((&made["mode"], editor.asked_for("summary").len()), (&json!("full"), 1));
    let messages = bytes(&made["messages"]);
    for call in ["c2", "c3"] {
        assert!(messages.contains(&json!(read_by(call)).to_string()), "{call}");
    }
    editor.kill();
    let params = [turn.params(), json!({ "sessionId": "e", "model": model })];
    for (n, params) in params.into_iter().enumerate() {
        let behind = in_summary.copy(&format!("editor-behind-{n}-{}", facts::name(model)));
        let mut editor = Editor::start(&behind, Value::Null);
        let rendered = editor.call("prompt/render", params);
        assert_eq!(bytes(&rendered["messages"]), messages);
        assert!(editor.asked.is_empty(), "no second summary is made");
        // Metadata of a lost response is in the turn's end.
        let ended = editor.call("turn/end", json!({ "sessionId": "e" }));
        assert_eq!(ended["metadata"], made["metadata"]);
    }
    assert_eq!(turn.ran, ["c1", "c2", "c3"]);
}

/// A render that exceeds the limit and may not compact keeps its results; the next one need not send them.
#[test]
fn refused_render_keeps_its_results() {
    for model in &models(8000) {
        refused_and_kept(model);
    }
}

fn refused_and_kept(model: &Value) {
    let folder = Folder::new(&format!("editor-refused-{}", facts::name(model)));
    let mut editor = Editor::start(&folder, Value::Null);
    let mut turn = Turn::of(model, "request-1", "Make the parser work.");
    for answer in answers().iter().take(2) {
        editor.call("prompt/render", turn.params());
        turn.goes_on(answer);
    }
    let mut params = turn.params();
    params["summarize"] = json!("never");
    let error = editor.refused("prompt/render", params);
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-33006), &json!("BudgetExceeded")));
    let data = &error["data"];
    let (limit, needed) = (data["limit"].as_u64(), data["needed"].as_u64());
    assert!(limit < needed, "{data}");
    let sections = data["sections"].as_array().expect("sections");
    let sum: u64 = sections.iter().filter_map(|section| section["tokens"].as_u64()).sum();
    assert_eq!(Some(sum), needed, "the sections are the whole: {data}");
    assert!(sections.iter().any(|section| section["name"] == "currentRounds"), "{data}");
    assert!(editor.asked.is_empty(), "nobody is asked for a summary that is not wanted");
    // Without rounds and results.
    let again = json!({ "sessionId": "e", "model": model });
    let rendered = editor.call("prompt/render", again);
    for call in ["c2", "c3"] {
        assert!(rendered["messages"].to_string().contains(&json!(read_by(call)).to_string()), "{call}");
    }
    assert_eq!((turn.ran.len(), editor.asked.len()), (3, 1));
    assert_eq!(rendered["mode"], "full");
    let limit = rendered["limit"].as_u64();
    assert!(rendered["tokens"].as_u64() <= limit, "{rendered}");
}

#[test]
fn render_without_a_summary_has_no_breakpoints() {
    for model in &models(8000) {
        no_summary_can_be_made(model);
    }
}

fn no_summary_can_be_made(model: &Value) {
    let folder = Folder::new(&format!("editor-failing-{}", facts::name(model)));
    let mut editor = Editor::start(&folder, Value::Null);
    editor.summaries = Summaries::Failing;
    let mut turn = Turn::of(model, "request-1", "Make the parser work.");
    let mut last = Value::Null;
    for answer in answers().iter().take(2) {
        last = editor.call("prompt/render", turn.params());
        turn.goes_on(answer);
    }
    assert!(last["messages"].to_string().contains("cacheBreakpoint"), "{last}");
    let rendered = editor.call("prompt/render", turn.params());
    assert_eq!(rendered["mode"], "ledger");
    assert!(!rendered["messages"].to_string().contains("cacheBreakpoint"));
    let marks = rendered["plan"].as_array().expect("a plan").iter().filter(|s| s["cacheBreakpoint"] == true);
    assert_eq!(marks.count(), 0);
    let messages = rendered["messages"].to_string();
    assert!(messages.contains(&json!(read_by("c2")).to_string()), "the newest round is whole");
    assert_eq!(editor.asked.len(), 2, "full, then simple");
    assert!(rendered["metadata"]["summary"]["text"].as_str().is_some_and(|text| text.contains("src/c1.rs")));

    // The same prompt carries the same marks, in this process and in the next one.
    let again = json!({ "sessionId": "e", "model": model });
    assert_eq!(editor.call("prompt/render", again.clone())["messages"], rendered["messages"]);
    editor.kill();
    let mut editor = Editor::start(&folder, Value::Null);
    assert_eq!(editor.call("prompt/render", again)["messages"], rendered["messages"]);
    assert_eq!(editor.asked.len(), 0);
    // One that has something new carries them again.
    turn.goes_on(&answers()[2]);
    let next = editor.call("prompt/render", turn.params());
    assert!(next["messages"].to_string().contains("cacheBreakpoint"), "{next}");
}

#[test]
fn oversized_render_error_names_the_part() {
    for model in &models(8000) {
        cannot_fit(model);
    }
}

fn cannot_fit(model: &Value) {
    let folder = Folder::new(&format!("editor-cannot-fit-{}", facts::name(model)));
    let mut editor = Editor::start(&folder, Value::Null);
    let mut params = Turn::of(model, "request-1", "Make the parser work.").params();
    params["sections"] = json!([{ "name": "rules", "content": prose("rule", 200) }]);
    params["model"]["window"] = json!(2000);
    let error = editor.refused("prompt/render", params.clone());
    let data = &error["data"];
    assert_eq!(
        (&error["code"], &data["kind"], &data["window"]),
        (&json!(-33007), &json!("CannotFit"), &json!(2000))
    );
    let size = |name: &str| {
        let sections = data["sections"].as_array().expect("sections");
        sections.iter().find(|section| section["name"] == name).and_then(|section| section["tokens"].as_u64())
    };
    assert!(size("system") > data["limit"].as_u64(), "{data}");
    for name in ["tools", "pins", "currentMessage", "newestRound"] {
        assert!(size(name).is_some(), "{name}: {data}");
    }
    let sum = ["tools", "system", "pins", "currentMessage", "newestRound"].into_iter().filter_map(size).sum();
    assert_eq!(data["needed"].as_u64(), Some(sum));
    assert!(editor.asked.is_empty(), "nothing was sent");
    // A larger window shows that nothing was lost.
    params = json!({ "sessionId": "e", "model": model });
    params["model"]["window"] = json!(32_000);
    let rendered = editor.call("prompt/render", params);
    assert!(rendered["messages"].to_string().contains("Make the parser work."));
}

#[test]
fn variables_and_notebooks_stay_as_first_rendered() {
    let folder = Folder::new("editor-variables");
    let mut editor = Editor::start(&folder, Value::Null);
    let mut turn = Turn::new("request-1", "What is selected?");
    let mut params = turn.params();
    params["variables"] = json!([{ "name": "selection", "value": "fn parse() {}" }]);
    params["notebook"] = json!([{ "uri": "file:///n.ipynb", "content": "cell 1: 42" }]);
    let first = editor.call("prompt/render", params);
    let text = first["messages"].to_string();
    for given in ["fn parse() {}", "cell 1: 42", "What is selected?", "You are a careful programmer."] {
        assert_eq!(text.matches(given).count(), 1, "{given}: {text}");
    }
    assert_eq!(first["tools"][0]["name"], "read");
    let request = |rendered: &Value| {
        let messages = rendered["messages"].as_array().expect("messages").clone();
        messages
            .into_iter()
            .find(|message| message["role"] == "user")
            .map(|message| message["parts"].to_string())
    };
    // Later renders of the request without variables, or with others, do not change the sent text.
    turn.goes_on(&calls("It is a function.", ["c1"]));
    for variables in [Value::Null, json!([{ "name": "selection", "value": "fn other() {}" }])] {
        let mut params = turn.params();
        params["variables"] = variables;
        let later = editor.call("prompt/render", params);
        assert_eq!(request(&later), request(&first));
        assert!(later["messages"].to_string().contains(&json!(read_by("c1")).to_string()));
        assert!(later.get("revision").is_none() && later["diagnostics"] == json!([]), "{later}");
    }
    // Nor does the next request.
    let next = next(&mut editor, json!({}));
    for (given, times) in [("fn parse() {}", 1), ("cell 1: 42", 1), ("fn other()", 0)] {
        assert_eq!(next.matches(given).count(), times, "{given}: {next}");
    }
}

#[test]
fn a_summary_can_be_forced_before_it_is_needed() {
    for model in &models(8000) {
        is_forced(model);
    }
}

fn is_forced(model: &Value) {
    let folder = Folder::new(&format!("editor-force-{}", facts::name(model)));
    let mut editor = Editor::start(&folder, Value::Null);
    let mut turn = Turn::of(model, "request-1", "Make the parser work.");
    for answer in answers().iter().take(1) {
        editor.call("prompt/render", turn.params());
        turn.goes_on(answer);
    }
    let mut params = turn.params();
    params["summarize"] = json!("force");
    // A single round leaves nothing before it to summarize.
    let lone = editor.call("prompt/render", params);
    assert_eq!((&lone["metadata"], editor.asked.len()), (&json!({}), 0), "{lone}");
    assert_eq!(lone["diagnostics"][0]["kind"], "nothingToSummarize", "{lone}");
    turn.goes_on(&calls("Short.", ["c2"]));
    let mut params = turn.params();
    params["summarize"] = json!("force");
    let forced = editor.call("prompt/render", params);
    assert_eq!((&forced["mode"], editor.asked.len()), (&json!("full"), 1));
    assert_eq!(forced["metadata"]["summary"]["toolCallRoundId"], "request-1-round-1");
    assert!(forced["tokens"].as_u64() < lone["tokens"].as_u64());
}

#[test]
fn second_turn_start_while_one_is_open_names_the_way_out() {
    let folder = Folder::new("editor-open-turn");
    let mut editor = Editor::start(&folder, Value::Null);
    let start = |content: &str| json!({ "sessionId": "e", "content": content });
    let state = |editor: &mut Editor| {
        editor.call("session/list", json!({}))["sessions"][0]["state"].as_str().map(str::to_owned)
    };
    editor.open_with("e", "editor", None);
    let first = editor.call("turn/start", start("Make the parser work."))["turnId"].take();
    assert_eq!(state(&mut editor).as_deref(), Some("generating"));
    let refused = editor.refused("turn/start", start("And the docs."));
    assert_eq!(refused["data"]["state"], "generating", "{refused}");
    let accepts = refused["data"]["accepts"].as_array().expect("methods");
    for way_out in ["turn/end", "turn/cancel", "session/open"] {
        assert!(accepts.contains(&json!(way_out)), "{refused}");
        assert!(refused["message"].as_str().is_some_and(|text| text.contains("turn/cancel")), "{refused}");
    }
    assert!(!accepts.contains(&json!("turn/start")), "{refused}");
    // Another process ends it.
    editor.kill();
    let mut editor = Editor::start(&folder, Value::Null);
    let opened = editor.open_with("e", "editor", None);
    let turn = &opened["snapshot"]["turns"][0];
    assert_eq!(
        (&turn["id"], &turn["status"], &turn["interrupted"]),
        (&first, &json!("cancelled"), &json!(true))
    );
    assert_eq!(state(&mut editor).as_deref(), Some("idle"));
    // Cancelling ends it, and the next one begins.
    editor.call("turn/start", start("And the docs."));
    let cancelled = editor.call("turn/cancel", json!({ "sessionId": "e" }));
    assert_eq!(cancelled["state"], "idle");
    let ended = editor.events("turnCompleted");
    assert_eq!(ended.last().map(|event| &event["outcome"]), Some(&json!("cancelled")));
    editor.call("turn/start", start("Once more."));
}
