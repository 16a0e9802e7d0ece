//! Loops over the real binary: stages with their own histories in one scope, and the ends of a loop.

use super::script::{Editor, Folder, says};
use serde_json::{Value, json};

fn settings() -> Value {
    json!({ "model": { "window": 32000 }, "ownTools": ["todo", "agent_finish", "ask_questions"] })
}

fn call(name: &str, id: &str, arguments: Value) -> Value {
    json!([{ "type": "toolCall", "id": id, "name": name, "arguments": arguments }])
}

fn todos(status: &str) -> Value {
    json!({ "todos": [{ "content": "Fix the parser", "status": status }] })
}

fn updates(editor: &Editor) -> Vec<(String, u64, u64)> {
    let frames = editor.client.frames();
    let told = frames.iter().filter(|frame| frame["method"] == "loop/updated").map(|frame| &frame["params"]);
    told.map(|told| {
        let number = |name: &str| told[name].as_u64().expect(name);
        (told["status"].as_str().expect("a status").to_owned(), number("stage"), number("pass"))
    })
    .collect()
}

fn is_over(frame: &Value) -> bool {
    let status = &frame["params"]["status"];
    frame["method"] == "loop/updated" && *status != "running" && *status != "waiting"
}

fn stages() -> Value {
    json!([
        { "content": "Plan it.", "title": "Plan" }, { "content": "Do it." }, { "content": "Look at it again." }
    ])
}

#[test]
fn stages_share_a_scope_and_end_when_done() {
    let folder = Folder::new("loop-todos");
    let mut editor = Editor::start(&folder, settings());
    editor.open("parent", None);
    editor.answers = [
        call("todo", "a", todos("pending")),
        says("It is planned."),
        says("It is half done."),
        says("It looks good."),
        says("Still planned."),
        call("todo", "b", todos("completed")),
        says("Now it is done."),
    ]
    .into();
    let loops = editor.call(
        "loop/start",
        json!({
            "workspaceFolder": "/code/parser", "parentId": "parent", "workScope": "sprint", "stages": stages(),
            "until": { "passes": 5 }
        }),
    );
    assert_eq!(loops["workScope"], "sprint");
    editor.until("the loop's end", is_over);
    let ran = |stage, pass| ("running".to_owned(), stage, pass);
    let expected = [ran(0, 1), ran(1, 1), ran(2, 1), ran(0, 2), ran(1, 2), ("todosDone".to_owned(), 1, 2)];
    assert_eq!(updates(&editor), expected);

    // Each stage had its own history with one request.
    let asked = editor.asked_for("turn");
    let requests = |asked: &Value| {
        let messages = asked["messages"].as_array().expect("messages");
        messages.iter().filter(|message| message["role"] == "user").count()
    };
    assert!(asked.iter().all(|asked| requests(asked) == 1), "{asked:#?}");

    // The second stage knows the plan and what the first one found, captured with its request.
    let shown = asked[2]["messages"].to_string();
    assert!(shown.contains("Open todos:\\n1. Fix the parser (pending)"), "{shown}");
    assert!(
        shown.contains("The stage before this one, \\\"Plan\\\", ended with:\\nIt is planned."),
        "{shown}"
    );
    assert!(!asked[0]["messages"].to_string().contains("stageBefore"));

    // The parent was told of each stage once its end was stored, and no model sees that.
    let mut told = Vec::new();
    while told.len() < 5 {
        let added = editor.event("what the parent is told", |event| {
            event["type"] == "messageAdded" && event["sessionId"] == "parent"
        });
        told.push(added["message"].clone());
    }
    for message in &told {
        assert_eq!((&message["role"], &message["kind"]), (&json!("event"), &json!("process_completed")));
        assert_eq!(message["visibleToModel"], false);
    }
    let first: Value =
        serde_json::from_str(told[0]["parts"][0]["text"].as_str().expect("text")).expect("JSON");
    assert_eq!(first["title"], "Plan");
    assert_eq!(first["status"], "completed");
    assert_eq!(first["answer"], "It is planned.");

    // The scope has their result, and the list shows their parent.
    let scope = editor.call("scope/get", json!({ "workScope": "sprint", "workspaceFolder": "/code/parser" }));
    let mut expected = todos("completed");
    expected["todos"][0]["id"] = json!(1);
    assert_eq!(scope["scope"]["todos"], expected["todos"]);
    let list = editor.call("session/list", json!({ "workspaceFolder": "/code/parser" }));
    let sessions = list["sessions"].as_array().expect("sessions");
    let of_loop: Vec<&Value> = sessions.iter().filter(|session| session["parentId"] == "parent").collect();
    assert_eq!(of_loop.len(), 5);
    assert!(
        of_loop.iter().all(|session| session["origin"] == "background" && session["workScope"] == "sprint")
    );

    // The parent continues as usual.
    editor.answers = [says("Thank you.")].into();
    assert_eq!(editor.turn(json!({ "sessionId": "parent", "content": "Well?" }))["status"], "completed");
}

#[test]
fn loops_end_by_tool_pause_for_questions_and_stop() {
    let folder = Folder::new("loop-ends");
    let mut editor = Editor::start(&folder, settings());
    let start = |editor: &mut Editor, passes: u32| {
        let loops = json!({
            "workspaceFolder": "/code/parser", "stages": stages(), "until": { "passes": passes }
        });
        editor.call("loop/start", loops)["loopId"].take()
    };

    editor.answers =
        [says("Planned."), call("agent_finish", "f", json!({ "summary": "There is nothing to do." }))].into();
    start(&mut editor, 3);
    editor.until("the first loop's end", is_over);
    assert_eq!(updates(&editor).last(), Some(&("endedByTool".to_owned(), 1, 1)));

    editor.answers = [call("ask_questions", "q", json!({ "questions": ["Which parser?"] }))].into();
    start(&mut editor, 1);
    let waits = editor.until("a question", |frame| {
        frame["method"] == "loop/updated" && frame["params"]["status"] == "waiting"
    });
    let session = &waits["params"]["sessionId"];
    let question = editor.events("messageAdded").pop().expect("a question");
    assert_eq!(question["message"]["kind"], "question");
    assert_eq!(question["message"]["parts"][0]["text"], "Which parser?");
    editor.answers = [says("That one."), says("Done."), says("Looks good.")].into();
    editor.call("turn/start", json!({ "sessionId": session, "content": "The first." }));
    editor.until("the second loop's end", is_over);
    assert_eq!(updates(&editor).last(), Some(&("passesDone".to_owned(), 2, 1)));

    // Stopped during its model's answer.
    let id =
        editor.client.request("loop/start", json!({ "workspaceFolder": "/code/parser", "stages": stages() }));
    let started = editor.client.wait("the loop", |frame| frame.get("method").is_none() && frame["id"] == id);
    let asked = editor.client.wait("its model", |frame| frame["method"] == "model/complete");
    editor.call("loop/stop", json!({ "loopId": started["result"]["loopId"] }));
    let stopped = editor.until("the third loop's end", is_over);
    assert_eq!(stopped["params"]["status"], "cancelled");
    editor.client.wait("the model's call back", |frame| {
        frame["method"] == "$/cancelRequest" && frame["params"]["id"] == asked["id"]
    });
    editor.refused("loop/stop", json!({ "loopId": started["result"]["loopId"] }));
    let error = editor.refused("loop/start", json!({ "workspaceFolder": "/code/parser", "stages": [] }));
    assert_eq!(error["data"]["field"], "stages");
}
