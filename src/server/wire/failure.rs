//! Errors of a client's model, as the engine takes them. The session decides what follows.

use engine::compact::secrets::masked;
use engine::prompt::request::{Cause, Failure, Overflow};
use models::error::refuses_thinking;
use models::overflow;
use serde_json::Value;
use tower_lsp::jsonrpc::Error;

/// The classes of a provider's errors that a client may state: those after which it is asked again, and others.
const CLASSES: [&str; 6] = ["rateLimited", "overloaded", "network", "quota", "auth", "badRequest"];

/// Converts an error of the client's model: by its data, else by its message.
pub(in crate::server) fn of(error: &Error) -> Failure {
    let why = error.message.clone().into_owned();
    let data = error.data.as_ref();
    let number = |name: &str| {
        let number = data.and_then(|data| data.get(name)).and_then(Value::as_u64);
        number.and_then(|number| u32::try_from(number).ok())
    };
    let is_told = data.and_then(|data| data.get("kind")).is_some_and(|kind| kind == "contextOverflow");
    let told =
        is_told.then(|| Overflow { limit: number("limit"), needed: number("needed"), ..Overflow::default() });
    // A provider's message may be in the data.
    let said = || data.map(ToString::to_string).and_then(|data| overflow::told(&data));
    let overflow = told.or_else(|| overflow::told(&why)).or_else(said);
    let kind = data.and_then(|data| data.get("kind")).and_then(Value::as_str);
    let cause = match CLASSES.iter().find(|class| Some(**class) == kind) {
        Some(class) => Cause { retry_after_ms: number("retryAfterMs").map(u64::from), ..Cause::of(class) },
        None => Cause::default(),
    };
    let refuses_thinking =
        refuses_thinking(&why) || data.is_some_and(|data| refuses_thinking(&data.to_string()));
    // Providers of editors repeat credentials, too.
    Failure { overflow, refuses_thinking, cause, ..masked(&why).into() }
}
