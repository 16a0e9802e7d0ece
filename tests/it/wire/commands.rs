//! `command/effects`: what a command's text tells about files, without a session.

use super::script::{Editor, Folder};
use serde_json::json;

#[test]
fn command_effects_are_read_without_a_session() {
    let folder = Folder::new("commands");
    let mut editor = Editor::start(&folder, json!({ "model": { "window": 16_000 } }));
    let command = "cd web && mv a.ts lib && rm -f *.log && git stash pop; cat \"unclosed";
    let found = editor.call("command/effects", json!({ "command": command, "cwd": "/w" }));
    assert_eq!(
        found,
        json!({
            "effects": [
                { "kind": "move", "path": "/w/web/lib", "from": "/w/web/a.ts", "ifFolder": "/w/web/lib/a.ts", "certain": false },
                { "kind": "delete", "path": "/w/web/*.log", "pattern": true, "certain": false },
            ],
            "unknown": [
                { "part": "git stash pop", "reason": "worktree" },
                { "part": "cat \"unclosed", "reason": "syntax" },
            ],
            "programs": ["cd", "mv", "rm", "git"],
        })
    );
    let other = editor.call("command/effects", json!({ "command": "del /f a.txt", "shell": "cmd.exe" }));
    let unknown = json!([{ "part": "del /f a.txt", "reason": "shell" }]);
    assert_eq!(other, json!({ "effects": [], "unknown": unknown, "programs": [] }));
}
