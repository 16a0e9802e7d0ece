//! An answer that is being written: what is added to it, and the one rule by which additions become an answer. Who
//! sends deltas, and how often, is the shell's business.

use super::message::{AssistantPart, Body, ToolCall};
use thiserror::Error;

/// An addition to an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Text goes on.
    AppendContent(String),
    /// Thinking goes on.
    AppendReasoning(String),
    /// These are the calls, in the place of those before.
    SetToolCalls(Vec<ToolCall>),
    /// The arguments of a call go on.
    AppendToolArguments {
        /// The call, by the id that it was set with.
        call: String,
        /// What is added.
        text: String,
    },
}

/// What is there of an answer. Text grows in place, so that a long answer costs its length and not its square.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    /// What was said, in its order.
    pub parts: Vec<DraftPart>,
    /// The calls so far.
    pub calls: Vec<DraftCall>,
}

/// A part that grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftPart {
    /// Text for the user.
    Text(String),
    /// Thinking.
    Reasoning(String),
}

/// A call whose arguments grow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftCall {
    /// The call, without its arguments so far.
    pub id: String,
    /// The id in its source, where it is known under another one.
    pub source_id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments so far.
    pub arguments: String,
}

/// Arguments for a call that was never set.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no call {0} was set before its arguments came")]
pub struct UnknownCall(pub String);

impl Draft {
    /// Takes an addition in. Neighbouring pieces of one kind are one part; nothing that was added is lost, but by
    /// setting calls again.
    pub fn fold(&mut self, delta: Delta) -> Result<(), UnknownCall> {
        match delta {
            Delta::AppendContent(text) => match self.parts.last_mut() {
                Some(DraftPart::Text(last)) => last.push_str(&text),
                _ if text.is_empty() => {}
                _ => self.parts.push(DraftPart::Text(text)),
            },
            Delta::AppendReasoning(text) => match self.parts.last_mut() {
                Some(DraftPart::Reasoning(last)) => last.push_str(&text),
                _ if text.is_empty() => {}
                _ => self.parts.push(DraftPart::Reasoning(text)),
            },
            Delta::SetToolCalls(calls) => self.calls = calls.iter().map(DraftCall::from).collect(),
            Delta::AppendToolArguments { call, text } => {
                let Some(known) = self.calls.iter_mut().find(|known| known.id == call) else {
                    return Err(UnknownCall(call));
                };
                known.arguments.push_str(&text);
            }
        }
        Ok(())
    }

    /// Whether nothing was added yet.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.calls.is_empty()
    }

    /// What was said so far, as parts of a message.
    pub fn said(&self) -> Vec<AssistantPart> {
        self.parts
            .iter()
            .map(|part| match part {
                DraftPart::Text(text) => AssistantPart::Text(text.as_str().into()),
                DraftPart::Reasoning(text) => {
                    AssistantPart::Reasoning { text: text.as_str().into(), signature: None }
                }
            })
            .collect()
    }

    /// The calls so far. Their arguments may be cut anywhere.
    pub fn asked(&self) -> Vec<ToolCall> {
        self.calls
            .iter()
            .map(|call| ToolCall {
                source_id: call.source_id.clone(),
                ..ToolCall::new(&call.id, &call.name, &call.arguments)
            })
            .collect()
    }

    /// The answer so far as what a message holds.
    pub fn body(&self) -> Body {
        Body::Assistant { parts: self.said(), calls: self.asked() }
    }
}

impl From<&ToolCall> for DraftCall {
    fn from(call: &ToolCall) -> Self {
        Self {
            id: call.id.as_str().to_owned(),
            source_id: call.source_id.clone(),
            name: call.name.to_string(),
            arguments: call.arguments.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fold(deltas: impl IntoIterator<Item = Delta>) -> Draft {
        let mut draft = Draft::default();
        for delta in deltas {
            draft.fold(delta).unwrap();
        }
        draft
    }

    #[test]
    fn neighbours_of_one_kind_are_one_part() {
        let draft = fold([
            Delta::AppendReasoning("So".into()),
            Delta::AppendReasoning(".".into()),
            Delta::AppendContent("Let ".into()),
            Delta::AppendReasoning(String::new()),
            Delta::AppendContent("me".into()),
        ]);
        let text = |text: &str| DraftPart::Text(text.to_owned());
        assert_eq!(draft.parts, [DraftPart::Reasoning("So.".into()), text("Let me")]);
        let Body::Assistant { parts, calls } = draft.body() else { panic!("an assistant") };
        assert_eq!((parts.len(), calls.len()), (2, 0));
    }

    #[test]
    fn arguments_go_to_their_call_and_an_unknown_call_is_named() {
        let calls = vec![ToolCall::new("a", "read", ""), ToolCall::new("b", "read", "{")];
        let more =
            |call: &str, text: &str| Delta::AppendToolArguments { call: call.into(), text: text.into() };
        let mut draft = fold([Delta::SetToolCalls(calls), more("b", "}"), more("a", "{}")]);
        assert_eq!(draft.asked(), [ToolCall::new("a", "read", "{}"), ToolCall::new("b", "read", "{}")]);
        assert_eq!(draft.fold(more("c", "x")), Err(UnknownCall("c".into())));
        draft.fold(Delta::SetToolCalls(Vec::new())).unwrap();
        assert!(draft.is_empty());
    }

    proptest! {
        #[test]
        fn however_a_text_is_cut_it_is_the_same_text(pieces in prop::collection::vec(".{0,4}", 0..8)) {
            let whole = pieces.concat();
            let draft = fold(pieces.into_iter().map(Delta::AppendContent));
            prop_assert_eq!(draft, fold([Delta::AppendContent(whole)]));
        }
    }
}
