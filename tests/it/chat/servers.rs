//! Tool servers in a chat: consent, their prompts and resources, their progress and their questions.

use super::person::{Folder, Person};
use super::{messages, told, with};
use models::testing::{Reply, Server};
use serde_json::json;

/// A folder whose file defines a tool server.
fn folder() -> Folder {
    let folder = Folder::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/chat/server.py");
    let server = json!({ "command": "python3", "args": [script] });
    folder.write(".mcp.json", &json!({ "mcpServers": { "table": server } }).to_string());
    folder
}

/// Flags for a chat with this model, in which files of the folder may define tool servers.
fn flags(server: &Server) -> Vec<String> {
    with(server).into_iter().chain(["--set".into(), "mcp.workspaceFiles=ask".into()]).collect()
}

/// The last message of the user in the newest request.
fn asked(server: &Server) -> String {
    let asked = server.asked();
    let all = messages(&asked.last().expect("it was asked").body);
    all.into_iter().rfind(|(role, _)| role == "user").expect("a message").1
}

#[test]
fn server_of_the_folder_is_allowed_and_its_prompts_and_resources_are_sent() {
    let folder = folder();
    let server = Server::start(|at, _| Reply::says(&[&format!("Answer {at}.")]));
    let mut person = Person::new(&folder, &flags(&server));
    person.sees("it is not started before /allow table, see /help");
    person.types("/table:greet Ada");
    person.sees("no tool server has this prompt; there are: none");
    person.types("/allow nobody");
    person.sees("no file of this folder defines a server \"nobody\"");
    person.types("/servers");
    person.sees("waits for /allow or /deny");
    person.types("/allow table");
    person.sees("(allowed; table is started with the next message)");
    person.types("/table:greet Ada");
    person.hears("Answer 0.\n");
    assert!(asked(&server).contains("Greet Ada."), "{}", asked(&server));
    person.types("What is on @table:table://menu today?");
    person.hears("Answer 1.\n");
    let text = asked(&server);
    assert!(text.contains("What is on @table:table://menu today?") && text.contains("Soup."), "{text}");
    person.types("/table:nothing");
    person.sees("no tool server has this prompt; there are: /table:greet");
    person.types("/servers");
    person.sees("ready, 2 tools");
    person.types("/deny table");
    person.sees("(denied; table is not started)");
    person.types("/table:greet Ada");
    person.sees("no tool server has this prompt; there are: none");
    assert_eq!(person.leaves().code, Some(0));
}

/// Lines that answer a server's question about a table, and the result of its call.
fn booked(lines: &[(&str, &str)]) -> String {
    let folder = folder();
    let server = Server::replies(vec![Reply::calls("c", "table__book", "{}"), Reply::says(&["Done."])]);
    let mut person = Person::new(&folder, &flags(&server));
    person.sees("see /help");
    person.types("/allow table");
    person.types("Book a table.");
    person.sees("allow?");
    person.types("y");
    person.sees("table asks: Which table?\n");
    for (prompt, line) in lines {
        person.sees(prompt);
        person.types(line);
    }
    person.hears("Done.\n");
    assert_eq!(person.leaves().code, Some(0));
    told(&server)
}

#[test]
fn question_of_a_server_is_asked_field_by_field() {
    let lines = [
        ("answer? y / n: ", "y"),
        ("guests (Guests; integer): ", "none"),
        ("it must be an integer", "3"),
        ("where (one of in, out; empty for \"in\"): ", ""),
    ];
    assert_eq!(booked(&lines), "accept {\"guests\": 3, \"where\": \"in\"}");
    assert_eq!(booked(&[("answer? y / n: ", "n")]), "decline null");
}

#[test]
fn progress_and_question_at_a_terminal() {
    let folder = folder();
    let replies = [
        Reply::calls("a", "table__count", "{}"),
        Reply::calls("b", "table__book", "{}"),
        Reply::says(&["Done."]),
    ];
    let server = Server::replies(replies.to_vec());
    let Some(mut person) = Person::at_a_terminal(&folder, &flags(&server)) else { return };
    person.hears("> ");
    person.presses("/allow table\r");
    person.hears("> ");
    person.presses("Count, then book.\r");
    person.hears("allow?");
    person.presses("y\r");
    person.hears("25 %: counts");
    folder.write("seen", "");
    person.hears("allow?");
    person.presses("y\r");
    person.hears("table asks: Which table?");
    person.hears("answer? y / n: ");
    person.presses("y\r");
    person.hears("integer): ");
    person.presses("2\r");
    person.hears("empty for");
    person.presses("out\r");
    person.hears("Done.");
    person.hears("> ");
    person.presses("\u{4}");
    person.hears("saved as session");
    assert_eq!(person.ends().code, Some(0));
    assert_eq!(told(&server), "accept {\"guests\": 2, \"where\": \"out\"}");
}
