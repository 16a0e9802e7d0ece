//! Requests that change a session's past, queue or draft. Parameters become commands here and nowhere deeper.

use super::Edit;
use crate::convert::Reading;
use crate::server::given::new_id;
use crate::server::wire::answer::Form;
use engine::id::{ItemId, MessageId, TurnId};
use engine::message::Content;
use protocol::error::ProtocolError;
use protocol::message;
use session::input::{At, Command};

/// Returns the session, the command and the form of the answer.
pub(in crate::server) fn command(ask: Edit) -> Result<(String, Command, Form), ProtocolError> {
    let mut form = Form::default();
    let (session, command) = match ask {
        Edit::CancelTurn(params) => {
            let turn = params.turn_id.map(TurnId::new);
            let queued = params.cancel_queued.unwrap_or_default();
            (params.session_id, Command::CancelTurn { turn, queued })
        }
        Edit::Retry(params) => {
            let from = at(params.from_message_id, params.from_index, "fromMessageId")?;
            let content = params.content.as_ref().map(words).transpose()?;
            (params.session_id, Command::Retry { from, content, key: params.idempotency_key })
        }
        Edit::Regenerate(params) => (params.session_id, Command::Regenerate { key: params.idempotency_key }),
        Edit::Update(params) => {
            let message = at(params.message_id, params.index, "messageId")?;
            let content = words(&params.content)?;
            let regenerate = params.regenerate.unwrap_or_default();
            let key = params.idempotency_key;
            (params.session_id, Command::Update { message, content, regenerate, key })
        }
        Edit::Remove(params) => {
            let message = at(params.message_id, params.index, "messageId")?;
            (params.session_id, Command::Remove { message, key: params.idempotency_key })
        }
        Edit::Truncate(params) => {
            let from = at(params.message_id, params.index, "messageId")?;
            (params.session_id, Command::Truncate { from, key: params.idempotency_key })
        }
        Edit::Dequeue(params) => (params.session_id, Command::CancelQueued(ItemId::new(params.item_id))),
        Edit::Fork(params) => {
            form = Form::Fork;
            let up_to = match (params.up_to_message_id, params.up_to_index) {
                (None, None) => None,
                (id, index) => Some(at(id, index, "upToMessageId")?),
            };
            let key = params.idempotency_key;
            (params.session_id, Command::Branch { to: new_id(), up_to, title: params.title, key })
        }
        Edit::Reset(params) => {
            form = Form::Reset;
            let keep_queue = params.keep_queue.unwrap_or_default();
            (params.session_id, Command::Reset { keep_queue, key: params.idempotency_key })
        }
        Edit::SetDraft(params) => (params.session_id, Command::SetDraft(Some(params.text.into()))),
        Edit::ClearDraft(params) => (params.session_id, Command::SetDraft(None)),
    };
    Ok((session, command, form))
}

/// The message that an id or, without one, an index names.
fn at(id: Option<String>, index: Option<u32>, field: &str) -> Result<At, ProtocolError> {
    match (id, index) {
        (Some(id), _) => Ok(At::Id(MessageId::new(id))),
        (None, Some(index)) => Ok(At::Index(index)),
        (None, None) => {
            Err(ProtocolError::invalid(field, "is missing; give the id or the index of the message"))
        }
    }
}

fn words(content: &message::Content) -> Result<Vec<Content>, ProtocolError> {
    Ok(Reading::new().field("content", |reading| reading.words(content))?)
}
