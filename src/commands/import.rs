//! `threadhold import`: makes sessions of transcripts that other programs wrote.

use super::client::{Client, ClientError, Greeting};
use super::{Failure, SUCCESS, files};
use crate::server::{Options, serve_within};
use clap::Args;
use protocol::methods::{SessionClose, SessionImport};
use protocol::session::SessionCloseParams;
use protocol::transfer::{SessionImportParams, SessionImportResult};
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct ImportCommand {
    /// Transcripts; each becomes a session with a new id
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The workspace folder of the sessions
    #[arg(long, value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Keep sessions in DIR, as `storage.path` of an editor does, instead of the platform's data folder
    #[arg(long, value_name = "DIR")]
    storage: Option<PathBuf>,
    /// The transcripts' format
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = files::formats())]
    format: String,
}

impl ImportCommand {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let folder = files::workspace(&self.folder)?.to_string_lossy().into_owned();
        let storage = self.storage.as_deref().map(files::absolute).transpose()?;
        let paths = self.files.iter().map(|file| files::absolute(file)).collect::<Result<Vec<_>, _>>()?;
        let imported = serve_within(&Options::default(), async |stream| {
            let mut client = Client::new(stream);
            let greeted = client
                .greet(Greeting {
                    name: "threadhold import",
                    storage: storage.as_deref(),
                    ..Greeting::default()
                })
                .await;
            greeted.map_err(|error| Failure::Chat(error.to_string()))?;
            for path in &paths {
                let file = path.display().to_string();
                File::open(path).map_err(|error| Failure::Read { file: file.clone(), error })?;
                let done = self.import(&mut client, &folder, path).await.map_err(|error| {
                    // The format is a flag here, not a field.
                    let reason = error.to_string().replace("`format`", "--format");
                    Failure::NoSession { file, reason }
                })?;
                files::print(&report(path, &done))?;
            }
            Ok(SUCCESS)
        });
        imported.map_err(Failure::Runtime)?
    }

    async fn import(
        &self,
        client: &mut Client,
        folder: &str,
        path: &Path,
    ) -> Result<SessionImportResult, ClientError> {
        let done = client
            .call::<SessionImport>(&SessionImportParams {
                workspace_folder: folder.to_owned(),
                session_id: None,
                title: None,
                format: Some(self.format.clone()).filter(|format| format != "auto"),
                data: None,
                path: Some(path.to_string_lossy().into_owned()),
                chat_id: None,
            })
            .await?;
        let session_id = done.session_id.clone();
        client.call::<SessionClose>(&SessionCloseParams { session_id }).await?;
        Ok(done)
    }
}

/// One line for the session, then one for each part that was left out or repaired.
fn report(path: &Path, done: &SessionImportResult) -> String {
    let SessionImportResult { session_id, format, messages, skipped, diagnostics } = done;
    let mut said = format!("session {session_id}: {messages} messages of {} ({format})\n", path.display());
    for line in skipped.iter().chain(diagnostics.iter().map(|diagnostic| &diagnostic.message)) {
        let _ = writeln!(said, "  {line}");
    }
    said
}
