//! Learned limits are shown with their source, are given up after a larger prompt, and can be dropped by the user.

use crate::effect::{Answer, Purpose};
use crate::input::{Command, Configure};
use crate::settings::Settings;
use crate::snapshot::Inspection;
use crate::tests::bench::{Bench, text};
use crate::tests::compaction::triggers::{asked, bench, done, overflow, round, said, sums_up, turn};
use engine::prompt::request::{Failure, Overflow, Part};
use engine::words::LimitSource;

fn inspected(bench: &mut Bench) -> Inspection {
    let number = bench.command(Command::Inspect(None));
    match bench.reply(number) {
        Some(Ok(Answer::Inspected(inspection))) => (**inspection).clone(),
        other => panic!("an inspection: {other:?}"),
    }
}

/// Drops the learned limits, as a client does.
fn forgets(bench: &mut Bench) {
    let settings: Settings = bench.session.settings().clone();
    let own = bench.session.head().settings.clone();
    let configure = Configure { settings, own, title: None, forget_limits: true };
    bench.command(Command::Configure(Box::new(configure)));
}

/// Lets the model answer, after the summaries that are asked for before that.
fn answers(bench: &mut Bench) {
    while asked(bench, Purpose::Turn).is_empty() && !asked(bench, Purpose::Summary).is_empty() {
        sums_up(bench);
    }
    done(bench, Purpose::Turn, Ok(said("so", &[], None)));
}

/// A session in a window of 4,000 tokens whose provider refused its prompt like this.
fn refused(failure: Failure) -> Bench {
    let mut bench = bench(|_| ());
    let is_known = failure.overflow.is_some_and(|overflow| overflow.limit.is_some());
    if is_known {
        for _ in 0..2 {
            turn(&mut bench, "work", &text(3800));
        }
        bench.asks("more");
    } else {
        // Near the window, where a refusal without numbers is believed.
        bench.asks("work");
        for n in 0..4 {
            round(&mut bench, &format!("a{n}"), 2300, None);
        }
    }
    done(&mut bench, Purpose::Turn, Err(failure));
    answers(&mut bench);
    bench
}

fn of(part: Part, limit: Option<u32>, needed: Option<u32>) -> Failure {
    Failure { overflow: Some(Overflow { part, limit, needed }), ..Failure::from("no") }
}

#[test]
fn learned_limit_says_where_it_is_from() {
    let cases = [
        (of(Part::Prompt, Some(2000), Some(2500)), Some(LimitSource::Stated)),
        (of(Part::Prompt, None, None), Some(LimitSource::Guessed)),
        (of(Part::Both, Some(3300), None), Some(LimitSource::StatedWithAnswer)),
    ];
    for (failure, source) in cases {
        let mut bench = refused(failure);
        let inspection = inspected(&mut bench);
        let learned = inspection.learned_limit.expect("a limit");
        assert_eq!((Some(learned.source), learned.left), (source, 31), "one prompt was accepted");
        assert_eq!(learned.tokens, inspection.limit);
        bench.another_process();
        assert_eq!(inspected(&mut bench).learned_limit, Some(learned), "another process knows of it");
    }
    let mut bench = refused(of(Part::Answer, Some(300), None));
    let inspection = inspected(&mut bench);
    assert_eq!((inspection.learned_limit, inspection.learned_answer), (None, Some(300)));
}

#[test]
fn learned_limits_are_dropped_at_the_users_request() {
    for failure in [
        of(Part::Prompt, Some(2000), Some(2500)),
        of(Part::Both, Some(3300), None),
        of(Part::Answer, Some(300), None),
    ] {
        let mut bench = refused(failure);
        let before = inspected(&mut bench);
        assert!(before.learned_limit.is_some() || before.learned_answer.is_some());
        forgets(&mut bench);
        let after = inspected(&mut bench);
        assert_eq!((after.learned_limit, after.learned_answer), (None, None));
        assert!(after.limit >= before.limit, "{} and then {}", before.limit, after.limit);
        bench.another_process();
        assert_eq!(inspected(&mut bench).learned_limit, None, "it is stored");
    }
}

#[test]
fn refusal_after_the_reset_teaches_again() {
    let mut bench = refused(of(Part::Prompt, Some(2000), Some(2500)));
    forgets(&mut bench);
    turn(&mut bench, "work", &text(3800));
    bench.asks("more");
    done(&mut bench, Purpose::Turn, overflow(Some(2000), Some(2500)));
    answers(&mut bench);
    assert_eq!(inspected(&mut bench).learned_limit.map(|learned| learned.source), Some(LimitSource::Stated));
}

/// The limit was for prompt and answer together; a prompt above it is sent to see whether it still holds.
#[test]
fn limit_for_prompt_and_answer_is_given_up_after_a_larger_prompt() {
    let mut bench = refused(of(Part::Both, Some(3300), None));
    let learned = inspected(&mut bench).learned_limit.expect("a limit");
    bench.asks(&text(9600));
    answers(&mut bench);
    let after = inspected(&mut bench);
    assert!(after.tokens > learned.tokens, "{} of {}", after.tokens, learned.tokens);
    assert_eq!((after.learned_limit, after.learned_answer), (None, None));
}
