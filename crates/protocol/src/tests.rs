//! Tests of the wire types. Conversion to the engine's values is tested in the sidecar.

mod events;
mod reading;
