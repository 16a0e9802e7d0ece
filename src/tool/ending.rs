//! The tools that end a turn, because the work is done or because it waits. The session's next state is data
//! of the tool's definition.

use super::{About, Ran, read, refusal};
use engine::prompt::item::ToolKind;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Finish {
    #[serde(default)]
    summary: Option<String>,
}

#[derive(Deserialize)]
struct Ask {
    questions: Vec<String>,
}

const FINISH: &str = r#"{"summary": "what was done", or nothing}"#;
const ASK: &str = r#"{"questions": ["a question", …]} with one question or more"#;

pub(super) fn finishes() -> About {
    About {
        description: "Ends the turn because the work is done.",
        properties: json!({ "summary": { "type": "string", "description": "Summary of the work." } }),
        required: &[],
        kind: ToolKind::Other,
        guidelines: None,
    }
}

pub(super) fn asks() -> About {
    About {
        description: "Asks the user questions and ends the turn. The answer is the user's next message.",
        properties: json!({ "questions": { "type": "array", "items": { "type": "string" }, "minItems": 1 } }),
        required: &["questions"],
        kind: ToolKind::Ask,
        guidelines: None,
    }
}

pub(super) fn finish(arguments: &str) -> Result<Ran, String> {
    let Finish { summary } = read(arguments, FINISH)?;
    let said = summary.filter(|summary| !summary.trim().is_empty());
    Ok(Ran::says([said.unwrap_or_else(|| "done".to_owned())]))
}

pub(super) fn ask(arguments: &str) -> Result<Ran, String> {
    let Ask { questions } = read(arguments, ASK)?;
    if questions.is_empty() || questions.iter().any(|question| question.trim().is_empty()) {
        return Err(refusal("questions must not be empty", ASK));
    }
    let says = "The user was asked. The answer is the user's next message.".to_owned();
    Ok(Ran { question: Some(questions.join("\n")), ..Ran::says([says]) })
}
