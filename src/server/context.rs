//! What a client asks about a session's prompt: what it is made of, what it left out, a compaction. Parameters become
//! commands here and nowhere deeper.

use super::asking::command;
use super::inbox::Context;
use super::main_loop::MainLoop;
use crate::engine::session::input::{Command, ReplyTo};
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
            command(main, to, &params.session_id, Command::Compact { focus: params.focus })
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
