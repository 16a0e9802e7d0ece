//! Who sums up, and with what: a model of its own at a second address, the main one where that fails, and the editor's own
//! model that knows neither system text nor a way to be told of tools and use none.

use super::{WIRES, accepted, answer, is_summary, settings, summary, turn, used};
use crate::models::server::{Reply, Server, event};
use crate::wire::client::{Start, Wire};
use crate::wire::script::{Editor, Folder, NARRATIVE, prose, says, tools};
use serde_json::{Value, json};

/// A main model that runs over a window of 8,000 tokens, and sums up well.
fn main_model() -> Server {
    let mut rounds = 0;
    Server::start(move |_, asked| {
        if is_summary(asked) {
            return summary("openai-chat");
        }
        rounds += 1;
        match rounds {
            1 => answer("openai-chat", &prose("first answer", 130), &["c1"]),
            2 => answer("openai-chat", &prose("second answer", 80), &["c2", "c3"]),
            3 => answer("openai-chat", "Now the rest.", &["c4"]),
            _ => answer("openai-chat", "The parser works.", &[]),
        }
    })
}

/// Settings with a model for summaries at another address.
fn with_summaries(main: &Server, other: &Server) -> Value {
    let mut settings = settings("openai-chat", &main.url(), 8000);
    settings["summaryModel"] = json!("small");
    settings["summaryBaseUrl"] = json!(other.url());
    settings["summaryMode"] = json!("full");
    settings
}

/// The model for summaries gets these alone, and the main one none: by its name, without chance, told of the tools and to
/// use none.
///
/// rows: M17 M18 V19 V30
#[test]
fn a_model_for_summaries_gets_these_alone() {
    let (main, other) = (main_model(), Server::replies(vec![summary("openai-chat")]));
    let folder = Folder::new("asked-summaries");
    let mut editor = Editor::start(&folder, with_summaries(&main, &other));
    editor.open("s", None);
    let ended = turn(&mut editor, "Make the parser work.");
    assert_eq!((&ended["status"], accepted(&editor)), (&json!("completed"), 1), "{ended}");
    let asked = other.asked();
    assert_eq!(asked.len(), 1);
    let body = &asked[0].body;
    assert_eq!(
        (&body["model"], &body["temperature"], &body["tool_choice"]),
        (&json!("small"), &json!(0), &json!("none"))
    );
    assert_eq!(body["tools"][0]["function"]["name"], "read");
    assert!(body.to_string().contains("The first answer goes on"));
    assert!(main.asked().iter().all(|asked| !is_summary(asked) && asked.body["model"] == "m"));
    assert_eq!(main.asked().len(), 4);
}

/// Where it fails the main one is asked the same, once.
///
/// rows: M17 M18
#[test]
fn where_the_model_for_summaries_fails_the_main_one_sums_up() {
    let (main, other) =
        (main_model(), Server::replies(vec![Reply::body(401, "{\"error\": {\"message\": \"no\"}}")]));
    let folder = Folder::new("asked-spare");
    let mut editor = Editor::start(&folder, with_summaries(&main, &other));
    editor.open("s", None);
    let ended = turn(&mut editor, "Make the parser work.");
    assert_eq!((&ended["status"], accepted(&editor)), (&json!("completed"), 1), "{ended}");
    let (asked, spare) = (other.asked(), main.asked());
    let spare: Vec<_> = spare.iter().filter(|asked| is_summary(asked)).collect();
    assert_eq!((asked.len(), spare.len()), (1, 1));
    let (mut a, mut b) = (asked[0].body.clone(), spare[0].body.clone());
    assert_eq!((a["model"].take(), b["model"].take()), (json!("small"), json!("m")));
    assert_eq!(a, b, "it is asked the same");
}

/// A summary that breaks in the middle of its words is asked for again: nobody read them, and none of them is in it.
///
/// rows: M17
#[test]
fn a_summary_that_breaks_in_its_middle_is_asked_for_again() {
    let half = json!({ "choices": [{ "index": 0, "delta": { "content": "<summary>\nHalf of it" } }] });
    let broken = json!({ "error": { "code": 529, "message": "Overloaded, retry after 1ms" } });
    let other =
        Server::replies(vec![Reply::stream(vec![event(&half), event(&broken)]), summary("openai-chat")]);
    let main = main_model();
    let folder = Folder::new("asked-half");
    let mut editor = Editor::start(&folder, with_summaries(&main, &other));
    editor.open("s", None);
    let ended = turn(&mut editor, "Make the parser work.");
    assert_eq!((&ended["status"], accepted(&editor)), (&json!("completed"), 1), "{ended}");
    assert_eq!(other.asked().len(), 2);
    let asked = main.asked();
    assert!(asked.iter().all(|asked| !is_summary(asked) && !asked.body.to_string().contains("Half of it")));
}

/// No key leaves for another place than the one it is named for, and what is wrong there says so.
///
/// rows: M18
#[test]
fn a_key_goes_where_it_is_named_for() {
    for named in [None, Some("OTHER_KEY")] {
        let (main, other) = (main_model(), Server::replies(vec![summary("openai-chat")]));
        let folder = Folder::new(&format!("asked-key-{}", named.is_some()));
        let mut settings = with_summaries(&main, &other);
        settings["model"]["keyEnv"] = json!("MAIN_KEY");
        if let Some(name) = named {
            settings["summaryKeyEnv"] = json!(name);
        }
        let start = Start::new(Wire::Pipes).variable("MAIN_KEY", "main-1").variable("OTHER_KEY", "other-1");
        let mut editor = Editor::over(start.start(), &folder, settings);
        editor.open("s", None);
        let ended = turn(&mut editor, "Make the parser work.");
        assert_eq!(ended["status"], "completed", "{ended}");
        let asked = other.asked();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].header("authorization"), named.map(|_| "Bearer other-1"));
        assert!(main.asked().iter().all(|asked| asked.header("authorization") == Some("Bearer main-1")));
    }
}

/// What a provider cannot say is said by us: where the address ends, and that no key was sent.
#[test]
fn a_page_that_is_not_there_and_a_key_that_nobody_named_are_explained() {
    for (status, told) in [(404, "it ends before /chat/completions"), (401, "No key was sent")] {
        let server = Server::replies(vec![Reply::body(status, "{\"error\": {\"message\": \"no\"}}")]);
        let folder = Folder::new(&format!("asked-told-{status}"));
        let mut editor = Editor::start(&folder, settings("openai-chat", &server.url(), 32_000));
        editor.open("s", None);
        let ended = turn(&mut editor, "What is it?");
        assert!(ended["status"] == "failed" && ended.to_string().contains(told), "{ended}");
    }
}

/// A model of `vscode.lm`: it knows a user and itself, is told of no tools where it is to use none, says nothing of what it
/// used, and counts instead.
#[test]
fn a_model_of_an_editors_own_goes_down_the_ladder() {
    for mode in ["full", "simple"] {
        let folder = Folder::new(&format!("asked-lm-{mode}"));
        let model = json!({ "name": "lm", "window": 8000, "roles": ["user", "assistant"], "toolChoiceNone": false,
                            "usage": false, "countTokens": true });
        let mut editor =
            Editor::start(&folder, json!({ "model": model, "summaryMode": mode, "titles": "off" }));
        editor.open("s", None);
        let turn = editor.call("turn/start", json!({ "sessionId": "s", "content": "Make the parser work." }));
        let mut answers = vec![
            says("The parser works."),
            crate::wire::script::calls("Now the rest.", ["c4"]),
            crate::wire::script::calls(&prose("second answer", 80), ["c2", "c3"]),
            crate::wire::script::calls(&prose("first answer", 130), ["c1"]),
        ];
        let (mut counted, mut purposes) = (0, Vec::new());
        loop {
            let frame = editor.client.wait("a question, or the end", |frame| {
                frame.get("id").is_some() && frame.get("method").is_some()
                    || frame["params"]["turnId"] == turn["turnId"] && frame["params"].get("status").is_some()
            });
            let params = &frame["params"];
            match frame["method"].as_str() {
                Some("model/countTokens") => {
                    counted += 1;
                    let texts = params["texts"].as_array().expect("texts").iter();
                    let tokens: Vec<usize> =
                        texts.map(|text| text.as_str().unwrap_or_default().len() / 4).collect();
                    editor.client.respond(&frame["id"], json!({ "tokens": tokens }));
                }
                Some("model/complete") => {
                    let messages = params["messages"].as_array().expect("messages");
                    for message in messages {
                        assert!(message["role"] == "user" || message["role"] == "assistant", "{message}");
                    }
                    assert_eq!(messages[0]["role"], "user", "the system text is the user's first");
                    assert!(
                        messages[0].to_string().contains("careful programmer")
                            || params["purpose"] == "summary"
                    );
                    purposes.push(params["purpose"].clone());
                    let parts = if params["purpose"] == "summary" {
                        let tools = params["tools"].as_array().map_or(0, Vec::len);
                        assert_eq!((tools, params["toolChoice"] == "none"), (0, false), "{mode}: {params}");
                        says(&format!("<summary>\n{NARRATIVE}\n</summary>"))
                    } else {
                        assert_eq!(
                            params["tools"].as_array().map(Vec::len),
                            tools().as_array().map(Vec::len)
                        );
                        answers.pop().expect("it is done by now")
                    };
                    editor.client.respond(&frame["id"], json!({ "content": parts }));
                }
                Some("session/event") => {
                    assert_eq!(params["status"], "completed", "{mode}: {frame}");
                    break;
                }
                _ => editor.answer(&frame),
            }
        }
        assert_eq!(editor.ran, ["c1", "c2", "c3", "c4"], "{mode}");
        assert_eq!(accepted(&editor), 1, "{mode}");
        assert_eq!(purposes.iter().filter(|purpose| **purpose == "summary").count(), 1, "{mode}");
        assert!(counted > 0, "{mode}: it counts in place of saying what was used");
        let told =
            editor.client.wait_notification("what was counted", |frame| frame["method"] == "model/usage");
        assert_eq!(told["params"]["source"], "countTokens", "{mode}");
        assert!(!editor.events("prefixBroken").is_empty(), "{mode}: the lost prefix is told");
    }
}

/// An answer that is none, to a prompt of which more was read than the window holds, is an overflow like any other. And half
/// a window that was read of a prompt that filled it, over Ollama, makes the next one smaller.
#[test]
fn an_overflow_that_nobody_speaks_of_goes_to_the_ladder() {
    for wire in WIRES {
        let mut rounds = 0;
        let server = Server::start(move |_, asked| {
            if is_summary(asked) {
                return summary(wire);
            }
            rounds += 1;
            match rounds {
                1 => answer(wire, &prose("first answer", 130), &["c1"]),
                2 => answer(wire, &prose("second answer", 80), &["c2", "c3"]),
                3 => used(wire, "", &[], 10_000),
                _ => answer(wire, "The parser works.", &[]),
            }
        });
        let folder = Folder::new(&format!("asked-silent-{wire}"));
        let mut editor = Editor::start(&folder, settings(wire, &server.url(), 9900));
        editor.open("s", None);
        let ended = turn(&mut editor, "Make the parser work.");
        assert_eq!((&ended["status"], accepted(&editor)), (&json!("completed"), 1), "{wire}: {ended}");
        assert_eq!(editor.ran, ["c1", "c2", "c3"], "{wire}");
        assert!(
            server.asked().last().expect("it was asked").body.to_string().contains("Make the parser work.")
        );
    }
}

/// Ollama drops the beginning of what it cannot hold and answers all the same: the next prompt is smaller.
#[test]
fn a_prompt_that_ollama_cut_in_silence_makes_the_next_one_smaller() {
    for (input, compactions) in [(8100, 1), (1000, 0), (11_500, 0)] {
        let mut rounds = 0;
        let server = Server::start(move |_, asked| {
            if is_summary(asked) {
                return summary("ollama");
            }
            rounds += 1;
            let all = u32::try_from(asked.body.to_string().len() / 4).expect("a small number");
            match rounds {
                1 => used("ollama", &prose("first answer", 440), &["c1"], all),
                2 => used("ollama", &prose("second answer", 90), &["c2"], all),
                3 => used("ollama", "Half of it.", &[], input),
                _ => used("ollama", "All of it.", &[], all),
            }
        });
        let folder = Folder::new(&format!("asked-half-{input}"));
        let mut editor = Editor::start(&folder, settings("ollama", &server.url(), 20_000));
        editor.open("s", None);
        let ended = turn(&mut editor, "Make the parser work.");
        assert_eq!((&ended["status"], accepted(&editor)), (&json!("completed"), 0), "{ended}");
        let ended = turn(&mut editor, "Go on.");
        assert_eq!((&ended["status"], accepted(&editor)), (&json!("completed"), compactions), "{input}");
    }
}
