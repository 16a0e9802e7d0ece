//! Conversations from elsewhere (source: 001, RestoreFromTrajectory): one that an empty session takes in, and a copy of
//! this one that somebody changed. What the change takes away stays in a fork. Where they lie is not known here.

use super::Step;
use super::breaks::BreakCause;
use super::effect::{Answer, Refusal};
use super::input::{ReplyTo, Restore, TakeIn, Taken};
use super::queue::Accepted;
use super::state::{Rest, State};
use super::stored::{Driver, TitleFrom, TurnStatus};
use engine::id::Ordinal;
use engine::message::{Body, Message};
use engine::transcript::Transcript;

/// What a changed copy has that we have not.
#[derive(Debug, Default, PartialEq)]
struct Difference {
    /// Messages that say something else, with what they say.
    other_words: Vec<(Ordinal, Body)>,
    /// Ours from here on are not in it.
    cut: Option<Ordinal>,
    /// Its messages from here on are not ours.
    from: usize,
}

impl Step<'_> {
    /// An empty session takes a conversation in. What its calls asked for is not run.
    pub(super) fn restore(&mut self, reply: ReplyTo, restore: Restore) {
        if !self.session.transcript.messages().is_empty() {
            return self.reply(reply, Err(Refusal::NotEmpty));
        }
        if let Some(title) = restore.title {
            self.session.head.title = Some(title);
            self.session.head.title_from = Some(TitleFrom::Client);
        }
        self.write_head();
        self.append_all(restore.messages);
        self.end_running();
        let last = self.session.turns.len().saturating_sub(1);
        let summaries: Vec<_> = restore.summaries.into_iter().map(|summary| (last, summary)).collect();
        self.bring_back(&summaries);
        self.tell_taken();
        self.enter(State::Resting(Rest::Completed));
        self.reply(reply, Ok(Answer::Accepted(Accepted::default())));
    }

    /// Somebody changed a copy of this session. Words of a message that is in both are changed in their place; from where
    /// the two are no longer the same conversation, the copy holds.
    pub(super) fn take_in(&mut self, reply: ReplyTo, given: TakeIn) {
        if !self.session.is_at_rest() {
            let refusal = self.invalid();
            return self.reply(reply, Err(refusal));
        }
        let Difference { other_words, cut, from } = difference(&self.session.transcript, &given);
        let title = given.title.filter(|title| self.session.head.title.as_ref() != Some(title));
        let is_rewound = cut.is_some() || !other_words.is_empty();
        let new: Vec<Taken> = given.messages.into_iter().skip(from).collect();
        if !is_rewound && new.is_empty() && title.is_none() {
            return self.reply(reply, Ok(Answer::Accepted(Accepted::default())));
        }
        // Before anything is changed: it keeps the session as it stood.
        let fork = is_rewound.then(|| self.fork());
        if title.is_some() {
            self.session.head.title = title;
            self.session.head.title_from = Some(TitleFrom::Client);
        }
        if is_rewound {
            self.announce(BreakCause::Edit);
        }
        self.revise_all(other_words.into_iter().map(|(ord, body)| (ord, Some(body))));
        if let (Some(cut), Some(fork)) = (cut, &fork) {
            self.cut(cut, fork);
        }
        let turns = self.session.turns.len();
        self.append_all(new);
        self.tell_taken();
        if self.session.turns.len() > turns {
            self.end_running();
            self.tell_next_context();
        } else if is_rewound && self.session.head.driver == Driver::Sidecar {
            self.rest_after_rewind();
        }
        let state = self.session.state_found();
        self.enter(state);
        self.reply(reply, Ok(Answer::Accepted(Accepted { session: fork, ..Accepted::default() })));
    }

    fn append_all(&mut self, messages: Vec<Taken>) {
        for Taken { begins, message, .. } in messages {
            let transcript = &mut self.session.transcript;
            let ord = match (begins, &message.body) {
                (Some(true), _) => transcript.append_turn(message, self.around.counter),
                (Some(false), Body::User(_)) => transcript.inject(message, self.around.counter),
                _ => transcript.append(message, self.around.counter),
            };
            self.took_in(ord);
        }
    }

    /// Nothing of what was taken in runs.
    fn end_running(&mut self) {
        for at in 0..self.session.turns.len() {
            if self.session.turns.get(at).is_some_and(|row| row.status == TurnStatus::Running) {
                self.set_turn(at, TurnStatus::Completed);
            }
        }
    }

    fn tell_taken(&mut self) {
        self.name_after_taken();
        self.write_head();
        self.emit_thread();
    }
}

fn difference(transcript: &Transcript, given: &TakeIn) -> Difference {
    let ours: Vec<&Message> = transcript
        .messages()
        .iter()
        .map(|message| &**message)
        .filter(|message| !message.is_source_keys())
        .collect();
    let mut difference = Difference::default();
    for (theirs, ours) in given.messages.iter().zip(&ours) {
        let is_shown_alike = theirs.message.visible_to_model == ours.visible_to_model;
        // What the session let go of keeps its old hash for those who speak of it: what stands there now has another.
        if !is_shown_alike || theirs.message.body.hash() != ours.body.hash() {
            let is_it = theirs.id.as_deref() == Some(ours.id.as_str());
            if !(is_it && is_shown_alike && is_other_words(&ours.body, &theirs.message.body)) {
                difference.cut = Some(ours.ord);
                return difference;
            }
            difference.other_words.push((ours.ord, theirs.message.body.clone()));
        }
        difference.from += 1;
    }
    // What we have more was taken out of it, or came after it was written.
    let is_missing = difference.from < usize::try_from(given.known).unwrap_or(usize::MAX);
    if difference.from == given.messages.len() && is_missing {
        difference.cut = ours.get(difference.from).map(|message| message.ord);
    }
    difference
}

/// Whether it is the same message with other words: calls and what they are answered by stay.
fn is_other_words(ours: &Body, theirs: &Body) -> bool {
    match (ours, theirs) {
        (Body::User(_), Body::User(_)) => !theirs.is_empty(),
        (Body::Assistant { calls, .. }, Body::Assistant { calls: same, .. }) => {
            calls == same && !theirs.is_empty()
        }
        (Body::Tool(ours), Body::Tool(theirs)) => ours.call == theirs.call,
        _ => false,
    }
}
