//! A background session that panics: its parent is notified and goes on.

use super::*;

/// The panic comes in the middle of a turn, by a model's answer, while the parent runs a turn of its own.
#[test]
fn panicking_background_session_notifies_its_parent() {
    let mut rig = Rig::new();
    rig.open("parent").unwrap();
    let child =
        json!({ "workspaceFolder": "", "sessionId": "child", "parentId": "parent", "workScope": "w" });
    rig.ask::<methods::SessionOpen>(child).unwrap();
    rig.start("parent", "Look after it.").unwrap();
    let parents = rig.frame("model/complete");
    rig.start("child", "Do it.").unwrap();
    let asked = rig.frame("model/complete");

    rig.respond(&asked, json!({ "content": "BOOM" }));
    // The notice has its place behind the answer that is being streamed.
    rig.respond(&parents, json!({ "content": "I wait." }));
    rig.state("parent", "idle");
    let told = rig.until(|frames| {
        let is_it = |frame: &Value| frame["params"]["message"]["kind"] == "process_completed";
        frames.iter().position(is_it).map(|at| frames.remove(at))
    });
    let message = &told["params"]["message"];
    assert_eq!(
        (&told["params"]["type"], &message["visibleToModel"]),
        (&json!("messageAdded"), &json!(false))
    );
    let said: Value = serde_json::from_str(message["parts"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&said["sessionId"], &said["status"]), (&json!("child"), &json!("failed")));

    rig.turn("parent", "And now?");
    assert_eq!(rig.stored("parent").len(), 5);
    // The messages that the child acknowledged are there, and it can be opened again.
    let opened = rig.open("child").unwrap();
    assert_eq!(opened["snapshot"]["messages"].as_array().map(Vec::len), Some(1));
    assert_eq!(opened["snapshot"]["parentId"], "parent");
}

#[test]
fn a_stage_that_panics_ends_its_loop() {
    let mut rig = Rig::new();
    rig.open("parent").unwrap();
    let stages = json!([{ "content": "One." }, { "content": "Two." }]);
    let started = json!({ "workspaceFolder": "", "parentId": "parent", "stages": stages });
    rig.ask::<methods::LoopStart>(started).unwrap();
    assert_eq!(rig.frame("loop/updated")["params"]["status"], "running");
    let asked = rig.frame("model/complete");
    rig.respond(&asked, json!({ "content": "BOOM" }));
    let over = rig.frame("loop/updated");
    assert_eq!((&over["params"]["status"], &over["params"]["stage"]), (&json!("failed"), &json!(0)));
    assert!(rig.main.loops.is_empty());
    rig.turn("parent", "Go on.");
}
