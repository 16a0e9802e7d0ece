//! A compaction that the user undid is not made again on its own until enough is new: not by the idle
//! trigger, beside a turn, or before one. Undo itself is tested in `by_hand`.

use crate::effect::Purpose;
use crate::event::EventBody;
use crate::history_turn::HistoryTurn;
use crate::input::{Command, Compact, Input, Render, Summarize, Timer};
use crate::settings::Settings;
use crate::stored::Driver;
use crate::tests::bench::{Bench, settings, text};
use crate::tests::compaction::by_hand::{compact, marked, talked, undo};
use engine::compact::policy::{Stage, Triggers};
use engine::message::{Body, NewMessage};
use engine::settings::PerMille;

/// Sets these triggers and no others.
fn triggered(bench: &mut Bench, change: impl FnOnce(&mut Triggers)) {
    let mut settings: Settings = bench.session.settings().clone();
    settings.policy.limit_history = Stage::Off;
    settings.policy.min_new_tokens = Some(0);
    settings.policy.triggers.pre_turn = None;
    settings.policy.triggers.background = None;
    change(&mut settings.policy.triggers);
    bench.step(Input::Settings(Box::new(settings)));
}

fn is_summed_up(bench: &Bench) -> bool {
    bench.asked.iter().any(|ask| ask.1 == Purpose::Summary)
}

/// A session of two turns whose compaction was undone.
fn undone() -> Bench {
    let mut bench = talked(8000, 1200);
    compact(&mut bench);
    undo(&mut bench);
    bench
}

#[test]
fn idle_trigger_does_not_remake_an_undone_compaction() {
    let mut bench = undone();
    triggered(&mut bench, |triggers| triggers.idle_secs = Some(0));
    bench.step(Input::Expired(Timer::Idle));
    assert!(!is_summed_up(&bench));
    bench.another_process();
    triggered(&mut bench, |triggers| triggers.idle_secs = Some(0));
    bench.step(Input::Expired(Timer::Idle));
    assert!(!is_summed_up(&bench), "also after a restart");
    bench.asks("something new");
    bench.says("So be it.", &[]);
    bench.step(Input::Expired(Timer::Idle));
    assert!(is_summed_up(&bench));
}

/// After an undo a soft trigger waits as after a compaction. A prompt over the limit is still compacted.
#[test]
fn soft_triggers_wait_after_an_undo_until_the_limit() {
    let mut bench = talked(8000, 2400);
    let mut settings = bench.session.settings().clone();
    settings.policy.limit_history = Stage::Off;
    settings.policy.triggers = Triggers {
        pre_turn: Some(PerMille::new(500)),
        background: Some(PerMille::new(500)),
        ..settings.policy.triggers
    };
    bench.step(Input::Settings(Box::new(settings)));
    compact(&mut bench);
    undo(&mut bench);
    let purposes = |bench: &Bench| bench.asked.iter().map(|ask| ask.1).collect::<Vec<_>>();
    let told = |bench: &Bench| {
        let told = bench.events.iter().rev().find_map(|(_, body)| match body {
            EventBody::ContextUpdated { tokens, limit, until_compaction, .. } => {
                Some((*tokens, *limit, *until_compaction))
            }
            _ => None,
        });
        told.expect("what the prompt weighs")
    };
    for n in 0..3 {
        if n == 1 {
            bench.another_process();
        }
        bench.asks("something new");
        assert_eq!(purposes(&bench), [Purpose::Turn], "request {n}");
        let (tokens, limit, until) = told(&bench);
        assert!(tokens > limit / 2, "above the soft trigger");
        assert_eq!(tokens + until, limit, "so much fits before a compaction");
        bench.says("So be it.", &[]);
    }
    bench.asks(&marked("much_more", 8000));
    assert_eq!(purposes(&bench), [Purpose::Summary], "over the limit room is made");
}

#[test]
fn regenerating_after_an_undo_prepares_and_compacts_nothing() {
    let of_turn: fn(&mut Triggers) = |triggers| triggers.background = Some(PerMille::new(10));
    let before: fn(&mut Triggers) = |triggers| triggers.user_turns = Some(1);
    for trigger in [of_turn, before] {
        let mut bench = talked(8000, 1200);
        bench.asks(&marked("third_request", 60));
        bench.says("It is done.", &[]);
        compact(&mut bench);
        undo(&mut bench);
        triggered(&mut bench, trigger);
        bench.command(Command::Regenerate { key: None });
        assert_eq!(bench.asked.iter().map(|ask| ask.1).collect::<Vec<_>>(), [Purpose::Turn]);
        bench.says("It is done again.", &[]);
        bench.asks("something new");
        assert!(is_summed_up(&bench));
    }
}

#[test]
fn render_of_the_same_history_stays_raw_after_undo() {
    let mut bench = Bench::with(Driver::Editor, settings(), Vec::new());
    triggered(&mut bench, |triggers| triggers.pre_turn = Some(PerMille::new(500)));
    let turn = |n: usize| {
        let request = NewMessage { external_id: Some(format!("e{n}")), ..NewMessage::user("go on") };
        let said = NewMessage::new(Body::assistant(&text(3000), vec![]));
        let messages = std::iter::once(request).chain((n < 3).then_some(said)).collect();
        HistoryTurn { external_id: Some(format!("e{n}")), detailed: true, messages, metadata: Vec::new() }
    };
    let render = |bench: &mut Bench| {
        let history = Some((1..3).map(turn).collect());
        let render =
            Render { history, current: Some(turn(3)), summarize: Summarize::Auto, ..Render::default() };
        bench.command(Command::Render(Box::new(render)))
    };
    render(&mut bench);
    assert!(is_summed_up(&bench));
    bench.says("", &[]);
    undo(&mut bench);
    let to = render(&mut bench);
    assert!(matches!(bench.reply(to), Some(Ok(_))) && !is_summed_up(&bench));
    let to = bench.command(Command::Compact(Compact::default()));
    assert!(bench.reply(to).is_none() && is_summed_up(&bench), "a requested compaction is made");
}
