//! What the commands share: reading transcripts and scripts, printing. No engine in it.

use super::Failure;
use crate::model::scripted::Scripted;
use crate::replay::Summarizer;
use crate::transcript_io::{Format, Import, import};
use std::io::{IsTerminal, Write};
use std::path::Path;

/// Reads a transcript. `auto` finds the format from the content.
pub(super) fn read(file: &Path, format: &str) -> Result<Import, Failure> {
    let name = file.display().to_string();
    let bytes = std::fs::read(file).map_err(|error| Failure::Read { file: name.clone(), error })?;
    let format = match format {
        "auto" => Ok(None),
        named => named.parse::<Format>().map(Some),
    };
    format.and_then(|format| import(&bytes, format)).map_err(|error| Failure::Import { file: name, error })
}

/// The summarizer of this name: `scripted`, `scripted:FILE`, or `none`.
pub(super) fn summarizer(name: &str) -> Result<Summarizer, Failure> {
    let bad = |reason: String| Failure::Summarizer { name: name.into(), reason };
    match name.split_once(':') {
        None if name == "none" => Ok(None),
        None if name == "scripted" => Ok(Some(Box::new(Scripted::echo()))),
        Some(("scripted", file)) => {
            let text = std::fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
            Ok(Some(Box::new(Scripted::from_json(&text).map_err(|error| bad(error.to_string()))?)))
        }
        _ => Err(bad("known are scripted, scripted:FILE and none".into())),
    }
}

/// Prints to standard output. A reader that went away is no failure.
pub(super) fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Whether people look at standard output and want colours.
pub(super) fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
