//! Helpers shared by commands: reading transcripts, scripts and policies, paths, and printing.

use super::Failure;
use crate::replay::Summarizer;
use clap::builder::PossibleValuesParser;
use engine::compact::policy::{self, Policy};
use import::{Format, Import, import};
use models::scripted::Scripted;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Reads a transcript. `auto` finds the format from the content.
pub(super) fn read(file: &Path, format: &str) -> Result<Import, Failure> {
    let name = file.display().to_string();
    let bytes = std::fs::read(file).map_err(|error| Failure::Read { file: name.clone(), error })?;
    let format = format.parse::<Format>().ok();
    import(&bytes, format).map_err(|error| Failure::Import { file: name, error })
}

/// The absolute path, with links kept: editors name the folder so too, and sessions are stored under that
/// name.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::Read { file: path.display().to_string(), error })
}

/// The absolute path of a workspace folder, which must exist.
pub(super) fn workspace(folder: &Path) -> Result<PathBuf, Failure> {
    let folder = absolute(folder)?;
    if folder.is_dir() {
        return Ok(folder);
    }
    let error = std::io::Error::from(std::io::ErrorKind::NotADirectory);
    Err(Failure::Read { file: folder.display().to_string(), error })
}

/// Values of `--format`.
pub(super) fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(["auto"].into_iter().chain(Format::ALL.map(Format::name)))
}

/// The policy that `--policy` names: a built-in one or a file.
pub(super) fn policy(name: &str) -> Result<Policy, Failure> {
    let unknown = match Policy::named(name) {
        Ok(policy) => return Ok(policy),
        Err(unknown) => unknown,
    };
    let looks_like_file = name.ends_with(".toml") || name.contains(std::path::is_separator);
    if !looks_like_file && !Path::new(name).is_file() {
        return Err(Failure::Settings(unknown));
    }
    let text = std::fs::read_to_string(name).map_err(|error| Failure::Read { file: name.into(), error })?;
    policy::read(&text).map_err(|error| Failure::Policy { file: name.into(), error })
}

/// The summarizer of this name: `scripted`, `scripted:FILE`, or `none`.
pub(super) fn summarizer(name: &str) -> Result<Summarizer, Failure> {
    let bad = |reason: String| Failure::Summarizer { name: name.into(), reason };
    match name.split_once(':') {
        None if name == "none" => Ok(None),
        None if name == "scripted" => Ok(Some(Box::new(Scripted::echo()))),
        Some(("scripted", file)) => Ok(Some(Box::new(Scripted::from_file(file).map_err(bad)?))),
        _ => Err(bad("expected scripted, scripted:FILE or none".into())),
    }
}

/// Prints to standard output. A closed pipe is not an error.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Write { file: "standard output".into(), error })
        }
        _ => Ok(()),
    }
}

/// `true` if standard output is a terminal and `NO_COLOR` is unset.
pub(super) fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
