//! Session files of the pi coding agent: one record per line, read in the order of the file. In newer files
//! with branches, an abandoned branch stays where it was written.

use super::json::{Object, code, each_record, flag, needed, number, object, owned, sum, text};
use super::noise::{all_attached, apart, attached};
use super::parts::{Said, contents, reported, said, stated_code};
use super::{Entry, Format, Import};
use engine::message::{Body, ToolResult, Usage};

pub(super) fn read(bytes: &[u8]) -> Import {
    let mut import = Import::new(Format::Pi);
    let mut reader = PiReader::default();
    each_record(bytes, &mut import, |import, place, record| reader.take(import, place, record));
    import
}

#[derive(Default)]
struct PiReader {
    /// The ids of the records so far, each with the id of the last message at or before it. A compaction
    /// names the first record that it keeps, so it covers the messages before that one.
    ids: Vec<(String, Option<String>)>,
}

impl PiReader {
    fn take(&mut self, import: &mut Import, place: &str, record: &Object) -> Result<(), String> {
        let taken = self.entry(import, place, record);
        if let Some(id) = text(record, "id") {
            let last = import.entries.iter().rev().find_map(|entry| match entry {
                Entry::Message(message) => Some(message.external_id.clone()),
                Entry::Compaction(_) => None,
            });
            self.ids.push((id.to_owned(), last.flatten()));
        }
        taken
    }

    fn entry(&mut self, import: &mut Import, place: &str, record: &Object) -> Result<(), String> {
        let summary = || needed(record, "summary");
        match needed(record, "type")? {
            "message" => message(import, place, record),
            "compaction" => {
                let after = text(record, "firstKeptEntryId").and_then(|id| self.before(id));
                import.push_compaction(summary()?, number(record, "tokensBefore"), after);
                Ok(())
            }
            "branch_summary" => {
                let body = Body::Event { kind: "branch_summary".into(), text: summary()?.into() };
                import.push(body, owned(record, "id"), owned(record, "timestamp"));
                Ok(())
            }
            "custom_message" => {
                // Written by an extension, not by the user.
                let parts = all_attached("extension", contents(record.get("content"), place, import)?);
                import.push(Body::User(parts), owned(record, "id"), owned(record, "timestamp"));
                Ok(())
            }
            "session_info" => {
                import.title = owned(record, "name").or(import.title.take());
                Ok(())
            }
            "session" | "model_change" | "thinking_level_change" | "custom" | "label" => Ok(()),
            unknown => Err(format!("is a record of an unknown type, `{unknown}`")),
        }
    }

    /// The id of the last message before this record.
    fn before(&self, id: &str) -> Option<String> {
        let at = self.ids.iter().position(|(known, _)| known == id)?;
        self.ids.get(at.checked_sub(1)?)?.1.clone()
    }
}

fn message(import: &mut Import, place: &str, record: &Object) -> Result<(), String> {
    let message = object(record, "message").ok_or("has no `message`")?;
    let mut visible = true;
    let body = match needed(message, "role")? {
        "user" => Body::User(apart(contents(message.get("content"), place, import)?)),
        // A message of an extension, which is sent to the model with the user's role.
        "custom" => Body::User(all_attached("extension", contents(message.get("content"), place, import)?)),
        "assistant" => {
            let Said { parts, calls } = said(message.get("content"), place, import)?;
            let usage = object(message, "usage").map(|usage| Usage {
                input_tokens: sum(usage, &["input", "cacheRead", "cacheWrite"]),
                output_tokens: number(usage, "output"),
                cached_input_tokens: number(usage, "cacheRead"),
                cache_write_input_tokens: number(usage, "cacheWrite"),
                reasoning_tokens: None,
            });
            Body::Assistant { parts, calls, beside: reported(usage, text(message, "model")) }
        }
        "toolResult" => {
            let content = contents(message.get("content"), place, import)?;
            let is_error = flag(message, "isError");
            Body::Tool(ToolResult {
                call: needed(message, "toolCallId")?.to_owned(),
                exit_code: if is_error { stated_code(&content) } else { None },
                content,
                is_error,
                ..ToolResult::default()
            })
        }
        "bashExecution" => {
            visible = !flag(message, "excludeFromContext");
            Body::User(attached("command", &command_of_the_user(message)?).into_iter().collect())
        }
        "branchSummary" => {
            Body::Event { kind: "branch_summary".into(), text: needed(message, "summary")?.into() }
        }
        "compactionSummary" => {
            import.push_compaction(needed(message, "summary")?, number(message, "tokensBefore"), None);
            return Ok(());
        }
        unknown => return Err(format!("is a message of an unknown role, `{unknown}`")),
    };
    let at = import.push(body, owned(record, "id"), owned(record, "timestamp"));
    if let Some(Entry::Message(message)) = import.entries.get_mut(at) {
        message.visible_to_model = visible;
    }
    Ok(())
}

/// A command that the user ran outside of the conversation, worded as a model reads it.
fn command_of_the_user(message: &Object) -> Result<String, String> {
    let output = text(message, "output").unwrap_or_default();
    let mut words = format!("Ran `{}`\n", needed(message, "command")?);
    words.push_str(&if output.is_empty() { "(no output)".to_owned() } else { format!("```\n{output}\n```") });
    if flag(message, "cancelled") {
        words.push_str("\n\n(command cancelled)");
    } else if let Some(code) = code(message, "exitCode").filter(|code| *code != 0) {
        words.push_str(&format!("\n\nCommand exited with code {code}"));
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RecordedCompaction, import};
    use engine::message::attachment::Attachment;
    use engine::message::{Content, Image};

    fn read_lines(lines: &[&str]) -> Import {
        import(lines.join("\n").as_bytes(), None).unwrap()
    }

    #[test]
    fn compaction_follows_the_last_message_it_covers() {
        let import = read_lines(&[
            r#"{"type":"session","version":3,"id":"s","cwd":"/w"}"#,
            r#"{"type":"message","id":"1","message":{"role":"user","content":"one"}}"#,
            r#"{"type":"message","id":"2","message":{"role":"assistant","content":[]}}"#,
            r#"{"type":"model_change","id":"3"}"#,
            r#"{"type":"message","id":"4","message":{"role":"user","content":"two"}}"#,
            r#"{"type":"compaction","id":"5","summary":"so far","firstKeptEntryId":"4","tokensBefore":185014}"#,
        ]);
        let expected = RecordedCompaction {
            standing: crate::Standing::Recorded,
            text: "so far".into(),
            tokens_before: Some(185_014),
            after_external_id: Some("2".into()),
        };
        assert_eq!(import.entries.last(), Some(&Entry::Compaction(expected)));
        assert_eq!(import.entries.len(), 4, "an aborted message without words stays");
    }

    #[test]
    fn user_commands_and_images_are_read_and_unknown_roles_skipped() {
        let import = read_lines(&[
            r#"{"type":"message","message":{"role":"bashExecution","command":"ls","output":"a","exitCode":2,"excludeFromContext":true}}"#,
            r#"{"type":"message","message":{"role":"user","content":[{"type":"image","mimeType":"image/png","data":"AA"}]}}"#,
            r#"{"type":"message","message":{"role":"toolResult","toolCallId":"c","isError":true,"content":[{"type":"text","text":"no\n\n\nCommand exited with code 2"}]}}"#,
            r#"{"type":"message","message":{"role":"oracle","content":"?"}}"#,
        ]);
        let body = |at: usize| match &import.entries[at] {
            Entry::Message(message) => message.clone(),
            Entry::Compaction(_) => panic!("a message"),
        };
        let ran = Attachment::new("command", "Ran `ls`\n```\na\n```\n\nCommand exited with code 2");
        assert_eq!(body(0).body, Body::User(vec![Content::Attachment(ran)]));
        assert!(!body(0).visible_to_model);
        let picture = Image { mime_type: "image/png".into(), data: "AA".into() };
        assert_eq!(body(1).body, Body::User(vec![Content::Image(picture)]));
        assert!(matches!(body(2).body, Body::Tool(ToolResult { exit_code: Some(2), .. })));
        assert_eq!(import.skipped.len(), 1);
        assert_eq!(import.skipped[0].place, "line 4");
    }
}
