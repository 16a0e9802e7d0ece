//! Tools of the terminal: they read one folder only, change nothing, and bound their output. Approval is not
//! handled here.

use engine::text::json;
use protocol::message::Content;
use protocol::tool::{Tool, ToolInvokeResult, ToolKind, ToolPolicy};
use regex::RegexBuilder;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

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
/// Folders that searches skip, because they are generated and large. Hidden ones are skipped, too.
const LEFT_OUT: [&str; 2] = ["node_modules", "target"];

/// The tools' definitions. Each call needs approval.
pub(super) fn tools() -> Vec<Tool> {
    let tool = |name: &str, kind, description: &str, properties: Value, required: &[&str]| Tool {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        input_schema: Some(json!({ "type": "object", "properties": properties, "required": required })),
        kind: Some(kind),
        guidelines: None,
        policy: Some(ToolPolicy::Ask),
        rules: None,
        ends_turn: None,
    };
    let path = json!({ "type": "string", "description": "Path relative to the workspace folder." });
    let offset = json!({ "type": "integer", "description": "Byte offset to start at. Default: 0." });
    let pattern = json!({ "type": "string", "description": "Regular expression." });
    vec![
        tool(
            "read_file",
            ToolKind::Read,
            "Reads a text file of the workspace, 32 KiB at a time.",
            json!({ "path": path, "offset": offset }),
            &["path"],
        ),
        tool(
            "list",
            ToolKind::Search,
            "Lists a folder of the workspace. Folders end with a slash.",
            json!({ "path": path }),
            &[],
        ),
        tool(
            "grep",
            ToolKind::Search,
            "Searches the lines of workspace files. Hidden files and build output are skipped.",
            json!({ "pattern": pattern, "path": path }),
            &["pattern"],
        ),
    ]
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

/// Runs a call in this folder. Errors are returned to the model.
pub(super) fn run(folder: &Path, name: &str, arguments: &str) -> ToolInvokeResult {
    let said = match name {
        "read_file" => given(arguments).and_then(|given| read_file(folder, &given)),
        "list" => given(arguments).and_then(|given| list(folder, &given)),
        "grep" => given(arguments).and_then(|given| grep(folder, &given)),
        _ => Err(format!("unknown tool {name}")),
    };
    let is_error = said.is_err().then_some(true);
    let text = said.unwrap_or_else(|error| error);
    ToolInvokeResult { content: Some(Content::text(text)), is_error, ..ToolInvokeResult::default() }
}

fn given<T: DeserializeOwned>(arguments: &str) -> Result<T, String> {
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
    json::read(arguments).map_err(|error| format!("invalid arguments: {error}"))
}

/// Resolves a path and its links. Fails if it leads out of the folder.
fn inside(folder: &Path, path: &str) -> Result<PathBuf, String> {
    let folder =
        folder.canonicalize().map_err(|error| format!("cannot open the workspace folder: {error}"))?;
    let real = folder.join(path).canonicalize();
    match real {
        Ok(real) if real.starts_with(&folder) => Ok(real),
        // The existence of files outside is not revealed.
        Ok(_) => Err(format!("{path} is outside of the workspace folder")),
        Err(_) if has_way_out(path) => Err(format!("{path} is outside of the workspace folder")),
        Err(error) => Err(format!("{path}: {error}")),
    }
}

/// `true` if a path may lead outside by its form.
fn has_way_out(path: &str) -> bool {
    let path = Path::new(path);
    path.has_root() || path.components().any(|part| matches!(part, std::path::Component::ParentDir))
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
    let root = folder.canonicalize().map_err(|error| format!("cannot open the workspace folder: {error}"))?;
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
    use super::*;

    /// A workspace with a secret file beside it.
    struct Workspace(PathBuf);

    impl Workspace {
        fn new() -> Self {
            let ground = std::env::temp_dir().join(format!("threadhold-tools-{}", uuid::Uuid::now_v7()));
            fs::create_dir_all(ground.join("w/src")).unwrap();
            fs::create_dir_all(ground.join("w/.hidden")).unwrap();
            fs::write(ground.join("secret"), "planted").unwrap();
            fs::write(ground.join("w/src/a.rs"), "fn one() {}\nfn two() {}\n").unwrap();
            fs::write(ground.join("w/.hidden/b"), "fn three() {}\n").unwrap();
            Self(ground)
        }

        fn call(&self, name: &str, arguments: &Value) -> Result<String, String> {
            let said = run(&self.0.join("w"), name, &arguments.to_string());
            let content = serde_json::to_value(said.content).unwrap();
            let text = content[0]["text"].as_str().unwrap().to_owned();
            if said.is_error == Some(true) { Err(text) } else { Ok(text) }
        }
    }

    impl Drop for Workspace {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

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

    #[cfg(unix)]
    #[test]
    fn paths_outside_the_workspace_are_rejected() {
        let ground = Workspace::new();
        std::os::unix::fs::symlink(ground.0.join("secret"), ground.0.join("w/link")).unwrap();
        std::os::unix::fs::symlink(&ground.0, ground.0.join("w/up")).unwrap();
        let absolute = ground.0.join("secret").display().to_string();
        for path in ["../secret", "link", "up/secret", "src/../../secret", "../nowhere", &absolute, "/"] {
            for (name, arguments) in [
                ("read_file", json!({ "path": path })),
                ("list", json!({ "path": path })),
                ("grep", json!({ "pattern": "planted", "path": path })),
            ] {
                let error = ground.call(name, &arguments).unwrap_err();
                assert!(error.ends_with("outside of the workspace folder"), "{name} {path}: {error}");
            }
        }
        assert_eq!(ground.call("grep", &json!({ "pattern": "planted" })), Ok("(no matches)".into()));
        assert_eq!(ground.call("list", &json!({})), Ok(".hidden/\nlink@\nsrc/\nup@".into()));
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

    #[test]
    fn invalid_calls_return_errors() {
        let ground = Workspace::new();
        assert!(ground.call("read_file", &json!({ "path": "src" })).unwrap_err().contains("is not a file"));
        assert!(ground.call("read_file", &json!({})).unwrap_err().contains("missing field `path`"));
        assert!(ground.call("grep", &json!({ "pattern": "(" })).unwrap_err().contains("invalid pattern"));
        assert!(ground.call("write", &json!({})).unwrap_err().contains("unknown tool write"));
    }
}
