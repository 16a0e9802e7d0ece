//! Leases by the database's clock: holders on other machines, ended processes, and a fence that each commit checks.

use super::{open, unique};
use crate::Store;
use crate::error::StoreError;
use crate::follow::Holder;
use crate::testing::postgres::{self, Server};
use crate::testing::{session, step};
use engine::id::Time;

/// Makes the holder of a tenant's sessions one on another machine, which counts as alive for so long from now on.
fn moved_away(server: &Server, tenant: &str, alive_for: &str) {
    let sql = format!(
        "UPDATE holders SET machine = 'elsewhere', pid = 7, expires_at = now() + interval '{alive_for}'
         WHERE tenant = '{tenant}'"
    );
    server.sql_in("postgres", "threadhold", &sql).unwrap();
}

#[test]
fn a_holder_elsewhere_counts_until_its_time_is_over() {
    let Some(server) = postgres::server() else { return };
    let tenant = unique("lease");
    let s = session("s");
    let mut gone = open(server, &tenant);
    let fence = gone.acquire(&s, Time(5)).unwrap();
    gone.commit(&s, fence, &step("s", 0, 1)).unwrap();
    moved_away(server, &tenant, "30 seconds");
    let mut store = open(server, &tenant);
    let held = StoreError::Held { session: s.clone(), pid: 7, since: Time(5) };
    assert_eq!(store.acquire(&s, Time(6)), Err(held.clone()));
    assert_eq!(store.delete(&s), Err(held));
    moved_away(server, &tenant, "-1 second");
    // The row of the store itself was moved, too, and is written anew by this call.
    assert!(store.acquire(&s, Time(6)).unwrap() > fence);
    // The one that was away is told, whatever its own clock says.
    let holder = Some(Holder { pid: std::process::id(), since: Time(6) });
    assert_eq!(gone.commit(&s, fence, &step("s", 1, 1)), Err(StoreError::FenceLost { session: s, holder }));
}

#[test]
fn a_process_that_ended_here_holds_nothing() {
    let Some(server) = postgres::server() else { return };
    let tenant = unique("ended");
    let s = session("s");
    let mut store = open(server, &tenant);
    let fence = store.acquire(&s, Time(5)).unwrap();
    // A process with this id that started at another time, or none.
    for sql in ["started = started - 1", "pid = 4194304"] {
        server
            .sql_in("postgres", "threadhold", &format!("UPDATE holders SET {sql} WHERE tenant = '{tenant}'"))
            .unwrap();
        let mut other = open(server, &tenant);
        let free = other.acquire(&s, Time(6)).unwrap();
        assert!(free > fence);
        other.release(&s, free).unwrap();
    }
    assert!(matches!(store.holds(&s, fence), Err(StoreError::FenceLost { holder: None, .. })));
}

#[test]
fn of_many_that_want_a_session_one_gets_it() {
    let Some(server) = postgres::server() else { return };
    let tenant = unique("fight");
    let all: Vec<_> = (0..6)
        .map(|n| {
            let mut store = open(server, &tenant);
            std::thread::spawn(move || {
                let taken = store.acquire(&session("s"), Time(n));
                (taken.is_ok(), store)
            })
        })
        .collect();
    let all: Vec<_> = all.into_iter().map(|one| one.join().unwrap()).collect();
    assert_eq!(all.iter().filter(|(is_taken, _)| *is_taken).count(), 1);
}
