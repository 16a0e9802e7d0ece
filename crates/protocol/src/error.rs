//! The table of errors: a number, a kind, and data of a type for each kind. What a message says about one stands
//! where it happens.

use crate::prompt::section::Channel;
use crate::session::state::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// Makes the kinds, their numbers and their data from one table.
macro_rules! errors {
    ($($(#[doc = $doc:literal])* $kind:ident = $code:literal {
        $($(#[$field_meta:meta])* $field:ident: $type:ty,)*
    })*) => {
        /// The kinds of errors.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ErrorKind {
            $($(#[doc = $doc])* $kind,)*
        }

        impl ErrorKind {
            /// All kinds, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// Its number on the wire: LSP's or JSON-RPC's own where they have one, else from -33001 down.
            pub const fn code(self) -> i32 {
                match self { $(Self::$kind => $code,)* }
            }

            /// Its name on the wire: `data.kind`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => stringify!($kind),)* }
            }
        }

        /// The `data` of an error: its kind, with what belongs to that kind.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all_fields = "camelCase")]
        pub enum ErrorData {
            $($(#[doc = $doc])* $kind { $($(#[$field_meta])* $field: $type,)* },)*
        }

        impl ErrorData {
            /// Its kind.
            pub fn kind(&self) -> ErrorKind {
                match self { $(Self::$kind { .. } => ErrorKind::$kind,)* }
            }
        }
    };
}

errors! {
    /// The body is no JSON. It is answered with the id null, and the stream goes on with the next message.
    ParseError = -32700 {}
    /// The body is JSON and no request.
    InvalidRequest = -32600 {}
    /// No method has this name.
    MethodNotFound = -32601 {
        /// What was asked for.
        method: String,
    }
    /// A field is missing, of the wrong type, or not possible.
    InvalidParams = -32602 {
        /// Where, such as `history[2].rounds[0].assistant.parts`; empty for the whole.
        field: String,
        /// What is wrong with it.
        reason: String,
    }
    /// A defect of the sidecar. The session that it struck is closed; others go on.
    InternalError = -32603 {}
    /// `initialize` comes first.
    NotInitialized = -32002 {}
    /// The client took the request back.
    Cancelled = -32800 {}
    /// The client speaks a version of the protocol that is not known.
    UnsupportedVersion = -33001 {
        /// What it speaks.
        asked: u32,
        /// The versions that are known.
        supported: Vec<u32>,
    }
    /// There is no session of this id.
    UnknownSession = -33002 {
        /// The id.
        session_id: String,
    }
    /// A turn, a call or a stream of this id is not there, or no longer.
    StaleReference = -33003 {
        /// The field that names it.
        field: String,
        /// The id.
        id: String,
    }
    /// The session's state, or its driver, does not take this.
    InvalidState = -33004 {
        /// The state.
        state: State,
        /// The methods that it takes.
        accepts: Vec<String>,
    }
    /// Too many requests wait in the session.
    QueueFull = -33005 {
        /// The most that may wait.
        limit: u32,
    }
    /// The prompt is over its limit, and compaction is off or was not asked for.
    BudgetExceeded = -33006 {
        /// The most it may weigh, in tokens.
        limit: u32,
        /// What it would weigh, in tokens.
        needed: u32,
        /// What it is made of.
        sections: Vec<SectionSize>,
    }
    /// Nothing makes the prompt fit. Nothing was sent, nothing was lost.
    CannotFit = -33007 {
        /// The model's window in tokens.
        window: u32,
        /// The most it may weigh, in tokens.
        limit: u32,
        /// The least it would weigh, in tokens.
        needed: u32,
        /// What cannot be given up, with its size.
        sections: Vec<SectionSize>,
    }
    /// The model failed.
    ProviderError = -33008 {
        /// Who: the wire's name, or `editor` where the client asks it.
        provider: String,
        /// The status of HTTP, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// Why, as a word for programs: the class of a provider's error (`rateLimited`, `quota`, `overloaded`, `auth`,
        /// `network`, `refused`, `corruptStream`, `badRequest`, `contextOverflow`), `timeout`, `length`, or `client` where
        /// the client's model failed.
        cause: String,
        /// Milliseconds after which it is worth trying again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
        /// The beginning of what it said, without secrets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        excerpt: Option<String>,
    }
    /// Another process writes the session. It can be followed here: `session/subscribe`, or `session/open` with `follow`;
    /// or taken over: `session/takeOver`. Nothing of what was asked is stored.
    SessionHeldElsewhere = -33009 {
        /// The session.
        session_id: String,
        /// That process.
        pid: u32,
        /// Since when, ISO-8601, UTC.
        since: String,
    }
    /// The store cannot be read or written. What it has is untouched.
    StorageError = -33010 {
        /// Why.
        cause: StorageCause,
        /// The file or folder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    }
    /// The format is not known.
    UnsupportedFormat = -33011 {
        /// What was asked for.
        format: String,
        /// What is known.
        known: Vec<String>,
    }
    /// Something is over a fixed limit.
    TooLarge = -33012 {
        /// What, such as `body`.
        what: String,
        /// The most that is taken, in bytes.
        limit: u64,
        /// Its size in bytes.
        actual: u64,
    }
    /// A compaction cannot be undone as things are: a newer one hides it, or the prompt would not fit without it. Nothing
    /// changed.
    CannotUndo = -33014 {
        /// The compaction.
        compaction_id: String,
        /// The most that a prompt may weigh, in tokens; 0 where size is not the reason.
        limit: u32,
        /// What it would weigh without the compaction, in tokens; 0 where size is not the reason.
        needed: u32,
        /// What it would be made of.
        sections: Vec<SectionSize>,
        /// What can be done, the least change first.
        ways: Vec<WayOn>,
    }
    /// Too many requests have no answer yet. Send it again when one of them has.
    Overloaded = -33013 {
        /// The most that there may be.
        limit: u32,
    }
}

/// Something that can be done in the place of an undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "way", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum WayOn {
    /// `context/undo` of this one first.
    UndoFirst {
        /// The newer compaction.
        compaction_id: String,
    },
    /// `context/compact` with `redo`, and perhaps with `focus` and `keep`.
    Redo {
        /// The compaction.
        compaction_id: String,
    },
    /// `context/pin` for messages that it hides.
    Pin {
        /// Those that would fit together, the newest first, by id.
        message_ids: Vec<String>,
        /// What new pins may weigh together, in tokens.
        most_tokens: u32,
    },
    /// A model with this window, and then the undo.
    Window {
        /// The smallest window that serves, in tokens.
        tokens: u32,
    },
}

/// Why a store cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StorageCause {
    /// The disk is full.
    Full,
    /// Another program keeps it locked.
    Locked,
    /// It is damaged.
    Corrupt,
    /// A newer version of the sidecar wrote it.
    NewerSchema,
    /// It must not be written.
    ReadOnly,
    /// It cannot be reached, or failed in another way.
    Unavailable,
}

/// The size of a section that does not fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SectionSize {
    /// How it reaches the model, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channel>,
    /// Its name.
    pub name: String,
    /// Its size in tokens.
    pub tokens: u32,
}

/// An error as it is answered.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{message}")]
pub struct ProtocolError {
    /// Its kind, with what belongs to that kind.
    pub data: ErrorData,
    /// What happened, what was kept, what to do; never a secret.
    pub message: String,
}

impl ProtocolError {
    /// An error of this kind.
    pub fn new(data: ErrorData, message: impl Into<String>) -> Self {
        Self { data, message: message.into() }
    }

    /// A field that cannot be used.
    pub fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Self {
        let (field, reason) = (field.into(), reason.into());
        let place = if field.is_empty() { "the parameters" } else { field.as_str() };
        let message = format!("{place}: {reason}; nothing was done");
        Self { data: ErrorData::InvalidParams { field, reason }, message }
    }

    /// Its kind.
    pub fn kind(&self) -> ErrorKind {
        self.data.kind()
    }

    /// Its number.
    pub fn code(&self) -> i32 {
        self.kind().code()
    }

    /// Its data as JSON: always an object with `kind`.
    pub fn data(&self) -> Value {
        serde_json::to_value(&self.data).unwrap_or_default()
    }
}
