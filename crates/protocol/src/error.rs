//! The table of errors: code, kind and typed data of each. Messages are worded where the error arises.

use crate::prompt::section::Channel;
use crate::session::state::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// Defines the kinds, their codes and their data from one table.
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

            /// Returns the code on the wire: that of LSP or JSON-RPC if they have one, otherwise from -33001 down.
            pub const fn code(self) -> i32 {
                match self { $(Self::$kind => $code,)* }
            }

            /// Returns the name on the wire: `data.kind`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => stringify!($kind),)* }
            }
        }

        /// The `data` of an error: its kind and the fields of that kind.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all_fields = "camelCase")]
        pub enum ErrorData {
            $($(#[doc = $doc])* $kind { $($(#[$field_meta])* $field: $type,)* },)*
        }

        impl ErrorData {
            /// Returns the kind of the error.
            pub fn kind(&self) -> ErrorKind {
                match self { $(Self::$kind { .. } => ErrorKind::$kind,)* }
            }
        }
    };
}

errors! {
    /// The body is not JSON. The response has the id of the request if it can be read, else null; the stream continues
    /// with the next message.
    ParseError = -32700 {}
    /// The body is JSON but not a request.
    InvalidRequest = -32600 {}
    /// No method has this name.
    MethodNotFound = -32601 {
        /// Requested method.
        method: String,
    }
    /// A field is missing, of the wrong type, or has an impossible value.
    InvalidParams = -32602 {
        /// Path of the field, such as `history[2].rounds[0].assistant.parts`; empty for the parameters as a whole.
        field: String,
        /// Reason why it cannot be used.
        reason: String,
    }
    /// A defect of the sidecar. The affected session is closed; others continue.
    InternalError = -32603 {}
    /// A request arrived before `initialize`.
    NotInitialized = -32002 {}
    /// The client cancelled the request.
    Cancelled = -32800 {}
    /// The client's protocol version is not supported.
    UnsupportedVersion = -33001 {
        /// Version of the client.
        asked: u32,
        /// Supported versions.
        supported: Vec<u32>,
    }
    /// No session has this id, or the command needs an open session and this one is not open here.
    UnknownSession = -33002 {
        /// Id of the session.
        session_id: String,
    }
    /// A turn, call, message or other object of this id does not exist, or no longer; or a revision is not current.
    StaleReference = -33003 {
        /// Field that names it.
        field: String,
        /// Id in that field.
        id: String,
    }
    /// The command is not accepted in the session's state, or by its driver.
    InvalidState = -33004 {
        /// State of the session.
        state: State,
        /// Methods that are accepted now.
        accepts: Vec<String>,
    }
    /// The session's queue is full.
    QueueFull = -33005 {
        /// Largest number of queued items.
        limit: u32,
    }
    /// The prompt exceeds its limit and may not be compacted; or pins or a narrative exceed theirs.
    BudgetExceeded = -33006 {
        /// Largest size, in tokens.
        limit: u32,
        /// Required size, in tokens.
        needed: u32,
        /// Sections of the content, with their sizes.
        sections: Vec<SectionSize>,
    }
    /// No compaction makes the prompt fit. Nothing was sent and nothing is lost.
    CannotFit = -33007 {
        /// Window of the model, in tokens.
        window: u32,
        /// Largest size of a prompt, in tokens.
        limit: u32,
        /// Smallest size that the prompt can have, in tokens.
        needed: u32,
        /// Sections that cannot be given up, with their sizes.
        sections: Vec<SectionSize>,
    }
    /// The model failed.
    ProviderError = -33008 {
        /// Name of the wire, or `editor` if the client asks the model.
        provider: String,
        /// HTTP status, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// Cause for programs: the class of a provider's error (`rateLimited`, `quota`, `overloaded`, `auth`,
        /// `network`, `refused`, `corruptStream`, `badRequest`, `contextOverflow`), `timeout`, `length`, or `client` if
        /// the client's model failed and its error states no class as `kind`.
        cause: String,
        /// Milliseconds after which a retry is worthwhile, if the provider stated them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
        /// Beginning of the provider's message, without secrets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        excerpt: Option<String>,
    }
    /// Another process writes the session. Follow it with `session/subscribe`, or `session/open` with `follow`; or take
    /// it over with `session/takeOver`. Nothing of the request was stored.
    SessionHeldElsewhere = -33009 {
        /// Id of the session.
        session_id: String,
        /// Id of that process.
        pid: u32,
        /// Time since when it writes the session, ISO-8601, UTC.
        since: String,
        /// User of that process, if the store is shared between machines.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<Box<str>>,
        /// Machine of that process, if the store is shared between machines.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<Box<str>>,
    }
    /// The store cannot be read or written. Its content is unchanged.
    StorageError = -33010 {
        /// Cause of the failure.
        cause: StorageCause,
        /// File or folder of the failure, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    }
    /// The format of an import or the kind of store is not supported.
    UnsupportedFormat = -33011 {
        /// Requested format.
        format: String,
        /// Supported formats.
        known: Vec<String>,
    }
    /// Something exceeds a fixed limit.
    TooLarge = -33012 {
        /// Name of it: `body` or `export`.
        what: String,
        /// Largest size, in bytes.
        limit: u64,
        /// Actual size, in bytes.
        actual: u64,
    }
    /// The compaction cannot be undone now: a newer one hides it, or the prompt would not fit without it. Nothing
    /// changed.
    CannotUndo = -33014 {
        /// Id of the compaction.
        compaction_id: String,
        /// Largest size of a prompt, in tokens; 0 if size is not the reason.
        limit: u32,
        /// Size of the prompt without the compaction, in tokens; 0 if size is not the reason.
        needed: u32,
        /// Sections of that prompt, with their sizes.
        sections: Vec<SectionSize>,
        /// Alternatives, the smallest change first.
        ways: Vec<WayOn>,
    }
    /// Too many requests have no response yet. Retry once one of them has.
    Overloaded = -33013 {
        /// Largest number of requests without a response.
        limit: u32,
    }
}

/// An alternative to an undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "way", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum WayOn {
    /// Undo this newer compaction first (`context/undo`).
    UndoFirst {
        /// Id of the newer compaction.
        compaction_id: String,
    },
    /// Compact again (`context/compact` with `redo`, perhaps with `focus` and `keep`).
    Redo {
        /// Id of the compaction.
        compaction_id: String,
    },
    /// Pin messages that the compaction hides (`context/pin`).
    Pin {
        /// Ids of messages that would fit together, the newest first.
        message_ids: Vec<String>,
        /// Largest size of new pins together, in tokens.
        most_tokens: u32,
    },
    /// Use a model with this window, then undo.
    Window {
        /// Smallest sufficient window, in tokens.
        tokens: u32,
    },
}

/// The reason why a store cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StorageCause {
    /// The disk is full.
    Full,
    /// Another program keeps the store locked.
    Locked,
    /// The store is damaged.
    Corrupt,
    /// A newer version of the sidecar wrote the store.
    NewerSchema,
    /// The store is read-only.
    ReadOnly,
    /// The store cannot be reached, or failed otherwise.
    Unavailable,
}

/// The size of a section.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SectionSize {
    /// Channel of the section, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channel>,
    /// Name of the section.
    pub name: String,
    /// Size of the section, in tokens.
    pub tokens: u32,
}

/// An error of a response.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{message}")]
pub struct ProtocolError {
    /// Error data, with the error's kind.
    pub data: ErrorData,
    /// Message for people: what happened, what was kept, what to do; never a secret.
    pub message: String,
}

impl ProtocolError {
    /// Creates an error.
    pub fn new(data: ErrorData, message: impl Into<String>) -> Self {
        Self { data, message: message.into() }
    }

    /// Creates an `InvalidParams` error; an empty `field` stands for the parameters as a whole.
    pub fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Self {
        let (field, reason) = (field.into(), reason.into());
        let place = if field.is_empty() { "the parameters" } else { field.as_str() };
        let message = format!("{place}: {reason}; nothing was done");
        Self { data: ErrorData::InvalidParams { field, reason }, message }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.data.kind()
    }

    /// Returns the code on the wire.
    pub fn code(&self) -> i32 {
        self.kind().code()
    }

    /// The data as JSON: always an object with `kind`.
    pub fn data(&self) -> Value {
        serde_json::to_value(&self.data).unwrap_or_default()
    }
}
