//! Tests of compaction with whole sessions, from trigger to rendered prompt.

mod bounded;
mod failures;
mod ledger;
mod policies;
mod restore;
mod scenarios;
mod words;
