//! The protocol's documents are generated from its types, and the program prints them.

use crate::handbook::own_tools;
use expect_test::expect_file;
use protocol::schema::{json, markdown::markdown, typescript::typescript};
use std::process::Command;
use threadhold::convert::acceptance;

#[test]
fn documents_are_made_from_the_types() {
    expect_file!["../../crates/protocol/schema.json"].assert_eq(&json());
    expect_file!["../../editors/client/src/protocol.ts"].assert_eq(&typescript());
}

#[test]
fn schema_command_prints_the_documents() {
    for (format, text) in
        [("json", json()), ("markdown", markdown(&acceptance(), &own_tools())), ("typescript", typescript())]
    {
        let command =
            Command::new(env!("CARGO_BIN_EXE_threadhold")).args(["schema", "--format", format]).output();
        let output = command.expect("the binary runs");
        assert!(output.status.success() && output.stderr.is_empty(), "{format}");
        assert!(String::from_utf8(output.stdout).is_ok_and(|out| out == text), "{format}");
    }
}
