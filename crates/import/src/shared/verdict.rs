//! The user's decision about a call, read from the text by which a program answers a refused call.

use super::parts::joined;
use engine::message::{Content, Verdict};

/// How a program words the refusal of a call: the beginning of the text, and what precedes the user's words, if it
/// can have any. Claude Code, Cline, opencode, Codex, Gemini CLI and VS Code, in this order.
const REFUSALS: [(&str, &str); 9] = [
    ("The user doesn't want to proceed with this tool use.", "the user said:\n"),
    ("The user doesn't want to take this action right now.", ""),
    ("The agent proposed a plan that was rejected by the user.", ""),
    ("The user denied this operation", "feedback:\n<feedback>\n"),
    ("The user rejected permission to use this specific tool call", "with the following feedback: "),
    ("exec command rejected by user", ""),
    ("patch rejected by user", ""),
    ("[Operation Cancelled] Reason: User did not allow tool call", ""),
    ("The user chose to skip the tool call", ""),
];

/// Ends of the user's words.
const ENDS: [&str; 2] =
    ["\n</feedback>", "\n\nNote: The user's next message may contain a correction or preference."];

/// Words of the program in the place of the user's.
const NOT_WORDS: &str = "The user wants to clarify these questions.";

/// Returns the refusal that a result states, with the user's words; `None` if the call was not refused.
pub(crate) fn refusal(content: &[Content]) -> Option<Verdict> {
    let text = joined(content);
    let (_, ahead) = REFUSALS.into_iter().find(|(start, _)| text.starts_with(start))?;
    let said = if ahead.is_empty() { None } else { text.split_once(ahead).map(|(_, said)| said) };
    let note = said.map(|said| {
        let end = ENDS.into_iter().filter_map(|end| said.find(end)).min().unwrap_or(said.len());
        said.get(..end).unwrap_or(said).trim().to_owned()
    });
    let note = note.filter(|note| !note.is_empty() && !note.starts_with(NOT_WORDS));
    Some(Verdict::new(false, note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_holds_the_words_of_the_user_alone() {
        let rejected = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was \
                        a file edit, the new_string was NOT written to the file).";
        let cases = [
            (format!("{rejected} To tell you how to proceed, the user said:\nuse a map\n\nnot a list"), Some(Some("use a map\n\nnot a list"))),
            (
                format!("{rejected} To tell you how to proceed, the user said:\nno\n\nNote: The user's next message may contain a correction or preference. Pay attention."),
                Some(Some("no")),
            ),
            (format!("{rejected} To tell you how to proceed, the user said:\nThe user wants to clarify these questions.\n  x"), Some(None)),
            (format!("{rejected} STOP what you are doing and wait for the user to tell you how to proceed."), Some(None)),
            ("The user denied this operation and provided the following feedback:\n<feedback>\nlater\n</feedback>".into(), Some(Some("later"))),
            ("The user denied this operation.".into(), Some(None)),
            ("The user rejected permission to use this specific tool call with the following feedback: ask first".into(), Some(Some("ask first"))),
            ("exec command rejected by user".into(), Some(None)),
            ("fn the_user_said() {}".into(), None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|note| Verdict::new(false, note.map(str::to_owned)));
            assert_eq!(refusal(&[Content::Text(text.as_str().into())]), expected, "{text}");
        }
    }
}
