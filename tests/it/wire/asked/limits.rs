//! Errors about size: which are believed, the limits learned from them, and when these are dropped. The built
//! binary with a provider on loopback.

use super::{accepted, answer, in_turn, is_summary, settings, turn};
use crate::wire::script::{Editor, Folder, prose};
use models::testing::{Asked, Reply, Server};
use serde_json::{Value, json};

fn start(folder: &Folder, wire: &str, server: &Server, window: u32) -> Editor {
    let mut editor = Editor::start(folder, settings(wire, &server.url(), window));
    editor.open("s", None);
    editor
}

fn inspected(editor: &mut Editor) -> Value {
    editor.call("context/inspect", json!({ "sessionId": "s" }))
}

/// Cause and status of a failed turn.
fn cause(ended: &Value) -> (Value, Value) {
    let data = &ended["error"]["data"];
    (data["cause"].clone(), data["status"].clone())
}

/// The messages of a request, without the answer limit.
fn messages(asked: &Asked) -> String {
    asked.body["messages"].to_string()
}

/// A proxy's rejection of a short request does not state the model's window.
#[test]
fn refusal_of_a_short_request_teaches_no_limit() {
    let server = Server::replies(vec![
        Reply::body(413, "<html>413 Request Entity Too Large</html>"),
        Reply::body(413, "{\"error\": {\"type\": \"request_too_large\", \"message\": \"too large\"}}"),
        Reply::body(400, "{\"error\": {\"code\": \"context_length_exceeded\", \"message\": \"no\"}}"),
        answer("openai-chat", "Now it works.", &[]),
    ]);
    let folder = Folder::new("asked-limits-413");
    let mut editor = start(&folder, "openai-chat", &server, 32_000);
    let before = inspected(&mut editor)["limit"].clone();
    for status in [413, 413, 400] {
        let ended = turn(&mut editor, "Hello.");
        assert_eq!(ended["status"], "failed", "{ended}");
        assert_eq!(cause(&ended), (json!("badRequest"), json!(status)), "{ended}");
        let now = inspected(&mut editor);
        assert_eq!((&now["limit"], now.get("learnedLimit")), (&before, None), "{now}");
    }
    editor.kill();
    let mut editor = start(&folder, "openai-chat", &server, 32_000);
    let ended = turn(&mut editor, "Hello.");
    assert_eq!((&ended["status"], accepted(&editor)), (&json!("completed"), 0), "{ended}");
    let asked = server.asked();
    assert_eq!(asked.len(), 4);
    assert_eq!(messages(&asked[3]).matches("Hello.").count(), 4, "nothing was left out");
}

/// The answer limit is the rest of the window, and at most the model's maximum.
#[test]
fn newer_claude_gets_its_full_answer_limit() {
    for (name, window, most) in [
        ("claude-opus-6", None::<u32>, 128_000),
        ("us.anthropic.claude-sonnet-5-5-v1:0", None, 128_000),
        ("claude-sonnet-4-5", None, 64_000),
        ("nobody-knows-it", None, 8192),
    ] {
        let server = Server::replies(vec![answer("anthropic", "Well.", &[])]);
        let folder = Folder::new(&format!("asked-limits-told-{most}-{}", name.len()));
        let mut set = settings("anthropic", &server.url(), 0);
        (set["model"]["name"], set["model"]["window"]) = (json!(name), json!(window));
        let mut editor = Editor::start(&folder, set);
        editor.open("s", None);
        assert_eq!(turn(&mut editor, "Hello.")["status"], "completed", "{name}");
        assert_eq!(server.asked()[0].body["max_tokens"], most, "{name}");
    }
    let server = Server::replies(vec![answer("anthropic", "Well.", &[])]);
    let folder = Folder::new("asked-limits-told-room");
    let mut set = settings("anthropic", &server.url(), 32_000);
    set["model"]["name"] = json!("claude-opus-6");
    let mut editor = Editor::start(&folder, set);
    editor.open("s", None);
    assert_eq!(turn(&mut editor, "Hello.")["status"], "completed");
    let told = editor.events("contextUpdated");
    let tokens = told.iter().find_map(|event| event["tokens"].as_u64()).expect("tokens");
    assert_eq!(
        server.asked()[0].body["max_tokens"],
        32_000 - 960 - tokens,
        "three hundredths are the margin"
    );
}

fn openrouter(limit: u32, input: u32, output: u32) -> String {
    let total = input + output;
    json!({ "error": { "code": 400, "message": format!(
        "This endpoint's maximum context length is {limit} tokens. However, you requested about {total} tokens ({input} of \
         text input, {output} in the output). Please reduce the length of either one."
    ) } })
    .to_string()
}

/// The conversation was not too large.
#[test]
fn refusals_of_the_answers_length_shrink_nothing() {
    let mut requests = 0;
    let server = Server::start(move |_, _| {
        requests += 1;
        match requests {
            1 => answer("openai-chat", &prose("first answer", 60), &[]),
            _ => Reply::body(400, &openrouter(262_144, 1344, 262_000)),
        }
    });
    let folder = Folder::new("asked-limits-output");
    let mut editor = start(&folder, "openai-chat", &server, 32_000);
    assert_eq!(turn(&mut editor, "Tell me.")["status"], "completed");
    let before = inspected(&mut editor);
    for _ in 0..3 {
        let ended = turn(&mut editor, "More.");
        assert_eq!((&ended["status"], cause(&ended).0), (&json!("failed"), json!("badRequest")), "{ended}");
        assert!(
            ended["error"]["data"]["excerpt"].as_str().is_some_and(|said| said.contains("in the output")),
            "{ended}"
        );
    }
    let after = inspected(&mut editor);
    assert_eq!(after["limit"], before["limit"]);
    assert!(after["tokens"].as_u64() > before["tokens"].as_u64(), "{after}");
    assert_eq!(accepted(&editor), 0);
    let asked = server.asked();
    let last = asked.last().expect("a request");
    assert!(messages(last).contains("first answer goes on with line 50"), "{}", last.body);
    assert!(!asked.iter().any(is_summary));
}

/// The answer limit is lowered, and the same request is repeated.
#[test]
fn answer_limit_is_lowered_and_the_request_repeated() {
    let anthropic = |message: &str| {
        json!({ "type": "error", "error": { "type": "invalid_request_error", "message": message } })
            .to_string()
    };
    for (wire, words, lowered) in [
        // The stated window, less the stated prompt and a margin of 3 %.
        ("openai-chat", openrouter(20_000, 180, 31_000), 20_000 - 180 - 600),
        (
            "anthropic",
            anthropic("max_tokens: 31000 > 8192, which is the maximum allowed number of output tokens for m"),
            8192,
        ),
        (
            "anthropic",
            anthropic("input length and `max_tokens` exceed context limit: 180 + 31000 > 20000, decrease"),
            20_000 - 180 - 600,
        ),
    ] {
        let refusal = words.clone();
        let mut requests = 0;
        let server = Server::start(move |_, _| {
            requests += 1;
            if requests == 1 {
                Reply::body(400, &refusal)
            } else {
                answer(wire, "Well.", &["c1"][..usize::from(requests == 2)])
            }
        });
        let folder = Folder::new(&format!("asked-limits-lower-{wire}-{lowered}"));
        let mut set = settings(wire, &server.url(), 32_000);
        set["model"]["maxOutput"] = json!(31_000);
        let mut editor = Editor::start(&folder, set.clone());
        editor.open("s", None);
        let ended = turn(&mut editor, "Hello.");
        let asked = server.asked();
        assert_eq!((&ended["status"], accepted(&editor)), (&json!("completed"), 0), "{wire}: {ended}");
        assert_eq!(asked.len(), 3, "{wire}: asked again, and once more behind the tool");
        assert_eq!(messages(&asked[0]), messages(&asked[1]), "{wire}: the same was asked");
        assert_eq!(asked[1].body["max_tokens"], lowered, "{words}");
        assert!(asked[2].body["max_tokens"].as_u64() <= Some(lowered), "{wire}: it stays lower");
        // The next process knows the limit, too.
        editor.kill();
        let mut editor = Editor::start(&folder, set);
        editor.open("s", None);
        assert_eq!(turn(&mut editor, "Again.")["status"], "completed");
        assert!(server.asked()[3].body["max_tokens"].as_u64() <= Some(lowered), "{wire}");
    }
}

/// A learned limit says who stated it, and holds until the user drops it: in this process and in the next one.
#[test]
fn learned_limit_is_shown_with_its_source_and_can_be_dropped() {
    let refusal = "{\"error\": {\"code\": 400, \"message\": \"request (7000 tokens) exceeds the available context size (6000 tokens)\"}}";
    let server = in_turn("openai-chat", move |number, _| match number {
        3 => Reply::body(400, refusal),
        _ => answer("openai-chat", "Well.", &[]),
    });
    let folder = Folder::new("asked-limits-dropped");
    let mut editor = start(&folder, "openai-chat", &server, 32_000);
    for name in ["one", "two"] {
        turn(&mut editor, &prose(name, 150));
    }
    let before = inspected(&mut editor);
    assert_eq!(before.get("learnedLimit"), None, "{before}");
    let ended = turn(&mut editor, "And now?");
    assert_eq!(ended["status"], "completed", "{ended}");
    let now = inspected(&mut editor);
    let learned = json!({ "tokens": now["limit"], "source": "stated", "promptsLeft": 31 });
    assert_eq!(now["learnedLimit"], learned, "{}", now["learnedLimit"]);
    assert!(now["limit"].as_u64() < Some(6000), "{}", now["limit"]);
    editor.kill();
    let mut editor = start(&folder, "openai-chat", &server, 32_000);
    assert_eq!(inspected(&mut editor)["learnedLimit"], learned);
    let configure = json!({ "sessionId": "s", "forgetLearnedLimits": true });
    editor.call("session/configure", configure);
    let after = inspected(&mut editor);
    assert_eq!((after.get("learnedLimit"), &after["limit"]), (None, &before["limit"]));
    editor.kill();
    let mut editor = start(&folder, "openai-chat", &server, 32_000);
    assert_eq!(inspected(&mut editor).get("learnedLimit"), None);
}
