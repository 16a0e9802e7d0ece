//! Progress of a tool call while it runs.

/// Progress of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The part that is done.
    pub done: f64,
    /// The whole in the same units, if it is known.
    pub total: Option<f64>,
    /// Words about it.
    pub message: Option<String>,
}
