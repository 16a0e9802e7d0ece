//! What a client asks about a session's prompt: what it is made of, what it left out, a compaction. Parameters become
//! commands here and nowhere deeper.

use super::asking::command;
use super::inbox::Context;
use super::main_loop::MainLoop;
use crate::engine::id::{CompactionId, MessageId, PinId};
use crate::engine::prompt::pins::Pinned;
use crate::engine::session::input::{Command, Compact, ReplyTo};
use crate::engine::session::recall::Recall;
use crate::protocol::context::ContextRecallParams;
use crate::protocol::error::ProtocolError;

/// Carries out what a client asks for.
pub(super) fn ask(main: &mut MainLoop, to: ReplyTo, ask: Context) -> Result<(), ProtocolError> {
    match ask {
        Context::Inspect(params) => command(main, to, &params.session_id, Command::Inspect),
        Context::Compact(params) => {
            if let Some(waiting) = main.waiting.get_mut(&to) {
                waiting.progress = params.work_done_token.map(|token| (token, false));
            }
            let compact = Compact {
                focus: params.focus,
                redo: params.redo.map(CompactionId::new),
                keep: params.keep.iter().map(MessageId::new).collect(),
                preview: params.preview,
            };
            command(main, to, &params.session_id, Command::Compact(compact))
        }
        Context::Undo(params) => {
            let id = params.compaction_id.map(CompactionId::new);
            command(main, to, &params.session_id, Command::Undo(id))
        }
        Context::Edit(params) => {
            let compaction = CompactionId::new(&params.compaction_id);
            let edit = Command::Edit { compaction, narrative: params.narrative };
            command(main, to, &params.session_id, edit)
        }
        Context::Exclude(params) => {
            let messages = params.message_ids.iter().map(MessageId::new).collect();
            command(main, to, &params.session_id, Command::Exclude(messages))
        }
        Context::Pin(params) => {
            let what = match (params.message_id, params.text) {
                (Some(id), None) => Pinned::Message(MessageId::new(id)),
                (None, Some(text)) => Pinned::Text(text.into()),
                _ => {
                    return Err(ProtocolError::invalid(
                        "messageId",
                        "a pin is a messageId or a text, one of both",
                    ));
                }
            };
            command(main, to, &params.session_id, Command::Pin(what))
        }
        Context::Unpin(params) => {
            command(main, to, &params.session_id, Command::Unpin(PinId::new(&params.pin_id)))
        }
        Context::Recall(params) => {
            let id = params.session_id.clone();
            command(main, to, &id, Command::Recall(recall(params)?))
        }
    }
}

/// Bytes of a recall where nobody says how many.
const RECALL: usize = 256 * 1024;

fn recall(params: ContextRecallParams) -> Result<Recall, ProtocolError> {
    let bytes = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    if params.limit == Some(0) {
        return Err(ProtocolError::invalid("limit", "nothing fits in 0 bytes"));
    }
    Ok(Recall {
        reference: params.reference,
        offset: params.offset.map_or(0, bytes),
        limit: params.limit.map_or(RECALL, bytes),
    })
}
