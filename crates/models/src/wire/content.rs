//! What all wires do alike with what an item holds: the text of a content, the address of a picture, arguments, an id
//! that a provider takes. The shape of a message is each wire's own.

use super::Terms;
use crate::known;
use engine::message::{Content, Image};
use engine::prompt::item::{Item, ItemPart, Role, Tool};
use engine::prompt::request::Request;
use engine::text::{head, json, sha256_hex};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Stands in the place of a picture that the model cannot be shown.
pub(crate) const NO_PICTURE: &str = "[a picture stands here that this model cannot be shown]";
/// Between texts of one message where a wire takes one text only.
pub(crate) const BETWEEN: &str = "\n\n";
/// The longest id of a call that every provider takes, in bytes: OpenAI's limit.
const MOST_ID: usize = 40;
/// The longest name of a tool that every provider takes, in bytes.
const MOST_NAME: usize = 64;
/// Stands for the name of a tool where a model called none.
const NO_NAME: &str = "no_name";
/// The longest cache key that is taken, in bytes: as long as a hash.
const MOST_CACHE_KEY: usize = 64;
/// The length of every id of a call that Mistral takes, in bytes.
const SHORT_ID: usize = 9;

/// What a message is made of once roles are settled: text, or a picture that the model is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// A picture.
    Picture(Picture<'a>),
}

/// A picture, however it was given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Picture<'a> {
    /// By its bytes.
    Value {
        /// What they are.
        media_type: &'a str,
        /// The bytes in base64.
        base64: &'a str,
    },
    /// By its address alone.
    Address(&'a str),
}

impl<'a> Picture<'a> {
    /// What the image is; nothing for what no wire can carry. Bytes may come as a `data:` address.
    fn of(image: &'a Image) -> Option<Self> {
        let starts = |scheme: &str| {
            image.data.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        if starts("http://") || starts("https://") {
            return Some(Self::Address(&image.data));
        }
        if !starts("data:") {
            return Some(Self::Value { media_type: &image.media_type, base64: &image.data });
        }
        let (head, base64) = image.data.get("data:".len()..)?.split_once(',')?;
        let (about, form) = head.rsplit_once(';')?;
        let media_type = about.split(';').next().filter(|kind| !kind.is_empty()).unwrap_or(&image.media_type);
        form.trim().eq_ignore_ascii_case("base64").then_some(Self::Value { media_type, base64 })
    }

    /// It as an address: a provider's form of pictures by value is a `data:` address.
    pub fn url(self) -> Cow<'a, str> {
        match self {
            Self::Address(url) => url.into(),
            Self::Value { media_type, base64 } => format!("data:{media_type};base64,{base64}").into(),
        }
    }
}

/// What this item says, without thinking and without a provider's own blocks. Pictures are pieces of their own where the
/// model sees them, and words about them where it does not.
pub fn pieces(item: &Item, images: bool) -> Vec<Piece<'_>> {
    let contents = item.parts.iter().filter_map(|part| match part {
        ItemPart::Content(content) => Some(content),
        ItemPart::Reasoning { .. } | ItemPart::Raw(_) => None,
    });
    contents.map(|content| piece(content, images)).collect()
}

/// What this content says.
pub fn piece(content: &Content, images: bool) -> Piece<'_> {
    match content {
        Content::Image(image) => match Picture::of(image).filter(|_| images) {
            Some(picture) => Piece::Picture(picture),
            None => Piece::Text(NO_PICTURE.into()),
        },
        Content::Text(text) => Piece::Text((&**text).into()),
        Content::Resource { uri, text } => Piece::Text(framed("context-resource", "uri", uri, text).into()),
        Content::ContextFile { path, text } => Piece::Text(framed("context-file", "path", path, text).into()),
        Content::Attachment(attachment) => Piece::Text(attachment.framed().into()),
    }
}

/// The texts of these pieces as one.
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

/// A text with its address. It cannot end its own frame.
fn framed(tag: &str, key: &str, address: &str, text: &str) -> String {
    let address = address.replace('"', "'");
    let text = text.replace(&format!("</{tag}"), &format!("&lt;/{tag}"));
    format!("<{tag} {key}=\"{address}\">\n{text}\n</{tag}>")
}

/// What was thought, where it is nothing but text: a signed or an encrypted block is its own wire's.
pub fn thought(part: &ItemPart) -> Option<&str> {
    match part {
        ItemPart::Reasoning { text, signature: None, block: None } => Some(text),
        ItemPart::Reasoning { .. } | ItemPart::Content(_) | ItemPart::Raw(_) => None,
    }
}

/// A call's arguments as an object. No arguments are an empty one; what cannot be read stands in one, so that a model
/// sees what it wrote and a server that reads its prompt does not stumble over it.
pub fn arguments(text: &str) -> Map<String, Value> {
    match json::read(text) {
        Ok(Value::Object(arguments)) => arguments,
        _ if text.trim().is_empty() => Map::new(),
        _ => [("unreadable".to_owned(), Value::from(text))].into_iter().collect(),
    }
}

/// Arguments as text: what is an object goes back byte for byte, but for unpaired surrogates, which not every server reads.
pub(crate) fn arguments_text(text: &str) -> String {
    match json::read::<Map<String, Value>>(text) {
        Ok(_) => json::paired(text).0.into_owned(),
        Err(_) => Value::from(arguments(text)).to_string(),
    }
}

/// A tool's schema, as that of an object; one without arguments where none was given. Some refuse an object that does not
/// say what it has, be it nothing.
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

/// An id of a call that every provider takes: a session may have begun with another one, or come from a file. A long one
/// is cut, and one of other characters goes without them, with a hash of it, so that two stay two.
pub fn call_id(id: &str) -> Cow<'_, str> {
    plain(id, MOST_ID)
}

/// The name of a tool as every provider takes it: an editor names its tools as it likes, and a model may call none by its
/// name. What a model then calls is named back by [`called`].
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    if name.is_empty() { NO_NAME.into() } else { plain(name, MOST_NAME) }
}

/// The name by which the tool is known that a model calls so.
pub(crate) fn called<'a>(name: &'a str, tools: &'a [Tool]) -> &'a str {
    let is_known = tools.iter().any(|tool| tool.name == name);
    let renamed = tools.iter().filter(|_| !is_known).find(|tool| tool_name(&tool.name) == name);
    renamed.map_or(name, |tool| &tool.name)
}

/// Text of letters, digits, `_` and `-` that is no longer than this, in bytes; what is such already stays.
fn plain(text: &str, most: usize) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=most).contains(&text.len()) && text.chars().all(is_plain) {
        return text.into();
    }
    let plain: String = text.chars().filter(|c| is_plain(*c)).collect();
    let hash = sha256_hex(text.as_bytes());
    format!("{}_{}", head(&plain, most - 17), head(&hash, 16)).into()
}

/// A name for a cache. One that is too long is another one, and still the same for the same prompt.
pub(crate) fn cache_key(key: &str) -> Cow<'_, str> {
    if key.len() <= MOST_CACHE_KEY { key.into() } else { sha256_hex(key.as_bytes()).into() }
}

/// What a model that thinks may think before a short answer, in tokens: a limit of both together that leaves none for
/// thinking leaves none for the answer.
const FOR_THINKING: u32 = 8192;

/// The limit that is told for an answer, in tokens, where one is. A summary's or a title's goes on top of what the model
/// may think before it, for how long those are is looked at anyway. No limit goes beyond what the window has left.
pub(crate) fn most_output(request: &Request, terms: &Terms) -> Option<u32> {
    let thinks = || known::manner(&terms.model).is_some_and(|manner| manner.thinks);
    let most = match request.max_output {
        Some(most) if request.temperature_zero && thinks() => {
            let able = known::model(&terms.model).and_then(|known| known.answer);
            most.saturating_add(FOR_THINKING).min(able.unwrap_or(u32::MAX))
        }
        Some(most) => most,
        None => terms.max_output?,
    };
    Some(most.min(request.room.unwrap_or(u32::MAX)))
}

/// Whether a model is told to think little: it can be, and the answer needs little thought.
pub(crate) fn thinks_little(request: &Request, terms: &Terms) -> bool {
    request.temperature_zero && known::manner(&terms.model).is_some_and(|manner| manner.low_effort)
}

/// Whether these two belong into one message: servers that are strict about roles take no two of one role in a row.
pub(crate) fn are_one(last: Role, next: Role) -> bool {
    last == next && matches!(next, Role::User | Role::Assistant)
}

/// An id for who takes those of nine letters and digits alone: one such as it came, any other as a hash of it.
pub(crate) fn short_call_id(id: &str) -> Cow<'_, str> {
    if id.len() == SHORT_ID && id.chars().all(|c| c.is_ascii_alphanumeric()) {
        return id.into();
    }
    head(&sha256_hex(id.as_bytes()), SHORT_ID).to_owned().into()
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
    fn names_of_tools_are_taken_everywhere_and_named_back() {
        let tool = |name: &str| Tool {
            name: name.to_owned(),
            description: String::new(),
            input_schema: Value::Null,
            kind: None,
            guidelines: None,
            approval: Default::default(),
            rules: Vec::new(),
            ends_turn: None,
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
            let image = Image { media_type: "image/gif".to_owned(), data: data.into() };
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
    fn long_ids_are_cut_and_stay_two() {
        let long = "call_".repeat(20);
        let (a, b) = (call_id(&long).into_owned(), call_id(&format!("{long}b")).into_owned());
        assert_eq!((a.len(), b.len()), (40, 40));
        assert_ne!(a, b);
        assert_eq!(call_id("call_1"), "call_1");
    }

    #[test]
    fn ids_of_others_are_ids_everywhere() {
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
