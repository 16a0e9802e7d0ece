//! Requests and notifications of a server. It may ask the user, but neither the model nor for folders.

#![expect(deprecated, reason = "older revisions have sampling and roots, which are refused here")]

use crate::calls::RunningCalls;
use rmcp::ClientHandler;
use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestMethod, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
    ErrorCode, FormElicitationCapability, Implementation, ListRootsResult, ProgressNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::watch;

/// The handler of one connection.
pub(crate) struct Handler {
    /// The number of changes of the server's list of tools.
    pub lists: watch::Sender<u64>,
    pub calls: RunningCalls,
}

/// The answer to a server that asks the model.
pub(crate) fn no_sampling() -> ErrorData {
    let why = "sampling is not offered: a server may not ask the model";
    ErrorData { message: why.into(), ..ErrorData::method_not_found::<CreateMessageRequestMethod>() }
}

/// The answer to a server that asks for folders.
pub(crate) fn no_roots() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "roots are not offered", None)
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let name = Implementation::new("threadhold", env!("CARGO_PKG_VERSION"));
        let mut capabilities = ClientCapabilities::default();
        let form = ElicitationCapability::new().with_form(FormElicitationCapability::default());
        capabilities.elicitation = self.calls.asks.then_some(form);
        ClientConfig::new(capabilities, name)
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Err(no_sampling())
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        tokio::select! {
            answer = self.calls.ask(None, params) => answer,
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Err(no_roots())
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.calls.progressed(params);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.lists.send_modify(|lists| *lists += 1);
    }
}
