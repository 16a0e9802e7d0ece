//! Session files of Claude Code: one record per line, read in the order of the file. The tree of `uuid` and
//! `parentUuid` is not followed, so an abandoned branch stays where it was written.

use super::json::{Object, each_record, flag, needed, number, object, owned, text};
use super::parts::{Said, anthropic_usage, contents, joined, reported, results_and_words, said};
use super::{Entry, Format, Import, noise};
use engine::message::Body;
use std::collections::BTreeMap;

pub(super) fn read(bytes: &[u8]) -> Import {
    let mut import = Import::new(Format::ClaudeCode);
    let mut reader = ClaudeCodeReader::default();
    each_record(bytes, &mut import, |import, place, record| reader.take(import, place, record));
    reader.close_boundary(&mut import);
    import
}

/// Record types without conversation content.
const KNOWN: [&str; 14] = [
    "agent-color",
    "agent-name",
    "agent-setting",
    "attribution-snapshot",
    "content-replacement",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "tag",
    "worktree-state",
];

#[derive(Default)]
struct ClaudeCodeReader {
    /// The model call whose records are still arriving: its id, and the index of its entry.
    open: Option<(String, usize)>,
    /// A compaction boundary whose summary has not arrived yet.
    boundary: Option<Boundary>,
    /// The external id of the message that contains a record, by the record's `uuid`.
    held_by: BTreeMap<String, String>,
    /// The rank of the title found so far: a title set by the user replaces a generated one.
    title_rank: u8,
}

struct Boundary {
    place: String,
    tokens: Option<u32>,
    after: Option<String>,
}

impl ClaudeCodeReader {
    fn take(&mut self, import: &mut Import, place: &str, record: &Object) -> Result<(), String> {
        if flag(record, "isSidechain") {
            return Err("belongs to a side chain: the conversation of a sub-agent".into());
        }
        match needed(record, "type")? {
            "user" if flag(record, "isCompactSummary") => self.summary(import, place, record),
            "user" => self.user(import, place, record),
            "assistant" => self.assistant(import, place, record),
            "attachment" => self.attachment(import, place, record),
            "system" => {
                if text(record, "subtype") == Some("compact_boundary") {
                    self.boundary(import, place, record);
                }
                Ok(())
            }
            "summary" => self.title(import, 1, text(record, "summary")),
            "ai-title" => self.title(import, 2, text(record, "aiTitle")),
            "custom-title" => self.title(import, 3, text(record, "customTitle")),
            known if KNOWN.contains(&known) => Ok(()),
            unknown => Err(format!("is a record of an unknown type, `{unknown}`")),
        }
    }

    fn title(&mut self, import: &mut Import, rank: u8, title: Option<&str>) -> Result<(), String> {
        if rank >= self.title_rank {
            import.title = title.map(str::to_owned).or(import.title.take());
            self.title_rank = rank;
        }
        Ok(())
    }

    /// Tool results first, each as a separate message, then the text and images of the record as one user message.
    fn user(&mut self, import: &mut Import, place: &str, record: &Object) -> Result<(), String> {
        let message = object(record, "message").ok_or("has no `message`")?;
        let uuid = owned(record, "uuid");
        let time = owned(record, "timestamp");
        let content = message.get("content").ok_or("has no `content`")?;
        let (results, words) = results_and_words(content, place, import, contents)?;
        let said = results.len();
        for (nth, result) in results.into_iter().enumerate() {
            self.hold(import, Body::Tool(result), &uuid, nth, time.clone());
        }
        // Records that the program writes for itself: caveats, the prompts of commands.
        let words = match words {
            Some(words) if flag(record, "isMeta") => noise::all_attached("program", words),
            words => noise::apart(words.unwrap_or_default()),
        };
        if !words.is_empty() {
            self.open = None;
            self.hold(import, Body::User(words), &uuid, said, time);
        }
        Ok(())
    }

    /// Appends a message of the record; from the second one on, its id has a number as suffix.
    fn hold(
        &mut self,
        import: &mut Import,
        body: Body,
        uuid: &Option<String>,
        nth: usize,
        time: Option<String>,
    ) {
        let external_id =
            uuid.as_ref().map(|id| if nth == 0 { id.clone() } else { format!("{id}#{}", nth + 1) });
        if let (Some(uuid), Some(external_id)) = (uuid, &external_id) {
            self.held_by.insert(uuid.clone(), external_id.clone());
        }
        import.push(body, external_id, time);
    }

    /// A model call has one record per block, possibly with results of its first calls in between. Its
    /// records form one message if only results separate them.
    fn assistant(&mut self, import: &mut Import, place: &str, record: &Object) -> Result<(), String> {
        let message = object(record, "message").ok_or("has no `message`")?;
        if flag(record, "isApiErrorMessage") {
            // A failed request that the program records as an answer; no model wrote it.
            let text = joined(&contents(message.get("content"), place, import)?).into();
            let body = Body::Event { kind: "api_error".into(), text };
            self.hold(import, body, &owned(record, "uuid"), 0, owned(record, "timestamp"));
            return Ok(());
        }
        let Said { parts, calls } = said(message.get("content"), place, import)?;
        let id = owned(message, "id").or_else(|| owned(record, "uuid"));
        if let Some((uuid, id)) = text(record, "uuid").zip(id.as_ref()) {
            self.held_by.insert(uuid.to_owned(), id.clone());
        }
        let open = self.open.as_ref().filter(|(open, _)| Some(open) == id.as_ref()).map(|(_, at)| *at);
        if let Some(Entry::Message(held)) = open.and_then(|at| import.entries.get_mut(at))
            && let Body::Assistant { parts: held_parts, calls: held_calls, beside } = &mut held.body
        {
            held_parts.extend(parts);
            held_calls.extend(calls);
            beside.merge_usage(object(message, "usage").and_then(anthropic_usage));
            return Ok(());
        }
        let beside = reported(object(message, "usage").and_then(anthropic_usage), text(message, "model"));
        let body = Body::Assistant { parts, calls, beside };
        let at = import.push(body, id.clone(), owned(record, "timestamp"));
        self.open = id.map(|id| (id, at));
        Ok(())
    }

    /// Imports text that the user typed while the model ran, and notices of tasks that ended then; other attachments
    /// are generated by the program.
    fn attachment(&mut self, import: &mut Import, place: &str, record: &Object) -> Result<(), String> {
        let attachment = object(record, "attachment").ok_or("has no `attachment`")?;
        let mode = text(attachment, "commandMode").unwrap_or("prompt");
        if text(attachment, "type") == Some("queued_command") {
            let parts = contents(attachment.get("prompt"), place, import)?;
            let parts = if mode == "prompt" { noise::apart(parts) } else { noise::all_attached(mode, parts) };
            if parts.is_empty() {
                return Ok(());
            }
            self.open = None;
            self.hold(import, Body::User(parts), &owned(record, "uuid"), 0, owned(record, "timestamp"));
        }
        Ok(())
    }

    fn boundary(&mut self, import: &mut Import, place: &str, record: &Object) {
        self.close_boundary(import);
        let tokens = object(record, "compactMetadata").and_then(|of| number(of, "preTokens"));
        let after = text(record, "logicalParentUuid").and_then(|uuid| self.held_by.get(uuid)).cloned();
        self.boundary = Some(Boundary { place: place.to_owned(), tokens, after });
    }

    fn summary(&mut self, import: &mut Import, place: &str, record: &Object) -> Result<(), String> {
        let message = object(record, "message").ok_or("has no `message`")?;
        let summary = joined(&contents(message.get("content"), place, import)?);
        let (tokens, after) = self.boundary.take().map_or((None, None), |found| (found.tokens, found.after));
        self.open = None;
        import.push_compaction(&summary, tokens, after);
        Ok(())
    }

    /// Reports a boundary without a summary.
    fn close_boundary(&mut self, import: &mut Import) {
        if let Some(boundary) = self.boundary.take() {
            import.skip(boundary.place, "is a compaction boundary without its summary");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RecordedCompaction, import};
    use engine::message::{AssistantPart, NewMessage};

    fn messages(import: &Import) -> Vec<&NewMessage> {
        let message = |entry: &'_ Entry| matches!(entry, Entry::Message(_));
        let entries = import.entries.iter().filter(|entry| message(entry));
        entries.filter_map(|e| if let Entry::Message(m) = e { Some(m) } else { None }).collect()
    }

    fn read_lines(lines: &[&str]) -> Import {
        import(lines.join("\r\n").as_bytes(), Some(Format::ClaudeCode)).unwrap()
    }

    #[test]
    fn records_of_one_model_call_form_one_message() {
        let import = read_lines(&[
            r#"{"type":"user","uuid":"u1","message":{"role":"user","content":"go"}}"#,
            r#"{"type":"assistant","uuid":"u2","message":{"id":"m","content":[{"type":"thinking","thinking":"hm","signature":"s"}]}}"#,
            r#"{"type":"assistant","uuid":"u3","message":{"id":"m","content":[{"type":"tool_use","id":"a","name":"Read","input":{"z":1,"b":2}}]}}"#,
            r#"{"type":"user","uuid":"u4","message":{"content":[{"type":"text","text":"more"},{"type":"tool_result","tool_use_id":"x","content":"?"}]},"isSidechain":true}"#,
            r#"{"type":"user","uuid":"u5","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"A"}]}}"#,
            r#"{"type":"assistant","uuid":"u6","message":{"id":"m","content":[{"type":"tool_use","id":"b","name":"Bash","input":{}}]}}"#,
            r#"{"type":"user","uuid":"u7","message":{"content":[{"type":"text","text":"stop"},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"Exit code 3\nno"}],"is_error":true}]}}"#,
        ]);
        let bodies: Vec<&Body> = messages(&import).into_iter().map(|m| &m.body).collect();
        let Body::Assistant { parts, calls, .. } = bodies[1] else { panic!("an assistant message") };
        assert_eq!(
            parts,
            &[AssistantPart::Reasoning { text: "hm".into(), signature: Some("s".into()), block: None }]
        );
        assert_eq!(calls.iter().map(|c| &*c.arguments).collect::<Vec<_>>(), [r#"{"z":1,"b":2}"#, "{}"]);
        assert_eq!(bodies[2], &Body::result("a", "A"));
        let Body::Tool(failed) = bodies[3] else { panic!("the result stands before the text") };
        assert_eq!((failed.is_error, failed.exit_code), (true, Some(3)));
        assert_eq!(bodies[4], &NewMessage::user("stop").body);
        assert_eq!(messages(&import)[4].external_id.as_deref(), Some("u7#2"));
        assert_eq!(import.skipped.len(), 1);
        assert!(import.skipped[0].reason.contains("side chain"));
    }

    #[test]
    fn source_compaction_is_never_a_user_message() {
        let import = read_lines(&[
            r#"{"type":"summary","summary":"A title","leafUuid":"x"}"#,
            r#"{"type":"user","uuid":"u1","message":{"content":"go"}}"#,
            r#"{"type":"assistant","uuid":"u2","message":{"id":"m","content":"done"}}"#,
            r#"{"type":"system","subtype":"compact_boundary","uuid":"u3","logicalParentUuid":"u2","compactMetadata":{"trigger":"auto","preTokens":160000}}"#,
            r#"{"type":"user","uuid":"u4","isCompactSummary":true,"message":{"content":"This session is being continued"}}"#,
            r#"{"type":"system","subtype":"compact_boundary","uuid":"u5"}"#,
        ]);
        assert_eq!(import.title.as_deref(), Some("A title"));
        assert_eq!(messages(&import).len(), 2);
        let expected = RecordedCompaction {
            standing: crate::Standing::Recorded,
            text: "This session is being continued".into(),
            tokens_before: Some(160_000),
            after_external_id: Some("m".into()),
        };
        assert_eq!(import.entries[2], Entry::Compaction(expected));
        assert_eq!(import.skipped[0].place, "line 6");
    }

    #[test]
    fn record_with_wrong_field_is_skipped_alone() {
        let import = read_lines(&[
            r#"{"type":"user","message":{"content":5}}"#,
            r#"{"type":"user","message":"text"}"#,
            r#"{"type":7}"#,
            r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","name":"Read"},{"type":"text","text":"kept"}]}}"#,
            r#"{"type":"file-history-snapshot","snapshot":{}}"#,
            r#"{"type":"assistant","isApiErrorMessage":true,"message":{"content":[{"type":"text","text":"API Error: 529"}]}}"#,
        ]);
        assert_eq!(messages(&import).len(), 2);
        assert!(matches!(&messages(&import)[1].body, Body::Event { kind, .. } if kind == "api_error"));
        let places: Vec<&str> = import.skipped.iter().map(|s| s.place.as_str()).collect();
        assert_eq!(places, ["line 1", "line 2", "line 3", "line 4, content[0]"]);
    }
}
