//! Settings from every source: which one wins, the source that is reported, invalid files, and changes of
//! files.

mod given;
mod listed;
mod workspace;

use super::client::{Client, Start, Wire};
use super::script::{Editor, Folder, calls, prose};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders for the user's file, a workspace, and sessions.
struct Workspace {
    folder: Folder,
}

impl Workspace {
    fn new(name: &str) -> Self {
        let ground = Self { folder: Folder::new(name) };
        for folder in ["home", "code", "store"] {
            fs::create_dir_all(ground.at(folder)).expect("a folder");
        }
        ground
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn users_file(&self) -> PathBuf {
        self.at("home/threadhold/config.toml")
    }

    fn workspaces_file(&self) -> PathBuf {
        self.at("code/.threadhold/config.toml")
    }

    fn start(&self) -> Start {
        // Without THREADHOLD_CONFIG the platform's folder is used.
        let home = self.at("home").display().to_string();
        Start::new(Wire::Pipes).without("THREADHOLD_CONFIG").variable("XDG_CONFIG_HOME", &home)
    }

    fn hello(&self, settings: Value) -> Value {
        json!({
            "capabilities": {}, "rootUri": format!("file://{}", self.at("code").display()),
            "initializationOptions": { "threadhold": {
                "protocolVersion": 1, "storage": { "path": self.at("store") }, "settings": settings,
            } },
        })
    }

    fn open(&self, client: &mut Client, session: &str, settings: Value) -> Value {
        let params = json!({
            "workspaceFolder": self.at("code"), "sessionId": session, "driver": "editor", "settings": settings,
            "history": [{ "request": "Fix it.", "response": "It is fixed." }],
        });
        client.call("session/open", params).expect("it opens")["snapshot"].take()
    }
}

fn write(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    // Written like editors do, so that a half-written file is never seen.
    let half = file.with_extension("half");
    fs::write(&half, text).expect("it is written");
    fs::rename(half, file).expect("it is put in place");
}

/// A setting in force, from `context/inspect`.
fn in_force(client: &mut Client, session: &str, name: &str) -> Value {
    let inspected = client.call("context/inspect", json!({ "sessionId": session })).expect("it is inspected");
    let settings = inspected["settings"].as_array().expect("a list");
    settings.iter().find(|setting| setting["name"] == name).expect("it is in force").clone()
}

#[test]
fn last_source_wins_and_is_reported() {
    let ground = Workspace::new("settings-places");
    let (user, workspace) = (ground.users_file(), ground.workspaces_file());
    let places = [
        ("builtIn", Value::Null),
        ("userFile", json!(user)),
        ("workspaceFile", json!(workspace)),
        ("environment", json!("THREADHOLD_ROUND_LIMIT")),
        ("initialize", Value::Null),
        ("didChangeConfiguration", Value::Null),
        ("session", Value::Null),
        ("flag", json!("--set")),
    ];
    for (last, (source, place)) in places.iter().enumerate() {
        let is_said = |at: usize| last >= at;
        if is_said(1) {
            write(&user, "roundLimit = 29\n");
        }
        // Lower: a workspace file may only be stricter.
        if is_said(2) {
            write(&workspace, "roundLimit = 28\n");
        }
        let mut start = ground.start();
        if is_said(3) {
            start = start.variable("THREADHOLD_ROUND_LIMIT", "27");
        }
        if is_said(7) {
            start = start.argument("--set").argument("roundLimit=23");
        }
        let mut client = start.start();
        client.initialize(ground.hello(if is_said(4) { json!({ "roundLimit": 26 }) } else { json!({}) }));
        if is_said(5) {
            let settings = json!({ "threadhold": { "roundLimit": 25 } });
            client.notify("workspace/didChangeConfiguration", json!({ "settings": settings }));
        }
        let id = format!("s{last}");
        let own = if is_said(6) { json!({ "roundLimit": 24 }) } else { json!({}) };
        let snapshot = ground.open(&mut client, &id, own);
        let value = if last == 0 { 64 } else { 30 - last };
        assert_eq!(snapshot["settings"]["roundLimit"], value, "{source}");
        let found = in_force(&mut client, &id, "roundLimit");
        assert_eq!((&found["source"], &found["value"]), (&json!(source), &json!(value)));
        assert_eq!(found["place"], *place, "{source}");
    }
}

/// A setting changed by a policy reports the policy as its source.
#[test]
fn policy_is_reported_for_its_settings() {
    let ground = Workspace::new("settings-policy");
    let mut client = ground.start().argument("--policy").argument("limiter").start();
    client.initialize(ground.hello(json!({ "triggers": { "messages": 40 } })));
    ground.open(&mut client, "s", json!({}));
    let (policy, stage) = (in_force(&mut client, "s", "policy"), in_force(&mut client, "s", "limitHistory"));
    assert_eq!((&policy["source"], &policy["place"]), (&json!("flag"), &json!("--policy")));
    assert_eq!((&stage["source"], &stage["value"]), (&json!("policy"), &json!("limitHistory")));
    let (messages, turns) =
        (in_force(&mut client, "s", "triggers.messages"), in_force(&mut client, "s", "triggers.userTurns"));
    assert_eq!((&messages["source"], &messages["value"]), (&json!("initialize"), &json!(40)));
    assert_eq!((&turns["source"], &turns["value"]), (&json!("builtIn"), &json!(false)));

    // A policy file, named relative to the settings file; an unknown key makes it unusable.
    write(&ground.at("home/threadhold/mine.toml"), "base = \"rounds\"\nname = \"mine\"\nmostFailures = 5\n");
    write(&ground.users_file(), "policy = \"mine.toml\"\n");
    let mut client = ground.start().start();
    client.initialize(ground.hello(json!({})));
    let settings = ground.open(&mut client, "t", json!({}))["settings"].take();
    let mine = json!(ground.at("home/threadhold/mine.toml"));
    assert_eq!((&settings["policy"], &settings["mostFailures"]), (&mine, &json!(5)));
    assert_eq!(in_force(&mut client, "t", "mostFailures")["source"], "policy");
    write(&ground.at("home/threadhold/yours.toml"), "password = \"sk-planted-0x5ec2e7\"\n");
    write(&ground.users_file(), "policy = \"yours.toml\"\nroundLimit = 9\n");
    let said = wait_message(
        &mut client,
        &["config.toml: policy: the file ", "yours.toml: unknown key \"password\""],
    );
    assert!(!said.contains("0x5ec2e7"), "{said}");
    wait_round_limit(&mut client, 9);
    assert_eq!(in_force(&mut client, "t", "policy")["value"], mine);
}

/// Settings of system text sections are in the next prompt.
#[test]
fn sections_of_the_system_text_are_settings() {
    let ground = Workspace::new("settings-sections");
    let mut client = ground.start().variable("THREADHOLD_ROLE", "You mend parsers.").start();
    client.initialize(ground.hello(json!({ "identity": "You are careful.", "iterationBudget": true })));
    ground.open(&mut client, "s", json!({ "project": "A parser.", "roundLimit": 7 }));
    let rendered = client.call("prompt/render", json!({ "sessionId": "s" })).expect("it is rendered");
    let text = rendered["messages"][0]["parts"].to_string();
    for said in ["You are careful.", "You mend parsers.", "A parser.", "at most 7 rounds"] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

/// The section is there while somebody sets a limit, and says the one in force.
#[test]
fn iteration_budget_follows_the_limit_of_each_turn() {
    let ground = Workspace::new("settings-budget");
    let mut client = ground.start().start();
    client.initialize(ground.hello(json!({})));
    ground.open(&mut client, "s", json!({}));
    let said = |client: &mut Client| {
        let rendered =
            client.call("prompt/render", json!({ "sessionId": "s", "input": { "content": "Go." } }));
        let messages = rendered.expect("it is rendered")["messages"].to_string();
        let at = messages.find("A turn has at most ").map(|at| at + "A turn has at most ".len());
        at.and_then(|at| messages.get(at..)?.split(' ').next().map(str::to_owned))
    };
    assert_eq!(said(&mut client), None);
    for (given, limit, expected) in [
        (json!({ "roundLimit": 9 }), 9, Some("9")),
        (json!({ "roundLimit": 5 }), 5, Some("5")),
        (json!({ "iterationBudget": false, "roundLimit": 6 }), 6, None),
        (json!({}), 64, None),
    ] {
        let settings = json!({ "settings": { "threadhold": given } });
        client.notify("workspace/didChangeConfiguration", settings);
        wait_round_limit(&mut client, limit);
        assert_eq!(said(&mut client).as_deref(), expected, "{given}");
        let source = in_force(&mut client, "s", "iterationBudget")["source"].take();
        let set = given.as_object().is_some_and(|given| !given.is_empty());
        assert_eq!(source, if set { "didChangeConfiguration" } else { "builtIn" }, "{given}");
    }
}

fn wait_round_limit(client: &mut Client, limit: u64) {
    client.wait_notification(&format!("a round limit of {limit}"), |frame| {
        frame["params"]["type"] == "threadUpdated" && frame["params"]["settings"]["roundLimit"] == limit
    });
}

fn wait_message(client: &mut Client, texts: &[&str]) -> String {
    let found = client.wait_notification(&format!("a message with {texts:?}"), |frame| {
        let message = frame["params"]["message"].as_str().unwrap_or_default();
        frame["method"] == "window/logMessage" && texts.iter().all(|text| message.contains(text))
    });
    found["params"]["message"].as_str().expect("a text").to_owned()
}

#[test]
fn open_sessions_follow_created_changed_and_removed_files() {
    let ground = Workspace::new("settings-files");
    let (user, workspace) = (ground.users_file(), ground.workspaces_file());
    let mut client = ground.start().start();
    client.initialize(ground.hello(json!({})));
    ground.open(&mut client, "s", json!({}));
    // Neither file nor their folders exist at first.
    write(&user, "roundLimit = 31\n");
    wait_round_limit(&mut client, 31);
    write(&workspace, "roundLimit = 12\nthreshold = 0.5\n");
    wait_round_limit(&mut client, 12);

    // An unusable value leaves the previous one in force, for each value alone.
    write(&workspace, "roundLimit = 0.5\nthreshold = 0.4\n");
    let said = wait_message(&mut client, &["roundLimit: must be an integer"]);
    assert!(said.starts_with(workspace.to_str().expect("a text")), "{said}");
    let threshold = client
        .wait_notification("another threshold", |frame| frame["params"]["settings"]["threshold"] == 0.4);
    assert_eq!(threshold["params"]["settings"]["roundLimit"], 12);
    write(&workspace, "roundLimit = = 3\n");
    wait_message(&mut client, &["config.toml", "not TOML at line 1", "stays"]);
    assert_eq!(in_force(&mut client, "s", "roundLimit")["value"], 12);

    // A corrected file takes effect again.
    write(&workspace, "roundLimit = 13\n");
    wait_round_limit(&mut client, 13);
    // A stricter user's file wins.
    write(&user, "roundLimit = 11\n");
    wait_round_limit(&mut client, 11);
    write(&user, "roundLimit = 31\n");
    wait_round_limit(&mut client, 13);
    fs::remove_file(&workspace).expect("it is removed");
    wait_round_limit(&mut client, 31);
    // The folder is removed and created again.
    fs::remove_dir_all(ground.at("code/.threadhold")).expect("it is removed");
    write(&workspace, "roundLimit = 14\n");
    wait_round_limit(&mut client, 14);
}

#[test]
fn invalid_settings_file_never_prevents_a_start() {
    let ground = Workspace::new("settings-faults");
    let secret = "sk-planted-in-a-file-0x5ec2e7";
    write(
        &ground.workspaces_file(),
        &format!(
            "roundLimit = \"{secret}\"\ntitels = \"{secret}\"\npolicy = 7\nmaxToolResultTokens = 0\nthreshold = 0.5\n\
             summaryBaseUrl = \"https://models.example/{secret}\"\n[model]\nwindow = 12\n"
        ),
    );
    write(
        &ground.users_file(),
        &format!(
            "summaryModel = \"small\"\nsummaryBaseUrl = \"https://me:{secret}@models.example\"\nkey = {secret} =\n"
        ),
    );
    let start = ground.start().variable("THREADHOLD_THRESHOLD", "1.5").variable("RUST_LOG", "trace");
    let mut client = start.start();
    client.initialize(ground.hello(json!({})));
    let snapshot = ground.open(&mut client, "s", json!({}));
    for texts in [
        ["the environment: threshold: ", "neither a ratio"],
        ["home/threadhold/config.toml: ", "not TOML at line 3"],
        [".threadhold/config.toml: roundLimit: ", "must be an integer"],
        [".threadhold/config.toml: ", "unknown setting \"titels\""],
        [".threadhold/config.toml: policy: ", "ignored"],
        [".threadhold/config.toml: maxToolResultTokens: ", "ignored"],
        [".threadhold/config.toml: summaryBaseUrl: ", "ignored"],
        [".threadhold/config.toml: model: ", "ignored"],
    ] {
        wait_message(&mut client, &texts);
    }
    assert_eq!(snapshot["settings"]["threshold"], 0.5);
    assert_eq!(snapshot["settings"]["roundLimit"], 64);

    write(
        &ground.users_file(),
        &format!(
            "summaryBaseUrl = \"https://me:{secret}@models.example\"\npolicy = 7\nmaxToolResultTokens = 0\n\
             reservedOutput = 900\n[model]\nwindow = 12\n"
        ),
    );
    for texts in [
        ["home/threadhold/config.toml: summaryBaseUrl: ", "without user, password, query and fragment"],
        ["home/threadhold/config.toml: policy: ", "must be a string"],
        ["home/threadhold/config.toml: maxToolResultTokens: ", "must be at least 1"],
        ["home/threadhold/config.toml: model.window: ", "at least"],
    ] {
        wait_message(&mut client, &texts);
    }
    client.wait_notification("the good value", |frame| frame["params"]["settings"]["reservedOutput"] == 900);
    write(&ground.users_file(), "summaryModel = \"small\"\nsummaryBaseUrl = \"https://models.example\"\n");
    client.wait_notification("the model of summaries", |frame| {
        let settings = &frame["params"]["settings"];
        settings["summaryModel"] == "small" && settings["summaryBaseUrl"] == "https://models.example"
    });
    let told: String = client.frames().iter().map(ToString::to_string).collect();
    assert!(!told.contains(secret) && !client.log().contains(secret), "a secret was told");
}

#[test]
fn folder_or_link_as_settings_file_is_ignored() {
    let ground = Workspace::new("settings-no-file");
    fs::create_dir_all(ground.users_file()).expect("a folder in the place of the file");
    let elsewhere = ground.at("elsewhere.toml");
    write(&elsewhere, "roundLimit = 12\n");
    fs::create_dir_all(ground.at("code/.threadhold")).expect("a folder");
    std::os::unix::fs::symlink(&elsewhere, ground.workspaces_file()).expect("a link");
    let mut client = ground.start().start();
    client.initialize(ground.hello(json!({})));
    let snapshot = ground.open(&mut client, "s", json!({}));
    wait_message(&mut client, &["home/threadhold/config.toml", "not a file"]);
    wait_message(&mut client, &[".threadhold/config.toml", "outside of the workspace"]);
    assert_eq!(snapshot["settings"]["roundLimit"], 64);

    // A user may name a file elsewhere.
    let start = Start::new(Wire::Pipes).variable("THREADHOLD_CONFIG", elsewhere.to_str().expect("a text"));
    let mut client = start.start();
    client.initialize(ground.hello(json!({})));
    assert_eq!(ground.open(&mut client, "t", json!({}))["settings"]["roundLimit"], 12);
}

#[test]
fn invalid_flag_ends_the_command() {
    for (flags, said) in [
        (["--set", "roundLimit=much"], "roundLimit: must be an integer"),
        (["--set", "rounds=7"], "unknown setting \"rounds\""),
        (["--policy", "none"], "unknown policy"),
    ] {
        let command =
            std::process::Command::new(env!("CARGO_BIN_EXE_threadhold")).arg("serve").args(flags).output();
        let output = command.expect("the binary runs");
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), log.contains(said)), (Some(2), true), "{log}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn alternative_setting_names_are_equivalent() {
    let ground = Workspace::new("settings-names");
    let mut client = ground.start().start();
    client.initialize(ground.hello(json!({})));
    let trigger = |name: &str, value: Value| json!({ "triggers": { name: value } });
    let names = [
        (json!({ "summaryEnabled": false }), json!({ "summarize": "off" })),
        (json!({ "summaryThreshold": 41 }), trigger("messages", json!(41))),
        (json!({ "summaryKeepLast": 12 }), json!({ "retention": { "messages": 12 } })),
        (json!({ "openai.summaryModel": "small" }), json!({ "summaryModel": "small" })),
        (
            json!({ "openai.summaryBaseURL": "https://models.example" }),
            json!({ "summaryBaseUrl": "https://models.example" }),
        ),
        (json!({ "summarization.enabled": false }), json!({ "summarize": "off" })),
        (json!({ "summarizeAgentConversationHistory.enabled": false }), json!({ "summarize": "off" })),
        (json!({ "summarizeAgentConversationHistoryThreshold": 20_000 }), json!({ "threshold": 20_000 })),
        (json!({ "agentHistorySummarizationMode": "simple" }), json!({ "summaryMode": "simple" })),
        (json!({ "autoSummarizeThreshold": 64 }), trigger("preTurnTokens", json!(0.64))),
        (json!({ "autoSummarizeThreshold": 0.64 }), trigger("preTurnTokens", json!(0.64))),
        (json!({ "autoSummarizeThreshold": 0 }), trigger("preTurnTokens", json!(false))),
        (json!({ "autoSummarizeTurnThreshold": 32 }), trigger("userTurns", json!(32))),
        (json!({ "idleCompactAfterMinutes": 15 }), trigger("idleSeconds", json!(900))),
        (json!({ "sessionTtlMinutes": 15 }), trigger("idleSeconds", json!(900))),
    ];
    let usual = ground.open(&mut client, "usual", json!({}))["settings"].take();
    for (at, (named, own)) in names.into_iter().enumerate() {
        let by_name = ground.open(&mut client, &format!("named{at}"), named.clone())["settings"].take();
        let by_setting = ground.open(&mut client, &format!("own{at}"), own)["settings"].take();
        assert_eq!(by_name, by_setting, "{named}");
        assert_ne!(by_name, usual, "{named}");
    }
    // The later setting wins, whichever name it uses.
    let configure = |client: &mut Client, settings: Value| {
        let params = json!({ "sessionId": "usual", "settings": settings });
        client.call("session/configure", params).expect("it is set")["settings"]["triggers"].take()
    };
    assert_eq!(configure(&mut client, trigger("messages", json!(10)))["messages"], 10);
    assert_eq!(configure(&mut client, json!({ "summaryThreshold": 40 }))["messages"], 40);
    let triggers =
        configure(&mut client, json!({ "triggers": { "idleSeconds": true, "preTurnTokens": false } }));
    let parts = ["messages", "idleSeconds", "preTurnTokens", "background"].map(|part| triggers[part].clone());
    assert_eq!(parts, [json!(40), json!(900), json!(false), json!(0.75)]);
    let both = configure(&mut client, json!({ "summaryThreshold": 9, "triggers": { "messages": 8 } }));
    assert_eq!(both["messages"], 8);
}

/// Other products' names: with summaries off there is no summary, and the result is a plain overflow.
#[test]
fn alternative_name_turns_summaries_off() {
    let folder = Folder::new("settings-off");
    let mut editor = Editor::start(
        &folder,
        json!({ "model": { "window": 6000 }, "summarizeAgentConversationHistory.enabled": false }),
    );
    let turn =
        |n: usize, lines| json!({ "request": format!("Do step {n}."), "response": prose("answer", lines) });
    editor.open_with("small", "editor", Some((0..3).map(|n| turn(n, 20)).collect()));
    let rendered = editor.call("prompt/render", json!({ "sessionId": "small" }));
    let text = rendered["messages"].to_string();
    for n in 0..3 {
        assert!(text.contains(&format!("Do step {n}.")));
    }
    assert_eq!(rendered["cuts"], json!([]));
    editor.open_with("large", "editor", Some((0..9).map(|n| turn(n, 60)).collect()));
    let error = editor.refused("prompt/render", json!({ "sessionId": "large" }));
    assert_eq!(error["data"]["kind"], "BudgetExceeded");
    assert_eq!(editor.asked_for("summary").len(), 0);
}

#[test]
fn lists_and_snapshots_show_summary_and_count() {
    let folder = Folder::new("settings-summary");
    let mut editor =
        Editor::start(&folder, json!({ "model": { "window": 6000 }, "policy": "words-and-ledger" }));
    let turn = |n: usize| json!({ "request": format!("Do step {n}."), "response": prose("answer", 60) });
    editor.open_with("s", "editor", Some((0..9).map(turn).collect()));
    editor.call("prompt/render", json!({ "sessionId": "s" }));
    let snapshot = editor.call("session/subscribe", json!({ "sessionId": "s" }))["snapshot"].take();
    let listed =
        editor.call("session/list", json!({ "workspaceFolder": "/code/parser" }))["sessions"][0].take();
    let count = snapshot["summarizedCount"].as_u64().expect("a number");
    assert!(count > 0, "{snapshot}");
    assert!(snapshot["summary"].as_str().is_some_and(|summary| !summary.is_empty()));
    assert_eq!((&listed["summary"], &listed["summarizedCount"]), (&snapshot["summary"], &json!(count)));
    assert_eq!(count, snapshot["compactions"][0]["coversToOrd"].as_u64().map_or(0, |last| last + 1));
}

#[test]
fn dump_prompts_writes_each_model_request() {
    let ground = Workspace::new("settings-dump");
    let prompts = ground.at("prompts");
    let start = ground.start().argument("--dump-prompts").argument(prompts.to_str().expect("a text"));
    let settings = json!({ "model": { "window": 6000 } });
    let mut editor = Editor::over(start.start(), &ground.folder, settings);
    editor.open("s~1", None);
    editor.answers = [calls("Let me look.", ["c1"]), calls("And there.", ["c2"])].into();
    for n in 0..4 {
        editor.turn(json!({ "sessionId": "s~1", "content": format!("Step {n}. {}", prose("request", 50)) }));
    }
    assert!(!editor.asked_for("summary").is_empty(), "nothing was summed up");
    let files = fs::read_dir(&prompts).expect("the folder was made");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("it can be read").path()).collect();
    files.sort();
    assert_eq!(files.len(), editor.asked.len());
    for (file, asked) in files.iter().zip(&editor.asked) {
        let name = file.file_name().and_then(|name| name.to_str()).expect("a text");
        assert!(
            name.ends_with(&format!("-s-1-{}.json", asked["purpose"].as_str().expect("a text"))),
            "{name}"
        );
        let dumped: Value = serde_json::from_slice(&fs::read(file).expect("it can be read")).expect("JSON");
        let roles = |messages: &Value| -> Vec<String> {
            messages.as_array().expect("a list").iter().map(|message| message["role"].to_string()).collect()
        };
        assert_eq!(roles(&dumped["messages"]), roles(&asked["messages"]), "{name}");
        assert_eq!(dumped["tools"][0]["name"], "read");
        assert!(dumped["tokens"].as_u64().is_some_and(|tokens| tokens > 0));
    }
}
