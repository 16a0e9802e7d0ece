//! What a transcript keeps beside its messages equals what is computed from the beginning: sums, hashes, the ledger and
//! the coverage of its prompt, after additions, compactions, exclusions and cuts.

use crate::compact::known_tools::Kinds;
use crate::compact::ladder::Step;
use crate::compact::ledger::reader::LedgerReader;
use crate::compact::record::{Compaction, Span};
use crate::compact::{by_hand, ledger};
use crate::id::Ordinal;
use crate::message::{
    AssistantPart, Beside, Body, Message, NewMessage, ToolCall, ToolResult, Usage, Verdict,
};
use crate::prompt::coverage::{Coverage, coverage, message_statuses};
use crate::prompt::draft;
use crate::testing::{Session, filler};
use crate::text::sha256_hex;
use crate::tokens::QuarterOfChars;
use crate::transcript::{Transcript, TurnOutcome};
use proptest::prelude::*;

/// Something that happens to a session.
#[derive(Debug, Clone)]
enum Act {
    Asks,
    Reads(u8, usize),
    Edits(u8),
    Runs(u8, bool),
    IsRefused(u8),
    Notes,
    Compacts,
    Excludes(prop::sample::Index),
    Truncates(prop::sample::Index),
    Removes(prop::sample::Index),
    Concludes,
    LetsGo,
    Opens(u8),
    Answers,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => Just(Act::Asks),
        6 => (0u8..6, 40usize..2000).prop_map(|(file, bytes)| Act::Reads(file, bytes)),
        3 => (0u8..6).prop_map(Act::Edits),
        3 => (0u8..6, any::<bool>()).prop_map(|(file, is_good)| Act::Runs(file, is_good)),
        1 => (0u8..6).prop_map(Act::IsRefused),
        1 => Just(Act::Notes),
        3 => Just(Act::Compacts),
        1 => any::<prop::sample::Index>().prop_map(Act::Excludes),
        1 => any::<prop::sample::Index>().prop_map(Act::Truncates),
        1 => any::<prop::sample::Index>().prop_map(Act::Removes),
        1 => Just(Act::Concludes),
        1 => Just(Act::LetsGo),
        2 => (0u8..6).prop_map(Act::Opens),
        2 => Just(Act::Answers),
    ]
}

/// A call whose result may come later.
fn opens(session: &mut Session, file: u8) {
    let id = format!("call_{}", session.transcript.messages().len());
    let call = ToolCall::new(&id, "bash", &format!(r#"{{"command":"make part{file}"}}"#));
    session.transcript.append(NewMessage::new(Body::assistant("", vec![call])), &QuarterOfChars);
}

/// The result of the newest call, whether it waits for one or not.
fn answers(session: &mut Session, result: ToolResult) {
    let Some(round) = session.transcript.rounds().last() else { return };
    let message = session.transcript.message(round.assistant).expect("it is there");
    let Body::Assistant { calls, .. } = &message.body else { return };
    let Some(call) = calls.first() else { return };
    let result = ToolResult { call: call.id.as_str().to_owned(), ..result };
    session.transcript.append(NewMessage::new(Body::Tool(result)), &QuarterOfChars);
}

fn happens(session: &mut Session, act: &Act) {
    let count = session.transcript.messages().len();
    let at = |index: &prop::sample::Index| Ordinal(u32::try_from(index.index(count.max(1))).expect("small"));
    match act {
        Act::Asks => drop(session.user(&format!("Request {count}."))),
        Act::Reads(file, bytes) => drop(session.reads(&format!("src/part{file}.rs"), *bytes)),
        Act::Edits(file) => {
            let arguments = format!(r#"{{"path":"src/part{file}.rs","text":"x{count}"}}"#);
            session.calls("edit", &arguments, "done");
        }
        Act::Runs(file, is_good) => {
            let code = i32::from(!is_good);
            let output = format!("{}\nexit code: {code}", filler("test output", 300));
            session.calls("bash", &format!(r#"{{"command":"cargo test part{file}"}}"#), &output);
        }
        Act::IsRefused(file) => {
            opens(session, *file);
            let note = format!("not part{file}");
            let content = vec![crate::message::Content::Text(note.as_str().into())];
            let verdict = Some(Verdict::new(false, Some(note)));
            answers(session, ToolResult { content, verdict, ..ToolResult::default() });
        }
        Act::Notes => {
            let body = Body::Event { kind: "note".into(), text: "something happened".into() };
            let created_at = Some("2026-01-31T12:00:00Z".to_owned());
            session.transcript.append(NewMessage { created_at, ..NewMessage::new(body) }, &QuarterOfChars);
        }
        Act::Compacts => {
            if let Step::Accepted(record) = session.descend(None) {
                session.transcript.record(*record);
            }
        }
        Act::Excludes(index) => {
            let record = by_hand::excluding(&session.inputs(), &[at(index)].into());
            session.transcript.record(record);
        }
        Act::Truncates(index) => {
            // Most sessions go on for a while before their end is cut off.
            if count > 12 {
                session.transcript.truncate(at(index).max(Ordinal(6)));
            }
        }
        Act::Removes(index) => {
            session.transcript.revise(at(index), None, &QuarterOfChars);
        }
        Act::Concludes => {
            let beside = Beside { usage: Some(Usage::default()), ..Beside::default() };
            let parts = vec![AssistantPart::Text("Done.".into())];
            let body = Body::Assistant { parts, calls: Vec::new(), beside };
            session.transcript.append(NewMessage::new(body), &QuarterOfChars);
        }
        Act::LetsGo => {
            let turn = session.transcript.turns().len().saturating_sub(1);
            session.transcript.let_go(turn, TurnOutcome::Answer, &QuarterOfChars);
        }
        Act::Opens(file) => opens(session, *file),
        Act::Answers => answers(session, ToolResult::default()),
    }
}

/// What the messages of a transcript form, and its newest messages of a kind.
fn formed(transcript: &Transcript) -> impl PartialEq + std::fmt::Debug {
    let sums = transcript.sums();
    let end = Ordinal(u32::MAX);
    let strays = transcript.messages().iter().map(|message| message.ord);
    (
        (transcript.turns().to_vec(), transcript.rounds().to_vec()),
        strays.filter(|ord| transcript.is_stray(*ord)).collect::<Vec<_>>(),
        (sums.newest_dated(), sums.newest_with_usage(), sums.refusals(Ordinal(0), end).to_vec()),
    )
}

fn same_as_from_the_beginning(session: &Session) {
    let transcript = &session.transcript;
    let mut again =
        Transcript::resumed(transcript.session().clone(), transcript.generation(), transcript.cuts());
    for message in transcript.messages() {
        again.put_back(transcript.turn_at(message.ord).expect("a turn"), message.clone());
    }
    assert_eq!(formed(transcript), formed(&again));
    let is_shown = |message: &&std::sync::Arc<Message>| !message.is_hidden();
    let is_heard = |message: &&std::sync::Arc<Message>| !matches!(message.body, Body::Assistant { .. });
    let shown = || transcript.messages().iter().filter(is_shown);
    assert_eq!(transcript.sums().heard(), shown().filter(is_heard).count());
    let end = u32::try_from(transcript.messages().len()).expect("small");
    for from in (0..=end + 1).map(Ordinal) {
        let later = || shown().filter(|message| message.ord >= from);
        assert_eq!(transcript.sums().shown_from(from) as usize, later().count());
        assert_eq!(transcript.sums().tokens_from(from), later().map(|message| message.tokens).sum::<u32>());
    }
    for (from, to) in [(0, end / 2), (0, end), (end / 3, end)] {
        let hashes: String =
            transcript.range(Ordinal(from), Ordinal(to)).iter().map(|message| &*message.hash).collect();
        assert_eq!(transcript.source_hash(Ordinal(from), Ordinal(to)), sha256_hex(hashes.as_bytes()));
    }
    let kinds = Kinds { named: &session.policy.tool_kinds, declared: &session.fixed.tools };
    // The first goes on from the last one before, the second cannot, and the third goes on from that.
    for to in [end, end / 3, end].map(Ordinal) {
        let whole = ledger::ledger(transcript, Span { from: Ordinal(0), to }, kinds);
        assert_eq!(LedgerReader::through(transcript, to, kinds).done(), whole, "to {to:?} of {end}");
    }
    let in_force = transcript.in_force();
    let prompt = draft(session.source(), in_force);
    assert_eq!(coverage(transcript, in_force, &prompt), counted(session, in_force, &prompt));
}

/// The coverage of a prompt, message by message.
fn counted(session: &Session, record: Option<&Compaction>, prompt: &crate::prompt::Prompt) -> Coverage {
    let mut counts = Coverage::default();
    let all = session.transcript.messages().iter().map(|message| message.ord);
    for (_, status) in message_statuses(&session.transcript, record, prompt, all) {
        counts.count(status, 1);
    }
    counts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_kept_equals_what_is_computed_again(acts in prop::collection::vec(act(), 1..60)) {
        let mut session = Session::new(4000);
        session.user("Begin.");
        for act in &acts {
            happens(&mut session, act);
            same_as_from_the_beginning(&session);
        }
    }
}

/// The kept ledger has the outcome of a call, and the cut goes between the call and its result.
#[test]
fn kept_ledger_forgets_a_result_that_is_cut_off() {
    let mut session = Session::new(4000);
    session.user("Begin.");
    happens(&mut session, &Act::Runs(0, false));
    happens(&mut session, &Act::Reads(0, 100));
    let kinds = Kinds { named: &session.policy.tool_kinds, declared: &session.fixed.tools };
    let call = session.transcript.rounds()[0].assistant;
    assert_ne!(LedgerReader::through(&session.transcript, call, kinds).done().last_failure, None);
    session.transcript.truncate(call.next());
    same_as_from_the_beginning(&session);
}
