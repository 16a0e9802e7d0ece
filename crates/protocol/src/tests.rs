//! The protocol as a client sees it. Conversion to the engine is tested beside it in the sidecar.

mod events;
mod reading;
