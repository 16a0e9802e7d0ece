//! Lookups in a conversation: messages, calls, compaction records.

use super::conversation::{Conversation, ordinal};
use crate::tools::calling::Runner;
use crate::values::decision::Decision;
use crate::values::input::At;
use crate::values::refusal::Refusal;
use engine::compact::known_tools::Kinds;
use engine::compact::ledger;
use engine::compact::metadata::{Persisted, metadata};
use engine::compact::record::{Compaction, Status};
use engine::cost::Cost;
use engine::id::{CallId, CompactionId, MessageId, Ordinal, RoundId, TurnId};
use engine::message::{Body, Message, Text, ToolCall, Usage};
use engine::prompt::item::{EndsTurn, Tool};
use engine::words::{Driver, TurnStatus};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A compaction record with the metadata that clients keep of it.
pub(crate) type Record = (Compaction, Persisted);

impl Conversation {
    /// The position of the next message.
    pub fn next_ord(&self) -> Ordinal {
        ordinal(self.transcript.messages().len())
    }

    /// Id of the newest turn.
    pub fn turn_id(&self) -> Option<TurnId> {
        self.transcript.turns().last().map(|turn| turn.id.clone())
    }

    /// `true` if the end of the newest turn was not recorded yet.
    pub fn is_turn_running(&self) -> bool {
        self.turns.last().is_some_and(|row| row.status == TurnStatus::Running)
    }

    /// `true` if the editor's loop runs the newest turn.
    pub fn is_editors_turn_open(&self) -> bool {
        self.head.driver == Driver::Editor && self.is_turn_running()
    }

    /// `true` if a message of the turn at this index is left for clients to see.
    pub fn is_turn_shown(&self, at: usize) -> bool {
        let first = self.transcript.turns().get(at).map(|turn| turn.first);
        let said = first.zip(self.transcript.last_of_turn(at));
        let said = said.map(|(first, last)| self.transcript.range(first, last));
        said.is_some_and(|said| said.iter().any(|message| !message.is_removed()))
    }

    /// The rounds of the turn at this index, by the positions of their messages.
    pub fn round_ids(&self, at: usize) -> BTreeMap<Ordinal, RoundId> {
        let rounds = self.transcript.rounds_of(at).iter();
        let messages = rounds.flat_map(|round| {
            let results = round.results.iter().flatten().copied();
            std::iter::once(round.assistant).chain(results).map(|ord| (ord, round.id.clone()))
        });
        messages.collect()
    }

    /// Id of the round of this message, if it is an answer or the result of a call.
    pub fn round_id(&self, ord: Ordinal) -> Option<RoundId> {
        self.transcript.round_of(ord).map(|round| round.id.clone())
    }

    /// The sums of usage and cost of the answers of the turn at this index.
    pub fn spent_in(&self, at: usize) -> (Option<Usage>, Option<Cost>) {
        self.spent_before(at, Ordinal(u32::MAX))
    }

    /// As [`Self::spent_in`], of the answers before a position.
    pub fn spent_before(&self, at: usize, end: Ordinal) -> (Option<Usage>, Option<Cost>) {
        let first = self.transcript.turns().get(at).map(|turn| turn.first);
        let said = first.zip(self.transcript.last_of_turn(at));
        let said = said.map_or(&[][..], |(first, last)| self.transcript.range(first, last));
        let (mut usage, mut cost): (Option<Usage>, Cost) = Default::default();
        for message in said.iter().filter(|message| message.ord < end) {
            let Body::Assistant { beside, .. } = &message.body else { continue };
            if let Some(reported) = beside.usage {
                usage.get_or_insert_default().add(reported);
            }
            // An answer of an older version, or of the editor's own loop, has only what its provider reported.
            let reported = || beside.reported_cost().map(Cost::reported);
            cost.add(beside.cost.as_deref().copied().or_else(reported).unwrap_or(Cost::UNKNOWN));
        }
        (usage, cost.known())
    }

    /// Index of the newest turn's row; 0 if there is none.
    pub fn last_turn(&self) -> usize {
        self.turns.len().saturating_sub(1)
    }

    /// Finds a message among those that a client sees.
    pub fn at(&self, at: &At) -> Result<&Arc<Message>, Refusal> {
        match at {
            At::Id(id) => self.find(id),
            At::Index(index) => {
                let mut seen = self.transcript.messages().iter().filter(|message| !message.is_removed());
                let found = seen.nth(*index as usize);
                found.ok_or_else(|| Refusal::Unknown { what: "index", id: index.to_string() })
            }
        }
    }

    /// Finds a message that a client sees, from the newest on.
    pub fn find(&self, id: &MessageId) -> Result<&Arc<Message>, Refusal> {
        let mut newest_first = self.transcript.messages().iter().rev();
        newest_first
            .find(|message| message.id == *id && !message.is_removed())
            .ok_or_else(|| Refusal::Unknown { what: "messageId", id: id.as_str().to_owned() })
    }

    /// Calls of the newest round without a result. Empty if the newest turn has no round: calls left open by
    /// an earlier one, as in an imported conversation, no longer count.
    pub fn unanswered(&self) -> BTreeSet<CallId> {
        let turn = self.transcript.turns().len().saturating_sub(1);
        let Some(round) = self.transcript.rounds_of(turn).last() else { return BTreeSet::new() };
        let Some(Body::Assistant { calls, .. }) =
            self.transcript.message(round.assistant).map(|message| &message.body)
        else {
            return BTreeSet::new();
        };
        let open = calls.iter().zip(&round.results).filter(|(_, result)| result.is_none());
        open.map(|(call, _)| call.id.clone()).collect()
    }

    /// Those of these calls that are in the newest round. The arguments are the user's where the user changed them.
    pub fn newest_calls<'a>(&self, calls: impl Iterator<Item = &'a CallId>) -> Vec<ToolCall> {
        let newest =
            self.transcript.rounds().last().and_then(|round| self.transcript.message(round.assistant));
        let Some(Body::Assistant { calls: known, .. }) = newest.map(|message| &message.body) else {
            return Vec::new();
        };
        let found = calls.filter_map(|id| known.iter().find(|call| call.id == *id));
        let with_edits = |call: &ToolCall| ToolCall {
            arguments: self.edited_arguments(&call.id).unwrap_or(&call.arguments).clone(),
            ..call.clone()
        };
        found.map(with_edits).collect()
    }

    /// The user's decision about a call of the newest turn, if there was one.
    pub fn decision(&self, call: &CallId) -> Option<&Decision> {
        self.turns.last()?.decided.iter().rfind(|decision| decision.call == *call)
    }

    fn edited_arguments(&self, call: &CallId) -> Option<&Text> {
        self.decision(call)?.arguments.as_ref()
    }

    /// A tool that the model knows.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.fixed.tools.iter().find(|tool| tool.name == name)
    }

    /// `true` if the sidecar runs this tool: it is one of its own, and the editor has none of that name.
    pub fn is_own(&self, name: &str) -> bool {
        let is = |tools: &[Tool]| tools.iter().any(|tool| tool.name == name);
        is(&self.settings.own_tools) && !is(&self.head.prefix.tools)
    }

    /// The side that runs calls of this tool.
    pub fn runner(&self, name: &str) -> Runner {
        let is = |tools: &[Tool]| tools.iter().any(|tool| tool.name == name);
        if self.is_own(name) {
            Runner::Own
        } else if is(&self.head.prefix.server_tools) && !is(&self.head.prefix.tools) {
            Runner::Server
        } else {
            Runner::Editor
        }
    }

    /// The call that ends the newest turn in its newest round, and how, if one does.
    pub fn ending_call(&self) -> Option<(EndsTurn, ToolCall)> {
        self.ending_call_of(self.transcript.turns().len().checked_sub(1)?)
    }

    /// The call that ends the turn at this index in its newest round, and how, if one does.
    pub fn ending_call_of(&self, turn: usize) -> Option<(EndsTurn, ToolCall)> {
        let transcript = &self.transcript;
        // A turn without a round is not ended by a call of an earlier turn.
        let round = transcript.rounds_of(turn).last()?;
        let Body::Assistant { calls, .. } = &transcript.message(round.assistant)?.body else { return None };
        let answered = calls.iter().zip(&round.results).filter(|(_, result)| {
            let result = result.and_then(|ord| transcript.message(ord)).map(|message| &message.body);
            matches!(result, Some(Body::Tool(result)) if !result.is_error)
        });
        let ends = answered.filter_map(|(call, _)| Some((self.tool(&call.name)?.ends_turn?, call)));
        let (ends, call) = ends.max_by_key(|(ends, _)| *ends)?;
        Some((ends, call.clone()))
    }

    /// A compaction record, whatever its status.
    pub fn record(&self, id: &CompactionId) -> Option<&Compaction> {
        self.transcript.compactions().iter().find(|record| record.id == *id)
    }

    /// All compaction records, oldest first.
    pub fn records(&self) -> Vec<Record> {
        let records = self.transcript.compactions().iter();
        records.map(|record| (record.clone(), self.persisted(record))).collect()
    }

    /// The metadata that clients keep of a record.
    pub fn persisted(&self, record: &Compaction) -> Persisted {
        metadata(&self.transcript, record)
    }

    /// The metadata that clients keep of the compactions in force.
    pub fn kept_by_clients(&self) -> BTreeMap<CompactionId, Persisted> {
        let kept = self.records().into_iter().filter(|(record, _)| record.status == Status::InForce);
        kept.map(|(record, metadata)| (record.id, metadata)).collect()
    }

    /// Metadata of the summaries in force that were made in the turn at this index, oldest first.
    pub fn summaries_of(&self, at: usize) -> Vec<Persisted> {
        let Some(turn) = self.transcript.turns().get(at) else { return Vec::new() };
        let made = self
            .transcript
            .compactions()
            .iter()
            .filter(|record| record.turn.as_ref() == Some(&turn.id) && record.status == Status::InForce);
        made.map(|record| self.persisted(record)).collect()
    }

    /// Kinds of tools, for the ledger.
    pub fn kinds(&self) -> Kinds<'_> {
        Kinds { named: &self.settings.policy.tool_kinds, declared: &self.fixed.tools }
    }

    /// Messages about calls under a new record that the ledger could not read.
    pub fn unreadable(&self, record: &Compaction) -> Vec<String> {
        ledger::unreadable(&self.transcript, record, self.kinds())
    }
}
