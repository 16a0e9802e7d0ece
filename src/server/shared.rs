//! What sessions share: scopes, approvals, and the sidecar's own tools, which read and change them.

use super::inbox::Ask;
use super::main_loop::MainLoop;
use crate::engine::id::SessionId;
use crate::engine::session::effect::InvokeTool;
use crate::engine::session::input::{Input, ReplyTo, ToolOutcome};
use crate::engine::session::stored::Always;
use crate::protocol::error::ProtocolError;

/// Carries out what a client asks for, where it is of this kind; gives it back where it is not.
pub(super) fn ask(_main: &mut MainLoop, _to: ReplyTo, ask: Ask) -> Result<Option<Ask>, ProtocolError> {
    Ok(Some(ask))
}

impl MainLoop {
    /// Runs a tool of ours.
    pub(super) fn run_tool(&mut self, id: &SessionId, call: InvokeTool) {
        self.run_input(id, Input::ToolDone(call.call, ToolOutcome::Failed("not there yet".into())));
    }

    /// Calls like these need no question any more, in this session's workspace.
    pub(super) fn remember(&mut self, _id: &SessionId, _always: &Always) {}
}
