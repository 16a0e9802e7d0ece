//! The queue after a step: items keep their lanes and their order, enter once and leave once.

use super::Model;
use crate::effect::{Answer, Effect};
use crate::queue::{Accepted, MOST_QUEUED, QueueItem, Work};
use engine::id::{ItemId, MessageId};
use std::collections::BTreeSet;

impl Model {
    /// Checks a change of the queue: one item was added at the end of its lane, the first one was begun, or
    /// some were removed. Returns the messages of the requests begun.
    pub(super) fn queue_goes_to(&mut self, items: &[QueueItem]) -> Vec<MessageId> {
        assert!(items.len() <= MOST_QUEUED);
        let was = &self.mirror.view.queue;
        let stays = |item: &&QueueItem| items.iter().any(|now| now.id == item.id);
        let lanes: Vec<bool> = items.iter().map(|item| item.priority).collect();
        assert!(lanes.is_sorted_by(|a, b| a >= b), "what is urgent goes first");
        let kept: Vec<&QueueItem> = was.iter().filter(stays).collect();
        let old: Vec<&QueueItem> =
            items.iter().filter(|item| was.iter().any(|was| was.id == item.id)).collect();
        assert_eq!(kept, old, "what waits stays as it is and in its order");
        let new: Vec<usize> =
            (0..items.len()).filter(|at| !was.iter().any(|was| was.id == items[*at].id)).collect();
        let gone: Vec<&QueueItem> = was.iter().filter(|item| !stays(item)).collect();
        if let [at] = new[..] {
            assert!(gone.is_empty());
            assert!(!self.left.contains(&items[at].id), "an item that left comes again");
            assert!(items.get(at + 1).is_none_or(|next| items[at].priority && !next.priority));
            assert_eq!(Some(at), self.promised_place(&items[at].id), "the place that was told");
        }
        assert!(new.len() <= 1);
        let taken_out = self.taken_out();
        let mut begun = Vec::new();
        for item in gone {
            assert!(self.left.insert(item.id.clone()), "an item leaves once");
            if !taken_out.contains(&item.id) {
                assert_eq!(Some(&item.id), was.first().map(|first| &first.id), "the first one is begun");
                if let Work::Start { message, .. } = &item.work {
                    begun.push(message.clone());
                }
            }
        }
        begun
    }

    /// Returns the answers of the last step, also those that were never sent.
    fn answered(&self) -> impl Iterator<Item = &Answer> {
        self.bench.effects.iter().filter_map(|effect| match effect {
            Effect::Reply(_, answer) => answer.as_ref().as_ref().ok(),
            _ => None,
        })
    }

    /// Returns the queue position answered for an item of the last step.
    fn promised_place(&self, item: &ItemId) -> Option<usize> {
        let accepted =
            self.answered().filter_map(accepted).find(|accepted| accepted.item.as_ref() == Some(item))?;
        accepted.position.map(|position| position as usize - 1)
    }

    /// Returns the items that a command of the last step removed.
    fn taken_out(&self) -> BTreeSet<ItemId> {
        let gone = self.answered().filter_map(|answer| match answer {
            Answer::Reset(_, gone) | Answer::Dequeued(gone) | Answer::TurnCancelled(_, gone) => Some(gone),
            _ => None,
        });
        gone.flatten().map(|item| item.id.clone()).collect()
    }
}

pub(super) fn accepted(answer: &Answer) -> Option<&Accepted> {
    match answer {
        Answer::Accepted(accepted) | Answer::Reset(accepted, _) => Some(accepted),
        _ => None,
    }
}
