//! The meter of the context: each change by the user reports once the next prompt's size, as
//! `context/inspect` gives it. The sizes of prompts that are sent are tested in `triggers`.

use crate::effect::Answer;
use crate::event::EventBody;
use crate::input::{At, Command};
use crate::tests::bench::Bench;
use crate::tests::compaction::by_hand::{compact, marked, talked, undo};
use engine::id::{CompactionId, MessageId, PinId};
use engine::prompt::pins::Pinned;

/// Tokens, limit and room before a compaction, as reported since the nth event.
fn told(bench: &Bench, from: usize) -> Vec<(u32, u32, u32)> {
    let figures = bench.events.iter().skip(from).filter_map(|(_, body)| match body {
        EventBody::ContextUpdated { tokens, limit, until_compaction, .. } => {
            Some((*tokens, *limit, *until_compaction))
        }
        _ => None,
    });
    figures.collect()
}

/// Runs a change that must report the next prompt's size once; returns that size.
fn tells<T>(bench: &mut Bench, what: &str, work: impl FnOnce(&mut Bench) -> T) -> (u32, T) {
    let from = bench.events.len();
    let done = work(bench);
    let told = told(bench, from);
    let to = bench.command(Command::Inspect(None));
    let Some(Ok(Answer::Inspected(inspected))) = bench.reply(to) else { panic!("no inspection") };
    let expected = (inspected.tokens, inspected.limit, inspected.until_compaction);
    assert_eq!(told, [expected], "{what}");
    (expected.0, done)
}

fn accepted(bench: &mut Bench, command: Command) -> Answer {
    let to = bench.command(command);
    bench.reply(to).expect("an answer at once").clone().expect("it is accepted")
}

#[test]
fn each_context_change_reports_the_next_prompt_size_once() {
    let mut bench = talked(8000, 1200);
    let whole = tells(&mut bench, "pin", |bench| {
        accepted(bench, Command::Pin(Pinned::Text(marked("Mind the tests.", 400).into())))
    });
    let Answer::Pinned(pin) = whole.1 else { panic!("no pin") };
    let again = bench.events.len();
    accepted(&mut bench, Command::Pin(Pinned::Text(marked("Mind the tests.", 400).into())));
    assert_eq!(told(&bench, again), [], "what is pinned already changes nothing");
    let (bare, _) = tells(&mut bench, "unpin", |bench| accepted(bench, Command::Unpin(pin)));
    assert!(bare < whole.0);
    let (compacted, record) = tells(&mut bench, "compact", compact);
    assert!(compacted < bare);
    let narrative = marked("Another narrative.", 600);
    tells(&mut bench, "edit", |bench| accepted(bench, Command::Edit { compaction: record.id, narrative }));
    tells(&mut bench, "undo of the edit", undo);
    let (undone, _) = tells(&mut bench, "undo", undo);
    assert_eq!(undone, bare);
    let result = bench.session.transcript().rounds()[1].results[0].expect("a result");
    let id: MessageId = bench.session.transcript().message(result).expect("it").id.clone();
    let (less, _) = tells(&mut bench, "exclude", |bench| accepted(bench, Command::Exclude(vec![id])));
    assert!(less < undone);
    let newest = bench.session.transcript().messages().last().expect("an answer").id.clone();
    tells(&mut bench, "truncate", |bench| {
        accepted(bench, Command::Truncate { from: At::Id(newest), key: None })
    });
    tells(&mut bench, "reset", |bench| accepted(bench, Command::Reset { keep_queue: false, key: None }));

    let from = bench.events.len();
    for refused in [Command::Unpin(PinId::new("p")), Command::Undo(Some(CompactionId::new("c")))] {
        let to = bench.command(refused);
        assert!(matches!(bench.reply(to), Some(Err(_))));
    }
    assert_eq!(told(&bench, from), [], "what is refused changes nothing");
}
