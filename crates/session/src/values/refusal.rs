//! Why something was not done, or what a caller should know of what was: values for programs and for people.

use crate::values::undo::CannotUndo;
use engine::compact::ladder::CannotFit;
use engine::id::CallId;
use engine::message::Text;
use engine::prompt::BudgetExceeded;
use engine::prompt::item::SectionSize;
use engine::prompt::request::{Cause, Failure};
use engine::settings::SettingsError;
use engine::words::{Driver, StateName};
use thiserror::Error;

/// Why a call waits for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub name: Text,
    /// JSON text, as the model gave it.
    pub arguments: Text,
    /// In words.
    pub reason: String,
}

/// Something that a caller should know and that stops nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// For programs.
    pub kind: &'static str,
    /// For people.
    pub message: String,
}

/// Why a command was not carried out. Nothing changed.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Refusal {
    /// The session's state does not take it.
    #[error("the session is {}; it takes {} now", .state.name(), .accepts.join(", "))]
    InvalidState {
        /// The state.
        state: StateName,
        /// The methods that it takes.
        accepts: Vec<&'static str>,
    },
    /// As many commands wait as may.
    #[error("{limit} commands wait already, which is the most; nothing was done")]
    QueueFull {
        /// The most that may wait.
        limit: u32,
    },
    /// A conversation is here already.
    #[error("the session has messages already; only an empty one takes a conversation in")]
    NotEmpty,
    /// The command belongs to the other driver.
    #[error("the session is driven by the {}; this command is for the other driver", match .0 { Driver::Sidecar => "sidecar", Driver::Editor => "editor" })]
    OtherDriver(Driver),
    /// Something that is named is not there, or not any more.
    #[error("there is no {what} {id:?} that this could be about")]
    Unknown {
        /// What is meant.
        what: &'static str,
        /// Its id as it was given.
        id: String,
    },
    /// It was said, and went with the end of its turn.
    #[error("{id:?} was said and is not kept: the setting transcript is finalOnly")]
    NotKept {
        /// The field that names it.
        what: &'static str,
        /// Its id as it was given.
        id: String,
    },
    /// It was answered or decided before.
    #[error("{what} {id:?} was settled before; nothing changed")]
    Settled {
        /// What is meant.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// There is nothing in what was given.
    #[error("{0}")]
    Empty(&'static str),
    /// Something that is named cannot be used for this.
    #[error("{field}: {why}")]
    Unusable {
        /// The field that names it.
        field: &'static str,
        /// What is wrong with it, in words.
        why: &'static str,
    },
    /// There is no room for it.
    #[error("{what} would weigh {needed} tokens, and at most {limit} are accepted")]
    NoRoom {
        /// What, in words.
        what: &'static str,
        /// The most, in tokens.
        limit: u32,
        /// What it would weigh, in tokens.
        needed: u32,
        /// What it is made of.
        sections: Vec<SectionSize>,
    },
    /// A compaction stays in force.
    #[error(transparent)]
    CannotUndo(#[from] Box<CannotUndo>),
    /// The prompt is over its limit, and may not be compacted.
    #[error(transparent)]
    BudgetExceeded(#[from] BudgetExceeded),
    /// Nothing brings the prompt under its limit.
    #[error(transparent)]
    CannotFit(#[from] CannotFit),
    /// A setting cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// It was cancelled.
    #[error("cancelled; what was said is kept")]
    Cancelled,
    /// What happened could not be stored.
    #[error("{why}")]
    NotStored {
        /// For programs.
        cause: &'static str,
        /// For people.
        why: String,
    },
    /// The model, or the client that asks it for us, failed.
    #[error("{why}")]
    Provider {
        /// For programs.
        cause: Box<Cause>,
        /// For people, without secrets.
        why: String,
    },
}

impl Refusal {
    /// A model that failed, of which no more is known for programs than this word.
    pub fn of_model(word: &'static str, why: impl Into<String>) -> Self {
        Self::Provider { cause: Box::new(Cause::of(word)), why: why.into() }
    }
}

impl From<String> for Refusal {
    /// What a client says about its model.
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
    /// The same under another word for programs.
    pub(crate) fn named(self, word: &'static str) -> Self {
        match self {
            Self::Provider { cause, why } => {
                Self::Provider { cause: Box::new(Cause { word, ..*cause }), why }
            }
            other => other,
        }
    }

    /// The same where a refusal that sounds like an overflow is none: in the provider's own words.
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
