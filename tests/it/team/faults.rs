//! Sidecars, servers and networks that fail at any moment: nothing acknowledged is lost, and no round is incomplete without
//! being pending. The checks are those of `fire::kill`. THREADHOLD_KILLS and THREADHOLD_CRASHES run more than the usual
//! few.

use super::Tenant;
use super::proxy::{Faults, Proxy};
use crate::fire::kill::{Conditions, kills, survive};
use crate::wire::script::{Editor, is_request, says};
use serde_json::{Value, json};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::testing::postgres::{Server, server};

/// The usual number of killed sidecars.
const KILLS: u64 = 20;
/// The usual number of crashed servers.
const CRASHES: u64 = 3;

fn crashes() -> u64 {
    let given = std::env::var("THREADHOLD_CRASHES").ok();
    given.map_or(CRASHES, |given| given.parse().expect("THREADHOLD_CRASHES is a number"))
}

fn seed() -> u64 {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_nanos() as u64);
    println!("seed {seed}");
    seed
}

#[test]
fn killed_sidecar_loses_nothing_on_a_server() {
    let Some(server) = server() else { return };
    let storage = Tenant::new(server).on("laptop");
    survive(&Conditions { storage, before: &|| (), at_the_moment: None, is_flaky: false }, kills(KILLS));
}

/// The server ends at once, as by `pg_ctl stop -m immediate`, while the sidecar commits; the sidecar is killed behind it.
#[test]
fn crashed_server_keeps_what_was_acknowledged() {
    let Some(server) = Server::start() else { return };
    let server = Arc::new(server);
    let storage = Tenant::new(&server).on("laptop");
    let crashing = Arc::clone(&server);
    let at_the_moment = Arc::new(move || {
        crashing.crash();
        // What is acknowledged now would be acknowledged wrongly.
        sleep(Duration::from_millis(100));
    });
    let is_first = std::cell::Cell::new(true);
    let before = || {
        if !is_first.replace(false) {
            server.resume();
        }
    };
    survive(
        &Conditions { storage, before: &before, at_the_moment: Some(at_the_moment), is_flaky: true },
        crashes(),
    );
}

/// The same sidecar goes on with its turn once the server is back.
#[test]
fn turn_under_way_survives_a_restart_of_the_server() {
    let Some(server) = Server::start() else { return };
    let mut editor: Editor = Tenant::new(&server).editor("laptop");
    editor.open("s", None);
    editor.turn(json!({ "sessionId": "s", "content": "One." }));
    let started = editor.call("turn/start", json!({ "sessionId": "s", "content": "Two." }));
    let asked = editor.client.wait("the model to be asked", |frame| is_request(frame, "model/complete"));
    server.crash();
    server.resume();
    editor.answers.push_back(says("Here I am again."));
    editor.answer(&asked);
    let ended = editor.ended(&started["turnId"]);
    assert_eq!(ended["status"], "completed", "{ended}");
    let messages = |editor: &mut Editor| {
        editor.call("session/messages", json!({ "sessionId": "s", "workspaceFolder": "/code/parser" }))["messages"].take()
    };
    let before = messages(&mut editor);
    assert_eq!(before.as_array().map(Vec::len), Some(4));
    editor.kill();
}

/// Rows of what was seen on networks that fail, for people.
#[test]
fn failing_network_loses_nothing_that_was_acknowledged() {
    let Some(server) = server() else { return };
    let slow = Faults { delay: Duration::from_millis(20), ..Faults::default() };
    let cutting = Faults { cut_within: 300_000, ..Faults::default() };
    for (name, faults) in [("delays of 20 ms", slow), ("cuts", cutting)] {
        let proxy = Proxy::start(server.folder(), faults, seed());
        let storage: Value = Tenant::at(proxy.url("threadhold", "threadhold")).on("laptop");
        let kills = (kills(KILLS) / 4).max(2);
        let seen =
            survive(&Conditions { storage, before: &|| (), at_the_moment: None, is_flaky: true }, kills);
        println!("| {name} | {kills} processes | {} connections were cut | {seen} |", proxy.cuts());
    }
}
