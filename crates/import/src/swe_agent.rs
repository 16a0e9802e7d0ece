//! Trajectories of SWE-agent (`.traj`): the rows of `history`. The steps of `trajectory` repeat them and are ignored.

use super::json::{Object, each_item, needed, needed_list, whole};
use super::parts::{contents, joined};
use super::{Format, Import, ImportError, completions};

/// Reads every row of the history.
pub(super) fn read(bytes: &[u8]) -> Result<Import, ImportError> {
    let mut import = Import::new(Format::SweAgent);
    let root = whole(bytes, &mut import)?;
    let history = needed_list(&root, "history", &import)?;
    each_item(history, "history", &mut import, take);
    Ok(import)
}

fn take(import: &mut Import, place: &str, row: &Object) -> Result<(), String> {
    // Older files without function calls store observations as user messages; those stay user messages.
    if let Some(body) = completions::body(row, place, import)? {
        import.push(body, None, None);
        return Ok(());
    }
    match needed(row, "role")? {
        "system" => {
            let words = joined(&contents(row.get("content"), place, import)?);
            import.push_system(&words, None);
            Ok(())
        }
        unknown => Err(format!("is a row of an unknown role, `{unknown}`")),
    }
}

#[cfg(test)]
mod tests {
    use crate::import;
    use engine::id::SessionId;
    use engine::message::Body;
    use engine::tokens::QuarterOfChars;

    #[test]
    fn first_system_row_is_the_system_text() {
        let source = r#"{"history": [
            {"role": "system", "content": "first"},
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "system", "content": "second"},
            {"role": "assistant", "content": "ok", "tool_calls": null, "action": "ls"}
        ]}"#;
        let read = import(source.as_bytes(), None).unwrap();
        assert_eq!(read.system.as_deref(), Some("first"));
        let transcript = read.into_transcript(SessionId::new("s"), &QuarterOfChars);
        let kinds: Vec<bool> =
            transcript.messages().iter().map(|m| matches!(m.body, Body::Event { .. })).collect();
        assert_eq!(kinds, [true, false, true, false]);
        assert!(transcript.messages().iter().all(|message| message.tokens > 0));
    }

    #[test]
    fn bad_row_is_skipped_and_call_ids_may_repeat() {
        let source = r#"{"history": [
            7, {"role": "judge"}, {"role": "tool", "content": "x"},
            {"role": "assistant", "content": "a", "tool_calls": [{"id": "c", "function": {"name": "bash", "arguments": "{ }"}}, {"id": 1}]},
            {"role": "tool", "content": "one", "tool_call_ids": ["c"]},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": {"name": "bash", "arguments": "{}"}}]},
            {"role": "tool", "content": "two", "tool_call_ids": ["c"]}
        ]}"#;
        let read = import(source.as_bytes(), None).unwrap();
        let places: Vec<&str> = read.skipped.iter().map(|s| s.place.as_str()).collect();
        assert_eq!(places, ["history[0]", "history[1]", "history[2]", "history[3].tool_calls[1]"]);
        let transcript = read.into_transcript(SessionId::new("s"), &QuarterOfChars);
        assert!(transcript.rounds().iter().all(|round| round.results.iter().all(Option::is_some)));
    }
}
