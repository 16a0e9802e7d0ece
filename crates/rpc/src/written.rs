//! Results that are JSON text already. tower-lsp's responses hold parsed values, which cost as much to make as to write.
//! A handler leaves the text here and returns what stands for it; the transport writes the text in its place.

use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The place between the handlers and the transport of one connection.
#[derive(Debug, Clone, Default)]
pub struct WrittenResults(Arc<Mutex<Left>>);

#[derive(Debug, Default)]
struct Left {
    /// The number of the newest result.
    number: u64,
    /// The newest result, until the transport takes it.
    text: Option<Box<RawValue>>,
}

impl WrittenResults {
    /// Leaves a result for the transport. The handler must return the returned value at once: the next result takes
    /// the place of one that was not taken. The value is a number, so no handler beside it may have a number as its
    /// own result.
    #[must_use]
    pub fn leave(&self, text: Box<RawValue>) -> Value {
        let mut left = self.left();
        *left = Left { number: left.number + 1, text: Some(text) };
        left.number.into()
    }

    /// Takes the result that this value stands for; `None` if the value is the result itself.
    pub(crate) fn take(&self, value: &Value) -> Option<Box<RawValue>> {
        let number = value.as_u64()?;
        let mut left = self.left();
        (left.number == number).then(|| left.text.take()).flatten()
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        // Each change is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_newest_result_is_taken_once() {
        let results = WrittenResults::default();
        let text = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let dropped = results.leave(text("1"));
        let taken = results.leave(text(r#"{"a":1}"#));
        for other in [dropped, json!({}), Value::Null, json!(7)] {
            assert!(results.take(&other).is_none(), "{other}");
        }
        assert_eq!(results.take(&taken).map(|text| text.get().to_owned()).as_deref(), Some(r#"{"a":1}"#));
        assert!(results.take(&taken).is_none());
    }
}
