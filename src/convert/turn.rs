//! Turns of a client's history: their messages in order, and the summaries that the client persisted with them.

use super::message::{attachments, meta_of_whole};
use super::{ConvertError, Reading};
use engine::compact::metadata::{SummaryEntry, unlisted};
use engine::message::{Beside, Body, Content, NewMessage};
use protocol::restore::{SummaryMetadata, TurnMetadata};
use protocol::turn::{Round, Turn};
use session::history_turn::HistoryTurn;

/// Reads the turns of a history, in order.
pub fn history(reading: &mut Reading, turns: &[Turn]) -> Result<Vec<HistoryTurn>, ConvertError> {
    reading.each(turns, turn)
}

/// Reads a turn, whose fields are at this position.
pub fn turn(reading: &mut Reading, turn: &Turn) -> Result<HistoryTurn, ConvertError> {
    let messages = match &turn.messages {
        Some(messages) => {
            let each = |reading: &mut Reading, message: &_| reading.message(message);
            let mut messages: Vec<NewMessage> =
                reading.field("messages", |reading| reading.each(messages, each))?.concat();
            let request = messages.iter_mut().find(|message| matches!(message.body, Body::User(_)));
            if let Some(request) = request.filter(|request| request.external_id.is_none()) {
                request.external_id.clone_from(&turn.external_id);
            }
            messages
        }
        None => parts_of(reading, turn)?,
    };
    Ok(HistoryTurn {
        external_id: turn.external_id.clone(),
        detailed: turn.messages.is_some() || !rounds_of(turn).is_empty(),
        messages,
        metadata: entries(turn),
    })
}

/// Reads a turn that is given as a request with rounds, or with an answer.
fn parts_of(reading: &mut Reading, turn: &Turn) -> Result<Vec<NewMessage>, ConvertError> {
    let mut messages = Vec::new();
    if let Some(request) = &turn.request {
        let mut content = reading.field("request", |reading| reading.content(request))?;
        content.extend(meta_of_whole(turn.meta.as_ref()));
        content.extend(reading.beside(turn.variables.as_deref(), turn.notebook.as_deref())?);
        content.extend(attachments(turn.attachments.as_deref()).into_iter().map(Content::Attachment));
        messages.push(NewMessage {
            external_id: turn.external_id.clone(),
            ..NewMessage::new(Body::User(content))
        });
    }
    let rounds = rounds_of(turn);
    messages.extend(reading.field("rounds", |reading| reading.each(rounds, round))?.concat());
    if let (Some(response), true) = (&turn.response, rounds.is_empty()) {
        let said = reading.field("response", |reading| reading.said(response))?;
        messages.push(NewMessage::new(said.body(Beside::default(), None)));
    }
    Ok(messages)
}

/// Reads the messages of a round: its assistant message, which has the round's id, and its results.
pub fn round(reading: &mut Reading, round: &Round) -> Result<Vec<NewMessage>, ConvertError> {
    let mut assistant = reading.field("assistant", |reading| reading.assistant(&round.assistant))?;
    if round.id.is_some() {
        assistant.external_id.clone_from(&round.id);
    }
    let results = round.results.as_deref().unwrap_or_default();
    let results = reading.field("results", |reading| {
        reading.each(results, |reading, result| Ok(NewMessage::new(Body::Tool(reading.result(result)?))))
    })?;
    Ok(std::iter::once(assistant).chain(results).collect())
}

fn rounds_of(turn: &Turn) -> &[Round] {
    turn.rounds.as_deref().unwrap_or_default()
}

/// The summaries of a turn: `summaries`, else `summary`; those of rounds that none of them names; and those
/// of no round.
fn entries(turn: &Turn) -> Vec<SummaryEntry> {
    let mut entries: Vec<SummaryEntry> = match &turn.metadata {
        Some(TurnMetadata { summaries: Some(all), .. }) if !all.is_empty() => all.iter().map(entry).collect(),
        Some(TurnMetadata { summary: Some(one), .. }) => vec![entry(one)],
        // Becomes an entry that is reported as unreadable.
        Some(metadata) if metadata.is_unreadable() => {
            vec![SummaryEntry {
                round_id: String::new(),
                text: String::new(),
                own: Some(String::new()),
                recorded: None,
            }]
        }
        _ => Vec::new(),
    };
    for round in rounds_of(turn) {
        let Some(text) = &round.summary else { continue };
        let round_id =
            round.id.as_ref().or(round.assistant.external_id.as_ref()).cloned().unwrap_or_default();
        if round_id.is_empty() || !entries.iter().any(|entry| entry.round_id == round_id) {
            entries.push(SummaryEntry { round_id, text: text.clone(), own: None, recorded: None });
        }
    }
    let beside = turn.metadata.as_ref().and_then(|metadata| metadata.threadhold.as_deref());
    entries.extend(beside.map(unlisted).unwrap_or_default());
    entries
}

fn entry(metadata: &SummaryMetadata) -> SummaryEntry {
    SummaryEntry {
        round_id: metadata.tool_call_round_id.clone(),
        text: metadata.text.clone(),
        own: metadata.threadhold.clone(),
        recorded: None,
    }
}
