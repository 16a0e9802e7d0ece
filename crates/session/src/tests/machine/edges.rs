//! The transitions between states: those of the specified table, and further ones with their reasons.

use crate::state::StateName::{
    self, Completed, Error, ExecutingTools, Generating, Idle, Paused, WaitingIde, WaitingUserInput,
};

/// The specified transitions from each state.
pub const TABLE: &[(StateName, &[StateName])] = &[
    (Idle, &[Generating]),
    (Generating, &[ExecutingTools, Idle, Completed, WaitingUserInput, WaitingIde, Paused, Error]),
    (ExecutingTools, &[Generating, WaitingIde, Completed, WaitingUserInput, Error, Idle]),
    (Paused, &[ExecutingTools, WaitingIde, Generating, Idle]),
    (WaitingIde, &[ExecutingTools, Generating, Idle]),
    (WaitingUserInput, &[Generating, Idle]),
    (Completed, &[Generating, Idle]),
    (Error, &[Generating, Idle]),
];

/// A transition of the table that never occurs: calls of one round are started together, so a round that
/// waits for the editor does so from its start.
pub const NOT_TAKEN: (StateName, StateName) = (ExecutingTools, WaitingIde);

/// A transition of the table that random sequences seldom make: a tool that finishes the work has run before, so
/// only a compaction of a completed session ends so.
pub const SELDOM: (StateName, StateName) = (Generating, Completed);

/// Transitions beside the table, each with its reason.
const BESIDE: &[(&[StateName], StateName, &str)] = &[
    (
        &[Idle, Paused, WaitingIde, WaitingUserInput, Completed],
        Error,
        "what a step wrote could not be stored, or the next prompt cannot be asked of any model",
    ),
    (
        &[Paused, WaitingIde],
        WaitingUserInput,
        "all calls are answered: a tool asked the user, or the turn ran as many rounds as it may",
    ),
    (
        &[Idle, Completed, Error],
        WaitingUserInput,
        "a copy that somebody changed was taken in, and it ends with a question",
    ),
    (&[Paused, WaitingIde], Completed, "all calls are answered, and a tool ended the turn"),
    (
        &[Idle, WaitingUserInput, Error],
        Completed,
        "a conversation was taken in, or the editor's own loop ended its turn",
    ),
];

/// Returns `true` if one state may follow the other.
pub fn may_follow(from: StateName, to: StateName) -> bool {
    let in_table = TABLE.iter().any(|(state, leaves_to)| *state == from && leaves_to.contains(&to));
    in_table || from == to || BESIDE.iter().any(|(states, next, _)| states.contains(&from) && *next == to)
}

/// Returns a transition as text.
pub fn named(from: StateName, to: StateName) -> String {
    format!("{} → {}", from.name(), to.name())
}
