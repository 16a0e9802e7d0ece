//! The files with settings: their paths, and how they are read.

use crate::server::outside::{self, MOST_BYTES};
use crate::server::settings::{Fault, Layer};
use crate::server::watch::{Found, Look};
use std::path::PathBuf;

/// A watched file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) enum Which {
    /// The user's settings.
    User,
    /// The settings of the workspace in this folder.
    Workspace(String),
    /// The file of a policy, by its path.
    Policy(String),
    /// An instruction file of the workspace in this folder, by its path below that.
    Instructions(String, String),
}

/// The settings file of the workspace in this folder; `None` if the folder is not a local path.
pub(super) fn of_workspace(folder: &str) -> Option<Look> {
    let base = PathBuf::from(folder);
    let file = base.join(".threadhold").join("config.toml");
    base.is_absolute().then_some(Look { file, base, may_leave: false, most: MOST_BYTES })
}

/// Parses a settings file. Returns the settings with their faults.
pub(super) fn read(which: &Which, found: Found, place: &str) -> Result<(Layer, Vec<Fault>), String> {
    let (text, bytes) = match found {
        Found::Missing => return Ok(Default::default()),
        Found::Unusable(why) => return Err(why),
        Found::Text { text, bytes } => (text, bytes),
    };
    if bytes > MOST_BYTES {
        return Err(format!("has {bytes} bytes and the limit is {MOST_BYTES}"));
    }
    match which {
        Which::Workspace(_) => outside::workspaces_file(&text, place),
        Which::User | Which::Instructions(..) | Which::Policy(_) => outside::users_file(&text, place),
    }
}
