//! What tower-lsp calls: decodes, forwards, waits for its own reply at most. Life cycle only until the owner loop is
//! there.

use tokio::sync::mpsc;
use tower_lsp::LanguageServer;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{InitializeParams, InitializeResult, ServerInfo};

/// The server's methods.
#[derive(Debug)]
pub(super) struct Backend {
    /// Takes the number of the process to watch.
    pub(super) parents: mpsc::UnboundedSender<u32>,
}

#[tower_lsp::async_trait]
impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        if let Some(pid) = params.process_id {
            let _ = self.parents.send(pid);
        }
        let version = Some(env!("CARGO_PKG_VERSION").to_owned());
        Ok(InitializeResult {
            server_info: Some(ServerInfo { name: "threadhold".into(), version }),
            ..InitializeResult::default()
        })
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}
