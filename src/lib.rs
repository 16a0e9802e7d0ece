//! threadhold holds the thread of every agent chat in a workspace and keeps every prompt under the model's window.
//!
//! # Code map
//!
//! Data flows one way: a foreign transcript or an editor's words come in, the engine decides, the shell acts.
//!
//! The crates below `crates/` hold what can be built and tested apart; their manifests are the walls between them. The
//! sidecar itself is this package.
//!
//! | crate | what it is for | what it never does |
//! |---|---|---|
//! | [`engine`] | everything that decides about a prompt: [`engine::message`], [`engine::transcript`], [`engine::prompt`], [`engine::compact`] | IO, time, randomness, threads |
//! | [`session`] | what happens in a chat, as a machine: input in, effects out | IO, time, randomness, threads |
//! | [`models`] | asking a model; [`models::scripted`] answers from a fixture | know where a request comes from |
//! | [`store`] | sessions on disk, one writer each; [`store::worker`] owns the thread | decide what is written, or show a prompt |
//! | [`protocol`] | what goes over the wire: types, methods, errors; [`protocol::schema`] writes its documents | act on a message |
//! | [`rpc`] | frames, transport, outgoing queue, recording, the process's ends | know a session or a method of ours |
//! | [`import`] | foreign transcripts in, our own formats in and out, one file per format | read a file |
//!
//! | module of the sidecar | what it is for | what it never does |
//! |---|---|---|
//! | [`tokenizer`] | exact token counts | know what a message is |
//! | [`tool`] | the sidecar's own tools: what a model is told of them, what a call answers | read, write or ask |
//! | [`convert`] | the protocol's values as those of engine and session, and back | act on a message |
//! | [`trajectory`] | sessions as files of a workspace: where one lies, whose it is, when it is written | know what a session says |
//! | [`replay`] | a transcript through the engine; reports, dumps, [`replay::measure`] | read or write a file |
//! | [`server`] | the sidecar: routing, the one loop that owns the sessions | decide anything about a prompt |
//! | [`commands`] | the command line: files, printing, exit codes | decide anything about a prompt |
//!
//! Start with [`engine::compact`], whose header tells the story of a compaction in one paragraph, and
//! [`session`], whose header has the table of what happens in a session.
//!
//! # Invariants
//!
//! The number is the name under which tests and reviews speak of it.
//!
//! 1. Engine and session do no IO; their errors are values of the domain. Held by clippy (`.clippy.toml`) and `tests/tidy.rs`.
//! 2. One loop owns all sessions; there is no lock around one, and a panic ends only the session that it happened in.
//!    Held by `src/server/router`.
//! 3. Same inputs, same prompts and records, byte for byte. Held by `tests/it/invariants`.
//! 4. Each event of a stream has the number after the one before it. Held by `crates/session/src/tests.rs`.
//! 5. A result is applied only where the state waits for its call; anything else is traced and dropped. Held by
//!    `crates/session/src/tests.rs`.
//! 6. Rendering never changes the transcript. Held by `tests/it/invariants`.
//! 7. Between reported prefix breaks each prompt's items are a strict prefix of the next one's. Held by
//!    `tests/it/invariants` and, on real transcripts, by `tests/it/checker.rs`.
//! 8. Every message is raw, shortened, covered, dropped (reported) or hidden. Held by the same two.
//! 9. No prompt holds an unanswered call or an orphan result. Held by the same two.
//! 10. User messages reach the model byte for byte or are reported. Held by the same two.
//! 11. The ladder ends without a model. Held by `tests/it/invariants`.
//! 12. A restored session renders the same bytes in a fresh process. Held by `tests/it/wire/restore.rs`.
//! 13. What was acknowledged is on disk. Held by `crates/store/src/tests.rs` and `tests/it/wire/ends.rs`.
//! 14. Standard output belongs to the protocol. Held by `tests/it/wire/frames.rs`, and by clippy (`print_stdout`).
//! 15. Every request gets exactly one response; a handler awaits its own reply at most. Held by `crates/session/src/tests.rs`
//!     and `tests/it/wire/load.rs`.
//! 16. No key and no secret is logged, stored or put into an error. Held by `tests/it/wire/secrets.rs`.

pub mod commands;
pub mod convert;
pub mod replay;
pub mod server;
pub mod tokenizer;
pub mod tool;
pub mod trajectory;
