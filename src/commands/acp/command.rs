//! Slash commands: the list that editors offer, and what a prompt that begins with one asks the sidecar for.

use crate::commands::client::Client;
use crate::commands::context::About;
use crate::commands::report;
use agent_client_protocol_schema::v1::{AvailableCommand, AvailableCommandInput, UnstructuredCommandInput};
use protocol::context::ContextPinParams;
use protocol::methods::{
    ContextCompact, ContextInspect, ContextPin, ContextUndo, Method, SessionReset, SessionSearch, read_result,
};
use protocol::session::edit::SessionResetParams;
use protocol::session::search::{FoundSession, SessionSearchParams};
use serde_json::Value;

/// Commands, what may follow them, and what they do.
const COMMANDS: &[(&str, Option<&str>, &str)] = &[
    ("compact", Some("what the summary must keep"), "Summarize the conversation so far"),
    ("undo", None, "Undo the last compaction: the prompt shows the original messages again"),
    ("redo", None, "Make the last compaction again, from the original messages"),
    ("pin", Some("a text"), "Keep a text in every prompt, byte for byte"),
    ("context", None, "Show what the prompt holds, and when it is compacted next"),
    ("cost", None, "Show what the requests to models cost"),
    ("search", Some("words"), "Find words in all that was said in the sessions of this folder"),
    ("new", None, "Begin a new chat in this session; the one before is kept"),
];

/// Sessions and passages that one search shows.
const MOST_SESSIONS: u32 = 8;
const MOST_PASSAGES: usize = 3;

/// The commands as editors list them.
pub(super) fn available() -> Vec<AvailableCommand> {
    let command = |(name, input, does): &(&str, Option<&str>, &str)| {
        let input = input
            .map(|hint| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint.to_owned())));
        AvailableCommand::new(*name, *does).input(input)
    };
    COMMANDS.iter().map(command).collect()
}

/// A command that waits for a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Compact(Option<String>),
    Undo,
    /// Makes the newest compaction again, once its id is known.
    Redo(Option<String>),
    Pin(String),
    Context,
    Cost,
    Search(String),
    New,
}

/// The outcome of a command's request.
#[derive(Debug)]
pub(super) enum Step {
    /// The text to show; the command is done.
    Said(String),
    /// A further request.
    Next(Command),
}

impl Command {
    /// Parses the text of a prompt; `None` if it is none of the commands. The error says what is missing.
    pub fn read(text: &str) -> Option<Result<Self, String>> {
        let (name, words) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let words = Some(words.trim().to_owned()).filter(|words| !words.is_empty());
        Some(Ok(match (name, words) {
            ("/compact", focus) => Self::Compact(focus),
            ("/undo", None) => Self::Undo,
            ("/redo", None) => Self::Redo(None),
            ("/pin", Some(text)) => Self::Pin(text),
            ("/pin", None) => return Some(Err("/pin needs the text to keep".to_owned())),
            ("/context", None) => Self::Context,
            ("/cost", None) => Self::Cost,
            ("/search", Some(words)) => Self::Search(words),
            ("/search", None) => return Some(Err("/search needs the words to find".to_owned())),
            ("/new", None) => Self::New,
            _ => return None,
        }))
    }

    /// Sends the request. Returns its number.
    pub async fn ask(&self, client: &mut Client, session: &str, folder: &str) -> i64 {
        let session_id = session.to_owned();
        match self {
            Self::Compact(focus) => About::Compact(focus.clone()).ask(client, session).await,
            Self::Undo => About::Undo.ask(client, session).await,
            Self::Redo(Some(id)) => About::Again(id.clone()).ask(client, session).await,
            Self::Redo(None) | Self::Context | Self::Cost => About::Inspect.ask(client, session).await,
            Self::Pin(text) => {
                let params = ContextPinParams { session_id, message_id: None, text: Some(text.clone()) };
                client.ask::<ContextPin>(&params).await
            }
            Self::Search(words) => {
                let params = SessionSearchParams {
                    workspace_folder: Some(folder.to_owned()),
                    query: words.clone(),
                    cursor: None,
                    limit: Some(MOST_SESSIONS),
                };
                client.ask::<SessionSearch>(&params).await
            }
            Self::New => {
                let params = SessionResetParams { session_id, keep_queue: Some(true), idempotency_key: None };
                client.ask::<SessionReset>(&params).await
            }
        }
    }

    /// Reads the result of the request.
    pub fn step(&self, value: Value) -> Result<Step, String> {
        fn result<M: Method>(value: Value) -> Result<M::Result, String> {
            read_result::<M>(value).map_err(|error| error.message)
        }
        Ok(Step::Said(match self {
            Self::Compact(_) | Self::Redo(Some(_)) => match result::<ContextCompact>(value)?.reason {
                Some(reason) => format!("Not compacted: {reason}."),
                None => "Compacted. /undo takes it back.".to_owned(),
            },
            Self::Redo(None) => {
                let newest = result::<ContextInspect>(value)?.compactions.pop();
                let nothing = || "there is no compaction to make again".to_owned();
                return Ok(Step::Next(Self::Redo(Some(newest.map(|made| made.id).ok_or_else(nothing)?))));
            }
            Self::Undo => {
                result::<ContextUndo>(value)?;
                "Undone: the prompt shows the original messages again.".to_owned()
            }
            Self::Pin(_) => {
                let pins = result::<ContextPin>(value)?.pins.len();
                format!("Pinned. The session has {pins} {}.", if pins == 1 { "pin" } else { "pins" })
            }
            Self::Context => fenced(&report::context(&result::<ContextInspect>(value)?)),
            Self::Cost => fenced(&report::spending(result::<ContextInspect>(value)?.spent.as_ref())),
            Self::Search(words) => {
                let found = result::<SessionSearch>(value)?.sessions;
                if found.is_empty() {
                    format!("Nothing was found for \"{words}\".")
                } else {
                    found.iter().map(passages).collect()
                }
            }
            Self::New => {
                result::<SessionReset>(value)?;
                "A new chat begins here.".to_owned()
            }
        }))
    }
}

/// A table of figures: editors show Markdown.
fn fenced(text: &str) -> String {
    format!("```\n{text}\n```")
}

/// A session that was found, with its first passages.
fn passages(found: &FoundSession) -> String {
    let title = found.session.title.as_deref().unwrap_or("(no title)");
    let mut text = format!("- **{title}** ({})\n", found.session.session_id);
    for hit in found.hits.iter().take(MOST_PASSAGES) {
        let excerpt = hit.excerpt.split_whitespace().collect::<Vec<_>>().join(" ");
        text.push_str(&format!("  - {excerpt}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_commands_are_taken_from_prompts() {
        assert_eq!(
            Command::read("/compact the parser"),
            Some(Ok(Command::Compact(Some("the parser".into()))))
        );
        assert_eq!(Command::read(" /undo\n"), Some(Ok(Command::Undo)));
        assert_eq!(Command::read("/pin"), Some(Err("/pin needs the text to keep".into())));
        for text in ["/undone", "/usr/bin is a folder", "/undo the edit", "compact", ""] {
            assert_eq!(Command::read(text), None, "{text}");
        }
        let names: Vec<_> = available().into_iter().map(|command| format!("/{} x", command.name)).collect();
        let is_known = |text: &String| {
            let alone = text.split_whitespace().next().unwrap_or_default();
            Command::read(text).is_some() || Command::read(alone).is_some()
        };
        assert!(names.iter().all(is_known), "{names:?}");
    }
}
