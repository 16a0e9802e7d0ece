//! Failures over many compactions: too many summaries, facts lost from one to the next, a failure that loses
//! the summary before it, long turns without a user message. `failures` has single prompts.

use super::chat::{Chat, Sent, numbered, summary, words};
use super::failures::BY_MODEL;
use engine::compact::policy::{Policy, presets};
use engine::compact::record::{Compaction, Mode, ModeRequested, Placement};
use engine::prompt::item::Item;
use session::input::{Command, Configure};
use session::settings::Settings;
use session::stored::TurnStatus;
use std::cell::Cell;
use std::rc::Rc;

/// Whichever summary fails, no message is lost, and the summary before it stays.
#[test]
fn failing_summary_keeps_the_one_before_it() {
    for failing in 0..5 {
        let answers = move |made: usize, items: &[Item]| match made == failing {
            true => None,
            false => numbered(made, items),
        };
        let mut chat = Chat::new(6000, BY_MODEL, answers);
        for n in 0..200 {
            chat.turn(&format!("request number {n};"), 900);
            assert_eq!(chat.ended().status, TurnStatus::Completed, "the user gets an answer");
            assert_eq!(chat.unaccounted(), [""; 0], "failing {failing}, turn {n}");
            let records = chat.bench.session.transcript().compactions();
            if let Some(failed) = records.get(failing) {
                let before = failing.checked_sub(1).and_then(|at| records[at].narrative.clone());
                assert_eq!((failed.mode, &failed.narrative), (Mode::Ledger, &before), "failing {failing}");
                assert!(!failed.fallbacks.is_empty());
                if records.len() == failing + 1 && before.is_some() {
                    assert_eq!(chat.times(&format!("summary number {};", failing - 1)), 1, "turn {n}");
                }
            }
            if records.len() > failing + 1 {
                break;
            }
        }
        assert!(chat.bench.session.transcript().compactions().len() > failing + 1, "it went on");
    }
}

/// Over a hundred turns, summaries are rare, each makes room for many turns, and prompts between them only
/// grow.
#[test]
fn summaries_are_rare_and_prompts_between_only_grow() {
    let mut chat = Chat::new(8000, BY_MODEL, numbered);
    for n in 0..100 {
        chat.turn(&format!("request number {n};"), 900);
    }
    let transcript = chat.bench.session.transcript();
    let records = transcript.compactions();
    assert!(records.len() > 4, "there was much to sum up");
    let said: u32 = transcript.messages().iter().map(|message| message.tokens).sum();
    let limit = chat.sent[0].limit;
    let room = records.iter().map(|record| limit - record.tokens_after).min().expect("records");
    assert!(room > limit / 5, "{room} of {limit} tokens are free behind each");
    assert!(records.len() as u32 <= said / room + 1, "{} for {said} tokens", records.len());
    assert_eq!(chat.summed_up.len(), records.len(), "one request for each");
    for pair in chat.sent.windows(2) {
        let [before, after] = pair else { continue };
        if before.compactions == after.compactions {
            assert!(extends(before, after), "{} items, then {}", before.items.len(), after.items.len());
        }
    }
}

/// `true` if a prompt extends the one before it.
fn extends(before: &Sent, after: &Sent) -> bool {
    let is_same = |a: &Item, b: &Item| {
        (a.role, &a.parts, &a.calls, &a.call_id) == (b.role, &b.parts, &b.calls, &b.call_id)
    };
    before.items.len() <= after.items.len()
        && before.items.iter().zip(&after.items).all(|(before, after)| is_same(before, after))
}

/// One request, then only rounds, some with many calls: no policy waits for a user message.
#[test]
fn long_turn_of_many_calls_stalls_under_no_policy() {
    for policy in presets::ALL.map(|preset| preset.policy).into_iter().filter(|policy| policy.enabled) {
        let name = policy.name.clone();
        let mut chat = Chat::new(6000, policy, numbered);
        chat.asks("Read all of it.");
        for round in 0..90 {
            assert!(chat.answering().is_some(), "{name}: it stalls at round {round}");
            chat.round(1 + round % 4, 500 + 300 * (round as u16 % 3));
            let sent = chat.sent.last().expect("a request");
            assert!(sent.tokens <= sent.limit, "{name}, round {round}");
            assert_eq!(chat.places("Read all of it.").len(), 1, "{name}, round {round}");
        }
        chat.says("All of it is read.");
        assert_eq!(chat.ended().status, TurnStatus::Completed, "{name}");
        let made = chat.bench.session.transcript().compactions().len();
        assert!((3..60).contains(&made), "{name}: {made} compactions");
    }
}

/// A summary so long that a cut at a few thousand bytes would remove its middle.
fn long(fact: &str) -> String {
    let filler = "What was said around it is said here at some length. ".repeat(8);
    summary(&format!("{filler}{fact}{filler}"))
}

/// The previous summary is whole in the request for the next one, in both modes, and a fact that only
/// summaries carry survives five of them.
#[test]
fn each_summary_is_made_from_the_whole_previous_one() {
    const FACT: &str = "The fifth door opens inwards.";
    for mode in [ModeRequested::Full, ModeRequested::Simple] {
        let missed = Rc::new(Cell::new(0));
        let count = missed.clone();
        // Carries on the fact if it was shown.
        let echo = move |_: usize, items: &[Item]| {
            let is_shown = items.iter().any(|item| words(item).contains(FACT));
            count.set(count.get() + usize::from(!is_shown));
            Some(long(if is_shown { FACT } else { "Nothing." }))
        };
        let mut chat = Chat::new(8000, Policy { summary_mode: mode, ..BY_MODEL }, echo);
        chat.talk("Look around.", FACT);
        // A request may not fit the window: then the narrative stays as it is.
        let made = |chat: &Chat| -> Vec<Compaction> {
            let all = chat.bench.session.transcript().compactions().iter();
            all.filter(|record| record.mode != Mode::Ledger).cloned().collect()
        };
        for n in 0..200 {
            chat.turn(&format!("request number {n};"), 900);
            if made(&chat).len() > 5 {
                break;
            }
        }
        let records = made(&chat);
        assert!(records.len() > 5, "{mode:?}: {} summaries", records.len());
        assert_eq!((missed.get(), chat.times(FACT)), (0, 1), "{mode:?}");
        let mut asked = chat
            .summed_up
            .iter()
            .skip_while(|items| !items.iter().any(|item| words(item).contains("at some length")));
        for record in &records[..5] {
            let narrative = record.narrative.as_deref().expect("a summary by a model");
            let whole = asked.by_ref().any(|items| items.iter().any(|item| words(item).contains(narrative)));
            assert!(whole, "{mode:?}: it is cut");
        }
    }
}

/// A change of placement in a compacted session: the block moves once, in the next prompt, and is shown once
/// at all times, only with the marks of its place.
#[test]
fn block_moves_once_when_its_placement_changes() {
    const PLACES: [Placement; 3] =
        [Placement::UserAtBoundary, Placement::SystemMessage, Placement::SystemPromptTail];
    for (from, to) in PLACES.iter().flat_map(|from| PLACES.iter().map(move |to| (*from, *to))) {
        let name = format!("{from:?}, then {to:?}");
        let mut chat = Chat::new(4000, Policy { placement: from, ..BY_MODEL }, numbered);
        for n in 0..40 {
            if n == 12 {
                let settings = chat.bench.session.settings().clone();
                let policy = Policy { placement: to, ..settings.policy.clone() };
                let settings = Settings { policy, ..settings };
                let own = serde_json::Value::Null;
                chat.bench.command(Command::Configure(Box::new(Configure {
                    settings,
                    own,
                    title: None,
                    forget_limits: false,
                })));
            }
            chat.turn(&format!("request number {n};"), 1800);
            let made = chat.bench.session.transcript().compactions().len();
            let shown: usize = (0..made).map(|sent| chat.times(&format!("summary number {sent};"))).sum();
            assert_eq!(shown, usize::from(made > 0), "{name}, turn {n}");
            let marks = chat.times("<conversation-summary>") + chat.times("[Archived Context Summary]");
            assert_eq!(marks, usize::from(made > 0), "{name}, turn {n}");
        }
        let records = chat.bench.session.transcript().compactions();
        assert_eq!(records.first().map(|record| record.placement), Some(from), "{name}");
        assert_eq!(records.last().map(|record| record.placement), Some(to), "{name}");
        let again = records.windows(2).filter(|pair| pair[0].narrative == pair[1].narrative);
        assert_eq!(again.count(), usize::from(from != to), "{name}: moved once, as it is");
        for pair in chat.sent.windows(2) {
            let [before, after] = pair else { continue };
            assert!(before.compactions != after.compactions || extends(before, after), "{name}");
        }
    }
}
