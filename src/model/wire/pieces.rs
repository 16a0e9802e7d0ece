//! Pieces of a prompt that every wire puts into words alike: pictures, files, arguments, ids of calls, and whose block a
//! provider's block is. What a wire makes of them is the wire's.

use crate::engine::message::{Content, Image, MADE_BY, Text};
use crate::engine::session::endpoint::Wire;
use crate::engine::text::{head, sha256_hex};
use serde_json::{Map, Value, json};

/// What stands for a picture where the model sees none.
const UNSEEN: &str = "[a picture, which this model cannot see]";

/// The longest id of a call that every provider takes, in bytes.
const MOST_CALL_ID: usize = 64;

/// What a wire can carry of a user's words or a tool's.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece<'a> {
    /// Text; never empty.
    Text(Text),
    /// A picture by its address.
    ImageAt(&'a str),
    /// A picture by value.
    Image {
        /// Such as `image/png`.
        media_type: &'a str,
        /// Base64.
        data: &'a str,
    },
}

/// Content as a wire can carry it; nothing for an empty text. `images` is whether the model sees pictures.
pub(super) fn piece(content: &Content, images: bool) -> Option<Piece<'_>> {
    let text = match content {
        Content::Image(image) if images => return Some(picture(image)),
        Content::Image(_) => UNSEEN.into(),
        Content::Text(text) => text.clone(),
        Content::Resource { uri: name, text } | Content::ContextFile { path: name, text } => {
            file(name, text).into()
        }
        Content::Attachment(attachment) => attachment.framed().into(),
    };
    (!text.trim().is_empty()).then_some(Piece::Text(text))
}

fn picture(image: &Image) -> Piece<'_> {
    let data = &*image.data;
    if let Some((head, data)) = data.strip_prefix("data:").and_then(|data| data.split_once(";base64,")) {
        return Piece::Image { media_type: head, data };
    }
    match data.starts_with("http://") || data.starts_with("https://") {
        true => Piece::ImageAt(data),
        false => Piece::Image { media_type: &image.media_type, data },
    }
}

/// A file as text, so framed that its end is not in question.
fn file(name: &str, text: &str) -> String {
    let name = name.replace(['"', '\n'], "'");
    let text = text.replace("</file", "&lt;/file");
    format!("<file name=\"{name}\">\n{text}\n</file>")
}

/// The address of a picture, whichever way it is given.
pub(super) fn address(piece: &Piece<'_>) -> Option<String> {
    match piece {
        Piece::Text(_) => None,
        Piece::ImageAt(address) => Some((*address).to_owned()),
        Piece::Image { media_type, data } => Some(format!("data:{media_type};base64,{data}")),
    }
}

/// Arguments as an object: none is `{}`, and what is no object stands whole under a key, so that a model sees what it
/// wrote and a provider takes it.
pub(super) fn arguments(text: &str) -> Map<String, Value> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => map,
        _ if text.trim().is_empty() => Map::new(),
        _ => Map::from_iter([("unreadable_arguments".to_owned(), json!(text))]),
    }
}

/// A schema as every provider takes it: that of an object.
pub(super) fn schema(schema: &Value) -> Value {
    match schema {
        Value::Object(map) if map.contains_key("type") => schema.clone(),
        Value::Object(map) => {
            let mut map = map.clone();
            map.shift_insert(0, "type".to_owned(), json!("object"));
            Value::Object(map)
        }
        _ => json!({ "type": "object", "properties": {} }),
    }
}

/// The id of a call as every provider takes it: the same one wherever that goes, for a session may have begun with
/// another provider. Two ids never become one.
pub(super) fn call_id(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.len() <= MOST_CALL_ID && id.chars().all(is_plain) {
        return id.to_owned();
    }
    let plain: String = id.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    format!("{}_{}", head(&plain, 32), head(&sha256_hex(id.as_bytes()), 16))
}

/// Who made a block, as [`MADE_BY`] says it.
pub(super) fn maker(wire: Wire, model: &str) -> String {
    format!("{}/{model}", wire.name())
}

/// Whether a block is of this wire and, where `model` is given, of this model. A block of nobody in particular, from a
/// client or an import, may be anybody's: its form must tell.
pub(super) fn is_of(block: &Map<String, Value>, wire: Wire, model: Option<&str>) -> bool {
    match (block.get(MADE_BY).and_then(Value::as_str), model) {
        (None, _) => true,
        (Some(made_by), Some(model)) => made_by == maker(wire, model),
        (Some(made_by), None) => made_by.split('/').next() == Some(wire.name()),
    }
}

/// The text under a key; none where there is no text.
pub(super) fn text_of<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// The number under a key.
pub(super) fn number_of(value: &Value, key: &str) -> Option<u32> {
    value.get(key).and_then(Value::as_u64).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stay_where_they_can_and_differ_where_they_cannot() {
        assert_eq!(call_id("toolu_01-x"), "toolu_01-x");
        let ids = ["a.b", "a:b", "", "call|fc", &"x".repeat(65), &"x".repeat(66)].map(call_id);
        assert!(ids.iter().all(|id| id.len() <= MOST_CALL_ID && *id == call_id(id)), "{ids:?}");
        for (at, id) in ids.iter().enumerate() {
            assert!(!ids[..at].contains(id), "{ids:?}");
        }
    }

    #[test]
    fn arguments_are_an_object_whatever_came() {
        let object = |text| Value::Object(arguments(text)).to_string();
        assert_eq!(object(r#"{"b":1,"a":2}"#), r#"{"b":1,"a":2}"#);
        assert_eq!(object(" "), "{}");
        assert_eq!(object("[1]"), r#"{"unreadable_arguments":"[1]"}"#);
        assert_eq!(object(r#"{"a":"#), r#"{"unreadable_arguments":"{\"a\":"}"#);
    }

    #[test]
    fn pictures_come_by_address_by_value_and_as_words() {
        let image = |data: &str| Content::Image(Image { media_type: "image/png".into(), data: data.into() });
        let seen = |content: &Content| piece(content, true).and_then(|piece| address(&piece));
        assert_eq!(seen(&image("https://x/y.png")).as_deref(), Some("https://x/y.png"));
        assert_eq!(seen(&image("AAAA")).as_deref(), Some("data:image/png;base64,AAAA"));
        assert_eq!(seen(&image("data:image/gif;base64,BBBB")).as_deref(), Some("data:image/gif;base64,BBBB"));
        assert_eq!(piece(&image("AAAA"), false), Some(Piece::Text(UNSEEN.into())));
        assert_eq!(piece(&Content::Text(" ".into()), true), None);
    }
}
