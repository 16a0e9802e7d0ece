//! Conversion of messages into items under the compaction in force: kept user messages, the block, the
//! messages after it, the current turn. Pairs calls with results. Sizes are decided elsewhere.

use super::item::{Channel, Item, ItemCall, ItemPart, ItemSource, Role, Shown};
use super::{Cut, CutReason, KEEP, Prompt};
use crate::compact::record::{Action, Compaction, Placement};
use crate::id::Ordinal;
use crate::message::arguments;
use crate::message::cut::{head_and_tail, joined};
use crate::message::{AssistantPart, Body, CONTINUED, Content, Message, SYSTEM_IN_HISTORY, WRAP_UP};
use crate::transcript::{Round, Transcript};
use std::collections::BTreeSet;

/// The result of a call whose own was never recorded: after an abort, a crash, an import.
pub(crate) const NO_RESULT: &str = "[no result was recorded: the call was interrupted]";
/// The first message if the user left out the first request, because models require a user message first.
const LEFT_OUT: &str = "[the user left out what was said before this]";
/// Tokens of [`LEFT_OUT`] as a message; a constant, so that rendering counts nothing.
const LEFT_OUT_TOKENS: u32 = 20;
/// The replacement of content that a newer message shows again.
pub(crate) const REPEATED: &str = "[the same as in a newer message below]";
/// Tokens of [`NO_RESULT`] as a message; a constant, so that rendering counts nothing.
pub(crate) const NO_RESULT_TOKENS: u32 = 20;

/// The name of a block's section in plans.
pub(super) const COMPACTION: &str = "compaction";

const PRIORITY_HISTORY: u32 = 10;
pub(super) const PRIORITY_BLOCK: u32 = 50;
const PRIORITY_KEPT: u32 = 60;

/// A transcript viewed through a compaction.
pub(super) struct History<'a> {
    transcript: &'a Transcript,
    compaction: Option<&'a Compaction>,
}

impl<'a> History<'a> {
    pub(super) fn new(transcript: &'a Transcript, compaction: Option<&'a Compaction>) -> Self {
        Self { transcript, compaction }
    }

    /// Adds all messages to the prompt, the current user message and its rounds last.
    pub(super) fn put(&self, prompt: &mut Prompt) {
        let current_turn = self.transcript.turns().last().map_or(Ordinal(u32::MAX), |turn| turn.first);
        let mut start = Ordinal(0);
        let mut open = Vec::new();
        if let Some(record) = self.compaction {
            start = record.resume_at();
            let kept = self.users(&record.kept_users, Shown::Kept);
            prompt.push(Channel::History, "keptUserMessages", PRIORITY_KEPT, kept);
            // In its other placements the block is added with the system text.
            if record.placement == Placement::UserAtBoundary && !record.block.is_empty() {
                let block = Item::made(Role::User, record.block.clone(), record.block_tokens);
                prompt.push(Channel::Summary, COMPACTION, PRIORITY_BLOCK, vec![block]);
            }
            open = self.users(&record.open_requests, Shown::Kept);
            self.report(record, prompt);
        }
        if open.first().and_then(|item| item.sources.first()).is_some_and(|source| source.ord >= current_turn)
        {
            prompt.push(Channel::Input, "currentMessage", KEEP, open);
            let rounds = self.span(start, Ordinal(u32::MAX), &mut prompt.cuts);
            prompt.push(Channel::Input, "currentRounds", KEEP, rounds);
            return;
        }
        if let Some(before) = current_turn.0.checked_sub(1).map(Ordinal)
            && start <= before
        {
            open.extend(self.span(start, before, &mut prompt.cuts));
        }
        let mut input = self.span(start.max(current_turn), Ordinal(u32::MAX), &mut prompt.cuts);
        let first = prompt.items.iter().chain(&open).chain(&input).find(|item| item.role != Role::System);
        let is_left_out = self.compaction.is_some_and(|record| !record.excluded.is_empty());
        // If all was left out, no item is first, and a prompt without messages is refused too.
        if is_left_out && first.is_none_or(|item| item.role != Role::User) {
            open.insert(0, Item::made(Role::User, LEFT_OUT, LEFT_OUT_TOKENS));
        }
        prompt.push(Channel::History, "history", PRIORITY_HISTORY, open);
        let rounds = input.split_off(input.iter().take_while(|item| item.role == Role::User).count());
        prompt.push(Channel::Input, "currentMessage", KEEP, input);
        prompt.push(Channel::Input, "currentRounds", KEEP, rounds);
    }

    fn users(&self, ords: &[Ordinal], shown: Shown) -> Vec<Item> {
        ords.iter()
            .filter_map(|ord| self.transcript.message(*ord))
            .filter_map(|message| user_item(message, shown))
            .collect()
    }

    /// A user message in its position. Its words are never changed; a context file that a newer message
    /// repeats may be folded.
    fn user_item(&self, message: &Message, cuts: &mut Vec<Cut>) -> Option<Item> {
        let mut item = user_item(message, Shown::Raw)?;
        if let Some(action) = self.compaction.and_then(|record| record.actions.get(&message.ord)) {
            for part in &mut item.parts {
                if let ItemPart::Content(Content::ContextFile { text, .. }) = part {
                    *text = REPEATED.into();
                }
            }
            item.tokens = action.tokens();
            item.sources = vec![ItemSource { ord: message.ord, shown: Shown::Shortened }];
            cuts.push(cut(message, CutReason::Repeated, item.text_bytes()));
        }
        Some(item)
    }

    /// Reports what a record dropped, and the user messages that did not fit.
    fn report(&self, record: &Compaction, prompt: &mut Prompt) {
        let dropped = record.dropped.map_or(&[][..], |span| self.transcript.range(span.from, span.to));
        let sources = prompt.items.iter().flat_map(|item| &item.sources);
        let pinned: BTreeSet<Ordinal> =
            sources.filter(|source| source.shown == Shown::Pinned).map(|source| source.ord).collect();
        let is_told = |ord: &Ordinal| {
            let kept = record.kept_users.contains(ord) || record.open_requests.contains(ord);
            kept || record.excluded.contains(ord) || pinned.contains(ord)
        };
        for message in dropped.iter().filter(|message| message.visible_to_model && !is_told(&message.ord)) {
            prompt.cuts.push(cut(message, CutReason::Dropped, 0));
        }
        let reported = record.reported_users.iter().filter(|ord| !pinned.contains(ord));
        for message in reported.filter_map(|ord| self.transcript.message(*ord)) {
            prompt.cuts.push(cut(message, CutReason::UserMessage, 0));
        }
        for message in record.excluded.iter().filter_map(|ord| self.transcript.message(*ord)) {
            prompt.cuts.push(cut(message, CutReason::Excluded, 0));
        }
    }

    /// Items of the inclusive range. A round's results directly follow its calls, in the order of the calls,
    /// regardless of their order of arrival. Messages that the user left out are reported with the record.
    fn span(&self, from: Ordinal, to: Ordinal, cuts: &mut Vec<Cut>) -> Vec<Item> {
        let mut items = Vec::new();
        let mut rounds =
            self.transcript.rounds().iter().skip(self.transcript.first_round_from(from)).peekable();
        let excluded = self.compaction.map(|record| &record.excluded);
        for message in self.transcript.range(from, to) {
            if let Some(excluded) = excluded.filter(|excluded| excluded.contains(&message.ord)) {
                // Results that came after the exclusion of their call.
                let round = rounds.next_if(|round| round.assistant == message.ord);
                let results = round.into_iter().flat_map(|round| round.results.iter().flatten());
                let late = results.filter(|ord| !excluded.contains(ord));
                let late = late.filter_map(|ord| self.transcript.message(*ord));
                cuts.extend(late.map(|message| cut(message, CutReason::Excluded, 0)));
                continue;
            }
            match &message.body {
                Body::Event { kind, .. } if kind == SYSTEM_IN_HISTORY => {
                    cuts.push(cut(message, CutReason::SystemInHistory, 0));
                }
                // It speaks of the answer right above it, so without that answer it would ask to continue another.
                Body::Event { kind, .. } if kind == CONTINUED && !follows_its_answer(message, &items) => {}
                // Added by the sidecar, so the item shows no message.
                Body::Event { kind, text } if [WRAP_UP, CONTINUED].contains(&kind.as_str()) => {
                    items.push(Item::made(Role::User, text.clone(), message.tokens));
                }
                Body::Event { .. } => {}
                Body::User(_) => items.extend(self.user_item(message, cuts)),
                Body::Tool(_) if message.visible_to_model && self.transcript.is_stray(message.ord) => {
                    cuts.push(cut(message, CutReason::StrayResult, 0));
                }
                // It came after the compaction of its call: as from an editor that goes on from an earlier round.
                Body::Tool(_) if message.visible_to_model && self.is_call_covered(message.ord) => {
                    cuts.push(cut(message, CutReason::Dropped, 0));
                }
                Body::Tool(_) => {}
                Body::Assistant { .. } => {
                    if let Some(round) = rounds.next_if(|round| round.assistant == message.ord) {
                        self.put_round(message, round, &mut items, cuts);
                    }
                }
            }
        }
        items
    }

    fn is_call_covered(&self, result: Ordinal) -> bool {
        let round = self.transcript.round_of(result);
        round.is_some_and(|round| self.compaction.is_some_and(|record| record.covers(round.assistant)))
    }

    fn put_round(&self, message: &Message, round: &Round, items: &mut Vec<Item>, cuts: &mut Vec<Cut>) {
        let Body::Assistant { parts, calls, .. } = &message.body else { return };
        let is_running = round.turn + 1 == self.transcript.turns().len();
        let without = message.shown.filter(|cut| !(cut.after_turn && is_running));
        let is_shown =
            |part: &&AssistantPart| without.is_none() || !matches!(part, AssistantPart::Reasoning { .. });
        let mut item = Item {
            role: Role::Assistant,
            parts: parts.iter().filter(is_shown).map(ItemPart::from).collect(),
            calls: calls
                .iter()
                .map(|call| ItemCall {
                    id: call.id.clone(),
                    name: call.name.clone(),
                    arguments: call.arguments.clone(),
                })
                .collect(),
            call_id: None,
            sources: vec![ItemSource { ord: message.ord, shown: Shown::Raw }],
            tokens: without.map_or(message.tokens, |cut| cut.tokens),
        };
        if let Some(action) = self.compaction.and_then(|record| record.actions.get(&message.ord)) {
            for call in &mut item.calls {
                call.arguments = arguments_acted_on(&call.arguments, *action, message.id.as_str()).into();
            }
            // The action counts the thinking, which may not be shown any more.
            item.tokens = item.tokens.saturating_sub(message.tokens.saturating_sub(action.tokens()));
            item.sources = vec![ItemSource { ord: message.ord, shown: Shown::Shortened }];
            let whole: usize = calls.iter().map(|call| call.arguments.len()).sum();
            let shown: usize = item.calls.iter().map(|call| call.arguments.len()).sum();
            let kept = message_bytes(message).saturating_sub(whole.saturating_sub(shown));
            cuts.push(cut(message, CutReason::Shortened, kept));
        }
        items.push(item);
        for (call, answer) in calls.iter().zip(&round.results) {
            let answer = answer.and_then(|ord| self.transcript.message(ord));
            let mut item = match answer {
                Some(result) => self.result_item(result, call.id.as_str(), cuts),
                None => {
                    cuts.push(cut(message, CutReason::UnansweredCall, message_bytes(message)));
                    Item::made(Role::Tool, NO_RESULT, NO_RESULT_TOKENS)
                }
            };
            item.call_id = Some(call.id.clone());
            items.push(item);
        }
    }

    fn result_item(&self, message: &Message, call: &str, cuts: &mut Vec<Cut>) -> Item {
        let Body::Tool(result) = &message.body else { return Item::made(Role::Tool, "", 0) };
        let action = self.compaction.and_then(|record| record.actions.get(&message.ord));
        let (parts, shown, tokens) = match (action, message.shown) {
            (None, None) => (result.content.clone(), Shown::Raw, message.tokens),
            (None, Some(shown)) => {
                let parts = shown.shown(&result.content, call);
                let kept = parts.iter().filter_map(Content::text).map(|text| text.len()).sum();
                cuts.push(cut(message, CutReason::Shortened, kept));
                (parts, Shown::Shortened, shown.tokens)
            }
            (Some(action), shown) => {
                let text = acted_on(
                    &result.content,
                    *action,
                    (shown.is_some_and(|cut| !cut.unnamed) || action.is_named()).then_some(call),
                );
                let reason = match action {
                    Action::Shorten { .. } => CutReason::Shortened,
                    Action::Repeat { .. } => CutReason::Repeated,
                };
                cuts.push(cut(message, reason, text.len()));
                (vec![Content::Text(text.into())], Shown::Shortened, action.tokens())
            }
        };
        Item {
            role: Role::Tool,
            parts: ItemPart::of(&parts),
            calls: Vec::new(),
            call_id: None,
            sources: vec![ItemSource { ord: message.ord, shown }],
            tokens,
        }
    }
}

/// Returns a result's text under an action; planning counts the text of this same function. `reference` is
/// the id for fetching the rest, if the text is to state it.
pub(crate) fn acted_on(content: &[Content], action: Action, reference: Option<&str>) -> String {
    match action {
        Action::Repeat { .. } => REPEATED.into(),
        Action::Shorten { head, tail, .. } => {
            head_and_tail(&joined(content), head as usize, tail as usize, reference)
        }
    }
}

/// Returns a call's arguments under an action of their message, of this id; planning counts the text of this function.
pub(crate) fn arguments_acted_on(arguments: &str, action: Action, message: &str) -> String {
    match action {
        Action::Shorten { head, tail, named, .. } => {
            arguments::shortened(arguments, head as usize, tail as usize, named.then_some(message))
        }
        Action::Repeat { .. } => arguments.to_owned(),
    }
}

/// `true` if the newest of these items is the answer right before a message.
fn follows_its_answer(message: &Message, items: &[Item]) -> bool {
    let answer = items.last().filter(|item| item.role == Role::Assistant);
    let before = message.ord.0.checked_sub(1).map(Ordinal);
    answer.and_then(|item| item.sources.first()).is_some_and(|source| Some(source.ord) == before)
}

/// A user message, or the user's words about a refused call whose round is not shown.
fn user_item(message: &Message, shown: Shown) -> Option<Item> {
    if message.body.is_empty() || !message.visible_to_model {
        return None;
    }
    let (parts, tokens) = match &message.body {
        Body::User(parts) => (parts.clone(), message.tokens),
        Body::Tool(_) => {
            let (said, tokens) = message.said_of_refusal()?;
            (vec![Content::Text(said.into())], tokens)
        }
        Body::Assistant { .. } | Body::Event { .. } => return None,
    };
    Some(Item {
        role: Role::User,
        parts: ItemPart::of(&parts),
        calls: Vec::new(),
        call_id: None,
        sources: vec![ItemSource { ord: message.ord, shown }],
        tokens,
    })
}

pub(super) fn cut(message: &Message, reason: CutReason, kept_bytes: usize) -> Cut {
    let original_bytes = message_bytes(message);
    Cut { ord: Some(message.ord), reason, original_bytes, kept_bytes, section: None }
}

fn message_bytes(message: &Message) -> usize {
    message.body.bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::record::Span;
    use crate::message::{NewMessage, REMOVED};
    use crate::prompt::draft;
    use crate::testing::{SUMMARY, Session, answered, overflowing};
    use crate::tokens::QuarterOfChars;

    const GO_ON: &str = "[continue the answer above]";

    /// A request, an answer or what is left of it, and the notice that asks for its rest.
    fn cut_off(answer: Body) -> Session {
        let mut session = Session::new(8000);
        session.user("tell");
        let notice = Body::Event { kind: CONTINUED.to_owned(), text: GO_ON.into() };
        for body in [answer, notice] {
            session.transcript.append(NewMessage::new(body), &QuarterOfChars);
        }
        session
    }

    fn shown(session: &Session, record: Option<&Compaction>) -> Vec<String> {
        let items = draft(session.source(), record).items.into_iter();
        let items = items.filter(|item| item.role != Role::System);
        let text =
            |item: Item| item.parts.iter().filter_map(ItemPart::as_text).map(ToString::to_string).collect();
        items.map(text).collect()
    }

    #[test]
    fn notice_of_a_cut_answer_is_shown_only_behind_that_answer() {
        let whole = cut_off(Body::assistant("Once upon", Vec::new()));
        assert_eq!(shown(&whole, None), ["tell", "Once upon", GO_ON]);

        let removed = cut_off(Body::Event { kind: REMOVED.to_owned(), text: "".into() });
        let record = Compaction {
            covers: None,
            dropped: None,
            actions: Default::default(),
            kept_users: Vec::new(),
            reported_users: Vec::new(),
            open_requests: Vec::new(),
            block: "".into(),
            ..overflowing().compact(Some(answered(SUMMARY)))
        };
        let excluding = Compaction { excluded: [Ordinal(1)].into(), ..record.clone() };
        let covers = Some(Span { from: Ordinal(0), to: Ordinal(1) });
        let covering = Compaction { covers, open_requests: vec![Ordinal(0)], ..record };
        let all = [shown(&removed, None), shown(&whole, Some(&excluding)), shown(&whole, Some(&covering))];
        assert_eq!(all, [["tell"]; 3], "removed, excluded and covered");
    }
}
