//! Checks the session files of a workspace, and repairs a file whose id is not that of its name.

use super::{FileContent, FileError, Folder};
use import::trajectory::read;
use serde_json::Value;
use std::path::PathBuf;

/// The session files of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// The number of files.
    pub files: usize,
    /// The faults, in the order of the files' names.
    pub faults: Vec<Fault>,
}

/// A fault of one session file, or of their folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file, or the folder.
    pub path: PathBuf,
    /// A description for people.
    pub what: String,
    /// The session whose id the file must have, if that repairs it.
    pub id: Option<String>,
}

/// Checks the files without changing them. A workspace without such files has no faults.
pub fn check(folder: &Folder) -> Checked {
    let ids = match folder.ids() {
        Ok(ids) => ids,
        Err(error) => {
            let fault = Fault { path: folder.path(), what: error.to_string(), id: None };
            return Checked { files: 0, faults: vec![fault] };
        }
    };
    let faults = ids.iter().filter_map(|id| fault(folder, id)).collect();
    Checked { files: ids.len(), faults }
}

fn fault(folder: &Folder, id: &str) -> Option<Fault> {
    let path = folder.path().join(format!("{id}.json"));
    // `None` if the file was removed meanwhile.
    let found = folder.read(id).transpose()?;
    let (what, is_repairable) = match found.and_then(|content| content.trajectory(id)) {
        Ok(trajectory) => {
            let first = trajectory.skipped.first()?;
            let many = trajectory.skipped.len();
            (
                format!("{many} of its parts cannot be read; the first is {}: {}", first.place, first.reason),
                false,
            )
        }
        Err(error @ FileError::OtherId { .. }) => (error.to_string(), true),
        Err(error) => (error.to_string(), false),
    };
    Some(Fault { path, what, id: is_repairable.then(|| id.to_owned()) })
}

/// Sets the id of this session's file to that of its name, after a copy of the file, whose path it returns.
///
/// # Errors
/// Fails if the file cannot be read or written, or its id cannot be replaced; the file stays as it is.
pub fn set_id(folder: &Folder, id: &str) -> Result<PathBuf, FileError> {
    let path = folder.file(id)?;
    let content = folder.read(id)?.ok_or_else(|| FileError::NoFile(path.clone()))?;
    let found = read(&content.bytes).map_err(FileError::Unreadable)?.id;
    let other = || FileError::OtherId { name: id.to_owned(), found: found.clone() };
    let bytes = with_id(&content, &found, id).ok_or_else(other)?;
    let staged = folder.stage(id, &bytes)?;
    let copy = folder.copy(id)?;
    super::gone(&copy)?;
    super::write_new(&copy, &content.bytes).map_err(super::io(&copy))?;
    staged.place()?;
    Ok(copy)
}

/// The content with another id. All other bytes stay: reading and writing JSON would change large numbers.
fn with_id(content: &FileContent, found: &str, id: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(&content.bytes).ok()?;
    let mut wanted: Value = serde_json::from_str(text).ok()?;
    wanted.as_object_mut()?.insert("id".to_owned(), id.into());
    // The id's text may also stand in messages; only the right place makes the wanted value.
    let before = serde_json::to_string(found).ok()?;
    let after = serde_json::to_string(id).ok()?;
    text.match_indices(&before).find_map(|(at, _)| {
        let changed = [text.get(..at)?, &after, text.get(at + before.len()..)?].concat();
        (serde_json::from_str::<Value>(&changed).ok()? == wanted).then(|| changed.into_bytes())
    })
}
