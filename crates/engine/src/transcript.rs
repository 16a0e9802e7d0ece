//! The messages of a session in order, with the turns and rounds that they form, and the compaction records.
//! Append only, except in `rewind`. Independent of budgets and prompts.

mod part;
mod rewind;
mod shown;
pub(crate) mod slot;
mod sums;
mod turn;

pub use rewind::TurnOutcome;
pub use sums::Sums;
pub use turn::{Round, Turn};

use super::compact::record::{Compaction, Status};
use super::id::{CallId, CompactionId, Generation, MessageId, Ordinal, RoundId, SessionId, TurnId};
use super::message::cut::ThinkingInPrompt;
use super::message::unreadable::unreadable;
use super::message::{Body, Message, NewMessage, ToolCall};
use super::tokens::TokenCount;
use slot::Slot;
use std::collections::BTreeSet;
use std::sync::Arc;
use turn::{is_removed_round, says_that_it_ran};

/// All messages of a session. A round's results follow its assistant message and precede the next one.
#[derive(Debug, Clone)]
pub struct Transcript {
    session: SessionId,
    generation: Generation,
    messages: Vec<Arc<Message>>,
    sums: Sums,
    turns: Vec<Turn>,
    rounds: Vec<Round>,
    /// Results that answer no call of their round, or one that already has a result.
    strays: BTreeSet<Ordinal>,
    call_ids: BTreeSet<CallId>,
    compactions: Vec<Compaction>,
    /// The number of changes to the past so far: truncations, revisions, resets, turns let go. Positions are reused
    /// after one, ids never.
    cuts: u32,
    /// The number of removed rounds, so that ids of later rounds do not change.
    removed_rounds: usize,
    /// Tokens above which a new result is shown by its head and its tail.
    most_result: Option<u32>,
    thinking: ThinkingInPrompt,
    /// `true` if results shortened from now on state how to fetch the rest.
    names_results: bool,
    /// See [`Transcript::folder`].
    folder: Option<String>,
    /// See [`Transcript::slot`].
    slot: Slot,
}

impl Transcript {
    /// Creates an empty session.
    pub fn new(session: SessionId) -> Self {
        Self {
            session,
            generation: Generation::default(),
            messages: Vec::new(),
            sums: Sums::default(),
            turns: Vec::new(),
            rounds: Vec::new(),
            strays: BTreeSet::new(),
            call_ids: BTreeSet::new(),
            compactions: Vec::new(),
            cuts: 0,
            removed_rounds: 0,
            most_result: None,
            thinking: ThinkingInPrompt::Keep,
            names_results: false,
            folder: None,
            slot: Slot::default(),
        }
    }

    /// Creates an empty session at `generation` after `cuts` cuts, to be filled from a store with
    /// [`Transcript::put_back`].
    pub fn resumed(session: SessionId, generation: Generation, cuts: u32) -> Self {
        Self { generation, cuts, ..Self::new(session) }
    }

    /// See [`Transcript::name_results`].
    pub(crate) fn names_results(&self) -> bool {
        self.names_results
    }

    /// Returns a place for what is derived from the messages and takes long to derive again.
    pub(crate) fn slot(&self) -> &Slot {
        &self.slot
    }

    /// Returns the session's id.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Returns the generation, which each reset increments.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Returns all messages; the one at index `n` has ordinal `n`.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Returns the message at this position.
    pub fn message(&self, ord: Ordinal) -> Option<&Arc<Message>> {
        self.messages.get(ord.index())
    }

    /// Finds a message by its id, newest first, because the newest are looked up most.
    pub fn by_id(&self, id: &MessageId) -> Option<&Arc<Message>> {
        self.messages.iter().rev().find(|message| message.id == *id)
    }

    /// Returns the messages of the inclusive range, clipped to the transcript; empty if it is reversed or
    /// past the end.
    pub fn range(&self, from: Ordinal, to: Ordinal) -> &[Arc<Message>] {
        let end = to.index().saturating_add(1).min(self.messages.len());
        self.messages.get(from.index()..end).unwrap_or_default()
    }

    /// Returns the sums over the messages.
    pub fn sums(&self) -> &Sums {
        &self.sums
    }

    /// Returns the hash of the inclusive range's content: a summary applies only to the source it was made from.
    pub fn source_hash(&self, from: Ordinal, to: Ordinal) -> String {
        self.sums.source_hash(&self.messages, from, to)
    }

    /// Returns all turns, oldest first.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Returns all rounds, oldest first.
    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    /// Returns the rounds of the turn at this index, oldest first.
    pub fn rounds_of(&self, turn: usize) -> &[Round] {
        let from = self.rounds.partition_point(|round| round.turn < turn);
        let to = self.rounds.partition_point(|round| round.turn <= turn);
        self.rounds.get(from..to).unwrap_or_default()
    }

    /// Returns the round of this answer or result; `None` for any other message, and for a result of no open call.
    pub fn round_of(&self, ord: Ordinal) -> Option<&Round> {
        let at = self.rounds.partition_point(|round| round.assistant <= ord).checked_sub(1)?;
        self.rounds.get(at).filter(|round| round.assistant == ord || round.results.contains(&Some(ord)))
    }

    /// Returns the position of the last message of the turn at this index.
    pub fn last_of_turn(&self, turn: usize) -> Option<Ordinal> {
        match self.turns.get(turn + 1) {
            Some(next) => next.first.0.checked_sub(1).map(Ordinal),
            None => self.messages.last().map(|message| message.ord),
        }
    }

    /// Returns the index of the turn that contains this position.
    pub fn turn_at(&self, ord: Ordinal) -> Option<usize> {
        self.turns.partition_point(|turn| turn.first <= ord).checked_sub(1)
    }

    /// Returns the index of the first round whose assistant message is at or after `ord`; the number of
    /// rounds if there is none.
    pub fn first_round_from(&self, ord: Ordinal) -> usize {
        self.rounds.partition_point(|round| round.assistant < ord)
    }

    /// `true` if this result answers no open call of its round.
    pub fn is_stray(&self, ord: Ordinal) -> bool {
        self.strays.contains(&ord)
    }

    /// Returns all compaction records, oldest first.
    pub fn compactions(&self) -> &[Compaction] {
        &self.compactions
    }

    /// Returns how often the past was changed.
    pub fn cuts(&self) -> u32 {
        self.cuts
    }

    /// Returns the compaction that rendering follows: the newest one in force hides all older ones.
    pub fn in_force(&self) -> Option<&Compaction> {
        self.compactions.iter().rev().find(|record| record.status == Status::InForce)
    }

    /// `true` if the compaction in force leaves this message out at the user's request.
    pub fn is_excluded(&self, ord: Ordinal) -> bool {
        self.in_force().is_some_and(|record| record.excluded.contains(&ord))
    }

    /// Appends a message and counts its tokens.
    ///
    /// A user message starts a turn unless no model answered since the last one: then both form one request.
    pub fn append(&mut self, new: NewMessage, counter: &dyn TokenCount) -> Ordinal {
        let starts_turn = new.body.has_user_words() && self.turns.last().is_some_and(|turn| turn.ran);
        self.append_at(new, starts_turn, None, counter)
    }

    /// Appends a message that starts a turn unconditionally, for editors that state where their turns begin.
    pub fn append_turn(&mut self, new: NewMessage, counter: &dyn TokenCount) -> Ordinal {
        self.append_at(new, true, None, counter)
    }

    /// As [`Transcript::append_turn`], for a queued request whose ids were already announced.
    pub fn append_promised(
        &mut self,
        new: NewMessage,
        promised: (TurnId, MessageId),
        counter: &dyn TokenCount,
    ) -> Ordinal {
        self.append_at(new, true, Some(promised), counter)
    }

    /// Restores a stored message with its tokens, hash and id. `turn` is the index of its turn.
    pub fn put_back(&mut self, turn: usize, message: Arc<Message>) {
        // A store that lost a row leaves a gap: each position must keep its message.
        while self.messages.len() < message.ord.index() {
            let ord = Ordinal(u32::try_from(self.messages.len()).unwrap_or(u32::MAX));
            let id = MessageId::new(self.derived('m', ord.index()));
            self.push(Arc::new(unreadable("", id, ord, self.cuts, message.turn.clone())));
        }
        while self.turns.len() <= turn {
            self.turns.push(Turn {
                id: message.turn.clone(),
                first: message.ord,
                requests: Vec::new(),
                ran: false,
            });
        }
        self.place(message);
    }

    /// Appends a user message to the running turn, between two rounds.
    pub fn inject(&mut self, new: NewMessage, counter: &dyn TokenCount) -> Ordinal {
        self.append_at(new, false, None, counter)
    }

    /// As [`Transcript::inject`], for a queued message whose id was already announced.
    pub fn inject_promised(
        &mut self,
        new: NewMessage,
        promised: (TurnId, MessageId),
        counter: &dyn TokenCount,
    ) -> Ordinal {
        self.append_at(new, false, Some(promised), counter)
    }

    fn append_at(
        &mut self,
        mut new: NewMessage,
        starts_turn: bool,
        promised: Option<(TurnId, MessageId)>,
        counter: &dyn TokenCount,
    ) -> Ordinal {
        let ord = Ordinal(u32::try_from(self.messages.len()).unwrap_or(u32::MAX));
        let (turn, id) = promised.unzip();
        if starts_turn || self.turns.is_empty() {
            let id = turn.unwrap_or_else(|| TurnId::new(self.derived('t', self.turns.len())));
            self.turns.push(Turn { id, first: ord, requests: Vec::new(), ran: false });
        }
        if let Body::Assistant { calls, .. } = &mut new.body {
            calls.iter_mut().for_each(|call| self.make_unique(call));
        }
        new.body.weigh_thinking(counter);
        let (tokens, shown) = self.weigh(&new, counter);
        let hash = new.body.hash();
        self.place(Arc::new(Message {
            id: id.unwrap_or_else(|| MessageId::new(self.derived('m', ord.index()))),
            external_id: new.external_id,
            ord,
            rev: self.cuts,
            turn: self.turns[self.turns.len() - 1].id.clone(),
            body: new.body,
            visible_to_model: new.visible_to_model,
            created_at: new.created_at,
            shown,
            tokens,
            hash,
            found: Default::default(),
        }));
        ord
    }

    /// Adds a message with a known id to the newest turn.
    fn place(&mut self, message: Arc<Message>) {
        let (ord, turn_index) = (message.ord, self.turns.len() - 1);
        match &message.body {
            Body::User(_) => {
                let turn = &mut self.turns[turn_index];
                // A client may begin a turn with attachments alone, which then are its request. The first turn of an
                // import may begin with what a program wrote, before the first request.
                if message.body.has_user_words() || (turn.first == ord && turn_index > 0) {
                    turn.requests.push(ord);
                }
            }
            Body::Assistant { calls, .. } => {
                self.call_ids.extend(calls.iter().map(|call| call.id.clone()));
                if !message.body.is_empty() && message.visible_to_model {
                    let id = round_id(&message, self.rounds.len() + self.removed_rounds, &self.session);
                    let results = vec![None; calls.len()];
                    self.rounds.push(Round { id, turn: turn_index, assistant: ord, results, last: ord });
                }
            }
            Body::Tool(result) => {
                if !message.visible_to_model || !self.take_result(&result.call, ord, turn_index) {
                    self.strays.insert(ord);
                } else if result.user_words().is_some() {
                    self.sums.push_refusal(ord);
                }
            }
            body @ Body::Event { .. } => self.removed_rounds += usize::from(is_removed_round(body)),
        }
        self.turns[turn_index].ran |= says_that_it_ran(&message.body);
        self.push(message);
    }

    fn push(&mut self, message: Arc<Message>) {
        self.sums.push(&message);
        self.messages.push(message);
    }

    /// Returns the id of the next appended message.
    pub fn next_message_id(&self) -> MessageId {
        MessageId::new(self.derived('m', self.messages.len()))
    }

    /// `true` if the session ever had a call with this id, removed ones included.
    pub fn has_call(&self, call: &CallId) -> bool {
        self.call_ids.contains(call)
    }

    /// Returns the source's id of a call of the newest round, if it differs from `call`.
    pub fn source_id(&self, call: &CallId) -> Option<String> {
        let round = self.rounds.last()?;
        let Body::Assistant { calls, .. } = &self.message(round.assistant)?.body else { return None };
        calls.iter().find(|known| known.id == *call)?.source_id.clone()
    }

    /// Derives an id from the session's id and a counter, unique even after a cut.
    fn derived(&self, kind: char, counter: usize) -> String {
        match self.cuts {
            0 => format!("{}/{kind}{counter}", self.session),
            cuts => format!("{}/{kind}{counter}.{cuts}", self.session),
        }
    }

    /// Gives a call a new id if its own is taken or empty. Providers reject prompts with such call ids, and real
    /// transcripts contain them. The original id stays known for matching the result.
    fn make_unique(&mut self, call: &mut ToolCall) {
        let own = call.id.clone();
        let is_empty = own.as_str().is_empty();
        // An empty id tells nothing apart: the number is the call's position, so that the same history gives the same
        // ids again.
        let mut n = if is_empty { self.call_ids.len() + 1 } else { 2 };
        while call.id.as_str().is_empty() || self.call_ids.contains(&call.id) {
            call.id = CallId::new(if is_empty { format!("call-{n}") } else { format!("{own}_{n}") });
            call.source_id = Some(own.as_str().to_owned());
            n += 1;
        }
        self.call_ids.insert(call.id.clone());
    }

    /// Assigns a result to the open call it answers; `false` if there is none.
    fn take_result(&mut self, call: &str, ord: Ordinal, turn: usize) -> bool {
        let Some((at, _)) = self.open_call(call, turn) else { return false };
        let Some(round) = self.rounds.last_mut() else { return false };
        let Some(result) = round.results.get_mut(at) else { return false };
        *result = Some(ord);
        round.last = ord;
        true
    }

    /// The first unanswered call of the newest round with this id, and its index. A round accepts results of
    /// its own turn only, and only until the next request to a model, even a failed one: a prompt once sent
    /// with a placeholder is never sent with the result instead.
    fn open_call(&self, call: &str, turn: usize) -> Option<(usize, &CallId)> {
        let round = self.rounds.last().filter(|round| round.turn == turn)?;
        let mut newest_first = self.messages.iter().rev();
        let asked = newest_first.find(|message| matches!(message.body, Body::Assistant { .. }))?;
        let Body::Assistant { calls, .. } = &asked.body else { return None };
        if asked.ord != round.assistant {
            return None;
        }
        let is_open = |at: usize| round.results.get(at).is_some_and(Option::is_none);
        let open = || calls.iter().enumerate().filter(|(at, _)| is_open(*at));
        let source = |known: &ToolCall| known.source_id.as_deref().unwrap_or(known.id.as_str()) == call;
        let mut of_source = open().filter(|(_, known)| source(known));
        // An empty id is no name: it can mean only the one open call that has it.
        let by_source = of_source.next().filter(|_| !call.is_empty() || of_source.next().is_none());
        // Ids that the source used twice are ambiguous; ours are unique.
        let by_id = || open().find(|(_, known)| known.id.as_str() == call);
        by_source.or_else(by_id).map(|(at, known)| (at, &known.id))
    }

    /// Returns the call that this result answers.
    pub(crate) fn call_answered_by(&self, ord: Ordinal) -> Option<&CallId> {
        let (message, at) = self.answered_by(ord)?;
        let Body::Assistant { calls, .. } = &message.body else { return None };
        calls.get(at).map(|call| &call.id)
    }

    /// Returns the message with the call that this result answers, and the call's position in it.
    pub(crate) fn answered_by(&self, ord: Ordinal) -> Option<(&Message, usize)> {
        let round = self.rounds.get(self.first_round_from(ord).checked_sub(1)?)?;
        let at = round.results.iter().position(|result| *result == Some(ord))?;
        Some((self.message(round.assistant)?.as_ref(), at))
    }

    /// Finds a message by its own id, or by the id of the call that it answers.
    pub fn referred(&self, reference: &str) -> Option<&Arc<Message>> {
        let named = self.messages.iter().find(|message| message.id.as_str() == reference);
        named.or_else(|| {
            let answer = self.rounds.iter().rev().find_map(|round| {
                let Body::Assistant { calls, .. } = &self.message(round.assistant)?.body else { return None };
                let at = calls.iter().position(|call| call.id.as_str() == reference)?;
                round.results.get(at).copied().flatten()
            });
            self.message(answer?)
        })
    }

    /// Sets the editor's id of a message.
    pub fn learn(&mut self, ord: Ordinal, external_id: &str) {
        if let Some(message) = self.messages.get_mut(ord.index()) {
            let message = Arc::make_mut(message);
            message.external_id = Some(external_id.to_owned());
        }
    }

    /// Sets the status of a compaction record, as on undo and redo.
    pub fn set_status(&mut self, id: &CompactionId, status: Status) {
        if let Some(record) = self.compactions.iter_mut().find(|record| record.id == *id) {
            record.status = status;
        }
        // Another compaction in force may leave out other messages.
        self.slot.clear();
    }

    /// Returns a copy with only the first so many compaction records.
    pub fn with_records(&self, records: usize) -> Self {
        let mut before = self.clone();
        before.compactions.truncate(records);
        before
    }

    /// Appends a compaction record; an earlier one in force is hidden by it, not changed.
    pub fn record(&mut self, compaction: Compaction) {
        self.compactions.push(compaction);
        self.slot.advance();
    }

    /// Returns the id of the next compaction record.
    pub fn next_compaction_id(&self) -> CompactionId {
        let id = |n: usize| CompactionId::new(format!("{}/c{n}", self.session));
        let mut n = self.compactions.len();
        // Restored records keep their own ids.
        while self.compactions.iter().any(|record| record.id == id(n)) {
            n += 1;
        }
        id(n)
    }

    /// Fills the positions before `until` with one shared placeholder, if the front of a session is not
    /// loaded. The crate `session` limits what may be done with such a transcript.
    pub fn leave_out(&mut self, until: Ordinal) {
        let (free, nothing) = (until.index().saturating_sub(self.messages.len()), part::nothing());
        std::iter::repeat_n(nothing, free).for_each(|nothing| self.push(nothing));
    }
}

/// Prefers the editor's own id, under which it stores a round's summary; otherwise derives one from a counter.
fn round_id(message: &Message, counter: usize, session: &SessionId) -> RoundId {
    match (&message.external_id, message.rev) {
        (Some(external), _) => RoundId::new(external),
        (None, 0) => RoundId::new(format!("{session}/r{counter}")),
        (None, cuts) => RoundId::new(format!("{session}/r{counter}.{cuts}")),
    }
}
