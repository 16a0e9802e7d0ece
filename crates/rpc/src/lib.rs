//! JSON-RPC 2.0 over a byte stream, in the base framing of the language server protocol: frames in, calls of a
//! [`tower_service::Service`], frames out, and the end of the serving process. [`transport`] is the only task that
//! reads; [`outgoing`] is the handle for sending. Independent of sessions and of the product's methods.

pub mod ending;
pub mod frame;
pub mod message;
pub mod outgoing;
pub mod parent;
mod plain;
pub mod record;
pub mod stdio;
pub mod transport;
pub mod written;
