//! Tests of compaction: triggers, conditions and outcomes.

pub mod ahead;
pub mod asked_for;
pub mod breaks;
pub mod by_hand;
mod counted;
pub mod estimates;
pub mod healing;
pub mod held;
pub mod learned;
pub mod metered;
pub mod settled;
pub mod silent;
pub mod triggers;
pub mod warned;
