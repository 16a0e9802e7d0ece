//! Arguments of the newest round that are larger than a prompt may be.

use crate::compact::record::Strength;
use crate::message::Body;
use crate::prompt::CutReason;
use crate::prompt::item::Shown;
use crate::testing::{Session, filler};
use serde_json::{Value, json};

/// A file of 51 kB that the newest round writes, in a window of 16,000.
fn written(text: &str) -> Session {
    let mut session = Session::new(16_000);
    session.user("Write the parser.").reads("notes.md", 2000);
    let arguments = json!({ "path": "src/parser.rs", "content": text, "mode": 420 }).to_string();
    session.calls("write", &arguments, "ok");
    session
}

#[test]
fn large_file_written_by_the_newest_round_is_shortened_inside_its_json() {
    let text = filler("parser", 51_000);
    let mut session = written(&text);
    assert!(session.render().is_err(), "it does not fit whole");
    let record = session.compact(None);
    assert_eq!(record.strength, Strength::High);
    let prompt = session.render().expect("it fits");
    let call = prompt.items.iter().flat_map(|item| &item.calls).find(|call| &*call.name == "write");
    let arguments: Value = serde_json::from_str(&call.expect("the call").arguments).expect("JSON");
    assert_eq!((&arguments["path"], &arguments["mode"]), (&json!("src/parser.rs"), &json!(420)));
    let shown = arguments["content"].as_str().expect("a string");
    let (first, rest) = shown.split_once("\n[… ").expect("the cut is marked");
    let (_, last) = rest.split_once("…]\n").expect("the cut is marked");
    assert!(text.starts_with(first) && text.ends_with(last), "{shown}");
    assert!(first.len() + last.len() > 10_000, "about half of the room is used: {}", shown.len());
    // It is listed, with the bytes that are shown, and the stored message is whole.
    let sources = prompt.items.iter().flat_map(|item| &item.sources);
    let short: Vec<_> = sources.filter(|source| source.shown == Shown::Shortened).collect();
    let [source] = &short[..] else { panic!("{short:?}") };
    let cut = prompt.cuts.iter().find(|cut| cut.ord == Some(source.ord)).expect("it is listed");
    assert_eq!(cut.reason, CutReason::Shortened);
    assert!(cut.original_bytes > 51_000 && cut.kept_bytes < cut.original_bytes);
    let message = session.transcript.message(source.ord).expect("it is there");
    let Body::Assistant { calls, .. } = &message.body else { panic!("{message:?}") };
    assert!(calls[0].arguments.len() > 51_000);
}

#[test]
fn later_prompts_show_the_shortened_arguments_with_the_same_bytes() {
    let mut session = written(&filler("parser", 51_000));
    session.compact(None);
    let before = session.render().expect("it fits");
    session.reads("src/lib.rs", 500);
    let after = session.render().expect("it fits");
    assert_eq!(&after.items[..before.items.len()], &before.items[..]);
}

#[test]
fn counted_tokens_of_shortened_arguments_are_those_of_the_text() {
    let mut session = written(&filler("parser", 51_000));
    let record = session.compact(None);
    let prompt = session.render().expect("it fits");
    assert_eq!(prompt.tokens, record.tokens_after);
    let item = prompt.items.iter().find(|item| item.calls.iter().any(|call| &*call.name == "write"));
    let item = item.expect("the call");
    let counted: usize = item.calls.iter().map(|call| call.arguments.chars().count()).sum();
    assert!((item.tokens as usize).abs_diff(counted / 4) < 30, "{} for {counted} characters", item.tokens);
}
