//! The calls of an answer as they come, and what is said of them: each is set once, and then its arguments go on. Which
//! events bring them is the wire's.

use super::{Hear, Said};
use crate::engine::delta::Delta;
use crate::engine::message::ToolCall;

/// The calls so far, in their order.
#[derive(Debug, Default)]
pub(super) struct Calls {
    known: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

impl Calls {
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// A call begins; its place. One without an id of its own gets one, because its arguments must find it.
    pub(super) fn begin(&mut self, id: &str, name: &str, arguments: &str, hear: Hear<'_>) -> usize {
        let at = self.known.len();
        let is_own = !id.is_empty() && self.known.iter().all(|call| call.id != id);
        let id =
            if is_own { id.to_owned() } else { format!("{}_{at}", if id.is_empty() { "call" } else { id }) };
        self.known.push(Call { id, name: name.to_owned(), arguments: arguments.to_owned() });
        self.say(hear);
        at
    }

    /// Arguments go on.
    pub(super) fn more(&mut self, at: usize, text: &str, hear: Hear<'_>) {
        if let Some(call) = self.known.get_mut(at).filter(|_| !text.is_empty()) {
            call.arguments.push_str(text);
            hear(Said::Delta(Delta::AppendToolArguments { call: call.id.clone(), text: text.to_owned() }));
        }
    }

    /// A call is whole; none is `{}`. `whole` are its arguments where the provider says them again, which then hold.
    pub(super) fn end(&mut self, at: usize, whole: Option<&str>, hear: Hear<'_>) {
        let Some(call) = self.known.get_mut(at) else { return };
        let whole = whole.unwrap_or(&call.arguments);
        let whole = if whole.trim().is_empty() { "{}" } else { whole }.to_owned();
        match whole.strip_prefix(&*call.arguments) {
            Some(rest) => {
                let rest = rest.to_owned();
                self.more(at, &rest, hear);
            }
            None => {
                call.arguments = whole;
                self.say(hear);
            }
        }
    }

    fn say(&self, hear: Hear<'_>) {
        let calls = self.known.iter().map(|call| ToolCall::new(&call.id, &call.name, &call.arguments));
        hear(Said::Delta(Delta::SetToolCalls(calls.collect())));
    }
}
