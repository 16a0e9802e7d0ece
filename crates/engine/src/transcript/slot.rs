//! A place beside a transcript for a value that another module derives from its messages, so that it need not be derived
//! from the beginning again.

use crate::id::Ordinal;
use std::any::Any;
use std::sync::{Arc, OnceLock};

/// A value and the end of what it was derived from: the first message that it does not depend on.
type Value = (Arc<dyn Any + Send + Sync>, Ordinal);

/// A value of any type, and the one that follows it, which is put once until the transcript takes it over.
#[derive(Debug, Default, Clone)]
pub(crate) struct Slot {
    value: Option<Value>,
    next: OnceLock<Value>,
}

impl Slot {
    /// The newest value, if there is one of this type.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let (value, _) = self.next.get().or(self.value.as_ref())?;
        value.clone().downcast().ok()
    }

    /// Puts the next value, unless there is one. It depends on no message from `end` on.
    pub fn put<T: Any + Send + Sync>(&self, value: T, end: Ordinal) {
        // The one that is there is as good to go on from.
        drop(self.next.set((Arc::new(value), end)));
    }

    /// Makes room for another value.
    pub fn advance(&mut self) {
        self.value = self.next.take().or(self.value.take());
    }

    /// Forgets the values that depend on a message from `from` on.
    pub fn truncate(&mut self, from: Ordinal) {
        let stays = |(_, end): &Value| *end <= from;
        self.value = self.value.take().filter(stays);
        self.next = self.next.take().filter(stays).map(OnceLock::from).unwrap_or_default();
    }

    /// Forgets the values.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
