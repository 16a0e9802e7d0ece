//! The built binary over the wire: a client of a test's own, and what it is told by the server. What the methods do is
//! tested beside each of them; here is what holds for all.

mod alike;
mod asked;
mod bad_input;
mod by_hand;
#[allow(dead_code, reason = "the tests of the methods use the rest")]
pub mod client;
mod conversation;
mod deleted;
mod delivery;
mod deltas;
mod edges;
mod editor_driven;
mod ends;
mod failures;
mod fixtures;
mod fold;
mod follow;
mod frames;
mod ground;
mod histories;
mod instructions;
mod load;
mod long;
mod loops;
mod losses;
mod pipelined;
mod recall;
mod recorded;
mod restore;
mod review;
mod rungs;
pub mod script;
mod search;
mod secrets;
mod settings;
mod shortened;
mod stores;
mod summaries;
mod taken_over;
mod trajectories;
mod trajectories_from_outside;
mod trajectories_kept;
mod waiting;
