//! The calls of an answer while their fragments come: which call a fragment belongs to, and an id for each. What a call
//! does, and whether it is run, is the session's.

use crate::{Hear, Said};
use engine::delta::Delta;
use engine::message::ToolCall;
use engine::text::json;
use serde_json::Value;

/// The calls so far.
#[derive(Debug, Default)]
pub struct Calls(Vec<Call>);

#[derive(Debug)]
struct Call {
    /// The provider's number of it.
    index: Option<u64>,
    /// The provider's id of it.
    said_id: Option<String>,
    /// The id under which it is told: the provider's, or one that no other call of the answer has.
    id: String,
    name: String,
    arguments: String,
}

impl Calls {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes a fragment in: the id and the name may stand in the first one alone, or in none, or in each.
    pub fn add(
        &mut self,
        index: Option<u64>,
        id: Option<&str>,
        name: Option<&str>,
        arguments: Option<&Value>,
        hear: Hear<'_>,
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
            hear(Said::Delta(Delta::AppendToolArguments { call, text: arguments }));
        }
    }

    /// Takes a call in that comes whole.
    pub(crate) fn add_whole(
        &mut self,
        id: Option<&str>,
        name: &str,
        arguments: Option<&Value>,
        hear: Hear<'_>,
    ) {
        self.begin(None, id, name, arguments.or(Some(&Value::from("{}"))), hear);
    }

    fn begin(
        &mut self,
        index: Option<u64>,
        id: Option<&str>,
        name: &str,
        arguments: Option<&Value>,
        hear: Hear<'_>,
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

    /// The call of this number is whole. Where the provider says its arguments again, these are its arguments.
    pub fn whole(&mut self, index: u64, arguments: Option<&str>, hear: Hear<'_>) {
        let Some(call) = self.0.iter_mut().rfind(|call| call.index == Some(index)) else { return };
        let whole = arguments.unwrap_or(&call.arguments);
        let whole = if whole.trim().is_empty() { "{}" } else { whole }.to_owned();
        match whole.strip_prefix(&*call.arguments) {
            Some("") => {}
            Some(rest) => {
                let (call, text) = (call.id.clone(), rest.to_owned());
                hear(Said::Delta(Delta::AppendToolArguments { call, text }));
            }
            None => {
                call.arguments = whole;
                return self.tell(hear);
            }
        }
        call.arguments = whole;
    }

    /// No fragment comes any more: a call without arguments has empty ones.
    pub fn close(&mut self, hear: Hear<'_>) {
        for call in self.0.iter_mut().filter(|call| call.arguments.trim().is_empty()) {
            call.arguments.push_str("{}");
            hear(Said::Delta(Delta::AppendToolArguments { call: call.id.clone(), text: "{}".into() }));
        }
    }

    /// The call that a fragment belongs to; nothing where it begins one. Some servers give every call the same index, so
    /// another id, or another name after arguments that are whole, begins one too.
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

    fn tell(&self, hear: Hear<'_>) {
        let calls = self.0.iter().map(|call| ToolCall::new(&call.id, &call.name, &call.arguments));
        hear(Said::Delta(Delta::SetToolCalls(calls.collect())));
    }
}

fn text(arguments: Option<&Value>) -> String {
    match arguments {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        // Whole, and no text.
        Some(value) => value.to_string(),
    }
}
