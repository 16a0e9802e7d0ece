//! Tool calls of a chat: they run beside it, until they end or are stopped.

use super::call_text;
use crate::commands::tools::{self, Change};
use protocol::tool::{PendingCall, ToolInvokeResult, ToolKind};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tokio::task::{AbortHandle, JoinSet};
use tower_lsp::jsonrpc::Id;

/// Recipient of a call's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Recipient {
    /// A request of the sidecar.
    Request(Id),
    /// A call that was pending when the session was opened.
    Call(String),
}

/// A call that ended.
#[derive(Debug)]
pub(super) struct EndedCall {
    pub recipient: Recipient,
    pub name: String,
    /// The call on one line.
    pub brief: String,
    pub result: ToolInvokeResult,
    /// `true` if other calls ran beside it.
    pub is_one_of_several: bool,
}

/// The calls of one folder.
#[derive(Debug)]
pub(super) struct Calls {
    folder: PathBuf,
    running: JoinSet<EndedCall>,
    handles: Vec<(Recipient, AbortHandle)>,
    /// Changes that the user was shown, by the ids of their calls.
    shown: HashMap<String, Change>,
    are_several: bool,
}

impl Calls {
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            running: JoinSet::new(),
            handles: Vec::new(),
            shown: HashMap::new(),
            are_several: false,
        }
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
        let (folder, name, arguments) = (self.folder.clone(), name.to_owned(), arguments.to_owned());
        let call = (recipient.clone(), brief.clone());
        let handle = self.running.spawn(async move {
            let result = tools::run(folder, name.clone(), arguments, shown).await;
            let (recipient, brief) = call;
            EndedCall { recipient, name, brief, result, is_one_of_several: false }
        });
        self.handles.push((recipient, handle));
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
        loop {
            match self.running.join_next().await {
                Some(Ok(ended)) => {
                    self.handles.retain(|(recipient, _)| *recipient != ended.recipient);
                    let is_one_of_several = self.are_several;
                    self.are_several &= !self.running.is_empty();
                    return EndedCall { is_one_of_several, ..ended };
                }
                // It was stopped.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Stops the call of a request.
    pub fn stop(&mut self, request: &Id) {
        self.stop_if(|recipient| matches!(recipient, Recipient::Request(id) if id == request));
    }

    /// Stops calls that were pending when the session was opened: no request of the sidecar stands for them.
    pub fn stop_resumed(&mut self) {
        self.stop_if(|recipient| matches!(recipient, Recipient::Call(_)));
    }

    fn stop_if(&mut self, is_meant: impl Fn(&Recipient) -> bool) {
        let meant = self.handles.extract_if(.., |(recipient, _)| is_meant(recipient));
        meant.for_each(|(_, handle)| handle.abort());
    }
}
