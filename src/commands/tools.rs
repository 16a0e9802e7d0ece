//! Tools of clients without an editor: they read, search and change the files of one folder, and run commands in it.
//! Whether a call may run is decided before, by the sidecar's approvals.

mod change;
mod look;
mod run;
pub(super) mod server_contents;
pub(super) mod servers;

pub(super) use change::{Change, MOST_CHANGED, changed, file, planned};
pub(super) use look::{page, read_of};
pub(super) use run::{Command, End, MOST_TAIL, Runnable, UNATTENDED, command, ended, runnable, words};

use engine::text::json;
use protocol::message::Content;
use protocol::tool::{Tool, ToolInvokeResult, ToolKind, ToolPolicy, ToolResultParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The tools' definitions. Changes and commands need approval.
pub(super) fn tools() -> Vec<Tool> {
    [look::tools(), change::tools(), vec![run::tool()]].concat()
}

/// The kind of one of these tools.
pub(super) fn kind(name: &str) -> Option<ToolKind> {
    Some(match name {
        look::READ_FILE => ToolKind::Read,
        look::LIST | look::GREP => ToolKind::Search,
        change::EDIT_FILE | change::WRITE_FILE => ToolKind::Edit,
        run::NAME => ToolKind::Execute,
        _ => return None,
    })
}

/// Runs a call in this folder. A command ends when this is dropped. No other change is made than the one that was shown,
/// if one was. Errors are returned to the model.
pub(super) async fn run(
    folder: PathBuf,
    name: String,
    arguments: String,
    shown: Option<Change>,
) -> ToolInvokeResult {
    let kind = kind(&name);
    if kind == Some(ToolKind::Execute) {
        return run::run(&folder, &arguments).await;
    }
    let work = tokio::task::spawn_blocking(move || match kind {
        Some(ToolKind::Edit) => change::run(&folder, &name, &arguments, shown.as_ref()),
        Some(_) => said(look::run(&folder, &name, &arguments)),
        None => said(Err(format!("unknown tool {name}"))),
    });
    work.await.unwrap_or_else(|error| said(Err(format!("the tool failed: {error}"))))
}

/// The result of a call that was running when its process ended.
pub(super) fn interrupted() -> ToolInvokeResult {
    said(Err(
        "the call was interrupted; it may have done some or all of its work, so check before you repeat it"
            .to_owned(),
    ))
}

/// The result of a call that no request of the sidecar stands for: it was pending when its session was opened.
pub(super) fn late(session_id: String, tool_call_id: String, result: ToolInvokeResult) -> ToolResultParams {
    let ToolInvokeResult { content, is_error, exit_code, effects, .. } = result;
    let content = content.unwrap_or_else(|| Content::text(""));
    ToolResultParams { session_id, tool_call_id, content, is_error, exit_code, effects, meta: None }
}

/// The result of a call that only answers.
pub(super) fn said(text: Result<String, String>) -> ToolInvokeResult {
    let is_error = text.is_err().then_some(true);
    let text = text.unwrap_or_else(|error| error);
    ToolInvokeResult { content: Some(Content::text(text)), is_error, ..ToolInvokeResult::default() }
}

fn tool(name: &str, policy: ToolPolicy, description: &str, properties: &Value, required: &[&str]) -> Tool {
    Tool {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        input_schema: Some(json!({ "type": "object", "properties": properties, "required": required })),
        kind: kind(name),
        guidelines: None,
        policy: Some(policy),
        rules: None,
        ends_turn: None,
    }
}

fn given<T: DeserializeOwned>(arguments: &str) -> Result<T, String> {
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
    json::read(arguments).map_err(|error| format!("invalid arguments: {error}"))
}

fn whole(folder: &Path) -> Result<PathBuf, String> {
    folder.canonicalize().map_err(|error| format!("cannot open the workspace folder: {error}"))
}

/// Resolves a path and its links. Fails if it leads out of the folder.
fn inside(folder: &Path, path: &str) -> Result<PathBuf, String> {
    let folder = whole(folder)?;
    let real = folder.join(path).canonicalize();
    match real {
        Ok(real) if real.starts_with(&folder) => Ok(real),
        // The existence of files outside is not revealed.
        Ok(_) => Err(outside(path)),
        Err(_) if has_way_out(path) => Err(outside(path)),
        Err(error) => Err(format!("{path}: {error}")),
    }
}

fn outside(path: &str) -> String {
    format!("{path} is outside of the workspace folder")
}

/// `true` if a path may lead outside by its form.
fn has_way_out(path: &str) -> bool {
    let path = Path::new(path);
    path.has_root() || path.components().any(|part| matches!(part, std::path::Component::ParentDir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A workspace with a secret file beside it.
    pub(super) struct Workspace(pub PathBuf);

    impl Workspace {
        pub(super) fn new() -> Self {
            let ground = std::env::temp_dir().join(format!("threadhold-tools-{}", uuid::Uuid::now_v7()));
            fs::create_dir_all(ground.join("w/src")).unwrap();
            fs::create_dir_all(ground.join("w/.hidden")).unwrap();
            fs::write(ground.join("secret"), "planted").unwrap();
            fs::write(ground.join("w/src/a.rs"), "fn one() {}\nfn two() {}\n").unwrap();
            fs::write(ground.join("w/.hidden/b"), "fn three() {}\n").unwrap();
            Self(ground)
        }

        pub(super) fn whole_result(&self, name: &str, arguments: &Value) -> ToolInvokeResult {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(run(self.0.join("w"), name.to_owned(), arguments.to_string(), None))
        }

        pub(super) fn call(&self, name: &str, arguments: &Value) -> Result<String, String> {
            let said = self.whole_result(name, arguments);
            let content = serde_json::to_value(said.content).unwrap();
            let text = content[0]["text"].as_str().unwrap().to_owned();
            if said.is_error == Some(true) { Err(text) } else { Ok(text) }
        }

        pub(super) fn text(&self, path: &str) -> String {
            fs::read_to_string(self.0.join("w").join(path)).unwrap()
        }
    }

    impl Drop for Workspace {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn invalid_calls_return_errors() {
        let ground = Workspace::new();
        assert!(ground.call("read_file", &json!({ "path": "src" })).unwrap_err().contains("is not a file"));
        assert!(ground.call("read_file", &json!({})).unwrap_err().contains("missing field `path`"));
        assert!(ground.call("grep", &json!({ "pattern": "(" })).unwrap_err().contains("invalid pattern"));
        assert!(ground.call("write", &json!({})).unwrap_err().contains("unknown tool write"));
        assert!(ground.call("run_command", &json!({})).unwrap_err().contains("missing field `command`"));
    }

    #[cfg(unix)]
    #[test]
    fn paths_outside_the_workspace_are_rejected() {
        let ground = Workspace::new();
        std::os::unix::fs::symlink(ground.0.join("secret"), ground.0.join("w/link")).unwrap();
        std::os::unix::fs::symlink(&ground.0, ground.0.join("w/up")).unwrap();
        std::os::unix::fs::symlink(ground.0.join("new"), ground.0.join("w/dangling")).unwrap();
        let absolute = ground.0.join("secret").display().to_string();
        for path in ["../secret", "link", "up/secret", "src/../../secret", "../nowhere", &absolute, "/"] {
            for (name, arguments) in [
                ("read_file", json!({ "path": path })),
                ("list", json!({ "path": path })),
                ("grep", json!({ "pattern": "planted", "path": path })),
                ("edit_file", json!({ "path": path, "old": "planted", "new": "x" })),
                ("write_file", json!({ "path": path, "text": "x" })),
                ("run_command", json!({ "command": "true", "folder": path })),
            ] {
                let error = ground.call(name, &arguments).unwrap_err();
                assert!(error.ends_with("outside of the workspace folder"), "{name} {path}: {error}");
            }
        }
        for path in ["up/new", "../new", "up/new/deep", "dangling"] {
            let error = ground.call("write_file", &json!({ "path": path, "text": "x" })).unwrap_err();
            assert!(error.ends_with("outside of the workspace folder"), "{path}: {error}");
        }
        assert!(!ground.0.join("new").exists());
        assert_eq!(fs::read_to_string(ground.0.join("secret")).unwrap(), "planted");
        assert_eq!(ground.call("grep", &json!({ "pattern": "planted" })), Ok("(no matches)".into()));
        assert_eq!(ground.call("list", &json!({})), Ok(".hidden/\ndangling@\nlink@\nsrc/\nup@".into()));
    }
}
