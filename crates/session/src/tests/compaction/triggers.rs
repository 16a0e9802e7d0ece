//! Triggers of compactions, reviews, and failures, each by itself. Invariants of all of them are in `model`.

use crate::effect::{Effect, Purpose, Refusal};
use crate::event::{EventBody, Phase};
use crate::input::{Command, Configure, Input, ModelCallId, Review, Timer};
use crate::settings::{ModelFacts, Settings};
use crate::state::{State, StateName};
use crate::stored::Driver;
use crate::tests::bench::{Bench, SUMMARY, settings, text, tool};
use engine::compact::policy::{Consent, Policy, Retention, Stage};
use engine::compact::record::{Compaction, Mode, Trigger};
use engine::delta::Delta;
use engine::message::{BUDGET_EXIT, Body, ToolCall, Usage, WRAP_UP};
use engine::prompt::item::{Approval, Shown};
use engine::prompt::request::{Answer, Failure, Overflow, StopReason};
use engine::settings::PerMille;

/// A session of the sidecar's loop under this policy, which by default compacts at an overflow only.
pub fn bench(change: impl FnOnce(&mut Policy)) -> Bench {
    let mut settings = settings();
    settings.policy.limit_history = Stage::Off;
    settings.policy.triggers.pre_turn = None;
    settings.policy.triggers.background = None;
    change(&mut settings.policy);
    Bench::with(Driver::Sidecar, settings, vec![tool("read", Approval::Allow)])
}

pub fn asked(bench: &Bench, purpose: Purpose) -> Vec<ModelCallId> {
    bench.asked.iter().filter(|ask| ask.1 == purpose).map(|ask| ask.0).collect()
}

/// Ends the model call of this purpose.
pub fn done(bench: &mut Bench, purpose: Purpose, outcome: Result<Answer, Failure>) {
    let [call] = asked(bench, purpose)[..] else { panic!("asked for: {:?}", bench.asked) };
    bench.asked.retain(|ask| ask.0 != call);
    bench.step(Input::ModelDone(call, outcome));
}

pub fn said(text: &str, calls: &[&str], used: Option<u32>) -> Answer {
    let call = |(n, id): (usize, &&str)| ToolCall::new(&format!("{id}{n}"), "read", "{}");
    Answer {
        parts: Some(vec![engine::message::AssistantPart::Text(text.into())]),
        calls: Some(calls.iter().enumerate().map(call).collect()),
        stop: StopReason::End,
        usage: used.map(|input| Usage { input_tokens: Some(input), ..Usage::default() }),
    }
}

/// Runs a turn of one answer.
pub fn turn(bench: &mut Bench, request: &str, answer: &str) {
    bench.asks(request);
    done(bench, Purpose::Turn, Ok(said(answer, &[], None)));
}

/// Runs a round of one call, whose result has this size.
pub fn round(bench: &mut Bench, id: &str, size: u16, used: Option<u32>) {
    done(bench, Purpose::Turn, Ok(said("on", &[id], used)));
    bench.tool_answers(&text(size));
}

pub fn sums_up(bench: &mut Bench) {
    done(bench, Purpose::Summary, Ok(said(SUMMARY, &[], None)));
}

pub fn records(bench: &Bench) -> &[Compaction] {
    bench.session.transcript().compactions()
}

/// Returns the compaction phases and stream starts since the nth event, as text.
pub fn told(bench: &Bench, from: usize) -> Vec<String> {
    let words = bench.events.iter().skip(from).filter_map(|(_, body)| match body {
        EventBody::CompactionUpdated(update) => Some(format!("{:?} {:?}", update.phase, update.trigger)),
        EventBody::StreamStarted { .. } => Some("streamStarted".to_owned()),
        _ => None,
    });
    words.collect()
}

pub fn fails(bench: &mut Bench, purpose: Purpose) {
    done(bench, purpose, Err("out of order".into()));
}

/// Clients that group tools by the prompt's contents learn of the compaction before the next answer starts.
#[test]
fn turn_near_the_limit_is_compacted_before_its_first_call() {
    let mut bench = bench(|policy| policy.triggers.pre_turn = Some(PerMille::new(800)));
    turn(&mut bench, "first", &text(5000));
    turn(&mut bench, "second", &text(4400));
    let from = bench.events.len();
    bench.asks("third");
    assert_eq!((asked(&bench, Purpose::Turn).len(), asked(&bench, Purpose::Summary).len()), (0, 1));
    sums_up(&mut bench);
    assert_eq!(records(&bench).last().map(|record| record.trigger), Some(Trigger::PreTurnTokens));
    let trigger = "PreTurnTokens";
    let phases = ["Started", "Summarizing", "Accepted"].map(|phase| format!("{phase} {trigger}"));
    assert_eq!(told(&bench, from), [&phases[..], &["streamStarted".to_owned()]].concat());
    assert_eq!(asked(&bench, Purpose::Turn).len(), 1);
    // Switched off, it starts nothing below the limit.
    let mut off = self::bench(|_| ());
    turn(&mut off, "first", &text(5000));
    turn(&mut off, "second", &text(4400));
    off.asks("third");
    assert_eq!((asked(&off, Purpose::Turn).len(), records(&off).len()), (1, 0));
}

#[test]
fn too_many_turns_or_messages_start_one_summary() {
    let mut turns = bench(|policy| {
        policy.triggers.user_turns = Some(5);
        policy.retention = Retention::UserTurns(3);
    });
    for n in 0..5 {
        turn(&mut turns, "go", &text(1200));
        assert!(records(&turns).is_empty(), "{n}");
    }
    turns.asks("go");
    sums_up(&mut turns);
    assert_eq!(records(&turns).last().map(|record| record.trigger), Some(Trigger::UserTurns));

    let mut messages = bench(|policy| {
        *policy = Policy { min_new_tokens: Some(0), ..Policy::named("lastMessages").expect("a preset") };
    });
    for _ in 0..20 {
        turn(&mut messages, &text(100), &text(60));
    }
    assert!(records(&messages).is_empty(), "40 messages are shown");
    messages.asks("the forty-first");
    assert_eq!((asked(&messages, Purpose::Summary).len(), asked(&messages, Purpose::Turn).len()), (1, 0));
    sums_up(&mut messages);
    let record = records(&messages).last().expect("a record").clone();
    assert_eq!((record.trigger, record.resume_at().0), (Trigger::Messages, 29), "12 stay");
    done(&mut messages, Purpose::Turn, Ok(said("went", &[], None)));
    // The next request for a summary holds the previous one uncut.
    for _ in 0..15 {
        messages.asks(&text(100));
        if !asked(&messages, Purpose::Summary).is_empty() {
            break;
        }
        done(&mut messages, Purpose::Turn, Ok(said(&text(60), &[], None)));
    }
    let [(_, _, items)] = &messages.asked[..] else { panic!("one summary is asked for") };
    let narrative = record.narrative.expect("a narrative");
    assert!(items.iter().flat_map(|item| item.texts()).any(|text| text.contains(&*narrative)));
}

#[test]
fn failing_trigger_keeps_the_prompt_and_stops_retrying() {
    let mut bench = bench(|policy| policy.triggers.pre_turn = Some(PerMille::new(500)));
    turn(&mut bench, "first", &text(3000));
    turn(&mut bench, "second", &text(3000));
    for n in 0..3 {
        bench.asks("again");
        fails(&mut bench, Purpose::Summary);
        fails(&mut bench, Purpose::Summary);
        let [(_, _, items)] = &bench.asked[..] else { panic!("the turn goes on") };
        let raw = items.iter().flat_map(|item| &item.sources).filter(|source| source.shown == Shown::Raw);
        assert_eq!(raw.count(), bench.session.transcript().messages().len(), "every message as it was said");
        assert!(records(&bench).is_empty());
        assert_eq!(bench.session.head().carried.restraint.failures(), n + 1);
        done(&mut bench, Purpose::Turn, Ok(said("so", &[], None)));
    }
    // Another process knows of the failures.
    bench.another_process();
    let from = bench.events.len();
    bench.asks("once more");
    assert_eq!((asked(&bench, Purpose::Turn).len(), asked(&bench, Purpose::Summary).len()), (1, 0));
    assert!(!told(&bench, from).iter().any(|word| word.starts_with("Summarizing")));
    // New messages arm it again; the hard limit does not wait for them.
    done(&mut bench, Purpose::Turn, Ok(said(&text(5800), &[], None)));
    bench.asks("and now");
    assert_eq!(asked(&bench, Purpose::Summary).len(), 1);
    // A source larger than a request is summarized in pieces.
    while !asked(&bench, Purpose::Summary).is_empty() {
        sums_up(&mut bench);
    }
    assert_eq!(bench.session.head().carried.restraint.failures(), 0);
}

#[test]
fn turn_near_the_window_end_wraps_up_in_two_rounds() {
    let exit = |policy: &mut Policy| policy.budget_exit = Some(PerMille::new(850));
    let limit = 2880;
    let mut bench = bench(exit);
    bench.asks("work");
    // Neither a large sum over many rounds nor an absurd report is a reason.
    for n in 0..4 {
        round(&mut bench, &format!("a{n}"), 500, Some(600));
    }
    round(&mut bench, "b", 2500, Some(90_000));
    let notices = |bench: &Bench| {
        let messages = bench.session.transcript().messages().iter();
        messages.filter(|m| matches!(&m.body, Body::Event { kind, .. } if kind == WRAP_UP)).count()
    };
    assert_eq!(notices(&bench), 0);
    round(&mut bench, "c", 500, Some(limit * 85 / 100));
    assert_eq!(notices(&bench), 1);
    let [(_, _, items)] = &bench.asked[..] else { panic!("the turn goes on") };
    assert!(items.last().is_some_and(|item| item.texts().any(|text| text.contains("two more rounds"))));
    round(&mut bench, "d", 10, None);
    assert_eq!(bench.session.state().name(), StateName::Generating);
    round(&mut bench, "e", 10, None);
    assert_eq!(bench.session.state().name(), StateName::WaitingUserInput);
    let last = bench.session.transcript().messages().last().map(|message| message.body.clone());
    assert!(matches!(last, Some(Body::Event { kind, .. }) if kind == BUDGET_EXIT));
    assert_eq!(bench.reopened().state().name(), StateName::WaitingUserInput);
    // The round limit applies as well.
    let mut limited = self::bench(exit);
    let settings = Settings { round_limit: 2, ..limited.session.settings().clone() };
    limited.step(Input::Settings(Box::new(settings)));
    limited.asks("work");
    round(&mut limited, "a", 10, None);
    round(&mut limited, "b", 10, None);
    assert_eq!(limited.session.state().name(), StateName::WaitingUserInput);
}

pub fn overflow(limit: Option<u32>, needed: Option<u32>) -> Result<Answer, Failure> {
    let overflow = Overflow { limit, needed, ..Overflow::default() };
    Err(Failure { overflow: Some(overflow), ..Failure::from("too large") })
}

#[test]
fn provider_overflow_compacts_once_and_reruns_no_tool() {
    let silent = || Ok(Answer { parts: None, calls: None, stop: StopReason::Length, usage: None });
    for (name, too_large) in [("told", overflow(Some(3500), Some(4400))), ("silent", silent())] {
        let mut bench = bench(|_| ());
        bench.asks("work");
        for n in 0..4 {
            round(&mut bench, &format!("a{n}"), 2300, None);
        }
        let results = bench.session.transcript().messages().len();
        done(&mut bench, Purpose::Turn, too_large.clone());
        sums_up(&mut bench);
        let record = records(&bench).last().expect("a record").clone();
        assert_eq!(record.trigger, Trigger::ProviderOverflow, "{name}");
        let learned = bench.session.head().carried.limits.learned().expect("a limit").tokens;
        assert!(learned < record.tokens_before && record.tokens_after < learned, "{name}");
        assert_eq!(bench.session.transcript().messages().len(), results, "{name}: nothing ran again");
        assert!(bench.invoked.is_empty());
        // A second refusal with nothing new is an error.
        done(&mut bench, Purpose::Turn, too_large);
        let error = bench.events.iter().rev().find_map(|(_, body)| match body {
            EventBody::RuntimeUpdated { ended: Some(ended), .. } => ended.error.clone(),
            _ => None,
        });
        assert!(
            matches!(&error, Some(Refusal::Provider { cause, .. }) if cause.word == "contextOverflow"),
            "{name}: {error:?}"
        );
        assert_eq!(records(&bench).len(), 1, "{name}");
        let again = bench.reopened();
        assert_eq!(again.head().carried.limits.learned().map(|limit| limit.tokens < 2880), Some(true));
    }
    // Switched off, it is an error at once.
    let mut off = bench(|policy| policy.triggers.provider_overflow = false);
    off.asks("work");
    done(&mut off, Purpose::Turn, overflow(None, None));
    assert_eq!(off.session.state().name(), StateName::Error);
}

#[test]
fn old_model_summarizes_before_a_smaller_window_answers() {
    let mut bench = bench(|_| ());
    for _ in 0..3 {
        turn(&mut bench, "work", &text(2600));
    }
    let small = ModelFacts { name: Some("small".into()), window: 2500, ..settings().model };
    let settings = Settings { model: small, ..bench.session.settings().clone() };
    let own = serde_json::Value::Null;
    bench.command(Command::Configure(Box::new(Configure {
        settings,
        own,
        title: None,
        forget_limits: false,
    })));
    bench.asks("and you?");
    let asked_of = bench.effects.iter().find_map(|effect| match effect {
        Effect::AskModel(ask) if ask.purpose == Purpose::Summary => Some(ask.model.name.clone()),
        _ => None,
    });
    assert_eq!(asked_of, Some(None), "the old model, which has no name");
    sums_up(&mut bench);
    assert_eq!(
        records(&bench).last().map(|r| (r.trigger, r.mode)),
        Some((Trigger::ModelChanged, Mode::Full))
    );
    assert_eq!(asked(&bench, Purpose::Turn).len(), 1);
}

/// A session whose prompt is large enough to prepare a summary.
fn preparing() -> Bench {
    let mut bench = bench(|policy| policy.triggers.background = Some(PerMille::new(750)));
    bench.asks("work");
    for n in 0..3 {
        round(&mut bench, &format!("a{n}"), 2900, None);
    }
    assert_eq!((asked(&bench, Purpose::Turn).len(), asked(&bench, Purpose::Summary).len()), (1, 1));
    assert!(matches!(bench.session.state(), State::Streaming(_)), "the turn does not wait for it");
    bench
}

#[test]
fn prepared_summary_is_applied_when_needed() {
    let mut ready = preparing();
    sums_up(&mut ready);
    assert!(records(&ready).is_empty(), "nothing is applied before it is needed");
    round(&mut ready, "b", 2900, None);
    let record = records(&ready).last().expect("it is needed now").clone();
    assert_eq!((record.trigger, asked(&ready, Purpose::Turn).len()), (Trigger::Background, 1));
    let newest = ready.session.transcript().messages().len() as u32 - 4;
    assert!(record.resume_at().0 <= newest, "what came after it stays raw");

    // Needed before it is ready, it is waited for and no second model is asked.
    let mut late = preparing();
    let call = asked(&late, Purpose::Summary);
    round(&mut late, "b", 2900, None);
    assert_eq!(asked(&late, Purpose::Summary), call);
    assert!(matches!(late.session.state(), State::Compacting(running) if running.call() == call[0]));
    sums_up(&mut late);
    assert_eq!(records(&late).len(), 1);

    // A reset or another model cancels it.
    let mut gone = preparing();
    gone.command(Command::Reset { keep_queue: false, key: None });
    assert!(gone.asked.is_empty(), "{:?}", gone.asked);
    let mut other = preparing();
    let model = ModelFacts { name: Some("other".into()), ..settings().model };
    let settings = Settings { model, ..other.session.settings().clone() };
    other.step(Input::Settings(Box::new(settings)));
    assert!(asked(&other, Purpose::Summary).is_empty());
}

/// A session that has just asked its user to review a compaction.
fn reviewing() -> Bench {
    let mut bench = bench(|policy| policy.consent = Consent::Ask);
    bench.asks("work");
    for n in 0..4 {
        round(&mut bench, &format!("a{n}"), 2900, None);
    }
    sums_up(&mut bench);
    assert!(matches!(bench.session.state(), State::Reviewing(_)), "{:?}", bench.session.state());
    let is_asked = |effect: &Effect| matches!(effect, Effect::AskReview(_));
    assert!(bench.effects.iter().any(is_asked) && records(&bench).is_empty());
    bench
}

#[test]
fn review_accepts_edits_or_refuses_and_silence_accepts() {
    let mut accepted = reviewing();
    accepted.step(Input::Reviewed(Some(Review::Accept)));
    let first = records(&accepted)[0].clone();
    assert_eq!((first.mode, first.unreviewed), (Mode::Full, false));

    let mut edited = reviewing();
    edited.step(Input::Reviewed(Some(Review::Edit("in my own words".into()))));
    let record = &records(&edited)[0];
    assert_eq!(record.narrative.as_deref(), Some("in my own words"));
    assert!(record.block.contains("in my own words") && !record.unreviewed);

    let mut long = reviewing();
    long.step(Input::Reviewed(Some(Review::Edit(text(9000)))));
    assert_eq!((&records(&long)[0].narrative, records(&long)[0].unreviewed), (&first.narrative, true));

    let mut refused = reviewing();
    refused.step(Input::Reviewed(Some(Review::Refuse)));
    assert_eq!(records(&refused)[0].mode, Mode::Ledger, "the limit needs it, and no model is asked");
    assert!(records(&refused)[0].fallbacks.iter().any(|fallback| fallback.reason.contains("refused")));

    let mut silent = reviewing();
    silent.step(Input::Expired(Timer::Review));
    assert!(records(&silent)[0].unreviewed);
    assert!(silent.effects.contains(&Effect::CancelReview));
    for bench in [&accepted, &edited, &long, &refused, &silent] {
        assert_eq!((asked(bench, Purpose::Turn).len(), records(bench).len()), (1, 1));
        assert!(!bench.timers.contains(&Timer::Review));
    }

    // A prompt that fits stays raw after a refusal, and a client that cannot review is not asked.
    let optional = |policy: &mut Policy| {
        policy.consent = Consent::Ask;
        policy.triggers.pre_turn = Some(PerMille::new(500));
    };
    let mut raw = bench(optional);
    turn(&mut raw, "first", &text(3000));
    turn(&mut raw, "second", &text(3000));
    raw.asks("third");
    sums_up(&mut raw);
    raw.step(Input::Reviewed(Some(Review::Refuse)));
    assert_eq!((records(&raw).len(), asked(&raw, Purpose::Turn).len()), (0, 1));
    let mut settings = raw.session.settings().clone();
    settings.client.reviews = false;
    let mut nobody = Bench::with(Driver::Sidecar, settings, Vec::new());
    turn(&mut nobody, "first", &text(3000));
    turn(&mut nobody, "second", &text(3000));
    nobody.asks("third");
    sums_up(&mut nobody);
    assert!(records(&nobody)[0].unreviewed);
}

#[test]
fn consent_off_keeps_the_limit_without_a_model() {
    let mut bench = bench(|policy| {
        policy.consent = Consent::Off;
        policy.triggers.pre_turn = Some(PerMille::new(300));
        policy.triggers.background = Some(PerMille::new(300));
    });
    bench.asks("work");
    for n in 0..6 {
        round(&mut bench, &format!("a{n}"), 2900, None);
        assert!(asked(&bench, Purpose::Summary).is_empty());
    }
    assert!(records(&bench).iter().all(|record| record.model.is_none()) && !records(&bench).is_empty());
    assert_eq!(asked(&bench, Purpose::Turn).len(), 1);
}

#[test]
fn idle_session_is_compacted_and_a_busy_one_is_not() {
    let idle = |policy: &mut Policy| policy.triggers.idle_secs = Some(0);
    let mut bench = bench(idle);
    turn(&mut bench, "first", &text(3000));
    turn(&mut bench, "second", &text(3000));
    let spoken = bench.session.head().updated_at;
    assert!(bench.timers.contains(&Timer::Idle));
    bench.step(Input::Expired(Timer::Idle));
    sums_up(&mut bench);
    assert_eq!(records(&bench).last().map(|record| record.trigger), Some(Trigger::Idle));
    assert_eq!(bench.session.head().updated_at, spoken, "nobody said anything");
    assert_eq!(bench.session.state().name(), StateName::Idle, "it stands where it stood");
    // Nothing is new, so nothing is done.
    bench.step(Input::Expired(Timer::Idle));
    assert!(asked(&bench, Purpose::Summary).is_empty());
    // A busy session is skipped, and a later process still watches the time.
    bench.asks("third");
    bench.step(Input::Expired(Timer::Idle));
    assert!(asked(&bench, Purpose::Summary).is_empty(), "it is busy");
    done(&mut bench, Purpose::Turn, Ok(said("so", &[], None)));
    bench.another_process();
    bench.command(Command::Open(Box::default()));
    assert!(bench.timers.contains(&Timer::Idle));
}

#[test]
fn compacting_again_with_nothing_new_says_so_and_asks_nobody() {
    let mut bench = bench(|_| ());
    turn(&mut bench, "first", &text(3000));
    turn(&mut bench, "second", &text(3000));
    bench.command(Command::Compact(Default::default()));
    sums_up(&mut bench);
    let from = bench.events.len();
    bench.command(Command::Compact(Default::default()));
    assert!(bench.asked.is_empty());
    let refused = bench.events.iter().skip(from).find_map(|(_, body)| match body {
        EventBody::CompactionUpdated(update) if update.phase == Phase::Refused => update.reason.clone(),
        _ => None,
    });
    assert!(refused.is_some_and(|why| why.contains("nothing was said since")));
}

#[test]
fn context_update_reports_the_room_before_the_nearest_trigger() {
    let until = |policy: fn(&mut Policy)| {
        let mut bench = bench(policy);
        bench.asks("work");
        bench.step(Input::ModelDelta(asked(&bench, Purpose::Turn)[0], Delta::AppendContent("so".into())));
        let told = bench.events.iter().rev().find_map(|(_, body)| match body {
            EventBody::ContextUpdated { tokens, limit, until_compaction, .. } => {
                Some((*tokens, *limit, *until_compaction))
            }
            _ => None,
        });
        told.expect("a context")
    };
    let (tokens, limit, left) = until(|_| ());
    assert_eq!(left, limit - tokens);
    let (tokens, limit, left) = until(|policy| policy.triggers.pre_turn = Some(PerMille::new(800)));
    assert_eq!(left, limit * 8 / 10 - tokens);
}
