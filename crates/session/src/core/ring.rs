//! The newest events of a stream, for subscribers that missed some.

use crate::values::event::{Event, EventBody};
use crate::values::queue::QueueItem;
use engine::delta::Delta;
use engine::message::Body;
use std::collections::VecDeque;

/// Events kept, at most.
const MOST_EVENTS: usize = 1024;
/// Bytes of text in the kept events, at most.
const MOST_BYTES: usize = 1024 * 1024;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Ring {
    events: VecDeque<(Event, usize)>,
    bytes: usize,
    last: u64,
}

impl Ring {
    /// The number of the last event; 0 before the first.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Numbers an event and keeps it.
    pub fn push(&mut self, body: EventBody) -> Event {
        self.last += 1;
        let event = Event { seq: self.last, body };
        let bytes = weight(&event.body);
        self.bytes += bytes;
        self.events.push_back((event.clone(), bytes));
        while self.events.len() > MOST_EVENTS || self.bytes > MOST_BYTES {
            let Some((_, bytes)) = self.events.pop_front() else { break };
            self.bytes -= bytes;
        }
        event
    }

    /// The events after `seq`; `None` if some are no longer kept, or there was none of this number.
    pub fn since(&self, seq: u64) -> Option<Vec<Event>> {
        let first = self.events.front().map_or(self.last + 1, |(event, _)| event.seq);
        (seq <= self.last && seq + 1 >= first).then(|| {
            self.events.iter().map(|(event, _)| event).filter(|event| event.seq > seq).cloned().collect()
        })
    }
}

/// Approximate size of an event, in bytes.
fn weight(body: &EventBody) -> usize {
    64 + match body {
        EventBody::StreamDelta { deltas, .. } => deltas.iter().map(Delta::bytes).sum(),
        EventBody::MessageAdded(message, _) | EventBody::MessageUpdated(message, _) => match &message.body {
            body @ Body::Assistant { beside, .. } => body.bytes() + beside.bytes(),
            body => body.bytes(),
        },
        EventBody::ToolProgress { progress, .. } => progress.message.as_ref().map_or(0, String::len),
        EventBody::QueueUpdated { items, .. } => items.iter().map(QueueItem::weight).sum(),
        EventBody::ThreadUpdated(thread) => thread.draft.as_ref().map_or(0, |draft| draft.len()),
        EventBody::CompactionUpdated(update) => {
            update.record.as_ref().map_or(0, |(record, metadata)| record.block.len() + metadata.weight())
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::event::Thread;
    use engine::id::MessageId;

    fn said(text: &str) -> EventBody {
        EventBody::ThreadUpdated(Box::new(Thread { title: Some(text.into()), ..Thread::default() }))
    }

    #[test]
    fn subscriber_gets_missed_events_unless_some_are_dropped() {
        let mut ring = Ring::default();
        assert_eq!(ring.since(0), Some(vec![]));
        let events: Vec<Event> = (0..3).map(|n| ring.push(said(&n.to_string()))).collect();
        assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(ring.since(1), Some(events[1..].to_vec()));
        assert_eq!(ring.since(3), Some(vec![]));
        assert_eq!(ring.since(4), None, "there was no fourth event");
        for _ in 0..MOST_EVENTS {
            ring.push(said("more"));
        }
        assert_eq!(ring.since(2), None, "the third event was dropped");
        assert_eq!(ring.since(3).map(|events| events.len()), Some(MOST_EVENTS));
    }

    #[test]
    fn large_events_push_older_ones_out() {
        let mut ring = Ring::default();
        for _ in 0..10 {
            let delta = Delta::AppendContent("x".repeat(300_000));
            ring.push(EventBody::StreamDelta { message: MessageId::new("m"), deltas: vec![delta] });
        }
        assert_eq!(ring.since(0), None);
        assert_eq!(ring.since(8).map(|events| events.len()), Some(2));
        assert!(ring.bytes <= MOST_BYTES);
    }
}
