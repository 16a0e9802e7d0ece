//! Import and export of transcripts: the formats' names, what an import yields, and how it becomes a transcript. What
//! one format looks like stands in its own file below; nothing here reads a file or a folder.
//!
//! The rule of every format: what can be read is read, what cannot is set aside with its place and a reason, and a
//! summary that the source made of its own history is a recorded compaction, never a message.

mod chatreplay;
mod claude_code;
mod cline;
mod codex;
mod completions;
mod detect;
mod json;
mod jsonl;
mod markdown;
mod openhands;
mod parts;
mod pi;
mod store;
mod swe_agent;
pub mod trajectory;
mod vscode_chat;

pub use detect::detect;
pub use jsonl::export_jsonl;
pub use markdown::export_markdown;

use engine::message::{Body, NewMessage, SYSTEM_IN_HISTORY};
use engine::prompt::item::Tool;
use std::fmt;
use std::str::FromStr;

/// A format that a transcript can come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// A session file of Claude Code: one record per line, chained by `uuid`.
    ClaudeCode,
    /// A session file of the pi coding agent: one record per line.
    Pi,
    /// What the command "Export Chat" of VS Code writes.
    VscodeChat,
    /// A chat replay export of the Copilot extension: the requests that went out, with their answers.
    Chatreplay,
    /// A trajectory of SWE-agent (`.traj`).
    SweAgent,
    /// A session file of Codex: the log of its terminal interface, or a rollout.
    Codex,
    /// A session file of Cline (`.messages.json`).
    Cline,
    /// A log of one model call of OpenHands, with the whole history that it carried.
    OpenHands,
    /// Our own format: one entry per line.
    Jsonl,
    /// A trajectory: one object with its messages.
    Trajectory,
}

impl Format {
    /// Every format, in the order in which they are listed to people.
    pub const ALL: [Format; 10] = [
        Format::ClaudeCode,
        Format::Pi,
        Format::VscodeChat,
        Format::Chatreplay,
        Format::SweAgent,
        Format::Codex,
        Format::Cline,
        Format::OpenHands,
        Format::Jsonl,
        Format::Trajectory,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::ClaudeCode => "claude-code",
            Format::Pi => "pi",
            Format::VscodeChat => "vscode-chat",
            Format::Chatreplay => "chatreplay",
            Format::SweAgent => "swe-agent",
            Format::Codex => "codex",
            Format::Cline => "cline",
            Format::OpenHands => "openhands",
            Format::Jsonl => "jsonl",
            Format::Trajectory => "trajectory",
        }
    }

    /// All names, for messages to people.
    fn names() -> String {
        Self::ALL.map(Format::name).join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = ImportError;

    fn from_str(name: &str) -> Result<Self, ImportError> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| ImportError::UnknownFormat { known: Self::names() })
    }
}

/// What was read from a source.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// The format that it was read as.
    pub format: Format,
    /// The conversation's title, where the source has one.
    pub title: Option<String>,
    /// The first system message of the source.
    pub system: Option<String>,
    /// The tools that were offered to the model, where the source lists them.
    pub tools: Vec<Tool>,
    /// Messages and recorded compactions, in the order of the source.
    pub entries: Vec<Entry>,
    /// What was set aside.
    pub skipped: Vec<Skipped>,
}

/// One thing that a source holds.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "all entries but a few are messages")]
pub enum Entry {
    /// A message.
    Message(NewMessage),
    /// A summary that the source had put in the place of what came before.
    Compaction(RecordedCompaction),
}

/// A summary that the source had made of its own history. Our own rendering starts from the originals.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCompaction {
    /// The summary.
    pub text: String,
    /// Tokens of the prompt that was compacted, where the source says so.
    pub tokens_before: Option<u32>,
    /// The message or round after which it hangs, where the source says so; else it stands for all before it.
    pub after_external_id: Option<String>,
}

/// Something that was not taken into the import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Where it stands, such as `line 12` or `requests[3].result`.
    pub place: String,
    /// Why it was set aside.
    pub reason: String,
}

/// Why a source could not be imported at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// There is nothing in it.
    #[error(
        "The file is empty, so there is no transcript in it. Give the file that the session was saved to."
    )]
    Empty,
    /// Its format was not recognised, or the name of one is not known.
    #[error("The format was not recognised. Name the right one with --format; known are: {known}.")]
    UnknownFormat {
        /// The names of all formats.
        known: String,
    },
    /// It is well-formed and not what the format asks for.
    #[error(
        "This is not a {format} file: {place} {reason}. Give another file, or name its format with --format."
    )]
    NotThisFormat {
        /// The format that it was read as.
        format: Format,
        /// Where the difference is.
        place: String,
        /// What the difference is.
        reason: String,
    },
    /// It was written in a version of our own format that this program does not read.
    #[error(
        "The file is in version {found} of the jsonl format; known: {known}. Use a newer threadhold to read it."
    )]
    UnknownVersion {
        /// The version that the file names.
        found: String,
        /// The versions that can be read.
        known: String,
    },
    /// It is not JSON.
    #[error(
        "The file is not JSON at line {line}, column {column}: {reason}. Repair it there or export it again."
    )]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// What the parser met.
        reason: String,
    },
    /// It is not text in UTF-8.
    #[error("The file is not UTF-8 at line {line} (byte {byte}). Save it as UTF-8, or export it again.")]
    NotUtf8 {
        /// The line, counted from 1.
        line: usize,
        /// The byte, counted from 0.
        byte: usize,
    },
    /// No message could be read from it.
    #[error(
        "No message could be read from this {format} file ({skipped} set aside). First: {place}: {reason}. Name the right format with --format, or export the session again."
    )]
    NothingRead {
        /// The format that it was read as.
        format: Format,
        /// How many records were set aside.
        skipped: usize,
        /// Where the first of them stands.
        place: String,
        /// Why it was set aside.
        reason: String,
    },
}

/// Reads a transcript. Without a format it finds out which one it is.
pub fn import(bytes: &[u8], format: Option<Format>) -> Result<Import, ImportError> {
    let bytes = json::without_mark(bytes)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ImportError::Empty);
    }
    let format = match format.or_else(|| detect(bytes)) {
        Some(format) => format,
        None => {
            return Err(
                json::not_text(bytes).unwrap_or(ImportError::UnknownFormat { known: Format::names() })
            );
        }
    };
    let read = match format {
        Format::ClaudeCode => claude_code::read(bytes),
        Format::Pi => pi::read(bytes),
        Format::VscodeChat => vscode_chat::read(bytes)?,
        Format::Chatreplay => chatreplay::read(bytes)?,
        Format::SweAgent => swe_agent::read(bytes)?,
        Format::Codex => codex::read(bytes),
        Format::Cline => cline::read(bytes)?,
        Format::OpenHands => openhands::read(bytes)?,
        Format::Jsonl => return jsonl::read(bytes),
        Format::Trajectory => return trajectory::import(bytes),
    };
    read.or_nothing()
}

impl Import {
    /// An import in which nothing stands yet.
    fn new(format: Format) -> Self {
        Self {
            format,
            title: None,
            system: None,
            tools: Vec::new(),
            entries: Vec::new(),
            skipped: Vec::new(),
        }
    }

    /// Itself, or an error where nothing could be read.
    fn or_nothing(self) -> Result<Self, ImportError> {
        if !self.entries.is_empty() {
            return Ok(self);
        }
        let (place, reason) = match self.skipped.first() {
            Some(first) => (first.place.clone(), first.reason.clone()),
            None => ("the file".to_owned(), "it holds no messages".to_owned()),
        };
        Err(ImportError::NothingRead { format: self.format, skipped: self.skipped.len(), place, reason })
    }

    /// Sets something aside.
    fn skip(&mut self, place: impl Into<String>, reason: impl Into<String>) {
        self.skipped.push(Skipped { place: place.into(), reason: reason.into() });
    }

    /// Adds a message and says where it stands among the entries.
    fn push(&mut self, body: Body, external_id: Option<String>, created_at: Option<String>) -> usize {
        let message = NewMessage { external_id, created_at, ..NewMessage::new(body) };
        self.entries.push(Entry::Message(message));
        self.entries.len() - 1
    }

    /// Adds a stored system message. The first one is also the session's system text.
    fn push_system(&mut self, text: &str, created_at: Option<String>) {
        self.system.get_or_insert_with(|| text.to_owned());
        self.push(Body::Event { kind: SYSTEM_IN_HISTORY.into(), text: text.into() }, None, created_at);
    }

    /// Adds a recorded compaction.
    fn push_compaction(&mut self, text: &str, tokens_before: Option<u32>, after_external_id: Option<String>) {
        let text = text.to_owned();
        self.entries.push(Entry::Compaction(RecordedCompaction { text, tokens_before, after_external_id }));
    }
}

#[cfg(test)]
mod tests;
