//! Sessions that come from files and go into files at a client's word: parameters become commands and content here. Files
//! are read away from the owner loop; those that a session keeps up to date are in `trajectories`.

use super::asking::{form, page_limit};
use super::inbox::{Event, Transfer};
use super::main_loop::{MainLoop, Slot, wire};
use super::opening::{New, given_id, new_id};
use super::queued::{Opens, Queued};
use super::trajectories::{Found, Told, content, summary};
use super::wire_session::Asked;
use crate::trajectory::{FileError, Folder};
use engine::id::SessionId;
use import::trajectory::{self, Trajectory};
use import::{self, Entry, Format, Import, ImportError, detect, export_jsonl, export_markdown};
use protocol::error::{ErrorData, ProtocolError};
use protocol::transfer::{
    ExportFormat, SessionExportResult, SessionImportParams, TrajectoryListParams, TrajectoryListResult,
};
use session::input::{Command, ReplyTo, Restore, Taken};
use std::path::Path;

/// Bytes of a file that is imported at most.
const MOST: u64 = 256 << 20;
/// Bytes of an answer that a client's reader takes as a rule, with room for its frame.
const MOST_ANSWER: usize = 60 << 20;
/// Files of a page where nobody says how many.
const PAGE: u32 = 50;
/// The most that a page holds.
const MOST_PAGE: u32 = 500;

/// Carries out what a client asks for, or begins to.
pub(super) fn ask(main: &mut MainLoop, to: ReplyTo, ask: Transfer) -> Result<(), ProtocolError> {
    match ask {
        Transfer::Import(params) => import(main, to, params),
        Transfer::Export(params) => {
            let id = given_id(&params.session_id)?;
            main.hand(&id, Queued::Export(to, params.format));
            Ok(())
        }
        Transfer::Trajectories(params) => list(main, to, params),
    }
}

/// A conversation becomes a session, once it is here.
fn import(main: &mut MainLoop, to: ReplyTo, mut params: SessionImportParams) -> Result<(), ProtocolError> {
    params.workspace_folder = super::folder::spelled(&params.workspace_folder);
    main.enter_folder(&params.workspace_folder);
    main.stores.enter(&params.workspace_folder);
    let read: Box<dyn FnOnce() -> Result<Vec<u8>, String> + Send> =
        match (params.data.take(), params.path.clone(), params.chat_id.clone()) {
            (Some(data), None, None) => return take(main, to, params, data.as_bytes()),
            (None, Some(path), None) => {
                let path = Path::new(&params.workspace_folder).join(path);
                Box::new(move || read_file(&path))
            }
            (None, None, Some(id)) => {
                let folder = Folder::of(&params.workspace_folder).ok_or_else(|| {
                    ProtocolError::invalid("workspaceFolder", "is no folder of this machine")
                })?;
                folder.file(&id).map_err(|error| ProtocolError::invalid("chatId", error.to_string()))?;
                params.session_id.get_or_insert_with(|| id.clone());
                Box::new(move || read_trajectory(&folder, &id).map_err(|error| error.to_string()))
            }
            _ => {
                let reason = "one of `data`, `path` and `chatId` is needed, and no two of them";
                return Err(ProtocolError::invalid("data", reason));
            }
        };
    let pending = main.pending(to);
    main.on_files_thread(move || {
        let told = Told::Read(to, Box::new(params), read());
        pending.send(Event::Trajectory(Box::new(told)));
    });
    Ok(())
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let about = std::fs::metadata(path).map_err(|error| error.kind().to_string())?;
    // Before it is opened: a pipe would be waited for.
    if !about.is_file() {
        return Err("it is no file".to_owned());
    }
    if about.len() > MOST {
        return Err(format!("it has {} bytes, and at most {MOST} are read", about.len()));
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

/// Makes a session of what was read.
fn take(
    main: &mut MainLoop,
    to: ReplyTo,
    params: SessionImportParams,
    bytes: &[u8],
) -> Result<(), ProtocolError> {
    let id = params.session_id.as_deref().map_or_else(|| Ok(new_id()), given_id)?;
    let unknown = |error: ImportError, format: &str| {
        let known = Format::ALL.map(|format| format.name().to_owned()).to_vec();
        let data = ErrorData::UnsupportedFormat { format: format.to_owned(), known };
        // Its words are the command line's, whose option is a field here.
        let said = error.to_string().replace("--format", "`format`");
        ProtocolError::new(data, format!("{} Nothing was done.", said.trim_end()))
    };
    let asked = params.format.as_deref();
    let format =
        asked.map(|name| name.parse::<Format>().map_err(|error| unknown(error, name))).transpose()?;
    let of_asked = |error| unknown(error, asked.unwrap_or("unknown"));
    let (format, skipped, messages, restore) = match format.or_else(|| detect(bytes)) {
        Some(Format::Trajectory) => {
            let read = trajectory::read(bytes).map_err(of_asked)?;
            (Format::Trajectory, read.skipped.clone(), read.messages.len(), restore_of(read, params.title))
        }
        format => {
            let import = import::import(bytes, format).map_err(of_asked)?;
            let (format, skipped) = (import.format, import.skipped.clone());
            let restore = restore_of_import(import, params.title);
            (format, skipped, restore.messages.len(), restore)
        }
    };
    let skipped = skipped.iter().map(|set| format!("{}: {}", set.place, set.reason)).collect();
    form(main, to, Asked::Import { format: format.name(), skipped, messages });
    let command = Command::Restore(Box::new(restore));
    let folder = Some(params.workspace_folder);
    let opens = Opens { command, folder, new: New::default(), settings: None, follow: false };
    // Whoever follows it gets it whole: a long conversation is no thousand events.
    main.delivery.owe(&id);
    main.hand(&id, Queued::Open(to, Box::new(opens)));
    Ok(())
}

fn restore_of_import(import: Import, title: Option<String>) -> Restore {
    let messages = import.entries.into_iter().filter_map(|entry| match entry {
        Entry::Message(message) => Some(message),
        // Our own prompts start from the originals.
        Entry::Compaction(_) => None,
    });
    Restore { title: title.or(import.title), ..Restore::of(messages.collect()) }
}

/// A trajectory as an empty session takes it in, with what is not known here.
pub(super) fn restore_of(read: Trajectory, title: Option<String>) -> Restore {
    let said = read.begins().map(|(begins, kept)| Taken {
        id: kept.id.clone(),
        begins,
        message: kept.message.clone(),
    });
    let mut messages: Vec<Taken> = said.collect();
    if let Some(keys) = read.source_keys() {
        // It belongs to the first turn, and is none by itself.
        messages.iter_mut().take(1).for_each(|first| first.begins = None);
        messages.insert(0, Taken::new(keys));
    }
    Restore { title: title.or(read.title.clone()), messages, summaries: read.summaries }
}

fn list(main: &mut MainLoop, to: ReplyTo, params: TrajectoryListParams) -> Result<(), ProtocolError> {
    let workspace = params.workspace_folder.as_deref().map(super::folder::spelled);
    let workspace = workspace.unwrap_or_else(|| main.stores.home().to_owned());
    let limit = page_limit(params.limit, PAGE, MOST_PAGE)?;
    let folder = Folder::of(&workspace)
        .ok_or_else(|| ProtocolError::invalid("workspaceFolder", "is no folder of this machine"))?;
    // Before they are read: whatever comes later is told.
    main.follow_trajectories(&workspace);
    let pending = main.pending(to);
    main.on_files_thread(move || {
        let page = page(&folder, &workspace, params.cursor.as_deref(), limit as usize);
        let value = page
            .map_err(|error| ProtocolError::invalid("workspaceFolder", error.to_string()))
            .and_then(|page| wire(&page));
        pending.answer(value);
    });
    Ok(())
}

fn page(
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

impl MainLoop {
    /// A file that is to become a session was read.
    pub fn file_read(&mut self, to: ReplyTo, params: SessionImportParams, read: Result<Vec<u8>, String>) {
        if !self.waiting.contains_key(&to) {
            return;
        }
        let field = if params.chat_id.is_some() { "chatId" } else { "path" };
        let done = match read {
            Ok(bytes) => take(self, to, params, &bytes),
            Err(why) => Err(ProtocolError::invalid(field, format!("{why}. Nothing was done"))),
        };
        if let Err(error) = done {
            self.answer(to, Err(error));
        }
    }

    /// Writes an open session as a file's content, away from this loop.
    pub fn export(&mut self, to: ReplyTo, id: &SessionId, format: ExportFormat) {
        let Some(Slot::Live(live)) = self.sessions.get(id) else { return };
        let session = &live.session;
        let content = content(session);
        // Shared, not copied, as its messages are.
        let transcript = session.transcript().clone();
        let system = session.head().prefix.sections.iter().map(|section| section.content.to_string());
        let system = Some(system.collect::<Vec<_>>().join("\n\n")).filter(|system| !system.is_empty());
        let tools = session.head().prefix.tools.clone();
        let pending = self.pending(to);
        self.on_files_thread(move || {
            let title = content.title.as_deref();
            let data = match format {
                ExportFormat::Trajectory => trajectory::write(&content, None),
                ExportFormat::Markdown => export_markdown(title, &content.messages),
                ExportFormat::Jsonl => {
                    export_jsonl(&Import::of_transcript(&transcript, title, system.as_deref(), &tools))
                }
            };
            let messages = u32::try_from(content.messages.len()).unwrap_or(u32::MAX);
            let value = if data.len() > MOST_ANSWER {
                let actual = data.len() as u64;
                let data = ErrorData::TooLarge { what: "export".into(), limit: MOST_ANSWER as u64, actual };
                let said = format!("the session has {actual} bytes as a file, more than an answer holds");
                Err(ProtocolError::new(data, said))
            } else {
                wire(&SessionExportResult { format, data, messages })
            };
            pending.answer(value);
        });
    }
}
