//! Calls that wait for the user's decision, and the parsing of typed decisions.

use crate::commands::tools;
use protocol::message::Arguments;
use protocol::tool::{Decision, PauseReason, Verdict};
use serde_json::{Map, Value};
use std::collections::VecDeque;
use tower_lsp::jsonrpc::Id;

/// Calls that wait for a decision, the next one first.
#[derive(Debug)]
pub(super) struct Question {
    /// The request to answer; `None` for calls that were pending when the session was opened.
    pub request: Option<Id>,
    pub left: VecDeque<PauseReason>,
    pub decisions: Vec<Decision>,
}

impl Question {
    pub fn new(request: Option<Id>, reasons: Vec<PauseReason>) -> Self {
        Self { request, left: reasons.into(), decisions: Vec::new() }
    }

    /// The possible decisions on the next call, for the user.
    pub fn choices(&self) -> &'static str {
        if self.is_command() {
            "allow? y / n [REASON] / session / always / never (this command) / always BEGINNING * / edit COMMAND"
        } else {
            "allow? y / n [REASON] / session / always / never (this tool; in this session or folder)"
        }
    }

    /// The next call's arguments with another command; the others stay.
    fn with_command(&self, command: &str) -> Option<Arguments> {
        let mut given: Map<String, Value> = serde_json::from_str(&self.left.front()?.arguments.0).ok()?;
        given.insert("command".to_owned(), command.into());
        Some(Arguments(Value::Object(given).to_string()))
    }

    fn is_command(&self) -> bool {
        self.left.front().is_some_and(|call| tools::command(&call.name, &call.arguments.0).is_some())
    }

    /// Applies a line to the next call, if it is a decision. Returns `true` once all are decided. An approval
    /// must be the whole line: a sentence that begins with such a word means something else. `always git status *` allows the
    /// commands that match, and `edit git status` runs that instead.
    pub fn decide(&mut self, line: &str) -> bool {
        let line = line.trim();
        let (word, why) = line.split_once(' ').unwrap_or((line, ""));
        let is_command = self.is_command();
        let mut arguments = None;
        let (decision, note, pattern) = match (line.to_lowercase().as_str(), word.to_lowercase().as_str()) {
            ("y" | "yes", _) => (Verdict::AllowOnce, None, None),
            ("always", _) => (Verdict::AllowAlways, None, None),
            ("never", _) => (Verdict::RejectAlways, None, None),
            ("session", _) => (Verdict::AllowForSession, None, None),
            (_, "edit") if is_command && !why.trim().is_empty() => {
                arguments = self.with_command(why.trim());
                (Verdict::AllowOnce, None, None)
            }
            (_, "always") if is_command && is_beginning(why.trim_start()) => {
                (Verdict::AllowAlways, None, Some(format!("command={}", why.trim_start())))
            }
            (_, "n" | "no") => {
                (Verdict::RejectOnce, Some(why.trim().to_owned()).filter(|why| !why.is_empty()), None)
            }
            _ => return false,
        };
        if let Some(PauseReason { tool_call_id, .. }) = self.left.pop_front() {
            self.decisions.push(Decision { tool_call_id, decision, note, arguments, pattern });
        }
        self.left.is_empty()
    }
}

/// Programs whose arguments are commands of any kind.
const LAUNCHERS: [&str; 18] = [
    "bash", "command", "env", "eval", "exec", "find", "nohup", "node", "perl", "python", "python3", "ruby",
    "sh", "sudo", "time", "timeout", "xargs", "zsh",
];

/// `true` for a pattern of commands that begin with these words: `git status *`. A program alone would often be allowed
/// anything, so those that run other programs need more words, and git needs its command.
fn is_beginning(pattern: &str) -> bool {
    let Some(beginning) = pattern.strip_suffix(" *") else { return false };
    let mut words = beginning.split_whitespace();
    let program = words.next().unwrap_or_default();
    let second = words.next();
    let is_any = LAUNCHERS.contains(&program.rsplit('/').next().unwrap_or_default());
    let has_command = second.is_some_and(|word| !word.starts_with('-'));
    !program.is_empty() && !beginning.contains('*') && !is_any && (program != "git" || has_command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::tool::PauseCause;

    fn waits(id: &str) -> PauseReason {
        let arguments = Arguments("{}".into());
        PauseReason {
            tool_call_id: id.into(),
            name: "list".into(),
            arguments,
            cause: PauseCause::Tool,
            reason: "it asks".into(),
            pattern: None,
        }
    }

    #[test]
    fn each_call_is_decided_by_a_decision_line() {
        let mut question = Question::new(None, ["a", "b", "c", "d", "e"].map(waits).into());
        let sentences =
            ["y but only that one", "yes, if it is small", "a", "a better idea: what is 2+2?", "always so?"];
        for other in ["", "maybe", "yesterday", "what does it do?"].into_iter().chain(sentences) {
            assert!(!question.decide(other), "{other}");
        }
        assert_eq!(question.left.len(), 5);
        assert!(!question.decide(" Y "));
        assert!(!question.decide("no  not that one "));
        assert!(!question.decide("always"));
        assert!(!question.decide("never"));
        assert!(question.decide("session"));
        let decided: Vec<_> =
            question.decisions.iter().map(|d| (&*d.tool_call_id, d.decision, d.note.as_deref())).collect();
        let expected = [
            ("a", Verdict::AllowOnce, None),
            ("b", Verdict::RejectOnce, Some("not that one")),
            ("c", Verdict::AllowAlways, None),
            ("d", Verdict::RejectAlways, None),
            ("e", Verdict::AllowForSession, None),
        ];
        assert_eq!(decided, expected);
    }

    #[test]
    fn commands_are_allowed_by_their_beginning() {
        let command = |id: &str| {
            let arguments = Arguments(r#"{"command":"git status"}"#.into());
            PauseReason { name: "run_command".into(), arguments, ..waits(id) }
        };
        let mut question = Question::new(None, vec![command("a"), command("b"), waits("c")]);
        for other in [
            "always *",
            "always git",
            "always: git status *",
            "always git *",
            "always git -c *",
            "always * *",
            "always find *",
            "always /bin/sh *",
        ] {
            assert!(!question.decide(other), "{other}");
        }
        assert!(!question.decide("always git status *"));
        assert!(!question.decide("y"));
        assert!(!question.decide("always git status *"), "not a command");
        let decided: Vec<_> = question.decisions.iter().map(|d| (d.decision, d.pattern.as_deref())).collect();
        assert_eq!(
            decided,
            [(Verdict::AllowAlways, Some("command=git status *")), (Verdict::AllowOnce, None)]
        );
    }

    #[test]
    fn another_command_keeps_the_other_arguments() {
        let arguments = Arguments(r#"{"command":"rm -rf /","seconds":5}"#.into());
        let call = PauseReason { name: "run_command".into(), arguments, ..waits("a") };
        let mut question = Question::new(None, vec![call, waits("b")]);
        assert!(!question.decide("edit"), "no command is given");
        assert!(!question.decide("edit  rm -rf target"));
        assert!(!question.decide("edit ls"), "not a command");
        let decided: Vec<_> = question.decisions.iter().map(|d| (d.decision, d.arguments.clone())).collect();
        let edited = Arguments(r#"{"command":"rm -rf target","seconds":5}"#.into());
        assert_eq!(decided, [(Verdict::AllowOnce, Some(edited))]);
    }
}
