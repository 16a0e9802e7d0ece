//! A session as a pure machine: [`Session::step`] takes an input and yields effects. It decides what is asked of a
//! model, which tool runs, what is written and what is told; it does none of it.

pub mod history_turn;
pub mod stored;
