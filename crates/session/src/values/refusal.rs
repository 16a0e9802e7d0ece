//! Refusals of commands, and diagnostics: each for programs and for people.

use crate::values::undo::CannotUndo;
use engine::compact::ladder::CannotFit;
use engine::id::TurnId;
use engine::prompt::BudgetExceeded;
use engine::prompt::item::SectionSize;
use engine::prompt::request::{Cause, Failure};
use engine::settings::SettingsError;
use engine::words::{Driver, StateName};
use thiserror::Error;

/// A message to a caller that stops nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The kind, for programs.
    pub kind: &'static str,
    /// The text, for people.
    pub message: String,
}

/// A reason not to carry out a command. The session is unchanged.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Refusal {
    /// The session's state does not take the command.
    #[error("the session is {}; it accepts {} now", .state.name(), .accepts.join(", "))]
    InvalidState {
        /// The state of the session.
        state: StateName,
        /// The methods taken in that state.
        accepts: Vec<&'static str>,
    },
    /// The queue is full.
    #[error("the queue is full: at most {limit} commands can wait; nothing was done")]
    QueueFull {
        /// The size of a full queue.
        limit: u32,
    },
    /// The session has messages; only an empty one can be filled.
    #[error("the session has messages already; import under another session id, or reset this session first")]
    NotEmpty,
    /// The command belongs to the other driver.
    #[error("the session is driven by the {}; this method needs the other driver", match .0 { Driver::Sidecar => "sidecar", Driver::Editor => "editor" })]
    OtherDriver(Driver),
    /// The editor's loop runs a turn, and one more cannot begin.
    #[error(
        "turn {:?} of the editor's loop is open; nothing was done; end it with turn/end or turn/cancel, or open the \
         session again",
        turn.as_str()
    )]
    TurnOpen {
        /// The id of the turn.
        turn: TurnId,
    },
    /// No such thing exists in the session, or it was removed.
    #[error("unknown {what} {id:?}")]
    Unknown {
        /// The kind of thing, often the name of the field.
        what: &'static str,
        /// The id as it was given.
        id: String,
    },
    /// The text existed and was dropped at the end of its turn.
    #[error("the text of {id:?} was not kept: the setting transcript is finalOnly")]
    NotKept {
        /// The field that names it.
        what: &'static str,
        /// The id as it was given.
        id: String,
    },
    /// The item was answered or decided before.
    #[error("{what} {id:?} is already settled; nothing was changed")]
    Settled {
        /// The kind of item, often the name of the field.
        what: &'static str,
        /// The id of the item.
        id: String,
    },
    /// The command is empty or cannot apply; the reason, in words.
    #[error("{0}")]
    Empty(&'static str),
    /// A field's value cannot be used for this command.
    #[error("{field}: {why}")]
    Unusable {
        /// The name of the field.
        field: &'static str,
        /// The problem, in words.
        why: &'static str,
    },
    /// The addition does not fit the budget.
    #[error("{what} would take {needed} tokens and the limit is {limit}")]
    NoRoom {
        /// The addition, in words.
        what: &'static str,
        /// The largest size allowed, in tokens.
        limit: u32,
        /// The size needed, in tokens.
        needed: u32,
        /// The parts of the size needed.
        sections: Vec<SectionSize>,
    },
    /// An agent used up its tokens.
    #[error("the agent used {used} tokens and the limit is {limit}; its messages so far are kept")]
    TokensUsed {
        /// The tokens used.
        used: u64,
        /// The most tokens allowed.
        limit: u64,
    },
    /// A compaction cannot be undone.
    #[error(transparent)]
    CannotUndo(#[from] Box<CannotUndo>),
    /// The prompt is over its limit and may not be compacted.
    #[error(transparent)]
    BudgetExceeded(#[from] BudgetExceeded),
    /// No compaction brings the prompt under its limit.
    #[error(transparent)]
    CannotFit(#[from] CannotFit),
    /// A setting is invalid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The request was cancelled.
    #[error("cancelled; the output so far is kept")]
    Cancelled,
    /// The step's writes could not be stored.
    #[error("{why}")]
    NotStored {
        /// The cause, for programs.
        cause: &'static str,
        /// The cause, for people.
        why: String,
    },
    /// The model failed, or the client that calls it.
    #[error("{why}")]
    Provider {
        /// The cause, for programs.
        cause: Box<Cause>,
        /// The cause, for people; it holds no secrets.
        why: String,
    },
}

impl Refusal {
    /// Creates the refusal for a model failure of which only this word for programs is known.
    pub fn of_model(word: &'static str, why: impl Into<String>) -> Self {
        Self::Provider { cause: Box::new(Cause::of(word)), why: why.into() }
    }
}

impl From<String> for Refusal {
    /// Wraps the client's message about its model.
    fn from(why: String) -> Self {
        Self::Provider { cause: Box::default(), why }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Provider { cause: Box::new(failure.cause), why: failure.why }
    }
}

impl Refusal {
    /// Replaces the word for programs.
    pub(crate) fn named(self, word: &'static str) -> Self {
        match self {
            Self::Provider { cause, why } => {
                Self::Provider { cause: Box::new(Cause { word, ..*cause }), why }
            }
            other => other,
        }
    }

    /// Names the fields that name a message in these parameters, by its id and its index.
    pub(crate) fn of_fields(self, [by_id, by_index]: [&'static str; 2]) -> Self {
        match self {
            Self::Unknown { what: "messageId", id } => Self::Unknown { what: by_id, id },
            Self::Unknown { what: "index", id } => Self::Unknown { what: by_index, id },
            other => other,
        }
    }

    /// Turns a supposed overflow into a plain provider error, in the provider's own words.
    pub(crate) fn not_of_size(self) -> Self {
        match self {
            Self::Provider { cause, why } if cause.word == "contextOverflow" => {
                let said = cause
                    .said
                    .as_ref()
                    .map(|said| format!("the model's provider did not accept the request: {said}"));
                let why = said.unwrap_or(why);
                Self::Provider { cause: Box::new(Cause { word: "badRequest", ..*cause }), why }
            }
            other => other,
        }
    }
}
