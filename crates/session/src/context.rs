//! Prompt contents beside the history, manual changes to both, and queries about them.

pub(crate) mod attach;
pub(crate) mod figures;
pub(crate) mod inspect;
pub(crate) mod instructions;
pub(crate) mod ledger;
pub(crate) mod memories;
pub(crate) mod pins;
pub(crate) mod prefix;
pub(crate) mod recall;
pub(crate) mod records;
pub(crate) mod scope;
pub(crate) mod undo;
