//! Tests of compaction with whole sessions, from trigger to rendered prompt.

mod arguments;
mod block;
mod bounded;
mod excerpts;
mod failures;
mod incremental;
mod ledger;
mod policies;
mod restore;
mod scenarios;
mod words;
