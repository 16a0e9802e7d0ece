//! Requests for summaries and their failures: settings, deadlines, events and log lines.

use super::restore::long_answers;
use super::script::{Editor, Folder, Summaries, asks_for_summary, bytes, is_end, read_by};
use crate::facts::{self, is_lm, models};
use serde_json::{Value, json};

/// The script's settings for this model, with these added.
fn settings(model: &Value, more: &Value) -> Value {
    let mut settings = json!({ "model": model, "policy": "rounds" });
    for (name, value) in more.as_object().expect("an object") {
        settings[name] = value.clone();
    }
    settings
}

/// Runs the script's long turn with these settings; returns the event that ends it.
fn run(model: &Value, name: &str, more: &Value, summaries: Summaries) -> (Folder, Editor, Value) {
    let folder = Folder::new(&format!("summaries-{name}-{}", facts::name(model)));
    let mut editor = Editor::logged(&folder, settings(model, more));
    editor.summaries = summaries;
    editor.open("s", None);
    editor.answers.extend(long_answers());
    let ended = editor.turn(json!({ "sessionId": "s", "content": "Make the parser work." }));
    editor.use_is_told(model);
    (folder, editor, ended)
}

/// The compaction's phases with their modes.
fn phases(editor: &Editor) -> Vec<String> {
    let word = |event: &Value, name: &str| event[name].as_str().unwrap_or("-").to_owned();
    let events = editor.events("compactionUpdated").into_iter();
    events.map(|event| format!("{} {}", word(&event, "phase"), word(&event, "mode"))).collect()
}

fn marks(messages: &Value) -> usize {
    let messages = messages.as_array().expect("messages");
    messages.iter().filter(|message| message["cacheBreakpoint"] == true).count()
}

#[test]
fn summary_mode_and_breakpoints_follow_the_settings() {
    for model in &models(8000) {
        follows_the_settings(model);
    }
}

fn follows_the_settings(model: &Value) {
    let (_folder, editor, ended) = run(model, "simple", &json!({ "summaryMode": "simple" }), Summaries::Good);
    assert_eq!(ended["status"], "completed");
    for asked in editor.asked_for("summary") {
        assert_eq!(asked["tools"], json!([]), "no full request");
        assert_eq!(asked["messages"].as_array().map(Vec::len), Some(1));
    }
    assert_eq!(phases(&editor), ["started -", "summarizing simple", "accepted simple"]);

    for (breakpoints, are_kept) in [("keep", true), ("strip", false)] {
        let more = json!({ "summaryMode": "full", "summaryBreakpoints": breakpoints });
        let (_folder, editor, _) = run(model, breakpoints, &more, Summaries::Good);
        let [summary] = editor.asked_for("summary")[..] else { panic!("one summary") };
        assert_eq!(marks(&summary["messages"]) > 0, are_kept, "{breakpoints}");
        let choice = if is_lm(model) { "auto" } else { "none" };
        assert_eq!(
            (&summary["toolChoice"], &summary["options"]["temperature"]),
            (&json!(choice), &json!(0.0))
        );
        assert_eq!(summary["options"]["maxOutputTokens"], 1000);
        // It extends the sent prompt by the first round and one instruction.
        let plain = |messages: &Value, count: usize| -> String {
            let mut messages = messages.as_array().expect("messages")[..count].to_vec();
            messages.iter_mut().for_each(|m| drop(m.as_object_mut().map(|m| m.remove("cacheBreakpoint"))));
            bytes(&json!(messages))
        };
        let sent = &editor.asked[1]["messages"];
        let count = sent.as_array().map(Vec::len).expect("messages");
        assert_eq!(plain(&summary["messages"], count), plain(sent, count), "{breakpoints}");
        assert_eq!(summary["messages"].as_array().map(Vec::len), Some(count + 1));
        let tools = if is_lm(model) { &json!([]) } else { &editor.asked[1]["tools"] };
        assert_eq!(&summary["tools"], tools);
        assert!(marks(sent) > 0);
    }

    // With full mode alone a failure leads to no simple summary.
    let (_folder, editor, ended) = run(model, "full", &json!({ "summaryMode": "full" }), Summaries::Failing);
    assert_eq!((&ended["status"], editor.asked_for("summary").len()), (&json!("completed"), 1));
}

/// Trigger, success and fallback are in events and in the log.
#[test]
fn failed_summary_still_gives_an_answer_and_the_reason() {
    for model in &models(8000) {
        fails_and_is_told_why(model);
    }
}

fn fails_and_is_told_why(model: &Value) {
    for (name, summaries, why) in [
        ("failing", Summaries::Failing, "the model is out of order"),
        ("too-long", Summaries::TooLong, "Summary too large"),
    ] {
        let (_folder, mut editor, ended) = run(model, name, &json!({}), summaries);
        assert_eq!(ended["status"], "completed", "{name}");
        let mut told = phases(&editor);
        // A summary that is too long is requested once more.
        told.dedup();
        assert_eq!(
            told,
            [
                "started -",
                "summarizing full",
                "fellBack full",
                "summarizing simple",
                "fellBack simple",
                "accepted ledger"
            ],
            "{name}"
        );
        let events = editor.events("compactionUpdated");
        assert!(events.iter().all(|event| event["trigger"] == "budgetExceeded"));
        let fell = events.iter().filter(|event| event["phase"] == "fellBack");
        let reasons: Vec<&str> = fell.filter_map(|event| event["reason"].as_str()).collect();
        assert!(
            reasons.len() == 2 && reasons.iter().all(|reason| reason.contains(why)),
            "{name}: {reasons:?}"
        );
        // The next answer is requested without breakpoints; the others have them.
        let turns = editor.asked_for("turn");
        let marked: Vec<bool> = turns.iter().map(|asked| marks(&asked["messages"]) > 0).collect();
        assert_eq!(marked, [true, true, false, true, true], "{name}");
        assert!(
            bytes(&turns[2]["messages"]).contains(&json!(read_by("c2")).to_string()),
            "the newest round is whole"
        );
        for line in ["phase=Started", "phase=FellBack", "phase=Accepted"] {
            editor.client.wait_log(line);
        }
        editor.client.wait_log("trigger=BudgetExceeded");
    }
    let (_folder, mut editor, _) = run(model, "good", &json!({}), Summaries::Good);
    assert_eq!(phases(&editor), ["started -", "summarizing full", "accepted full"]);
    editor.client.wait_log("phase=Accepted");
    assert!(!editor.client.log().contains("A table, for it is short."), "the log holds no content");
}

#[test]
fn summary_with_other_headings_is_taken_at_once() {
    for model in &models(8000) {
        for (name, said) in [
            ("level-three", "### Goal\nThe parser works.\n### Next Steps\nThe other half."),
            ("bold", "**Goal**\nThe parser works.\n\n**Next Steps**\nThe other half."),
            ("title-case", "<summary>\n## Goal\nThe parser works.\n## Next Steps\nThe other half."),
        ] {
            let (_folder, editor, ended) = run(model, name, &json!({}), Summaries::Says(said));
            assert_eq!((&ended["status"], editor.asked_for("summary").len()), (&json!("completed"), 1));
            assert_eq!(phases(&editor), ["started -", "summarizing full", "accepted full"], "{name}");
            let block = editor.events("compactionUpdated")[2]["compaction"]["block"].to_string();
            assert!(block.contains(r"## Goal\nThe parser works."), "{name}: {block}");
            assert!(block.contains(r"## Next steps\nThe other half."), "{name}: {block}");
        }
    }
}

#[test]
fn rejected_summaries_are_reported_with_counts_and_reasons() {
    for model in &models(8000) {
        // The resulting mode, and the failed modes, each with the number of model calls and the reason.
        for (name, summaries, made, expected) in [
            (
                "empty",
                Summaries::Says("<summary>\n## Goal\n</summary>"),
                "ledger",
                json!([["full", 1, "the answer was empty"], ["simple", 1, "the answer was empty"]]),
            ),
            (
                "out of order",
                Summaries::Failing,
                "ledger",
                json!([["full", 1, "the model is out of order"], ["simple", 1, "the model is out of order"]]),
            ),
            // A summary that is too long is requested once more.
            (
                "too long",
                Summaries::TooLong,
                "ledger",
                json!([["full", 2, "Summary too large"], ["simple", 1, "Summary too large"]]),
            ),
            ("good", Summaries::Good, "full", json!([])),
        ] {
            let (_folder, editor, _) = run(model, &name.replace(' ', "-"), &json!({}), summaries);
            let events = editor.events("compactionUpdated");
            let made_of = events.iter().find(|event| event["phase"] == "accepted").expect("one is accepted");
            let compaction = &made_of["compaction"];
            assert_eq!(compaction["mode"], made, "{name}");
            let told = compaction["fallbacks"].as_array().expect("a list").iter().map(|fallback| {
                let reason = fallback["reason"].as_str().unwrap_or_default();
                let reason =
                    reason.split(':').next_back().filter(|_| name == "out of order").unwrap_or(reason);
                let reason = reason.split(':').next().unwrap_or_default().trim();
                json!([fallback["mode"], fallback["asked"], reason])
            });
            assert_eq!(json!(told.collect::<Vec<_>>()), expected, "{name}");
            let counted = expected.as_array().expect("a list").iter().filter_map(|way| way[1].as_u64());
            let own = u64::from(made == "full") + compaction["askedAgain"].as_u64().unwrap_or_default();
            let counted = usize::try_from(counted.sum::<u64>() + own).expect("few");
            assert_eq!(counted, editor.asked_for("summary").len(), "{name}");
        }
    }
}

#[test]
fn missing_summary_blocks_nothing_and_late_one_is_dropped() {
    for model in &models(8000) {
        comes_late_or_never(model);
    }
}

fn comes_late_or_never(model: &Value) {
    let folder = Folder::new(&format!("summaries-late-{}", facts::name(model)));
    // Other answers arrive in time even on a busy machine.
    let mut editor = Editor::logged(&folder, settings(model, &json!({ "modelDeadlineMs": 2000 })));
    editor.open("s", None);
    editor.answers.extend(long_answers());
    editor.call("turn/start", json!({ "sessionId": "s", "content": "Make the parser work." }));
    let full = editor.until("a full summary", asks_for_summary);
    let simple = editor.until("a simple summary", asks_for_summary);
    for late in [&full, &simple] {
        let cancelled = editor.until("its cancellation", |frame| {
            frame["method"] == "$/cancelRequest" && frame["params"]["id"] == late["id"]
        });
        assert!(cancelled.get("id").is_none());
        editor.client.respond(&late["id"], json!({ "content": "<summary>late</summary>" }));
    }
    let ended = editor.event("the turn's end", is_end);
    assert_eq!(ended["status"], "completed");
    assert_eq!(phases(&editor).last().map(String::as_str), Some("accepted ledger"));
    editor.client.wait_log("came late");
    let snapshot = editor.call("session/subscribe", json!({ "sessionId": "s" }))["snapshot"].take();
    assert_eq!(snapshot["compactions"].as_array().map(Vec::len), Some(1));
    assert!(!snapshot["summary"].to_string().contains("late<"));
}

#[test]
fn summaries_off_means_no_request_and_an_overflow() {
    for model in &models(8000) {
        let (_folder, editor, ended) = run(model, "off", &json!({ "summarize": "off" }), Summaries::Good);
        assert_eq!((&ended["status"], &ended["state"]), (&json!("failed"), &json!("error")));
        assert_eq!(ended["error"]["data"]["kind"], "BudgetExceeded", "{ended}");
        assert!(editor.asked_for("summary").is_empty() && phases(&editor).is_empty());
    }
}
