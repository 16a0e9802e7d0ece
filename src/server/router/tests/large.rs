//! Large requests: read and counted beside other sessions, and applied in order.

use super::*;
use std::thread;

/// A text that is read on another thread, and that fits the window.
fn large_text() -> String {
    "word ".repeat(60_000)
}

/// `true` if no large text was counted on the router's thread, and some was elsewhere.
fn are_counted_elsewhere(rig: &Rig) -> bool {
    let counted = rig.works.large.lock().unwrap();
    !counted.is_empty() && counted.iter().all(|thread| *thread != thread::current().id())
}

#[test]
fn large_message_is_counted_while_other_sessions_go_on() {
    let mut rig = Rig::new();
    for session in ["large", "small"] {
        rig.open(session).unwrap();
    }
    rig.works.gate.close();
    let text = large_text();
    let mut started = rig.begin::<methods::TurnStart>(json!({ "sessionId": "large", "content": text }));
    let mut cancelled = rig.begin::<methods::TurnCancel>(json!({ "sessionId": "large" }));
    rig.turn("small", "Hello.");
    assert!(started.try_recv().is_err() && cancelled.try_recv().is_err());
    rig.event(Event::Watch);
    rig.event(Event::Watch);
    rig.works.gate.open();
    let started = rig.answered(started).unwrap();
    let cancelled = rig.answered(cancelled).unwrap();
    assert_eq!(cancelled["turnId"], started["turnId"]);
    assert_eq!(rig.stored("large"), [text]);
    assert!(are_counted_elsewhere(&rig));
    // Nothing waits behind it any more.
    rig.frames.clear();
    rig.turn("large", "And now?");
}

#[test]
fn large_history_and_import_are_read_elsewhere() {
    let mut rig = Rig::new();
    let history = json!([{ "externalId": "r", "request": large_text(), "response": large_text() }]);
    let opened = rig.ask::<methods::SessionOpen>(json!({
        "workspaceFolder": "", "sessionId": "h", "driver": "editor", "history": history,
    }));
    assert_eq!(opened.unwrap()["restore"]["appendedMessages"], 2);
    assert!(are_counted_elsewhere(&rig));
    rig.works.large.lock().unwrap().clear();
    let data = json!({ "messages": [{ "role": "user", "content": large_text() }] }).to_string();
    let import = json!({ "workspaceFolder": "", "sessionId": "i", "data": data });
    assert_eq!(rig.ask::<methods::SessionImport>(import).unwrap()["messages"], 1);
    assert!(are_counted_elsewhere(&rig));
    assert_eq!(rig.stored("i"), [large_text()]);
}

#[test]
fn end_waits_for_a_large_request_before_it() {
    let mut rig = Rig::new();
    rig.open("s").unwrap();
    rig.works.gate.close();
    let started = rig.begin::<methods::TurnStart>(json!({ "sessionId": "s", "content": large_text() }));
    let (done, mut saved) = oneshot::channel();
    rig.event(Event::Ending(done));
    rig.works.gate.open();
    rig.answered(started).unwrap();
    rig.until(|_| saved.try_recv().ok());
    assert_eq!(rig.stored("s"), [large_text()]);
}

#[test]
fn panic_while_a_large_request_is_counted_is_answered() {
    let mut rig = Rig::new();
    rig.open("s").unwrap();
    let text = format!("BOOM{}", large_text());
    let broken = rig.begin::<methods::TurnStart>(json!({ "sessionId": "s", "content": text }));
    let behind = rig.begin::<methods::TurnStart>(json!({ "sessionId": "s", "content": "Hello." }));
    assert_eq!(kind(rig.answered(broken)), "InternalError");
    rig.answered(behind).unwrap();
}
