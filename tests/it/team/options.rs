//! Options of storage: wrong ones fail `initialize`, a server that is away does not, and a repository's file names none.

use super::{Tenant, started};
use crate::wire::client::{Client, Start, Wire};
use crate::wire::script::Folder;
use serde_json::{Value, json};
use std::fs;
use store::testing::postgres::server;

fn hello(storage: &Value) -> Value {
    let threadhold = json!({ "protocolVersion": 1, "storage": storage });
    json!({ "capabilities": {}, "initializationOptions": { "threadhold": threadhold } })
}

fn refused(client: &mut Client, storage: &Value) -> Value {
    client.call("initialize", hello(storage)).expect_err("it is refused")
}

#[test]
fn wrong_options_fail_initialize_and_right_ones_follow() {
    let mut client = started();
    let url = "postgres://ann:hunter2@db.example/sessions";
    for (storage, field, says) in [
        (json!({ "backend": "oracle" }), "storage.backend", "postgres"),
        (json!({ "backend": "postgres", "tenant": "t" }), "storage.url", "is missing"),
        (json!({ "url": url, "tenant": "t" }), "storage.url", "PGPASSWORD"),
        (json!({ "url": "postgres://ann@db.example/sessions" }), "storage.tenant", "is missing"),
        (
            json!({ "url": "postgres://ann@db.example/sessions", "tenant": "a b" }),
            "storage.tenant",
            "\"a b\"",
        ),
        (
            json!({ "backend": "sqlite", "url": "postgres://ann@db.example/sessions" }),
            "storage.url",
            "sqlite",
        ),
    ] {
        let error = refused(&mut client, &storage);
        let data = &error["data"];
        assert_eq!(
            (&data["kind"], &data["field"]),
            (&json!("InvalidParams"), &json!(field)),
            "{storage}: {error}"
        );
        assert!(data["reason"].as_str().is_some_and(|reason| reason.contains(says)), "{storage}: {error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    client.initialize(hello(&json!({ "backend": "memory" })));
    client.call("session/open", json!({ "workspaceFolder": "/w", "sessionId": "s" })).expect("it opens");
    assert!(!client.log().contains("hunter2"));
}

/// The server is asked for when a session is, and comes back without a restart of the sidecar.
#[test]
fn absent_server_is_told_when_a_session_is_opened() {
    let storage = json!({ "url": "postgres://ann@127.0.0.1:1/sessions?connect_timeout=1", "tenant": "t" });
    let mut client = started();
    client.initialize(hello(&storage));
    let error = client.call("session/open", json!({ "workspaceFolder": "/w", "sessionId": "s" }));
    let data = error.expect_err("nothing listens there")["data"].take();
    assert_eq!(
        data,
        json!({ "kind": "StorageError", "cause": "unavailable", "path": "postgres://127.0.0.1:1/sessions" })
    );
    let told = client.call("server/diagnostics", json!({})).expect("it answers");
    assert_eq!(told["storage"][0]["backend"], "postgres");
}

#[test]
fn environment_and_users_file_name_a_database_and_a_workspace_does_not() {
    let Some(server) = server() else { return };
    let tenant = Tenant::new(server);
    let folder = Folder::new("team-options");
    let workspace = folder.path().join("w");
    fs::create_dir_all(workspace.join(".threadhold")).expect("a folder");
    let evil = "[storage]\nurl = \"postgres://thief@evil.example/sessions\"\ntenant = \"t\"\n";
    fs::write(workspace.join(".threadhold/config.toml"), evil).expect("a file");
    let file = folder.path().join("config.toml");
    fs::write(&file, format!("roundLimit = 7\n[storage]\nurl = {:?}\ntenant = \"other\"\n", tenant.url))
        .expect("a file");
    let mut client = Start::new(Wire::Pipes)
        .variable("THREADHOLD_CONFIG", &file.display().to_string())
        .variable("THREADHOLD_STORAGE_TENANT", &tenant.name)
        .start();
    client.initialize(hello(&Value::Null));
    let open = json!({ "workspaceFolder": workspace, "sessionId": "s", "driver": "editor",
                       "history": [{ "request": "Hello.", "rounds": [] }] });
    client.call("session/open", open).expect("it opens");
    client.wait_notification("that the workspace's storage is ignored", |frame| {
        let message = frame["params"]["message"].as_str().unwrap_or_default();
        message.contains("w/.threadhold/config.toml") && message.contains("storage: ignored")
    });
    let told = client.frames().iter().any(|frame| frame.to_string().contains("unknown setting"));
    assert!(!told, "the table of the user's file is known");
    drop(client);
    let listed = tenant.editor("other").call("session/list", json!({}));
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1));
}

/// The client gives the password of this URL's role after the first request failed for want of it.
pub fn password_can_come_from_the_client(url: &str) {
    let mut client = started();
    client.initialize(hello(&json!({ "url": url, "tenant": "t", "passwordEnv": "TEAM_KEY" })));
    let open = || json!({ "workspaceFolder": "/w", "sessionId": "s" });
    let error = client.call("session/open", open()).expect_err("no password");
    assert_eq!(error["data"]["kind"], "StorageError", "{error}");
    client.call("model/key", json!({ "name": "TEAM_KEY", "value": "hunter2" })).expect("it is taken");
    client.call("session/open", open()).expect("it opens");
    assert!(!client.log().contains("hunter2"));
}
