//! Tool calls in words: what one would do, shown before the user decides about it (the difference that it makes to a
//! file, or the whole command with its effects as far as its text tells them); one that runs, and how it ended.

use super::paint::Paint;
use super::screen::harmless;
use super::wrap::Painted;
use crate::commands::tools::{self, Change, Command};
use crate::commands::visible::visible;
use protocol::message::texts;
use protocol::tool::{PauseReason, ToolInvokeResult, ToolKind};
use shell::{Effect, Effects, Kind, Reason};
use similar::{ChangeTag, TextDiff};
use std::path::Path;
use std::time::Duration;

/// Unchanged lines around each change.
const AROUND: usize = 3;
/// Characters of a call that runs.
const MOST_BRIEF: usize = 100;
/// Characters of a line of output that are shown.
const MOST_WIDTH: usize = 400;
/// Lines of a command's output that are shown.
const MOST_OUTPUT: usize = 8;
/// Lines of a difference that are shown.
const MOST_LINES: usize = 500;
/// Characters of a line of a difference that are shown.
const MOST_CHARACTERS: usize = 1_000;
/// Time for finding a short difference; a longer one is shown after that.
const MOST_TIME: Duration = Duration::from_millis(300);
/// Effects that are named.
const MOST_NAMED: usize = 12;

/// The lines that describe a call in this folder, and the change that they show.
pub(super) fn described(call: &PauseReason, folder: &Path) -> (Vec<Painted>, Option<Change>) {
    let PauseReason { name, arguments, reason, .. } = call;
    let (name, reason) = (one_line(name), one_line(reason));
    if let Some(command) = tools::command(&call.name, &arguments.0) {
        return (command_lines(&command, folder, &reason), None);
    }
    let whole = || plain(&visible(&format!("{name} {} ({reason})", arguments.0)));
    match tools::planned(folder, &call.name, &arguments.0, None) {
        Some(Ok(change)) => (change_lines(&change, &name, &reason), Some(change)),
        Some(Err(error)) => {
            let failing = vec![(Paint::Yellow, one_line(&format!("(it would fail: {error})")))];
            ([whole(), vec![failing]].concat(), None)
        }
        None => (whole(), None),
    }
}

/// A text of which each character is on one line: a line feed in a path could pass for another line of ours.
fn one_line(text: &str) -> String {
    visible(text).replace('\n', "[U+000A]").replace('\t', "[U+0009]")
}

/// A call that runs, on one line.
pub(super) fn brief(name: &str, arguments: &str) -> String {
    let what = match (tools::command(name, arguments), tools::changed(name, arguments)) {
        (Some(command), _) => command.command,
        (None, Some(path)) => path,
        (None, None) => arguments.to_owned(),
    };
    let what = visible(&what);
    let mut lines = what.lines();
    let first = lines.next().unwrap_or_default();
    let shown: String = first.chars().take(MOST_BRIEF).collect();
    let more = if shown.len() < first.len() || lines.next().is_some() { " …" } else { "" };
    format!("[{name} {shown}{more}]")
}

/// How a call ended, where that is worth a look: the end of a command's output, or the error.
pub(super) fn ended(name: &str, result: &ToolInvokeResult) -> Vec<Painted> {
    let is_error = result.is_error == Some(true);
    if !is_error && tools::kind(name) != Some(ToolKind::Execute) {
        return Vec::new();
    }
    let text = result.content.as_ref().map(|content| texts(&content.0)).unwrap_or_default();
    let text = visible(&harmless(&text));
    let lines: Vec<&str> = text.lines().collect();
    let left_out = lines.len().saturating_sub(MOST_OUTPUT);
    let paint = if is_error { Paint::Red } else { Paint::Dim };
    let more = (left_out > 0).then(|| vec![(Paint::Dim, format!("  … {left_out} lines before"))]);
    let cut = |line: &str| line.chars().take(MOST_WIDTH).collect::<String>();
    let shown = lines.into_iter().skip(left_out).map(|line| vec![(paint, format!("  {}", cut(line)))]);
    more.into_iter().chain(shown).collect()
}

fn plain(text: &str) -> Vec<Painted> {
    text.lines().map(|line| vec![(Paint::Plain, line.to_owned())]).collect()
}

fn command_lines(command: &Command, folder: &Path, reason: &str) -> Vec<Painted> {
    let place = command.folder.as_ref().map(|folder| format!(" in {}", one_line(folder))).unwrap_or_default();
    let time = command.seconds.map(|seconds| format!(", for {seconds} s at most")).unwrap_or_default();
    let mut lines = vec![vec![(Paint::Plain, format!("run_command{place}{time} ({reason})"))]];
    for (number, line) in visible(&command.command).lines().enumerate() {
        let mark = if number == 0 { "$ " } else { "  " };
        lines.push(vec![(Paint::Dim, mark.to_owned()), (Paint::Bold, line.to_owned())]);
    }
    let cwd = match &command.folder {
        Some(inner) => folder.join(inner),
        None => folder.to_owned(),
    };
    let cwd = cwd.display().to_string();
    let effects = shell::effects(&command.command, Some(&cwd), Some("bash"));
    for sentence in sentences(&effects, &folder.display().to_string()) {
        lines.push(vec![(Paint::Yellow, format!("  {}", one_line(&sentence)))]);
    }
    lines
}

/// The effects of a command on files, in sentences; paths in the folder are shown without it.
fn sentences(effects: &Effects, folder: &str) -> Vec<String> {
    let short = |path: &str| {
        let inner = path.strip_prefix(folder).and_then(|path| path.strip_prefix('/'));
        inner.unwrap_or(path).to_owned()
    };
    let sentence = |effect: &Effect| {
        let target = match &effect.if_folder {
            Some(within) => format!("{} or {}", short(&effect.path), short(within)),
            None => short(&effect.path),
        };
        let does = match effect.kind {
            Kind::Read => return None,
            Kind::Create => format!("creates {target}"),
            Kind::Write => format!("writes {target}"),
            Kind::Delete => format!("deletes {target}"),
            Kind::Move => format!("moves {} to {target}", short(effect.from.as_deref().unwrap_or_default())),
            Kind::MakeFolder => format!("creates the folder {target}"),
        };
        let pattern = if effect.is_pattern { " (pattern)" } else { "" };
        let condition = if effect.is_certain { "" } else { ", under a condition" };
        Some(format!("{does}{pattern}{condition}"))
    };
    let mut named: Vec<String> = effects.effects.iter().filter_map(sentence).collect();
    let more = named.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        named.truncate(MOST_NAMED);
        named.push(format!("and {more} more effects on files"));
    }
    named.extend(effects.unknown.iter().map(|unknown| {
        let part = &unknown.part;
        match unknown.reason {
            Reason::Program => format!("not known: `{part}` may change files"),
            Reason::Worktree => format!("not known: `{part}` may change any file of the worktree"),
            Reason::Path => format!("not known: `{part}` has a path that is known only when it runs"),
            Reason::Dynamic => format!("not known: `{part}` runs something that is known only when it runs"),
            Reason::Syntax => format!("not known: a syntax error near `{part}`"),
            Reason::Shell => format!("not known: `{part}` is not written for a POSIX shell"),
            Reason::Limit => format!("not known: `{part}` is too long or too deeply nested to be read whole"),
        }
    }));
    named
}

/// A change as a unified difference.
fn change_lines(change: &Change, name: &str, reason: &str) -> Vec<Painted> {
    let path = one_line(&change.path);
    let what = if change.before.is_some() { "changes" } else { "creates" };
    let mut lines = vec![vec![(Paint::Plain, format!("{name}: {what} {path} ({reason})"))]];
    if change.before.as_ref() == Some(&change.after) {
        lines.push(vec![(Paint::Dim, "(the file stays as it is)".to_owned())]);
        return lines;
    }
    let before = change.before.as_deref().unwrap_or_default();
    let diff = TextDiff::configure().timeout(MOST_TIME).diff_lines(before, &change.after);
    let end = usual_end(before, &change.after);
    let mut left_out = 0_u32;
    for (number, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if number > 0 && left_out == 0 {
            lines.push(vec![(Paint::Dim, "      ⋮".to_owned())]);
        }
        for part in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            if lines.len() > MOST_LINES {
                left_out += 1;
                continue;
            }
            let (mark, paint, number) = match part.tag() {
                ChangeTag::Delete => ('-', Paint::Red, part.old_index()),
                ChangeTag::Insert => ('+', Paint::Green, part.new_index()),
                ChangeTag::Equal => (' ', Paint::Plain, part.new_index()),
            };
            let number = number.map_or_else(String::new, |number| (number + 1).to_string());
            // An end that other lines do not have is shown.
            let text =
                part.value().strip_suffix(end).or(part.value().strip_suffix('\n')).unwrap_or(part.value());
            let mut line =
                vec![(Paint::Dim, format!("{number:>5} ")), (paint, format!("{mark}{}", shown(text)))];
            if !part.value().ends_with('\n') {
                line.push((Paint::Dim, " (no line feed at the end)".to_owned()));
            }
            lines.push(line);
        }
    }
    if left_out > 0 {
        lines.push(vec![(Paint::Yellow, format!("({left_out} more lines of the difference are not shown)"))]);
    }
    lines
}

/// The end of a line of a file that uses one throughout.
fn usual_end(before: &str, after: &str) -> &'static str {
    let is_long = |text: &str| text.matches('\n').count() == text.matches("\r\n").count();
    if before.contains("\r\n") && is_long(before) && is_long(after) { "\r\n" } else { "\n" }
}

/// A line with invisible characters named, also blanks at its end; the rest of a very long one is left out.
fn shown(line: &str) -> String {
    let text = visible(line);
    let (start, blanks) = text.split_at(text.trim_end_matches([' ', '\t']).len());
    let start: String = match start.char_indices().nth(MOST_CHARACTERS) {
        Some((at, _)) => {
            let (start, rest) = start.split_at(at);
            format!("{start} … ({} more characters)", rest.chars().count())
        }
        None => start.to_owned(),
    };
    start + &blanks.replace(' ', "·").replace('\t', "→")
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::message::Arguments;
    use protocol::tool::PauseCause;

    fn text(lines: &[Painted]) -> Vec<String> {
        lines.iter().map(|line| line.iter().map(|(_, text)| text.as_str()).collect()).collect()
    }

    fn call(name: &str, arguments: &str) -> PauseReason {
        let arguments = Arguments(arguments.into());
        PauseReason {
            tool_call_id: "c".into(),
            name: name.into(),
            arguments,
            cause: PauseCause::Tool,
            reason: "it asks".into(),
            pattern: None,
        }
    }

    #[test]
    fn a_command_is_shown_whole_with_its_effects() {
        let command = "cargo fmt &&\nrm -f build/a.o > log\u{202e}";
        let call = call("run_command", &serde_json::json!({ "command": command }).to_string());
        let expected = [
            "run_command (it asks)",
            "$ cargo fmt &&",
            "  rm -f build/a.o > log[U+202E]",
            "  deletes build/a.o",
            "  writes log[U+202E]",
            "  not known: `cargo fmt` may change files",
        ];
        let shown = text(&described(&call, Path::new("/w")).0);
        let (mut shown_effects, mut effects) = (shown[3..].to_vec(), expected[3..].to_vec());
        shown_effects.sort();
        effects.sort_unstable();
        assert_eq!(shown[..3], expected[..3]);
        assert_eq!(shown_effects, effects);
    }

    #[test]
    fn a_change_is_shown_as_a_difference() {
        let folder = std::env::temp_dir().join(format!("threadhold-asked-{}", uuid::Uuid::now_v7()));
        std::fs::create_dir_all(&folder).unwrap();
        let lines: String = (1..=30).map(|number| format!("line {number}\r\n")).collect();
        std::fs::write(folder.join("a.txt"), lines).unwrap();
        let edit = r#"{"path":"a.txt","old":"line 10\n","new":"line ten\u200b\nand more\n"}"#;
        let expected = [
            "edit_file: changes a.txt (it asks)",
            "    7  line 7",
            "    8  line 8",
            "    9  line 9",
            "   10 -line 10",
            "   10 +line ten[U+200B]",
            "   11 +and more",
            "   12  line 11",
            "   13  line 12",
            "   14  line 13",
        ];
        assert_eq!(text(&described(&call("edit_file", edit), &folder).0), expected);
        let write = r#"{"path":"b.txt","text":"new\n"}"#;
        let expected = ["write_file: creates b.txt (it asks)", "    1 +new"];
        assert_eq!(text(&described(&call("write_file", write), &folder).0), expected);
        let shown =
            text(&described(&call("edit_file", r#"{"path":"a.txt","old":"x","new":"y"}"#), &folder).0);
        assert_eq!(
            shown[1],
            "(it would fail: old does not match anything in a.txt; read the file and try again)"
        );
        // What cannot be seen is named: blanks and line feeds at the end, and a path that forges a line.
        let write = r#"{"path":"b\n    1 +harmless","text":"a \nb"}"#;
        let expected = [
            "write_file: creates b[U+000A]    1 +harmless (it asks)",
            "    1 +a·",
            "    2 +b (no line feed at the end)",
        ];
        assert_eq!(text(&described(&call("write_file", write), &folder).0), expected);
        let mixed = r#"{"path":"a.txt","old":"line 30\r\n","new":"line 30\n\n"}"#;
        let shown = text(&described(&call("edit_file", mixed), &folder).0);
        assert_eq!(shown[4..6], ["   30 -line 30[U+000D]", "   30 +line 30"]);
        let many = serde_json::json!({ "path": "c.txt", "text": "x\n".repeat(20_000) }).to_string();
        let shown = text(&described(&call("write_file", &many), &folder).0);
        assert_eq!(shown.last().unwrap(), "(19500 more lines of the difference are not shown)");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
