//! Calls that wait for the user's decision, and the parsing of typed decisions.

use protocol::tool::{Decision, PauseReason, Verdict};
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

    /// Applies a line to the next call, if it is a decision. Returns `true` once all are decided. An approval
    /// must be the whole line: a sentence that begins with such a word means something else.
    pub fn decide(&mut self, line: &str) -> bool {
        let line = line.trim();
        let (word, why) = line.split_once(' ').unwrap_or((line, ""));
        let (decision, note) = match (line.to_lowercase().as_str(), word.to_lowercase().as_str()) {
            ("y" | "yes", _) => (Verdict::AllowOnce, None),
            ("always", _) => (Verdict::AllowAlways, None),
            ("never", _) => (Verdict::RejectAlways, None),
            (_, "n" | "no") => {
                (Verdict::RejectOnce, Some(why.trim().to_owned()).filter(|why| !why.is_empty()))
            }
            _ => return false,
        };
        if let Some(PauseReason { tool_call_id, .. }) = self.left.pop_front() {
            self.decisions.push(Decision { tool_call_id, decision, note, pattern: None });
        }
        self.left.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(id: &str) -> PauseReason {
        let arguments = protocol::message::Arguments("{}".into());
        PauseReason { tool_call_id: id.into(), name: "list".into(), arguments, reason: "it asks".into() }
    }

    #[test]
    fn each_call_is_decided_by_a_decision_line() {
        let mut question = Question::new(None, vec![waits("a"), waits("b"), waits("c"), waits("d")]);
        let sentences =
            ["y but only that one", "yes, if it is small", "a", "a better idea: what is 2+2?", "always so?"];
        for other in ["", "maybe", "yesterday", "what does it do?"].into_iter().chain(sentences) {
            assert!(!question.decide(other), "{other}");
        }
        assert_eq!(question.left.len(), 4);
        assert!(!question.decide(" Y "));
        assert!(!question.decide("no  not that one "));
        assert!(!question.decide("always"));
        assert!(question.decide("never"));
        let decided: Vec<_> =
            question.decisions.iter().map(|d| (&*d.tool_call_id, d.decision, d.note.as_deref())).collect();
        let expected = [
            ("a", Verdict::AllowOnce, None),
            ("b", Verdict::RejectOnce, Some("not that one")),
            ("c", Verdict::AllowAlways, None),
            ("d", Verdict::RejectAlways, None),
        ];
        assert_eq!(decided, expected);
    }
}
