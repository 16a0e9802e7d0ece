//! The server: lists the tools, and answers calls. What a call cannot do is an error of the tool, so that the model
//! reads it.

use super::past_sessions::PastSessions;
use super::tools;
use crate::commands::Failure;
use crate::commands::client::ClientError;
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use rpc::stdio;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The longest line that is read, in bytes. Calls of these tools are short; a longer line is dropped and logged.
const LONGEST_LINE: usize = 1 << 20;

/// Serves until the end of input.
pub(super) async fn serve(reader: PastSessions) -> Result<(), Failure> {
    let stdio = stdio::open().map_err(Failure::Stdio)?;
    let transport =
        AsyncRwTransport::new_server(stdio.input, stdio.output).with_max_line_length(LONGEST_LINE);
    let served = match serve_server(reader, transport).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| Failure::Mcp(error.to_string())),
        // The client left without a request.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        // The error may quote the message.
        Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {
            Err(Failure::Mcp("the first message is not a request".to_owned()))
        }
        Err(error) => Err(Failure::Mcp(error.to_string())),
    };
    drop(stdio.undo);
    served
}

impl ServerHandler for PastSessions {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("threadhold", env!("CARGO_PKG_VERSION")))
            .with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = call.arguments.unwrap_or_default();
        let done = match &*call.name {
            tools::LIST => self.list(given).await,
            tools::SEARCH => self.search(given).await,
            tools::READ => self.read(given).await,
            tools::EFFECTS => self.effects(given).await,
            tools::MEMORIES => self.memories(given).await,
            name => return Err(ErrorData::invalid_params(format!("unknown tool {name:?}"), None)),
        };
        let refused = |Refused(reason)| CallToolResult::error(vec![ContentBlock::text(reason)]);
        Ok(done.unwrap_or_else(refused).into())
    }
}

/// The reason why a call could not be done.
pub(super) struct Refused(String);

impl Refused {
    pub fn because(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl From<ClientError> for Refused {
    fn from(error: ClientError) -> Self {
        Self::because(error.to_string())
    }
}

/// Reads the arguments of a call.
pub(super) fn arguments<P: DeserializeOwned>(given: Map<String, Value>) -> Result<P, Refused> {
    serde_json::from_value(Value::Object(given))
        .map_err(|error| Refused::because(format!("the arguments cannot be read: {error}")))
}

/// The result of a call, as JSON for programs and as text for a model.
pub(super) fn result(value: &impl Serialize) -> Result<CallToolResult, Refused> {
    let value = serde_json::to_value(value)
        .map_err(|error| Refused::because(format!("the result cannot be written: {error}")))?;
    Ok(CallToolResult::structured(value))
}
