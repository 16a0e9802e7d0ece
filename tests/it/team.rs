//! Sidecars that share a PostgreSQL server: whole sessions, two hosts, processes and servers that are killed, a network that
//! fails, copies between stores. The server is a real one, made for the tests; where PostgreSQL is not installed the tests say
//! that they did not run, and under CI they fail.

#![allow(clippy::print_stdout, reason = "tables of what was seen are printed")]

mod away;
mod clocks;
mod copies;
mod doctor;
mod faults;
mod hosts;
mod options;
mod proxy;
mod sessions;
mod tls;

use crate::wire::client::{Client, Start, Wire};
use crate::wire::script::Editor;
use serde_json::{Value, json};
use store::testing::postgres::Server;
use uuid::Uuid;

/// A tenant of its own on a server.
struct Tenant {
    url: String,
    name: String,
}

impl Tenant {
    /// A new one.
    fn new(server: &Server) -> Self {
        Self::at(server.url("threadhold", "threadhold"))
    }

    /// A new one in the database of this URL.
    fn at(url: String) -> Self {
        Self { url, name: Uuid::now_v7().to_string() }
    }

    /// The options of storage of a sidecar on this host.
    fn on(&self, host: &str) -> Value {
        json!({ "backend": "postgres", "url": self.url, "tenant": self.name, "hostName": host })
    }

    /// An editor on this host.
    fn editor(&self, host: &str) -> Editor {
        let client = started();
        Editor::stored(client, &self.on(host), json!({ "model": { "name": "m", "window": 16_000 } }))
    }
}

/// A sidecar that is not initialized, with a user of its own.
fn started() -> Client {
    Start::new(Wire::Pipes).variable("USER", "ann").without("PGPASSWORD").start()
}
