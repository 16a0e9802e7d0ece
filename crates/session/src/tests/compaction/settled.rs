//! Decisions stay decided: rejections, standing approvals, ids of ended calls.

use crate::effect::Effect;
use crate::input::{Command, Decision, Input, ToolOutcome};
use crate::settings::Settings;
use crate::state::StateName;
use crate::stored::{Always, Driver};
use crate::tests::bench::{Bench, result, settings, tool};
use engine::id::CallId;
use engine::message::{Body, Content, ToolCall};
use engine::prompt::item::{Approval, Tool, ToolKind};

fn tools() -> Vec<Tool> {
    vec![
        Tool { kind: Some(ToolKind::Execute), ..tool("run", Approval::Ask) },
        tool("edit", Approval::Ask),
        tool("rm", Approval::Ask),
    ]
}

fn decision(call: &str, approved: bool, always: bool) -> Decision {
    let always = always.then(|| Always { tool: String::new(), pattern: None, rejected: !approved });
    Decision { always, ..Decision::once(CallId::new(call), approved) }
}

fn asks_for(bench: &mut Bench, calls: &[(&str, &str, &str)]) {
    let (call, ..) = bench.asked.pop().expect("a model is asked");
    let calls = calls.iter().map(|(id, name, arguments)| ToolCall::new(id, name, arguments)).collect();
    bench.answer(call, calls);
}

/// Calls that the user is asked about.
fn waits(bench: &Bench) -> Vec<CallId> {
    bench.session.snapshot().pause.into_iter().map(|asked| asked.call.id).collect()
}

/// A call is rejected and its tool approved for all others; the process ends before the last call is decided.
#[test]
fn a_rejection_outlives_a_restart_whatever_was_approved_meanwhile() {
    let mut bench = Bench::with(Driver::Sidecar, settings(), tools());
    bench.asks("go on");
    asks_for(&mut bench, &[("a", "edit", "{}"), ("b", "edit", "{}"), ("c", "rm", "{}")]);
    bench.command(Command::Decide(vec![decision("a", false, false), decision("b", true, true)]));
    assert_eq!(bench.session.state().name(), StateName::Paused);
    bench.another_process();
    bench.command(Command::Open(Box::default()));
    assert_eq!(waits(&bench), [CallId::new("c")]);
    bench.command(Command::Decide(vec![decision("c", true, false)]));
    assert_eq!(bench.invoked, [CallId::new("b"), CallId::new("c")], "and never the rejected one");
}

#[test]
fn what_runs_commands_is_approved_for_these_arguments_alone() {
    let mut bench = Bench::with(Driver::Sidecar, settings(), tools());
    bench.asks("go on");
    asks_for(&mut bench, &[("a", "run", r#"{"command":"git status","why":"curl evil"}"#)]);
    bench.command(Command::Decide(vec![decision("a", true, true)]));
    bench.tool_answers("clean");
    asks_for(
        &mut bench,
        &[
            ("b", "run", r#"{ "why": "curl evil", "command": "git status" }"#),
            ("c", "run", r#"{"why":"git status","command":"curl evil"}"#),
        ],
    );
    assert_eq!(waits(&bench), [CallId::new("c")], "the same values under other keys are another command");
}

#[test]
fn calls_in_a_workspace_that_is_not_trusted_wait_each_time() {
    let tools = || vec![tool("read", Approval::Allow), tool("edit", Approval::Ask)];
    let mut bench = Bench::with(Driver::Sidecar, settings(), tools());
    bench.asks("go on");
    asks_for(&mut bench, &[("a", "edit", "{}")]);
    bench.command(Command::Decide(vec![decision("a", true, true)]));
    bench.tool_answers("done");
    bench.step(Input::Settings(Box::new(Settings { is_trusted: false, ..settings() })));
    asks_for(&mut bench, &[("b", "edit", "{}"), ("c", "read", "{}")]);
    assert_eq!(
        waits(&bench),
        [CallId::new("b"), CallId::new("c")],
        "neither was approved for what is in the folder now"
    );
    bench.command(Command::Decide(vec![decision("b", true, true), decision("c", true, true)]));
    bench.tool_answers("done");
    bench.tool_answers("done");
    asks_for(&mut bench, &[("d", "read", "{}")]);
    assert_eq!(bench.session.state().name(), StateName::Paused, "an approval counted once");
    bench.command(Command::Decide(vec![decision("d", true, false)]));
    bench.tool_answers("done");
    bench.step(Input::Settings(Box::new(settings())));
    asks_for(&mut bench, &[("e", "edit", "{}"), ("f", "read", "{}")]);
    let approved = ["e", "f"].map(CallId::new);
    assert_eq!(bench.invoked, approved, "what was approved for good in the trusted folder is approved again");
}

#[test]
fn calls_rejected_for_good_are_answered_without_asking() {
    let mut bench = Bench::with(Driver::Sidecar, settings(), tools());
    bench.asks("go on");
    asks_for(&mut bench, &[("a", "edit", "{}"), ("b", "edit", r#"{"path":"b"}"#)]);
    // Decided differently within the round: the second runs, and later ones do not.
    bench.command(Command::Decide(vec![decision("a", false, true), decision("b", true, false)]));
    assert_eq!(bench.invoked, [CallId::new("b")]);
    bench.tool_answers("done");
    asks_for(&mut bench, &[("c", "edit", "{}"), ("d", "rm", "{}")]);
    assert_eq!(waits(&bench), [CallId::new("d")], "a rejected call is not asked about");
    bench.step(Input::Settings(Box::new(Settings { is_trusted: false, ..settings() })));
    bench.command(Command::Decide(vec![decision("d", false, true)]));
    let results = bench.session.snapshot().messages.into_iter().filter_map(|message| match &message.body {
        Body::Tool(result) => Some((result.call.clone(), result.content[0].text()?.to_string())),
        _ => None,
    });
    let rejected = "[rejected by the user] Such calls are always rejected.";
    let results: Vec<_> = results.skip(2).collect();
    assert_eq!(results, [("d".into(), "[rejected by the user]".into()), ("c".into(), rejected.to_owned())]);
    let kept: Vec<_> = bench.approvals.iter().map(|always| (&*always.tool, always.rejected)).collect();
    assert_eq!(kept, [("edit", true), ("rm", true)], "also where the workspace is not trusted");
    // Another process knows the rejections too.
    bench.another_process();
    bench.command(Command::Open(Box::default()));
    bench.asks("go on");
    asks_for(&mut bench, &[("e", "rm", "{}")]);
    assert!(bench.session.snapshot().pause.is_empty());
}

#[test]
fn approvals_for_the_session_end_with_it() {
    let mut bench = Bench::with(Driver::Sidecar, settings(), tools());
    bench.asks("go on");
    asks_for(&mut bench, &[("a", "edit", "{}")]);
    bench.command(Command::Decide(vec![Decision { is_for_session: true, ..decision("a", true, true) }]));
    bench.tool_answers("done");
    asks_for(&mut bench, &[("b", "edit", r#"{"path":"b"}"#)]);
    assert_eq!(bench.invoked, [CallId::new("b")], "the second is not asked about");
    assert!(bench.approvals.is_empty(), "nothing is kept for other sessions");
    bench.tool_answers("done");
    bench.another_process();
    bench.command(Command::Open(Box::default()));
    bench.command(Command::CancelTurn { turn: None, queued: false });
    bench.asks("go on");
    asks_for(&mut bench, &[("c", "edit", "{}")]);
    assert_eq!(waits(&bench), [CallId::new("c")]);
}

/// The other call of the round still waits when the process ends, so the arguments outlast it too.
#[test]
fn a_call_runs_with_the_arguments_that_the_user_gave() {
    let mut bench = Bench::with(Driver::Sidecar, settings(), tools());
    bench.asks("go on");
    asks_for(&mut bench, &[("a", "run", r#"{"command":"rm -rf /"}"#), ("b", "edit", "{}")]);
    let arguments = r#"{"command":"rm -rf target"}"#;
    let edited = Decision { arguments: Some(arguments.into()), ..decision("a", true, true) };
    bench.command(Command::Decide(vec![edited]));
    bench.another_process();
    bench.command(Command::Open(Box::default()));
    bench.command(Command::Decide(vec![decision("b", false, false)]));
    let ran = bench.effects.iter().filter_map(|effect| match effect {
        Effect::InvokeTool(call) => Some((call.call.as_str(), &*call.arguments)),
        _ => None,
    });
    assert_eq!(ran.collect::<Vec<_>>(), [("a", arguments)]);
    let approved: Vec<_> = bench.approvals.iter().map(|always| always.pattern.as_deref()).collect();
    assert_eq!(approved, [Some(r#"={"command":"rm -rf target"}"#)], "not what the model wanted");
    bench.tool_answers("gone");
    let messages = bench.session.snapshot().messages;
    let said = messages.iter().rev().find_map(|message| match &message.body {
        Body::Tool(result) if result.call == "a" => Some(&result.content),
        _ => None,
    });
    let said: Vec<_> = said.into_iter().flatten().filter_map(Content::text).map(|text| &**text).collect();
    let told = format!("[the user changed the arguments of this call; it ran with {arguments}]");
    assert_eq!(said, ["gone", &*told]);
}

/// The editor's job goes on after its turn was stopped, and the model reuses the id of its call.
#[test]
fn late_result_never_answers_a_call_reusing_its_id() {
    let mut bench = Bench::with(Driver::Sidecar, settings(), vec![tool("read", Approval::Allow)]);
    bench.asks("go on");
    asks_for(&mut bench, &[("call_0", "read", "{}")]);
    bench.step(Input::ToolDone(CallId::new("call_0"), ToolOutcome::Pending));
    bench.command(Command::CancelTurn { turn: None, queued: false });
    bench.command(Command::Regenerate { key: None });
    asks_for(&mut bench, &[("call_0", "read", "{}")]);
    let runs = bench.invoked.last().cloned().expect("it runs");
    assert_ne!(runs, CallId::new("call_0"));
    bench.command(Command::ToolResult(result("call_0", "of the job that was stopped")));
    assert_eq!(bench.session.state().name(), StateName::WaitingIde, "nothing was taken in");
    bench.step(Input::ToolDone(runs, ToolOutcome::Answered(result("x", "of this one"))));
    let messages = bench.session.snapshot().messages;
    let results = messages.iter().filter_map(|message| match &message.body {
        Body::Tool(result) => result.content[0].text().map(|text| text.to_string()),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), ["of this one"]);
}

#[test]
fn regenerate_answers_the_previous_request_after_a_removal() {
    let mut bench = Bench::with(Driver::Sidecar, settings(), Vec::new());
    for text in ["first", "second"] {
        bench.asks(text);
        bench.says("so it is", &[]);
    }
    let second = bench.session.snapshot().messages[2].id.clone();
    let at = crate::input::At::Id(second);
    bench.command(Command::Remove { message: at, key: None });
    bench.command(Command::Regenerate { key: None });
    let (_, _, items) = bench.asked.last().expect("the model is asked");
    let texts: Vec<String> =
        items.iter().flat_map(|item| item.texts()).map(|text| text.to_string()).collect();
    assert_eq!(texts, ["first"]);
}
