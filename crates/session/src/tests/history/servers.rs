//! Tools of servers that the sidecar calls itself.

use crate::breaks::BreakCause;
use crate::effect::Effect;
use crate::event::EventBody;
use crate::input::{Command, Decision, Input, Open, Progress};
use crate::state::State;
use crate::stored::Driver;
use crate::tests::bench::{Bench, settings, tool};
use engine::message::{Body, Content};
use engine::prompt::item::Approval;
use engine::words::StateName;

/// A session whose editor has one tool and runs none, with the tools of a server.
fn with(tools: &[&str]) -> Bench {
    let mut settings = settings();
    settings.client.invokes = false;
    let mut bench = Bench::with(Driver::Sidecar, settings, vec![tool("read", Approval::Allow)]);
    offer(&mut bench, tools);
    bench
}

fn offer(bench: &mut Bench, tools: &[&str]) {
    bench.step(Input::ServerTools(tools.iter().map(|name| tool(name, Approval::Ask)).collect()));
}

/// The tools with which a model is asked now.
fn offered(bench: &Bench) -> Vec<String> {
    let asks = bench.effects.iter().filter_map(|effect| match effect {
        Effect::AskModel(ask) => Some(&ask.request.tools),
        _ => None,
    });
    asks.flat_map(|tools| tools.iter().map(|tool| tool.name.clone())).collect()
}

fn allow(bench: &mut Bench) {
    let State::Paused(pause) = bench.session.state() else { panic!("it asks first") };
    let call = pause.open().first().cloned().expect("a call");
    bench.command(Command::Decide(vec![Decision::once(call, true)]));
}

fn results(bench: &Bench) -> Vec<String> {
    let messages = bench.session.transcript().messages().iter();
    let results = messages.filter_map(|message| match &message.body {
        Body::Tool(result) => Some(result.content.iter().map(|content| match content {
            Content::Text(text) => text.to_string(),
            other => format!("{other:?}"),
        })),
        _ => None,
    });
    results.flatten().collect()
}

#[test]
fn server_tools_follow_those_of_the_editor_and_ask() {
    let mut bench = with(&["read", "s__a", "s__b"]);
    bench.asks("go");
    assert_eq!(offered(&bench), ["read", "s__a", "s__b"]);
    bench.says("", &["s__a"]);
    allow(&mut bench);
    assert_eq!(bench.session.state().name(), StateName::ExecutingTools);
    let calls = bench.effects.iter().filter(|effect| matches!(effect, Effect::CallServer(_))).count();
    assert_eq!(calls, 1);
    bench.tool_answers("well");
    assert_eq!(results(&bench), ["well"]);
}

#[test]
fn progress_is_an_event_while_the_call_runs() {
    let mut bench = with(&["s__a"]);
    bench.asks("go");
    bench.says("", &["s__a"]);
    allow(&mut bench);
    let mut calls = bench.effects.iter().filter_map(|effect| match effect {
        Effect::CallServer(call) => Some(call.call.clone()),
        _ => None,
    });
    let call = calls.next_back().expect("a call");
    let progress = Progress { done: 1.0, total: Some(4.0), message: Some("reads".to_owned()) };
    let told = |bench: &mut Bench| {
        bench.step(Input::ToolProgress(call.clone(), progress.clone()));
        let events = bench.effects.iter().filter_map(|effect| match effect {
            Effect::Emit(event) => Some(event.body.clone()),
            _ => None,
        });
        events.collect::<Vec<_>>()
    };
    let expected = EventBody::ToolProgress { call: call.clone(), progress: progress.clone() };
    assert_eq!(told(&mut bench), [expected]);
    bench.tool_answers("well");
    assert_eq!(told(&mut bench), []);
}

#[test]
fn tool_of_the_editor_goes_before_one_of_a_server() {
    let mut bench = with(&["read"]);
    bench.asks("go");
    bench.says("", &["read"]);
    assert_eq!(results(&bench), ["[the editor runs no tools]"]);
}

#[test]
fn changed_server_tools_are_one_reported_break() {
    let mut bench = with(&["s__a"]);
    bench.asks("go");
    bench.says("done", &[]);
    offer(&mut bench, &["s__a"]);
    bench.asks("same");
    bench.says("done", &[]);
    offer(&mut bench, &["s__a", "s__b"]);
    bench.asks("changed");
    let offered = offered(&bench);
    bench.says("done", &[]);
    bench.asks("again");
    let broken = bench.events.iter().filter_map(|(_, body)| match body {
        EventBody::PrefixBroken { causes, lost, .. } => Some((causes.iter().copied().collect(), *lost > 0)),
        _ => None,
    });
    assert_eq!(broken.collect::<Vec<(Vec<BreakCause>, bool)>>(), [(vec![BreakCause::Tools], true)]);
    assert_eq!(offered, ["read", "s__a", "s__b"]);
}

#[test]
fn another_process_offers_the_same_and_does_not_repeat_a_call() {
    let mut bench = with(&["s__a"]);
    bench.asks("go");
    bench.says("", &["s__a"]);
    allow(&mut bench);
    bench.another_process();
    bench.command(Command::Open(Box::<Open>::default()));
    assert_eq!(offered(&bench), ["read", "s__a"]);
    assert_eq!(bench.invoked, []);
    let [result] = &*results(&bench) else { panic!("one result") };
    assert!(result.starts_with("[the sidecar ended while this call ran"), "{result}");
}
