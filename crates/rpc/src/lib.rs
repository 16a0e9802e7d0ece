//! JSON-RPC 2.0 over a byte stream, in the base framing of the language server protocol: frames in, calls of a
//! [`tower_service::Service`], frames out, and how the process that serves them ends. [`transport`] is the one task that
//! reads; [`outgoing`] is the handle for whoever has something to send. No session and no method of ours is known here.

pub mod ending;
pub mod frame;
pub mod message;
pub mod outgoing;
pub mod parent;
pub mod record;
pub mod stdio;
pub mod transport;
