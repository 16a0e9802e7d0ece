//! Tools that read: a file, a folder, the lines that match a pattern. They change nothing and bound their output.

use super::{given, inside, tool, whole};
use protocol::tool::{Tool, ToolPolicy, ToolRule};
use regex::RegexBuilder;
use serde::Deserialize;
use serde_json::json;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

pub(super) const READ_FILE: &str = "read_file";
pub(super) const LIST: &str = "list";
pub(super) const GREP: &str = "grep";

/// Bytes of a file that one call shows.
const MOST_READ: u64 = 32 << 10;
/// Names that one call lists.
const MOST_NAMES: usize = 500;
/// Lines that one search shows.
const MOST_LINES: usize = 200;
/// Bytes of a line that a search shows.
const LINE_BYTES: usize = 300;
/// Files that one search looks into.
const MOST_FILES: usize = 20_000;
/// The largest file that a search looks into. Bytes.
const MOST_SEARCHED: u64 = 1 << 20;
/// The largest pattern, as it is compiled. Bytes.
const PATTERN_SIZE: usize = 1 << 20;
/// Paths of files that usually hold secrets, as patterns.
const SECRETS: [&str; 9] =
    ["*.env", "*.env.*", "*.ssh/*", "*.aws/*", "*.gnupg/*", "*.netrc", "*.pem", "*id_*", "*credentials*"];
/// Folders that searches skip, because they are generated and large. Hidden ones are skipped, too.
const LEFT_OUT: [&str; 2] = ["node_modules", "target"];

/// The tools' definitions. A file that usually holds secrets is read with the user's approval.
pub(super) fn tools() -> Vec<Tool> {
    let path = json!({ "type": "string", "description": "Path relative to the workspace folder." });
    let offset = json!({ "type": "integer", "description": "Byte offset to start at. Default: 0." });
    let pattern = json!({ "type": "string", "description": "Regular expression." });
    let mut read = tool(
        READ_FILE,
        ToolPolicy::Allow,
        "Reads a text file of the workspace, 32 KiB at a time.",
        &json!({ "path": path, "offset": offset }),
        &["path"],
    );
    read.rules = Some(SECRETS.iter().map(|pattern| asks(pattern)).collect());
    vec![
        read,
        tool(
            LIST,
            ToolPolicy::Allow,
            "Lists a folder of the workspace. Folders end with a slash.",
            &json!({ "path": path }),
            &[],
        ),
        tool(
            GREP,
            ToolPolicy::Allow,
            "Searches the lines of workspace files. Hidden files and build output are skipped.",
            &json!({ "pattern": pattern, "path": path }),
            &["pattern"],
        ),
    ]
}

fn asks(path: &str) -> ToolRule {
    ToolRule { argument: Some("path".to_owned()), pattern: path.to_owned(), policy: ToolPolicy::Ask }
}

#[derive(Deserialize)]
struct ReadFile {
    path: String,
    #[serde(default)]
    offset: Option<u64>,
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    path: Option<String>,
}

#[derive(Deserialize)]
struct Grep {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
}

/// Runs a call of one of them in this folder.
pub(super) fn run(folder: &Path, name: &str, arguments: &str) -> Result<String, String> {
    match name {
        READ_FILE => read_file(folder, &given(arguments)?),
        LIST => list(folder, &given(arguments)?),
        _ => grep(folder, &given(arguments)?),
    }
}

/// The file that a call of `read_file` reads; `None` for any other call, and for one that would fail.
pub(in super::super) fn read_of(folder: &Path, name: &str, arguments: &str) -> Option<PathBuf> {
    let given: ReadFile = (name == READ_FILE).then(|| given(arguments).ok())??;
    inside(folder, &given.path).ok().filter(|file| file.is_file())
}

/// The page that a call of `read_file` shows of a text that an editor holds.
pub(in super::super) fn page(arguments: &str, text: &str) -> Result<String, String> {
    let offset = given::<ReadFile>(arguments)?.offset.unwrap_or(0);
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(text.len());
    let end = text.floor_char_boundary(start.saturating_add(MOST_READ as usize));
    let Some(page) = text.get(start..end) else {
        return Err(format!("offset {offset} is in the middle of a character"));
    };
    let more = match text.len() - end {
        0 => String::new(),
        more => format!("\n({more} more bytes; continue with offset {end})"),
    };
    Ok(page.to_owned() + &more)
}

fn read_file(folder: &Path, given: &ReadFile) -> Result<String, String> {
    let at = |error: std::io::Error| format!("{}: {error}", given.path);
    let file = inside(folder, &given.path)?;
    let about = file.metadata().map_err(at)?;
    // A read of a pipe or a device would block.
    if !about.is_file() {
        return Err(format!("{} is not a file", given.path));
    }
    let offset = given.offset.unwrap_or(0);
    let mut bytes = Vec::new();
    let mut open = File::open(&file).map_err(at)?;
    open.seek(SeekFrom::Start(offset)).map_err(at)?;
    open.take(MOST_READ).read_to_end(&mut bytes).map_err(at)?;
    if bytes.contains(&0) {
        return Ok(format!("({} bytes of binary data)", about.len()));
    }
    // A character that was cut in two belongs to the next page.
    if let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
        && error.valid_up_to() > 0
    {
        bytes.truncate(error.valid_up_to());
    }
    let end = offset.saturating_add(bytes.len() as u64);
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if end < about.len() && !bytes.is_empty() {
        text.push_str(&format!("\n({} more bytes; continue with offset {end})", about.len() - end));
    }
    Ok(text)
}

/// Entries of a folder, sorted by name. The type of a link is that of the link itself.
fn entries(folder: &Path) -> std::io::Result<Vec<(PathBuf, String, fs::FileType)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        all.push((entry.path(), entry.file_name().to_string_lossy().into_owned(), entry.file_type()?));
    }
    all.sort_by(|a, b| a.1.cmp(&b.1));
    Ok(all)
}

fn list(folder: &Path, given: &List) -> Result<String, String> {
    let path = given.path.as_deref().unwrap_or(".");
    let all = entries(&inside(folder, path)?).map_err(|error| format!("{path}: {error}"))?;
    let names = all.iter().take(MOST_NAMES).map(|(_, name, kind)| {
        let end = if kind.is_dir() {
            "/"
        } else if kind.is_symlink() {
            "@"
        } else {
            ""
        };
        format!("{name}{end}")
    });
    let mut lines: Vec<String> = names.collect();
    if all.len() > MOST_NAMES {
        lines.push(format!("({} more)", all.len() - MOST_NAMES));
    }
    Ok(if lines.is_empty() { "(empty)".into() } else { lines.join("\n") })
}

fn grep(folder: &Path, given: &Grep) -> Result<String, String> {
    let pattern = RegexBuilder::new(&given.pattern).size_limit(PATTERN_SIZE).build();
    let pattern = pattern.map_err(|error| format!("invalid pattern: {error}"))?;
    let start = inside(folder, given.path.as_deref().unwrap_or("."))?;
    let root = whole(folder)?;
    let (mut found, mut files, mut unread, mut left) = (Vec::new(), 0, 0, vec![start]);
    while let Some(path) = left.pop() {
        if path.is_dir() {
            let wanted = |name: &str| !name.starts_with('.') && !LEFT_OUT.contains(&name);
            // A folder that cannot be read counts as empty.
            let all = entries(&path).unwrap_or_default().into_iter().rev();
            left.extend(
                all.filter(|(_, name, kind)| wanted(name) && (kind.is_dir() || kind.is_file()))
                    .map(|(path, ..)| path),
            );
            continue;
        }
        files += 1;
        if files > MOST_FILES {
            found.push(format!("(only the first {MOST_FILES} files were searched)"));
            break;
        }
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        let Some(text) = text(&path) else {
            unread += 1;
            continue;
        };
        for (at, line) in text.lines().enumerate() {
            if pattern.is_match(line) {
                let shown = line.get(..line.floor_char_boundary(LINE_BYTES)).unwrap_or(line);
                found.push(format!("{name}:{}: {shown}", at + 1));
            }
            if found.len() > MOST_LINES {
                found.truncate(MOST_LINES);
                found.push(format!("(only the first {MOST_LINES} lines are shown)"));
                return Ok(found.join("\n"));
            }
        }
    }
    if found.is_empty() {
        found.push("(no matches)".to_owned());
    }
    if unread > 0 {
        // Otherwise a skipped file would pass for one without a match.
        let most = MOST_SEARCHED >> 20;
        let plural = if unread == 1 { "" } else { "s" };
        found.push(format!("(skipped {unread} file{plural}: over {most} MiB, binary or unreadable)"));
    }
    Ok(found.join("\n"))
}

/// The text of a file, with invalid UTF-8 replaced; `None` if it is too large, binary or unreadable.
fn text(file: &Path) -> Option<String> {
    let about = file.metadata().ok()?;
    if !about.is_file() || about.len() > MOST_SEARCHED {
        return None;
    }
    let bytes = fs::read(file).ok().filter(|bytes| !bytes.contains(&0))?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::tests::Workspace;
    use super::*;

    #[test]
    fn files_of_the_workspace_are_shown() {
        let ground = Workspace::new();
        let call = |name, arguments| ground.call(name, &arguments).unwrap();
        assert_eq!(call("read_file", json!({ "path": "src/a.rs" })), "fn one() {}\nfn two() {}\n");
        assert_eq!(call("list", json!({})), ".hidden/\nsrc/");
        assert_eq!(call("grep", json!({ "pattern": "fn t.*" })), "src/a.rs:2: fn two() {}");
        assert_eq!(call("grep", json!({ "pattern": "nothing" })), "(no matches)");
        // Skipped files are reported: they may match.
        fs::write(ground.0.join("w/large.log"), "nothing\n".repeat(200_000)).unwrap();
        fs::write(ground.0.join("w/latin.txt"), b"caf\xe9 noir\n").unwrap();
        let told = "(skipped 1 file: over 1 MiB, binary or unreadable)";
        assert_eq!(call("grep", json!({ "pattern": "nothing" })), format!("(no matches)\n{told}"));
        assert_eq!(
            call("grep", json!({ "pattern": "noir" })),
            format!("latin.txt:1: caf\u{fffd} noir\n{told}")
        );
    }

    #[test]
    fn large_file_is_paged_between_characters() {
        let ground = Workspace::new();
        let whole = format!("a{}", "\u{e9}".repeat(20_000));
        fs::write(ground.0.join("w/large"), &whole).unwrap();
        let first = ground.call("read_file", &json!({ "path": "large" })).unwrap();
        let (text, rest) = first.rsplit_once('\n').unwrap();
        assert_eq!(rest, "(7234 more bytes; continue with offset 32767)");
        let second = ground.call("read_file", &json!({ "path": "large", "offset": 32767 })).unwrap();
        assert_eq!(format!("{text}{second}"), whole);
    }
}
