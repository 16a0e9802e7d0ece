//! What a session tells whoever follows it: numbered events and the ring that keeps the newest of them for a follower
//! that missed some (source: 001). Their form on a wire is the protocol's.

use super::breaks::Announced;
use super::effect::{Reason, Refusal};
use super::input::Retry;
use super::queue::QueueItem;
use super::reconcile::Report;
use super::state::StateName;
use super::stored::TurnStatus;
use engine::compact::metadata::Persisted;
use engine::compact::record::{Compaction, Mode, Trigger};
use engine::delta::Delta;
use engine::id::{CompactionId, Generation, ItemId, MessageId, Ordinal, SessionId, TurnId};
use engine::message::{Body, Message, Text};
use engine::prompt::item::{Channel, SectionSize};
use engine::prompt::pins::Pin;
use engine::prompt::request::StopReason;
use engine::scope::Scope;
pub use engine::words::Phase;
use std::collections::VecDeque;
use std::sync::Arc;

/// Something that happened, with its number: one more than the event before it in the same stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// From 1 on.
    pub seq: u64,
    /// What happened.
    pub body: EventBody,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum EventBody {
    /// A model begins to answer.
    StreamStarted {
        /// The message that it will be.
        message: MessageId,
        /// Its turn.
        turn: TurnId,
    },
    /// It said a little more.
    StreamDelta {
        /// The message.
        message: MessageId,
        /// What it added, in order.
        deltas: Vec<Delta>,
    },
    /// It is done.
    StreamFinished {
        /// The message.
        message: MessageId,
        /// Why.
        stop: StopReason,
    },
    /// A message was added.
    MessageAdded(Arc<Message>),
    /// A message has other words.
    MessageUpdated(Arc<Message>),
    /// A message left.
    MessageRemoved {
        /// It.
        message: MessageId,
    },
    /// What waits changed.
    QueueUpdated {
        /// All of it, in the order in which it is carried out.
        items: Vec<QueueItem>,
        /// What could not be carried out when its turn came, and why.
        failed: Option<(ItemId, Refusal)>,
    },
    /// Messages left the session; a fork keeps them.
    MessagesTruncated {
        /// The first that left.
        from: Ordinal,
        /// Where they are now.
        fork: Option<SessionId>,
    },
    /// Title, settings, draft or what is shared changed: all of it as it is from now on.
    ThreadUpdated(Box<Thread>),
    /// The state changed.
    RuntimeUpdated {
        /// From now on.
        state: StateName,
        /// The turn that runs or ended.
        turn: Option<TurnId>,
        /// How it ended, where it did.
        ended: Option<TurnEnd>,
    },
    /// The model could not answer, and is asked again after a while. The state is as before.
    Retrying {
        /// What it is.
        state: StateName,
        /// The turn that runs.
        turn: Option<TurnId>,
        /// When, and why.
        retry: Retry,
    },
    /// Calls wait for the user.
    PauseRequired(Vec<Reason>),
    /// They wait no longer.
    PauseCleared,
    /// A compaction goes on.
    CompactionUpdated(Box<CompactionUpdate>),
    /// What a prompt weighs now, in tokens.
    ContextUpdated {
        /// The prompt.
        tokens: u32,
        /// Its limit.
        limit: u32,
        /// New tokens that fit before a compaction.
        until_compaction: u32,
        /// Its sections, each with the channel that it comes through.
        sections: Vec<(Channel, SectionSize)>,
        /// Who counted.
        estimator: String,
    },
    /// A prompt goes out that does not begin with the one before it (promise P9).
    PrefixBroken {
        /// Why.
        causes: Announced,
        /// Raw tokens from the start on that both share.
        reused: u32,
        /// Raw tokens that both could have shared, and that are read anew.
        lost: u32,
    },
    /// What became of a history that an editor brought.
    RestoreReported(Box<Report>),
}

/// What a session is, beside its messages and what runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Thread {
    /// Its title.
    pub title: Option<String>,
    /// Rises on reset.
    pub generation: Generation,
    /// What the user typed and did not send.
    pub draft: Option<Text>,
    /// What it shares.
    pub scope: Arc<Scope>,
    /// What the user pinned.
    pub pins: Vec<Pin>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// How.
    pub status: TurnStatus,
    /// Why it failed.
    pub error: Option<Refusal>,
    /// The tool by which it ended, where one ended it.
    pub ended_by: Option<String>,
    /// The summaries that were made in it, oldest first (source: 003).
    pub summaries: Vec<Persisted>,
}

/// A step of a compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionUpdate {
    /// The record that it is about, or that it is to be.
    pub id: CompactionId,
    /// Which.
    pub phase: Phase,
    /// The rung.
    pub mode: Option<Mode>,
    /// What started it.
    pub trigger: Trigger,
    /// Why a rung did not serve.
    pub reason: Option<String>,
    /// Tokens of the prompt before it, where they are known.
    pub tokens_before: Option<u32>,
    /// The record, once there is one.
    pub record: Option<(Compaction, Persisted)>,
    /// Where it was undone: the summaries that its turn still has, oldest first.
    pub left: Option<Vec<Persisted>>,
}

/// Events that are kept for followers.
const MOST_EVENTS: usize = 1024;
/// Bytes of text that they may hold together.
const MOST_BYTES: usize = 1024 * 1024;

/// The newest events of a stream.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ring {
    events: VecDeque<(Event, usize)>,
    bytes: usize,
    last: u64,
}

impl Ring {
    /// The number of the last event; 0 before the first.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Gives a happening its number and keeps it.
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

    /// All events after this one; nothing where some of them are no longer kept, or it was never told.
    pub fn since(&self, seq: u64) -> Option<Vec<Event>> {
        let first = self.events.front().map_or(self.last + 1, |(event, _)| event.seq);
        (seq <= self.last && seq + 1 >= first).then(|| {
            self.events.iter().map(|(event, _)| event).filter(|event| event.seq > seq).cloned().collect()
        })
    }
}

/// About as many bytes as its text has.
fn weight(body: &EventBody) -> usize {
    64 + match body {
        EventBody::StreamDelta { deltas, .. } => deltas.iter().map(Delta::bytes).sum(),
        EventBody::MessageAdded(message) | EventBody::MessageUpdated(message) => match &message.body {
            body @ Body::Assistant { beside, .. } => body.bytes() + beside.bytes(),
            body => body.bytes(),
        },
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

    fn said(text: &str) -> EventBody {
        EventBody::ThreadUpdated(Box::new(Thread { title: Some(text.into()), ..Thread::default() }))
    }

    /// rows: R26 R27
    #[test]
    fn a_follower_gets_what_it_missed_or_hears_that_it_is_gone() {
        let mut ring = Ring::default();
        assert_eq!(ring.since(0), Some(vec![]));
        let events: Vec<Event> = (0..3).map(|n| ring.push(said(&n.to_string()))).collect();
        assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(ring.since(1), Some(events[1..].to_vec()));
        assert_eq!(ring.since(3), Some(vec![]));
        assert_eq!(ring.since(4), None, "nobody was told of a fourth");
        for _ in 0..MOST_EVENTS {
            ring.push(said("more"));
        }
        assert_eq!(ring.since(2), None, "the third is gone");
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
