//! Ids and times: newtypes that keep a turn's id from being used as a call's. No content.

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
            /// Wraps an id verbatim; ids are opaque and never parsed. Clones share one text.
            pub fn new(text: impl AsRef<str>) -> Self { Self(text.as_ref().into()) }

            /// Returns the id as text, for wires and logs.
            pub fn as_str(&self) -> &str { &self.0 }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(&self.0) }
        }
    )*};
}

text_id! {
    /// A chat. Created outside the engine; the ids of turns, messages and compactions derive from it and a counter.
    SessionId;
    /// A user request and everything up to the next one.
    TurnId;
    /// An assistant message with its tool calls and their results; the unit that an editor's summary belongs to.
    RoundId;
    /// A message of a session.
    MessageId;
    /// A tool call. Unique in its session, even if the source used one id twice.
    CallId;
    /// A compaction record.
    CompactionId;
    /// A user's pin.
    PinId;
    /// A command in a session's queue.
    ItemId;
}

/// A message's position in its session, counted from 0. Not reused after a removal, but after a truncation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ordinal(pub u32);

impl Ordinal {
    /// Returns the position as an index into the session's messages.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the next position.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Ordinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Incremented only by a reset. A result for an older generation is discarded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(pub u32);

/// A time in milliseconds since 1970-01-01 UTC. Always an argument; the engine has no clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);
