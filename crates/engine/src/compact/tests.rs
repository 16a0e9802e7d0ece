//! Compaction as a user of the engine sees it: whole sessions, from trigger to rendered prompt.

mod bounded;
mod failures;
mod ledger;
mod policies;
mod restore;
mod scenarios;
