//! What the handbook says of answers of models: summaries that are accepted or not, behaviours of scripted ones, ids.

use super::FOLDER;
use crate::wire::conversation::conversations;
use engine::compact::accept::{Refusal, accept};
use engine::prompt::request::{Completion, StopReason};
use engine::tokens::QuarterOfChars;
use models::scripted::Scripted;
use serde_json::Value;

fn page(name: &str) -> String {
    std::fs::read_to_string(format!("{FOLDER}/{name}")).expect("the page is there")
}

#[test]
fn documented_summary_is_accepted_whole() {
    let page = page("context.md");
    let (_, rest) = page.split_once("```markdown\n").expect("an example");
    let text = rest.split("```").next().expect("its end");
    let answer = Completion { text: text.into(), calls: 0, stop: StopReason::End, output_tokens: None };
    let narrative = accept(&answer, 2048, 10_000, &QuarterOfChars).expect("it is accepted");
    let inside = text.trim().strip_prefix("<summary>").and_then(|text| text.strip_suffix("</summary>"));
    assert_eq!(narrative.trim(), inside.expect("one element").trim());
    assert_eq!(narrative.lines().filter(|line| line.starts_with("## ")).count(), 9, "each heading");
}

#[test]
fn documented_reasons_are_those_of_refused_summaries() {
    let page = page("context.md");
    let refusals = [
        Refusal::Empty,
        Refusal::Cut,
        Refusal::ToolCall,
        Refusal::Declined,
        Refusal::TooLarge { tokens: 0, most: 0 },
        Refusal::NoGain { tokens: 0, covered: 0 },
    ];
    for refusal in refusals {
        // A new reason needs a row.
        match refusal {
            Refusal::Empty
            | Refusal::Cut
            | Refusal::ToolCall
            | Refusal::Declined
            | Refusal::TooLarge { .. }
            | Refusal::NoGain { .. } => {}
        }
        let row = format!("| {} |", refusal.to_string().replace('0', "N"));
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn documented_behaviours_are_those_of_scripted_models() {
    let unknown =
        Scripted::from_json(r#"{ "then": "no such behaviour" }"#).expect_err("there is none").to_string();
    let (_, known) = unknown.split_once("known: ").expect("they are named");
    let page = page("scripted.md");
    let (_, table) = page.split_once("| behaviour | answer |\n").expect("a table");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(rows.collect::<Vec<_>>().join(", "), known);
}

/// In the recordings as in the examples.
#[test]
fn request_of_a_model_states_its_id_as_text() {
    let mut seen = 0;
    let examples = page("turns.md");
    let examples = examples.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    let recorded = conversations();
    let frames = recorded.iter().flat_map(|(_, text)| text.lines()).filter_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        line.get("frame").cloned()
    });
    for frame in examples.filter_map(|text| serde_json::from_str::<Value>(text).ok()).chain(frames) {
        if frame["method"] == "model/complete" {
            assert_eq!(frame["params"]["requestId"], frame["id"].to_string(), "{frame}");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen} requests");
}
