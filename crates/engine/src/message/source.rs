//! Keys of a trajectory file that have no place in the message model, stored as a record of the session if no
//! file holds them. The crate `import` defines their content.

use super::{Body, Message};

/// The kind of [`Body::Event`] that holds those keys, as JSON. Written back into the file.
pub const SOURCE_KEYS: &str = "sourceKeys";

impl Message {
    /// `true` if the message holds keys of the file and no conversation content.
    pub fn is_source_keys(&self) -> bool {
        matches!(&self.body, Body::Event { kind, .. } if kind == SOURCE_KEYS)
    }
}
