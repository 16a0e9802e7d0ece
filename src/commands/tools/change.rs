//! Tools that change a file. What a call would change is known before it is applied, so that it can be shown.

use super::{given, has_way_out, inside, outside, said, tool, whole};
use engine::text::sha256_hex;
use protocol::message::{Content, Effect};
use protocol::tool::{Tool, ToolInvokeResult, ToolPolicy};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub(super) const EDIT_FILE: &str = "edit_file";
pub(super) const WRITE_FILE: &str = "write_file";

/// The largest file that is changed. Bytes.
pub(in super::super) const MOST_CHANGED: u64 = 16 << 20;

/// The mark with which a file can say that it is UTF-8.
const MARK: char = '\u{feff}';

/// A change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Change {
    /// Path relative to the folder.
    pub path: String,
    /// Text before; `None` if there is no such file.
    pub before: Option<String>,
    /// Text afterwards.
    pub after: String,
    /// The file, with its links resolved.
    file: PathBuf,
}

/// The tools' definitions.
pub(super) fn tools() -> Vec<Tool> {
    let path = json!({ "type": "string", "description": "File path, relative to the workspace folder." });
    let (old, new) = (
        json!({ "type": "string", "description": "Exact text to replace." }),
        json!({ "type": "string", "description": "Replacement text." }),
    );
    let all = json!({ "type": "boolean", "description": "Replace every match. Default: false." });
    let text = json!({ "type": "string", "description": "Complete contents of the file." });
    let edit = tool(
        EDIT_FILE,
        ToolPolicy::Ask,
        "Replaces text in a workspace file, which must be read first. `old` must match exactly once, unless `all` is true; \
         include enough surrounding text.",
        &json!({ "path": path, "old": old, "new": new, "all": all }),
        &["path", "old", "new"],
    );
    let write = tool(
        WRITE_FILE,
        ToolPolicy::Ask,
        "Writes a complete workspace file. Creates the file or replaces all of its contents.",
        &json!({ "path": path, "text": text }),
        &["path", "text"],
    );
    vec![edit, write]
}

#[derive(Deserialize)]
struct EditFile {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
}

#[derive(Deserialize)]
struct WriteFile {
    path: String,
    text: String,
}

/// The change that a call would make now; `None` for a tool that changes no file. The error is the one that the call would
/// return. An editor's buffer stands for the file that it shows.
pub(in super::super) fn planned(
    folder: &Path,
    name: &str,
    arguments: &str,
    buffer: Option<String>,
) -> Option<Result<Change, String>> {
    match name {
        EDIT_FILE => Some(given(arguments).and_then(|edit| edited(folder, edit, buffer))),
        WRITE_FILE => Some(given(arguments).and_then(|write| written(folder, write, buffer))),
        _ => None,
    }
}

/// The file that a call would change, if there is one.
pub(in super::super) fn file(folder: &Path, name: &str, arguments: &str) -> Option<PathBuf> {
    linked(folder, &changed(name, arguments)?).ok()
}

/// Path of the file that a call changes; `None` for a tool that changes no file, and if the arguments are not valid.
pub(in super::super) fn changed(name: &str, arguments: &str) -> Option<String> {
    match name {
        EDIT_FILE => given::<EditFile>(arguments).ok().map(|edit| edit.path),
        WRITE_FILE => given::<WriteFile>(arguments).ok().map(|write| write.path),
        _ => None,
    }
}

/// Texts that calls wrote last, as hashes by their files.
static WRITTEN: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// Calls of one round run side by side: each waits for the one before it.
static TURN: Mutex<()> = Mutex::new(());

/// Runs a call of one of the tools, if the file is as it was when the change was shown, or as a call left it.
pub(super) fn run(folder: &Path, name: &str, arguments: &str, shown: Option<&Change>) -> ToolInvokeResult {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let change =
        planned(folder, name, arguments, None).unwrap_or_else(|| Err(format!("unknown tool {name}")));
    let made = change.and_then(|change| {
        change.is_as_shown(shown)?;
        change.apply().map_err(|error| format!("{}: {error}", change.path))?;
        Ok(change)
    });
    made.map_or_else(|error| said(Err(error)), |change| change.made())
}

fn edited(folder: &Path, edit: EditFile, buffer: Option<String>) -> Result<Change, String> {
    let EditFile { path, old, new, all } = edit;
    let (file, before) = changeable(folder, &path)?;
    let before = before.map(|text| buffer.unwrap_or(text));
    let Some(before) = before else {
        return Err(format!("file {path} does not exist; create it with write_file"));
    };
    let (old, new) = as_ended_in(&before, old, new);
    let places = if old.is_empty() { 0 } else { before.matches(&old).count() };
    match places {
        0 => Err(format!("old does not match anything in {path}; read the file and try again")),
        _ if before.len() + places.saturating_mul(new.len()) > MOST_CHANGED as usize => {
            Err(format!("{path} would become too large; at most {MOST_CHANGED} bytes"))
        }
        2.. if !all => Err(format!(
            "old matches {places} times in {path}; include more surrounding text, or set all to true"
        )),
        _ => Ok(Change { after: before.replace(&old, &new), before: Some(before), path, file }),
    }
}

fn written(folder: &Path, write: WriteFile, buffer: Option<String>) -> Result<Change, String> {
    let WriteFile { path, text } = write;
    let (file, before) = changeable(folder, &path)?;
    let before = before.map(|text| buffer.unwrap_or(text));
    let mut after = before.as_ref().map_or_else(|| text.clone(), |before| with_ends_of(before, &text));
    // A mark of UTF-8 that the file begins with is no part of its text.
    if before.as_ref().is_some_and(|before| before.starts_with(MARK)) && !after.starts_with(MARK) {
        after.insert(0, MARK);
    }
    Ok(Change { path, before, after, file })
}

/// The texts of an edit with the ends of lines that the file has: models write line feeds alone.
fn as_ended_in(before: &str, old: String, new: String) -> (String, String) {
    let is_short = before.contains(&old) && (old.contains('\n') || !before.contains("\r\n"));
    if is_short { (old, new) } else { (with_ends_of(before, &old), with_ends_of(before, &new)) }
}

fn with_ends_of(other: &str, text: &str) -> String {
    if other.contains("\r\n") && !text.contains("\r\n") {
        text.replace('\n', "\r\n")
    } else {
        text.to_owned()
    }
}

/// A file that may be changed, with its text; `None` if there is no such file.
fn changeable(folder: &Path, path: &str) -> Result<(PathBuf, Option<String>), String> {
    let at = |error: io::Error| format!("{path}: {error}");
    let file =
        if folder.join(path).symlink_metadata().is_ok() { linked(folder, path)? } else { new(folder, path)? };
    // By whatever name it is reached.
    if [Path::new(path), &file]
        .iter()
        .any(|path| path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")))
    {
        return Err(format!("{path} belongs to git; change it with git commands"));
    }
    let about = match file.metadata() {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((file, None)),
        Err(error) => return Err(at(error)),
    };
    if !about.is_file() {
        return Err(format!("{path} is not a file"));
    }
    if about.permissions().readonly() {
        return Err(format!("{path} is read-only"));
    }
    if about.len() > MOST_CHANGED {
        return Err(format!("{path} is too large: {} bytes, at most {MOST_CHANGED}", about.len()));
    }
    let bytes = fs::read(&file).map_err(at)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        format!("{path} is not UTF-8, so an edit would lose characters; change it with a command")
    })?;
    Ok((file, Some(text)))
}

/// The file that an existing name stands for.
fn linked(folder: &Path, path: &str) -> Result<PathBuf, String> {
    match folder.join(path).canonicalize() {
        // A link to nothing may lead anywhere.
        Err(error) if error.kind() == ErrorKind::NotFound => Err(outside(path)),
        _ => inside(folder, path),
    }
}

/// The place of a file that does not exist: in the folder, whose missing parents are made with it.
fn new(folder: &Path, path: &str) -> Result<PathBuf, String> {
    if has_way_out(path) {
        return Err(outside(path));
    }
    let root = whole(folder)?;
    let mut real = root.clone();
    let mut is_there = true;
    for part in Path::new(path).components() {
        let Component::Normal(name) = part else { continue };
        real.push(name);
        if is_there && real.symlink_metadata().is_ok() {
            real = real.canonicalize().map_err(|_| outside(path))?;
            if !real.starts_with(&root) {
                return Err(outside(path));
            }
        } else {
            is_there = false;
        }
    }
    if real == root { Err(format!("{path} is not a file")) } else { Ok(real) }
}

impl Change {
    /// The file, with its links resolved.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Fails if the file is neither as it was when the user was shown a change of it nor as a call left it.
    pub fn is_as_shown(&self, shown: Option<&Self>) -> Result<(), String> {
        let written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.before.as_ref().map(|text| sha256_hex(text.as_bytes()));
        let is_ours = now.is_some() && now.as_ref() == written.get(&self.file);
        if shown.is_none_or(|shown| shown.before == self.before) || is_ours {
            return Ok(());
        }
        Err(format!("{} changed after the user was shown the edit; read it again", self.path))
    }

    /// The result of a call that made the change.
    pub fn made(&self) -> ToolInvokeResult {
        let text = match self.before {
            Some(_) => format!("Changed {}.", self.path),
            None => format!("Created {} ({} lines).", self.path, self.after.lines().count()),
        };
        let sha256 = sha256_hex(self.after.as_bytes());
        let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        written.insert(self.file.clone(), sha256.clone());
        let effect = Effect { path: self.file.display().to_string(), sha256 };
        ToolInvokeResult {
            content: Some(Content::text(text)),
            effects: Some(vec![effect]),
            ..ToolInvokeResult::default()
        }
    }

    /// Writes the file. It is replaced as a whole, so a reader sees either text.
    fn apply(&self) -> io::Result<()> {
        let folder = self.file.parent().ok_or(ErrorKind::NotFound)?;
        fs::create_dir_all(folder)?;
        let beside = folder.join(format!(".threadhold-{}", uuid::Uuid::now_v7()));
        let written = self.write(&beside);
        if written.is_err() {
            drop(fs::remove_file(&beside));
        }
        written
    }

    fn write(&self, beside: &Path) -> io::Result<()> {
        let mut file = fs::File::create_new(beside)?;
        // Before the text: others may not read the file.
        if self.before.is_some() {
            file.set_permissions(self.file.metadata()?.permissions())?;
        }
        file.write_all(self.after.as_bytes())?;
        drop(file);
        fs::rename(beside, &self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Workspace;
    use super::*;

    #[test]
    fn a_file_is_edited_where_the_text_matches_once() {
        let ground = Workspace::new();
        let edit = |old: &str, new: &str, all: bool| {
            ground.call("edit_file", &json!({ "path": "src/a.rs", "old": old, "new": new, "all": all }))
        };
        assert_eq!(edit("one() {}\nfn", "eins() {}\nfn", false), Ok("Changed src/a.rs.".into()));
        assert_eq!(ground.text("src/a.rs"), "fn eins() {}\nfn two() {}\n");
        assert!(edit("fn", "pub fn", false).unwrap_err().starts_with("old matches 2 times in src/a.rs"));
        assert!(edit("three", "drei", false).unwrap_err().starts_with("old does not match anything"));
        assert!(edit("", "x", true).unwrap_err().starts_with("old does not match anything"));
        assert_eq!(edit("fn", "pub fn", true), Ok("Changed src/a.rs.".into()));
        assert_eq!(ground.text("src/a.rs"), "pub fn eins() {}\npub fn two() {}\n");
        let missing = ground.call("edit_file", &json!({ "path": "b.rs", "old": "a", "new": "b" }));
        assert_eq!(missing.unwrap_err(), "file b.rs does not exist; create it with write_file");
    }

    #[test]
    fn ends_of_lines_are_those_of_the_file() {
        let ground = Workspace::new();
        fs::write(ground.0.join("w/dos.txt"), "one\r\ntwo\r\n").unwrap();
        let edit = json!({ "path": "dos.txt", "old": "one\ntwo", "new": "1\n2" });
        ground.call("edit_file", &edit).unwrap();
        assert_eq!(ground.text("dos.txt"), "1\r\n2\r\n");
        ground.call("edit_file", &json!({ "path": "dos.txt", "old": "2", "new": "2\n3" })).unwrap();
        assert_eq!(ground.text("dos.txt"), "1\r\n2\r\n3\r\n");
        ground.call("write_file", &json!({ "path": "dos.txt", "text": "a\nb\n" })).unwrap();
        assert_eq!(ground.text("dos.txt"), "a\r\nb\r\n");
    }

    #[test]
    fn a_written_file_keeps_its_mode_and_says_its_hash() {
        let ground = Workspace::new();
        let said = ground.whole_result("write_file", &json!({ "path": "new/deep/b.txt", "text": "a\nb\n" }));
        let real = ground.0.join("w").canonicalize().unwrap().join("new/deep/b.txt");
        let effect = Effect { path: real.display().to_string(), sha256: sha256_hex(b"a\nb\n") };
        let created = Some(Content::text("Created new/deep/b.txt (2 lines)."));
        let expected =
            ToolInvokeResult { content: created, effects: Some(vec![effect]), ..ToolInvokeResult::default() };
        assert_eq!(said, expected);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&real, fs::Permissions::from_mode(0o750)).unwrap();
            ground.call("write_file", &json!({ "path": "new/deep/b.txt", "text": "c" })).unwrap();
            assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o750);
            fs::set_permissions(&real, fs::Permissions::from_mode(0o550)).unwrap();
            let error = ground.call("write_file", &json!({ "path": "new/deep/b.txt", "text": "d" }));
            assert_eq!(error.unwrap_err(), "new/deep/b.txt is read-only");
        }
        assert_eq!(fs::read_dir(real.parent().unwrap()).unwrap().count(), 1, "nothing else is left there");
    }

    #[test]
    fn no_other_change_is_made_than_the_one_shown() {
        let ground = Workspace::new();
        let folder = ground.0.join("w");
        let edit = |old: &str, new: &str| json!({ "path": "src/a.rs", "old": old, "new": new }).to_string();
        let shown = |edit: &str| planned(&folder, EDIT_FILE, edit, None).unwrap().unwrap();
        // Both were shown before the first one was made.
        let edits = [edit("one", "eins"), edit("two", "zwei")].map(|edit| (shown(&edit), edit));
        for (shown, edit) in &edits {
            assert_eq!(run(&folder, EDIT_FILE, edit, Some(shown)).is_error, None);
        }
        assert_eq!(ground.text("src/a.rs"), "fn eins() {}\nfn zwei() {}\n");
        // Somebody else changed it meanwhile.
        let edit = edit("eins", "un");
        let shown = shown(&edit);
        fs::write(folder.join("src/a.rs"), "fn eins() { 1 }\n").unwrap();
        let expected =
            said(Err("src/a.rs changed after the user was shown the edit; read it again".to_owned()));
        assert_eq!(run(&folder, EDIT_FILE, &edit, Some(&shown)), expected);
        assert_eq!(ground.text("src/a.rs"), "fn eins() { 1 }\n");
    }

    #[test]
    fn a_mark_of_utf_8_stays_and_a_flood_is_refused() {
        let ground = Workspace::new();
        fs::write(ground.0.join("w/mark.txt"), "\u{feff}a").unwrap();
        ground.call("write_file", &json!({ "path": "mark.txt", "text": "b" })).unwrap();
        assert_eq!(ground.text("mark.txt"), "\u{feff}b");
        fs::write(ground.0.join("w/large.txt"), "a".repeat(1 << 20)).unwrap();
        let flood = json!({ "path": "large.txt", "old": "a", "new": "b".repeat(20_000), "all": true });
        assert!(ground.call("edit_file", &flood).unwrap_err().contains("would become too large"));
    }

    #[test]
    fn what_must_not_be_changed_is_refused() {
        let ground = Workspace::new();
        fs::write(ground.0.join("w/latin.txt"), b"caf\xe9").unwrap();
        fs::create_dir_all(ground.0.join("w/.git")).unwrap();
        for (path, said) in [
            ("latin.txt", "is not UTF-8"),
            (".git/config", "belongs to git"),
            (".GIT/config", "belongs to git"),
            ("src", "is not a file"),
            (".", "is not a file"),
            ("src/a.rs/b", "src/a.rs/b"),
        ] {
            let error = ground.call("write_file", &json!({ "path": path, "text": "x" })).unwrap_err();
            assert!(error.contains(said), "{path}: {error}");
        }
    }

    #[test]
    fn a_planned_change_is_shown_and_not_made() {
        let ground = Workspace::new();
        let folder = ground.0.join("w");
        let edit = json!({ "path": "src/a.rs", "old": "one", "new": "eins" }).to_string();
        let change = planned(&folder, "edit_file", &edit, None).unwrap().unwrap();
        assert_eq!(change.before.as_deref(), Some("fn one() {}\nfn two() {}\n"));
        assert_eq!(change.after, "fn eins() {}\nfn two() {}\n");
        assert_eq!(ground.text("src/a.rs"), "fn one() {}\nfn two() {}\n");
        assert_eq!(planned(&folder, "read_file", "{}", None), None);
    }
}
