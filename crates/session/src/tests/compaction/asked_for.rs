//! Compactions without an overflow: requested, started by a count, or refused. They cover all messages
//! outside their retention, and fruitless ones are not repeated.

use crate::effect::{Answer, Purpose};
use crate::input::{Command, Compact, Input, Review, Timer};
use crate::settings::{ModelFacts, Settings};
use crate::snapshot::Inspection;
use crate::tests::bench::{Bench, text};
use crate::tests::compaction::triggers::{asked, bench, records, sums_up, told, turn};
use engine::compact::policy::{Consent, Policy, Retention, Stage};
use engine::compact::record::{Compaction, Mode, Trigger};
use engine::compact::trigger;
use engine::id::{CompactionId, MessageId};
use engine::settings::PerMille;

/// A session in a large window after this many turns.
fn talked(turns: usize, change: impl FnOnce(&mut Policy)) -> Bench {
    let mut bench = bench(change);
    let settings = bench.session.settings().clone();
    let model = ModelFacts { window: 64_000, ..settings.model.clone() };
    bench.step(Input::Settings(Box::new(Settings { model, ..settings })));
    for n in 0..turns {
        turn(&mut bench, &format!("request {n}"), &text(800));
    }
    bench
}

/// Runs a compaction command, and the summary if a model is asked for one.
fn compacts(bench: &mut Bench, compact: Compact) -> Result<Compaction, String> {
    let number = bench.command(Command::Compact(compact));
    if !asked(bench, Purpose::Summary).is_empty() {
        sums_up(bench);
    }
    match bench.reply(number) {
        Some(Ok(Answer::Compacted(Ok(made)))) => Ok(made.0.clone()),
        Some(Ok(Answer::Compacted(Err(why)))) => Err(why.clone()),
        other => panic!("a compaction: {other:?}"),
    }
}

fn inspect(bench: &mut Bench) -> Inspection {
    let number = bench.command(Command::Inspect(None));
    match bench.reply(number) {
        Some(Ok(Answer::Inspected(inspection))) => (**inspection).clone(),
        other => panic!("an inspection: {other:?}"),
    }
}

fn held_back(bench: &mut Bench, trigger: Trigger) -> u32 {
    inspect(bench).triggers.iter().find(|near| near.trigger == trigger).expect("a row").held_back
}

/// Even a prompt far below its limit is shortened.
#[test]
fn requested_compaction_covers_everything_outside_its_retention() {
    let mut asked_for = talked(16, |_| ());
    let record = compacts(&mut asked_for, Compact::default()).expect("a record");
    assert_eq!((record.trigger, record.mode), (Trigger::Manual, Mode::Full));
    assert!(record.tokens_after * 10 < record.tokens_before * 7, "{record:?}");

    let mut counted = talked(16, |policy| policy.retention = Retention::Messages(6));
    let record = compacts(&mut counted, Compact::default()).expect("a record");
    let messages = counted.session.transcript().messages().len() as u32;
    assert_eq!(record.resume_at().0, messages - 6, "exactly those stay");
    let mut turns = talked(16, |policy| policy.retention = Retention::UserTurns(3));
    let record = compacts(&mut turns, Compact::default()).expect("a record");
    assert_eq!(record.resume_at().0, messages - 6, "three turns");
    let mut weighed = talked(16, |policy| policy.retention = Retention::TokenTail(PerMille::new(500)));
    let record = compacts(&mut weighed, Compact::default()).expect("a record");
    assert!(record.resume_at().0 > messages / 3 && record.resume_at().0 < messages, "{record:?}");

    let mut silent = talked(16, |policy| {
        policy.triggers.idle_secs = Some(0);
        policy.limit_history = Stage::ShortenResults;
    });
    silent.step(Input::Expired(Timer::Idle));
    sums_up(&mut silent);
    let record = records(&silent).last().expect("a record");
    assert_eq!((record.trigger, record.mode), (Trigger::Idle, Mode::Full));
    assert!(record.tokens_after * 10 < record.tokens_before * 7, "{record:?}");
}

/// The default policy with a count trigger makes one summary, which lowers the count.
#[test]
fn count_trigger_starts_one_compaction_that_lowers_the_count() {
    for is_messages in [true, false] {
        let mut bench = talked(10, |policy| {
            policy.limit_history = Stage::ShortenResults;
            match is_messages {
                true => policy.triggers.messages = Some(20),
                false => policy.triggers.user_turns = Some(10),
            }
        });
        assert!(records(&bench).is_empty());
        let from = bench.events.len();
        bench.asks("one more");
        sums_up(&mut bench);
        let record = records(&bench).last().expect("a record").clone();
        assert_eq!((record.mode, records(&bench).len()), (Mode::Full, 1));
        assert!(trigger::shown_messages(bench.session.transcript()) <= 12, "{record:?}");
        assert!(trigger::shown_turns(bench.session.transcript()) <= 6, "{record:?}");
        assert_eq!(told(&bench, from).iter().filter(|word| word.starts_with("Started")).count(), 1);
        // The next one waits for as many new ones, or for new tokens where the policy counts those.
        let trigger = if is_messages { Trigger::Messages } else { Trigger::UserTurns };
        assert_eq!(held_back(&mut bench, trigger), 0);
        let mut settings = bench.session.settings().clone();
        settings.policy.min_new_tokens = Some(60_000);
        bench.step(Input::Settings(Box::new(settings)));
        let missing = held_back(&mut bench, trigger);
        assert!(missing > 20_000, "{missing}");
        assert!(held_back(&mut bench, Trigger::Background) < missing);
        assert_eq!(held_back(&mut bench, Trigger::BudgetExceeded), 0);
        let mut settings = bench.session.settings().clone();
        settings.policy.min_new_tokens = Some(0);
        bench.step(Input::Settings(Box::new(settings)));
        assert_eq!(held_back(&mut bench, trigger), 0, "switched off");
    }
}

#[test]
fn fruitless_trigger_starts_once_until_enough_is_new() {
    let mut bench = talked(3, |_| ());
    // No model may be asked, so no summary is made.
    let mut settings = bench.session.settings().clone();
    settings.policy.most_failures = 0;
    settings.policy.triggers.messages = Some(2);
    bench.step(Input::Settings(Box::new(settings)));
    let mut started = Vec::new();
    for n in 0..6 {
        let from = bench.events.len();
        turn(&mut bench, &format!("again {n}"), "so");
        started.push(told(&bench, from).iter().filter(|word| word.starts_with("Started")).count());
    }
    assert_eq!(started, [1, 0, 0, 0, 0, 0]);
    assert!(records(&bench).is_empty() && held_back(&mut bench, Trigger::Messages) > 0);
    // Another process knows it; a new chat does not.
    bench.another_process();
    assert!(held_back(&mut bench, Trigger::Messages) > 0);
    bench.command(Command::Reset { keep_queue: false, key: None });
    assert_eq!(held_back(&mut bench, Trigger::Messages), 0);
}

#[test]
fn refused_compaction_is_not_proposed_again_until_enough_is_new() {
    let mut bench = crate::tests::compaction::triggers::bench(|policy| {
        policy.consent = Consent::Ask;
        policy.triggers.pre_turn = Some(PerMille::new(500));
    });
    turn(&mut bench, "first", &text(3000));
    turn(&mut bench, "second", &text(3000));
    bench.asks("third");
    sums_up(&mut bench);
    bench.step(Input::Reviewed(Some(Review::Refuse)));
    crate::tests::compaction::triggers::done(
        &mut bench,
        Purpose::Turn,
        Ok(crate::tests::compaction::triggers::said("so", &[], None)),
    );
    for n in 0..3 {
        turn(&mut bench, &format!("go on {n}"), "so");
    }
    bench.another_process();
    turn(&mut bench, "go on", "so");
    assert!(held_back(&mut bench, Trigger::PreTurnTokens) > 0);
    // A compaction that the limit needs is still proposed.
    turn(&mut bench, "more", &text(3000));
    turn(&mut bench, "more", &text(3000));
    bench.asks("and now?");
    assert_eq!((asked(&bench, Purpose::Summary).len(), asked(&bench, Purpose::Turn).len()), (1, 0));
}

#[test]
fn immediate_second_compaction_names_redo_even_in_a_preview() {
    let mut bench = talked(16, |_| ());
    let first = compacts(&mut bench, Compact::default()).expect("a record");
    let why = compacts(&mut bench, Compact { focus: Some("other".into()), ..Compact::default() });
    let why = why.expect_err("nothing was said");
    assert!(
        why.contains("nothing was said since") && why.contains(&format!("redo \"{}\"", first.id)),
        "{why}"
    );
    let preview = compacts(&mut bench, Compact { preview: true, ..Compact::default() });
    assert_eq!(preview.expect_err("the same"), why);
    assert!(bench.asked.is_empty());
    // `redo` makes it again, also with messages to keep.
    let keep = vec![MessageId::new("s/m3")];
    let redo = Some(first.id.clone());
    let again = compacts(&mut bench, Compact { redo, keep, focus: Some("other".into()), preview: false });
    let again = again.expect("it is made again");
    assert_eq!(again.replaces, Some(first.id.clone()));
    assert_eq!(bench.session.pins().len(), 1);
    // The refusal of a record out of force says so and names the one to redo.
    let redo = Some(first.id.clone());
    let why = compacts(&mut bench, Compact { redo, ..Compact::default() }).expect_err("out of force");
    assert!(
        why.contains(&format!("\"{}\" is not in force", first.id))
            && why.contains(&format!("redo \"{}\"", again.id))
    );
    let _: CompactionId = again.id;
}
