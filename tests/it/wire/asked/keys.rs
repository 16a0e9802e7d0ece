//! Keys stay in memory: one from the client and one from the environment are planted, everything fails that
//! can, and no file, log or message has them.

use super::{answer, settings, turn};
use crate::wire::client::{Start, Wire};
use crate::wire::script::{Editor, Folder};
use models::testing::{Reply, Server};
use serde_json::json;
use std::path::Path;

const GIVEN: &str = "sk-planted-given-7c1e9d40";
const SET: &str = "sk-planted-set-55aa0f13";

/// The files below a folder that hold a key.
fn holders(folder: &Path, found: &mut Vec<String>) {
    for file in std::fs::read_dir(folder).expect("the folder is there") {
        let path = file.expect("it can be read").path();
        if path.is_dir() {
            holders(&path, found);
            continue;
        }
        let bytes = std::fs::read(&path).expect("it can be read");
        let holds = |key: &str| bytes.windows(key.len()).any(|part| part == key.as_bytes());
        if holds(GIVEN) || holds(SET) {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn keys_are_in_no_file_log_error_or_recording() {
    for (key, is_given) in [(GIVEN, true), (SET, false)] {
        let repeats = format!("{{\"error\": {{\"message\": \"Incorrect API key provided: {key}\"}}}}");
        let server = Server::replies(vec![
            answer("openai-chat", "Well.", &["c1"]),
            answer("openai-chat", "It works.", &[]),
            Reply::body(401, &repeats),
            Reply::body(429, &repeats).with("retry-after-ms", "1"),
            Reply::body(500, &repeats).with("x-should-retry", "false"),
            Reply::torn(),
        ]);
        let folder = Folder::new(&format!("asked-keys-{is_given}"));
        let aside = Folder::new(&format!("asked-keys-aside-{is_given}"));
        std::fs::create_dir_all(aside.path()).expect("a folder");
        let record = aside.path().join("record.jsonl");
        let start = Start::new(Wire::Pipes)
            .argument("--record")
            .argument(record.to_str().expect("a path of text"))
            .argument("--dump-prompts")
            .argument(aside.path().join("prompts").to_str().expect("a path of text"))
            .variable("RUST_LOG", "trace")
            .variable("PLANTED_KEY", SET);
        let mut settings = settings("openai-chat", &server.url(), 32_000);
        settings["model"]["keyEnv"] = json!("PLANTED_KEY");
        let mut editor = Editor::over(start.start(), &folder, settings);
        if is_given {
            editor.call("model/key", json!({ "name": "PLANTED_KEY", "value": GIVEN }));
            // Malformed key messages are rejected and not repeated.
            let refused = editor.refused("model/key", json!({ "name": 7, "value": GIVEN }));
            assert_eq!(refused["code"], -32_602);
            drop(editor.client.call("model/key", json!([GIVEN])));
            editor.refused("model/key", json!({ "name": "A", "value": [GIVEN] }));
        }
        editor.open("s", None);
        for status in ["completed", "failed", "failed", "failed"] {
            assert_eq!(turn(&mut editor, "What is it?")["status"], status);
        }
        let asked = server.asked();
        assert!(asked.len() > 4);
        let bearer = format!("Bearer {key}");
        assert!(asked.iter().all(|asked| asked.header("authorization") == Some(&*bearer)), "{is_given}");
        assert!(asked.iter().all(|asked| !asked.body.to_string().contains("planted")));
        if is_given {
            // After the client's key is removed, the environment's is used.
            editor.call("model/key", json!({ "name": "PLANTED_KEY" }));
            turn(&mut editor, "What is it?");
            let last = server.asked().pop().expect("it was asked");
            assert_eq!(last.header("authorization"), Some(&*format!("Bearer {SET}")));
        }
        editor.call("server/diagnostics", json!({}));
        let client = &mut editor.client;
        client.call("shutdown", serde_json::Value::Null).expect("it ends");
        client.notify("exit", serde_json::Value::Null);
        client.wait_exit();
        client.wait_end_of_output();
        client.wait_log("ending: the client sent exit");
        let log = client.log();
        assert!(log.contains("TRACE"), "all is logged");
        let lines: Vec<&str> = log.lines().filter(|line| line.contains("sk-planted")).collect();
        assert!(lines.is_empty(), "{}", lines.join("\n"));
        let frames: Vec<String> = client.frames().iter().map(ToString::to_string).collect();
        let frames: Vec<&String> = frames.iter().filter(|frame| frame.contains("sk-planted")).collect();
        assert!(frames.is_empty(), "{frames:?}");
        let recorded = std::fs::read_to_string(&record).expect("it was recorded");
        assert!(recorded.contains("What is it?") && recorded.contains("\"[key]\"") == is_given);
        let mut found = Vec::new();
        holders(folder.path(), &mut found);
        holders(aside.path(), &mut found);
        assert!(found.is_empty(), "{found:?}");
    }
}
