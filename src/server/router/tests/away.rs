//! Steps that may take long: taken beside other sessions, in order.

use super::*;

/// A session that is long enough, with a prompt over a small model's window.
fn long(rig: &mut Rig, session: &str) {
    let opened = json!({ "workspaceFolder": "", "sessionId": session, "driver": "editor" });
    rig.ask::<methods::SessionOpen>(opened).unwrap();
    rig.start(session, "Read all files.").unwrap();
    for n in 0..500 {
        let call = json!([{ "type": "toolCall", "id": format!("c{n}"), "name": "read", "arguments": "{}" }]);
        let results =
            json!([{ "toolCallId": format!("c{n}"), "content": format!("fn part_{n}() {{}}\n").repeat(4) }]);
        let round = json!({ "id": format!("r{n}"), "assistant": { "parts": call }, "results": results });
        rig.ask::<methods::RoundAppend>(json!({ "sessionId": session, "round": round })).unwrap();
    }
}

fn render(rig: &mut Rig, session: &str) -> oneshot::Receiver<Answered> {
    rig.begin::<methods::PromptRender>(json!({ "sessionId": session, "model": { "window": 16_000 } }))
}

fn inspect(rig: &mut Rig, session: &str) -> oneshot::Receiver<Answered> {
    rig.begin::<methods::ContextInspect>(json!({ "sessionId": session }))
}

/// The answer of a render, of which each request for a summary fails.
fn rendered(rig: &mut Rig, mut rendered: oneshot::Receiver<Answered>) -> Value {
    loop {
        let next = rig.until(|frames| match rendered.try_recv() {
            Ok(answer) => Some(Ok(answer.unwrap())),
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
    let mut rig = Rig::new();
    long(&mut rig, "s");
    rig.works.gate.close_for(0);
    let rendered = render(&mut rig, "s");
    let closed = rig.begin::<methods::SessionClose>(json!({ "sessionId": "s" }));
    let opened = rig.begin::<methods::SessionOpen>(json!({ "workspaceFolder": "", "sessionId": "s" }));
    rig.works.gate.open();
    rig.answered(closed).unwrap();
    assert!(rig.answered(rendered).is_err(), "the compaction is stopped");
    let opened = rig.answered(opened).unwrap();
    assert_eq!(opened["snapshot"]["messages"].as_array().map(Vec::len), Some(1001));
}
