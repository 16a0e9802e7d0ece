//! Two hosts and one session: one holds it, the other is told who, a take-over moves it, and the loser writes nothing more.

use super::Tenant;
use crate::fire::windows::compete;
use crate::wire::ground::is_event;
use crate::wire::script::says;
use serde_json::{Value, json};
use store::testing::postgres::server;

/// Turns of each host in its own session while both want a third one, unless THREADHOLD_TURNS is set.
const TURNS: u64 = 60;

#[test]
fn loser_on_another_host_is_told_user_and_host() {
    let Some(server) = server() else { return };
    let tenant = Tenant::new(server);
    let (mut first, mut second) = (tenant.editor("desk-1"), tenant.editor("desk-2"));
    first.open("s", None);
    first.turn(json!({ "sessionId": "s", "content": "One." }));
    let open = || json!({ "workspaceFolder": "/code/parser", "sessionId": "s" });
    let holder = |data: &Value| json!([data["kind"], data["user"], data["host"], data["pid"]]);
    let by = |host: &str, pid: u32| json!(["SessionHeldElsewhere", "ann", host, pid]);
    let error = second.refused("session/open", open());
    assert_eq!(holder(&error["data"]), by("desk-1", first.client.pid()));
    assert!(error["message"].as_str().is_some_and(|said| said.contains("of ann on desk-1")), "{error}");
    // A follower is told the same.
    let followed = second
        .call("session/open", json!({ "workspaceFolder": "/code/parser", "sessionId": "s", "follow": true }));
    let held = &followed["snapshot"]["heldBy"];
    assert_eq!((&held["user"], &held["host"]), (&json!("ann"), &json!("desk-1")));

    let taken = second.call("session/takeOver", open());
    assert_eq!(taken["snapshot"].get("heldBy"), None);
    let refused = first.refused("turn/start", json!({ "sessionId": "s", "content": "Too late." }));
    assert_eq!(holder(&refused["data"]), by("desk-2", second.client.pid()));
    first.client.wait_notification("that it was taken over", |frame| is_event(frame, "sessionTakenOver"));
    let followed = first.client.wait_notification("what it follows", |frame| {
        is_event(frame, "snapshot") && frame["params"]["snapshot"]["heldBy"].is_object()
    });
    assert_eq!(followed["params"]["snapshot"]["heldBy"]["host"], "desk-2");
    second.answers.push_back(says("Two."));
    second.turn(json!({ "sessionId": "s", "content": "Mine." }));
    first.client.wait_notification("what the other one wrote", |frame| {
        is_event(frame, "messageAdded") && frame["params"]["message"].to_string().contains("Two.")
    });
    let messages =
        first.call("session/messages", json!({ "sessionId": "s", "workspaceFolder": "/code/parser" }));
    assert!(!messages.to_string().contains("Too late."));
}

#[test]
fn two_hosts_competing_for_a_session_lose_nothing() {
    let Some(server) = server() else { return };
    let tenant = Tenant::new(server);
    let given = std::env::var("THREADHOLD_TURNS").ok();
    let turns = given.map_or(TURNS, |given| given.parse().expect("THREADHOLD_TURNS is a number"));
    compete([&tenant.on("desk-1"), &tenant.on("desk-2")], turns);
}
