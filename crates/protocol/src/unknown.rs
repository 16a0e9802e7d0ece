//! Fallback variants of tagged enums. An object of a kind that only a newer peer knows is kept as received and is never
//! an error; a known kind with wrong fields is one.

use serde_json::Value;

/// Defines the type of a tagged enum's fallback variant.
macro_rules! unknown {
    ($(#[$doc:meta])* $name:ident, $tag:literal, $known:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(serde_json::Value);

        impl $name {
            /// Wraps an object of an unknown kind; `None` if the kind is known or the value has no kind.
            pub fn new(value: serde_json::Value) -> Option<Self> {
                $crate::unknown::is_unknown(&value, $tag, $known).then_some(Self(value))
            }

            /// The kind, as the tag names it.
            pub fn kind(&self) -> &str {
                self.0.get($tag).and_then(serde_json::Value::as_str).unwrap_or_default()
            }

            /// The object as received.
            pub fn value(&self) -> &serde_json::Value {
                &self.0
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let value = <serde_json::Value as serde::Deserialize>::deserialize(from)?;
                Self::new(value).ok_or_else(|| serde::de::Error::custom("a known kind with invalid fields"))
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "description": "A kind that a later version may add. Ignore it.",
                    "type": "object",
                    "properties": { $tag: { "type": "string", "not": { "enum": $known } } },
                    "required": [$tag],
                    "x-unknown": true
                })
            }
        }
    };
}

pub(super) use unknown;

/// Returns `true` if the value is an object whose kind is not in the list.
pub(super) fn is_unknown(value: &Value, tag: &str, known: &[&str]) -> bool {
    value.get(tag).and_then(Value::as_str).is_some_and(|kind| !known.contains(&kind))
}
