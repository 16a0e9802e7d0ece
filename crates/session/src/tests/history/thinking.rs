//! Thinking of earlier answers in prompts. The wires' tests show how a provider's blocks are sent.

use crate::breaks::BreakCause;
use crate::event::EventBody;
use crate::input::Input;
use crate::settings::Settings;
use crate::stored::Driver;
use crate::tests::bench::{Bench, settings, tool};
use engine::delta::Delta;
use engine::message::cut::ThinkingInPrompt;
use engine::message::{AssistantPart, Body};
use engine::prompt::item::{Approval, Item, ItemPart};
use engine::prompt::request::{Answer, StopReason};

fn bench(thinking: ThinkingInPrompt) -> Bench {
    Bench::with(Driver::Sidecar, Settings { thinking, ..settings() }, vec![tool("read", Approval::Allow)])
}

/// Answers with thinking and this text.
fn thinks(bench: &mut Bench, text: &str) {
    let call = bench.asked.last().expect("a model is asked").0;
    bench.step(Input::ModelDelta(call, Delta::AppendReasoning("let me see".repeat(40))));
    bench.step(Input::ModelDelta(call, Delta::AppendContent(text.to_owned())));
    let answer = Answer { parts: None, calls: None, stop: StopReason::End, usage: None };
    bench.step(Input::ModelDone(call, Ok(answer)));
}

fn thoughts(items: &[Item]) -> usize {
    let parts = items.iter().flat_map(|item| &item.parts);
    parts.filter(|part| matches!(part, ItemPart::Reasoning { .. })).count()
}

/// With `strip` no prompt has thinking, none breaks the prefix, and all of it stays stored.
#[test]
fn stripped_thinking_is_in_no_prompt_and_stays_stored() {
    for (thinking, shown) in [
        (ThinkingInPrompt::Keep, [0, 1, 2]),
        (ThinkingInPrompt::Strip, [0, 0, 0]),
        (ThinkingInPrompt::StripCompletedTurns, [0, 0, 0]),
    ] {
        let mut bench = bench(thinking);
        let mut seen = Vec::new();
        let mut weighed = Vec::new();
        for turn in 0..3 {
            bench.asks(&format!("question {turn}"));
            let items = &bench.asked.last().expect("a model is asked").2;
            seen.push(thoughts(items));
            weighed.push(items.iter().map(|item| item.tokens).sum::<u32>());
            thinks(&mut bench, "an answer");
            if turn == 1 {
                bench.another_process();
            }
        }
        assert_eq!(seen, shown, "{thinking:?}");
        assert!(weighed[2] > weighed[1] + 100 || thinking != ThinkingInPrompt::Keep, "{weighed:?}");
        assert!(weighed[2] < weighed[1] + 100 || thinking == ThinkingInPrompt::Keep, "{weighed:?}");
        let messages = bench.session.transcript().messages();
        let is_thinking = |part: &AssistantPart| matches!(part, AssistantPart::Reasoning { .. });
        let stored = messages.iter().filter(
            |message| matches!(&message.body, Body::Assistant { parts, .. } if parts.iter().any(is_thinking)),
        );
        assert_eq!(stored.count(), 3, "all of it is there: {thinking:?}");
        let broken: Vec<_> = bench
            .events
            .iter()
            .filter_map(|(_, body)| match body {
                EventBody::PrefixBroken { causes, .. } => Some(causes.clone()),
                _ => None,
            })
            .collect();
        // No prompt held the thinking of an answer yet when its turn ended.
        assert_eq!(broken, Vec::<std::collections::BTreeSet<BreakCause>>::new(), "{thinking:?}");
    }
}

/// Within a turn thinking stays; the next turn drops it and reports the break.
#[test]
fn next_turn_drops_the_thinking_of_a_completed_one() {
    let mut bench = bench(ThinkingInPrompt::StripCompletedTurns);
    bench.asks("look at it");
    let call = bench.asked.last().expect("a model is asked").0;
    bench.step(Input::ModelDelta(call, Delta::AppendReasoning("I need a file".to_owned())));
    bench.says("", &["read"]);
    bench.tool_answers("text");
    assert_eq!(thoughts(&bench.asked.last().expect("the turn goes on").2), 1);
    bench.says("done", &[]);
    bench.asks("and now?");
    assert_eq!(thoughts(&bench.asked.last().expect("a model is asked").2), 0);
    let told = bench.events.iter().any(|(_, body)| {
        matches!(body, EventBody::PrefixBroken { causes, .. } if causes.contains(&BreakCause::StripCompletedTurns))
    });
    assert!(told);
}
