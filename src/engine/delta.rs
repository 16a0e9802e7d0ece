//! An answer that is still being given: what a model adds to it, and how that adds up. One fold, the same for what is
//! shown, what is stored and what is sent. Not the wire's form of it.

use super::message::{AssistantPart, Text, ToolCall};

/// Something that a model adds to its answer (source: 001).
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Text for the user.
    AppendContent {
        /// What is added.
        text: String,
    },
    /// Thinking.
    AppendReasoning {
        /// What is added.
        text: String,
        /// The provider's signature; a later one takes the place of an earlier one.
        signature: Option<String>,
    },
    /// The tool calls so far, all of them.
    SetToolCalls {
        /// In the model's order.
        calls: Vec<ToolCall>,
    },
    /// More of one call's arguments.
    AppendToolArguments {
        /// The call, by the model's id.
        call: String,
        /// What is added.
        text: String,
    },
}

/// What was given so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    /// Text and thinking in their order; neighbours of a kind are one part.
    pub parts: Vec<AssistantPart>,
    /// The tool calls.
    pub calls: Vec<ToolCall>,
}

impl Draft {
    /// Adds what came. Arguments for a call that is not there are left out: there is nothing that they could mean.
    pub fn fold(&mut self, delta: &Delta) {
        match delta {
            Delta::AppendContent { text } => match self.parts.last_mut() {
                Some(AssistantPart::Text(before)) => *before = joined(before, text),
                _ => self.parts.push(AssistantPart::Text(text.as_str().into())),
            },
            Delta::AppendReasoning { text, signature } => match self.parts.last_mut() {
                Some(AssistantPart::Reasoning { text: before, signature: signed }) => {
                    *before = joined(before, text);
                    if let Some(signature) = signature {
                        *signed = Some(signature.as_str().into());
                    }
                }
                _ => self.parts.push(AssistantPart::Reasoning {
                    text: text.as_str().into(),
                    signature: signature.as_deref().map(Into::into),
                }),
            },
            Delta::SetToolCalls { calls } => self.calls.clone_from(calls),
            Delta::AppendToolArguments { call, text } => {
                if let Some(call) = self.calls.iter_mut().find(|known| known.id.as_str() == call) {
                    call.arguments = joined(&call.arguments, text);
                }
            }
        }
    }

    /// Whether nothing was given.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.calls.is_empty()
    }
}

fn joined(before: &str, text: &str) -> Text {
    [before, text].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_a_kind_become_one_part_and_no_text_is_lost() {
        let mut draft = Draft::default();
        let say = |text: &str| Delta::AppendContent { text: text.into() };
        let think = |text: &str, signature: Option<&str>| Delta::AppendReasoning {
            text: text.into(),
            signature: signature.map(str::to_owned),
        };
        for delta in [think("a", Some("1")), think("b", Some("2")), say("c"), say("d"), think("e", None)] {
            draft.fold(&delta);
        }
        let reasoning = |text: &str, signature: Option<&str>| AssistantPart::Reasoning {
            text: text.into(),
            signature: signature.map(Into::into),
        };
        let parts = [reasoning("ab", Some("2")), AssistantPart::Text("cd".into()), reasoning("e", None)];
        assert_eq!(draft.parts, parts);
    }

    #[test]
    fn arguments_grow_at_their_call() {
        let mut draft = Draft::default();
        draft.fold(&Delta::SetToolCalls { calls: vec![ToolCall::new("c1", "read", "{\"a\"")] });
        draft.fold(&Delta::AppendToolArguments { call: "c1".into(), text: ":1}".into() });
        draft.fold(&Delta::AppendToolArguments { call: "c2".into(), text: "lost".into() });
        assert_eq!(draft.calls, [ToolCall::new("c1", "read", "{\"a\":1}")]);
    }
}
