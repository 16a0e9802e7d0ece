//! Background sessions: those that wait for a process, and the state of each, whichever store holds it. On
//! each backend.

use crate::task::TaskState;
use crate::testing::{head, keep, on_each, session};
use engine::id::{Time, TurnId};
use engine::words::StateName;
use session::stored::{Head, Origin, TurnFigures, TurnRow, TurnStatus, Write};

/// A background session of `s`, created at this time.
fn task(id: &str, made: u64, waits: bool) -> Head {
    let (parent, origin) = (Some(session("s")), Origin::Background);
    Head { parent, origin, waits, created_at: Time(made), ..head(id) }
}

fn put(head: Head) -> Write {
    Write::Head(Box::new(head))
}

fn turn(index: u32, status: TurnStatus) -> Write {
    let id = TurnId::new(format!("t{index}"));
    Write::Turn(TurnRow {
        index,
        id,
        status,
        started: None,
        decided: Vec::new(),
        figures: TurnFigures::default(),
    })
}

#[test]
fn waiting_tasks_are_found_unless_another_process_holds_them() {
    on_each(|bench| {
        let mut elsewhere = task("elsewhere", 1, true);
        elsewhere.workspace = "v".into();
        let heads = [task("late", 9, true), task("early", 2, true), task("done", 1, false), elsewhere];
        for head in heads {
            bench.write(head.id.clone().as_str(), &[put(head)]);
        }
        let mut other = bench.another();
        assert_eq!(other.waiting("w").unwrap(), [], "the first store holds them all");
        let found = |all: Vec<crate::task::Waiting>| -> Vec<String> {
            all.into_iter().map(|one| one.session.to_string()).collect()
        };
        assert_eq!(found(bench.store().waiting("w").unwrap()), ["early", "late"]);
        assert_eq!(found(bench.store().waiting("v").unwrap()), ["elsewhere"]);
        bench.reopen();
        assert_eq!(found(other.waiting("w").unwrap()), ["early", "late"], "their holder has ended");
        let fence = other.acquire(&session("early"), Time(1)).unwrap();
        assert_eq!(found(bench.store().waiting("w").unwrap()), ["late"]);
        // Running it clears `waits` in the same commit.
        other.commit(&session("early"), fence, &[put(task("early", 2, false))]).unwrap();
        other.release(&session("early"), fence).unwrap();
        assert_eq!(found(bench.store().waiting("w").unwrap()), ["late"]);
        // A copy of a waiting session does not wait.
        bench.write("late", &[keep("copy")]);
        assert_eq!(found(bench.store().waiting("w").unwrap()), ["late"]);
    });
}

#[test]
fn task_state_follows_newest_turn_and_its_runner() {
    on_each(|bench| {
        bench.write("s", &[put(head("s"))]);
        bench.write("waits", &[put(task("waits", 1, true))]);
        bench.write("runs", &[put(task("runs", 2, false)), turn(0, TurnStatus::Running)]);
        let turns = [turn(0, TurnStatus::Failed), turn(1, TurnStatus::Completed)];
        bench.write("ended", &[&[put(task("ended", 3, false))], &turns[..]].concat());
        // A call that waits for a user or an editor and a turn that waits for agents survive their process.
        let stands = |id: &str, made: u64, state: StateName, waits: bool| {
            let mut head = task(id, made, waits);
            head.carried.state = Some(state);
            [put(head), turn(0, TurnStatus::Running)]
        };
        bench.write("asks", &stands("asks", 6, StateName::Paused, false));
        bench.write("parent", &stands("parent", 7, StateName::WaitingUserInput, true));
        bench.write("unasked", &[put(task("unasked", 4, false))]);
        bench.write("branch", &[put(Head { origin: Origin::Branch, ..task("branch", 5, false) })]);
        let mut other = bench.another();
        let mut stands = |id: &str| -> Vec<(String, TaskState)> {
            let tasks = other.tasks(&session(id)).unwrap();
            tasks.into_iter().map(|task| (task.session.to_string(), task.state)).collect()
        };
        let all = |runs| {
            [
                ("waits", TaskState::Waiting),
                ("runs", runs),
                ("ended", TaskState::Ended(TurnStatus::Completed)),
                ("asks", TaskState::Running),
                ("parent", TaskState::Running),
            ]
            .map(|(id, state)| (id.to_owned(), state))
        };
        assert_eq!(stands("s"), all(TaskState::Running));
        assert_eq!(stands("waits"), []);
        bench.reopen();
        assert_eq!(stands("s"), all(TaskState::Interrupted));
    });
}
