//! `threadhold schema`: the protocol as JSON Schema, as sections of the handbook, as TypeScript.

use super::files::print;
use super::{Failure, SUCCESS};
use crate::convert::{acceptance, tool};
use crate::tool::OwnTool;
use clap::{Args, ValueEnum};
use protocol::schema::{json, markdown::markdown, typescript::typescript};

#[derive(Debug, Args)]
pub(super) struct SchemaCommand {
    /// What to print
    #[arg(long, default_value = "json", value_name = "NAME")]
    format: SchemaFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SchemaFormat {
    /// JSON Schema of every type, with tables of methods, events, states and errors
    Json,
    /// The generated sections of the handbook (docs/protocol)
    Markdown,
    /// The types of the TypeScript client
    Typescript,
}

impl SchemaCommand {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        print(&match self.format {
            SchemaFormat::Json => json(),
            SchemaFormat::Markdown => {
                markdown(&acceptance(), &OwnTool::ALL.map(|own| tool(&own.definition())))
            }
            SchemaFormat::Typescript => typescript(),
        })?;
        Ok(SUCCESS)
    }
}
