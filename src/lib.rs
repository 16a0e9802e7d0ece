//! threadhold holds the thread of every agent chat in a workspace and keeps every prompt under the model's window.
//!
//! # Code map
//!
//! Data flows one way: a foreign transcript or an editor's request comes in, the engine decides, the
//! server acts.
//!
//! The crates in `crates/` can be built and tested apart; their manifests limit what each may use. The sidecar
//! itself is this package.
//!
//! | crate | purpose | what it never does |
//! |---|---|---|
//! | [`engine`] | everything that decides about a prompt: [`engine::message`], [`engine::transcript`], [`engine::prompt`], [`engine::compact`] | IO, time, randomness, threads |
//! | [`shell`] | effects of shell commands on files, read from their text | IO, run a command |
//! | [`session`] | the state machine of a chat: input in, effects out | IO, time, randomness, threads |
//! | [`models`] | calls to models; [`models::scripted`] answers from a fixture | know where a request comes from |
//! | [`mcp`] | servers of the Model Context Protocol: connections, tools, calls | believe what a server says of itself |
//! | [`store`] | sessions on disk, one writer each; [`store::worker`] owns the thread | decide what is written, or show a prompt |
//! | [`protocol`] | the wire: types, methods, errors; [`protocol::schema`] writes its documents | act on a message |
//! | [`rpc`] | frames, transport, outgoing queue, recording, the process's ends | know a session or a method of ours |
//! | [`o200k`] | token counts of the vocabulary `o200k_base`, from tables in the program | know any other vocabulary |
//! | [`import`] | foreign transcripts in, our own formats in and out, one file per format | read a file |
//!
//! | module of the sidecar | purpose | what it never does |
//! |---|---|---|
//! | [`tokenizer`] | exact token counts | know what a message is |
//! | [`tool`] | the sidecar's own tools: definitions, results of calls | read, write or ask |
//! | [`convert`] | conversion between values of the protocol and those of engine and session | act on a message |
//! | [`trajectory`] | session files of a workspace: paths, owners, times of writes | know what a session contains |
//! | [`replay`] | a transcript through the engine; reports, dumps, [`replay::measure`] | read or write a file |
//! | [`server`] | the sidecar: routing, the one task that owns the sessions | decide anything about a prompt |
//! | [`commands`] | the command line: files, printing, exit codes | decide anything about a prompt |
//!
//! Start with [`engine::compact`], whose header describes a compaction in one paragraph, and [`session`], whose
//! header lists the components of a session.
//!
//! # Invariants
//!
//! Tests and reviews refer to an invariant by its number.
//!
//! 1. Engine and session do no IO; their errors are values of the domain. Checked by clippy (`.clippy.toml`) and
//!    `tests/tidy.rs`.
//! 2. One task owns all sessions, without locks, and a panic ends only its session. Checked by `src/server/router`.
//! 3. Same inputs, same prompts and records, byte for byte. Checked by `tests/it/invariants`.
//! 4. Events of a stream are numbered without gaps. Checked by `crates/session/src/tests.rs`.
//! 5. A result is applied only if the state waits for its call; any other is traced and dropped. Checked by
//!    `crates/session/src/tests.rs`.
//! 6. Rendering never changes the transcript. Checked by `tests/it/invariants`.
//! 7. Between reported prefix breaks, each prompt's items are a strict prefix of the next one's. Checked by
//!    `tests/it/invariants` and, on real transcripts, by `tests/it/checker.rs`.
//! 8. Every message is raw, shortened, covered, dropped (reported) or hidden. Checked by the same two.
//! 9. No prompt has an unanswered call or an orphan result. Checked by the same two.
//! 10. User messages reach the model byte for byte or are reported. Checked by the same two.
//! 11. The ladder ends without a model. Checked by `tests/it/invariants`.
//! 12. A restored session renders the same bytes in a fresh process. Checked by `tests/it/wire/restore.rs`.
//! 13. Acknowledged data is on disk. Checked by `crates/store/src/tests.rs` and `tests/it/wire/ends.rs`.
//! 14. While serving, standard output is the protocol's. Checked by `tests/it/wire/frames.rs` and clippy (`print_stdout`).
//! 15. Every request gets exactly one response; a handler awaits its own reply at most. Checked by
//!     `crates/session/src/tests.rs`, `tests/it/wire/load.rs` and `tests/it/wire/liveness.rs`.
//! 16. No key and no secret is logged, stored or put into an error. Checked by `tests/it/wire/secrets.rs`.

pub mod commands;
pub mod convert;
pub mod replay;
pub mod server;
pub mod tokenizer;
pub mod tool;
pub mod trajectory;
