//! Requests and notifications of a server. It may not ask the user or the model anything.

#![expect(deprecated, reason = "older revisions have sampling and roots, which are refused here")]

use rmcp::ClientHandler;
use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestMethod, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationAction, ErrorCode, Implementation,
    ListRootsResult, ProgressNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::watch;

/// Counts of the notifications of a server, for whoever waits for one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Notified {
    /// The number of changes of its list of tools.
    pub lists: u64,
    /// The number of signs of progress, in any of its calls.
    pub signs: u64,
    /// The newest progress, in words.
    pub progress: Option<String>,
}

/// The handler of one connection.
pub(crate) struct Handler(pub watch::Sender<Notified>);

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let name = Implementation::new("threadhold", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), name)
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let why = "sampling is not offered: a server may not ask the model";
        Err(ErrorData { message: why.into(), ..ErrorData::method_not_found::<CreateMessageRequestMethod>() })
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "roots are not offered", None))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let total = params.total.map_or_else(String::new, |total| format!(" of {total}"));
        let message = params
            .message
            .map_or_else(String::new, |message| format!(" ({})", engine::text::one_line(&message, 100)));
        self.0.send_modify(|notified| {
            notified.signs += 1;
            notified.progress = Some(format!("{}{total}{message}", params.progress));
        });
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.send_modify(|notified| notified.lists += 1);
    }
}
