//! Whose words a compaction keeps: the user's, also those about a refused call, and no program's.

use crate::compact::policy::Stage;
use crate::id::Ordinal;
use crate::message::attachment::Attachment;
use crate::message::{Body, Content, NewMessage, ToolCall, ToolResult, Verdict};
use crate::prompt::item::{Role, Shown};
use crate::prompt::{Cut, CutReason};
use crate::settings::PerMille;
use crate::testing::{SUMMARY, Session, answered};
use crate::tokens::QuarterOfChars;

const NOTE: &str = "Not in main.rs: the entry point moves to the new crate.";

/// Shortens nothing and keeps no tail, so that all before the newest round is covered.
fn covers_all(session: &mut Session) {
    session.policy.limit_history = Stage::Off;
    (session.policy.raw_tail, session.policy.short_tail) = (PerMille::new(0), PerMille::new(0));
}

/// Adds a call that the user refused with [`NOTE`].
fn refused(session: &mut Session) -> Ordinal {
    let call = ToolCall::new("refused", "edit", r#"{"path":"src/main.rs"}"#);
    session.transcript.append(NewMessage::new(Body::assistant("", vec![call])), &QuarterOfChars);
    let result = ToolResult {
        call: "refused".into(),
        content: vec![Content::Text(format!("The call was refused. The user said: {NOTE}").into())],
        is_error: true,
        verdict: Some(Verdict::new(false, Some(NOTE.into()))),
        ..ToolResult::default()
    };
    session.transcript.append(NewMessage::new(Body::Tool(result)), &QuarterOfChars)
}

/// Adds what a program said with the role of the user.
fn noted(session: &mut Session, text: &str) -> Ordinal {
    let note = Content::Attachment(Attachment::new("reminder", text));
    session.transcript.append(NewMessage::new(Body::User(vec![note])), &QuarterOfChars)
}

fn session() -> (Session, Ordinal) {
    let mut session = Session::new(8_000);
    covers_all(&mut session);
    session.user("Split the crate.").reads("src/main.rs", 6_000);
    let refused = refused(&mut session);
    session.says("Then I leave it.").user("Go on.").reads("src/lib.rs", 9_000).reads("src/a.rs", 9_000);
    (session, refused)
}

#[test]
fn words_about_a_refused_call_stay_byte_for_byte() {
    let (mut session, refused) = session();
    let record = session.compact(Some(answered(SUMMARY)));
    assert_eq!(record.kept_users, [Ordinal(0), refused]);
    let prompt = session.render().expect("fits");
    let kept: Vec<_> = prompt
        .items
        .iter()
        .filter(|item| item.sources.iter().any(|source| source.shown == Shown::Kept))
        .map(|item| {
            (
                item.role,
                item.parts.iter().filter_map(|part| part.as_text()).map(|text| &**text).collect::<String>(),
            )
        })
        .collect();
    let expected = [
        (Role::User, "Split the crate.".to_owned()),
        (Role::User, format!("the user said: {NOTE}")),
        (Role::User, "Go on.".to_owned()),
    ];
    assert_eq!(kept, expected);
    assert!(record.block.contains(&format!("rejected `edit src/main.rs`: {NOTE}")), "{}", record.block);
}

#[test]
fn words_about_a_refused_call_over_the_budget_are_named() {
    let (mut session, refused) = session();
    session.policy.user_messages = PerMille::new(0);
    let record = session.compact(Some(answered(SUMMARY)));
    assert_eq!((record.kept_users.contains(&refused), &record.reported_users), (false, &vec![refused]));
    let line = format!("- message {refused} ({} bytes): {NOTE}", NOTE.len());
    assert!(record.block.contains(&line), "{}", record.block);
    let cuts = session.render().expect("fits").cuts;
    let is_named = |cut: &Cut| cut.ord == Some(refused) && cut.reason == CutReason::UserMessage;
    assert!(cuts.iter().any(is_named));
}

#[test]
fn what_a_program_said_is_no_request_and_does_not_stay() {
    let mut session = Session::new(8_000);
    covers_all(&mut session);
    let before = noted(&mut session, "It is May.");
    session.user("Split the crate.").reads("src/main.rs", 6_000).says("Done.");
    let after = noted(&mut session, "A task ended.");
    session
        .reads("src/lib.rs", 9_000)
        .says("I saw it.")
        .user("Go on.")
        .reads("src/a.rs", 9_000)
        .reads("src/b.rs", 9_000);
    let requests: Vec<_> = session.transcript.turns().iter().map(|turn| turn.requests.clone()).collect();
    assert_eq!(requests, [vec![Ordinal(1)], vec![Ordinal(9)]], "a notice starts no turn");
    let shown: String = session.source().transcript.messages()[after.index()].body.said();
    assert!(shown.contains("A task ended.") && shown.contains("the user did not write it"), "{shown}");
    let record = session.compact(Some(answered(SUMMARY)));
    assert_eq!(record.kept_users, [Ordinal(1)]);
    assert_eq!((record.covers(before), record.covers(after)), (true, true));
    assert!(!record.reported_users.contains(&before) && !record.reported_users.contains(&after));
}

#[test]
fn words_about_a_refused_call_of_an_open_turn_follow_its_request() {
    let mut session = Session::new(8_000);
    covers_all(&mut session);
    session.user("Split the crate.").reads("src/main.rs", 9_000);
    let refused = refused(&mut session);
    session.reads("src/lib.rs", 9_000).reads("src/a.rs", 9_000);
    let record = session.compact(Some(answered(SUMMARY)));
    assert_eq!((record.kept_users, record.open_requests), (vec![], vec![Ordinal(0), refused]));
}
