//! Tests of the history: messages, changes to them, and the prefix before them.

pub mod agents;
pub mod attached;
pub mod continued;
pub mod costs;
pub mod final_only;
pub mod large_results;
pub mod merging;
pub mod outside;
pub mod prefix;
pub mod provider_blocks;
pub mod refused;
pub mod resumed;
pub mod reverting;
pub mod rewinding;
pub mod servers;
pub mod streamed;
pub mod tasks;
pub mod thinking;
pub mod turns;
pub mod waiting;
