//! Processes whose clock is an hour off: who holds a session is decided by the database's clock alone.

use super::Tenant;
use crate::wire::client::{Start, Wire};
use crate::wire::script::Editor;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};
use store::testing::postgres::{Server, server};

/// Moves the clock that a process reads by the seconds in `CLOCK_SHIFT`.
const SHIFT: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int done = (int)syscall(SYS_clock_gettime, clock, now);
    const char *shift = getenv("CLOCK_SHIFT");
    if (done == 0 && clock == CLOCK_REALTIME && shift) now->tv_sec += atol(shift);
    return done;
}
"#;

const HOUR: i64 = 3600;

/// The library of [`SHIFT`], which is compiled once.
fn library() -> PathBuf {
    let source = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("clock-shift.c");
    let library = source.with_extension("so");
    fs::write(&source, SHIFT).expect("the source can be written");
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    assert!(made.is_ok_and(|status| status.success()), "cc, which the program is built with, is missing");
    library
}

/// An editor whose sidecar's clock is off by so many seconds.
fn editor(tenant: &Tenant, host: &str, library: &Path, shift: i64) -> Editor {
    let start = Start::new(Wire::Pipes).variable("USER", "ann").without("PGPASSWORD");
    let preload = library.display().to_string();
    let start = start.variable("LD_PRELOAD", &preload).variable("CLOCK_SHIFT", &shift.to_string());
    Editor::stored(start.start(), &tenant.on(host), json!({ "model": { "name": "m", "window": 16_000 } }))
}

/// The seconds by which a session's newest message is ahead of this process's clock.
fn ahead(editor: &mut Editor) -> i64 {
    let list = editor.call("session/list", json!({ "workspaceFolder": "/code/parser" }));
    let updated = list["sessions"][0]["updatedAt"].as_str().expect("a time").to_owned();
    let seconds = Command::new("date").args(["-u", "+%s", "-d", &updated]).output().expect("date");
    let then: i64 = String::from_utf8(seconds.stdout).expect("text").trim().parse().expect("seconds");
    then - i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs())
        .expect("seconds")
}

/// Runs SQL on the rows of this tenant.
fn sql(server: &Server, tenant: &Tenant, sql: &str) -> String {
    server.sql_in("postgres", "threadhold", &sql.replace("$tenant", &tenant.name)).expect("sql")
}

#[test]
fn leases_are_right_with_clocks_that_are_an_hour_off() {
    let Some(server) = server() else { return };
    let library = library();
    for (of_holder, of_other) in [(HOUR, 0), (-HOUR, 0), (0, HOUR), (0, -HOUR)] {
        let tenant = Tenant::new(server);
        let mut holder = editor(&tenant, "desk-1", &library, of_holder);
        let mut other = editor(&tenant, "desk-2", &library, of_other);
        holder.open("s", None);
        holder.turn(json!({ "sessionId": "s", "content": "One." }));
        assert!((ahead(&mut holder) - of_holder).abs() < HOUR / 2, "the clock is not off by {of_holder} s");
        // As on another machine, where its process cannot be looked for.
        sql(
            server,
            &tenant,
            "UPDATE holders SET machine = 'elsewhere' WHERE tenant = '$tenant' AND host = 'desk-1'",
        );
        let counts = "SELECT count(*) FROM holders WHERE tenant = '$tenant' AND host = 'desk-1' \
                      AND expires_at BETWEEN now() AND now() + interval '30 seconds'";
        assert_eq!(sql(server, &tenant, counts), "1", "{of_holder} {of_other}");
        let open = || json!({ "workspaceFolder": "/code/parser", "sessionId": "s" });
        let held = |error: Value| error["data"]["host"].clone();
        assert_eq!(held(other.refused("session/open", open())), "desk-1", "{of_holder} {of_other}");
        // It says nothing any more, and the database's clock goes on.
        holder.client.signal("STOP");
        sql(
            server,
            &tenant,
            "UPDATE holders SET expires_at = now() - interval '1 second' WHERE tenant = '$tenant' AND host = 'desk-1'",
        );
        other.open("s", None);
        other.turn(json!({ "sessionId": "s", "content": "Two." }));
        holder.client.signal("CONT");
        let late = json!({ "sessionId": "s", "content": "Too late." });
        assert_eq!(held(holder.refused("turn/start", late)), "desk-2", "{of_holder} {of_other}");
        other.turn(json!({ "sessionId": "s", "content": "Three." }));
        let messages =
            other.call("session/messages", json!({ "sessionId": "s", "workspaceFolder": "/code/parser" }));
        assert_eq!(messages["messages"].as_array().map(Vec::len), Some(6), "{of_holder} {of_other}");
    }
}
