//! Requests to a session that is being opened or closed, and the effects of a store's refusal.

use super::*;
use crate::server::host::SessionHost;
use crate::server::stores::Storage;
use engine::id::Time;

fn of(session: &str) -> Value {
    json!({ "sessionId": session })
}

fn opens(session: &str) -> Value {
    json!({ "workspaceFolder": "", "sessionId": session })
}

/// Requests that arrive at once run as if each had waited for the one before.
#[test]
fn requests_behind_a_close_run_after_it() {
    let mut rig = Rig::new();
    rig.open("s").unwrap();
    rig.start("s", "Hello.").unwrap();
    let closed = rig.begin::<methods::SessionClose>(of("s"));
    let again = rig.begin::<methods::SessionClose>(of("s"));
    let started = rig.begin::<methods::TurnStart>(json!({ "sessionId": "s", "content": "Go on." }));
    let opened = rig.begin::<methods::SessionOpen>(opens("s"));
    let last = rig.begin::<methods::SessionClose>(of("s"));
    let not_open = rig.begin::<methods::SessionConfigure>(of("s"));
    rig.answered(closed).unwrap();
    assert_eq!(kind(rig.answered(again)), "UnknownSession");
    rig.answered(started).unwrap();
    assert_eq!(rig.answered(opened).unwrap()["snapshot"]["state"], "generating");
    rig.answered(last).unwrap();
    assert_eq!(kind(rig.answered(not_open)), "UnknownSession");
    assert!(rig.main.sessions.is_empty() && rig.main.replies.is_empty());
    assert!(["Hello.", "Go on."].iter().all(|text| rig.stored("s").iter().any(|stored| stored == text)));
}

#[test]
fn requests_around_an_open_wait_for_it() {
    let mut rig = Rig::new();
    let subscribed = rig.begin::<methods::SessionSubscribe>(of("s"));
    let opened = rig.begin::<methods::SessionOpen>(opens("s"));
    let mut second = opens("s");
    second["settings"] = json!({ "roundLimit": 7 });
    let second = rig.begin::<methods::SessionOpen>(second);
    let configured = rig.begin::<methods::SessionConfigure>(
        json!({ "sessionId": "s", "settings": { "maxSummaryTokens": 900 } }),
    );
    let closed = rig.begin::<methods::SessionClose>(of("s"));
    rig.answered(subscribed).unwrap();
    assert_eq!(rig.answered(opened).unwrap()["snapshot"]["settings"]["roundLimit"], 7);
    rig.answered(second).unwrap();
    let settings = rig.answered(configured).unwrap()["settings"].clone();
    assert_eq!((&settings["roundLimit"], &settings["maxSummaryTokens"]), (&json!(7), &json!(900)));
    rig.answered(closed).unwrap();
    assert!(rig.main.sessions.is_empty());
}

/// The first answer leaves nothing to be stored; the other requests are still on their way to the session.
#[test]
fn end_waits_for_requests_to_an_opening_session() {
    let mut rig = Rig::new();
    rig.open("s").unwrap();
    rig.ask::<methods::SessionClose>(of("s")).unwrap();
    let asked = [(); 3].map(|()| rig.begin::<methods::SessionSubscribe>(of("s")));
    let (done, mut saved) = oneshot::channel();
    rig.event(Event::Ending(done));
    for asked in asked {
        rig.answered(asked).unwrap();
    }
    rig.until(|_| saved.try_recv().ok());
    assert!(rig.main.sessions.is_empty());
}

#[test]
fn cancelled_open_leaves_nothing() {
    let mut rig = Rig::new();
    drop(rig.begin::<methods::SessionOpen>(opens("s")));
    rig.event(Event::Abandoned(ReplyTo(rig.asked)));
    let session = SessionId::new("s");
    rig.until(|_| Some(()));
    // The next answer of the store comes after that of the open.
    rig.ask::<methods::SessionList>(json!({})).unwrap();
    assert!(rig.main.sessions.is_empty());
    rig.ask::<methods::SessionList>(json!({})).unwrap();
    assert!(
        SqliteStore::in_memory(&rig.world).unwrap().acquire(&session, Time(0)).is_ok(),
        "nobody holds it"
    );
}

/// The message is not stored, and no answer says that it was.
#[test]
fn close_reports_failed_writes() {
    let mut rig = Rig::new();
    rig.open("s").unwrap();
    *rig.works.fails.lock().unwrap() = vec![full(); 9];
    assert_eq!(kind(rig.start("s", "Hello.")), "StorageError");
    assert_eq!(kind(rig.ask::<methods::SessionClose>(of("s"))), "StorageError");
    assert!(rig.main.sessions.is_empty());
    rig.works.fails.lock().unwrap().clear();
    rig.open("s").unwrap();
    assert_eq!(rig.stored("s"), [""; 0]);
}

#[test]
fn refused_write_is_not_retried_forever() {
    let mut rig = Rig::new();
    rig.open("s").unwrap();
    rig.turn("s", "First.");
    let refused = StoreError::Refused { session: SessionId::new("s"), reason: "the test says so".into() };
    *rig.works.fails.lock().unwrap() = vec![refused];
    assert_eq!(kind(rig.start("s", "Second.")), "StorageError");
    assert!(rig.frame("window/logMessage")["params"]["message"].to_string().contains("the test says so"));
    rig.turn("s", "Third.");
    assert_eq!(rig.stored("s"), ["First.", "Done.", "Third.", "Done."]);
}

#[test]
fn deletion_is_reported_once_done() {
    let mut rig = Rig::new();
    rig.open("s").unwrap();
    rig.turn("s", "First.");
    rig.works.is_undeletable.store(true, Ordering::Relaxed);
    let deleted = rig.begin::<methods::SessionDelete>(of("s"));
    let started = rig.begin::<methods::TurnStart>(json!({ "sessionId": "s", "content": "Second." }));
    assert_eq!(kind(rig.answered(deleted)), "StorageError");
    rig.answered(started).unwrap();
    let asked = rig.frame("model/complete");
    rig.works.is_undeletable.store(false, Ordering::Relaxed);

    let deleted = rig.begin::<methods::SessionDelete>(of("s"));
    let subscribed = rig.begin::<methods::SessionSubscribe>(of("s"));
    assert_eq!(rig.answered(deleted).unwrap()["scrubbed"], true);
    assert_eq!(kind(rig.answered(subscribed)), "UnknownSession");
    rig.respond(&asked, json!({ "content": "Too late." }));
    assert!(SqliteStore::in_memory(&rig.world).unwrap().load(&SessionId::new("s")).unwrap().is_none());
    assert!(rig.main.sessions.is_empty() && rig.main.client.requests() == 0);
}

#[test]
fn obsolete_permission_request_is_cancelled() {
    let mut rig = Rig::new();
    rig.main.config.set_client(ClientCapabilities { request_permission: true, ..capabilities() });
    let tools = json!([{ "name": "rm", "description": "Removes.", "policy": "ask" }]);
    rig.ask::<methods::SessionOpen>(json!({ "workspaceFolder": "", "sessionId": "s", "tools": tools }))
        .unwrap();
    rig.start("s", "Remove it.").unwrap();
    let asked = rig.frame("model/complete");
    let call = json!([{ "type": "toolCall", "id": "c", "name": "rm", "arguments": "{}" }]);
    rig.respond(&asked, json!({ "content": call }));
    let asked = rig.frame("tool/requestPermission");
    rig.ask::<methods::TurnCancel>(of("s")).unwrap();
    assert_eq!(rig.frame("$/cancelRequest")["params"]["id"], asked["id"]);
    assert!(rig.main.client.requests() == 0);
}

#[test]
fn invalid_settings_are_reported_without_an_open_session() {
    let mut rig = Rig::new();
    let bad = json!({ "policy": "no such policy" });
    rig.event(Event::Configured(bad.clone()));
    rig.frame("window/logMessage");
    let options = serde_json::from_value(json!({ "protocolVersion": 1 })).unwrap();
    rig.event(Event::Hello(Box::new(Hello {
        options,
        storage: Storage::default(),
        settings: bad,
        folders: Vec::new(),
    })));
    rig.frame("window/logMessage");
    rig.open("s").unwrap();
}

/// The jobs run on threads of their own: the store's, or that of the files.
#[test]
fn a_close_behind_a_job_of_its_session_is_answered() {
    let mut rig = Rig::new();
    let find = json!({ "sessionId": "s", "query": "hello" });
    let write = json!({ "sessionId": "s", "format": "markdown" });
    type Begins = fn(&mut Rig, Value) -> Waiting;
    let jobs: [(Begins, Value, &str); 3] = [
        (Rig::begin::<methods::ContextSearch>, find, "hits"),
        (Rig::begin::<methods::SessionExport>, write, "data"),
        (Rig::begin::<methods::SessionTakeOver>, of("s"), "snapshot"),
    ];
    for (begins, params, holds) in jobs {
        rig.open("s").unwrap();
        rig.turn("s", "Hello.");
        let asked = begins(&mut rig, params);
        let closed = rig.begin::<methods::SessionClose>(of("s"));
        assert!(rig.answered(asked).unwrap().get(holds).is_some(), "{holds}");
        rig.answered(closed).unwrap();
        assert!(rig.main.sessions.is_empty() && rig.main.replies.is_empty(), "{holds}");
    }
    rig.open("s").unwrap();
    rig.ask::<methods::SessionDelete>(of("s")).unwrap();
}

/// A request without a handler.
fn nobodys(rig: &mut Rig, session: Option<&str>) -> (ReplyTo, Waiting) {
    let (reply, answer) = oneshot::channel();
    let to = ReplyTo(u64::MAX - 1);
    rig.main.replies.insert(to, reply);
    rig.main.replies.set_session(to, session.map(SessionId::new));
    (to, answer)
}

#[test]
fn a_job_that_is_dropped_answers_its_request() {
    let mut rig = Rig::new();
    let (to, answer) = nobodys(&mut rig, None);
    let pending = rig.main.replies.pending(to, &rig.main.hosts);
    rig.event(Event::Watch);
    rig.event(Event::Watch);
    assert_eq!(rig.main.replies.len(), 1, "a job is under way");
    drop(pending);
    assert_eq!(kind(rig.answered(answer)), "InternalError");
}

#[test]
fn stuck_request_is_answered_and_its_session_freed() {
    let mut rig = Rig::new();
    rig.open("s").unwrap();
    let (_, answer) = nobodys(&mut rig, Some("s"));
    let closed = rig.begin::<methods::SessionClose>(of("s"));
    // Behind all jobs of the store for the session.
    rig.ask::<methods::SessionList>(json!({})).unwrap();
    assert_eq!(rig.main.replies.len(), 2);
    rig.event(Event::Watch);
    assert_eq!(rig.main.replies.len(), 2, "one look is not enough");
    rig.event(Event::Watch);
    assert_eq!(kind(rig.answered(answer)), "InternalError");
    rig.answered(closed).unwrap();
    rig.open("s").unwrap();
}

/// The open session `s`.
fn host(rig: &mut Rig) -> &mut SessionHost {
    rig.main.sessions.host_mut(&SessionId::new("s")).unwrap()
}

#[test]
fn stuck_close_frees_its_session() {
    let mut rig = Rig::new();
    rig.open("s").unwrap();
    let (to, answer) = nobodys(&mut rig, Some("s"));
    // Queued behind an end that was never begun.
    host(&mut rig).push_after(Queued::Close(to));
    let opened = rig.begin::<methods::SessionOpen>(opens("s"));
    rig.answered(opened).unwrap();
    rig.event(Event::Watch);
    rig.event(Event::Watch);
    assert_eq!(kind(rig.answered(answer)), "UnknownSession");
    assert!(rig.main.sessions.is_empty() && rig.main.replies.is_empty());
    rig.open("s").unwrap();
}

#[test]
fn forgotten_close_is_answered_by_the_close_itself() {
    let mut rig = Rig::new();
    rig.open("s").unwrap();
    let (to, answer) = nobodys(&mut rig, Some("s"));
    // Begun, and no later event ends it.
    host(&mut rig).begin_close(to);
    rig.event(Event::Watch);
    assert_eq!(rig.main.replies.len(), 1, "one look is not enough");
    rig.event(Event::Watch);
    assert_eq!(rig.answered(answer), Ok(json!({})));
    assert!(rig.main.sessions.is_empty() && rig.main.replies.is_empty());
    rig.open("s").unwrap();
}
