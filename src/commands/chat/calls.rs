//! Tool calls of a chat: they run beside it, until they end or are stopped.

use super::call_text;
use crate::commands::running::Running;
use crate::commands::tools::{self, Change};
use protocol::tool::{PendingCall, ToolInvokeResult, ToolKind};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tower_lsp::jsonrpc::Id;

/// Recipient of a call's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Recipient {
    /// A request of the sidecar.
    Request(Id),
    /// A call that was pending when the session was opened.
    Call(String),
}

/// A call that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub recipient: Recipient,
    pub name: String,
    /// The call on one line.
    pub brief: String,
}

/// A call that ended.
#[derive(Debug)]
pub(super) struct EndedCall {
    pub call: Call,
    pub result: ToolInvokeResult,
    /// `true` if other calls ran beside it.
    pub is_one_of_several: bool,
}

/// The calls of one folder.
#[derive(Debug)]
pub(super) struct Calls {
    folder: PathBuf,
    running: Running<Call, ToolInvokeResult>,
    /// Changes that the user was shown, by the ids of their calls.
    shown: HashMap<String, Change>,
    are_several: bool,
}

impl Calls {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, running: Running::new(), shown: HashMap::new(), are_several: false }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// `true` if no call runs.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Notes the change that the user is shown for a call: no other one is made.
    pub fn show(&mut self, call: &str, change: Change) {
        self.shown.insert(call.to_owned(), change);
    }

    /// Runs a call. Returns it on one line.
    pub fn begin(&mut self, recipient: Recipient, call: &str, name: &str, arguments: &str) -> String {
        let brief = call_text::brief(name, arguments);
        let shown = self.shown.remove(call);
        self.are_several = !self.running.is_empty();
        let work = tools::run(self.folder.clone(), name.to_owned(), arguments.to_owned(), shown);
        self.running.begin(Call { recipient, name: name.to_owned(), brief: brief.clone() }, work);
        brief
    }

    /// Runs a call that was pending when the session was opened, and returns it on one line. `None` if it does more than
    /// read: it may have done its work already.
    pub fn resume(&mut self, call: &PendingCall) -> Option<String> {
        let recipient = Recipient::Call(call.tool_call_id.clone());
        matches!(tools::kind(&call.name), Some(ToolKind::Read | ToolKind::Search))
            .then(|| self.begin(recipient, &call.tool_call_id, &call.name, &call.arguments.0))
    }

    /// The next call that ends; waits for ever while none runs. Cancel safe.
    pub async fn next(&mut self) -> EndedCall {
        let (call, result) = self.running.next().await;
        let is_one_of_several = self.are_several;
        self.are_several &= !self.running.is_empty();
        EndedCall { call, result, is_one_of_several }
    }

    /// Stops the call of a request.
    pub fn stop(&mut self, request: &Id) {
        self.running.stop_if(|call| matches!(&call.recipient, Recipient::Request(id) if id == request));
    }

    /// Stops calls that were pending when the session was opened: no request of the sidecar stands for them.
    pub fn stop_resumed(&mut self) {
        self.running.stop_if(|call| matches!(call.recipient, Recipient::Call(_)));
    }
}
