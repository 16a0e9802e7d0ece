//! Test helpers of this crate and of others (feature `testing`): stores on each backend, and sessions to
//! write. No assertions about stores.
#![allow(
    clippy::expect_used,
    clippy::new_without_default,
    clippy::panic,
    clippy::unwrap_used,
    missing_docs,
    reason = "helpers of tests fail as tests do"
)]

mod bench;
pub mod postgres;

pub use bench::{Backend, Bench, Folder, backends, heard, on_each};

use engine::compact::record::{
    Anchor, Compaction, Fallback, Mode, ModeRequested, Placement, Span, Status, Strength, Trigger,
};
use engine::cost::Cost;
use engine::delta::Delta;
use engine::id::{CompactionId, Generation, ItemId, MessageId, Ordinal, RoundId, SessionId, Time, TurnId};
use engine::message::cut::Cut;
use engine::message::meta::{AnswerMeta, Meta};
use engine::message::{
    AssistantPart, Beside, Body, Content, Effect, Image, Message, NewMessage, ResourceLink, Thought,
    ToolCall, ToolResult, Usage, Verdict,
};
use engine::tokens::QuarterOfChars;
use engine::transcript::Transcript;
use serde_json::{Map, json};
use session::input::StartTurn;
use session::queue::{Accepted, QueueItem, Work};
use session::stored::{
    Driver, Head, Inherited, Origin, Prefix, Revision, RevisionCause, Stored, Streamed, TurnFigures, TurnRow,
    TurnStatus, Write,
};
use std::sync::Arc;

pub fn session(id: &str) -> SessionId {
    SessionId::new(id)
}

pub fn user(text: &str) -> Body {
    Body::User(vec![Content::Text(text.into())])
}

pub fn head(id: &str) -> Head {
    Head {
        id: session(id),
        workspace: "w".into(),
        title: None,
        driver: Driver::Sidecar,
        kind: None,
        parent: None,
        work_scope: None,
        generation: Generation(0),
        cuts: 0,
        title_from: None,
        origin: Default::default(),
        accepted: 0,
        prefix: Prefix::default(),
        waits: false,
        carried: Default::default(),
        settings: serde_json::json!({}),
        created_at: Time(10),
        updated_at: Time(20),
    }
}

/// Keeps a session as the revision of this id.
pub fn keep(id: &str) -> Write {
    Write::Revision(revision(id))
}

pub fn revision(id: &str) -> Revision {
    Revision { id: session(id), cause: RevisionCause::Edit, at: Time(30), words: Some("old words".into()) }
}

/// A branch of `s` up to these positions, and up to this record.
pub fn branch(to: &str, messages: u32, turns: u32, record: Option<&str>) -> Write {
    let mut own = head(to);
    (own.parent, own.origin) = (Some(session("s")), Origin::Branch);
    Write::Branch {
        to: session(to),
        inherited: Inherited {
            messages: Ordinal(messages),
            turns,
            compactions: record.map(CompactionId::new),
        },
        writes: vec![Write::Head(Box::new(own))],
    }
}

/// A message of session `s` at this ordinal.
pub fn message(ord: u32, body: Body) -> Message {
    let mut transcript = Transcript::new(session("s"));
    transcript.append(NewMessage::new(body), &QuarterOfChars);
    let mut message = (*transcript.messages()[0]).clone();
    message.id = MessageId::new(format!("s/m{ord}"));
    message.ord = Ordinal(ord);
    message
}

/// A head and `messages` messages from ordinal `from` on: requests and answers in turn, two to a turn, each
/// with an external id of session and ordinal.
pub fn step(id: &str, from: u32, messages: u32) -> Vec<Write> {
    let mut writes = vec![Write::Head(Box::new(head(id)))];
    for ord in from..from + messages {
        let text = format!("{id} says {ord}: é漢🙂");
        let body = if ord % 2 == 0 { user(&text) } else { Body::assistant(&text, Vec::new()) };
        let mut message = message(ord, body);
        message.external_id = Some(format!("{id}-{ord}"));
        let (after_turn, unnamed, repeats) = (false, ord % 2 == 0, Default::default());
        let cut = Cut { head: 1, tail: ord, tokens: message.tokens, after_turn, unnamed, repeats };
        message.shown = (ord % 5 == 3).then_some(cut);
        let turn = ord / 2;
        message.turn = TurnId::new(format!("{id}/t{turn}"));
        let row = TurnRow {
            index: turn,
            id: message.turn.clone(),
            status: TurnStatus::Completed,
            started: None,
            decided: Vec::new(),
            figures: TurnFigures::default(),
        };
        writes.push(Write::Turn(row));
        writes.push(Write::Message { turn, message: Arc::new(message) });
    }
    writes
}

/// The session that these writes create, if they only add.
pub fn expected(writes: &[Write]) -> Stored {
    let mut stored = Stored {
        head: head("s"),
        turns: Vec::new(),
        messages: Vec::new(),
        compactions: Vec::new(),
        queue: Vec::new(),
        keys: Vec::new(),
        draft: None,
        streamed: Vec::new(),
        unreadable: Vec::new(),
    };
    for write in writes {
        match write {
            Write::Head(head) => stored.head = (**head).clone(),
            Write::Message { turn, message } => stored.messages.push((*turn, Arc::clone(message))),
            Write::Turn(turn) => {
                stored.turns.retain(|there| there.index != turn.index);
                stored.turns.push(turn.clone());
            }
            Write::Compaction(record) => stored.compactions.push((**record).clone()),
            Write::Enqueue(item) => stored.queue.push((**item).clone()),
            Write::Key { key, accepted } => stored.keys.push((key.clone(), accepted.clone())),
            Write::Draft(draft) => stored.draft.clone_from(draft),
            Write::Streamed(piece) => stored.streamed.push(piece.clone()),
            Write::StreamEnded => stored.streamed.clear(),
            other => panic!("not only added: {other:?}"),
        }
    }
    stored
}

/// A queued request.
pub fn queued(id: &str, priority: bool, text: &str) -> QueueItem {
    let turn = TurnId::new(format!("{id}/turn"));
    let message = MessageId::new(format!("{id}/message"));
    let start = StartTurn {
        content: vec![Content::Text(text.into())],
        external_id: Some(format!("{id} of the editor")),
        ..StartTurn::default()
    };
    QueueItem { id: ItemId::new(id), priority, work: Work::Start { turn, message, start: Box::new(start) } }
}

/// The answer to a command that created this turn.
pub fn accepted(turn: &str) -> Accepted {
    Accepted { turn: Some(TurnId::new(turn)), position: Some(1), ..Accepted::default() }
}

pub fn enqueue(id: &str, priority: bool, text: &str) -> Write {
    Write::Enqueue(Box::new(queued(id, priority, text)))
}

pub fn key(key: &str, turn: &str) -> Write {
    Write::Key { key: key.into(), accepted: accepted(turn) }
}

/// A piece of an answer in progress.
pub fn piece(text: &str) -> Write {
    let deltas = vec![Delta::AppendContent(text.to_owned())];
    Write::Streamed(Streamed { message: MessageId::new("s/m1"), deltas })
}

/// A compaction that covers the messages up to this one.
pub fn compaction(id: &str, to: u32) -> Compaction {
    Compaction {
        id: CompactionId::new(id),
        generation: Generation(1),
        anchor: Anchor { round_id: RoundId::new("s/r0"), ord: Ordinal(to), hash: "h".into() },
        covers: Some(Span { from: Ordinal(0), to: Ordinal(to) }),
        dropped: None,
        source_hash: "h".into(),
        placement: Placement::UserAtBoundary,
        focus: None,
        unreviewed: false,
        block: format!("<conversation-summary>\nblock of {id} 漢\n</conversation-summary>").into(),
        block_tokens: 7,
        narrative: None,
        actions: [(Ordinal(9), engine::compact::record::Action::Repeat { newer: Ordinal(11), tokens: 3 })]
            .into(),
        kept_users: vec![Ordinal(0)],
        reported_users: Vec::new(),
        open_requests: vec![Ordinal(2)],
        excluded: [Ordinal(12)].into(),
        tokens_before: 100,
        tokens_after: 50,
        target: Some(60),
        estimator: "chars/4".into(),
        trigger: Trigger::BudgetExceeded,
        mode_requested: ModeRequested::Auto,
        mode: Mode::Full,
        strength: Strength::Low,
        fallbacks: vec![Fallback { mode: Mode::Full, reason: "empty".into(), asked: Some(1) }],
        model: Some("m".into()),
        asked_again: 0,
        cost: None,
        input_truncated: false,
        num_rounds: 2,
        previous: None,
        replaces: None,
        turn: Some(TurnId::new("s/t0")),
        created_at: Some(Time(30)),
        duration_ms: Some(5),
        status: Status::InForce,
    }
}

/// Difficult texts: control characters, references, large ones.
pub fn texts() -> Vec<String> {
    let controls: String =
        (0..32).map(char::from).chain(['\u{7f}', '\u{85}', '\u{2028}', '\u{feff}']).collect();
    vec![
        String::new(),
        "plain".into(),
        "é漢🙂👩‍👩‍👧‍👦e\u{301}".into(),
        "\u{0}".into(),
        "a\u{0}b\u{0}".into(),
        controls,
        "\u{fffd}\u{10ffff}".into(),
        r#"{"$blob":"0000000000000000000000000000000000000000000000000000000000000000"}"#.into(),
        "$blob\"".into(),
        "x".repeat(16 * 1024),
        "x".repeat(16 * 1024 + 1),
        "漢\u{0}\"\\".repeat(1024 * 1024 / 6),
    ]
}

/// Bodies of every kind with each of [`texts`].
pub fn bodies() -> Vec<Body> {
    let mut bodies = Vec::new();
    for text in texts() {
        let content = vec![
            Content::Text(text.as_str().into()),
            Content::Image(Image { mime_type: "image/png".into(), data: text.as_str().into() }),
            Content::Resource { uri: text.clone(), text: text.as_str().into() },
            Content::ContextFile { path: text.clone(), text: "t".into() },
            Content::ResourceLink(ResourceLink {
                uri: text.clone(),
                name: "n".into(),
                size: Some(1),
                ..ResourceLink::default()
            }),
            Content::Meta(Meta::Part(Map::from_iter([(text.clone(), json!([text]))]).into())),
            Content::Meta(Meta::Whole(Map::from_iter([(text.clone(), json!(null))]).into())),
        ];
        bodies.push(Body::User(content.clone()));
        let mut call = ToolCall::new("c", "tool", &text);
        call.source_id = Some(text.clone());
        bodies.push(Body::Assistant {
            parts: vec![
                AssistantPart::Text(text.as_str().into()),
                AssistantPart::Reasoning {
                    text: text.as_str().into(),
                    signature: Some(text.as_str().into()),
                    block: Some(Arc::new(Map::from_iter([("id".to_owned(), json!(text))]))),
                },
                AssistantPart::Raw(Arc::new(json!({ "type": "made", "content": [{ "$blob": text }, 0.1] }))),
            ],
            calls: vec![call],
            beside: Beside {
                citations: vec![json!(text), json!(null)],
                usage: Some(Usage { input_tokens: Some(u32::MAX), ..Usage::default() }),
                cost: Some(Cost::UNKNOWN.into()),
                extra: Map::from_iter([(text.clone(), json!({ "a": [text] }))]),
                thought: Some(Thought { tokens: 7, follows: Some(text.clone()) }),
                meta: AnswerMeta::of(
                    Some(Map::from_iter([(text.clone(), json!(0.1))])),
                    [(0, Map::from_iter([(text.clone(), json!(text))]))].into(),
                ),
            },
        });
        bodies.push(Body::Tool(ToolResult {
            call: text.clone(),
            content,
            is_error: true,
            exit_code: Some(-1),
            effects: vec![Effect { path: text.clone(), sha256: text.clone() }],
            verdict: Some(Verdict::new(true, Some(text.clone()))),
        }));
        bodies.push(Body::Event { kind: "notice".into(), text: text.as_str().into() });
    }
    for body in &mut bodies {
        body.weigh_thinking(&QuarterOfChars);
    }
    bodies
}

/// Rounds per turn.
const ROUNDS: u32 = 10;

/// A session of `rounds` rounds, ten to a turn, with a compaction that covers all but the newest turn and two
/// rounds before it.
pub fn long_with(rounds: u32, head: session::stored::Head) -> Vec<Write> {
    let mut transcript = Transcript::new(head.id.clone());
    let text = |what: &str, n: u32| format!("{what} {n}: {}", "it goes on like this. ".repeat(12));
    for round in 0..rounds {
        if round % ROUNDS == 0 {
            let mut request = NewMessage::new(Body::User(vec![Content::Text(text("request", round).into())]));
            request.external_id = Some(format!("request-{}", round / ROUNDS));
            transcript.append_turn(request, &QuarterOfChars);
        }
        let call = ToolCall::new(&format!("c{round}"), "read", "{\"path\": \"src/a.rs\"}");
        transcript
            .append(NewMessage::new(Body::assistant(&text("answer", round), vec![call])), &QuarterOfChars);
        transcript.append(
            NewMessage::new(Body::result(&format!("c{round}"), &text("result", round))),
            &QuarterOfChars,
        );
    }
    let mut writes = vec![Write::Head(Box::new(head))];
    for (index, turn) in (0..).zip(transcript.turns()) {
        let (started, decided, status) = (None, Vec::new(), TurnStatus::Completed);
        let (id, figures) = (turn.id.clone(), TurnFigures::default());
        writes.push(Write::Turn(TurnRow { index, id, status, started, decided, figures }));
    }
    for message in transcript.messages() {
        let turn = transcript.turn_at(message.ord).unwrap() as u32;
        writes.push(Write::Message { turn, message: Arc::clone(message) });
    }
    let shown = transcript.rounds().len().saturating_sub(ROUNDS as usize + 2);
    if let Some(last) = shown.checked_sub(1).and_then(|at| transcript.rounds().get(at)) {
        let users: Vec<Ordinal> = transcript.turns().iter().flat_map(|turn| turn.requests.clone()).collect();
        let open = users.iter().copied().rfind(|ord| *ord <= last.last);
        let kept = users.iter().copied().filter(|ord| *ord < last.last && Some(*ord) != open);
        writes.push(Write::Compaction(Box::new(Compaction {
            covers: Some(Span { from: Ordinal(0), to: last.last }),
            actions: Default::default(),
            excluded: Default::default(),
            kept_users: kept.rev().take(3).collect::<Vec<_>>().into_iter().rev().collect(),
            open_requests: open.into_iter().collect(),
            ..compaction("s/c0", 0)
        })));
    }
    writes
}
