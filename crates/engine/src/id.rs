//! Identities and moments: the newtypes that keep a turn's id from being used as a call's. No content, no rules about it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

macro_rules! text_id {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes an id as it came; ids are opaque and never parsed. Copies of it share one text.
            pub fn new(text: impl AsRef<str>) -> Self { Self(text.as_ref().into()) }

            /// The id as text, for wires and logs.
            pub fn as_str(&self) -> &str { &self.0 }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(&self.0) }
        }
    )*};
}

text_id! {
    /// A chat. The only id that is minted outside the engine; all others derive from it and a counter.
    SessionId;
    /// One user request and all that follows.
    TurnId;
    /// An assistant message with its tool calls and their results; what a summary annotates.
    RoundId;
    /// A message of the session.
    MessageId;
    /// A tool call. Unique in its session, even where the source used one id twice.
    CallId;
    /// A compaction record.
    CompactionId;
    /// A pin of the user's.
    PinId;
    /// A command that waits in a session's queue.
    ItemId;
}

/// A message's position in its session, counted from 0. Never reused, not even after a removal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ordinal(pub u32);

impl Ordinal {
    /// The position as an index into a session that has lost no message.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The position of the message after this one.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Ordinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Rises only on reset. A result for an older generation is discarded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(pub u32);

/// A moment, in milliseconds since 1970 began, UTC. It comes in as an argument; the engine has no clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);
