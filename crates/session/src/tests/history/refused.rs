//! Answers that the provider refused.

use crate::input::Input;
use crate::stored::Driver;
use crate::tests::bench::{Bench, settings, tool};
use engine::delta::Delta;
use engine::message::Body;
use engine::prompt::item::{Approval, Role};
use engine::prompt::request::{Answer, StopReason};
use serde_json::json;

#[test]
fn refused_answer_is_shown_with_its_reason_and_not_sent_back() {
    let mut bench = Bench::with(Driver::Sidecar, settings(), vec![tool("read", Approval::Allow)]);
    bench.asks("one");
    bench.says("fine", &[]);
    bench.asks("two");
    let (call, _, before) = bench.asked.pop().expect("a model is asked");
    let details = json!({"stopDetails": {"category": "cyber", "explanation": "It is about a weapon."}});
    bench.step(Input::ModelDelta(call, Delta::AppendContent("I begin".to_owned())));
    bench.step(Input::ModelDelta(call, Delta::MergeExtra(details.as_object().expect("an object").clone())));
    let answer = Answer { parts: None, calls: None, stop: StopReason::Refused, usage: None };
    bench.step(Input::ModelDone(call, Ok(answer)));

    let snapshot = bench.session.snapshot();
    let refused = snapshot.messages.last().expect("messages");
    assert!(matches!(refused.body, Body::Assistant { .. }) && !refused.visible_to_model);
    let told = format!("{:?}", bench.events);
    assert!(told.contains("the model refused to answer: It is about a weapon."), "{told}");

    bench.asks("three");
    let items = &bench.asked.last().expect("a model is asked").2;
    assert_eq!(items[..before.len()], before[..], "the prompt before is a prefix of this one");
    assert_eq!(items[before.len()..].iter().map(|item| item.role).collect::<Vec<_>>(), [Role::User]);
}
