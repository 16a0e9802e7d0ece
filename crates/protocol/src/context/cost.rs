//! What a session's requests to models cost.

pub use engine::cost::Cost;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The cost of a session's requests to models. Money that was spent stays spent, whatever is removed from the session; a
/// fork begins at nothing, and agents have their own. Requests without a word of answer and without reported usage are
/// taken to be free.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spending {
    /// All requests.
    pub total: Cost,
    /// Requests for answers.
    pub answers: Cost,
    /// Requests for summaries, used or not.
    pub summaries: Cost,
    /// Requests for titles.
    pub titles: Cost,
    /// `true` if the session had answers before its costs were counted, which the sums do not have: imported ones, or
    /// those of an older version. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub began_late: bool,
}
