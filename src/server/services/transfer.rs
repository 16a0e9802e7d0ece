//! Import and export of sessions at a client's request. Files are read outside of the router; files that
//! follow a session are the trajectories'.

use super::trajectories::{Found, content, summary};
use crate::convert;
use crate::server::requests::{counting, page_limit};
use crate::server::wire::answer::Form;
use crate::server::wire::{Json, to_json};
use crate::trajectory::{FileError, Folder};
use engine::message::{Body, REPAIRED_CALL};
use engine::tokens::TokenCount;
use import::trajectory::{self, Trajectory};
use import::{self, Entry, Format, Import, ImportError, detect, export_jsonl, export_markdown};
use protocol::error::{ErrorData, ProtocolError};
use protocol::transfer::{
    ExportFormat, GivenFormat, SessionExportResult, SessionImportParams, TrajectoryListResult,
};
use session::Session;
use session::effect::Diagnostic;
use session::input::{Restore, TakeIn, Taken};
use std::path::{Path, PathBuf};

/// Largest file that is imported, in bytes.
const MOST: u64 = 256 << 20;
/// Largest export in an answer, in bytes: below what clients' readers usually take, with room for its frame.
const MOST_ANSWER: usize = 60 << 20;
/// Default number of files on a page.
const PAGE: u32 = 50;
/// Most files on a page.
const MOST_PAGE: u32 = 500;

/// Number of files on a page.
pub(in crate::server) fn limit(limit: Option<u32>) -> Result<usize, ProtocolError> {
    Ok(page_limit(limit, PAGE, MOST_PAGE)? as usize)
}

/// The place of a conversation to import.
pub(in crate::server) enum Source {
    /// The request itself.
    Given(String),
    /// A file.
    File(PathBuf),
    /// The file of a chat in its workspace.
    Chat(Folder, String),
}

/// The source that a request names. A chat's id becomes the session's if no other is given.
pub(in crate::server) fn source(params: &mut SessionImportParams) -> Result<Source, ProtocolError> {
    match (params.data.take(), params.path.clone(), params.chat_id.clone()) {
        (Some(data), None, None) => Ok(Source::Given(data)),
        (None, Some(path), None) => {
            Ok(Source::File(Path::new(&params.workspace_folder).join(convert::path(&path))))
        }
        (None, None, Some(id)) => {
            let folder = folder(&params.workspace_folder)?;
            folder.file(&id).map_err(|error| ProtocolError::invalid("chatId", error.to_string()))?;
            params.session_id.get_or_insert_with(|| id.clone());
            Ok(Source::Chat(folder, id))
        }
        _ => {
            let reason = "exactly one of `data`, `path` and `chatId` is needed";
            Err(ProtocolError::invalid("data", reason))
        }
    }
}

/// The folder of a workspace's trajectories.
pub(in crate::server) fn folder(workspace: &str) -> Result<Folder, ProtocolError> {
    Folder::of(workspace)
        .ok_or_else(|| ProtocolError::invalid("workspaceFolder", "is not a folder of this machine"))
}

/// Reads the conversation of a source and counts its texts, on a thread that may block on the disk.
pub(in crate::server) fn read(
    source: Source,
    params: &SessionImportParams,
    counter: &dyn TokenCount,
) -> Result<(Restore, Form), ProtocolError> {
    let bytes = match source {
        Source::Given(data) => Ok(data.into_bytes()),
        Source::File(path) => read_file(&path).map_err(|why| ProtocolError::invalid("path", why)),
        Source::Chat(folder, id) => {
            read_trajectory(&folder, &id).map_err(|error| ProtocolError::invalid("chatId", error.to_string()))
        }
    };
    let (restore, form) = self::restore(params, &bytes?)?;
    counting::count_all(restore.messages.iter().map(|taken| &taken.message.body), counter);
    Ok((restore, form))
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let about = std::fs::metadata(path).map_err(|error| error.kind().to_string())?;
    // Before it is opened: a pipe would block.
    if !about.is_file() {
        return Err("is not a file".to_owned());
    }
    if about.len() > MOST {
        return Err(format!("has {} bytes and the limit is {MOST}", about.len()));
    }
    std::fs::read(path).map_err(|error| error.kind().to_string())
}

fn read_trajectory(folder: &Folder, id: &str) -> Result<Vec<u8>, FileError> {
    let path = folder.file(id)?;
    let missing = FileError::Io { path, kind: std::io::ErrorKind::NotFound };
    let held = folder.read(id)?.ok_or(missing)?;
    held.trajectory(id)?;
    Ok(held.bytes)
}

/// The content of a new session, and the form of the answer.
pub(in crate::server) fn restore(
    params: &SessionImportParams,
    bytes: &[u8],
) -> Result<(Restore, Form), ProtocolError> {
    let unknown = |error: ImportError, format: &str| {
        let known = Format::ALL.map(|format| format.name().to_owned()).to_vec();
        let data = ErrorData::UnsupportedFormat { format: format.to_owned(), known };
        // The message is the command line's, whose option is a field here.
        let said = error.to_string().replace("--format", "`format`");
        ProtocolError::new(data, format!("{said}; nothing was done"))
    };
    let asked = params.format.as_deref();
    let format =
        asked.map(|name| name.parse::<Format>().map_err(|error| unknown(error, name))).transpose()?;
    let of_asked = |error| unknown(error, asked.unwrap_or("unknown"));
    let (format, skipped, messages, restore) = match format.or_else(|| detect(bytes)) {
        Some(Format::Trajectory) => {
            let read = trajectory::read(bytes).map_err(of_asked)?;
            (
                Format::Trajectory,
                read.skipped.clone(),
                read.messages.len(),
                restore_of(read, params.title.clone()),
            )
        }
        format => {
            let import = import::import(bytes, format).map_err(of_asked)?;
            let (format, skipped) = (import.format, import.skipped.clone());
            let restore = restore_of_import(import, params.title.clone());
            (format, skipped, restore.messages.len(), restore)
        }
    };
    let skipped = skipped.iter().map(|set| format!("{}: {}", set.place, set.reason)).collect();
    let diagnostics = repaired_calls(&restore);
    Ok((restore, Form::Import { format: format.name(), skipped, messages, diagnostics }))
}

/// Reports calls with an empty id: the session gives each one of its own.
fn repaired_calls(restore: &Restore) -> Vec<Diagnostic> {
    let mut said = Vec::new();
    for (at, taken) in restore.messages.iter().enumerate() {
        let Body::Assistant { calls, .. } = &taken.message.body else { continue };
        for call in calls.iter().filter(|call| call.id.as_str().is_empty()) {
            let message =
                format!("message {at}: the call of tool {:?} has an empty id and gets one", call.name);
            said.push(Diagnostic { kind: REPAIRED_CALL, message });
        }
    }
    said
}

/// Converts an import for an empty session, which goes on from the compactions that its source recorded.
fn restore_of_import(import: Import, title: Option<String>) -> Restore {
    let import = import.with_anchors();
    let (mut messages, mut summaries) = (Vec::new(), Vec::new());
    for entry in import.entries {
        match entry {
            Entry::Message(message) => messages.push(message),
            Entry::Compaction(recorded) => summaries.extend(recorded.summary()),
        }
    }
    Restore { title: title.or(import.title), summaries, ..Restore::of(messages) }
}

/// Converts a trajectory for an empty session.
pub(in crate::server) fn restore_of(read: Trajectory, title: Option<String>) -> Restore {
    let said = read.begins().map(|(begins, kept)| Taken {
        id: kept.id.clone(),
        begins,
        message: kept.message.clone(),
    });
    let mut messages: Vec<Taken> = said.collect();
    if let Some(keys) = read.source_keys() {
        // It belongs to the first turn, and begins none.
        messages.iter_mut().take(1).for_each(|first| first.begins = None);
        messages.insert(0, Taken::new(keys));
    }
    Restore { title: title.or(read.title.clone()), messages, summaries: read.summaries }
}

/// Converts a trajectory for its session, which has `known` of its messages.
pub(in crate::server) fn take_in(theirs: &Trajectory, known: u32) -> TakeIn {
    let messages = theirs.begins().map(|(begins, kept)| Taken {
        id: kept.id.clone(),
        begins,
        message: kept.message.clone(),
    });
    TakeIn { title: theirs.title.clone(), messages: messages.collect(), known }
}

/// A page of the trajectories of a workspace.
pub(in crate::server) fn page(
    folder: &Folder,
    workspace: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<TrajectoryListResult, FileError> {
    let mut ids = folder.ids()?;
    ids.retain(|id| after.is_none_or(|after| id.as_str() > after));
    let next_cursor = (ids.len() > limit).then(|| ids.get(limit - 1).cloned()).flatten();
    ids.truncate(limit);
    let found = ids.iter().filter_map(|id| Some(summary(workspace, id, &Found::of(id, folder.read(id))?)));
    Ok(TrajectoryListResult { trajectories: found.collect(), next_cursor })
}

/// The format that a client named.
pub(in crate::server) fn export_format(given: GivenFormat) -> Result<ExportFormat, ProtocolError> {
    match given {
        GivenFormat::Known(format) => Ok(format),
        GivenFormat::Unknown(format) => {
            let known = ExportFormat::NAMES;
            let message =
                format!("unknown export format {format:?}; known: {}; nothing was done", known.join(", "));
            let known = known.map(str::to_owned).to_vec();
            Err(ProtocolError::new(ErrorData::UnsupportedFormat { format, known }, message))
        }
    }
}

/// Prepares an export. The text is made on another thread: messages are shared, not copied.
pub(in crate::server) fn export(
    session: &Session,
    format: ExportFormat,
) -> impl FnOnce() -> Result<Json, ProtocolError> + Send + 'static {
    let content = content(session);
    // Shared, not copied, as its messages are.
    let transcript = session.transcript().clone();
    let system = session.head().prefix.sections.iter().map(|section| section.content.to_string());
    let system = Some(system.collect::<Vec<_>>().join("\n\n")).filter(|system| !system.is_empty());
    let tools = session.head().prefix.tools.clone();
    move || {
        let title = content.title.as_deref();
        let data = match format {
            ExportFormat::Trajectory => trajectory::write(&content, None),
            ExportFormat::Markdown => export_markdown(title, &content.messages),
            ExportFormat::Jsonl => {
                export_jsonl(&Import::of_transcript(&transcript, title, system.as_deref(), &tools))
            }
        };
        let messages = u32::try_from(content.messages.len()).unwrap_or(u32::MAX);
        if data.len() > MOST_ANSWER {
            let actual = data.len() as u64;
            let data = ErrorData::TooLarge { what: "export".into(), limit: MOST_ANSWER as u64, actual };
            let said = format!("the session has {actual} bytes as a file and the limit is {MOST_ANSWER}");
            return Err(ProtocolError::new(data, said));
        }
        to_json(&SessionExportResult { format, data, messages })
    }
}
