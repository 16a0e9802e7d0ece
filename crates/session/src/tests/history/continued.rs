//! Answers that end before their end, by a length limit or a pause of the provider: the turn asks for the rest.

use crate::effect::{Purpose, Refusal};
use crate::event::EventBody;
use crate::input::Input;
use crate::settings::{Settings, TranscriptKept};
use crate::state::StateName;
use crate::tests::bench::{Bench, tool};
use crate::tests::compaction::triggers::{asked, bench, done, said};
use engine::delta::Delta;
use engine::message::Body;
use engine::prompt::item::{Approval, ItemPart, Role};
use engine::prompt::request::{Answer, StopReason};
use serde_json::json;

fn ends(text: &str, calls: &[&str], stop: StopReason) -> Result<Answer, engine::prompt::request::Failure> {
    Ok(Answer { stop, ..said(text, calls, None) })
}

/// The items that the model is asked with, each with its role.
fn shown(bench: &Bench) -> Vec<(Role, String)> {
    let items = &bench.asked.last().expect("a model is asked").2;
    let text = |parts: &[ItemPart]| {
        parts.iter().filter_map(ItemPart::as_text).map(ToString::to_string).collect::<String>()
    };
    items.iter().map(|item| (item.role, text(&item.parts))).collect()
}

/// The class of the failure with which the newest turn ended.
fn failure(bench: &Bench) -> Option<&'static str> {
    bench.events.iter().rev().find_map(|(_, body)| match body {
        EventBody::RuntimeUpdated { ended: Some(ended), .. } => match &ended.error {
            Some(Refusal::Provider { cause, .. }) => Some(cause.word),
            _ => None,
        },
        _ => None,
    })
}

fn messages(bench: &Bench) -> Vec<String> {
    let messages = bench.session.transcript().messages().iter().filter(|message| !message.is_removed());
    messages
        .map(|message| match &message.body {
            Body::Event { kind, .. } => format!("({kind})"),
            body => body.said(),
        })
        .collect()
}

#[test]
fn answer_cut_by_length_is_continued_by_the_same_turn() {
    let mut bench = bench(|_| ());
    bench.asks("tell");
    done(&mut bench, Purpose::Turn, ends("Once upon", &[], StopReason::Length));
    assert_eq!(bench.session.state().name(), StateName::Generating);
    let [_, (answer, text), (user, asked_for)] = &shown(&bench)[..] else { panic!("{:?}", shown(&bench)) };
    assert_eq!((*answer, text.as_str(), *user), (Role::Assistant, "Once upon", Role::User));
    assert!(asked_for.contains("Continue it exactly where it stops"), "{asked_for}");
    let finished = bench.events.iter().find_map(|(_, body)| match body {
        EventBody::StreamFinished { stop, .. } => Some(*stop),
        _ => None,
    });
    assert_eq!(finished, Some(StopReason::Length));
    done(&mut bench, Purpose::Turn, ends(" a time.", &[], StopReason::End));
    assert_eq!(messages(&bench), ["tell", "Once upon", "(continued)", " a time."]);
    assert_eq!((bench.session.state().name(), failure(&bench)), (StateName::Idle, None));
    assert_eq!(bench.reopened().transcript().messages().len(), 4);
}

#[test]
fn answer_is_continued_three_times_at_most() {
    let mut bench = bench(|_| ());
    bench.asks("tell");
    for n in 0..4 {
        assert_eq!(asked(&bench, Purpose::Turn).len(), 1, "request {n}");
        done(&mut bench, Purpose::Turn, ends("and", &[], StopReason::Length));
    }
    assert_eq!((bench.session.state().name(), failure(&bench)), (StateName::Error, Some("length")));
    assert_eq!(messages(&bench).iter().filter(|said| *said == "and").count(), 4, "all of it is kept");
    // The next request starts anew.
    bench.asks("go on");
    done(&mut bench, Purpose::Turn, ends("and", &[], StopReason::Length));
    assert_eq!(bench.session.state().name(), StateName::Generating);
}

#[test]
fn answer_without_text_is_not_continued() {
    for (text, calls) in [("", &[][..]), (" \n", &[]), ("", &["c"])] {
        let mut bench = bench(|_| ());
        bench.asks("tell");
        done(&mut bench, Purpose::Turn, ends(text, calls, StopReason::Length));
        assert_eq!((bench.session.state().name(), failure(&bench)), (StateName::Error, Some("length")));
        assert!(bench.invoked.is_empty());
    }
}

#[test]
fn calls_of_a_cut_answer_do_not_run() {
    let mut bench = bench(|_| ());
    bench.asks("tell");
    done(&mut bench, Purpose::Turn, ends("I look.", &["c"], StopReason::Length));
    assert!(bench.invoked.is_empty());
    let (_, asked_for) = shown(&bench).pop().expect("an item");
    assert!(asked_for.contains("its tool calls did not run"), "{asked_for}");
    // The call comes again, whole, and runs.
    done(&mut bench, Purpose::Turn, ends("", &["d"], StopReason::ToolUse));
    assert_eq!(bench.invoked.len(), 1);
    bench.tool_answers("read");
    // After a round, another answer may be continued as often.
    for _ in 0..3 {
        done(&mut bench, Purpose::Turn, ends("and", &[], StopReason::Length));
        assert_eq!(bench.session.state().name(), StateName::Generating);
    }
}

#[test]
fn paused_answer_goes_back_as_the_end_of_the_prompt() {
    let mut bench = bench(|_| ());
    bench.asks("search");
    for _ in 0..3 {
        let [call] = asked(&bench, Purpose::Turn)[..] else { panic!("one call") };
        let block =
            json!({ "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {} });
        bench.step(Input::ModelDelta(call, Delta::AddServerContentBlock(block)));
        let paused = Answer { parts: None, calls: None, stop: StopReason::Paused, usage: None };
        done(&mut bench, Purpose::Turn, Ok(paused));
        assert_eq!(bench.session.state().name(), StateName::Generating);
        assert_eq!(shown(&bench).last().map(|(role, _)| *role), Some(Role::Assistant));
    }
    done(&mut bench, Purpose::Turn, ends("Found.", &[], StopReason::Paused));
    assert_eq!((bench.session.state().name(), failure(&bench)), (StateName::Idle, None), "often enough");
}

#[test]
fn calls_of_a_paused_answer_run() {
    let mut bench = bench(|_| ());
    bench.asks("search");
    done(&mut bench, Purpose::Turn, ends("I look.", &["c"], StopReason::Paused));
    assert_eq!(bench.invoked.len(), 1);
}

#[test]
fn continuation_counts_as_a_round_of_the_turn() {
    let mut bench = bench(|_| ());
    let settings = Settings { round_limit: 2, ..bench.session.settings().clone() };
    bench.step(Input::Settings(Box::new(settings)));
    bench.asks("tell");
    done(&mut bench, Purpose::Turn, ends("one", &[], StopReason::Length));
    done(&mut bench, Purpose::Turn, ends("two", &[], StopReason::Length));
    assert_eq!(bench.session.state().name(), StateName::WaitingUserInput);
    // The turn ends at the second piece, so nothing asks for a third.
    assert_eq!(messages(&bench), ["tell", "one", "(continued)", "two", "(roundLimit)"]);
}

#[test]
fn all_pieces_of_the_last_answer_are_kept() {
    let settings =
        Settings { transcript: TranscriptKept::FinalOnly, ..bench(|_| ()).session.settings().clone() };
    let mut bench =
        Bench::with(crate::stored::Driver::Sidecar, settings, vec![tool("read", Approval::Allow)]);
    bench.asks("tell");
    bench.says("I look.", &["read"]);
    bench.tool_answers("seen");
    done(&mut bench, Purpose::Turn, ends("Once upon", &[], StopReason::Length));
    done(&mut bench, Purpose::Turn, ends(" a time.", &[], StopReason::End));
    assert_eq!(messages(&bench), ["tell", "Once upon", "(continued)", " a time."]);
}
