//! Tool calls of an answer while their fragments arrive: the call that a fragment belongs to, and a unique id
//! for each. The session decides which calls run.

use crate::{OnProgress, Progress};
use engine::delta::Delta;
use engine::message::ToolCall;
use engine::text::json;
use serde_json::Value;

/// Calls so far, in order.
#[derive(Debug, Default)]
pub struct Calls(Vec<Call>);

#[derive(Debug)]
struct Call {
    /// The provider's index of the call.
    index: Option<u64>,
    /// The provider's id of the call.
    said_id: Option<String>,
    /// The id in deltas: the provider's, or one that is unique in the answer.
    id: String,
    name: String,
    arguments: String,
}

impl Calls {
    /// `true` if no call has begun.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of calls so far.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a fragment. The id and the name may stand in the first fragment, in each, or in none.
    pub fn add(
        &mut self,
        index: Option<u64>,
        id: Option<&str>,
        name: Option<&str>,
        arguments: Option<&Value>,
        hear: OnProgress<'_>,
    ) {
        let Some(call) = self.place(index, id, name).and_then(|at| self.0.get_mut(at)) else {
            return self.begin(index, id, name.unwrap_or_default(), arguments, hear);
        };
        let arguments = text(arguments);
        call.arguments.push_str(&arguments);
        if let Some(name) = name.filter(|_| call.name.is_empty()) {
            name.clone_into(&mut call.name);
            return self.tell(hear);
        }
        if !arguments.is_empty() {
            let call = call.id.clone();
            hear(Progress::Delta(Delta::AppendToolArguments { call, text: arguments }));
        }
    }

    /// Adds a call that arrives whole.
    pub(crate) fn add_whole(
        &mut self,
        id: Option<&str>,
        name: &str,
        arguments: Option<&Value>,
        hear: OnProgress<'_>,
    ) {
        self.begin(None, id, name, arguments.or(Some(&Value::from("{}"))), hear);
    }

    fn begin(
        &mut self,
        index: Option<u64>,
        id: Option<&str>,
        name: &str,
        arguments: Option<&Value>,
        hear: OnProgress<'_>,
    ) {
        self.0.push(Call {
            index,
            said_id: id.map(str::to_owned),
            id: self.free_id(id),
            name: name.to_owned(),
            arguments: text(arguments),
        });
        self.tell(hear);
    }

    /// Completes the call of this index. Arguments that the provider repeats replace those streamed before.
    pub fn whole(&mut self, index: u64, arguments: Option<&str>, hear: OnProgress<'_>) {
        let Some(call) = self.0.iter_mut().rfind(|call| call.index == Some(index)) else { return };
        let whole = arguments.unwrap_or(&call.arguments);
        let whole = if whole.trim().is_empty() { "{}" } else { whole }.to_owned();
        match whole.strip_prefix(&*call.arguments) {
            Some("") => {}
            Some(rest) => {
                let (call, text) = (call.id.clone(), rest.to_owned());
                hear(Progress::Delta(Delta::AppendToolArguments { call, text }));
            }
            None => {
                call.arguments = whole;
                return self.tell(hear);
            }
        }
        call.arguments = whole;
    }

    /// Completes all calls: blank arguments become an empty object.
    pub fn close(&mut self, hear: OnProgress<'_>) {
        for call in self.0.iter_mut().filter(|call| call.arguments.trim().is_empty()) {
            call.arguments.push_str("{}");
            hear(Progress::Delta(Delta::AppendToolArguments { call: call.id.clone(), text: "{}".into() }));
        }
    }

    /// Finds the call that a fragment belongs to, or `None` if it begins one. Some servers give every call
    /// the same index, so another id, or another name after complete arguments, begins a call too.
    fn place(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let at = match (index, id) {
            (Some(_), _) => self.0.iter().rposition(|call| call.index == index)?,
            (None, Some(id)) => self.0.iter().rposition(|call| call.said_id.as_deref() == Some(id))?,
            (None, None) if name.is_some() => return None,
            (None, None) => self.0.len().checked_sub(1)?,
        };
        let call = self.0.get(at)?;
        let is_other = match id {
            Some(id) => call.said_id.as_deref().is_some_and(|known| known != id),
            None => name.is_some() && json::read::<Value>(&call.arguments).is_ok(),
        };
        (!is_other).then_some(at)
    }

    fn free_id(&self, said: Option<&str>) -> String {
        let is_free = |id: &String| self.0.iter().all(|call| call.id != *id);
        let base = said.unwrap_or("call");
        let numbered = (self.0.len()..).map(|number| format!("{base}_{number}"));
        said.map(str::to_owned).into_iter().chain(numbered).find(is_free).unwrap_or_default()
    }

    fn tell(&self, hear: OnProgress<'_>) {
        let calls = self.0.iter().map(|call| ToolCall::new(&call.id, &call.name, &call.arguments));
        hear(Progress::Delta(Delta::SetToolCalls(calls.collect())));
    }
}

fn text(arguments: Option<&Value>) -> String {
    match arguments {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        // An object instead of JSON text.
        Some(value) => value.to_string(),
    }
}
