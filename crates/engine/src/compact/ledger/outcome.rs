//! Outcomes of calls: the exit code that the tool reported, else one that the text of the result states, else the error flag.

use crate::message::{Content, ToolResult};
use crate::text::{head, tail};

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The exit code that the tool stated.
    Exit(i32),
    /// A result that states no failure.
    Ok,
    /// A result that is marked as an error.
    Error,
    /// An output that reports a failure, of a command that ended well: the last program of a pipe did.
    Reported,
    /// The user refused the call, so that it was not run.
    Refused,
    /// No result was recorded.
    Unknown,
}

/// Phrases before an exit code at the end or start of a result, in lower case, the longer of a kind first.
const EXIT_PHRASES: &[&str] = &[
    "\"exit_code\":",
    "exit_code=",
    "<exit_code>",
    "exited with status",
    "exited with code",
    "exit status:",
    "exit status",
    "exit code:",
    "exit code",
    "exited with",
    "returncode:",
    "return code:",
    "exit:",
    "[exit",
];
/// Bytes at the end of a result that are searched for an exit code.
const AT_END: usize = 120;
/// Bytes at the start of a result that may hold one, if the result begins with the phrase.
const AT_START: usize = 40;

impl Outcome {
    /// Returns the stated exit code, else `Error` or `Ok` by the error flag; `Unknown` without a result.
    pub fn of(result: Option<&ToolResult>) -> Self {
        let Some(result) = result else { return Outcome::Unknown };
        if result.verdict.as_ref().is_some_and(|verdict| !verdict.approved) {
            return Outcome::Refused;
        }
        if let Some(code) = result.exit_code.or_else(|| exit_code(said(result))) {
            return Outcome::Exit(code);
        }
        if result.is_error { Outcome::Error } else { Outcome::Ok }
    }

    /// `true` if the call is known to have succeeded.
    pub(crate) fn is_good(self) -> bool {
        matches!(self, Outcome::Ok | Outcome::Exit(0))
    }

    /// The wording in the ledger.
    pub fn words(self) -> String {
        match self {
            Outcome::Exit(code) => format!("exit {code}"),
            Outcome::Ok => "ok".into(),
            Outcome::Error => "error".into(),
            Outcome::Reported => "failed".into(),
            Outcome::Refused => "refused by the user".into(),
            Outcome::Unknown => "unknown".into(),
        }
    }
}

/// The last text of a result.
pub(super) fn said(result: &ToolResult) -> &str {
    result.content.iter().rev().find_map(Content::text).map_or("", |text| &**text)
}

/// The exit code that a text states near its end, else at its start.
pub(super) fn exit_code(text: &str) -> Option<i32> {
    let end = tail(text, AT_END).to_ascii_lowercase();
    let at_end = EXIT_PHRASES.iter().find_map(|phrase| code_after(end.rsplit_once(phrase)?.1));
    at_end.or_else(|| {
        let start = head(text, AT_START).to_ascii_lowercase();
        EXIT_PHRASES.iter().find_map(|phrase| code_after(start.trim_start().strip_prefix(phrase)?))
    })
}

/// The exit code at the start of a text: up to three digits, or a negative number of up to ten, as on Windows and for a
/// process that a signal ended.
fn code_after(text: &str) -> Option<i32> {
    let text = text.trim_start_matches([' ', ':', '=', '"']);
    let sign = usize::from(text.starts_with('-'));
    let digits = text.bytes().skip(sign).take_while(u8::is_ascii_digit).count();
    let most = if sign == 1 { 10 } else { 3 };
    text.get(..sign + digits).filter(|_| (1..=most).contains(&digits))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Body;

    fn result(text: &str) -> ToolResult {
        match Body::result("c", text) {
            Body::Tool(result) => result,
            _ => unreachable!("a result"),
        }
    }

    #[test]
    fn a_stated_exit_code_is_found_where_tools_state_it() {
        for (text, code) in [
            ("boom\n\nCommand exited with code 101", Some(101)),
            (
                "Exit code: 2\nWall time: 1 s\nOutput:\nlong\n\n\nthat ends with something else entirely, far away from it all, 120 bytes and more from the start of it",
                Some(2),
            ),
            (r#"{"output":"x","metadata":{"exit_code":0,"duration_seconds":0.1}}"#, Some(0)),
            ("out\n<exit_code>1</exit_code>", Some(1)),
            ("out\n[exit 3]", Some(3)),
            ("Process finished, returncode: 1", Some(1)),
            ("Process finished, returncode: -9", Some(-9)),
            (r#"{"metadata":{"exit_code":-1}}"#, Some(-1)),
            ("Command exited with code -1073741819", Some(-1_073_741_819)),
            ("exit status - 5 failures", None),
            ("exit status 12345", None),
            ("the exit is near", None),
            ("", None),
        ] {
            let expected = code.map_or(Outcome::Ok, Outcome::Exit);
            assert_eq!(Outcome::of(Some(&result(text))), expected, "{text}");
        }
        assert_eq!(Outcome::of(None), Outcome::Unknown);
        assert_eq!(Outcome::of(Some(&ToolResult { is_error: true, ..result("no") })), Outcome::Error);
        assert_eq!(
            Outcome::of(Some(&ToolResult { exit_code: Some(7), ..result("exit code 9") })),
            Outcome::Exit(7)
        );
    }
}
