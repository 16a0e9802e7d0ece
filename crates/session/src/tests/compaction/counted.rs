//! First prompts that their provider counts before they are sent.

use crate::effect::{AskModel, Effect, Purpose};
use crate::input::{Command, Configure};
use crate::settings::{ModelFacts, Settings};
use crate::tests::bench::{Bench, text};
use crate::tests::compaction::triggers::{asked, bench, done, records, said, sums_up, turn};
use engine::endpoint::{Endpoint, Wire};
use engine::prompt::request::{Answer, Failure};

/// A session whose next turn goes to another model, which counts first prompts if `counts` is set.
fn handed_over(size: u16, counts: bool) -> Bench {
    let mut bench = bench(|_| ());
    for n in 0..3 {
        turn(&mut bench, &format!("request {n}"), &text(size));
    }
    let model = ModelFacts {
        name: Some("another".into()),
        endpoint: Some(Endpoint::of(Wire::Anthropic)),
        counts_tokens: counts,
        ..bench.session.settings().model.clone()
    };
    let settings = Settings { model, ..bench.session.settings().clone() };
    let own = serde_json::json!({});
    bench.command(Command::Configure(Box::new(Configure {
        settings,
        own,
        title: None,
        forget_limits: false,
    })));
    bench
}

fn ask(bench: &Bench) -> &AskModel {
    let mut asks = bench.effects.iter().filter_map(|effect| match effect {
        Effect::AskModel(ask) if ask.purpose == Purpose::Turn => Some(&**ask),
        _ => None,
    });
    asks.next_back().expect("a model is asked")
}

fn counted(tokens: u32) -> Result<Answer, Failure> {
    Err(Failure { counted: Some(tokens), ..Failure::default() })
}

#[test]
fn prompt_that_its_provider_finds_too_large_is_compacted_and_never_sent() {
    let mut bench = handed_over(3300, true);
    bench.asks("and now");
    let ask = ask(&bench);
    let most = ask.count_up_to.expect("it is counted");
    assert!(ask.tokens < most && most < 4000, "{} up to {most}", ask.tokens);
    let kept =
        |bench: &Bench| (bench.session.transcript().messages().len(), bench.session.head().carried.spent);
    let before = kept(&bench);
    done(&mut bench, Purpose::Turn, counted(4300));
    assert_eq!(kept(&bench), before, "no answer is kept, and nobody pays for a count");
    while !asked(&bench, Purpose::Summary).is_empty() {
        sums_up(&mut bench);
    }
    let ask = self::ask(&bench);
    assert_eq!(ask.count_up_to, None, "its counts are known now");
    assert!(ask.tokens < most, "{} up to {most}", ask.tokens);
    assert_eq!(records(&bench).len(), 1);
    done(&mut bench, Purpose::Turn, Ok(said("done", &[], None)));
    bench.another_process();
    bench.asks("further");
    assert_eq!(self::ask(&bench).count_up_to, None);
}

#[test]
fn only_a_first_prompt_that_may_be_too_large_is_counted() {
    let first = |size, counts| {
        let mut bench = handed_over(size, counts);
        bench.asks("and now");
        ask(&bench).count_up_to
    };
    assert!(first(3300, true).is_some());
    assert_eq!(first(1000, true), None, "even twice as many tokens fit");
    assert_eq!(first(3300, false), None, "nobody wants it");
    let mut reported = handed_over(3300, true);
    reported.asks("and now");
    let tokens = ask(&reported).tokens;
    done(&mut reported, Purpose::Turn, Ok(said("done", &[], Some(tokens))));
    reported.asks("further");
    assert_eq!(ask(&reported).count_up_to, None, "the provider reported a prompt");
}

/// A count that cannot be of this prompt teaches nothing, and the prompt goes to who counted.
#[test]
fn unbelievable_count_is_not_asked_for_again() {
    let mut bench = handed_over(3300, true);
    bench.asks("and now");
    done(&mut bench, Purpose::Turn, counted(1_000_000));
    assert_eq!((ask(&bench).count_up_to, records(&bench).len()), (None, 0));
    done(&mut bench, Purpose::Turn, Ok(said("done", &[], None)));
    bench.asks("further");
    assert!(ask(&bench).count_up_to.is_some(), "nothing is known of it");
}
