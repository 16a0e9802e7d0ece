//! Tools of a chat that change files and run commands, and their approval.

use super::person::{Folder, Person};
use super::{told, with};
use models::testing::{Reply, Server};
use serde_json::Value;

#[test]
fn an_edit_is_shown_before_it_is_made() {
    let folder = Folder::new();
    folder.write("a.txt", "one\ntwo\n");
    let edit = r#"{"path":"a.txt","old":"two","new":"2"}"#;
    let server = Server::replies(vec![Reply::calls("c", "edit_file", edit), Reply::says(&["Done."])]);
    let mut person = Person::new(&folder, &with(&server));
    person.types("Change it.");
    person.sees("    1  one\n    2 -two\n    2 +2\n");
    person.sees("allow?");
    assert_eq!(folder.read("a.txt"), "one\ntwo\n");
    person.types("y");
    person.sees("[edit_file a.txt]");
    person.hears("Done.\n");
    assert_eq!(folder.read("a.txt"), "one\n2\n");
    assert_eq!(told(&server), "Changed a.txt.");
    assert_eq!(person.leaves().code, Some(0));
}

#[test]
fn commands_are_allowed_by_their_beginning() {
    let folder = Folder::new();
    folder.write("a.txt", "hello");
    let call = |command: &str| {
        let arguments = serde_json::json!({ "command": command }).to_string();
        [Reply::calls("c", "run_command", &arguments), Reply::says(&["Done."])]
    };
    let calls = [call("cat a.txt"), call("cat a.txt ./a.txt"), call("cat a.txt; rm a.txt")];
    let server = Server::replies(calls.into_iter().flatten().collect());
    let mut person = Person::new(&folder, &with(&server));
    person.types("Read it.");
    person.sees("$ cat a.txt\n");
    person.sees("allow?");
    person.types("always cat *");
    person.hears("Done.\n");
    person.types("Read it again.");
    person.hears("Done.\n");
    assert_eq!(told(&server), "hellohello");
    // A further command is another one.
    person.types("Read it, then remove it.");
    person.sees("$ cat a.txt; rm a.txt\n  deletes a.txt\n");
    person.sees("allow?");
    person.types("n");
    person.hears("Done.\n");
    let said = person.leaves();
    assert_eq!(said.err.matches("allow?").count(), 2, "{}", said.err);
    assert_eq!(folder.read("a.txt"), "hello");
}

/// An approved command of a process that was killed is not run again: it may have done its work.
#[test]
fn interrupted_command_is_not_run_again() {
    let folder = Folder::new();
    let command = r#"{"command":"echo ran >> log; sleep 600"}"#;
    let server = Server::replies(vec![Reply::calls("c", "run_command", command), Reply::says(&["Well."])]);
    let mut person = Person::new(&folder, &with(&server));
    person.types("Run it.");
    person.sees("allow?");
    person.types("y");
    folder.has("log");
    person.kill();
    let person = Person::new(&folder, &[&with(&server)[..], &["--continue".into()]].concat());
    person.sees("was interrupted and is not run again");
    person.hears("Well.\n");
    assert!(told(&server).starts_with("the call was interrupted"), "{}", told(&server));
    assert_eq!(folder.read("log"), "ran\n");
    person.leaves();
}

#[test]
fn ctrl_c_ends_a_command() {
    let folder = Folder::new();
    let command = r#"{"command":"echo $$ > begun.tmp; mv begun.tmp begun; sleep 600"}"#;
    let server = Server::replies(vec![Reply::calls("c", "run_command", command), Reply::says(&["Well."])]);
    let mut person = Person::new(&folder, &with(&server));
    person.types("Sleep.");
    person.sees("allow?");
    person.types("y");
    person.sees("[run_command ");
    folder.has("begun");
    person.presses_ctrl_c();
    person.sees("(stopped; the partial answer is kept)");
    person.types("Go on.");
    person.hears("Well.\n");
    assert_eq!(person.leaves().code, Some(0));
    let process = format!("/proc/{}/stat", folder.read("begun").trim());
    assert!(std::fs::read_to_string(process).map_or(true, |stat| stat.contains(") Z ")));
}

#[test]
fn events_are_lines_of_json_for_scripts() {
    let folder = Folder::new();
    let server = Server::replies(vec![Reply::says(&["It ", "is."])]);
    let flags = [&with(&server)[..], &["--json".into()]].concat();
    let mut person = Person::new(&folder, &flags);
    person.types("Is it?");
    person.hears(r#""type":"turnCompleted""#);
    let said = person.leaves();
    let events: Vec<Value> = said.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let texts = events.iter().filter(|event| event["type"] == "streamDelta");
    let texts = texts.flat_map(|event| event["ops"].as_array().expect("changes"));
    let answer: String = texts.filter_map(|change| change["text"].as_str()).collect();
    assert_eq!(answer, "It is.");
    let ended = events.iter().find(|event| event["type"] == "turnCompleted").expect("it ended");
    assert_eq!(ended["outcome"], "completed");
    assert_eq!(said.code, Some(0));
}
