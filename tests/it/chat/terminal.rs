//! A chat at a terminal: keys, what is pasted, what an answer looks like.

use super::person::{Folder, Person};
use super::{holds, messages, pair, with};
use models::testing::{Reply, Server};

/// Waits for the prompt and leaves by Ctrl-D.
fn leaves(mut person: Person) {
    person.hears("> ");
    person.presses("\u{4}");
    person.hears("saved as session");
    assert_eq!(person.ends().code, Some(0));
}

#[test]
fn terminal_ctrl_c_stops_then_quits_and_ctrl_d_quits() {
    let folder = Folder::new();
    let server = Server::replies(vec![holds("Once\u{1b}[31m upon"), Reply::says(&["Well."])]);
    let Some(mut person) = Person::at_a_terminal(&folder, &with(&server)) else { return };
    person.hears("> ");
    person.types("Tell me a story.");
    // Control characters that would affect the terminal are left out.
    person.hears("Once[31m upon");
    person.presses("\u{3}");
    person.hears("the partial answer is kept");
    person.hears("> ");
    person.presses("\u{3}");
    person.hears("saved as session");
    assert_eq!(person.ends().code, Some(0));

    let flags = [&with(&server)[..], &["--continue".into()]].concat();
    let Some(mut person) = Person::at_a_terminal(&folder, &flags) else { return };
    person.hears("> ");
    person.presses("\u{3}");
    person.hears("press Ctrl-C again");
    person.types("Go on.");
    person.hears("Well.");
    leaves(person);
}

#[test]
fn what_is_pasted_is_one_message_and_comes_back_with_the_arrow_key() {
    let folder = Folder::new();
    let server = Server::start(|at, _| Reply::says(&[&format!("Answer {at}.")]));
    let Some(mut person) = Person::at_a_terminal(&folder, &with(&server)) else { return };
    person.hears("> ");
    person.presses("\u{1b}[200~one\r\n/quit\r\nthree\u{1b}[201~");
    person.presses("\r");
    person.hears("Answer 0.");
    person.hears("> ");
    // The arrow key brings it back, and it is edited.
    person.presses("\u{1b}[A!\r");
    person.hears("Answer 1.");
    person.hears("> ");
    // Ctrl-C clears the line, and Alt-Enter begins another one.
    person.presses("nothing\u{3}four\u{1b}\rfive\r");
    person.hears("Answer 2.");
    person.hears("> ");
    person.presses("/q\t\r");
    person.hears("saved as session");
    assert_eq!(person.ends().code, Some(0));
    let asked = server.asked();
    let users = |at: usize| messages(&asked[at].body).into_iter().filter(|(role, _)| role == "user");
    let expected =
        [pair("user", "one\n/quit\nthree"), pair("user", "one\n/quit\nthree!"), pair("user", "four\nfive")];
    assert!(users(2).eq(expected));
}

#[test]
fn answer_is_shown_as_markdown() {
    let folder = Folder::new();
    let server = Server::replies(vec![Reply::says(&[
        "# Pl",
        "an\n\nIt is **bo",
        "ld**.\n```rust\nlet a = 1;\n``",
        "`\n- one\n- two\u{1b}[2J",
    ])]);
    let Some(mut person) = Person::at_a_terminal(&folder, &with(&server)) else { return };
    person.hears("> ");
    person.types("Plan.");
    person.hears("\u{1b}[1mPlan\u{1b}[0m\r\n");
    person.hears("It is \u{1b}[1mbold\u{1b}[0m.\r\n");
    person.hears("  \u{1b}[35mlet\u{1b}[0m a = \u{1b}[33m1\u{1b}[0m;\r\n");
    person.hears("• one\r\n");
    person.hears("• two[2J\r\n");
    leaves(person);
}

/// Keys that were pressed before a question appeared are not its answer.
#[test]
fn keys_pressed_ahead_do_not_allow_a_call() {
    let folder = Folder::new();
    folder.write("a.txt", "one\ntwo\n");
    let edit = r#"{"path":"a.txt","old":"two","new":"2"}"#;
    let look = r#"{"command":"while ! [ -e go ]; do sleep 0.01; done"}"#;
    let calls = [Reply::calls("a", "run_command", look), Reply::calls("c", "edit_file", edit)];
    let server = Server::replies([&calls[..], &[Reply::says(&["Done."])]].concat());
    let Some(mut person) = Person::at_a_terminal(&folder, &with(&server)) else { return };
    person.hears("> ");
    person.presses("Change it.\r");
    person.hears("allow?");
    person.presses("y\r");
    person.hears("[run_command");
    // While the command runs.
    person.presses("y\ry\r");
    folder.write("go", "");
    person.hears("edit_file: changes a.txt");
    person.hears("\u{1b}[31m-two\u{1b}[0m");
    person.hears("\u{1b}[32m+2\u{1b}[0m");
    person.hears("allow?");
    person.presses("n not so\r");
    person.hears("Done.");
    leaves(person);
    assert_eq!(folder.read("a.txt"), "one\ntwo\n");
    assert!(super::told(&server).contains("not so"), "{}", super::told(&server));
}

#[test]
fn killed_chat_is_resumed_with_what_was_said() {
    let folder = Folder::new();
    let server = Server::replies(vec![Reply::says(&["It is *so*."]), holds("Half of")]);
    let mut person = Person::new(&folder, &with(&server));
    person.types("Is it?");
    person.hears("It is *so*.");
    person.types("Really?");
    person.hears("Half of");
    person.kill();
    let flags = [&with(&server)[..], &["--continue".into()]].concat();
    let Some(person) = Person::at_a_terminal(&folder, &flags) else { return };
    person.hears("> Really?");
    person.hears("(the answer was interrupted)");
    leaves(person);
}

/// The editor of lines is within a line, with modes of its own, when the process is told to end.
#[cfg(target_os = "linux")]
#[test]
fn terminal_gets_its_modes_back_after_a_signal() {
    let folder = Folder::new();
    let Some(person) = Person::at_a_terminal(&folder, &[]) else { return };
    person.hears("> ");
    person.signals("TERM");
    person.hears("\u{1b}[?2004l\r\n");
    assert_eq!(person.ends().code, Some(0));
}
