//! What is found in a conversation: messages, calls, compaction records.

use super::conversation::{Conversation, ordinal};
use crate::values::input::At;
use crate::values::refusal::{Reason, Refusal};
use engine::compact::known_tools::Kinds;
use engine::compact::ledger;
use engine::compact::metadata::{Persisted, metadata};
use engine::compact::record::{Compaction, Status};
use engine::id::{CallId, CompactionId, MessageId, Ordinal, TurnId};
use engine::message::{Body, Message, ToolCall};
use engine::prompt::item::{EndsTurn, Tool};
use engine::words::TurnStatus;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A compaction record with what clients keep of it.
pub(crate) type Record = (Compaction, Persisted);

impl Conversation {
    /// The position of the next message.
    pub fn next_ord(&self) -> Ordinal {
        ordinal(self.transcript.messages().len())
    }

    /// The newest turn.
    pub fn turn_id(&self) -> Option<TurnId> {
        self.transcript.turns().last().map(|turn| turn.id.clone())
    }

    /// Whether the newest turn was not told to have ended.
    pub fn is_turn_running(&self) -> bool {
        self.turns.last().is_some_and(|row| row.status == TurnStatus::Running)
    }

    /// The place of the newest turn's row; 0 where there is none.
    pub fn last_turn(&self) -> usize {
        self.turns.len().saturating_sub(1)
    }

    /// The message that is meant, among those that a client sees.
    pub fn resolve(&self, at: &At) -> Result<MessageId, Refusal> {
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
    pub fn find(&self, id: &MessageId) -> Result<&Arc<Message>, Refusal> {
        let mut newest_first = self.transcript.messages().iter().rev();
        newest_first
            .find(|message| message.id == *id && !message.is_removed())
            .ok_or_else(|| Refusal::Unknown { what: "messageId", id: id.as_str().to_owned() })
    }

    /// Calls of the newest round that have no result. A turn that has no round yet waits for none: what an earlier one
    /// left open, such as a conversation that was taken in, is nobody's any more.
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

    /// Name and arguments of calls of the newest round.
    pub fn reasons<'a>(&self, calls: impl Iterator<Item = &'a CallId>, reason: &str) -> Vec<Reason> {
        let newest =
            self.transcript.rounds().last().and_then(|round| self.transcript.message(round.assistant));
        let Some(Body::Assistant { calls: known, .. }) = newest.map(|message| &message.body) else {
            return Vec::new();
        };
        let found = calls.filter_map(|id| known.iter().find(|call| call.id == *id));
        let with = |call: &ToolCall| Reason {
            call: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            reason: reason.to_owned(),
        };
        found.map(with).collect()
    }

    /// A tool that the model is told of.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.fixed.tools.iter().find(|tool| tool.name == name)
    }

    /// Whether we run this tool: the model was told of ours, and the editor has none of that name.
    pub fn is_own(&self, name: &str) -> bool {
        let is = |tools: &[Tool]| tools.iter().any(|tool| tool.name == name);
        is(&self.settings.own_tools) && !is(&self.head.prefix.tools)
    }

    /// How the newest round of the newest turn ends it, where it does: by this call.
    pub fn ending_call(&self) -> Option<(EndsTurn, ToolCall)> {
        let transcript = &self.transcript;
        // What an earlier turn ended with says nothing of one that has no round.
        let round = transcript.rounds_of(transcript.turns().len().checked_sub(1)?).last()?;
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

    /// What clients keep of a record.
    pub fn persisted(&self, record: &Compaction) -> Persisted {
        metadata(&self.transcript, record)
    }

    /// What clients keep of the compactions in force.
    pub fn kept_by_clients(&self) -> BTreeMap<CompactionId, Persisted> {
        let kept = self.records().into_iter().filter(|(record, _)| record.status == Status::InForce);
        kept.map(|(record, metadata)| (record.id, metadata)).collect()
    }

    /// The metadata of the summaries that were made while this turn ran, oldest first.
    pub fn summaries_of(&self, at: usize) -> Vec<Persisted> {
        let Some(turn) = self.transcript.turns().get(at) else { return Vec::new() };
        let made = self
            .transcript
            .compactions()
            .iter()
            .filter(|record| record.turn.as_ref() == Some(&turn.id) && record.status == Status::InForce);
        made.map(|record| self.persisted(record)).collect()
    }

    /// How tools are known to the ledger.
    pub fn kinds(&self) -> Kinds<'_> {
        Kinds { named: &self.settings.policy.tool_kinds, declared: &self.fixed.tools }
    }

    /// What to say of calls under a new record that the ledger could not read.
    pub fn unreadable(&self, record: &Compaction) -> Vec<String> {
        ledger::unreadable(&self.transcript, record, self.kinds())
    }
}
