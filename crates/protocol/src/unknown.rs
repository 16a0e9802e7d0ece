//! What a newer peer sends and this build does not know: kept as it came, so that an unknown kind is never an error,
//! while a known kind with wrong fields still is one.

use serde_json::Value;

/// Makes the type of the fallback variant of a tagged enum.
macro_rules! unknown {
    ($(#[$doc:meta])* $name:ident, $tag:literal, $known:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(serde_json::Value);

        impl $name {
            /// Takes an object whose kind is not known here; nothing, where it is known or is no such object.
            pub fn new(value: serde_json::Value) -> Option<Self> {
                $crate::unknown::is_unknown(&value, $tag, $known).then_some(Self(value))
            }

            /// The kind that it has.
            pub fn kind(&self) -> &str {
                self.0.get($tag).and_then(serde_json::Value::as_str).unwrap_or_default()
            }

            /// The object as it came.
            pub fn value(&self) -> &serde_json::Value {
                &self.0
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let value = <serde_json::Value as serde::Deserialize>::deserialize(from)?;
                Self::new(value).ok_or_else(|| serde::de::Error::custom("a known kind with wrong fields"))
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

/// Whether this is an object of a kind that is not in the list.
pub(super) fn is_unknown(value: &Value, tag: &str, known: &[&str]) -> bool {
    value.get(tag).and_then(Value::as_str).is_some_and(|kind| !known.contains(&kind))
}
