//! What a session's requests to models cost, added up request by request: no rewind gives money back, and reading the sum
//! reads no message.

use engine::cost::Cost;
use engine::words::Purpose;
use serde::{Deserialize, Serialize};

/// The cost of a session's requests to models, by purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spent {
    /// Requests for answers.
    #[serde(skip_serializing_if = "Cost::is_empty")]
    pub answers: Cost,
    /// Requests for summaries, used or not.
    #[serde(skip_serializing_if = "Cost::is_empty")]
    pub summaries: Cost,
    /// Requests for titles.
    #[serde(skip_serializing_if = "Cost::is_empty")]
    pub titles: Cost,
    /// `true` if the session had answers before its costs were counted: imported ones, or those of an older version.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub began_late: bool,
}

impl Spent {
    /// Returns the cost of all requests.
    pub fn total(&self) -> Cost {
        let mut total = self.answers;
        total.add(self.summaries);
        total.add(self.titles);
        total
    }

    /// Adds the cost of a request.
    pub(crate) fn add(&mut self, purpose: Purpose, cost: Cost) {
        match purpose {
            Purpose::Turn => self.answers.add(cost),
            Purpose::Summary => self.summaries.add(cost),
            Purpose::Title => self.titles.add(cost),
        }
    }
}
