//! Commands of a chat about sessions, models and prompts.

use super::person::{Folder, Person};
use super::{has_steps_done, messages, pair, sums_up, with};
use models::testing::{Reply, Server};
use serde_json::json;

#[test]
fn chat_goes_from_session_to_session() {
    let folder = Folder::new();
    let server = Server::start(|at, _| Reply::says(&[&format!("Answer {at}.")]));
    let mut person = Person::new(&folder, &with(&server));
    person.types("First.");
    person.hears("Answer 0.\n");
    person.types("/new");
    person.sees("new session ");
    person.types("Second.");
    person.hears("Answer 1.\n");
    person.types("/sessions");
    person.sees("*  1  ");
    person.sees("Second.");
    person.sees("   2  ");
    person.sees("First.");
    person.types("/resume 2");
    person.sees("session ");
    person.types("Third.");
    person.hears("Answer 2.\n");
    for unknown in ["no-such-id", "3", "0"] {
        person.types(&format!("/resume {unknown}"));
        person.sees(&format!("there is no session {unknown} in this folder"));
    }
    person.types("Fourth.");
    person.hears("Answer 3.\n");
    assert_eq!(person.leaves().code, Some(0));
    let expected = [
        pair("user", "First."),
        pair("assistant", "Answer 0."),
        pair("user", "Third."),
        pair("assistant", "Answer 2."),
        pair("user", "Fourth."),
    ];
    assert_eq!(messages(&server.asked()[3].body), expected);
    assert_eq!(messages(&server.asked()[1].body), [pair("user", "Second.")]);
}

#[test]
fn model_is_shown_and_changed() {
    let folder = Folder::new();
    let server = Server::replies(vec![Reply::says(&["Yes."])]);
    let mut person = Person::new(&folder, &with(&server));
    person.types("/model");
    person.sees("openai-chat:m\n");
    person.types("/model oracle:m");
    person.sees("expected WIRE:NAME");
    // Another model of the same server.
    person.types("/model openai-chat:other");
    person.sees("(from now on with openai-chat:other)");
    person.types("Who are you?");
    person.hears("Yes.");
    person.types("/model scripted");
    person.sees("(from now on with scripted)");
    person.types("Are you there?");
    person.hears("- messages: 0 system, 2 user, 1 assistant, 0 tool");
    assert_eq!(person.leaves().code, Some(0));
    let asked = server.asked();
    assert_eq!((asked.len(), &asked[0].body["model"]), (1, &json!("other")));
}

#[test]
fn prompt_is_shown_and_a_compaction_is_made_again() {
    let folder = Folder::new();
    let server = sums_up(|at| format!("SUMMARY {at}"));
    let mut person = Person::new(&folder, &with(&server));
    person.types("/redo");
    person.sees("there is no compaction to make again");
    has_steps_done(&mut person);
    person.types("/compact");
    person.sees("(done; /undo reverts it)");
    person.types("/redo");
    person.sees("(done; /undo reverts it)");
    person.types("/context");
    person.sees(" more before the next compaction");
    person.sees("compactions: 2");
    person.types("Do step 5.");
    person.hears("And so on.\n");
    assert_eq!(person.leaves().code, Some(0));
    let shown = json!(messages(&server.asked().last().expect("it was asked").body)).to_string();
    assert!(shown.contains("SUMMARY 5") && !shown.contains("SUMMARY 4"), "{shown}");
}
