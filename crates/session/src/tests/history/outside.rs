//! A changed copy of a session is merged: edits in place, a cut where the two diverge, and a revision wherever
//! something is removed. Random changes are drawn in `happening`.

use crate::effect::{Answer, Effect};
use crate::input::{Command, Restore, TakeIn, Taken};
use crate::stored::{Driver, Write};
use crate::tests::bench::text;
use crate::tests::machine::drive;
use crate::tests::machine::model::Model;
use engine::id::CallId;
use engine::message::{AssistantPart, Body, Content, NewMessage, ToolCall};
use engine::transcript::Transcript;
use std::collections::BTreeSet;

/// Returns a copy of the messages.
pub fn copy(transcript: &Transcript) -> Vec<Taken> {
    let said = transcript.messages().iter().filter(|message| !message.is_source_keys());
    let mut turn = None;
    said.map(|message| Taken {
        id: Some(message.id.as_str().to_owned()),
        begins: Some(turn.replace(message.turn.clone()).as_ref() != Some(&message.turn)),
        message: NewMessage::from(&**message),
    })
    .collect()
}

/// Returns the command that brings a copy changed at its nth message, in one of five ways.
pub fn changed_copy(transcript: &Transcript, nth: u8, how: u8) -> Command {
    let mut messages = copy(transcript);
    let known = messages.len() as u32;
    let at = usize::from(nth).checked_rem(messages.len()).unwrap_or_default();
    match how {
        0 => {}
        1 => messages.truncate(at),
        2 => {
            messages.truncate(at);
            messages.push(Taken::new(NewMessage::user(&text(u16::from(nth)))));
        }
        3 => messages.push(Taken::new(NewMessage::user("One more thing."))),
        _ => messages.get_mut(at).into_iter().for_each(|taken| other_words(&mut taken.message.body)),
    }
    Command::TakeIn(Box::new(TakeIn { title: None, messages, known }))
}

/// Returns the calls that have no result in the command's messages.
pub fn unanswered(command: &Command) -> BTreeSet<CallId> {
    let messages = match command {
        Command::Restore(given) => &given.messages,
        Command::TakeIn(given) => &given.messages,
        _ => return BTreeSet::new(),
    };
    let mut open = BTreeSet::new();
    for taken in messages {
        match &taken.message.body {
            Body::Assistant { calls, .. } => open.extend(calls.iter().map(|call| call.id.clone())),
            Body::Tool(result) => open.retain(|call| call.as_str() != result.call),
            Body::User(_) | Body::Event { .. } => {}
        }
    }
    open
}

/// Returns `true` if the call has one of these ids, here or at its origin. A copy names a call as the session
/// does, which may differ from its provider's name.
pub fn is_of(call: &ToolCall, ids: &BTreeSet<CallId>) -> bool {
    ids.contains(&call.id) || call.source_id.clone().is_some_and(|id| ids.contains(&CallId::new(id)))
}

fn other_words(body: &mut Body) {
    match body {
        Body::User(parts) => *parts = vec![Content::Text("Other words.".into())],
        Body::Assistant { parts, .. } => *parts = vec![AssistantPart::Text("Other words.".into())],
        Body::Tool(result) => result.content = vec![Content::Text("Other words.".into())],
        Body::Event { .. } => {}
    }
}

/// A session at rest after two turns.
fn spoken() -> Model {
    let mut model = drive::model(Driver::Sidecar);
    for said in ["The first.", "The second."] {
        model.asks(said);
        model.answers(&[]);
        model.comes_to_rest();
    }
    model
}

/// Takes in a changed copy; returns `true` if a revision was made, and the session's texts.
fn taken(model: &mut Model, messages: Vec<Taken>, known: u32) -> (bool, Vec<String>) {
    let given = TakeIn { title: None, messages, known };
    let answer = model.command(Command::TakeIn(Box::new(given)));
    let Some(Ok(Answer::Accepted(accepted))) = answer else { panic!("{answer:?}") };
    let revisions = |effect: &Effect| matches!(effect, Effect::Write(Write::Revision(_)));
    assert_eq!(model.bench.effects.iter().any(revisions), accepted.session.is_some());
    (accepted.session.is_some(), said(model))
}

fn said(model: &Model) -> Vec<String> {
    let messages = model.bench.session.transcript().messages().iter();
    messages.map(|m| m.body.texts().into_iter().map(|t| &**t).collect()).collect()
}

#[test]
fn changed_copy_is_merged_and_a_revision_keeps_the_rest() {
    let mut model = spoken();
    let before = said(&model);
    assert_eq!(before.len(), 4);
    let ids = |model: &Model| -> Vec<String> {
        model.bench.session.transcript().messages().iter().map(|m| m.id.as_str().to_owned()).collect()
    };
    let first_ids = ids(&model);
    let whole = copy(model.bench.session.transcript());

    assert_eq!(taken(&mut model, whole.clone(), 4), (false, before.clone()), "nothing changed");
    assert_eq!(taken(&mut model, whole[..2].to_vec(), 2), (false, before.clone()), "later ones stay");

    let mut changed = whole.clone();
    other_words(&mut changed[1].message.body);
    let (is_rewound, now) = taken(&mut model, changed, 4);
    assert!(is_rewound);
    assert_eq!((&*now[1], &now[0], &now[2..]), ("Other words.", &before[0], &before[2..]));
    assert_eq!(ids(&model), first_ids, "all ids stay where only words change");

    let mut longer = copy(model.bench.session.transcript());
    longer.push(Taken { begins: Some(true), ..Taken::new(NewMessage::user("The third.")) });
    let (is_rewound, now) = taken(&mut model, longer, 4);
    assert_eq!(
        (is_rewound, now.len(), &*now[4]),
        (false, 5, "The third."),
        "what is only added needs no revision"
    );
    assert_eq!(model.bench.session.transcript().turns().len(), 3);

    let (is_rewound, now) = taken(&mut model, whole[..1].to_vec(), 5);
    assert_eq!((is_rewound, now), (true, before[..1].to_vec()), "removed messages are cut off");
    assert!(model.bench.session.is_at_rest());
}

#[test]
fn a_changed_copy_waits_until_nothing_runs() {
    let mut model = spoken();
    let whole = copy(model.bench.session.transcript());
    model.asks("The third.");
    let given = TakeIn { title: None, messages: whole, known: 4 };
    let answer = model.command(Command::TakeIn(Box::new(given)));
    assert!(matches!(answer, Some(Err(_))), "{answer:?}");
    assert_eq!(said(&model)[4], "The third.");
}

/// The messages of a session, restored into an empty one, have the same turns, rounds and ids.
#[test]
fn restored_copy_has_the_same_turns_and_rounds() {
    let model = spoken();
    let transcript = model.bench.session.transcript();
    let mut other = drive::model(Driver::Sidecar);
    let restore = Restore { messages: copy(transcript), ..Restore::default() };
    other.command(Command::Restore(Box::new(restore)));
    let again = other.bench.session.transcript();
    assert_eq!(again.turns(), transcript.turns());
    assert_eq!(again.rounds(), transcript.rounds());
    let same = |of: &Transcript| -> Vec<_> {
        of.messages().iter().map(|m| (m.id.clone(), m.turn.clone(), m.body.clone(), m.shown)).collect()
    };
    assert_eq!(same(again), same(transcript));
}
