//! Services for all sessions, each with its own state: models, files, tasks, loops, leases and shared values.

pub(super) mod agents;
pub(super) mod diagnostics;
pub(super) mod intake;
pub(super) mod leases;
pub(super) mod loops;
pub(super) mod mcp;
pub(super) mod models;
pub(super) mod shared;
pub(super) mod tasks;
pub(super) mod trajectories;
pub(super) mod transfer;
pub(super) mod worktrees;
