//! Import and export of transcripts: the formats, the result of an import, and its conversion to a
//! transcript. Each format has a file of its own below. No file access.
//!
//! The rule of every format: readable records are imported, unreadable ones are reported with their place and a
//! reason, and a summary that the source made of its own history becomes a recorded compaction, never a message.

mod aider;
mod chatreplay;
mod claude_code;
mod cline;
mod codex;
mod detect;
mod gemini;
mod jsonl;
mod markdown;
mod messages;
mod opencode;
mod openhands;
mod pi;
mod shared;
mod store;
mod swe_agent;
pub mod trajectory;
mod vscode_chat;

pub use detect::detect;
pub use jsonl::export_jsonl;
pub use markdown::export_markdown;

use engine::message::{Body, Content, NewMessage, SYSTEM_IN_HISTORY};
use engine::prompt::item::Tool;
use shared::{completions, json, noise, parts, verdict};
use std::fmt;
use std::str::FromStr;

/// A transcript format that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// A session file of Claude Code: one record per line, linked by `uuid`.
    ClaudeCode,
    /// A session file of the pi coding agent: one record per line.
    Pi,
    /// The output of VS Code's command "Export Chat".
    VscodeChat,
    /// A chat replay export of the Copilot extension: the sent requests with their answers.
    Chatreplay,
    /// A trajectory of SWE-agent (`.traj`).
    SweAgent,
    /// A session file of Codex: the log of its terminal interface, or a rollout.
    Codex,
    /// A session file of Cline (`.messages.json`), or the history of a task (`api_conversation_history.json`).
    Cline,
    /// A recorded chat or a saved checkpoint of Gemini CLI.
    GeminiCli,
    /// A chat history of Aider (`.aider.chat.history.md`).
    Aider,
    /// A session of opencode: its export, or the records of its storage.
    OpenCode,
    /// A log of one model call of OpenHands, with its whole history.
    OpenHands,
    /// A list of messages in the form of OpenAI's chat completions, alone or as `messages` of an object.
    OpenAi,
    /// A list of messages in the form of Anthropic's Messages, alone or as `messages` of an object.
    Anthropic,
    /// The native format: one entry per line.
    Jsonl,
    /// A trajectory: one object with its messages.
    Trajectory,
}

impl Format {
    /// Every format, in the order in which users see them listed.
    pub const ALL: [Format; 15] = [
        Format::ClaudeCode,
        Format::Pi,
        Format::VscodeChat,
        Format::Chatreplay,
        Format::SweAgent,
        Format::Codex,
        Format::Cline,
        Format::GeminiCli,
        Format::Aider,
        Format::OpenCode,
        Format::OpenHands,
        Format::OpenAi,
        Format::Anthropic,
        Format::Jsonl,
        Format::Trajectory,
    ];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::ClaudeCode => "claude-code",
            Format::Pi => "pi",
            Format::VscodeChat => "vscode-chat",
            Format::Chatreplay => "chatreplay",
            Format::SweAgent => "swe-agent",
            Format::Codex => "codex",
            Format::Cline => "cline",
            Format::GeminiCli => "gemini-cli",
            Format::Aider => "aider",
            Format::OpenCode => "opencode",
            Format::OpenHands => "openhands",
            Format::OpenAi => "openai",
            Format::Anthropic => "anthropic",
            Format::Jsonl => "jsonl",
            Format::Trajectory => "trajectory",
        }
    }

    /// All names, comma-separated, for error messages.
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

/// The result of reading a source.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// The format that was read.
    pub format: Format,
    /// The conversation's title, if the source states one.
    pub title: Option<String>,
    /// The first system message of the source.
    pub system: Option<String>,
    /// The tools offered to the model, if the source lists them.
    pub tools: Vec<Tool>,
    /// Messages and recorded compactions, in the order of the source.
    pub entries: Vec<Entry>,
    /// Records that were not imported.
    pub skipped: Vec<Skipped>,
}

/// A record of a source.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "all entries but a few are messages")]
pub enum Entry {
    /// A message.
    Message(NewMessage),
    /// A summary by which the source replaced earlier history.
    Compaction(RecordedCompaction),
}

/// A summary that the source made of its own history. Our own rendering starts from the original messages.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCompaction {
    /// The summary.
    pub text: String,
    /// Tokens of the compacted prompt, if the source states them.
    pub tokens_before: Option<u32>,
    /// The message or round that the summary follows, if the source states it; `None` for everything before
    /// the entry.
    pub after_external_id: Option<String>,
    /// What the source says of its effect.
    pub standing: Standing,
}

/// The effect of a recorded compaction where it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Another program's, which had replaced its messages.
    Recorded,
    /// One of our sessions', in force, with our own part of its metadata: from it the same bytes are rendered again.
    InForce(String),
    /// One of our sessions' that was undone, or whose messages are gone.
    OutOfForce,
}

/// A record that was not imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The place, such as `line 12` or `requests[3].result`.
    pub place: String,
    /// The reason.
    pub reason: String,
}

/// The reason why a source could not be imported at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The file is empty.
    #[error("the file is empty; give the file that the session was saved to")]
    Empty,
    /// The format was not recognized, or its given name is unknown.
    #[error("unknown format; name the right one with --format; known: {known}")]
    UnknownFormat {
        /// The names of all formats, comma-separated.
        known: String,
    },
    /// The file is well-formed but does not match the format.
    #[error("not a {format} file: {place} {reason}; give another file, or name its format with --format")]
    NotThisFormat {
        /// The assumed format.
        format: Format,
        /// The place of the difference.
        place: String,
        /// The difference.
        reason: String,
    },
    /// The file is in an unsupported version of the native format.
    #[error("unknown version {found} of the jsonl format; known: {known}; use a newer threadhold to read it")]
    UnknownVersion {
        /// The version that the file states.
        found: String,
        /// The supported versions.
        known: String,
    },
    /// The file is not JSON.
    #[error(
        "the file is not JSON at line {line}, column {column}: {reason}; repair it there, or export it again"
    )]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// The parser's message.
        reason: String,
    },
    /// The file is not UTF-8.
    #[error("the file is not UTF-8 at line {line} (byte {byte}); save it as UTF-8, or export it again")]
    NotUtf8 {
        /// The line, counted from 1.
        line: usize,
        /// The byte, counted from 0.
        byte: usize,
    },
    /// The file contains no readable message.
    #[error(
        "no message could be read from this {format} file ({skipped} set aside); first: {place} {reason}; name the right format with --format, or export the session again"
    )]
    NothingRead {
        /// The assumed format.
        format: Format,
        /// The number of skipped records.
        skipped: usize,
        /// The place of the first skipped record.
        place: String,
        /// The reason why that record was skipped.
        reason: String,
    },
}

/// Imports a transcript; detects the format if `None` is given. Fails if the format is unknown or nothing can
/// be read.
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
        Format::GeminiCli => gemini::read(bytes)?,
        Format::Aider => aider::read(bytes)?,
        Format::OpenCode => opencode::read(bytes)?,
        Format::OpenAi => messages::read_openai(bytes)?,
        Format::Anthropic => messages::read_anthropic(bytes)?,
        Format::OpenHands => openhands::read(bytes)?,
        Format::Jsonl => return jsonl::read(bytes),
        Format::Trajectory => return trajectory::import(bytes),
    };
    read.or_nothing()
}

impl Import {
    /// Creates an empty import.
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

    /// Fails with [`ImportError::NothingRead`] if there are no entries.
    fn or_nothing(self) -> Result<Self, ImportError> {
        if !self.entries.is_empty() {
            return Ok(self);
        }
        let (place, reason) = match self.skipped.first() {
            Some(first) => (first.place.clone(), first.reason.clone()),
            None => ("the file".to_owned(), "has no messages".to_owned()),
        };
        Err(ImportError::NothingRead { format: self.format, skipped: self.skipped.len(), place, reason })
    }

    /// Reports a record that is not imported.
    fn skip(&mut self, place: impl Into<String>, reason: impl Into<String>) {
        self.skipped.push(Skipped { place: place.into(), reason: reason.into() });
    }

    /// Appends a message and returns its index among the entries.
    fn push(&mut self, body: Body, external_id: Option<String>, created_at: Option<String>) -> usize {
        let message = NewMessage { external_id, created_at, ..NewMessage::new(body) };
        self.entries.push(Entry::Message(message));
        self.entries.len() - 1
    }

    /// Appends a message of the role `user`, with what a program put there as attachments; drops it if nothing is
    /// left.
    fn push_user(&mut self, parts: Vec<Content>, external_id: Option<String>, created_at: Option<String>) {
        let is_empty = parts.is_empty();
        let parts = noise::apart(parts);
        if is_empty || !parts.is_empty() {
            self.push(Body::User(parts), external_id, created_at);
        }
    }

    /// Appends a stored system message. The first one also becomes the session's system text.
    fn push_system(&mut self, text: &str, created_at: Option<String>) {
        self.system.get_or_insert_with(|| text.to_owned());
        self.push(Body::Event { kind: SYSTEM_IN_HISTORY.into(), text: text.into() }, None, created_at);
    }

    fn push_compaction(&mut self, text: &str, tokens_before: Option<u32>, after_external_id: Option<String>) {
        let text = text.to_owned();
        let standing = Standing::Recorded;
        let recorded = RecordedCompaction { text, tokens_before, after_external_id, standing };
        self.entries.push(Entry::Compaction(recorded));
    }
}

#[cfg(test)]
mod tests;
