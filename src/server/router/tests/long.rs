//! Long sessions: steps that may take long are taken beside other sessions, in order, and what each costs.

use super::*;

/// A session that is long enough, with a prompt over a small model's window.
fn long(rig: &mut Rig, session: &str) {
    let opened = json!({ "workspaceFolder": "", "sessionId": session, "driver": "editor" });
    rig.ask::<methods::SessionOpen>(opened).unwrap();
    rig.start(session, "Read all files.").unwrap();
    append(rig, session, 0..500);
}

fn append(rig: &mut Rig, session: &str, rounds: std::ops::Range<usize>) {
    for n in rounds {
        let call = json!([{ "type": "toolCall", "id": format!("c{n}"), "name": "read", "arguments": "{}" }]);
        let results =
            json!([{ "toolCallId": format!("c{n}"), "content": format!("fn part_{n}() {{}}\n").repeat(4) }]);
        let round = json!({ "id": format!("r{n}"), "assistant": { "parts": call }, "results": results });
        rig.ask::<methods::RoundAppend>(json!({ "sessionId": session, "round": round })).unwrap();
    }
}

fn render(rig: &mut Rig, session: &str) -> Waiting {
    rig.begin::<methods::PromptRender>(json!({ "sessionId": session, "model": { "window": 16_000 } }))
}

fn inspect(rig: &mut Rig, session: &str) -> Waiting {
    rig.begin::<methods::ContextInspect>(json!({ "sessionId": session }))
}

/// The long session `s`, whose first compaction is held at the gate, and the render that waits for it.
fn compacting() -> (Rig, Waiting) {
    let mut rig = Rig::new();
    long(&mut rig, "s");
    rig.works.gate.close_for(0);
    let asked = render(&mut rig, "s");
    (rig, asked)
}

/// The answer of a render, of which each request for a summary fails.
fn rendered(rig: &mut Rig, mut rendered: Waiting) -> Value {
    loop {
        let next = rig.until(|frames| match rendered.try_recv() {
            Ok(answer) => Some(Ok(read(&answer.unwrap()))),
            Err(_) => {
                let at = frames.iter().position(|frame| frame["method"] == "model/complete")?;
                Some(Err(frames.remove(at)))
            }
        });
        match next {
            Ok(answer) => return answer,
            Err(asked) => rig.respond(&asked, json!({ "content": "" })),
        }
    }
}

#[test]
fn other_sessions_go_on_beside_a_first_compaction() {
    let mut rig = Rig::new();
    long(&mut rig, "long");
    rig.open("small").unwrap();
    rig.works.gate.close_for(0);
    let mut asked = render(&mut rig, "long");
    let mut inspected = inspect(&mut rig, "long");
    rig.turn("small", "Hello.");
    rig.event(Event::Watch);
    rig.event(Event::Watch);
    assert!(asked.try_recv().is_err() && inspected.try_recv().is_err());
    rig.works.gate.open();
    let prompt = rendered(&mut rig, asked);
    assert!(prompt["messages"].as_array().is_some_and(|messages| messages.len() < 1001), "{prompt}");
    rig.answered(inspected).unwrap();
    // Nothing waits behind it any more, and what it made is in force.
    let inspected = inspect(&mut rig, "long");
    let inspected = rig.answered(inspected).unwrap();
    assert_eq!(inspected["compactions"].as_array().map(Vec::len), Some(1), "{inspected}");
}

#[test]
fn end_waits_for_a_step_on_another_thread() {
    let mut rig = Rig::new();
    long(&mut rig, "s");
    rig.works.gate.close_for(0);
    let forked = rig.begin::<methods::SessionFork>(json!({ "sessionId": "s" }));
    let (done, mut saved) = oneshot::channel();
    rig.event(Event::Ending(done));
    rig.works.gate.open();
    let forked = rig.answered(forked).unwrap();
    rig.until(|_| saved.try_recv().ok());
    assert_eq!(rig.stored(forked["sessionId"].as_str().unwrap()).len(), 1001);
}

#[test]
fn panic_on_another_thread_ends_only_its_session() {
    let mut rig = Rig::new();
    long(&mut rig, "bad");
    rig.open("good").unwrap();
    rig.works.is_broken.store(true, Ordering::Relaxed);
    let rendered = render(&mut rig, "bad");
    let inspected = inspect(&mut rig, "bad");
    assert_eq!(kind(rig.answered(rendered)), "InternalError");
    assert_eq!(kind(rig.answered(inspected)), "InternalError");
    rig.works.is_broken.store(false, Ordering::Relaxed);
    rig.turn("good", "Hello.");
    let opened = json!({ "workspaceFolder": "", "sessionId": "bad", "driver": "editor" });
    let opened = rig.ask::<methods::SessionOpen>(opened).unwrap();
    assert_eq!(opened["snapshot"]["messages"].as_array().map(Vec::len), Some(1001));
}

#[test]
fn close_and_reopening_wait_for_the_step_before_them() {
    let (mut rig, rendered) = compacting();
    let closed = rig.begin::<methods::SessionClose>(json!({ "sessionId": "s" }));
    let opened = rig.begin::<methods::SessionOpen>(json!({ "workspaceFolder": "", "sessionId": "s" }));
    rig.works.gate.open();
    rig.answered(closed).unwrap();
    assert!(rig.answered(rendered).is_err(), "the compaction is stopped");
    let opened = rig.answered(opened).unwrap();
    assert_eq!(opened["snapshot"]["messages"].as_array().map(Vec::len), Some(1001));
}

#[test]
fn cancelled_request_behind_a_step_is_not_run() {
    let (mut rig, asked) = compacting();
    let pin = json!({ "sessionId": "s", "text": "Keep this." });
    let cancelled = rig.begin::<methods::ContextPin>(pin.clone());
    rig.event(Event::Abandoned(ReplyTo(rig.asked)));
    drop(cancelled);
    rig.works.gate.open();
    rendered(&mut rig, asked);
    let session = |rig: &Rig| rig.main.sessions.host(&SessionId::new("s")).unwrap().session().pins().len();
    assert_eq!(session(&rig), 0);
    rig.ask::<methods::ContextPin>(pin).unwrap();
    assert_eq!(session(&rig), 1);
}

#[test]
fn settings_that_change_beside_a_step_hold_after_it() {
    let (mut rig, asked) = compacting();
    let round_limit =
        |rig: &Rig| rig.main.sessions.host(&SessionId::new("s")).unwrap().session().settings().round_limit;
    let own = json!({ "sessionId": "s", "settings": { "roundLimit": 7 } });
    let configured = rig.begin::<methods::SessionConfigure>(own);
    rig.event(Event::Configured(json!({ "roundLimit": 3, "maxSummaryTokens": 600 })));
    rig.works.gate.open();
    rendered(&mut rig, asked);
    rig.answered(configured).unwrap();
    assert_eq!(round_limit(&rig), 7, "the session's own setting");
    let shown = rig.ask::<methods::SessionConfigure>(json!({ "sessionId": "s" })).unwrap();
    assert_eq!(shown["settings"]["maxSummaryTokens"], 600, "{shown}");
}

/// Bytes that are tokenized, rows that are written and messages that are loaded for an append with its prompt, a later
/// compaction, a branch, and an open with its first prompt.
fn costs(rig: &mut Rig, rounds: usize) -> [(usize, usize, usize); 4] {
    let session = format!("of-{rounds}");
    let opened = json!({ "workspaceFolder": "", "sessionId": session, "driver": "editor" });
    rig.ask::<methods::SessionOpen>(opened).unwrap();
    rig.start(&session, "Read all files.").unwrap();
    append(rig, &session, 0..rounds);
    let prompt = |rig: &mut Rig, how: &str| {
        let asked = json!({ "sessionId": session, "model": { "window": 16_000 }, "summarize": how });
        let asked = rig.begin::<methods::PromptRender>(asked);
        rendered(rig, asked)
    };
    let cost = |rig: &mut Rig| {
        let works = &rig.works;
        let [counted, rows, loaded] =
            [&works.counted, &works.rows, &works.loaded].map(|figure| figure.swap(0, Ordering::Relaxed));
        (counted, rows, loaded)
    };
    prompt(rig, "force");
    // Ids of as many digits in all sessions.
    let next = 10_000 + rounds;
    append(rig, &session, next..next + 1);
    prompt(rig, "auto");
    cost(rig);
    append(rig, &session, next + 1..next + 2);
    prompt(rig, "auto");
    let turn = cost(rig);
    append(rig, &session, next + 2..next + 22);
    cost(rig);
    prompt(rig, "force");
    let compaction = cost(rig);
    rig.ask::<methods::TurnEnd>(json!({ "sessionId": session })).unwrap();
    cost(rig);
    rig.ask::<methods::SessionFork>(json!({ "sessionId": session })).unwrap();
    let branch = cost(rig);
    rig.ask::<methods::SessionClose>(json!({ "sessionId": session })).unwrap();
    cost(rig);
    prompt(rig, "auto");
    [turn, compaction, branch, cost(rig)]
}

#[test]
fn work_does_not_grow_with_the_session() {
    let mut rig = Rig::new();
    let (few, many) = (costs(&mut rig, 300), costs(&mut rig, 3_000));
    for (few, many) in few.into_iter().zip(many) {
        // The summaries have other words, and figures of more digits.
        let is_alike = |few: usize, many: usize| many <= few + few / 10;
        let is_bounded = is_alike(few.0, many.0) && few.1 == many.1 && is_alike(few.2, many.2);
        assert!(is_bounded, "bytes tokenized, rows written, messages loaded: {few:?} became {many:?}");
    }
}
