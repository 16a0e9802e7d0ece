//! A user's request as a message: with the settings that it changes, and the context at that time.

use super::size;
use crate::context::attach::attached;
use crate::context::memories::knowledge;
use crate::context::prefix::take_prefix;
use crate::context::scope::scope_attachment;
use crate::core::Core;
use crate::values::input::StartTurn;
use crate::values::queue::Accepted;
use engine::id::Ordinal;
use engine::message::{Body, NewMessage};
use serde_json::Value;

/// Applies what a request changes in the session; returns the request's message.
pub(crate) fn take(core: &mut Core<'_>, start: StartTurn) -> NewMessage {
    if let Some((model, as_it_came)) = start.model {
        core.set_model(model);
        size::forget_others(core);
        let own = match core.head().settings.clone() {
            Value::Object(mut own) => {
                own.insert("model".to_owned(), as_it_came);
                Value::Object(own)
            }
            _ => serde_json::json!({ "model": as_it_came }),
        };
        core.set_own_settings(own);
        core.emit_thread();
    }
    take_prefix(core, start.prefix);
    let known = knowledge(core, &start.content);
    let scope = scope_attachment(core);
    let attachments = start.attachments.into_iter().chain(known).chain(scope).collect();
    let content = attached(core, start.content, attachments);
    NewMessage { external_id: start.external_id, ..core.stamped(Body::User(content)) }
}

/// The answer to the request at this position.
pub(crate) fn accepted(core: &Core<'_>, ord: Ordinal) -> Accepted {
    let message = core.transcript().message(ord);
    Accepted {
        turn: message.map(|message| message.turn.clone()),
        message: message.map(|message| message.id.clone()),
        ..Accepted::default()
    }
}
