//! Conversion between imports and transcripts, independent of the formats.

use super::{Entry, Format, Import, RecordedCompaction, Standing, noise};
use engine::compact::metadata::{Persisted, SummaryEntry, metadata};
use engine::compact::record::{
    Anchor, Compaction, Mode, ModeRequested, Placement, Span, Status, Strength, Trigger,
};
use engine::id::{CallId, Ordinal, RoundId, SessionId};
use engine::message::{Body, Message, NewMessage};
use engine::prompt::item::Tool;
use engine::tokens::{PER_MESSAGE, TokenCount};
use engine::transcript::Transcript;
use std::collections::{BTreeMap, BTreeSet};

impl Import {
    /// Creates a session from all entries. Recorded compactions are stored but never applied.
    pub fn into_transcript(self, session: SessionId, counter: &dyn TokenCount) -> Transcript {
        let mut transcript = Transcript::new(session);
        for entry in self.entries {
            entry.append_to(&mut transcript, counter);
        }
        transcript
    }

    /// Prepares a session that goes on from the recorded compactions: each of another program's names a model's answer
    /// before it, which gets an id if it has none. A summary before every answer, as in a file that continues a compacted one, becomes a
    /// message with it as background.
    pub fn with_anchors(mut self) -> Self {
        for at in 0..self.entries.len() {
            let Some(Entry::Compaction(recorded)) = self.entries.get(at) else { continue };
            // Our own say where they stand.
            if recorded.standing != Standing::Recorded {
                continue;
            }
            let (after, text) = (recorded.after_external_id.clone(), recorded.text.clone());
            let before = self.entries.get_mut(..at).unwrap_or_default();
            let is_named = |entry: &Entry| match entry {
                Entry::Message(message) => after.is_some() && message.external_id == after,
                Entry::Compaction(_) => false,
            };
            let end = before.iter().rposition(is_named).map_or(before.len(), |named| named + 1);
            let answer =
                before.iter_mut().take(end).enumerate().rev().find_map(|(index, entry)| match entry {
                    Entry::Message(message) if is_round(message) => Some((index, message)),
                    _ => None,
                });
            let named = answer.map(|(index, message)| {
                message.external_id.get_or_insert_with(|| format!("recorded-{index}")).clone()
            });
            if let Some(entry) = self.entries.get_mut(at) {
                match (named, entry) {
                    (Some(named), Entry::Compaction(recorded)) => recorded.after_external_id = Some(named),
                    (None, entry) => {
                        let said = noise::attached("summary", &text).into_iter().collect();
                        *entry = Entry::Message(NewMessage::new(Body::User(said)));
                    }
                    (Some(_), Entry::Message(_)) => {}
                }
            }
        }
        self
    }

    /// Converts a session back to entries, for export. Calls get their source's ids, and each compaction
    /// follows the last message that it covers.
    pub fn of_transcript(
        transcript: &Transcript,
        title: Option<&str>,
        system: Option<&str>,
        tools: &[Tool],
    ) -> Self {
        let mut import = Import::new(Format::Jsonl);
        import.title = title.map(str::to_owned);
        import.system = system.map(str::to_owned);
        import.tools = tools.to_vec();
        let mut records = transcript.compactions().to_vec();
        // The sort is stable: records at one position keep their order.
        records.sort_by_key(Compaction::resume_at);
        let mut records = records.into_iter().peekable();
        for message in transcript.messages() {
            while let Some(record) = records.next_if(|record| record.resume_at() <= message.ord) {
                import.entries.push(recorded(transcript, &record));
            }
            import.entries.push(Entry::Message(as_new(message)));
        }
        import.entries.extend(records.map(|record| recorded(transcript, &record)));
        import
    }
}

impl Entry {
    /// `true` for a model's answer, that is one model call.
    pub fn is_assistant(&self) -> bool {
        matches!(self, Entry::Message(message) if matches!(message.body, Body::Assistant { .. }))
    }

    /// Appends the entry to a session. A recorded compaction is stored but never applied.
    pub fn append_to(self, transcript: &mut Transcript, counter: &dyn TokenCount) {
        match self {
            Entry::Message(message) => {
                transcript.append(message, counter);
            }
            Entry::Compaction(recorded) => {
                let id = recorded.after_external_id.as_ref();
                let named =
                    transcript.messages().iter().rfind(|m| id.is_some() && m.external_id.as_ref() == id);
                let after = named.map(|message| message.ord);
                let record = compaction(transcript, &recorded, after, counter);
                transcript.record(record);
            }
        }
    }
}

impl RecordedCompaction {
    /// Returns the summary as a session takes it in; `None` for one that is out of force, and before
    /// [`Import::with_anchors`] named its answer.
    pub fn summary(&self) -> Option<SummaryEntry> {
        let (text, named) = (self.text.clone(), self.after_external_id.clone());
        match &self.standing {
            Standing::Recorded => {
                let recorded = Some(self.tokens_before.unwrap_or(0));
                Some(SummaryEntry { round_id: named?, text, own: None, recorded })
            }
            Standing::InForce(own) => {
                let round_id = named.unwrap_or_default();
                Some(SummaryEntry { round_id, text, own: Some(own.clone()), recorded: None })
            }
            Standing::OutOfForce => None,
        }
    }
}

/// `true` for an answer that forms a round.
fn is_round(message: &NewMessage) -> bool {
    matches!(message.body, Body::Assistant { .. }) && !message.body.is_empty() && message.visible_to_model
}

fn recorded(transcript: &Transcript, record: &Compaction) -> Entry {
    let tokens_before = Some(record.tokens_before).filter(|tokens| *tokens > 0);
    let standing = match record.status {
        Status::Recorded => Standing::Recorded,
        Status::InForce => Standing::InForce(match metadata(transcript, record) {
            Persisted::Summary(summary) => summary.threadhold,
            Persisted::Own(own) => own,
        }),
        Status::Undone | Status::Void => Standing::OutOfForce,
    };
    Entry::Compaction(RecordedCompaction {
        text: record.block.to_string(),
        tokens_before,
        after_external_id: None,
        standing,
    })
}

fn as_new(message: &Message) -> NewMessage {
    let mut body = message.body.clone();
    if let Body::Assistant { calls, .. } = &mut body {
        for call in calls.iter_mut() {
            if let Some(id) = call.source_id.take() {
                call.id = CallId::new(id);
            }
        }
    }
    NewMessage {
        body,
        external_id: message.external_id.clone(),
        visible_to_model: message.visible_to_model,
        created_at: message.created_at.clone(),
        shown: None,
    }
}

/// The record of a compaction that follows `after`, or all messages so far.
fn compaction(
    transcript: &Transcript,
    recorded: &RecordedCompaction,
    after: Option<Ordinal>,
    counter: &dyn TokenCount,
) -> Compaction {
    let last = transcript.messages().last().map(|message| message.ord);
    let to = after.map(|ord| end_of_round(transcript, ord)).or(last);
    let covers = to.map(|to| Span { from: Ordinal(0), to });
    Compaction {
        id: transcript.next_compaction_id(),
        generation: transcript.generation(),
        anchor: anchor(transcript, to),
        covers,
        dropped: None,
        source_hash: covers.map(|span| transcript.source_hash(span.from, span.to)).unwrap_or_default(),
        placement: Placement::UserAtBoundary,
        block: recorded.text.as_str().into(),
        block_tokens: counter.count(&recorded.text) + PER_MESSAGE,
        narrative: Some(recorded.text.as_str().into()),
        actions: BTreeMap::new(),
        kept_users: Vec::new(),
        reported_users: Vec::new(),
        open_requests: Vec::new(),
        excluded: BTreeSet::new(),
        // 0 if the source does not state it; no source states the size afterwards.
        tokens_before: recorded.tokens_before.unwrap_or(0),
        tokens_after: 0,
        target: None,
        estimator: counter.name().to_owned(),
        trigger: Trigger::Recorded,
        mode_requested: ModeRequested::Auto,
        mode: Mode::Recorded,
        strength: Strength::Absent,
        fallbacks: Vec::new(),
        focus: None,
        unreviewed: false,
        model: None,
        asked_again: 0,
        cost: None,
        input_truncated: false,
        num_rounds: to.map_or(0, |to| as_count(transcript.first_round_from(to.next()))),
        previous: None,
        replaces: None,
        turn: None,
        created_at: None,
        duration_ms: None,
        status: Status::Recorded,
    }
}

/// The last message of the round that contains this one; the message itself outside of rounds.
fn end_of_round(transcript: &Transcript, ord: Ordinal) -> Ordinal {
    let round =
        transcript.first_round_from(ord.next()).checked_sub(1).and_then(|i| transcript.rounds().get(i));
    round.map_or(
        ord,
        |round| if transcript.turn_at(ord) == Some(round.turn) { round.last.max(ord) } else { ord },
    )
}

fn anchor(transcript: &Transcript, to: Option<Ordinal>) -> Anchor {
    let Some((message, turn)) = to.and_then(|to| transcript.message(to).zip(transcript.turn_at(to))) else {
        // No message precedes it, as in a file that continues a compacted one.
        let round_id = RoundId::new(format!("{}/t0", transcript.session()));
        return Anchor { round_id, ord: Ordinal(0), hash: String::new() };
    };
    let round = transcript.rounds_of(turn).iter().rfind(|round| round.assistant <= message.ord);
    let round_id = round.map_or_else(|| RoundId::new(message.turn.as_str()), |round| round.id.clone());
    Anchor { round_id, ord: message.ord, hash: message.hash.clone() }
}

fn as_count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::message::ToolCall;
    use engine::tokens::QuarterOfChars;

    fn named(body: Body, id: &str) -> Entry {
        Entry::Message(NewMessage { external_id: Some(id.into()), ..NewMessage::new(body) })
    }

    fn session_with_a_summary() -> Import {
        let mut import = Import::new(Format::Pi);
        import.push(NewMessage::user("one").body, None, None);
        import.entries.push(named(Body::assistant("a", vec![ToolCall::new("c", "read", "{}")]), "round-1"));
        import.push(Body::result("c", "text"), None, None);
        import.push(Body::assistant("b", vec![ToolCall::new("c", "read", "{}")]), None, None);
        import.push(Body::result("c", "text again"), None, None);
        import
    }

    #[test]
    fn recorded_compaction_is_stored_but_not_applied() {
        let mut import = session_with_a_summary();
        import.push_compaction("all of it", Some(175_004), None);
        let transcript = import.into_transcript(SessionId::new("s"), &QuarterOfChars);
        assert_eq!(transcript.messages().len(), 5);
        let [record] = transcript.compactions() else { panic!("one record") };
        assert_eq!(record.covers, Some(Span { from: Ordinal(0), to: Ordinal(4) }));
        assert_eq!((record.trigger, record.status), (Trigger::Recorded, Status::Recorded));
        assert_eq!((record.num_rounds, record.tokens_before), (2, 175_004));
        assert_eq!(record.anchor.round_id, transcript.rounds()[1].id);
        assert!(transcript.in_force().is_none());
    }

    #[test]
    fn recorded_compaction_covers_its_whole_round() {
        let mut import = session_with_a_summary();
        import.push_compaction("the first round", None, Some("round-1".into()));
        let transcript = import.into_transcript(SessionId::new("s"), &QuarterOfChars);
        let record = &transcript.compactions()[0];
        assert_eq!(record.covers, Some(Span { from: Ordinal(0), to: Ordinal(2) }));
        assert_eq!(record.source_hash, transcript.source_hash(Ordinal(0), Ordinal(2)));
        assert_eq!(record.num_rounds, 1);
    }

    #[test]
    fn a_compaction_before_every_message_covers_nothing() {
        let mut import = Import::new(Format::Pi);
        import.push_compaction("from another file", None, None);
        import.push(NewMessage::user("go on").body, None, None);
        let transcript = import.into_transcript(SessionId::new("s"), &QuarterOfChars);
        assert_eq!(transcript.compactions()[0].covers, None);
        assert_eq!(transcript.compactions()[0].resume_at(), Ordinal(0));
    }

    #[test]
    fn recorded_compaction_names_an_answer_before_it() {
        let mut import = Import::new(Format::Pi);
        import.push_compaction("from another file", None, None);
        import.push(NewMessage::user("one").body, Some("u".into()), None);
        import.push(Body::assistant("a", vec![]), None, None);
        import.push(NewMessage::user("two").body, Some("v".into()), None);
        import.push_compaction("all of it", Some(7), None);
        import.push(Body::assistant("b", vec![]), Some("b".into()), None);
        import.push_compaction("more", None, Some("v".into()));
        let entries = import.with_anchors().entries;
        let background = noise::attached("summary", "from another file").unwrap();
        assert_eq!(entries[0], Entry::Message(NewMessage::new(Body::User(vec![background]))));
        let summaries: Vec<_> = entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Compaction(recorded) => recorded.summary(),
                Entry::Message(_) => None,
            })
            .collect();
        let summary = |text: &str, tokens: u32| SummaryEntry {
            round_id: "recorded-2".into(),
            text: text.into(),
            own: None,
            recorded: Some(tokens),
        };
        assert_eq!(summaries, [summary("all of it", 7), summary("more", 0)]);
        let Entry::Message(answer) = &entries[2] else { panic!("an answer") };
        assert_eq!(answer.external_id.as_deref(), Some("recorded-2"));
    }

    #[test]
    fn exported_session_has_its_sources_ids() {
        let mut import = session_with_a_summary();
        import.push_compaction("all of it", Some(7), None);
        import.push(NewMessage::user("two").body, None, None);
        let entries = import.entries.clone();
        let transcript = import.into_transcript(SessionId::new("s"), &QuarterOfChars);
        let out = Import::of_transcript(&transcript, Some("t"), None, &[]);
        assert_eq!(out.entries, entries);
    }
}
