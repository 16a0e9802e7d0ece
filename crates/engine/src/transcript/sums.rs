//! Running sums over the messages of a transcript, so that a question about a range or about the newest message of a
//! kind visits few of them.

use crate::id::Ordinal;
use crate::message::{Body, Message};
use crate::text::hex;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

/// Messages between two kept states of the running hash.
const BETWEEN_HASHES: usize = if cfg!(test) { 8 } else { 256 };

/// Sums over all messages before a position.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    /// Messages that a model may see.
    shown: u32,
    /// Those of them that are not answers.
    heard: u32,
    /// Tokens of those that a model may see.
    tokens: u64,
}

/// The sums of a transcript.
#[derive(Clone)]
pub struct Sums {
    /// Before each message, and after the last one.
    sums: Vec<Sum>,
    /// The hash of all messages' hashes so far.
    hash: Sha256,
    /// The same before each message whose position is a multiple of [`BETWEEN_HASHES`].
    hashes: Vec<Sha256>,
    /// The newest message with a time.
    dated: Option<Ordinal>,
    /// The newest answer with usage.
    reported: Option<Ordinal>,
    /// Results of refused calls with words of the user.
    refusals: Vec<Ordinal>,
}

impl Default for Sums {
    fn default() -> Self {
        let (hash, hashes) = (Sha256::new(), Vec::new());
        let (dated, reported, refusals) = (None, None, Vec::new());
        Self { sums: vec![Sum::default()], hash, hashes, dated, reported, refusals }
    }
}

impl fmt::Debug for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sums").field(&self.at(Ordinal(u32::MAX))).finish()
    }
}

impl Sums {
    /// Adds the next message.
    pub(super) fn push(&mut self, message: &Message) {
        let (mut sum, at) = (self.at(Ordinal(u32::MAX)), self.sums.len() - 1);
        if at.is_multiple_of(BETWEEN_HASHES) {
            self.hashes.push(self.hash.clone());
        }
        self.hash.update(&message.hash);
        let here = Some(message.ord);
        self.dated = here.filter(|_| is_dated(message)).or(self.dated);
        self.reported = here.filter(|_| reports_usage(message)).or(self.reported);
        if !message.is_hidden() {
            sum.shown += 1;
            sum.heard += u32::from(!matches!(message.body, Body::Assistant { .. }));
            sum.tokens += u64::from(message.tokens);
        }
        self.sums.push(sum);
    }

    /// Forgets all but these messages, the first ones of those added.
    pub(super) fn truncate(&mut self, messages: &[Arc<Message>]) {
        let end = messages.len();
        self.sums.truncate(end + 1);
        let at = end / BETWEEN_HASHES;
        if let Some(known) = self.hashes.get(at) {
            self.hash = known.clone();
            let rest = messages.get(at * BETWEEN_HASHES..).unwrap_or_default();
            rest.iter().for_each(|message| self.hash.update(&message.hash));
        }
        self.hashes.truncate(end.div_ceil(BETWEEN_HASHES));
        let is_kept = |ord: &Ordinal| ord.index() < end;
        self.refusals.truncate(self.refusals.partition_point(is_kept));
        let newest = |is_one: fn(&Message) -> bool| {
            messages.iter().rev().find(|message| is_one(message)).map(|message| message.ord)
        };
        if !self.dated.iter().all(is_kept) {
            self.dated = newest(is_dated);
        }
        if !self.reported.iter().all(is_kept) {
            self.reported = newest(reports_usage);
        }
    }

    /// The number of messages from `from` on that a model may see, excluded ones included.
    pub fn shown_from(&self, from: Ordinal) -> u32 {
        self.at(Ordinal(u32::MAX)).shown - self.at(from).shown
    }

    /// The tokens of the messages from `from` on that a model may see, excluded ones included.
    pub fn tokens_from(&self, from: Ordinal) -> u32 {
        let tokens = self.at(Ordinal(u32::MAX)).tokens - self.at(from).tokens;
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }

    /// The number of messages of users and tools that a model may see.
    pub fn heard(&self) -> usize {
        self.at(Ordinal(u32::MAX)).heard as usize
    }

    /// The newest message with a time.
    pub fn newest_dated(&self) -> Option<Ordinal> {
        self.dated
    }

    /// The newest answer with usage.
    pub fn newest_with_usage(&self) -> Option<Ordinal> {
        self.reported
    }

    /// The results of refused calls with words of the user, within this inclusive range.
    pub fn refusals(&self, from: Ordinal, to: Ordinal) -> &[Ordinal] {
        let start = self.refusals.partition_point(|ord| *ord < from);
        let end = self.refusals.partition_point(|ord| *ord <= to);
        self.refusals.get(start..end).unwrap_or_default()
    }

    /// Adds the result of a refused call with words of the user.
    pub(super) fn push_refusal(&mut self, ord: Ordinal) {
        self.refusals.push(ord);
    }

    /// The hash of the hashes of these messages in the inclusive range.
    pub(super) fn source_hash(&self, messages: &[Arc<Message>], from: Ordinal, to: Ordinal) -> String {
        let end = to.index().saturating_add(1).min(messages.len());
        // From the first message on, most of it is known.
        let at = (end / BETWEEN_HASHES).min(self.hashes.len().saturating_sub(1));
        let known = self.hashes.get(at).filter(|_| from == Ordinal(0));
        let (mut hash, start) = match known {
            Some(known) => (known.clone(), at * BETWEEN_HASHES),
            None => (Sha256::new(), from.index()),
        };
        let rest = messages.get(start..end).unwrap_or_default();
        rest.iter().for_each(|message| hash.update(&message.hash));
        hex(&hash.finalize())
    }

    /// The sums before this position; those of everything past the end.
    fn at(&self, ord: Ordinal) -> Sum {
        self.sums.get(ord.index()).or(self.sums.last()).copied().unwrap_or_default()
    }
}

fn is_dated(message: &Message) -> bool {
    message.created_at.is_some()
}

fn reports_usage(message: &Message) -> bool {
    matches!(&message.body, Body::Assistant { beside, .. } if beside.usage.is_some())
}
