//! An editor's history merged into a session's: partial rounds, late or repeated ids, requests without ids.
//! Each case occurred in practice; its test says what must not be lost.

use crate::effect::{Answer, Refusal, Rendered};
use crate::history_turn::HistoryTurn;
use crate::input::{Command, Decision, Input, Render, StartTurn, ToolOutcome};
use crate::state::State;
use crate::stored::{Driver, TurnStatus};
use crate::tests::bench::{Bench, result};
use engine::compact::metadata::SummaryEntry;
use engine::id::CallId;
use engine::message::{Body, Content, NewMessage, ToolCall};
use engine::prompt::item::Role;

/// A turn of an editor's history.
fn turn(id: Option<&str>, words: &str, rounds: Vec<Vec<NewMessage>>) -> HistoryTurn {
    let id = id.map(str::to_owned);
    let mut messages = vec![NewMessage { external_id: id.clone(), ..NewMessage::user(words) }];
    let detailed = !rounds.is_empty();
    messages.extend(rounds.into_iter().flatten());
    HistoryTurn { external_id: id, detailed, messages, metadata: Vec::new() }
}

/// A round of these calls, with results for some of them.
fn round(id: &str, calls: &[&str], results: &[&str]) -> Vec<NewMessage> {
    let asked = calls.iter().map(|call| ToolCall::new(call, "read", "{}")).collect();
    let assistant =
        NewMessage { external_id: Some(id.into()), ..NewMessage::new(Body::assistant(id, asked)) };
    let results = results.iter().map(|call| NewMessage::new(Body::Tool(result(call, &format!("of {call}")))));
    std::iter::once(assistant).chain(results).collect()
}

fn answered(id: Option<&str>, words: &str, answer: &str) -> HistoryTurn {
    let mut turn = turn(id, words, Vec::new());
    turn.messages.push(NewMessage::new(Body::assistant(answer, Vec::new())));
    turn
}

fn render(bench: &mut Bench, history: Option<Vec<HistoryTurn>>, current: Option<HistoryTurn>) -> Rendered {
    let render = Render { history, current, ..Render::default() };
    let to = bench.command(Command::Render(Box::new(render)));
    let reply = bench.replies.iter().find(|(reply, _)| *reply == to).map(|(_, answer)| answer.clone());
    match reply {
        Some(Ok(Answer::Rendered(rendered))) => *rendered,
        other => panic!("no prompt: {other:?}"),
    }
}

/// Returns the texts of a prompt's items, without the system text.
fn said(rendered: &Rendered) -> Vec<String> {
    let items = rendered.prompt.items.iter().filter(|item| item.role != Role::System);
    items.map(|item| item.texts().map(|text| text.to_string()).collect::<Vec<_>>().join("|")).collect()
}

fn kinds(rendered: &Rendered) -> Vec<&str> {
    rendered.diagnostics.iter().map(|diagnostic| diagnostic.kind).collect()
}

#[test]
fn results_match_calls_with_duplicate_ids() {
    let mut bench = Bench::new(Driver::Sidecar);
    bench.asks("two at once");
    let (call, ..) = bench.asked.pop().expect("the model is asked");
    let calls = vec![ToolCall::new("x", "read", "{\"p\":1}"), ToolCall::new("x", "read", "{\"p\":2}")];
    bench.answer(call, calls);
    assert_eq!(bench.invoked, [CallId::new("x"), CallId::new("x_2")]);
    for (call, text) in [("x_2", "of two"), ("x", "of one")] {
        bench.step(Input::ToolDone(CallId::new(call), ToolOutcome::Answered(result(call, text))));
    }
    let (_, _, items) = bench.asked.last().expect("the model is asked again");
    let results: Vec<(String, String)> = items
        .iter()
        .filter(|item| item.role == Role::Tool)
        .map(|item| {
            (
                item.call_id.as_ref().map(ToString::to_string).unwrap_or_default(),
                item.texts().map(|t| t.to_string()).collect(),
            )
        })
        .collect();
    assert_eq!(results, [("x".into(), "of one".into()), ("x_2".into(), "of two".into())]);
}

#[test]
fn running_turn_may_bring_only_new_messages() {
    let mut bench = Bench::new(Driver::Editor);
    let first =
        render(&mut bench, None, Some(turn(Some("q"), "do it", vec![round("k1", &["a", "b"], &["a"])])));
    assert_eq!(first.prompt.items.len(), 4, "the missing result has a stand-in");
    // A result without its round, then a round without the earlier ones.
    let mut results = turn(Some("q"), "do it", Vec::new());
    results.messages.push(NewMessage::new(Body::Tool(result("b", "of b"))));
    results.detailed = true;
    let second = render(&mut bench, None, Some(results));
    assert_eq!(said(&second), ["do it", "k1|{}|{}", "of a", "of b"]);
    let third = render(&mut bench, None, Some(turn(Some("q"), "do it", vec![round("k2", &["c"], &["c"])])));
    assert_eq!(said(&third), ["do it", "k1|{}|{}", "of a", "of b", "k2|{}", "of c"]);
    assert_eq!(kinds(&third), [""; 0]);
    assert_eq!(third.revision, None);
    // All rounds, with one result in other words.
    let mut all = vec![round("k1", &["a", "b"], &["a", "b"]), round("k2", &["c"], &["c"])];
    all[0][1] = NewMessage::new(Body::Tool(result("a", "of a ")));
    let fourth = render(&mut bench, None, Some(turn(Some("q"), "do it", all)));
    assert_eq!((said(&fourth), fourth.revision), (said(&third), None));
}

#[test]
fn repeated_request_is_new_once_its_turn_is_over() {
    let mut bench = Bench::new(Driver::Editor);
    render(&mut bench, Some(vec![]), Some(turn(None, "again", vec![round("k", &["a"], &["a"])])));
    bench.command(Command::EndTurn(TurnStatus::Completed));
    let next = render(&mut bench, None, Some(turn(None, "again", Vec::new())));
    assert_eq!(said(&next), ["again", "k|{}", "of a", "again"]);
    bench.command(Command::EndTurn(TurnStatus::Completed));
    // A retry: the editor dropped the second turn and sends its request again.
    let earlier = turn(None, "again", vec![round("k", &["a"], &["a"])]);
    let retried = render(&mut bench, Some(vec![earlier]), Some(turn(None, "again", Vec::new())));
    assert_eq!(said(&retried).last().map(String::as_str), Some("again"));
    assert_eq!(said(&retried).len(), 4);
    assert!(retried.revision.is_some(), "the dropped turn is kept");
}

#[test]
fn an_id_that_comes_late_is_learned_and_stored() {
    let mut bench = Bench::new(Driver::Editor);
    render(&mut bench, Some(vec![]), Some(turn(None, "first", vec![round("k", &["a"], &["a"])])));
    bench.command(Command::EndTurn(TurnStatus::Completed));
    render(
        &mut bench,
        Some(vec![answered(Some("r1"), "first", "yes")]),
        Some(turn(None, "second", Vec::new())),
    );
    let id = |session: &crate::Session| session.transcript().messages()[0].external_id.clone();
    assert_eq!(id(&bench.session), Some("r1".into()));
    assert_eq!(id(&bench.reopened()), Some("r1".into()));
    // From now on the same words under another id are another request.
    let edited = render(&mut bench, Some(vec![]), Some(turn(Some("r2"), "first", Vec::new())));
    assert_eq!(said(&edited), ["first"]);
    assert!(edited.revision.is_some());
}

#[test]
fn parts_beside_a_running_request_may_change_without_loss() {
    let beside = |value: &str| {
        let mut turn = turn(None, "do", Vec::new());
        if let Body::User(parts) = &mut turn.messages[0].body {
            parts.push(Content::Resource { uri: "selection".into(), text: value.into() });
        }
        turn
    };
    for history in [None, Some(vec![])] {
        let mut bench = Bench::new(Driver::Editor);
        render(&mut bench, history.clone(), Some(beside("one")));
        bench.command(Command::AppendRound(round("k", &["a"], &["a"])));
        let next = render(&mut bench, history, Some(beside("two")));
        assert_eq!(said(&next), ["do|one", "k|{}", "of a"]);
        assert_eq!(next.revision, None);
    }
}

#[test]
fn repeated_round_id_means_the_round_of_its_turn() {
    let mut bench = Bench::new(Driver::Editor);
    let rounds = || vec![round("round_0", &[], &[]), round("round_1", &[], &[])];
    let mut history: Vec<HistoryTurn> =
        (0..3).map(|n| turn(Some(&format!("q{n}")), &format!("ask {n}"), rounds())).collect();
    let summary =
        SummaryEntry { round_id: "round_0".into(), text: "what was".into(), own: None, recorded: None };
    history[1].metadata.push(summary);
    let rendered = render(&mut bench, Some(history), Some(turn(Some("q3"), "ask 3", Vec::new())));
    let said = said(&rendered);
    let after: Vec<&str> =
        said.iter().map(String::as_str).skip_while(|text| !text.contains("what was")).skip(1).collect();
    assert_eq!(after, ["ask 1", "round_1", "ask 2", "round_0", "round_1", "ask 3"]);
    let with_summary = bench
        .session
        .snapshot()
        .turns
        .iter()
        .flat_map(|turn| turn.rounds.clone())
        .filter(|(_, s)| s.is_some())
        .count();
    assert_eq!(with_summary, 1);
}

#[test]
fn longer_editor_history_keeps_rounds_known_only_here() {
    let mut bench = Bench::new(Driver::Editor);
    render(&mut bench, Some(vec![]), Some(turn(Some("e2"), "second", vec![round("k", &["a"], &["a"])])));
    bench.command(Command::EndTurn(TurnStatus::Completed));
    let history = vec![answered(Some("e1"), "first", "well"), answered(Some("e2"), "second", "done")];
    let rendered = render(&mut bench, Some(history), Some(turn(Some("e3"), "third", Vec::new())));
    assert_eq!(said(&rendered), ["first", "well", "second", "k|{}", "of a", "third"]);
}

#[test]
fn partial_decisions_of_a_pause_survive_a_restart() {
    let mut bench = Bench::new(Driver::Sidecar);
    bench.asks("remove two");
    bench.says("", &["rm", "rm"]);
    let State::Paused(pause) = bench.session.state() else { panic!("it asks first") };
    let first = pause.open().first().cloned().expect("a call");
    let decision = Decision { note: Some("not that one".into()), ..Decision::once(first.clone(), false) };
    bench.command(Command::Decide(vec![decision]));
    let again = bench.reopened();
    assert_eq!(again.state(), bench.session.state());
    assert!(
        matches!(again.state(), State::Paused(pause) if pause.open().len() == 1 && pause.is_decided(&first))
    );
}

#[test]
fn turn_ended_by_a_crash_fails_and_the_next_runs() {
    let mut bench = Bench::new(Driver::Sidecar);
    bench.asks("answer me");
    bench.session = bench.reopened();
    bench.asked.clear();
    bench.events.clear();
    bench.command(Command::Open(Box::default()));
    let Some((_, Ok(Answer::Opened(opened)))) = bench.replies.last() else { panic!("it opens") };
    assert!(opened.0.error.as_deref().is_some_and(|why| why.contains("ended")));
    let content = vec![Content::Text("again".into())];
    bench.command(Command::StartTurn(Box::new(StartTurn { content, ..StartTurn::default() })));
    let (_, _, items) = bench.asked.last().expect("the model is asked");
    assert_eq!(
        items.iter().filter(|item| item.role == Role::User).count(),
        2,
        "nothing that was said is lost"
    );
}

/// The ids of the calls and of the results in a prompt, in order.
fn call_ids(rendered: &Rendered) -> Vec<String> {
    let ids = rendered.prompt.items.iter().flat_map(|item| {
        let of_calls = item.calls.iter().map(|call| call.id.to_string());
        item.call_id.iter().map(ToString::to_string).chain(of_calls).collect::<Vec<_>>()
    });
    ids.collect()
}

#[test]
fn empty_call_ids_are_repaired_alike_every_time() {
    let rounds = || vec![round("k1", &["", "a"], &["a", ""]), round("k2", &[""], &[""])];
    let history = || Some(vec![turn(Some("q"), "do it", rounds())]);
    let next = || Some(turn(Some("r"), "and this", Vec::new()));
    let expected = ["call-1", "a", "call-1", "a", "call-3", "call-3"];
    let mut bench = Bench::new(Driver::Editor);
    let first = render(&mut bench, history(), next());
    assert_eq!(call_ids(&first), expected);
    assert_eq!(kinds(&first), ["repairedCall", "repairedCall"]);
    assert!(first.diagnostics[1].message.contains("\"call-3\""), "{:?}", first.diagnostics);
    // The same history is known by now, and gives the same ids where it is new.
    let again = render(&mut bench, history(), next());
    assert_eq!((call_ids(&again), kinds(&again), &again.revision), (call_ids(&first), vec![], &None));
    let anew = render(&mut Bench::new(Driver::Editor), history(), next());
    assert_eq!((call_ids(&anew), anew.diagnostics), (call_ids(&first), first.diagnostics));
}

#[test]
fn result_of_an_empty_id_needs_a_single_open_call() {
    let mut bench = Bench::new(Driver::Editor);
    let two = render(&mut bench, None, Some(turn(Some("q"), "do it", vec![round("k1", &["", ""], &[""])])));
    assert_eq!(kinds(&two), ["repairedCall", "repairedCall", "strayResult"]);
    assert_eq!(said(&two).len(), 4, "both calls have a stand-in: {:?}", said(&two));
    // A round of the editor's loop is refused whole, so that its result is not lost.
    let refused = bench.command(Command::AppendRound(round("k2", &["", ""], &[""])));
    let reply = bench.replies.iter().find(|(reply, _)| *reply == refused).map(|(_, answer)| answer.clone());
    let unknown = Refusal::Unknown { what: "tool call", id: String::new() };
    assert_eq!(reply.map(Result::unwrap_err), Some(unknown));
    let taken = bench.command(Command::AppendRound(round("k2", &[""], &[""])));
    let reply = bench.replies.iter().find(|(reply, _)| *reply == taken).map(|(_, answer)| answer.clone());
    let Some(Ok(Answer::RoundAppended { diagnostics, messages, .. })) = reply else { panic!("{reply:?}") };
    assert_eq!((diagnostics.len(), messages.len()), (1, 2));
}
