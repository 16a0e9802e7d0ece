//! Servers of the Model Context Protocol, as a client: one [`Server`] for each definition. It starts the server at its
//! first use, lists its tools within bounds, runs calls, and starts a server that ended again at the next use.
//!
//! Everything that a server says is untrusted: names, descriptions and schemas are checked and bounded in [`listing`],
//! results in [`content`].

mod calls;
mod connection;
pub mod content;
mod contents;
mod definition;
mod handler;
mod lines;
pub mod listing;
pub mod names;
mod pace;
mod process;
mod question;
mod server;

pub use calls::{Caller, Progress, Sign};
pub use connection::CallError;
pub use contents::{Contents, Prompt, Resource};
pub use definition::{Definition, Launch};
pub use question::{Question, Reply};
pub use server::{Phase, Server, Status};

#[cfg(test)]
mod tests;
