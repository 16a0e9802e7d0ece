//! What the trajectory of a session holds beside what is known here, kept as a record of the session where
//! there is no file that keeps it. What stands in it is said where trajectories are read and written.

use super::{Body, Message};

/// The kind of [`Body::Event`] that keeps it, as JSON. It goes back into the file.
pub const SOURCE_KEYS: &str = "sourceKeys";

impl Message {
    /// Whether it keeps what belongs to the file and was said by nobody.
    pub fn is_source_keys(&self) -> bool {
        matches!(&self.body, Body::Event { kind, .. } if kind == SOURCE_KEYS)
    }
}
