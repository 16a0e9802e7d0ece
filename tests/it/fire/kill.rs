//! Turns interrupted by SIGKILL at any moment: acknowledged messages survive, no round is incomplete without
//! being pending, and each prompt extends the one before.

use super::driver::{Chance, Process};
use crate::wire::script::{Folder, NARRATIVE, sections, tools};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The number of killed processes, unless THREADHOLD_KILLS is set.
const KILLS: u64 = 500;
/// Processes per session.
const LIVES: u64 = 20;
/// The most frames from a process before it is killed. Counts work and not time, so that slow machines behave
/// alike.
const MOST_FRAMES: u64 = 80;
/// The longest delay from the last of these frames to the kill, in microseconds.
const MOST_DELAY: u64 = 4_000;

/// Acknowledged state of a session, recorded outside of its processes.
#[derive(Default)]
struct Noted {
    /// Accepted requests: message id and text.
    requests: Vec<(Value, String)>,
    /// Messages from events, whole and in order.
    messages: Vec<Value>,
    /// The last prompt.
    sent: Vec<Value>,
    /// The number of compactions.
    compactions: usize,
    /// `true` if there was a compaction since the last prompt.
    is_compacted: bool,
    /// Executed calls, in order.
    ran: Vec<String>,
    /// Counter for unique texts and ids.
    used: u64,
}

/// Counts of a whole run.
#[derive(Debug, Default)]
struct Seen {
    requests: usize,
    messages: usize,
    prompts: usize,
    compactions: usize,
    with_open_calls: usize,
    before_any_answer: usize,
    /// Requests that failed because the store could not be reached.
    refused: usize,
    /// Messages that were shown while the store could not be reached, and lost with their process.
    unstored: usize,
}

/// Where sessions are, and what happens to it.
pub struct Conditions<'a> {
    /// The options of storage.
    pub storage: Value,
    /// Done before each process starts.
    pub before: &'a dyn Fn(),
    /// Done at the random moment, before the process is killed.
    pub at_the_moment: Option<Arc<dyn Fn() + Send + Sync>>,
    /// `true` if requests may fail because the store cannot be reached.
    pub is_flaky: bool,
}

/// A process with a session, and its client.
struct Client<'a> {
    session: &'a str,
    noted: &'a mut Noted,
    chance: &'a mut Chance,
    seen: &'a mut Seen,
    life: Process,
    conditions: &'a Conditions<'a>,
    opened: i64,
    /// The pending `turn/start`: its id and text.
    asked: Option<(i64, String)>,
    /// The turn of the last accepted request.
    turn: Option<Value>,
}

impl Client<'_> {
    /// Runs until the process is killed.
    fn goes_on(mut self) {
        let (dies_at, delay) = match self.chance.below(10) {
            0 => (0, self.chance.below(MOST_DELAY)),
            _ => (self.chance.below(MOST_FRAMES), self.chance.below(MOST_DELAY)),
        };
        let mut heard = 0;
        loop {
            if heard == dies_at {
                let at_the_moment = self.conditions.at_the_moment.clone();
                self.life.dies_behind(move || {
                    sleep(Duration::from_micros(delay));
                    at_the_moment.iter().for_each(|happens| happens());
                });
            }
            let Some(frame) = self.life.next() else { break };
            heard += 1;
            self.takes(&frame);
        }
        self.seen.before_any_answer += usize::from(heard == 0);
    }

    fn takes(&mut self, frame: &Value) {
        let params = &frame["params"];
        match frame["method"].as_str() {
            Some("model/complete") => self.answers(frame),
            Some("tool/invoke") => {
                let call = params["toolCallId"].as_str().expect("a call has an id").to_owned();
                assert!(!self.noted.ran.contains(&call), "{call} runs twice");
                self.life.respond(frame, json!({ "content": read_by(&call) }));
                self.noted.ran.push(call);
            }
            Some("session/event") if params["type"] == "messageAdded" => {
                self.noted.messages.push(params["message"].clone());
                self.seen.messages += 1;
            }
            Some("session/event")
                if params["type"] == "compactionUpdated" && params["phase"] == "accepted" =>
            {
                self.noted.compactions += 1;
                self.noted.is_compacted = true;
            }
            Some("session/event") if params["type"] == "runtimeUpdated" && params.get("status").is_some() => {
                // A turn that failed for want of the store may end behind the next request.
                let is_last = self.turn.as_ref().is_none_or(|turn| *turn == params["turnId"]);
                if is_last && self.asked.is_none() {
                    self.asks();
                }
            }
            Some(_) => {}
            None if frame.get("error").is_some() => self.is_refused(frame),
            None if frame["id"] == self.opened => self.opens(&frame["result"]["snapshot"]),
            None => {
                if let Some((_, words)) = self.asked.take_if(|(id, _)| frame["id"] == *id) {
                    self.noted.requests.push((frame["result"]["messageId"].clone(), words));
                    self.turn = Some(frame["result"]["turnId"].clone());
                    self.seen.requests += 1;
                }
            }
        }
    }

    /// Tries again where the store could not be reached.
    fn is_refused(&mut self, frame: &Value) {
        let is_storage = frame["error"]["data"]["kind"] == "StorageError";
        assert!(self.conditions.is_flaky && is_storage, "refused: {frame}");
        self.seen.refused += 1;
        if frame["id"] == self.opened {
            self.opened = open(&mut self.life, self.session);
        } else if self.asked.take_if(|(id, _)| frame["id"] == *id).is_some() {
            self.asks();
        }
    }

    /// Handles a reopened session: all that was acknowledged must be there.
    fn opens(&mut self, snapshot: &Value) {
        let lost = is_all_there(self.noted, snapshot, self.conditions.is_flaky);
        self.seen.unstored += lost;
        // The last prompt had them.
        self.noted.is_compacted |= lost > 0;
        // Messages that were stored before the kill but not sent are known from here on.
        self.noted.messages = list(&snapshot["messages"]).to_vec();
        let compactions = list(&snapshot["compactions"]).len();
        assert!(compactions >= self.noted.compactions, "an announced compaction is missing");
        self.noted.is_compacted |= compactions > self.noted.compactions;
        self.noted.compactions = compactions;
        let pending: Vec<Value> =
            list(&snapshot["pendingCalls"]).iter().map(|call| call["toolCallId"].clone()).collect();
        for call in &pending {
            let id = call.as_str().expect("a call has an id");
            if !self.noted.ran.iter().any(|ran| ran == id) {
                self.noted.ran.push(id.to_owned());
            }
            let params = json!({ "sessionId": self.session, "toolCallId": call, "content": read_by(id) });
            self.life.request("tool/result", params);
        }
        self.seen.with_open_calls += usize::from(!pending.is_empty());
        if pending.is_empty() && self.asked.is_none() {
            self.asks();
        }
    }

    fn asks(&mut self) {
        self.noted.used += 1;
        let words = format!("Request {} of {}: what does it do?", self.noted.used, self.session);
        let params = json!({ "sessionId": self.session, "content": words });
        self.asked = Some((self.life.request("turn/start", params), words));
    }

    /// Answers a model request. Its prompt must extend the last one, unless there was a compaction, and have
    /// every accepted request once.
    fn answers(&mut self, asked: &Value) {
        if asked["params"]["purpose"] == "summary" {
            return self.life.says(asked, &format!("<summary>\n{NARRATIVE}\n</summary>"), &json!([]));
        }
        let mut messages = list(&asked["params"]["messages"]).to_vec();
        // The cache breakpoint moves with the prompt.
        messages
            .iter_mut()
            .filter_map(Value::as_object_mut)
            .for_each(|message| drop(message.remove("cacheBreakpoint")));
        let before = &self.noted.sent;
        let is_compacted = std::mem::take(&mut self.noted.is_compacted);
        if !is_compacted {
            let same = messages.iter().zip(before).take_while(|(now, before)| now == before).count();
            assert_eq!(
                same,
                before.len(),
                "the beginning changed without a compaction: {:?}",
                messages.get(same)
            );
        }
        self.seen.compactions += usize::from(is_compacted);
        let text = Value::Array(messages.clone()).to_string();
        for (_, words) in &self.noted.requests {
            assert_eq!(text.matches(words.as_str()).count(), 1, "{words}");
        }
        self.seen.prompts += 1;
        self.noted.sent = messages;
        let calls: Vec<Value> = (0..self.chance.below(4).saturating_sub(1))
            .map(|_| {
                self.noted.used += 1;
                let id = format!("call{}", self.noted.used);
                json!({ "id": id, "name": "read", "arguments": { "path": format!("src/{id}.rs") } })
            })
            .collect();
        self.noted.used += 1;
        let said =
            format!("Answer {}: {}", self.noted.used, "and so on ".repeat(self.chance.below(300) as usize));
        self.life.says(asked, &said, &json!(calls));
    }
}

/// Requests the session.
fn open(life: &mut Process, session: &str) -> i64 {
    let params = json!({
        "workspaceFolder": "/code/parser", "sessionId": session, "tools": tools(), "sections": sections(),
    });
    life.request("session/open", params)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The result of a call. Every third one is large enough to be stored as a blob.
fn read_by(call: &str) -> String {
    let lines = if call.ends_with(['3', '6', '9']) { 600 } else { 3 };
    format!("{call} holds a line of the file that was read.\n").repeat(lines)
}

/// Checks that a snapshot has everything acknowledged, in order, and that calls without results are pending. Returns the
/// number of last messages that are missing: while the store cannot be reached, events show messages that wait for it.
fn is_all_there(noted: &Noted, snapshot: &Value, is_flaky: bool) -> usize {
    let messages = list(&snapshot["messages"]);
    let known: BTreeSet<String> = messages.iter().map(|message| message["id"].to_string()).collect();
    assert_eq!(known.len(), messages.len(), "no message is there twice");
    let same = messages.iter().zip(&noted.messages).take_while(|(is, was)| is == was).count();
    let is_cut = is_flaky && same == messages.len();
    assert!(
        same == noted.messages.len() || is_cut,
        "{:?} was sent, and is {:?}",
        noted.messages.get(same),
        messages.get(same)
    );
    for (id, words) in &noted.requests {
        let found = messages.iter().find(|message| message["id"] == *id);
        let found = found.unwrap_or_else(|| panic!("{id} was accepted and is gone: {words}"));
        assert_eq!(found["parts"], json!([{ "type": "text", "text": words }]));
    }
    let calls = |message: &Value| -> Vec<String> {
        let calls = list(&message["parts"]).iter().filter(|part| part["type"] == "toolCall");
        calls.map(|call| call["id"].to_string()).collect()
    };
    let results: BTreeSet<String> = messages
        .iter()
        .flat_map(|message| list(&message["parts"]))
        .filter(|part| part["type"] == "toolResult")
        .map(|part| part["toolCallId"].to_string())
        .collect();
    let all: BTreeSet<String> = messages.iter().flat_map(calls).collect();
    let open: BTreeSet<&String> = all.difference(&results).collect();
    let pending: BTreeSet<String> =
        list(&snapshot["pendingCalls"]).iter().map(|call| call["toolCallId"].to_string()).collect();
    assert_eq!(open, pending.iter().collect(), "a call without a result is not pending");
    assert_eq!(results.len() + open.len(), all.len(), "a result without its call");
    noted.messages.len() - same
}

/// The number of processes to kill, unless THREADHOLD_KILLS says another.
pub fn kills(usual: u64) -> u64 {
    let given = std::env::var("THREADHOLD_KILLS").ok();
    given.map_or(usual, |given| given.parse().expect("THREADHOLD_KILLS is a number"))
}

/// Processes with turns, tools and large results are killed at any moment from their start: while opening the
/// store, within a commit, an answer or a call.
#[test]
fn acknowledged_messages_survive_a_kill_at_any_moment() {
    let folder = Folder::new("fire-kill");
    let storage = json!({ "path": folder.path() });
    survive(&Conditions { storage, before: &|| (), at_the_moment: None, is_flaky: false }, kills(KILLS));
}

/// Runs so many processes, each of which is killed at a random moment, and checks what they left. Returns what was seen.
pub fn survive(conditions: &Conditions<'_>, kills: u64) -> String {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_nanos() as u64);
    println!("seed {seed}");
    let (mut chance, mut seen) = (Chance(seed), Seen::default());
    let settings = json!({ "model": { "name": "m", "window": 32_000 }, "titles": "request" });
    let (mut noted, mut session) = (Noted::default(), String::new());
    for n in 0..kills {
        if n % LIVES == 0 {
            (noted, session) = (Noted::default(), format!("s{n}"));
        }
        (conditions.before)();
        let mut life = Process::new();
        life.greet(&conditions.storage, &settings);
        let opened = open(&mut life, &session);
        let (noted, chance, seen) = (&mut noted, &mut chance, &mut seen);
        Client { session: &session, noted, chance, seen, life, conditions, opened, asked: None, turn: None }
            .goes_on();
    }
    println!("{kills} processes were killed: {seen:?}");
    // A few processes may miss the rarer moments.
    let is_many = kills >= 100;
    assert!(seen.prompts > 0, "{seen:?}");
    assert!(!is_many || seen.with_open_calls > 0 && seen.before_any_answer > 0, "{seen:?}");
    format!("{seen:?}")
}
