//! Settings as clients write them: unusable values beside good ones, unknown names, other names and forms.
//! Each good value takes effect, and each other one is reported.

use super::super::client::{Start, Wire};
use super::{Workspace, in_force, wait_message, write};
use serde_json::{Value, json};

fn configuration(settings: Value) -> Value {
    json!({ "settings": { "threadhold": settings } })
}

#[test]
fn a_bad_value_never_costs_the_good_ones() {
    let ground = Workspace::new("given-values");
    let mut client = ground.start().start();
    client.initialize(ground.hello(json!({
        "model": { "window": 8000, "images": "x" }, "roundLimit": 7, "policy": "nope", "threshold": "x",
        "retention": { "messages": 3, "userTurns": 4 },
    })));
    for said in [
        ["the settings of initialize: policy: ", "unknown policy"],
        ["the settings of initialize: threshold: ", "must be a number"],
        ["the settings of initialize: model.images: ", "must be a boolean"],
        ["the settings of initialize: retention: ", "{ userTurns = an integer of at least 1 }"],
    ] {
        wait_message(&mut client, &said);
    }
    ground.open(&mut client, "s", json!({}));
    let value = |client: &mut _, name: &str| in_force(client, "s", name)["value"].take();
    assert_eq!(value(&mut client, "model")["window"], 8000);
    assert_eq!(value(&mut client, "roundLimit"), 7);

    client.notify(
        "workspace/didChangeConfiguration",
        configuration(json!({ "roundLimit": 9, "policy": "nope", "titles": 5 })),
    );
    wait_message(
        &mut client,
        &["the new configuration: policy: ", "unknown policy", "the policy default is in force"],
    );
    wait_message(&mut client, &["the new configuration: titles: "]);
    super::wait_round_limit(&mut client, 9);
    // The previous value stays, for each value alone.
    client.notify(
        "workspace/didChangeConfiguration",
        configuration(json!({ "roundLimit": "many", "mostFailures": 5 })),
    );
    wait_message(&mut client, &["the new configuration: roundLimit: must be an integer"]);
    assert_eq!(value(&mut client, "mostFailures"), 5);
    assert_eq!(value(&mut client, "roundLimit"), 9);
    for not_settings in [json!([]), json!(7)] {
        client.notify("workspace/didChangeConfiguration", configuration(not_settings));
        wait_message(&mut client, &["the new configuration: settings: must be an object"]);
    }

    // Settings for one session are rejected as a whole, and the field is named.
    for (settings, field) in [
        (json!({ "roundLimit": 3, "threshold": "x" }), "settings.threshold"),
        (json!({ "roundLimit": 3, "retention": { "messages": 3, "userTurns": 4 } }), "settings.retention"),
        (json!({ "triggers.messages": 0 }), "settings.triggers.messages"),
        (json!([]), "settings"),
    ] {
        let params = json!({ "sessionId": "s", "settings": settings });
        let error = client.call("session/configure", params).expect_err("it is refused");
        assert_eq!(error["data"]["field"], field, "{error}");
    }
    assert_eq!(value(&mut client, "roundLimit"), 9);
}

#[test]
fn unknown_setting_is_reported_with_the_nearest_name() {
    let ground = Workspace::new("given-names");
    let named = ground.at("not-there.toml");
    let start = Start::new(Wire::Pipes)
        .variable("THREADHOLD_POLCIY", "x")
        .variable("THREADHOLD_TRIGGERS_PRE_TURN", "0.5");
    let start = start.variable("THREADHOLD_RETENTION_USER_TURNS", "5");
    let mut client = start.variable("THREADHOLD_CONFIG", named.to_str().expect("a text")).start();
    client
        .initialize(ground.hello(json!({ "polciy": "x", "triggers": { "preTurns": 0.4 }, "roundLimit": 7 })));
    for said in [
        ["the environment: THREADHOLD_POLCIY", "THREADHOLD_POLICY"],
        ["THREADHOLD_CONFIG names ", "which does not exist"],
        ["the settings of initialize: unknown setting \"polciy\"", "similar: policy"],
        ["unknown setting \"triggers.preTurns\"", "similar: triggers.preTurn"],
    ] {
        wait_message(&mut client, &said);
    }
    let params = json!({
        "workspaceFolder": ground.at("code"), "sessionId": "s", "settings": { "mesages": 4, "a.b": 1 },
    });
    let opened = client.call("session/open", params).expect("it opens");
    let said = opened["restore"]["diagnostics"].to_string();
    assert!(said.contains(r#"unknown setting \"mesages\"; similar: triggers.messages"#), "{said}");
    assert!(said.contains(r#"unknown setting \"a.b\""#) && said.contains("unknownSetting"), "{said}");
    let configured = client
        .call(
            "session/configure",
            json!({ "sessionId": "s", "settings": { "polciy": 1, "mostFailures": 4 } }),
        )
        .expect("it is set");
    assert_eq!(configured["settings"]["mostFailures"], 4);
    assert_eq!(configured["diagnostics"][0]["message"], "unknown setting \"polciy\"; similar: policy");
    for (name, value) in [
        ("roundLimit", json!(7)),
        ("triggers.preTurnTokens", json!(0.5)),
        ("retention", json!({ "userTurns": 5 })),
    ] {
        assert_eq!(in_force(&mut client, "s", name)["value"], value, "{name}");
    }
    // A named file that does not exist yet is used once it does.
    write(&named, "mostFailures = 9\ntitles = \"model\"\n");
    client.wait_notification("the file's value", |frame| {
        frame["params"]["type"] == "threadUpdated" && frame["params"]["settings"]["titles"] == "model"
    });
}

/// The forms of VS Code's `getConfiguration` and of policy files.
#[test]
fn nested_dotted_and_policy_file_names_are_accepted() {
    let ground = Workspace::new("given-forms");
    let mut client = ground.start().start();
    client.initialize(ground.hello(json!({})));
    let usual = ground.open(&mut client, "usual", json!({}))["settings"].take();
    for (at, (given, own)) in [
        (json!({ "summarizeAgentConversationHistory": { "enabled": false } }), json!({ "summarize": "off" })),
        (json!({ "summarization": { "enabled": false } }), json!({ "summarize": false })),
        (json!({ "openai": { "summaryModel": "x" } }), json!({ "summaryModel": "x" })),
        (json!({ "triggers.messages": 4 }), json!({ "triggers": { "messages": 4 } })),
        (json!({ "model.window": 9000 }), json!({ "model": { "window": 9000 } })),
        (json!({ "retention.messages": 4, "titles": null }), json!({ "retention": { "messages": 4 } })),
        (json!({ "enabled": false }), json!({ "summarize": "off" })),
        (json!({ "consent": "ask" }), json!({ "compaction": "ask" })),
        (json!({ "triggers": { "preTurn": "off" } }), json!({ "triggers": { "preTurnTokens": false } })),
        (json!({ "triggers.idleSecs": true }), json!({ "triggers": { "idleSeconds": 900 } })),
        (json!({ "triggers": { "userTurns": true } }), json!({ "triggers": { "userTurns": 32 } })),
        (
            json!({ "userMessages": 0.1, "ledger": 0.2 }),
            json!({ "userMessageBudget": 0.1, "ledgerShare": 0.2 }),
        ),
        (
            json!({ "rawTail": 0.1, "identifiers": 0.2 }),
            json!({ "rawTailShare": 0.1, "identifierShare": 0.2 }),
        ),
        (json!({ "summaryBreakpoints": false }), json!({ "summaryBreakpoints": "strip" })),
        (json!({ "policy": "fourStage", "minNewTokens": "auto" }), json!({ "policy": "fourStage" })),
    ]
    .into_iter()
    .enumerate()
    {
        let by_given = ground.open(&mut client, &format!("given{at}"), given.clone())["settings"].take();
        let by_own = ground.open(&mut client, &format!("own{at}"), own)["settings"].take();
        assert_eq!(by_given, by_own, "{given}");
        assert_ne!(by_given, usual, "{given}");
    }
    let policy = ground.at("code/mine.toml");
    write(&policy, "minNewTokens = 9\nconsent = \"ask\"\n[triggers]\npreTurn = 0.5\nbackground = false\n");
    let settings = json!({ "policy": policy, "minNewTokens": "auto" });
    let by_file = ground.open(&mut client, "file", settings)["settings"].take();
    assert_eq!(by_file["minNewTokens"], "auto");
    assert_eq!(by_file["triggers"]["preTurnTokens"], 0.5);
    assert_eq!(by_file["triggers"]["background"], false);
    for bad in [json!({ "targetRatio": 0 }), json!({ "retention": { "tokenTail": 1 } })] {
        let params = json!({ "sessionId": "usual", "settings": bad });
        client.call("session/configure", params).expect_err("it is refused");
    }
}

/// The output of `threadhold policy` can be set, each value under its name.
#[test]
fn a_printed_policy_is_made_of_settings() {
    let ground = Workspace::new("given-printed");
    let command =
        std::process::Command::new(env!("CARGO_BIN_EXE_threadhold")).args(["policy", "lastTurns"]).output();
    let text = String::from_utf8(command.expect("the binary runs").stdout).expect("a text");
    let mut printed: Value = toml::from_str(&text).expect("TOML");
    let all = printed.as_object_mut().expect("a table");
    // Values that only a policy file can have.
    for name in ["name", "toolKinds", "shortenTo", "excerptWeights", "order"] {
        all.remove(name).expect(name);
    }
    let mut client = ground.start().start();
    client.initialize(ground.hello(json!({})));
    let params = json!({ "workspaceFolder": ground.at("code"), "sessionId": "s", "settings": printed });
    let opened = client.call("session/open", params).expect("it opens");
    assert_eq!(opened["restore"]["diagnostics"], json!([]));
    let mut by_name = ground.open(&mut client, "t", json!({ "policy": "lastTurns" }))["settings"].take();
    by_name["policy"] = json!("default");
    assert_eq!(opened["snapshot"]["settings"], by_name);
}

#[test]
fn policy_file_is_followed_and_its_path_is_accepted() {
    let ground = Workspace::new("given-policy-file");
    let policy = ground.at("home/threadhold/mine.toml");
    let text = |messages: u32| {
        format!("base = \"manifold\"\nname = \"longer\"\n[triggers]\nmessages = {messages}\n")
    };
    write(&policy, &text(60));
    write(&ground.users_file(), "policy = \"mine.toml\"\n");
    let mut client = ground.start().start();
    client.initialize(ground.hello(json!({})));
    let shown = ground.open(&mut client, "s", json!({}))["settings"].take();
    assert_eq!((&shown["policy"], &shown["triggers"]["messages"]), (&json!(policy), &json!(60)));
    let params = json!({ "sessionId": "s", "settings": { "policy": shown["policy"] } });
    client.call("session/configure", params).expect("what was shown is taken");
    let messages = |client: &mut _| in_force(client, "s", "triggers.messages")["value"].take();

    write(&policy, &text(70));
    client.wait_notification("other messages", |frame| {
        frame["params"]["settings"]["triggers"]["messages"] == 70
    });
    write(&policy, "a = = 1\n");
    wait_message(&mut client, &["mine.toml", "not TOML at line 1: ", "stays"]);
    std::fs::remove_file(&policy).expect("it is removed");
    wait_message(&mut client, &["mine.toml", "not found", "stays"]);
    // Other settings still change meanwhile.
    client.notify("workspace/didChangeConfiguration", configuration(json!({ "roundLimit": 9 })));
    super::wait_round_limit(&mut client, 9);
    assert_eq!(messages(&mut client), 70);
    write(&policy, &text(80));
    client.wait_notification("the file's messages again", |frame| {
        frame["params"]["settings"]["triggers"]["messages"] == 80
    });

    // In another process without the file, the default policy applies, and this is reported.
    drop(client);
    std::fs::remove_file(&policy).expect("it is removed");
    let mut client = ground.start().start();
    client.initialize(ground.hello(json!({})));
    let shown = ground.open(&mut client, "s", json!({}))["settings"].take();
    assert_eq!(shown["policy"], "default");
    wait_message(&mut client, &["config.toml: policy: ", "not found", "the policy default is in force"]);
}
