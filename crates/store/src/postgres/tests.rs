//! Tests of what only this backend has: a server that is reached over a wire, shared with others, and may go away.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod isolation;
mod leases;
mod lost;
mod pooled;
mod schema;
mod search;
mod traffic;

use super::{Opener, Options, OptionsError, PostgresStore};
use crate::testing::postgres::Server;
use uuid::Uuid;

/// A name that no other test uses.
fn unique(name: &str) -> String {
    format!("{name}-{}", Uuid::now_v7().simple())
}

/// A store of this tenant in the database that tests share.
fn open(server: &Server, tenant: &str) -> PostgresStore {
    Opener::new(server.options(tenant)).open().unwrap()
}

#[test]
fn options_are_checked_before_anything_is_connected() {
    let url = "postgres://u@db.example/sessions";
    let parsed = Options::new(url, Some("secret"), "team-1").unwrap();
    assert_eq!(parsed.place().display().to_string(), "postgres://db.example:5432/sessions");
    assert!(parsed.demands_tls());
    assert!(!format!("{parsed:?}").contains("secret"));
    for (url, tls) in [
        ("postgres://u@localhost/d", false),
        ("postgres://u@127.0.0.1:6000/d", false),
        ("postgres://u@%2Frun%2Fpostgresql/d", false),
        ("postgres://u@localhost/d?sslmode=require", true),
        ("postgres://u@db.example/d?sslmode=verify-full", true),
        ("postgres://u@db.example/d?sslmode=disable", false),
    ] {
        assert_eq!(Options::new(url, None, "t").map(|options| options.demands_tls()), Ok(tls), "{url}");
    }
    for tenant in ["", "a b", "é", "a'b", &"x".repeat(65)] {
        let tenant = tenant.to_owned();
        assert_eq!(Options::new(url, None, &tenant).err(), Some(OptionsError::Tenant { tenant }));
    }
    let missing = |part| Some(OptionsError::Missing { part });
    assert_eq!(Options::new("postgres://u@db.example", None, "t").err(), missing("database"));
    assert_eq!(Options::new("postgres://db.example/d", None, "t").err(), missing("user"));
    for url in
        ["mysql://u:secret@h/d", "postgres://u:secret@h/d?sslmode=maybe", "postgres://u:secret@h:port/d"]
    {
        let error = Options::new(url, None, "t").unwrap_err();
        assert!(matches!(error, OptionsError::Url { .. }), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
