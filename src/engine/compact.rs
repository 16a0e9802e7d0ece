//! stub
pub mod record;
