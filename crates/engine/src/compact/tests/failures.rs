//! Known failures of other chat clients, each tested with the smallest session that could have it.

use crate::compact::ladder::{Outcome, Step};
use crate::compact::policy::presets::{self, DEFAULT};
use crate::compact::policy::{Policy, Stage, Triggers};
use crate::compact::record::Mode;
use crate::message::{Body, NewMessage, ToolCall};
use crate::prompt::item::Shown;
use crate::prompt::request::{Completion, StopReason};
use crate::testing::{SUMMARY, Session, answered, filler, overflowing};
use crate::tokens::QuarterOfChars;
use serde_json::json;

/// A model summarizes everything on overflow; nothing is shortened before.
const BY_MODEL: Policy = Policy {
    limit_history: Stage::Off,
    triggers: Triggers { pre_turn: None, background: None, ..DEFAULT.triggers },
    ..DEFAULT
};

fn text(size: usize) -> String {
    "word é ".chars().cycle().take(size + 1).collect()
}

/// A conversation of `length` messages: turns of several rounds, parallel calls, some without a result, notices.
fn conversation(length: usize) -> Vec<NewMessage> {
    let mut all = Vec::new();
    for n in 0..length {
        let said = |what: &str, size| format!("{what} {n}; {}", text(size));
        all.push(match n % 13 {
            0 => NewMessage::user(&said("request", 150)),
            6 if n % 2 == 0 => NewMessage::user(&said("a word between", 30)),
            1 | 4 | 9 => {
                let call = |at: usize| ToolCall::new(&format!("c{n}-{at}"), "read", r#"{"path":"a.rs"}"#);
                NewMessage::new(Body::assistant(&said("reads", 20), (0..=n % 3).map(call).collect()))
            }
            // Sometimes only the first of two or three calls has a result.
            2 | 5 | 10 => NewMessage::new(Body::result(&format!("c{}-0", n - 1), &said("result", 900))),
            3 | 11 => NewMessage::new(Body::result(&format!("c{}-1", n - 2), &said("second", 500))),
            7 => NewMessage::new(Body::Event { kind: "notice".into(), text: "so".into() }),
            _ => NewMessage::new(Body::assistant(&said("answer", 200), Vec::new())),
        });
    }
    all
}

/// Checked at every length, under every built-in policy, with a model that summarizes and with one that fails.
#[test]
fn every_message_is_shown_or_covered_or_named() {
    for policy in presets::ALL.map(|preset| preset.policy).into_iter().filter(|policy| policy.enabled) {
        for fails in [false, true] {
            let name = format!("{}, fails {fails}", policy.name);
            let mut session = Session::new(5000);
            session.policy = policy.clone();
            let mut made = 0;
            for (length, message) in conversation(200).into_iter().enumerate() {
                if session.render().is_err() {
                    let outcome = if fails { Outcome::Deadline } else { answered(SUMMARY) };
                    session.compact(Some(outcome));
                    made += 1;
                }
                let prompt = session.render().expect("it fits");
                for message in session.transcript.messages() {
                    let is_it = |ord: crate::id::Ordinal| ord == message.ord;
                    let shown = prompt.items.iter().flat_map(|item| &item.sources).filter(|s| is_it(s.ord));
                    let shown = shown.count();
                    let record = session.transcript.in_force();
                    let is_covered = record.is_some_and(|record| record.covers(message.ord));
                    let is_named = prompt.cuts.iter().any(|cut| cut.ord.is_some_and(is_it));
                    let is_hidden = matches!(message.body, Body::Event { .. });
                    let is_known = if is_hidden { shown == 0 } else { shown == 1 || is_covered || is_named };
                    assert!(is_known && shown < 2, "{name}, length {length}: message {}", message.ord);
                    let is_said = matches!(message.body, Body::User(_)) && shown == 0;
                    assert!(
                        !is_said || is_named,
                        "{name}, length {length}: words of message {}",
                        message.ord
                    );
                }
                session.transcript.append(message, &QuarterOfChars);
            }
            assert!(made > 2, "{name}: {made} compactions");
        }
    }
}

/// Cuts a text of characters of two to four bytes at each offset, in results and in the ledger.
#[test]
fn multibyte_text_is_cut_at_every_offset() {
    let signs = "é漢🙂e\u{301}字".repeat(90);
    for n in 0..200_u32 {
        let mut session = Session::new(4000);
        session.policy.shorten_to = (n, 199 - n);
        let shift = "x".repeat(n as usize % 7);
        let whole = format!("{shift}{signs}");
        session.user(&whole).calls("bash", &json!({ "command": whole }).to_string(), &whole);
        session.calls("read", &json!({ "path": format!("src/{whole}") }).to_string(), &whole).says(&whole);
        session.user("Go on.").calls("read", r#"{"path":"a"}"#, &whole).says("so").user("And now?");
        session.budget.limit = session.inputs().tokens_before - 1;
        let record = session.compact(None);
        for item in session.render().expect("fits").items {
            let shortened = item.sources.iter().any(|source| source.shown == Shown::Shortened);
            for said in item.texts().filter(|_| shortened) {
                let (head, rest) = said.split_once("\n[… ").expect("a marked cut");
                let (_, tail) = rest.split_once(" …]\n").expect("a marked cut");
                assert!(whole.starts_with(head) && whole.ends_with(tail), "{n}: {said}");
            }
        }
        session.policy.limit_history = Stage::Off;
        session.transcript.set_status(&record.id, crate::compact::record::Status::Void);
        session.budget.limit = session.inputs().tokens_before * 2 / 3;
        session.compact(None);
        session.render().expect("fits");
    }
}

/// Also refused: a summary that would make the prompt larger.
#[test]
fn useless_summary_is_refused() {
    let said = |text: &str, stop, calls| {
        Outcome::Answered(Completion { text: text.into(), calls, stop, output_tokens: None })
    };
    let bad = [
        ("cut off", said(SUMMARY, StopReason::Length, 0)),
        ("a call of a tool", said(SUMMARY, StopReason::ToolUse, 1)),
        ("a call beside it", said(SUMMARY, StopReason::End, 1)),
        ("refused", said(SUMMARY, StopReason::Refused, 0)),
        ("nothing", answered("")),
        ("blanks", answered(" \n\t ")),
        ("an empty element", answered("<summary>\n</summary>")),
        ("headings alone", answered("<summary>\n## Goal\n## State\n</summary>")),
        ("an open element alone", answered("Here it is:\n<summary>")),
        ("too long", answered(&SUMMARY.replace("half done", &filler("words", 20_000)))),
        ("no answer in time", Outcome::Deadline),
        ("an error", Outcome::Failed("overloaded".into())),
    ];
    for (what, outcome) in bad {
        let Step::Accepted(record) = overflowing().descend(Some(&mut |_| outcome.clone())) else {
            panic!("{what}: the ladder goes on")
        };
        assert_eq!((record.mode, record.narrative), (Mode::Ledger, None), "{what}");
    }
    // Within the limit of a summary, but longer than the messages that it covers.
    let mut session = Session::new(8000);
    session.policy = BY_MODEL;
    session.user("Look.").reads("a.rs", 600).reads("b.rs", 600).says("Seen.").user("Go on.");
    session.budget.limit = session.inputs().tokens_before - 1;
    let long = SUMMARY.replace("half done", &filler("long", 2800));
    let Step::Accepted(record) = session.descend(Some(&mut |_| answered(&long))) else {
        panic!("the ladder goes on")
    };
    assert_eq!(record.narrative, None);
    assert!(record.tokens_after < record.tokens_before);
}
