//! Results of calls, as a session keeps them. They are bounded: what is left out is said in words.

use engine::message::{Content, Image, ResourceLink, ToolResult};
use engine::text::{head, one_line, tail};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

/// Most bytes of all texts of a result, addresses and links included.
pub const MOST_TEXT: usize = 256 << 10;
/// Most bytes of an image, as base64.
pub const MOST_IMAGE: usize = 5 << 20;
/// Most parts of a result.
pub const MOST_PARTS: usize = 100;

/// Converts the result of a call. The caller fills in the call's id.
pub fn result(given: CallToolResult) -> ToolResult {
    let mut parts = Parts { content: Vec::new(), room: MOST_TEXT, left_out: 0 };
    let structured = given.structured_content.filter(|value| !says(&given.content, value));
    for block in given.content {
        parts.push(block);
    }
    if let Some(value) = structured {
        parts.text(&value.to_string());
    }
    ToolResult {
        content: parts.finished(),
        is_error: given.is_error.unwrap_or(false),
        ..ToolResult::default()
    }
}

/// Converts blocks to content of a message, with the bounds of a result.
pub fn parts(given: impl Iterator<Item = ContentBlock>) -> Vec<Content> {
    let mut parts = Parts { content: Vec::new(), room: MOST_TEXT, left_out: 0 };
    given.for_each(|block| parts.push(block));
    parts.finished()
}

/// `true` if a text says the structured content already, as servers do for clients that do not read it: as JSON, or as
/// the only field of an object.
fn says(content: &[ContentBlock], value: &Value) -> bool {
    let only = value.as_object().filter(|fields| fields.len() == 1).and_then(|fields| fields.values().next());
    let mut texts = content.iter().filter_map(ContentBlock::as_text).map(|text| text.text.as_str());
    texts.any(|text| {
        only.and_then(Value::as_str) == Some(text)
            || serde_json::from_str::<Value>(text).is_ok_and(|said| said == *value)
    })
}

struct Parts {
    content: Vec<Content>,
    /// Bytes left for texts.
    room: usize,
    /// Parts over the limit.
    left_out: usize,
}

impl Parts {
    fn push(&mut self, block: ContentBlock) {
        if self.content.len() == MOST_PARTS {
            self.left_out += 1;
            return;
        }
        match block {
            ContentBlock::Text(text) => self.text(&text.text),
            ContentBlock::Image(image) => self.image(image.mime_type, image.data),
            ContentBlock::Audio(audio) => {
                let words = format!(
                    "[audio left out: {}, {} bytes of base64]",
                    one_line(&audio.mime_type, 64),
                    audio.data.len()
                );
                self.text(&words);
            }
            ContentBlock::Resource(resource) => match resource.resource {
                ResourceContents::TextResourceContents { uri, text, .. } => {
                    let uri = one_line(&uri, 2048);
                    if self.has_room(uri.len()) {
                        let text = self.cut(&text).into();
                        self.content.push(Content::Resource { uri, text });
                    }
                }
                ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                    let mime_type = mime_type.unwrap_or_default();
                    self.text(&format!("[resource {}]", one_line(&uri, 2048)));
                    match mime_type.starts_with("image/") {
                        true => self.image(mime_type, blob),
                        false => self.text(&format!("[its {} bytes of base64 are left out]", blob.len())),
                    }
                }
                _ => self.text("[a resource of an unknown form is left out]"),
            },
            ContentBlock::ResourceLink(link) => {
                let short = |text: &str| one_line(text, 2048);
                let link = ResourceLink {
                    uri: short(&link.uri),
                    name: short(&link.name),
                    title: link.title.as_deref().map(short),
                    description: link.description.as_deref().map(short),
                    mime_type: link.mime_type.as_deref().map(short),
                    size: link.size,
                };
                let more = [&link.title, &link.description, &link.mime_type].into_iter().flatten();
                let bytes = link.uri.len() + link.name.len() + more.map(String::len).sum::<usize>();
                if self.has_room(bytes) {
                    self.content.push(Content::ResourceLink(link));
                }
            }
            _ => self.text("[content of an unknown form is left out]"),
        }
    }

    fn image(&mut self, mime_type: String, data: String) {
        let is_base64 = data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=\r\n".contains(&byte));
        let why = if data.len() > MOST_IMAGE {
            format!("it has {} bytes of base64 and the limit is {MOST_IMAGE}", data.len())
        } else if !["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&mime_type.as_str()) {
            format!("models are shown PNG, JPEG, GIF and WebP, and this is {:?}", one_line(&mime_type, 64))
        } else if !is_base64 {
            "its data are not base64".to_owned()
        } else {
            self.content.push(Content::Image(Image { mime_type, data: data.into() }));
            return;
        };
        self.text(&format!("[image left out: {why}]"));
    }

    fn text(&mut self, text: &str) {
        let text = self.cut(text).into();
        self.content.push(Content::Text(text));
    }

    /// The beginning and the end of a text, within the room that is left.
    fn cut(&mut self, text: &str) -> String {
        if text.len() <= self.room {
            self.room -= text.len();
            return text.to_owned();
        }
        let end = tail(text, self.room / 4);
        let begin = head(text, self.room - end.len());
        let more = text.len() - begin.len() - end.len();
        self.room = 0;
        format!("{begin}\n[{more} bytes left out: a result may have {MOST_TEXT} bytes of text]\n{end}")
    }

    /// Takes room for a text that is not cut. Returns `false` if there is none.
    fn has_room(&mut self, bytes: usize) -> bool {
        let left = self.room.checked_sub(bytes);
        self.room = left.unwrap_or(self.room);
        self.left_out += usize::from(left.is_none());
        left.is_some()
    }

    fn finished(mut self) -> Vec<Content> {
        if self.left_out > 0 {
            let words = format!(
                "[{} more parts left out: a result may have {MOST_PARTS} and {MOST_TEXT} bytes of text]",
                self.left_out
            );
            self.content.push(Content::Text(words.into()));
        }
        self.content
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> ToolResult {
        result(serde_json::from_value(value).unwrap())
    }

    fn text(text: &str) -> Content {
        Content::Text(text.into())
    }

    #[test]
    fn each_kind_of_content_is_kept_or_described() {
        let all = read(json!({ "isError": true, "content": [
            { "type": "text", "text": "a" },
            { "type": "image", "mimeType": "image/png", "data": "iVBORw0=" },
            { "type": "image", "mimeType": "image/svg+xml", "data": "iVBORw0=" },
            { "type": "image", "mimeType": "image/png", "data": "<svg>" },
            { "type": "audio", "mimeType": "audio/wav", "data": "UklGRg==" },
            { "type": "resource", "resource": { "uri": "file:///a", "text": "b" } },
            { "type": "resource", "resource": { "uri": "file:///c", "mimeType": "application/pdf", "blob": "JVBERg==" } },
            { "type": "resource_link", "uri": "file:///d", "name": "d" },
        ] }));
        let link = ResourceLink {
            uri: "file:///d".to_owned(),
            name: "d".to_owned(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
        };
        let expected = vec![
            text("a"),
            Content::Image(Image { mime_type: "image/png".to_owned(), data: "iVBORw0=".into() }),
            text("[image left out: models are shown PNG, JPEG, GIF and WebP, and this is \"image/svg+xml\"]"),
            text("[image left out: its data are not base64]"),
            text("[audio left out: audio/wav, 8 bytes of base64]"),
            Content::Resource { uri: "file:///a".to_owned(), text: "b".into() },
            text("[resource file:///c]"),
            text("[its 8 bytes of base64 are left out]"),
            Content::ResourceLink(link),
        ];
        assert_eq!(all, ToolResult { content: expected, is_error: true, ..ToolResult::default() });
    }

    #[test]
    fn structured_content_is_said_once() {
        let same =
            json!({ "content": [{ "type": "text", "text": "{\"a\": 1}" }], "structuredContent": { "a": 1 } });
        assert_eq!(read(same).content, [text("{\"a\": 1}")]);
        let only =
            json!({ "content": [{ "type": "text", "text": "b" }], "structuredContent": { "result": "b" } });
        assert_eq!(read(only).content, [text("b")]);
        let alone = json!({ "content": [], "structuredContent": { "a": 1 } });
        assert_eq!(read(alone).content, [text("{\"a\":1}")]);
        let other = json!({ "content": [{ "type": "text", "text": "done" }], "structuredContent": [2] });
        assert_eq!(read(other).content, [text("done"), text("[2]")]);
    }

    #[test]
    fn large_results_are_bounded_with_words() {
        let long = "é".repeat(MOST_TEXT);
        let parts = json!([{ "type": "text", "text": long }, { "type": "text", "text": "behind" }]);
        let Content::Text(first) = &read(json!({ "content": parts })).content[0] else { panic!() };
        assert_eq!(
            first.trim_matches('é'),
            "\n[262144 bytes left out: a result may have 262144 bytes of text]\n"
        );
        let link = json!({ "type": "resource_link", "uri": "u".repeat(2048), "name": "n".repeat(2048) });
        let links = read(json!({ "content": vec![link; MOST_PARTS] })).content;
        assert_eq!(links.len(), MOST_TEXT / 4096 + 1);
        assert_eq!(
            links.last(),
            Some(&text("[36 more parts left out: a result may have 100 and 262144 bytes of text]"))
        );
        let many: Vec<Value> = (0..MOST_PARTS + 3).map(|_| json!({ "type": "text", "text": "x" })).collect();
        let content = read(json!({ "content": many })).content;
        assert_eq!(content.len(), MOST_PARTS + 1);
        assert_eq!(
            content.last(),
            Some(&text("[3 more parts left out: a result may have 100 and 262144 bytes of text]"))
        );
        let image = json!([{ "type": "image", "mimeType": "image/png", "data": "A".repeat(MOST_IMAGE + 1) }]);
        assert_eq!(
            read(json!({ "content": image })).content,
            [text("[image left out: it has 5242881 bytes of base64 and the limit is 5242880]")]
        );
    }
}
