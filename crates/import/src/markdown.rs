//! A session as Markdown, for people: messages in order, calls and results in fences, thinking as a
//! quotation. Not meant to be read back.

use engine::message::{AssistantPart, Body, Content, Message, is_note_of_text};
use std::fmt::Write as _;
use std::sync::Arc;

/// Writes messages as Markdown. Removed messages and records internal to the session are omitted.
pub fn export_markdown(title: Option<&str>, messages: &[Arc<Message>]) -> String {
    let mut out = format!("# {}\n", title.map_or_else(|| "Conversation".to_owned(), one_line));
    for message in messages {
        one(message, &mut out);
    }
    out
}

fn one(message: &Message, out: &mut String) {
    match &message.body {
        Body::User(parts) => {
            heading("User", message, out);
            parts.iter().for_each(|part| content(part, out));
        }
        Body::Assistant { parts, calls, .. } => {
            heading("Assistant", message, out);
            for part in parts {
                match part {
                    AssistantPart::Text(text) => paragraph(text, out),
                    AssistantPart::Reasoning { text, .. } => quotation(text, out),
                    AssistantPart::Raw(wire) if is_note_of_text(wire) => {}
                    AssistantPart::Raw(wire) => fenced("json", &wire.to_string(), out),
                }
            }
            for call in calls {
                paragraph(&format!("**Calls** `{}`", one_line(&call.name)), out);
                fenced("json", &call.arguments, out);
            }
        }
        Body::Tool(result) => {
            let failed = if result.is_error { ", which failed" } else { "" };
            let code = result.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
            paragraph(&format!("**Result**{failed}{code}"), out);
            for part in &result.content {
                match part {
                    Content::Text(text) => fenced("", text, out),
                    other => content(other, out),
                }
            }
        }
        Body::Event { .. } if message.is_removed() || message.is_source_keys() => {}
        Body::Event { kind, text } => {
            paragraph(&format!("*{}*", one_line(kind)), out);
            if !text.is_empty() {
                fenced("", text, out);
            }
        }
    }
}

fn heading(who: &str, message: &Message, out: &mut String) {
    let at = message.created_at.as_deref().map(|at| format!(", {at}")).unwrap_or_default();
    let _ = writeln!(out, "\n## {who}{at}");
}

fn content(part: &Content, out: &mut String) {
    match part {
        Content::Text(text) => paragraph(text, out),
        Content::Image(image) => paragraph(&format!("[picture, {}]", image.mime_type), out),
        Content::Resource { uri: name, text } | Content::ContextFile { path: name, text } => {
            paragraph(&format!("`{}`", one_line(name)), out);
            fenced("", text, out);
        }
        Content::Meta(_) => {}
        Content::ResourceLink(link) => paragraph(&link.framed(), out),
        Content::Attachment(attachment) => {
            paragraph(&format!("*{}*", one_line(&attachment.name)), out);
            fenced("", &attachment.text, out);
        }
    }
}

fn paragraph(text: &str, out: &mut String) {
    if !text.is_empty() {
        let _ = writeln!(out, "\n{text}");
    }
}

fn quotation(text: &str, out: &mut String) {
    if !text.is_empty() {
        out.push('\n');
        text.lines().for_each(|line| {
            let _ = writeln!(out, "> {line}");
        });
    }
}

/// A fenced block, with a fence longer than any run of backticks in the text.
fn fenced(language: &str, text: &str, out: &mut String) {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = writeln!(out, "\n{fence}{language}\n{text}{end}{fence}");
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::id::SessionId;
    use engine::message::source::SOURCE_KEYS;
    use engine::message::{NewMessage, ToolCall};
    use engine::tokens::QuarterOfChars;
    use engine::transcript::Transcript;

    #[test]
    fn markdown_fence_is_longer_than_backticks_in_text() {
        let mut transcript = Transcript::new(SessionId::new("s"));
        let call = ToolCall::new("c", "read", r#"{"path":"a.md"}"#);
        let said = [
            Body::User(vec![Content::Text("Show a.md.".into())]),
            Body::assistant("I look.", vec![call]),
            Body::result("c", "It has\n```rust\nfn a() {}\n```\nin it."),
            Body::Event { kind: SOURCE_KEYS.into(), text: "{}".into() },
        ];
        for body in said {
            transcript.append(NewMessage::new(body), &QuarterOfChars);
        }
        let text = export_markdown(Some("A\nfile"), transcript.messages());
        expect_test::expect![[r##"
            # A file

            ## User

            Show a.md.

            ## Assistant

            I look.

            **Calls** `read`

            ```json
            {"path":"a.md"}
            ```

            **Result**

            ````
            It has
            ```rust
            fn a() {}
            ```
            in it.
            ````
        "##]]
        .assert_eq(&text);
    }
}
