//! A store that serves all folders: an id names one session of one folder, and no method shows or changes the chat of
//! another folder.

use super::client::{Client, Wire};
use super::liveness::given::{Choice, Seen, methods, params};
use super::script::Folder;
use protocol::methods::METHODS;
use serde_json::{Value, json};

const SECRET: &str = "the secret of the other folder";

/// A client that works in this folder, over the store that it shares with another one.
fn client(store: &Folder, folder: &str) -> Client {
    let mut client = Client::new(Wire::Pipes);
    let options = json!({
        "protocolVersion": 1, "storage": { "path": store.path() },
        "capabilities": { "modelComplete": true, "toolInvoke": true },
    });
    client.initialize(json!({
        "capabilities": {}, "workspaceFolders": [{ "uri": format!("file://{folder}"), "name": "code" }],
        "initializationOptions": { "threadhold": options },
    }));
    client
}

/// Stores a session of the folder `/a`, with an id that a client of `/b` may choose too.
fn filled(store: &Folder, driver: &str) {
    let history = json!([{ "externalId": "r", "request": SECRET, "response": SECRET }]);
    let open = json!({
        "workspaceFolder": "/a", "sessionId": "s", "driver": driver, "history": history, "title": SECRET,
    });
    let mut client = client(store, "/a");
    client.call("session/open", open).expect("it opens");
    client.call("draft/set", json!({ "sessionId": "s", "text": SECRET })).expect("a draft");
}

/// What `/a` has of the session.
fn shown(store: &Folder) -> Value {
    let mut client = client(store, "/a");
    let opened = client.call("session/open", json!({ "workspaceFolder": "/a", "sessionId": "s" }));
    let mut snapshot = opened.expect("it opens")["snapshot"].take();
    snapshot.as_object_mut().expect("an object").retain(|field, _| !["stream", "seq"].contains(&&**field));
    snapshot
}

/// `true` if the parameters of a method name a session.
fn names_a_session(method: &str) -> bool {
    if ["trajectory/list", "tool/approvals"].contains(&method) {
        return false;
    }
    let given = params(method, "s", "/b", &Seen::default(), Choice(0));
    given.get("sessionId").is_some() || given.get("parentId").is_some()
}

#[test]
fn no_method_reaches_the_session_of_another_folder() {
    let named: Vec<&str> = methods().into_iter().filter(|method| names_a_session(method)).collect();
    assert!(named.len() > 35 && named.len() < METHODS.len(), "{named:?}");
    for driver in ["sidecar", "editor"] {
        let store = Folder::new(&format!("folders-{driver}"));
        filled(&store, driver);
        let before = shown(&store);
        let mut client = client(&store, "/b");
        for method in &named {
            // With and without the folder, where a method can name it.
            let mut given = params(method, "s", "/b", &Seen::default(), Choice(0));
            if *method == "session/open" {
                given["history"] = json!([]);
            }
            let mut plain = given.clone();
            plain.as_object_mut().expect("an object").remove("workspaceFolder");
            let needs = |error: &Value| error["data"]["field"] == "workspaceFolder";
            for given in [given, plain] {
                let answer = client.call(method, given.clone());
                assert!(!format!("{answer:?}").contains(SECRET), "{method} {given}: {answer:?}");
                let Err(error) = answer else { panic!("{method} {given}: {answer:?}") };
                let kind = error["data"]["kind"].as_str().unwrap_or_default();
                let is_other = kind == "InvalidParams" && error["data"]["field"] == "sessionId";
                assert!(is_other || kind == "UnknownSession" || needs(&error), "{method} {given}: {error}");
                if is_other {
                    let message = error["message"].as_str().unwrap_or_default();
                    assert!(message.contains("belongs to another folder"), "{method}: {error}");
                }
            }
        }
        let listed = client.call("session/list", json!({ "workspaceFolder": "/b" })).expect("a list");
        assert!(!listed.to_string().contains(SECRET), "{listed}");
        drop(client);
        assert_eq!(shown(&store), before, "{driver}");
    }
}

/// A background session or a loop reports to its parent, which must be one of the same folder.
#[test]
fn parent_of_another_folder_is_refused() {
    let store = Folder::new("folders-parent");
    filled(&store, "sidecar");
    let mut client = client(&store, "/b");
    let open = json!({ "workspaceFolder": "/b", "sessionId": "child", "parentId": "s" });
    let error = client.call("session/open", open).expect_err("another folder's parent");
    assert_eq!(
        (&error["data"]["kind"], &error["data"]["field"]),
        (&json!("InvalidParams"), &json!("sessionId"))
    );
}

/// A client that named both folders works with the sessions of both.
#[test]
fn sessions_of_all_named_folders_are_reached_by_id() {
    let store = Folder::new("folders-named");
    filled(&store, "sidecar");
    let mut client = client(&store, "/b");
    client.call("session/list", json!({ "workspaceFolder": "/a" })).expect("a list");
    let found = client.call("session/subscribe", json!({ "sessionId": "s" })).expect("it opens");
    assert!(found.to_string().contains(SECRET), "{found}");
}
