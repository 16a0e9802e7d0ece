//! Leases by the database's clock: holders on other machines, ended processes, and a fence that each commit checks.

use super::{open, unique};
use crate::Store;
use crate::error::StoreError;
use crate::follow::Holder;
use crate::postgres::{Opener, PostgresStore};
use crate::testing::postgres::{self, Server};
use crate::testing::{session, step};
use engine::id::Time;

/// Makes the holders of a tenant's sessions ones on another machine, which count as alive for so long from now on.
fn moved_away(server: &Server, tenant: &str, alive_for: &str) {
    let sql = format!(
        "UPDATE holders SET machine = 'elsewhere', user_name = 'ann', host = 'desk-1', pid = 7, expires_at = now() + interval '{alive_for}'
         WHERE tenant = '{tenant}' AND holder IN (SELECT holder FROM leases WHERE tenant = '{tenant}')"
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
    let (user, host) = (Some("ann".to_owned()), Some("desk-1".to_owned()));
    let holder = Holder { pid: 7, since: Time(5), user, host };
    let held = StoreError::Held { session: s.clone(), holder };
    assert_eq!(store.acquire(&s, Time(6)), Err(held.clone()));
    assert_eq!(store.delete(&s), Err(held));
    moved_away(server, &tenant, "-1 second");
    assert!(store.acquire(&s, Time(6)).unwrap() > fence);
    // The one that was away is told, whatever its own clock says.
    let Err(StoreError::FenceLost { holder: Some(holder), .. }) = gone.commit(&s, fence, &step("s", 1, 1))
    else {
        panic!("a lost lease writes nothing");
    };
    assert_eq!((holder.pid, holder.since), (std::process::id(), Time(6)));
}

#[test]
fn a_process_that_ended_here_holds_nothing() {
    let Some(server) = postgres::server() else { return };
    let s = session("s");
    // A process with this id that started at another time, or none.
    for sql in ["started = started - 1", "pid = 4194304"] {
        let tenant = unique("ended");
        let mut store = open(server, &tenant);
        let fence = store.acquire(&s, Time(5)).unwrap();
        store.commit(&s, fence, &step("s", 0, 1)).unwrap();
        let mut other = open(server, &tenant);
        assert!(matches!(other.acquire(&s, Time(6)), Err(StoreError::Held { .. })));
        server
            .sql_in("postgres", "threadhold", &format!("UPDATE holders SET {sql} WHERE tenant = '{tenant}'"))
            .unwrap();
        assert!(other.acquire(&s, Time(6)).unwrap() > fence, "{sql}");
    }
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

#[test]
fn an_idle_holder_gives_signs_of_life() {
    let Some(server) = postgres::server() else { return };
    let tenant = unique("idle");
    let s = session("s");
    let (mut idle, mut other) = (open(server, &tenant), open(server, &tenant));
    let fence = idle.acquire(&s, Time(5)).unwrap();
    idle.commit(&s, fence, &step("s", 0, 1)).unwrap();
    let over = format!("UPDATE holders SET expires_at = now() - interval '1 hour' WHERE tenant = '{tenant}'");
    server.sql_in("postgres", "threadhold", &over).unwrap();
    idle.link.idle().unwrap();
    assert!(matches!(other.acquire(&s, Time(6)), Err(StoreError::Held { .. })));
    server.sql_in("postgres", "threadhold", &over).unwrap();
    // Nobody took it meanwhile, so it goes on.
    idle.commit(&s, fence, &step("s", 1, 1)).unwrap();
    assert!(matches!(other.acquire(&s, Time(6)), Err(StoreError::Held { .. })));
}

#[test]
fn commits_of_others_are_counted_where_nobody_tells() {
    let Some(server) = postgres::server() else { return };
    let tenant = unique("counted");
    let mut deaf = Opener::new(server.options(&tenant).without_notifications()).open().unwrap();
    let mut other = open(server, &tenant);
    let mut pulse = deaf.pulse().unwrap();
    for n in 0..2 {
        let fence = other.acquire(&session("s"), Time(1)).unwrap();
        other.commit(&session("s"), fence, &step("s", n, 1)).unwrap();
        assert!(deaf.pulse().unwrap() > pulse);
        pulse = deaf.pulse().unwrap();
        let own = deaf.acquire(&session("own"), Time(1)).unwrap();
        deaf.commit(&session("own"), own, &step("own", n, 1)).unwrap();
        assert_eq!(deaf.pulse().unwrap(), pulse, "its own commits are no news to it");
    }
}

/// A holder gives its sign of life and looks at what others did in one round trip; a store that holds nothing only looks, if
/// anybody asks; else it is silent.
#[test]
fn an_idle_store_asks_once_or_never() {
    let Some(server) = postgres::server() else { return };
    let tenant = unique("silent");
    let s = session("s");
    let (mut idle, mut other) = (open(server, &tenant), open(server, &tenant));
    let cost = |idle: &mut PostgresStore| {
        let before = idle.traffic();
        idle.link.idle().unwrap();
        let now = idle.traffic();
        (now.trips - before.trips, now.statements - before.statements)
    };
    assert_eq!(cost(&mut idle), (0, 0));
    let fence = idle.acquire(&s, Time(5)).unwrap();
    assert_eq!(cost(&mut idle), (1, 4));
    idle.pulse().unwrap();
    assert_eq!(cost(&mut idle), (1, 5));
    idle.release(&s, fence).unwrap();
    assert_eq!(cost(&mut idle), (0, 0));
    let before = idle.pulse().unwrap();
    assert_eq!(cost(&mut idle), (1, 3));
    let fence = other.acquire(&s, Time(6)).unwrap();
    other.commit(&s, fence, &step("s", 0, 1)).unwrap();
    idle.pulse().unwrap();
    cost(&mut idle);
    assert!(idle.pulse().unwrap() > before);
}
