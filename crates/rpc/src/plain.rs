//! JSON values as they are written. serde_json reads an object whose first key is [`RESERVED`] as the JSON in that key's
//! string, which it parses with a new limit of depth: a message of some megabytes can nest that a thousand times and take
//! gigabytes of memory. Here such an object is an error.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// The key by which serde_json knows its own raw values.
pub(crate) const RESERVED: &str = "$serde_json::private::RawValue";

/// A value in which no object has the key [`RESERVED`].
#[derive(Debug, PartialEq)]
pub(crate) struct Plain(pub(crate) Value);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlainVisitor).map(Self)
    }
}

struct PlainVisitor;

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Plain(value)) = elements.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if key == RESERVED {
                return Err(A::Error::custom("a reserved key"));
            }
            let Plain(value) = entries.next_value()?;
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_other_value_is_read_as_serde_json_reads_it(value in any_value()) {
            let text = value.to_string();
            prop_assert_eq!(serde_json::from_str::<Plain>(&text).unwrap(), Plain(value));
        }
    }

    #[test]
    fn reserved_key_is_an_error_wherever_it_is() {
        for text in [
            r#"{"$serde_json::private::RawValue":"[1]"}"#,
            r#"{"$serde_json::private::RawValue":1}"#,
            r#"{"a":0,"$serde_json::private::RawValue":"[1]"}"#,
            r#"{"\u0024serde_json::private::RawV\u0061lue":"[1]"}"#,
            r#"[[{"a":{"$serde_json::private::RawValue":"[1]"}}]]"#,
        ] {
            let error = serde_json::from_str::<Plain>(text).unwrap_err();
            assert!(error.is_data(), "{text}: {error}");
        }
        let said = json!([RESERVED, { "a": RESERVED }]);
        assert_eq!(serde_json::from_str::<Plain>(&said.to_string()).unwrap(), Plain(said));
    }

    /// If this fails, serde_json has another key now, or needs none.
    #[test]
    fn serde_json_reads_what_the_reserved_key_holds() {
        let text = json!({ RESERVED: "[1]" }).to_string();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!([1]));
    }
}
