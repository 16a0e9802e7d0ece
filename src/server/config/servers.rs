//! The files of a workspace that define servers. They are read when they are needed, not watched: a definition that
//! changed since the user saw it needs consent again.

use crate::server::settings::{SERVER_FILES, WorkspaceServer, servers_of_file, unusable};
use crate::server::watch::{Found, Look};
use std::path::{Path, PathBuf};

/// Most bytes of a file.
const MOST: u64 = 256 << 10;

/// Most bytes of a file of variables.
const MOST_VARIABLES: u64 = 64 << 10;

/// The text of a file of variables, which must be below the folder.
fn variables(base: &Path, path: &Path) -> Result<String, String> {
    let look = Look { file: path.to_owned(), base: base.to_owned(), may_leave: false, most: MOST_VARIABLES };
    match look.now() {
        Found::Missing => Err("it does not exist".to_owned()),
        Found::Unusable(why) => Err(why),
        Found::Text { bytes, .. } if bytes > MOST_VARIABLES => {
            Err(format!("it has {bytes} bytes and the limit is {MOST_VARIABLES}"))
        }
        Found::Text { text, .. } => Ok(text),
    }
}

/// The servers that files of this folder define, the first of each name.
pub(super) fn of_folder(folder: &str) -> Vec<WorkspaceServer> {
    let base = PathBuf::from(folder);
    let mut all: Vec<WorkspaceServer> = Vec::new();
    if !base.is_absolute() {
        return all;
    }
    for file in SERVER_FILES {
        let look = Look { file: base.join(file), base: base.clone(), may_leave: false, most: MOST };
        let found = match look.now() {
            Found::Missing => continue,
            Found::Unusable(why) => vec![unusable(file, why)],
            Found::Text { bytes, .. } if bytes > MOST => {
                vec![unusable(file, format!("has {bytes} bytes and the limit is {MOST}"))]
            }
            Found::Text { text, .. } => servers_of_file(file, &text, folder, |path| variables(&base, path)),
        };
        all.extend(found);
    }
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|found| seen.insert(found.name.clone()));
    all
}
