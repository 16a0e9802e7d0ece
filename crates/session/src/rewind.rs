//! What changes a session's past: other words for a message, its removal, a cut, an answer once more, a new chat
//! (source: 001, 004). Nothing that a user typed or saw is lost by it: the session as it stood stays as a fork.

use super::breaks::BreakCause;
use super::effect::{Answer, Effect, Made, Refusal};
use super::event::{CompactionUpdate, EventBody, Phase};
use super::input::{At, ReplyTo, Timer};
use super::queue::{Accepted, Done, Work};
use super::state::{Rest, State, Titling};
use super::stored::{Carried, Head, Origin, TitleFrom, TurnRow, TurnStatus, Write};
use super::{Session, Step};
use engine::compact::metadata::metadata;
use engine::compact::record::Status;
use engine::compact::trigger::Attempts;
use engine::id::{CompactionId, MessageId, Ordinal, SessionId};
use engine::message::attachment::{Attachment, apart, put};
use engine::message::{AssistantPart, Beside, Body, Content, Message, NewMessage};
use engine::scope::ScopePatch;
use engine::text::sha256_hex;
use engine::transcript::Round;
use std::sync::Arc;

/// Characters of an id that its forks' ids begin with.
const LONGEST_ROOT: usize = 80;

impl Session {
    /// The message that is meant, among those that a client sees.
    pub(super) fn resolve(&self, at: &At) -> Result<MessageId, Refusal> {
        match at {
            At::Id(id) => self.find(id).map(|message| message.id.clone()),
            At::Index(index) => {
                let mut seen = self.transcript.messages().iter().filter(|message| !message.is_removed());
                let found = seen.nth(*index as usize).map(|message| message.id.clone());
                found.ok_or_else(|| Refusal::Unknown { what: "index", id: index.to_string() })
            }
        }
    }

    /// A message that a client sees. The newest are asked for most.
    pub(super) fn find(&self, id: &MessageId) -> Result<&Arc<Message>, Refusal> {
        let mut newest_first = self.transcript.messages().iter().rev();
        newest_first
            .find(|message| message.id == *id && !message.is_removed())
            .ok_or_else(|| Refusal::Unknown { what: "messageId", id: id.as_str().to_owned() })
    }

    /// Whether a rewind can be done, as far as can be said now.
    pub(super) fn check_rewind(&self, work: &Work) -> Result<(), Refusal> {
        match work {
            Work::Start { .. } => Ok(()),
            Work::Retry { from, content } => {
                let message = self.find(from)?;
                let says_nothing = |parts: &Vec<Content>| Body::User(parts.clone()).is_empty();
                if content.as_ref().is_some_and(says_nothing) {
                    return Err(Refusal::Empty("the new words of the request say nothing"));
                }
                if matches!(message.body, Body::Event { .. }) {
                    return Err(Refusal::Empty("a notice is no message that could be asked again"));
                }
                Ok(())
            }
            Work::Regenerate => match self.last_request() {
                Some(_) => Ok(()),
                None => Err(Refusal::Empty("there is no request that could be answered again")),
            },
            Work::Update { message, content, .. } => {
                if Body::User(content.clone()).is_empty() {
                    return Err(Refusal::Empty(
                        "the new words say nothing; message/remove takes a message out",
                    ));
                }
                match self.find(message)?.body {
                    Body::Event { .. } => Err(Refusal::Empty("a notice cannot be changed")),
                    _ => Ok(()),
                }
            }
            Work::Remove { message } => match self.find(message)?.body {
                Body::Tool(_) => Err(Refusal::Empty(
                    "a result stays with the message that called the tool; remove that one, or change the result's words",
                )),
                _ => Ok(()),
            },
            Work::Truncate { from } => self.find(from).map(drop),
        }
    }

    /// The newest request.
    fn last_request(&self) -> Option<Ordinal> {
        // The last turn may have lost its request.
        self.transcript.turns().iter().rev().find_map(|turn| turn.requests.last().copied())
    }

    /// Where a cut before this message falls: calls and their results go together, with what was noted between them.
    fn cut_at(&self, ord: Ordinal) -> Ordinal {
        self.round_around(ord).map_or(ord, |round| round.assistant)
    }

    /// Where what follows this message begins: calls and their results stay together.
    fn after(&self, ord: Ordinal) -> Ordinal {
        self.round_around(ord).map_or(ord, |round| round.last).next()
    }

    /// The round that holds this message.
    fn round_around(&self, ord: Ordinal) -> Option<&Round> {
        let mut newest_first = self.transcript.rounds().iter().rev();
        newest_first.find(|round| round.assistant <= ord && ord <= round.last)
    }

    /// Messages that leave with this one: a turn with its request, a call with its results.
    fn goes_with(&self, ord: Ordinal) -> Vec<Ordinal> {
        let Some(at) = self.transcript.turn_at(ord) else { return vec![ord] };
        let turn = self.transcript.turns().get(at);
        if turn.is_some_and(|turn| turn.requests.first() == Some(&ord)) {
            let last = self.transcript.last_of_turn(at).unwrap_or(ord);
            let all = self.transcript.range(ord, last).iter();
            return all.filter(|message| !message.is_removed()).map(|message| message.ord).collect();
        }
        let round = self.transcript.rounds_of(at).iter().find(|round| round.assistant == ord);
        let results = round.into_iter().flat_map(|round| round.results.iter().flatten());
        std::iter::once(ord).chain(results.copied()).collect()
    }
}

impl Step<'_> {
    /// Keeps the session as it stands under another id.
    pub(super) fn fork(&mut self) -> SessionId {
        let head = &self.session.head;
        // With the moment it was made: a session that was deleted and made again has forks of another name.
        let made = format!("~{}.{:x}", self.session.transcript.cuts() + 1, head.created_at.0);
        let to = SessionId::new(match head.id.as_str() {
            // Forks of forks, too, have ids that a client can give back.
            long if long.len() > LONGEST_ROOT => format!("{:.32}{made}", sha256_hex(long.as_bytes())),
            short => format!("{short}{made}"),
        });
        let head = Head {
            id: to.clone(),
            parent: Some(head.id.clone()),
            origin: Origin::Rewind,
            waits: false,
            carried: Carried::default(),
            ..head.clone()
        };
        let transcript = &self.session.transcript;
        let in_force = transcript.in_force();
        let made = Made {
            head,
            messages: count(transcript.messages().len()),
            turns: count(transcript.turns().len()),
            summary: in_force.map(|record| record.block.clone()),
            summarized: in_force.map_or(0, |record| record.resume_at().0),
        };
        self.write(Write::Fork { to: to.clone() });
        self.effects.push(Effect::Made(Box::new(made)));
        to
    }

    /// Takes everything from here on out of the session; `fork` keeps it. Compactions that spoke of it, out of force.
    pub(super) fn cut(&mut self, from: Ordinal, fork: &SessionId) -> Vec<CompactionId> {
        let void = self.session.transcript.truncate(from);
        self.cut_off(from, fork, &void);
        void
    }

    /// Stores and tells a cut that the transcript has taken.
    pub(super) fn cut_off(&mut self, from: Ordinal, fork: &SessionId, void: &[CompactionId]) {
        let stay = self.session.transcript.turns().len();
        self.session.turns.truncate(stay);
        if let Some(row) = self.session.turns.last_mut().filter(|row| row.started >= Some(from)) {
            // Its place may be another message's soon.
            row.started = None;
            row.decided.clear();
            let row = row.clone();
            self.write(Write::Turn(row));
        }
        let carried = &mut self.session.head.carried;
        carried.held.take_if(|held| *held > from);
        // What is taken away is nothing new, and what is said in its place is.
        carried.undone = carried.undone.map(|at| at.min(from));
        if let Some(refused) = &mut carried.refused_thinking {
            // What comes in their place follows a prompt that it may be bound to.
            refused.before = refused.before.min(from);
        }
        if let Some(sent) = &mut carried.sent {
            // Their places may be other messages' soon.
            sent.messages = sent.messages.min(from.0);
        }
        let turns = u32::try_from(stay).unwrap_or(u32::MAX);
        self.write(Write::Truncate { from, turns });
        self.write_head();
        self.emit(EventBody::MessagesTruncated { from, fork: Some(fork.clone()) });
        self.void(void);
        self.pins_follow();
    }

    /// Records went out of force.
    pub(super) fn void(&mut self, records: &[CompactionId]) {
        for id in records {
            self.write(Write::CompactionStatus { id: id.clone(), status: Status::Void });
            let records = self.session.transcript.compactions();
            let Some(record) = records.iter().find(|record| record.id == *id).cloned() else { continue };
            let metadata = metadata(&self.session.transcript, &record);
            self.emit(EventBody::CompactionUpdated(Box::new(CompactionUpdate {
                id: id.clone(),
                tokens_before: Some(record.tokens_before),
                left: None,
                phase: Phase::Voided,
                mode: Some(record.mode),
                trigger: record.trigger,
                reason: Some("what it stands for was changed or cut off".into()),
                record: Some((record, metadata)),
            })));
        }
    }

    /// The newest turn runs again.
    fn runs_again(&mut self, accepted: Accepted) -> Done {
        let last = self.session.turns.len().saturating_sub(1);
        self.set_turn(last, TurnStatus::Running);
        // Calls of a conversation that was taken in may have no result; a turn that runs waits for none of them.
        let calls = self.session.unanswered();
        self.answer_cancelled(calls);
        Done { accepted: Accepted { turn: self.turn_id(), ..accepted }, generates: true }
    }

    pub(super) fn retry(&mut self, from: &MessageId, content: Option<Vec<Content>>) -> Result<Done, Refusal> {
        let message = self.session.find(from)?.clone();
        let ord = self.session.cut_at(message.ord);
        let fork = self.fork();
        self.announce(BreakCause::Retry);
        self.cut(ord, &fork);
        let (external_id, content) = match (&message.body, content) {
            (Body::User(same), None) => (message.external_id.clone(), Some(same.clone())),
            (old, Some(new)) => {
                let attached = old.attachments().cloned().map(Content::Attachment);
                (None, Some(attached.chain(new).collect()))
            }
            (_, None) => (None, None),
        };
        let accepted = Accepted { session: Some(fork), ..Accepted::default() };
        let Some(content) = content else { return Ok(self.runs_again(accepted)) };
        let content = self.attached(content, Vec::new());
        let new = NewMessage { external_id, ..self.stamped(Body::User(content)) };
        self.close_running();
        let ord = self.session.transcript.append_turn(new, self.around.counter);
        self.took_in(ord);
        let message = self.session.transcript.message(ord).map(|message| message.id.clone());
        Ok(self.runs_again(Accepted { message, ..accepted }))
    }

    /// A turn that was running when another one begins ran no further.
    pub(super) fn close_running(&mut self) {
        let last = self.session.turns.len().saturating_sub(1);
        if self.session.turns.get(last).is_some_and(|row: &TurnRow| row.status == TurnStatus::Running) {
            self.set_turn(last, TurnStatus::Cancelled);
            self.let_go(TurnStatus::Cancelled);
        }
    }

    pub(super) fn regenerate(&mut self) -> Result<Done, Refusal> {
        let Some(request) = self.session.last_request() else {
            return Err(Refusal::Empty("there is no request that could be answered again"));
        };
        let from = request.next();
        if self.session.transcript.message(from).is_none() {
            return Ok(self.runs_again(Accepted::default()));
        }
        let fork = self.fork();
        self.announce(BreakCause::Retry);
        self.cut(from, &fork);
        Ok(self.runs_again(Accepted { session: Some(fork), ..Accepted::default() }))
    }

    pub(super) fn truncate(&mut self, from: &MessageId) -> Result<Done, Refusal> {
        let ord = self.session.find(from)?.ord;
        let ord = self.session.cut_at(ord);
        let fork = self.fork();
        self.announce(BreakCause::Truncate);
        self.cut(ord, &fork);
        self.rest_after_rewind();
        Ok(Done::of(Accepted { session: Some(fork), ..Accepted::default() }))
    }

    pub(super) fn update(
        &mut self,
        id: &MessageId,
        content: Vec<Content>,
        regenerate: bool,
    ) -> Result<Done, Refusal> {
        let message = self.session.find(id)?.clone();
        let body = match &message.body {
            Body::User(_) => {
                // What was so then stays so, whatever is said now.
                let (said, given) = apart(content);
                let mut all: Vec<Attachment> = message.body.attachments().cloned().collect();
                put(&mut all, given);
                Body::User(said.into_iter().chain(all.into_iter().map(Content::Attachment)).collect())
            }
            Body::Assistant { calls, beside, .. } => {
                // Thinking and citations belong to the words that they led to; signed, a provider would refuse thinking
                // beside others.
                let said =
                    content.iter().filter_map(Content::text).map(|text| AssistantPart::Text(text.clone()));
                let beside = Beside { citations: Vec::new(), thought: None, ..beside.clone() };
                Body::Assistant { parts: said.collect(), calls: calls.clone(), beside }
            }
            Body::Tool(result) => {
                let mut result = result.clone();
                result.content = content;
                Body::Tool(result)
            }
            Body::Event { .. } => return Err(Refusal::Empty("a notice cannot be changed")),
        };
        let fork = self.fork();
        self.announce(BreakCause::Edit);
        let message = Some(id.clone());
        self.revise_all([(self.session.find(id)?.ord, Some(body))]);
        if !regenerate {
            self.rest_after_rewind();
            return Ok(Done::of(Accepted { message, session: Some(fork), ..Accepted::default() }));
        }
        let from = self.session.after(self.session.find(id)?.ord);
        if self.session.transcript.message(from).is_some() {
            self.cut(from, &fork);
        }
        Ok(self.runs_again(Accepted { message, session: Some(fork), ..Accepted::default() }))
    }

    pub(super) fn remove(&mut self, id: &MessageId) -> Result<Done, Refusal> {
        let ord = self.session.find(id)?.ord;
        let fork = self.fork();
        self.announce(BreakCause::Remove);
        // Results first: no call ever stands there without them.
        self.revise_all(self.session.goes_with(ord).into_iter().rev().map(|ord| (ord, None)));
        self.rest_after_rewind();
        Ok(Done::of(Accepted { message: Some(id.clone()), session: Some(fork), ..Accepted::default() }))
    }

    /// Puts other versions in the place of messages, and tells them. What clients keep of a compaction that holds all the
    /// same may speak of one of these messages: then it is told, too.
    pub(super) fn revise_all(&mut self, versions: impl IntoIterator<Item = (Ordinal, Option<Body>)>) {
        let kept = self.session.kept_by_clients();
        for (ord, body) in versions {
            self.revise(ord, body);
        }
        for (id, now) in self.session.kept_by_clients() {
            if kept.get(&id).is_some_and(|before| *before != now) {
                self.tell_record(&id, Some("what it speaks of was changed"));
            }
        }
    }

    /// Puts another version in the place of a message, and tells it.
    fn revise(&mut self, ord: Ordinal, body: Option<Body>) {
        let is_removed = body.is_none();
        let void = self.session.transcript.revise(ord, body, self.around.counter);
        self.write_head();
        let transcript = &self.session.transcript;
        let turn = u32::try_from(transcript.turn_at(ord).unwrap_or_default()).unwrap_or(u32::MAX);
        let Some(message) = transcript.message(ord).cloned() else { return };
        self.write(Write::Message { turn, message: message.clone() });
        self.emit(match is_removed {
            true => EventBody::MessageRemoved { message: message.id.clone() },
            false => EventBody::MessageUpdated(message),
        });
        self.void(&void);
        self.pins_follow();
    }

    /// What was asked or what failed may be gone: the session rests with nothing to say.
    pub(super) fn rest_after_rewind(&mut self) {
        let last = self.session.turns.len().saturating_sub(1);
        if self.session.turns.get(last).is_some_and(|row: &TurnRow| row.status != TurnStatus::Completed) {
            self.set_turn(last, TurnStatus::Cancelled);
        }
        self.enter(State::Resting(Rest::Idle));
        self.tell_next_context();
    }

    /// A new chat under the same id. What runs is stopped first, and all of it stays in the fork.
    pub(super) fn reset(&mut self, reply: ReplyTo, keep_queue: bool, key: Option<String>) {
        if self.answered_before(reply, key.as_deref()) {
            return;
        }
        let runs = self.runs_turn();
        // Renders that wait were for the chat that ends; one that began now would go on in the new one.
        self.refuse_renders();
        self.stop_running();
        if runs {
            self.end_turn(TurnStatus::Cancelled, Rest::Idle);
        }
        let gone = if keep_queue { Vec::new() } else { self.dequeue(|_| true) };
        if let Some(Titling { call, .. }) = self.session.titling.take() {
            // It would name the chat that is gone.
            self.effects.push(Effect::CancelModel(call));
            self.effects.push(Effect::Stop(Timer::Model(call)));
        }
        self.cancel_background();
        let carried = &mut self.session.head.carried;
        (carried.attempts, carried.limit) = (Attempts::default(), None);
        (carried.answer, carried.taken) = (None, None);
        (carried.held, carried.undone) = (None, None);
        let is_empty = self.session.transcript.messages().is_empty();
        let fork = (!is_empty).then(|| self.fork());
        self.announce(BreakCause::Reset);
        let void = self.session.transcript.reset();
        self.session.head.prefix.pins.clear();
        self.session.count_pins(self.around.counter);
        self.session.head.generation = self.session.transcript.generation();
        if self.session.head.title_from != Some(TitleFrom::Client) {
            self.session.head.title = None;
            self.session.head.title_from = None;
        }
        self.renew();
        if let Some(fork) = &fork {
            self.cut_off(Ordinal(0), fork, &void);
        } else {
            self.write_head();
        }
        if self.session.head.work_scope.is_none() {
            // Its own alone: what was to do belonged to the chat that is gone.
            let patch =
                ScopePatch { todos: Some(Vec::new()), plan: Some("".into()), ..ScopePatch::default() };
            self.effects.push(Effect::ChangeScope(patch));
        }
        self.emit_thread();
        self.enter(State::Resting(Rest::Idle));
        self.tell_next_context();
        let accepted = Accepted { session: fork, ..Accepted::default() };
        self.remember_key(key, &accepted);
        self.reply(reply, Ok(Answer::Reset(accepted, gone)));
    }
}

/// A number of things that are there.
pub(super) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
