//! Models for summaries: a separate one at a second address, with the main one as fallback. Also overflows
//! that no provider reports.

use super::{WIRES, accepted, answer, in_turn, is_summary, settings, summary, turn, unused, used};
use crate::wire::client::{Start, Wire};
use crate::wire::script::{Editor, Folder, prose};
use models::testing::{Reply, Server, event};
use serde_json::{Value, json};

/// A main model with a window of 8,000 tokens that can also summarize.
fn main_model() -> Server {
    in_turn("openai-chat", move |request, _| match request {
        1 => answer("openai-chat", &prose("first answer", 130), &["c1"]),
        2 => answer("openai-chat", &prose("second answer", 80), &["c2", "c3"]),
        3 => answer("openai-chat", "Now the rest.", &["c4"]),
        _ => answer("openai-chat", "The parser works.", &[]),
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

/// The model for summaries gets all of them and nothing else: with its own name, temperature 0, the tools,
/// and the instruction to use none.
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

/// If it fails, the main model gets the same request once.
#[test]
fn main_model_summarizes_if_the_summary_model_fails() {
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

/// A summary that breaks in the middle is requested again: no user saw it, and nothing of it is kept.
#[test]
fn broken_summary_is_requested_again() {
    let half =
        json!({ "choices": [{ "index": 0, "delta": { "content": "<summary>\nA broken beginning" } }] });
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
    assert!(
        asked
            .iter()
            .all(|asked| !is_summary(asked) && !asked.body.to_string().contains("A broken beginning"))
    );
}

/// A key is sent only to the address it is configured for, and the provider's error is reported.
#[test]
fn key_is_sent_only_to_its_own_address() {
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

/// Errors get an explanation that the provider cannot give: the address, or the missing key.
#[test]
fn missing_page_and_missing_key_are_explained() {
    for (status, told) in [(404, "it ends before /chat/completions"), (401, "no key was sent")] {
        let server = Server::replies(vec![Reply::body(status, "{\"error\": {\"message\": \"no\"}}")]);
        let folder = Folder::new(&format!("asked-told-{status}"));
        let mut editor = Editor::start(&folder, settings("openai-chat", &server.url(), 32_000));
        editor.open("s", None);
        let ended = turn(&mut editor, "What is it?");
        assert!(ended["status"] == "failed" && ended.to_string().contains(told), "{ended}");
    }
}

/// An empty answer whose reported input exceeds the window counts as an overflow.
#[test]
fn unreported_overflow_starts_compaction() {
    for wire in WIRES {
        let server = in_turn(wire, move |request, _| match request {
            1 => answer(wire, &prose("first answer", 130), &["c1"]),
            2 => answer(wire, &prose("second answer", 80), &["c2", "c3"]),
            3 => used(wire, "", &[], 10_000),
            _ => answer(wire, "The parser works.", &[]),
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

/// An empty answer without usage counts as an overflow if the prompt is near the limit, and ends the turn if
/// it is short. If the smaller prompt gets one too, it ends the turn.
#[test]
fn empty_answer_near_the_limit_starts_compaction() {
    for wire in WIRES {
        for (lines, compactions) in [(160, 1), (40, 0)] {
            let server = in_turn(wire, move |request, _| match request {
                1 => unused(wire, &prose("first answer", 60), &["c1"]),
                2 => unused(wire, &prose("second answer", lines), &["c2"]),
                3 => unused(wire, "", &[]),
                _ => unused(wire, "The parser works.", &[]),
            });
            let folder = Folder::new(&format!("asked-empty-{wire}-{lines}"));
            let mut editor = Editor::start(&folder, without_haste(wire, &server));
            editor.open("s", None);
            let ended = turn(&mut editor, "Make the parser work.");
            let name = format!("{wire}, {lines} lines");
            assert_eq!(
                (&ended["status"], accepted(&editor)),
                (&json!("completed"), compactions),
                "{name}: {ended}"
            );
            assert_eq!(editor.ran, ["c1", "c2"], "{name}: each tool ran once");
            let asked = server.asked();
            assert_eq!(asked.len(), 3 + 2 * compactions, "{name}");
            let (third, last) = (asked[2].body.to_string(), asked[asked.len() - 1].body.to_string());
            assert!(last.contains("Make the parser work.") && (compactions == 0 || last.len() < third.len()));
        }
    }
}

/// No summary before it is needed.
fn without_haste(wire: &str, server: &Server) -> Value {
    let mut settings = settings(wire, &server.url(), 8000);
    settings["policy"] = json!("rounds");
    settings
}

/// Ollama silently drops the beginning of a prompt that is too long: the next prompt is made smaller.
#[test]
fn prompt_that_ollama_cut_makes_the_next_smaller() {
    for (input, compactions) in [(8100, 1), (1000, 0), (11_500, 0)] {
        let server = in_turn("ollama", move |request, asked| {
            let all = u32::try_from(asked.body.to_string().len() / 4).expect("a small number");
            match request {
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
