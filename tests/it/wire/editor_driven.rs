//! The editor's own loop over a crash: what was given before an overflow stays, no tool runs twice, the
//! next prompt is byte for byte the same. What becomes of histories that differ from ours is in `histories`.

use super::script::{
    Editor, Folder, Summaries, asks_for_summary, bytes, calls, prose, read_by, says, sections, tools,
};
use crate::facts::{self, models};
use serde_json::{Value, json};

/// A turn as an editor runs it: it keeps rounds and results itself, and runs each call once.
pub struct Turn {
    /// The model, as the user picked it.
    pub model: Value,
    /// The request, as `prompt/render` takes it.
    pub input: Value,
    /// Its rounds, without the results of the newest.
    pub rounds: Vec<Value>,
    /// Results of the newest round.
    pub results: Vec<Value>,
    /// The calls that ran, in order.
    pub ran: Vec<String>,
    /// The metadata that came with renders.
    pub given: Vec<Value>,
}

impl Turn {
    /// A turn that begins.
    pub fn new(id: &str, content: &str) -> Self {
        let [usual, _] = models(8000);
        Self::of(&usual, id, content)
    }

    /// One of this model.
    pub fn of(model: &Value, id: &str, content: &str) -> Self {
        let (model, input) = (model.clone(), json!({ "externalId": id, "content": content }));
        Self { model, input, rounds: vec![], results: vec![], ran: vec![], given: vec![] }
    }

    /// Parameters of the render that comes next: results stand apart, as when a render of them failed before.
    pub fn params(&self) -> Value {
        json!({
            "sessionId": "e", "workspaceFolder": "/code/parser", "tools": tools(), "sections": sections(),
            "model": self.model,
            "input": self.input, "rounds": self.rounds, "toolResults": self.results,
        })
    }

    /// The model said this: a round begins, and its calls run.
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

    /// The turn as the editor persists it.
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

/// The answers of the long turn: the third render is over the limit.
pub fn answers() -> Vec<Value> {
    vec![
        calls(&prose("first answer", 130), ["c1"]),
        calls(&prose("second answer", 80), ["c2", "c3"]),
        calls("Now the rest.", ["c4"]),
        says("The parser works."),
    ]
}

/// Runs the long turn in the editor's loop; the turn and the metadata that its end answers.
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

/// The next request, rendered; its messages.
pub fn next(editor: &mut Editor, params: Value) -> String {
    let mut all = Turn::new("request-2", "And now the docs.").params();
    let (all_fields, more) = (all.as_object_mut().expect("an object"), params);
    for (name, value) in more.as_object().cloned().unwrap_or_default() {
        if value.is_null() { drop(all_fields.remove(&name)) } else { drop(all_fields.insert(name, value)) }
    }
    let rendered = editor.call("prompt/render", all);
    assert_eq!(rendered["metadata"], json!({}), "nothing new is made");
    assert_eq!(rendered["diagnostics"], json!([]));
    assert!(rendered.get("fork").is_none(), "{rendered}");
    bytes(&rendered["messages"])
}

/// Results are given before the overflow; the summary is made inline; the process is killed; then own store, the
/// editor's history and metadata, and `session/open` without a history. Each tool ran once.
///
#[test]
fn after_a_crash_the_next_render_is_byte_for_byte_the_same() {
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
    // The reply to the render has what is new, the turn's end all there is.
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

/// Killed in the middle of the turn: while the summary is made, and behind it. What was given is there, and the same
/// render is the same bytes, whether rounds and results are given again or not.
///
#[test]
fn a_turn_goes_on_in_a_new_process_where_it_was() {
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
        // Its metadata is not lost with the reply that nobody got: the turn's end has it.
        let ended = editor.call("turn/end", json!({ "sessionId": "e" }));
        assert_eq!(ended["metadata"], made["metadata"]);
    }
    assert_eq!(turn.ran, ["c1", "c2", "c3"]);
}

/// A render that is over the limit and may not compact keeps what it was given; the next one needs none of it again.
///
#[test]
fn a_render_that_is_refused_keeps_the_results_that_it_was_given() {
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
    // Neither rounds nor results are given again.
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
fn where_no_summary_can_be_made_the_render_is_answered_without_breakpoints() {
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
}

#[test]
fn what_cannot_fit_is_an_error_that_says_what_is_too_large() {
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
    // Nothing was lost: a larger window has it all.
    params = json!({ "sessionId": "e", "model": model });
    params["model"]["window"] = json!(32_000);
    let rendered = editor.call("prompt/render", params);
    assert!(rendered["messages"].to_string().contains("Make the parser work."));
}

#[test]
fn a_render_shows_variables_and_notebooks_as_they_were_at_its_first_time() {
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
    // Later ones of the same request do not give them, or give others: what was sent stays as it was.
    turn.goes_on(&calls("It is a function.", ["c1"]));
    for variables in [Value::Null, json!([{ "name": "selection", "value": "fn other() {}" }])] {
        let mut params = turn.params();
        params["variables"] = variables;
        let later = editor.call("prompt/render", params);
        assert_eq!(request(&later), request(&first));
        assert!(later["messages"].to_string().contains(&json!(read_by("c1")).to_string()));
        assert!(later.get("fork").is_none() && later["diagnostics"] == json!([]), "{later}");
    }
    // Nor does the next request change them.
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
    // One round ran: nothing stands before it that could be summed up.
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
