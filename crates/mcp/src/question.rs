//! Questions of a server to the user, as forms of plain values. A server may not send the user to an address.

use rmcp::ErrorData;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

/// Most bytes of a message; the rest is cut.
const MOST_MESSAGE: usize = 4 << 10;
/// Most bytes of a schema.
const MOST_SCHEMA: usize = 32 << 10;
/// Most fields of a form.
const MOST_FIELDS: usize = 40;

/// A question, with the reply that it waits for.
#[derive(Debug)]
pub struct Question {
    /// The server's words.
    pub message: String,
    /// The schema of the answer: an object of texts, numbers, booleans and choices.
    pub schema: Value,
    /// The reply, which must fit the schema. Closed once nobody waits for it.
    pub reply: oneshot::Sender<Reply>,
}

/// The user's reply to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The user filled the form in.
    Accepted(Map<String, Value>),
    /// The user does not answer.
    Declined,
    /// The user left the question.
    Cancelled,
}

/// The message and the schema of a form that can be asked.
pub(crate) fn form(params: ElicitRequestParams) -> Result<(String, Value), ErrorData> {
    let refused = |why: String| Err(ErrorData::invalid_params(why, None));
    let (message, schema) = match params {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            (message, requested_schema)
        }
        ElicitRequestParams::UrlElicitationParams { .. } => {
            return refused("elicitation by an address is not offered, only forms".to_owned());
        }
        _ => return refused("only forms are offered".to_owned()),
    };
    let fields = schema.properties.len();
    if fields > MOST_FIELDS {
        return refused(format!("the form has {fields} fields and the limit is {MOST_FIELDS}"));
    }
    let schema = serde_json::to_value(schema).unwrap_or_default();
    let size = schema.to_string().len();
    if size > MOST_SCHEMA {
        return refused(format!("the schema has {size} bytes and the limit is {MOST_SCHEMA}"));
    }
    let message = match message.len() > MOST_MESSAGE {
        true => format!("{}…", engine::text::head(&message, MOST_MESSAGE)),
        false => message,
    };
    Ok((message, schema))
}

/// A reply in the protocol's form.
pub(crate) fn reply(reply: Reply) -> ElicitResult {
    match reply {
        Reply::Accepted(content) => {
            ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
        }
        Reply::Declined => ElicitResult::new(ElicitationAction::Decline),
        Reply::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
    }
}
