//! Error data of the engine's failures. The sidecar words their messages.

use crate::error::{ErrorData, SectionSize};
use crate::prompt::section::Channel;
use engine::compact::ladder::CannotFit;
use engine::prompt::BudgetExceeded;
use engine::prompt::item;

/// Converts the names and sizes of sections; their channels are unknown here.
pub fn sizes(sections: &[item::SectionSize]) -> Vec<SectionSize> {
    let sections = sections.iter();
    sections
        .map(|section| SectionSize { channel: None, name: section.name.clone(), tokens: section.tokens })
        .collect()
}

impl From<&BudgetExceeded> for ErrorData {
    fn from(error: &BudgetExceeded) -> Self {
        Self::BudgetExceeded { limit: error.limit, needed: error.needed, sections: sizes(&error.sections) }
    }
}

impl From<&CannotFit> for ErrorData {
    fn from(error: &CannotFit) -> Self {
        let section = |channel, name: &str, tokens| SectionSize { channel, name: name.to_owned(), tokens };
        Self::CannotFit {
            window: error.window,
            limit: error.limit,
            needed: error.needed,
            sections: vec![
                section(Some(Channel::System), "tools", error.tools),
                section(Some(Channel::System), "system", error.system),
                section(Some(Channel::Memory), "pins", error.pins),
                section(Some(Channel::Input), "currentMessage", error.current_message),
                section(Some(Channel::Input), "newestRound", error.newest_round),
            ],
        }
    }
}
