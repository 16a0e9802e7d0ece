//! Parsing of bodies: a request or notification for the server, an answer to a request of the server, or an
//! invalid message with the error to send back. No framing, no routing.

use crate::frame::{Fault, HEAD};
use crate::plain::{Plain, RESERVED};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request};

/// The error code for a body over the limit, with data `{kind: "TooLarge", what, limit, actual}`.
pub const TOO_LARGE: i64 = -33012;

/// A message of the client.
#[derive(Debug, PartialEq)]
pub enum Message {
    /// A request, or a notification if it has no id.
    Call(Request),
    /// An answer to a request of the server.
    Answer(Answer),
    /// An invalid message. The error is sent with the id, which is null if none could be read.
    Bad {
        /// The id of the intended message.
        id: Id,
        /// The fault; quotes no content.
        error: Error,
    },
}

/// The client's answer to a request of the server.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The request's id, as the server sent it.
    pub id: Id,
    /// The result. An unreadable answer is an error, so that its request does not wait forever.
    pub outcome: Result<Value, Error>,
}

/// Parses a body.
#[must_use]
pub fn decode(body: &[u8]) -> Message {
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) => {
            let place = error.valid_up_to();
            return bad(body, parse_error(format!("the body is not UTF-8 at byte {place}")));
        }
    };
    match serde_json::from_str(text) {
        Ok(Plain(Value::Object(fields))) => message(fields),
        Ok(Plain(Value::Array(_))) => {
            refuse(Id::Null, "batches are not supported; send each message in its own frame")
        }
        Ok(_) => refuse(Id::Null, "a message must be a JSON object"),
        // The parser's message may quote the content: only the position is used.
        Err(error) => {
            let place = format!("line {}, column {}", error.line(), error.column());
            let reason = match error.is_data() {
                true => invalid(format!("the key {RESERVED:?} at {place} is reserved")),
                false => parse_error(format!("the body is not JSON at {place}")),
            };
            bad(body, reason)
        }
    }
}

/// Returns the reply to an invalid frame, of which `bytes` were read.
#[must_use]
pub fn of_fault(fault: Fault, bytes: &[u8]) -> Message {
    match fault {
        Fault::TooLarge { limit, actual } => bad(
            bytes,
            Error {
                code: ErrorCode::ServerError(TOO_LARGE),
                message: fault.to_string().into(),
                data: Some(json!({ "kind": "TooLarge", "what": "body", "limit": limit, "actual": actual })),
            },
        ),
        _ => Message::Bad { id: Id::Null, error: parse_error(fault.to_string()) },
    }
}

fn parse_error(message: String) -> Error {
    Error { code: ErrorCode::ParseError, message: message.into(), data: None }
}

fn invalid(reason: impl Into<Cow<'static, str>>) -> Error {
    Error { code: ErrorCode::InvalidRequest, message: reason.into(), data: None }
}

fn refuse(id: Id, reason: &'static str) -> Message {
    Message::Bad { id, error: invalid(reason) }
}

/// Parses the fields of a message.
fn message(mut fields: Map<String, Value>) -> Message {
    let (id, is_id) = match fields.remove("id") {
        None => (None, true),
        Some(id) => {
            let id = read_id(&id);
            let is_id = id.is_some();
            (id, is_id)
        }
    };
    let named = id.clone().unwrap_or(Id::Null);
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refuse(named, "the field jsonrpc must be \"2.0\"");
    }
    match fields.remove("method") {
        Some(_) if !is_id => refuse(Id::Null, "the id of a request must be a string or an integer"),
        Some(Value::String(method)) => Message::Call(call(method, id, fields.remove("params"))),
        Some(_) => refuse(named, "the field method must be a string"),
        None => match id {
            Some(id) if fields.contains_key("result") || fields.contains_key("error") => {
                Message::Answer(Answer { id, outcome: outcome(fields) })
            }
            _ => {
                refuse(named, "a message must have a method, or the id of a request and a result or an error")
            }
        },
    }
}

fn read_id(id: &Value) -> Option<Id> {
    match id {
        Value::String(id) => Some(Id::String(id.clone())),
        Value::Number(id) => id.as_i64().map(Id::Number),
        _ => None,
    }
}

fn call(method: String, id: Option<Id>, params: Option<Value>) -> Request {
    // Clients differ in how they omit parameters; the router accepts only their absence.
    let takes_none = matches!(method.as_str(), "shutdown" | "exit");
    let mut request = Request::build(method);
    if let Some(params) = params.filter(|params| !params.is_null() && !takes_none) {
        request = request.params(params);
    }
    if let Some(id) = id {
        request = request.id(id);
    }
    request.finish()
}

/// Parses the outcome. Clients differ in whether the unused field is absent or null, so a null error is none.
fn outcome(mut fields: Map<String, Value>) -> Result<Value, Error> {
    let Some(mut error) = fields.remove("error").filter(|error| !error.is_null()) else {
        return Ok(fields.remove("result").unwrap_or_default());
    };
    let code = error.get("code").and_then(Value::as_i64).map_or(ErrorCode::InternalError, ErrorCode::from);
    let message = error.get("message").and_then(Value::as_str).unwrap_or("no message").to_owned();
    let data = error.get_mut("data").map(Value::take);
    Err(Error { code, message: message.into(), data })
}

/// Handles an unreadable message by the id found at its start. An intended answer becomes an answer with the
/// error, so that its request ends.
fn bad(bytes: &[u8], error: Error) -> Message {
    let head = read_head(bytes);
    match head.id {
        Some(id) if head.is_answer => Message::Answer(Answer { id, outcome: Err(error) }),
        id => Message::Bad { id: id.unwrap_or(Id::Null), error },
    }
}

/// The fields known from a message's first bytes.
#[derive(Default)]
struct Head {
    id: Option<Id>,
    is_answer: bool,
}

/// Reads fields from the start, as far as they are readable.
fn read_head(bytes: &[u8]) -> Head {
    let mut head = Head::default();
    let bytes = bytes.get(..bytes.len().min(HEAD)).unwrap_or_default();
    let mut rest = match bytes.trim_ascii_start() {
        [b'{', rest @ ..] => rest,
        _ => return head,
    };
    while let Some((name, after)) = value::<String>(rest) {
        let [b':', after @ ..] = after.trim_ascii_start() else { break };
        match name.as_str() {
            "id" => match value::<Value>(after) {
                // A number at the very end may be incomplete.
                Some((id, after)) if !after.is_empty() => head.id = read_id(&id),
                _ => break,
            },
            "result" | "error" => head.is_answer = true,
            "method" => head.is_answer = false,
            _ => {}
        }
        let Some((_, after)) = value::<IgnoredAny>(after) else { break };
        let [b',', after @ ..] = after.trim_ascii_start() else { break };
        rest = after;
    }
    head
}

/// Parses one value; returns it with the bytes after it.
fn value<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<(T, &[u8])> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<T>();
    let value = values.next()?.ok()?;
    let end = values.byte_offset();
    Some((value, bytes.get(end..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(body: &[u8]) -> (Id, i64, String) {
        match decode(body) {
            Message::Bad { id, error } => (id, error.code.code(), error.message.into_owned()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reserved_key_is_refused_with_its_place() {
        let request =
            json!({ "jsonrpc": "2.0", "id": 7, "method": "m", "params": [{ RESERVED: "[1]" }] }).to_string();
        let reason = format!("the key {RESERVED:?} at line 1, column 80 is reserved");
        assert_eq!(error_of(request.as_bytes()), (Id::Number(7), -32600, reason));
        let answer = json!({ "jsonrpc": "2.0", "id": 8, "result": { RESERVED: "[1]" } }).to_string();
        let Message::Answer(Answer { id: Id::Number(8), outcome: Err(error) }) = decode(answer.as_bytes())
        else {
            panic!("no answer")
        };
        assert_eq!(error.code, ErrorCode::InvalidRequest);
    }

    #[test]
    fn call_is_read_with_its_parameters() {
        let Message::Call(request) =
            decode(br#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1},"more":0}"#)
        else {
            panic!("no call")
        };
        assert_eq!((request.id(), request.method()), (Some(&Id::Number(7)), "m"));
        assert_eq!(request.params(), Some(&json!({ "a": 1 })));
        for body in [
            r#"{"jsonrpc":"2.0","id":"x","method":"m","params":null}"#,
            r#"{"jsonrpc":"2.0","id":"x","method":"shutdown","params":{}}"#,
        ] {
            let Message::Call(request) = decode(body.as_bytes()) else { panic!("no call") };
            assert_eq!((request.id(), request.params()), (Some(&Id::String("x".into())), None), "{body}");
        }
    }

    #[test]
    fn answer_is_an_error_only_with_an_error_field() {
        let outcome = |body: &str| match decode(body.as_bytes()) {
            Message::Answer(answer) => answer.outcome.map_err(|error| (error.code.code(), error.message)),
            other => panic!("{other:?}"),
        };
        assert_eq!(outcome(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#), Ok(json!({ "a": 1 })));
        assert_eq!(outcome(r#"{"jsonrpc":"2.0","id":1,"result":null}"#), Ok(Value::Null));
        assert_eq!(outcome(r#"{"jsonrpc":"2.0","id":1,"result":2,"error":null}"#), Ok(json!(2)));
        assert_eq!(
            outcome(r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":5,"message":"no"}}"#),
            Err((5, "no".into()))
        );
        assert_eq!(outcome(r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#), Err((-32603, "no message".into())));
    }

    #[test]
    fn invalid_message_is_refused_with_its_id() {
        for (body, id, code) in [
            (&br#"{"jsonrpc":"2.0","id":3,"method":"m","params":{bad}}"#[..], Id::Number(3), -32700),
            (br#"{"id":"a","method":"m"}"#, Id::String("a".into()), -32600),
            (br#"{"jsonrpc":"2.0","id":4,"method":5}"#, Id::Number(4), -32600),
            (br#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, Id::Null, -32600),
            (br#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, Id::Null, -32600),
            (br#"{"jsonrpc":"2.0","id":6}"#, Id::Number(6), -32600),
            (br#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#, Id::Null, -32600),
            (b"7", Id::Null, -32600),
            (b"", Id::Null, -32700),
            (b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"m\",\"params\":\"\xff\"}", Id::Number(8), -32700),
            (
                b"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[1,{\"id\":2}],\"id\":9,",
                Id::Number(9),
                -32700,
            ),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1", Id::Null, -32700),
        ] {
            let (found, found_code, message) = error_of(body);
            assert_eq!((found, found_code), (id, code), "{}: {message}", String::from_utf8_lossy(body));
        }
        let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{}"#, "[".repeat(100_000));
        assert_eq!(error_of(deep.as_bytes()).1, -32700);
    }

    #[test]
    fn unreadable_answer_ends_its_request() {
        let limit = Fault::TooLarge { limit: 10, actual: 20 };
        let Message::Answer(answer) = of_fault(limit, br#"{"jsonrpc":"2.0","id":5,"result":"aaa"#) else {
            panic!("no answer")
        };
        assert_eq!(answer.id, Id::Number(5));
        assert_eq!(answer.outcome.map_err(|error| error.code.code()), Err(TOO_LARGE));
    }

    #[test]
    fn errors_quote_no_content() {
        for body in ["{\"jsonrpc\":\"2.0\",\"params\": secret}", "secret", "{\"secret\":tru"] {
            assert!(!error_of(body.as_bytes()).2.contains("secret"));
        }
    }
}
