//! Blocks that a provider adds to its answers on its own, in later prompts. The wires' tests show how they are sent.

use crate::input::{At, Command, Input};
use crate::stored::Driver;
use crate::tests::bench::Bench;
use engine::delta::Delta;
use engine::message::{Content, Usage};
use engine::prompt::request::{Answer, StopReason};
use serde_json::json;

/// Answers with a compaction of the provider and this usage.
fn compacts(bench: &mut Bench, text: &str, input_tokens: u32) {
    let call = bench.asked.last().expect("a model is asked").0;
    let compaction = json!({ "type": "compaction", "content": "What was said." });
    bench.step(Input::ModelDelta(call, Delta::AddServerContentBlock(compaction)));
    answers(bench, text, input_tokens);
}

fn answers(bench: &mut Bench, text: &str, input_tokens: u32) {
    let call = bench.asked.last().expect("a model is asked").0;
    bench.step(Input::ModelDelta(call, Delta::AppendContent(text.to_owned())));
    let usage = Usage { input_tokens: Some(input_tokens), ..Usage::default() };
    let answer = Answer { parts: None, calls: None, stop: StopReason::End, usage: Some(usage) };
    bench.step(Input::ModelDone(call, Ok(answer)));
}

/// `true` if the newest prompt has a compaction of the provider.
fn has_compaction(bench: &Bench) -> bool {
    let items = &bench.asked.last().expect("a model is asked").2;
    items.iter().any(|item| item.is_compacted_by_provider())
}

/// It stands for what was before it, so it would bring back what a user took out.
#[test]
fn provider_compaction_leaves_prompts_once_something_before_it_changes() {
    let mut bench = Bench::new(Driver::Sidecar);
    bench.asks("a secret");
    answers(&mut bench, "noted", 100);
    bench.asks("go on");
    compacts(&mut bench, "done", 100);
    bench.asks("and on");
    assert!(has_compaction(&bench));
    answers(&mut bench, "done", 100);
    bench.another_process();
    bench.asks("further");
    assert!(has_compaction(&bench), "after a restart too");
    answers(&mut bench, "done", 100);
    let content = vec![Content::Text("a question".into())];
    bench.command(Command::Update { message: At::Index(0), content, regenerate: false, key: None });
    bench.asks("again");
    assert!(!has_compaction(&bench));
}

/// The provider reads less than the prompt holds.
#[test]
fn usage_behind_a_provider_compaction_teaches_nothing_about_token_counts() {
    let mut bench = Bench::new(Driver::Sidecar);
    let reports = |bench: &Bench| bench.session.head().carried.usage.clone();
    bench.asks(&"a question ".repeat(200));
    compacts(&mut bench, "done", 600);
    let learned = reports(&bench);
    bench.asks("and on");
    answers(&mut bench, "done", 400);
    assert_eq!(reports(&bench), learned);
}
