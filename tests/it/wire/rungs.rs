//! Every stage of compaction over the wire, with both kinds of models: the usual one and one of `vscode.lm`.
//! The script's editor checks the requests; these tests check the stage and that the turn completes.

use super::script::{Editor, Folder, NARRATIVE, Summaries, bytes, calls, prose, says};
use crate::facts::{self, models};
use serde_json::{Value, json};
use std::ops::RangeInclusive;

/// A turn that leads to a stage.
struct Rung {
    name: &'static str,
    /// Settings other than the model.
    settings: Value,
    summaries: Summaries,
    answers: Vec<Value>,
    /// Mode and trigger of the first compaction.
    made: (&'static str, &'static str),
    /// The number of requested summaries.
    asked: RangeInclusive<usize>,
}

/// Rounds of about `lines` lines, each with one call.
pub fn rounds(count: usize, lines: usize) -> Vec<Value> {
    let round = |n| {
        let mut said = calls(&prose(&format!("answer {n}"), lines), ["c"]);
        said[1]["id"] = json!(format!("c{n}"));
        said
    };
    (1..=count).map(round).chain([says("The parser works.")]).collect()
}

fn rungs() -> Vec<Rung> {
    let rounds_policy = |more: &Value| {
        let mut settings = json!({ "policy": "rounds" });
        more.as_object().into_iter().flatten().for_each(|(name, value)| settings[name] = value.clone());
        settings
    };
    let (good, exceeded) = (Summaries::Good, "budgetExceeded");
    let rung = |name, settings, summaries, made, asked| Rung {
        name,
        settings,
        summaries,
        answers: rounds(4, 66),
        made: (made, exceeded),
        asked: asked..=asked,
    };
    vec![
        rung("limitHistory", json!({ "policy": "fourStage" }), good, "limitHistory", 0),
        rung("full", rounds_policy(&json!({ "summaryMode": "full" })), good, "full", 1),
        rung("simple", rounds_policy(&json!({ "summaryMode": "simple" })), good, "simple", 1),
        rung("failed", rounds_policy(&json!({})), Summaries::Failing, "ledger", 2),
        // A full summary that is too large is requested once more.
        rung("too large", rounds_policy(&json!({})), Summaries::TooLong, "ledger", 3),
        rung("summary in a system message", json!({ "policy": "lastMessages" }), good, "full", 1),
        rung("summary in the system text", json!({ "policy": "systemTail" }), good, "full", 1),
        Rung {
            answers: vec![
                calls(&prose("answer 1", 20), ["c1"]),
                calls(&prose("answer 2", 20), ["c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10"]),
                says("The parser works."),
            ],
            ..rung("dropped", rounds_policy(&json!({})), Summaries::Failing, "dropped", 0)
        },
        Rung {
            answers: rounds(8, 20),
            made: ("full", "background"),
            // Another one may be prepared after the one in force.
            asked: 1..=2,
            ..rung(
                "background",
                rounds_policy(&json!({ "triggers": { "background": 0.6 } })),
                good,
                "full",
                1,
            )
        },
        Rung {
            // An empty answer near the limit, without usage.
            answers: rounds(2, 104)
                .into_iter()
                .take(2)
                .chain([says(""), says("The parser works.")])
                .collect(),
            made: ("full", "providerOverflow"),
            ..rung("an empty answer", rounds_policy(&json!({})), good, "full", 1)
        },
    ]
}

#[test]
fn every_rung_answers_both_kinds_of_models() {
    let mut wrong = Vec::new();
    for model in &models(8000) {
        // The usual model reports its usage, so its empty answer is one.
        let unsaid = |rung: &Rung| facts::is_lm(model) || rung.name != "an empty answer";
        for rung in rungs().into_iter().filter(unsaid) {
            let name = format!("{} with {}", rung.name, facts::name(model));
            let folder = Folder::new(&format!("rungs-{}", name.replace(' ', "-")));
            let mut settings = rung.settings.clone();
            settings["model"] = model.clone();
            let mut editor = Editor::start(&folder, settings);
            editor.summaries = rung.summaries;
            editor.open("s", None);
            let calls: usize = rung.answers.iter().map(|said| said.as_array().map_or(0, Vec::len) - 1).sum();
            editor.answers.extend(rung.answers);
            let ended = editor.turn(json!({ "sessionId": "s", "content": "Make the parser work." }));
            let accepted: Vec<Value> = editor
                .events("compactionUpdated")
                .into_iter()
                .filter(|event| event["phase"] == "accepted")
                .collect();
            let made: Vec<(&str, &str)> = accepted
                .iter()
                .map(|event| {
                    let word = |name: &str| event[name].as_str().unwrap_or("-");
                    (word("mode"), word("trigger"))
                })
                .collect();
            let asked = editor.asked_for("summary").len();
            let seen = (&ended["status"], editor.ran.len(), made.first().copied());
            if seen != (&json!("completed"), calls, Some(rung.made)) || !rung.asked.contains(&asked) {
                wrong.push(format!("{name}: {seen:?}, {asked} asked, all {made:?}"));
            }
            for asked in editor.asked_for("turn") {
                let words = bytes(&asked["messages"]);
                assert_eq!(words.matches("Make the parser work.").count(), 1, "{name}: {words}");
                assert!(words.contains("careful programmer"), "{name}");
            }
            if rung.made.0 == "full" || rung.made.0 == "simple" {
                let last = editor.asked_for("turn").last().map(|asked| bytes(&asked["messages"]));
                let line = NARRATIVE.lines().nth(1).expect("a line");
                assert_eq!(last.expect("it was asked").matches(line).count(), 1, "{name}");
            }
            editor.use_is_told(model);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn oversized_request_fails_without_a_model_call() {
    for model in &models(8000) {
        let folder = Folder::new(&format!("rungs-cannot-fit-{}", facts::name(model)));
        let mut editor = Editor::start(&folder, json!({ "model": model }));
        editor.open("s", None);
        let ended = editor.turn(json!({ "sessionId": "s", "content": prose("request", 600) }));
        assert_eq!(ended["error"]["data"]["kind"], "CannotFit", "{ended}");
        assert!(editor.asked.is_empty());
        // The session continues.
        editor.answers.push_back(says("Yes."));
        let mut model = model.clone();
        model["window"] = json!(64_000);
        editor.call("session/configure", json!({ "sessionId": "s", "settings": { "model": model } }));
        let ended = editor.turn(json!({ "sessionId": "s", "content": "Is it?" }));
        assert_eq!(ended["status"], "completed", "{ended}");
    }
}
