//! A place beside a transcript for a value that another module derives from its messages, so that it need not be derived
//! from the beginning again.

use std::any::Any;
use std::sync::{Arc, OnceLock};

type Value = Arc<dyn Any + Send + Sync>;

/// A value of any type, and the one that follows it, which is put once until the transcript takes it over.
#[derive(Debug, Default, Clone)]
pub(crate) struct Slot {
    value: Option<Value>,
    next: OnceLock<Value>,
}

impl Slot {
    /// The newest value, if there is one of this type.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.next.get().or(self.value.as_ref())?.clone().downcast().ok()
    }

    /// Puts the next value, unless there is one.
    pub fn put<T: Any + Send + Sync>(&self, value: T) {
        // The one that is there is as good to go on from.
        drop(self.next.set(Arc::new(value)));
    }

    /// Makes room for another value.
    pub fn advance(&mut self) {
        self.value = self.next.take().or(self.value.take());
    }

    /// Forgets the values.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
