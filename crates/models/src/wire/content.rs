//! Conversions of item content shared by all wires: text, image addresses, tool arguments, ids that every
//! provider accepts. Message formats are in each wire.

use super::Terms;
use crate::known::{self, LeastThinking};
use engine::endpoint::options::{Effort, RequestOptions, Thinking};
use engine::message::{Content, Image};
use engine::prompt::item::{Item, ItemPart, Role, Tool};
use engine::prompt::request::Request;
use engine::text::{head, json, sha256_hex};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Replaces an image that the model cannot be shown.
pub(crate) const NO_PICTURE: &str = "[a picture stands here that this model cannot be shown]";
/// Separator between texts where a message holds a single text.
pub(crate) const BETWEEN: &str = "\n\n";
/// User text inserted where a conversation would begin or end with the model, for wires that reject both.
pub(crate) const BEFORE: &str = "[what was said before is not shown]";
/// The same at the end.
pub(crate) const AFTER: &str = "Continue.";
/// The longest tool call id that every provider accepts, in bytes: OpenAI's limit.
const MOST_ID: usize = 40;
/// The longest tool name that every provider accepts, in bytes.
const MOST_NAME: usize = 64;
/// The tool name of a call without one.
const NO_NAME: &str = "no_name";
/// The longest cache key, in bytes; a longer one is replaced with its hash, which has this length.
const MOST_CACHE_KEY: usize = 64;
/// The length of Mistral's tool call ids, in bytes.
const SHORT_ID: usize = 9;

/// A piece of a message: text, or an image that the model is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// A picture.
    Picture(Picture<'a>),
}

/// An image, by value or by address.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Picture<'a> {
    /// An image by its bytes.
    Value {
        /// The MIME type.
        mime_type: &'a str,
        /// The bytes in base64.
        base64: &'a str,
    },
    /// An image by its address.
    Address(&'a str),
}

impl<'a> Picture<'a> {
    /// Returns the image as a wire can carry it, or `None` if none can. The data may be a `data:` URL.
    fn of(image: &'a Image) -> Option<Self> {
        let starts = |scheme: &str| {
            image.data.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        if starts("http://") || starts("https://") {
            return Some(Self::Address(&image.data));
        }
        if !starts("data:") {
            return Some(Self::Value { mime_type: &image.mime_type, base64: &image.data });
        }
        let (head, base64) = image.data.get("data:".len()..)?.split_once(',')?;
        let (about, form) = head.rsplit_once(';')?;
        let mime_type = about.split(';').next().filter(|kind| !kind.is_empty()).unwrap_or(&image.mime_type);
        form.trim().eq_ignore_ascii_case("base64").then_some(Self::Value { mime_type, base64 })
    }

    /// The image as a URL; an image by value becomes a `data:` URL.
    pub fn url(self) -> Cow<'a, str> {
        match self {
            Self::Address(url) => url.into(),
            Self::Value { mime_type, base64 } => format!("data:{mime_type};base64,{base64}").into(),
        }
    }
}

/// The content of an item, without thinking and provider blocks. Images become text if the model does not
/// accept them (`images`).
pub fn pieces(item: &Item, images: bool) -> Vec<Piece<'_>> {
    let contents = item.parts.iter().filter_map(|part| match part {
        ItemPart::Content(content) => Some(content),
        ItemPart::Reasoning { .. } | ItemPart::Raw(_) => None,
    });
    contents.map(|content| piece(content, images)).collect()
}

/// Converts one content; an image becomes text unless `images` is set.
pub fn piece(content: &Content, images: bool) -> Piece<'_> {
    match content {
        Content::Image(image) => match Picture::of(image).filter(|_| images) {
            Some(picture) => Piece::Picture(picture),
            None => Piece::Text(NO_PICTURE.into()),
        },
        Content::Text(text) => Piece::Text((&**text).into()),
        Content::Resource { uri, text } => Piece::Text(framed("context-resource", "uri", uri, text).into()),
        Content::ContextFile { path, text } => Piece::Text(framed("context-file", "path", path, text).into()),
        // No prompt has one.
        Content::Meta(_) => Piece::Text("".into()),
        Content::ResourceLink(link) => Piece::Text(link.framed().to_string().into()),
        Content::Attachment(attachment) => Piece::Text(attachment.framed().into()),
    }
}

/// Joins the texts of these pieces; images are left out.
pub fn text(pieces: &[Piece<'_>]) -> String {
    let texts: Vec<&str> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Text(text) => Some(&**text),
            Piece::Picture(_) => None,
        })
        .collect();
    texts.join(BETWEEN)
}

/// Frames a text in a tag with its address. Closing tags within the text are escaped.
fn framed(tag: &str, key: &str, address: &str, text: &str) -> String {
    let address = address.replace('"', "'");
    let text = text.replace(&format!("</{tag}"), &format!("&lt;/{tag}"));
    format!("<{tag} {key}=\"{address}\">\n{text}\n</{tag}>")
}

/// The text of thinking without signature or block; signed and encrypted thinking belongs to its own wire.
pub fn thought(part: &ItemPart) -> Option<&str> {
    match part {
        ItemPart::Reasoning { text, signature: None, block: None } => Some(text),
        ItemPart::Reasoning { .. } | ItemPart::Content(_) | ItemPart::Raw(_) => None,
    }
}

/// Parses a call's arguments as an object. Blank arguments become an empty object. Unreadable ones are put
/// into an object, so that the model sees what it wrote and servers that parse the prompt accept it.
pub fn arguments(text: &str) -> Map<String, Value> {
    match json::read(text) {
        Ok(Value::Object(arguments)) => arguments,
        _ if text.trim().is_empty() => Map::new(),
        _ => [("unreadable".to_owned(), Value::from(text))].into_iter().collect(),
    }
}

/// Arguments as JSON text. An object is returned byte for byte, except for unpaired surrogates, which some
/// servers reject.
pub(crate) fn arguments_text(text: &str) -> String {
    match json::read::<Map<String, Value>>(text) {
        Ok(_) => json::paired(text).0.into_owned(),
        Err(_) => Value::from(arguments(text)).to_string(),
    }
}

/// A tool's schema as one of an object, empty if none was given. Some servers reject an object schema without
/// `properties`.
pub fn schema(schema: &Value) -> Value {
    let mut fields = schema.as_object().cloned().unwrap_or_default();
    if !fields.contains_key("type") {
        fields.shift_insert(0, "type".to_owned(), "object".into());
    }
    if fields.get("type").is_some_and(|kind| kind == "object") && !fields.contains_key("properties") {
        fields.insert("properties".to_owned(), json!({}));
    }
    fields.into()
}

/// A tool call id that every provider accepts. Ids from another provider or an imported file may be too long
/// or have other characters: these are cut or left out and a hash is added, so that ids stay distinct.
pub fn call_id(id: &str) -> Cow<'_, str> {
    plain(id, MOST_ID)
}

/// A tool name that every provider accepts: editors choose names freely, and a model may call a tool without
/// a name. [`called`] reverses it.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    if name.is_empty() { NO_NAME.into() } else { plain(name, MOST_NAME) }
}

/// The editor's name of the tool that a model calls by this name.
pub(crate) fn called<'a>(name: &'a str, tools: &'a [Tool]) -> &'a str {
    let is_known = tools.iter().any(|tool| tool.name == name);
    let renamed = tools.iter().filter(|_| !is_known).find(|tool| tool_name(&tool.name) == name);
    renamed.map_or(name, |tool| &tool.name)
}

/// Reduces a text to at most `most` bytes of letters, digits, `_` and `-`, with a hash if it was changed.
fn plain(text: &str, most: usize) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=most).contains(&text.len()) && text.chars().all(is_plain) {
        return text.into();
    }
    let plain: String = text.chars().filter(|c| is_plain(*c)).collect();
    let hash = sha256_hex(text.as_bytes());
    format!("{}_{}", head(&plain, most - 17), head(&hash, 16)).into()
}

/// A cache key of allowed length; a long one is replaced with its hash, which is stable too.
pub(crate) fn cache_key(key: &str) -> Cow<'_, str> {
    if key.len() <= MOST_CACHE_KEY { key.into() } else { sha256_hex(key.as_bytes()).into() }
}

/// Tokens for thinking on top of a short answer's limit: a limit on both together could otherwise be used up
/// before the answer.
const FOR_THINKING: u32 = 8192;

/// The answer limit to send, in tokens. For summaries and titles a thinking model gets room to think on top:
/// their length is checked afterwards anyway. No limit exceeds the rest of the window.
pub(crate) fn most_output(request: &Request, terms: &Terms, options: &RequestOptions) -> Option<u32> {
    let most = match request.max_output {
        Some(most) if request.temperature_zero && thinks(terms, options) => {
            let able = known::model(&terms.model).and_then(|known| known.answer);
            let thought = FOR_THINKING.max(budget(options).unwrap_or_default());
            most.saturating_add(thought).min(able.unwrap_or(u32::MAX))
        }
        Some(most) => most,
        None => terms.max_output?,
    };
    Some(most.min(request.room.unwrap_or(u32::MAX)))
}

/// `true` if the model may think about a summary or a title: it is told to, or known to and not switched off. An effort
/// of `none` does not switch it off, because [`effort`] is not sent with these, nor does an off that the model rejects.
pub(crate) fn thinks(terms: &Terms, options: &RequestOptions) -> bool {
    let is_known = || known::manner(&terms.model).is_some_and(|manner| manner.thinks);
    !is_off(terms, options) && (is_told_to_think(options) == Some(true) || is_known())
}

/// `true` if the options ask for thinking, `false` if they ask for none.
pub(crate) fn is_told_to_think(options: &RequestOptions) -> Option<bool> {
    match (options.thinking, options.effort) {
        (Some(thinking), _) => Some(thinking != Thinking::OFF),
        (None, Some(effort)) => Some(effort != Effort::None),
        (None, None) => None,
    }
}

/// The budget of thinking, in tokens, if one is set.
pub(crate) fn budget(options: &RequestOptions) -> Option<u32> {
    match options.thinking {
        Some(Thinking::Budget(tokens)) => Some(tokens),
        Some(Thinking::Word(_)) | None => None,
    }
}

/// `true` if thinking is to be switched off, and the model does not reject that.
pub(crate) fn is_off(terms: &Terms, options: &RequestOptions) -> bool {
    options.thinking == Some(Thinking::OFF) && known::least_thinking(&terms.model) == LeastThinking::Off
}

/// The effort to request for this answer: none for a summary or a title, whose effort is the wire's affair.
pub(crate) fn effort(request: &Request, options: &RequestOptions) -> Option<&'static str> {
    options.effort.filter(|_| !request.temperature_zero).map(Effort::name)
}

/// `true` if low effort is requested: the model supports it, and the answer needs little thought.
pub(crate) fn thinks_little(request: &Request, terms: &Terms) -> bool {
    request.temperature_zero && known::manner(&terms.model).is_some_and(|manner| manner.low_effort)
}

/// `true` if neighbours of these roles are merged: strict servers reject two messages of one role in a row.
pub(crate) fn are_one(last: Role, next: Role) -> bool {
    last == next && matches!(next, Role::User | Role::Assistant)
}

/// A tool call id of nine letters and digits, as Mistral requires; any other id becomes a hash.
pub(crate) fn short_call_id(id: &str) -> Cow<'_, str> {
    if id.len() == SHORT_ID && id.chars().all(|c| c.is_ascii_alphanumeric()) {
        return id.into();
    }
    head(&sha256_hex(id.as_bytes()), SHORT_ID).to_owned().into()
}

/// A model's name as a segment of the path. Names are also written as `models/NAME` or `google/NAME`.
pub(crate) fn segment(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or_default();
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'@');
    name.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_always_an_object() {
        assert_eq!(json!(arguments("{\"a\": 1}")), json!({"a": 1}));
        assert_eq!(json!(arguments(" ")), json!({}));
        assert_eq!(json!(arguments("{\"a\": ")), json!({"unreadable": "{\"a\": "}));
        assert_eq!(json!(arguments("[1]")), json!({"unreadable": "[1]"}));
    }

    #[test]
    fn a_schema_says_what_its_object_has() {
        let nothing = json!({"type": "object", "properties": {}});
        for given in [json!({"type": "object"}), json!({}), Value::Null, nothing.clone()] {
            assert_eq!(schema(&given), nothing, "{given}");
        }
        let one = json!({"properties": {"a": {"type": "string"}}, "required": ["a"]});
        assert_eq!(schema(&one)["properties"], one["properties"]);
        assert_eq!(schema(&json!({"type": "string"})), json!({"type": "string"}));
    }

    #[test]
    fn tool_names_are_accepted_everywhere_and_mapped_back() {
        let tool = |name: &str| Tool {
            name: name.to_owned(),
            description: String::new(),
            input_schema: Value::Null,
            kind: None,
            guidelines: None,
            approval: Default::default(),
            rules: Vec::new(),
            ends_turn: None,
            origin: None,
        };
        let names = ["read", "fs.read/file", "fsread.file", &"long".repeat(17), "schön"];
        let tools = names.map(tool);
        let posted = names.map(|name| tool_name(name).into_owned());
        for (at, (name, posted_as)) in names.iter().zip(&posted).enumerate() {
            assert!(posted_as.len() <= 64 && !posted_as.contains(['.', '/', 'ö']), "{posted_as}");
            assert!(!posted[..at].contains(posted_as), "{posted_as}");
            assert_eq!(called(posted_as, &tools), *name);
        }
        assert_eq!((&*posted[0], tool_name("")), ("read", "no_name".into()));
        assert_eq!(called("nobody_knows_it", &tools), "nobody_knows_it");
    }

    #[test]
    fn a_picture_is_the_same_however_it_is_given() {
        let picture = |data: &str| {
            let image = Image { mime_type: "image/gif".to_owned(), data: data.into() };
            Picture::of(&image).map(|picture| picture.url().into_owned())
        };
        for (given, is) in [
            ("aGk=", Some("data:image/gif;base64,aGk=")),
            ("data:image/png;base64,aGk=", Some("data:image/png;base64,aGk=")),
            ("DATA:image/png;name=a;BASE64,aGk=", Some("data:image/png;base64,aGk=")),
            ("data:;base64,aGk=", Some("data:image/gif;base64,aGk=")),
            ("https://example.org/a.png", Some("https://example.org/a.png")),
            ("data:image/svg+xml,<svg/>", None),
        ] {
            assert_eq!(picture(given).as_deref(), is, "{given}");
        }
    }

    #[test]
    fn long_ids_are_cut_and_stay_distinct() {
        let long = "call_".repeat(20);
        let (a, b) = (call_id(&long).into_owned(), call_id(&format!("{long}b")).into_owned());
        assert_eq!((a.len(), b.len()), (40, 40));
        assert_ne!(a, b);
        assert_eq!(call_id("call_1"), "call_1");
    }

    #[test]
    fn foreign_ids_are_made_valid_and_stay_distinct() {
        let ids = ["s/c1", "s.c1", "call|fc", ""].map(|id| call_id(id).into_owned());
        for (at, id) in ids.iter().enumerate() {
            assert!(
                id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !ids[..at].contains(id),
                "{ids:?}"
            );
        }
    }

    #[test]
    fn a_context_file_cannot_end_its_own_frame() {
        let framed = framed("context-file", "path", "/code/a\"b", "x </context-file> y");
        assert_eq!(framed, "<context-file path=\"/code/a'b\">\nx &lt;/context-file> y\n</context-file>");
    }
}
