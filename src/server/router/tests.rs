//! The router by itself, with a store, a counter and a client of the tests' own: what a panic and a failing
//! disk leave behind, and what a turn costs.

mod background;
mod disk;
mod keys;
mod large;
mod leaving;
mod long;

use super::*;
use crate::server::requests::Asks;
use crate::server::services::intake::{self, Asked, Params};
use disk::{Counter, Disk, Works};
use protocol::methods::{Method, read_params};
use protocol::server::ClientCapabilities;
use rpc::message::Answer;
use rpc::outgoing::{Item, Queue, outgoing};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::Store;
use store::error::StoreError;
use store::place::InMemory;
use store::sqlite::SqliteStore;
use store::worker::Handle;
use tokio::runtime::Runtime;
use tower_lsp::jsonrpc::Id;

/// Longest wait for an expected event.
const DEADLINE: Duration = Duration::from_secs(60);

fn capabilities() -> ClientCapabilities {
    ClientCapabilities { model_complete: true, tool_invoke: true, ..ClientCapabilities::default() }
}

/// The outcome of a request.
type Answered = Result<Value, ProtocolError>;

/// Receives the outcome as it is written.
type Waiting = oneshot::Receiver<Result<Json, ProtocolError>>;

/// A router with everything around it.
struct Rig {
    runtime: Runtime,
    main: Router,
    events: mpsc::UnboundedReceiver<Event>,
    queue: Queue,
    world: InMemory,
    works: Arc<Works>,
    asked: u64,
    frames: Vec<Value>,
}

impl Rig {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let works = Arc::new(Works::default());
        let (outgoing, queue) = outgoing();
        let (inbox, events) = mpsc::unbounded_channel();
        let mut main = Router::new(outgoing, inbox, Box::new(Counter(works.clone())));
        let world = InMemory::default();
        let (ground, shared) = (world.clone(), works.clone());
        let open = move || -> Result<Box<dyn Store>, StoreError> {
            Ok(Box::new(Disk(SqliteStore::in_memory(&ground)?, shared.clone())))
        };
        main.stores.put(Handle::start(Box::new(open)).unwrap());
        main.config.set_client(capabilities());
        Self { runtime, main, events, queue, world, works, asked: 0, frames: Vec::new() }
    }

    /// Handles an event, as the router's loop does.
    fn event(&mut self, event: Event) {
        let _inside = self.runtime.enter();
        self.main.guarded(event);
    }

    /// Sends a request without waiting.
    fn begin<M: Method + Asks>(&mut self, params: Value) -> Waiting {
        self.asked += 1;
        let (reply, answer) = oneshot::channel();
        let (to, session) = (ReplyTo(self.asked), params["sessionId"].as_str().map(str::to_owned));
        let params = if intake::is_large(&params) {
            Params::Large(Box::new(move || read_params::<M>(params).map(M::ask)))
        } else {
            Params::Read(Box::new(M::ask(read_params::<M>(params).unwrap())))
        };
        self.event(Event::Asked(Asked { to, session, params }, reply));
        answer
    }

    /// Sends a request and waits for the answer.
    fn ask<M: Method + Asks>(&mut self, params: Value) -> Answered {
        let answer = self.begin::<M>(params);
        self.answered(answer)
    }

    fn answered(&mut self, mut answer: Waiting) -> Answered {
        self.until(|_| answer.try_recv().ok()).map(|text| read(&text))
    }

    /// Runs the router until `take` finds something.
    fn until<T>(&mut self, mut take: impl FnMut(&mut Vec<Value>) -> Option<T>) -> T {
        loop {
            while let Some(item) = self.queue.try_next() {
                match item {
                    Item::Frame(body) => self.frames.push(serde_json::from_slice(&body).unwrap()),
                    Item::Answer(give) | Item::WhenDrained(give) => give(),
                }
            }
            if let Some(found) = take(&mut self.frames) {
                return found;
            }
            let waited = async { tokio::time::timeout(DEADLINE, self.events.recv()).await };
            match self.runtime.block_on(waited) {
                Ok(Some(event)) => self.event(event),
                _ => panic!("waited in vain; frames: {:#?}", self.frames),
            }
        }
    }

    /// Takes the next frame of this method.
    fn frame(&mut self, method: &str) -> Value {
        self.until(|frames| {
            let at = frames.iter().position(|frame| frame["method"] == method)?;
            Some(frames.remove(at))
        })
    }

    /// Takes the event that reports this state of a session.
    fn state(&mut self, session: &str, state: &str) -> Value {
        self.until(|frames| {
            let is_it = |frame: &Value| {
                let params = &frame["params"];
                params["type"] == "runtimeUpdated"
                    && params["sessionId"] == session
                    && params["state"] == state
            };
            let at = frames.iter().position(is_it)?;
            Some(frames.remove(at))
        })
    }

    /// Answers a request of the router.
    fn respond(&mut self, request: &Value, result: Value) {
        let id = Id::Number(request["id"].as_i64().unwrap());
        self.event(Event::Answered(Box::new(Answer { id, outcome: Ok(result) })));
    }

    fn open(&mut self, session: &str) -> Answered {
        let tools = json!([{ "name": "read", "description": "Reads a file." }]);
        let sections = json!([{ "name": "identity", "content": "You are careful." }]);
        self.ask::<methods::SessionOpen>(json!({
            "workspaceFolder": "", "sessionId": session, "tools": tools, "sections": sections,
        }))
    }

    fn start(&mut self, session: &str, content: &str) -> Answered {
        self.ask::<methods::TurnStart>(json!({ "sessionId": session, "content": content }))
    }

    /// Runs a turn whose model answers at once.
    fn turn(&mut self, session: &str, content: &str) {
        self.start(session, content).unwrap();
        let asked = self.frame("model/complete");
        self.respond(&asked, json!({ "content": "Done." }));
        self.state(session, "idle");
    }

    /// Texts of a session's stored messages.
    fn stored(&self, session: &str) -> Vec<String> {
        let stored =
            SqliteStore::in_memory(&self.world).unwrap().load(&SessionId::new(session)).unwrap().unwrap();
        let texts = |message: &engine::message::Message| {
            message.body.texts().into_iter().map(|text| &**text).collect::<String>()
        };
        stored.messages.iter().map(|(_, message)| texts(message)).collect()
    }
}

/// Reads a result.
fn read(text: &Json) -> Value {
    serde_json::from_str(text.get()).unwrap()
}

fn kind(answer: Answered) -> Value {
    answer.map_or_else(|error| error.data()["kind"].clone(), |value| panic!("no error: {value}"))
}

#[test]
fn panic_closes_one_session_which_can_be_reopened() {
    let mut rig = Rig::new();
    for session in ["good", "bad"] {
        rig.open(session).unwrap();
        rig.turn(session, "Hello.");
    }
    rig.start("good", "Go on.").unwrap();
    let waits = rig.frame("model/complete");

    assert_eq!(kind(rig.start("bad", "BOOM")), "InternalError");
    let told = rig.frame("window/logMessage");
    assert!(told["params"]["message"].as_str().unwrap().contains("session \"bad\""), "{told}");
    // The other session is unaffected.
    rig.respond(&waits, json!({ "content": "Here I am." }));
    rig.state("good", "idle");

    let opened = rig.open("bad").unwrap();
    assert_eq!(opened["snapshot"]["messages"].as_array().map(Vec::len), Some(2), "{opened}");
    rig.turn("bad", "Hello again.");
    assert_eq!(rig.stored("bad"), ["Hello.", "Done.", "Hello again.", "Done."]);
}

/// Panics in the middle of a turn, by a model's answer, and while a session is opened.
#[test]
fn a_panic_anywhere_in_a_session_ends_only_that_session() {
    let mut rig = Rig::new();
    rig.open("bad").unwrap();
    rig.start("bad", "Hello.").unwrap();
    let asked = rig.frame("model/complete");
    rig.respond(&asked, json!({ "content": "BOOM" }));
    rig.frame("window/logMessage");
    assert_eq!(rig.stored("bad"), ["Hello."]);

    rig.works.is_broken.store(true, Ordering::Relaxed);
    let opened = rig.begin::<methods::SessionOpen>(json!({ "workspaceFolder": "", "sessionId": "bad" }));
    let started = rig.begin::<methods::TurnStart>(json!({ "sessionId": "bad", "content": "Again." }));
    assert_eq!(kind(rig.answered(opened)), "InternalError");
    assert_eq!(kind(rig.answered(started)), "InternalError");
    rig.works.is_broken.store(false, Ordering::Relaxed);

    rig.open("bad").unwrap();
    rig.turn("bad", "Again.");
    assert_eq!(rig.stored("bad"), ["Hello.", "Again.", "Done."]);
    assert!(rig.main.replies.is_empty() && rig.main.client.requests() == 0);
}

fn full() -> StoreError {
    StoreError::Full { path: "store".into() }
}

/// Also if the retry fails: the request gets the store's error, the turn stops, and the next one stores all.
#[test]
fn full_disk_is_reported_stops_the_turn_and_loses_nothing() {
    for times in [1, 2] {
        let mut rig = Rig::new();
        rig.open("s").unwrap();
        rig.turn("s", "First.");
        *rig.works.fails.lock().unwrap() = vec![full(); times];
        let error = rig.start("s", "Second.").unwrap_err();
        assert_eq!(error.data()["kind"], "StorageError");
        assert_eq!(error.data()["cause"], "full");
        rig.state("s", "error");
        assert!(rig.frames.iter().all(|frame| frame["method"] != "model/complete"), "no model is asked");
        rig.turn("s", "Third.");
        let stored = rig.stored("s");
        assert_eq!(stored.first().map(String::as_str), Some("First."));
        assert!(stored.iter().any(|text| text == "Second."), "{stored:?}");
        assert_eq!(stored.get(stored.len() - 2..), Some(&["Third.".to_owned(), "Done.".to_owned()][..]));
    }
}

/// The disk is full in the middle of a turn.
#[test]
fn a_call_that_could_not_be_stored_is_not_run() {
    let mut rig = Rig::new();
    rig.open("s").unwrap();
    rig.start("s", "Read.").unwrap();
    let asked = rig.frame("model/complete");
    *rig.works.fails.lock().unwrap() = vec![full(), full()];
    rig.respond(
        &asked,
        json!({ "content": [{ "type": "toolCall", "id": "c", "name": "read", "arguments": "{}" }] }),
    );
    rig.state("s", "error");
    assert!(rig.frames.iter().all(|frame| frame["method"] != "tool/invoke"));
    rig.turn("s", "Again.");
    let stored = SqliteStore::in_memory(&rig.world).unwrap().load(&SessionId::new("s")).unwrap().unwrap();
    assert_eq!(stored.messages.len(), 5, "request, call, its result, request, answer: {stored:?}");
}

/// Holds for the end of the session and of the process.
#[test]
fn failed_writes_are_retried_at_the_end() {
    for closes in [true, false] {
        let mut rig = Rig::new();
        rig.open("s").unwrap();
        *rig.works.fails.lock().unwrap() = vec![full(), full()];
        assert_eq!(kind(rig.start("s", "Hello.")), "StorageError");
        rig.state("s", "error");
        if closes {
            rig.ask::<methods::SessionClose>(json!({ "sessionId": "s" })).unwrap();
        } else {
            let (done, mut saved) = oneshot::channel();
            rig.event(Event::Ending(done));
            rig.until(|_| saved.try_recv().ok());
        }
        assert_eq!(rig.stored("s"), ["Hello."]);
    }
}

/// Holds in whichever order sessions learn of the end.
#[test]
fn end_stores_what_every_session_showed() {
    let mut rig = Rig::new();
    let sessions = ["a", "b", "c", "d", "e", "f"];
    for (n, session) in sessions.into_iter().enumerate() {
        rig.open(session).unwrap();
        if n % 2 == 0 {
            rig.start(session, "Hello.").unwrap();
            let asked = rig.frame("model/complete");
            let delta = json!({ "requestId": asked["params"]["requestId"],
                                "ops": [{ "op": "appendContent", "text": "Shown." }] });
            rig.event(Event::Delta(serde_json::from_value(delta).unwrap()));
        }
    }
    let (done, mut saved) = oneshot::channel();
    rig.event(Event::Ending(done));
    rig.until(|_| saved.try_recv().ok());
    for session in sessions.into_iter().step_by(2) {
        assert_eq!(rig.stored(session), ["Hello.", "Shown."], "{session}");
    }
}

#[test]
fn session_taken_by_another_process_is_closed() {
    let mut rig = Rig::new();
    rig.open("s").unwrap();
    rig.turn("s", "First.");
    let lost = StoreError::FenceLost { session: SessionId::new("s"), holder: None };
    *rig.works.fails.lock().unwrap() = vec![lost];
    assert_eq!(kind(rig.start("s", "Second.")), "StaleReference");
    assert!(rig.main.sessions.is_empty());
    rig.open("s").unwrap();
    rig.turn("s", "Third.");
    assert_eq!(rig.stored("s"), ["First.", "Done.", "Third.", "Done."]);
}

/// Bytes tokenized and rows written are the same at turn 50 as at turn 5, and opening counts no messages
/// anew.
#[test]
fn cost_per_turn_grows_with_the_new_tokens() {
    let mut rig = Rig::new();
    rig.open("s").unwrap();
    let cost = |rig: &mut Rig| {
        let counted = rig.works.counted.swap(0, Ordering::Relaxed);
        (counted, rig.works.rows.swap(0, Ordering::Relaxed))
    };
    let opening = cost(&mut rig).0;
    let mut costs = Vec::new();
    for _ in 0..50 {
        rig.start("s", "Read the file and say what is in it.").unwrap();
        let asked = rig.frame("model/complete");
        let call = json!([{ "type": "toolCall", "id": "c", "name": "read", "arguments": "{}" }]);
        rig.respond(&asked, json!({ "content": call }));
        let invoked = rig.frame("tool/invoke");
        rig.respond(&invoked, json!({ "content": "All that is in the file. ".repeat(40) }));
        let asked = rig.frame("model/complete");
        rig.respond(&asked, json!({ "content": "It says that all is in the file." }));
        rig.state("s", "idle");
        costs.push(cost(&mut rig));
        rig.frames.clear();
    }
    let ((early, early_rows), (late, late_rows)) = (costs[4], costs[49]);
    assert!(early > 1000, "the result itself is counted: {early} bytes");
    // Ids grow by a digit, which may add a few tokens.
    assert!(late <= early + early / 10, "{early} bytes at turn 5, {late} at turn 50");
    assert_eq!(early_rows, late_rows);
    rig.ask::<methods::SessionClose>(json!({ "sessionId": "s" })).unwrap();
    cost(&mut rig);
    rig.open("s").unwrap();
    assert!(cost(&mut rig).0 <= opening, "counts are stored with the messages");
}
