//! Two windows on one folder: each writes its own session, and both compete for a third one. Its holder is
//! recorded outside of the processes. No acknowledged message is lost, one window holds it at a time, and the
//! loser is notified.

use super::driver::{Chance, Process};
use crate::wire::script::{Folder, NARRATIVE};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Turns of each window in its own session.
pub const TURNS: u64 = 1_000;
/// Turns between competitions for the third session.
const BETWEEN_FIGHTS: u64 = 20;
/// The contested session.
const WANTED: &str = "wanted";
/// The longest wait for the other window.
const DEADLINE: Duration = Duration::from_secs(60);

/// State shared by both windows.
#[derive(Default)]
struct Workspace {
    /// Opening takes this shared, taking over exclusively, so that the order of holders is known.
    gaining: RwLock<()>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The holding window, and the number of this holding.
    holder: Option<(usize, u64)>,
    holdings: u64,
    /// Losses of each window.
    lost: [u64; 2],
    /// Requests accepted in the contested session: message id and text.
    accepted: Vec<(String, String)>,
}

impl Workspace {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holder(&self) -> Option<(usize, u64)> {
        self.known().holder
    }
}

/// Notifications to a window.
#[derive(Default)]
struct Notifications {
    /// Turns that ended.
    ended: BTreeSet<String>,
    /// Message parts by session and message id.
    messages: BTreeMap<(String, String), Value>,
    /// The number of `sessionTakenOver` events.
    taken_over: u64,
    answers: u64,
}

impl Notifications {
    fn takes(&mut self, life: &mut Process, frame: &Value) {
        let params = &frame["params"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match (frame["method"].as_str(), params["type"].as_str()) {
            (Some("model/complete"), _) if params["purpose"] == "summary" => {
                life.says(frame, &format!("<summary>\n{NARRATIVE}\n</summary>"), &json!([]));
            }
            (Some("model/complete"), _) => {
                self.answers += 1;
                life.says(frame, &format!("Answer {}, and so on.", self.answers), &json!([]));
            }
            (_, Some("messageAdded")) => {
                let message = &params["message"];
                let key = (text(&params["sessionId"]), text(&message["id"]));
                self.messages.insert(key, message["parts"].clone());
            }
            (_, Some("runtimeUpdated")) if params.get("status").is_some() => {
                self.ended.insert(text(&params["turnId"]));
            }
            (_, Some("sessionTakenOver")) => {
                assert_eq!(params["sessionId"], WANTED);
                self.taken_over += 1;
            }
            _ => {}
        }
    }
}

/// Counts of a window's actions.
#[derive(Debug, Default)]
struct Done {
    turns: u64,
    turns_in_wanted: u64,
    refused_to_open: u64,
    refused_turns: u64,
    took_over: u64,
    told: u64,
}

/// A window and its process.
struct Window<'a> {
    who: usize,
    own: String,
    life: Process,
    told: Notifications,
    ground: &'a Workspace,
    chance: Chance,
    done: Done,
    /// Requests accepted in its own session: message id and text.
    accepted: Vec<(String, String)>,
}

impl Window<'_> {
    fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let told = &mut self.told;
        let answered = self.life.call(method, params, |life, frame| told.takes(life, frame));
        answered.expect("the process lives")
    }

    fn until(&mut self, mut is_so: impl FnMut(&Notifications) -> bool) {
        while !is_so(&self.told) {
            let frame = self.life.next().expect("the process lives");
            self.told.takes(&mut self.life, &frame);
        }
    }

    /// Runs a turn up to its end or the loss of its session; returns the message's id if it was accepted.
    fn turn(&mut self, session: &str, words: &str) -> Result<String, Value> {
        let taken_over = self.told.taken_over;
        let started = self.call("turn/start", json!({ "sessionId": session, "content": words }))?;
        let turn = started["turnId"].as_str().expect("a turn has an id").to_owned();
        self.until(|told| told.ended.contains(&turn) || told.taken_over > taken_over);
        Ok(started["messageId"].as_str().expect("a message has an id").to_owned())
    }

    /// Runs a turn in its own session, which is not contested.
    fn works(&mut self) {
        let words = format!("Request {} of {}.", self.done.turns, self.own);
        let own = self.own.clone();
        let message = self.turn(&own, &words).expect("nobody else holds it");
        self.accepted.push((message, words));
        self.done.turns += 1;
    }

    fn holds(&self) -> Option<u64> {
        self.ground.holder().filter(|(who, _)| *who == self.who).map(|(_, holding)| holding)
    }

    /// Tries to become the holder: by opening, otherwise sometimes by taking over. Returns `true` on success.
    fn gains(&mut self) -> bool {
        let params = json!({ "workspaceFolder": "/code/parser", "sessionId": WANTED });
        {
            let before = self.ground.known().accepted.len();
            let _one_of_many = self.ground.gaining.read().unwrap_or_else(PoisonError::into_inner);
            match self.call("session/open", params.clone()) {
                Ok(opened) => {
                    let holder = self.ground.holder();
                    assert_eq!(holder, None, "window {} opened what another one holds", self.who);
                    self.has(&opened, before);
                    return true;
                }
                Err(error) => assert_eq!(error["data"]["kind"], "SessionHeldElsewhere", "{error}"),
            }
            self.done.refused_to_open += 1;
        }
        if self.chance.below(2) == 0 {
            return false;
        }
        let _alone = self.ground.gaining.write().unwrap_or_else(PoisonError::into_inner);
        let before = self.ground.known().accepted.len();
        let opened = self.call("session/takeOver", params).expect("it can be taken over");
        let other = self.ground.holder().map(|(who, _)| who);
        if let Some(other) = other {
            assert_ne!(other, self.who, "a window cannot be refused what it holds");
            self.ground.known().lost[other] += 1;
            self.done.took_over += 1;
        }
        self.has(&opened, before);
        true
    }

    /// Records that this window holds the session, which must have everything acknowledged before.
    fn has(&self, opened: &Value, before: usize) {
        let mut known = self.ground.known();
        assert_eq!(opened["snapshot"].get("heldBy"), None);
        are_there(&known.accepted[..before], &opened["snapshot"]);
        known.holdings += 1;
        known.holder = Some((self.who, known.holdings));
    }

    /// Runs a turn in the contested session. Returns `true` if it was accepted.
    fn works_in_wanted(&mut self) -> bool {
        let words = format!("Request {} of window {}.", self.done.turns_in_wanted, self.who);
        self.done.turns_in_wanted += 1;
        let before = self.ground.holder();
        let accepted = self.turn(WANTED, &words);
        // Waits until a take-over in progress is recorded.
        drop(self.ground.gaining.read());
        let after = self.ground.holder();
        match accepted {
            Ok(message) => {
                let other = before.filter(|(who, _)| *who != self.who);
                assert!(other.is_none() || after != before, "two hold it: {before:?} and {}", self.who);
                self.ground.known().accepted.push((message, words));
                true
            }
            Err(error) => {
                let kind = &error["data"]["kind"];
                assert!(kind == "SessionHeldElsewhere" || kind == "StaleReference", "{error}");
                assert!(before.is_none_or(|(who, _)| who != self.who) || after != before, "{error}");
                self.done.refused_turns += 1;
                false
            }
        }
    }

    /// Closes the session if it is still held; otherwise waits for the notice of the loss.
    fn lets_go(&mut self) {
        self.hears_of_losses(true);
        let closed = self.call("session/close", json!({ "sessionId": WANTED }));
        if let Err(error) = closed {
            let kind = error["data"]["kind"].as_str().unwrap_or_default();
            // It never held the session, or lost it while closing.
            assert!(["UnknownSession", "SessionHeldElsewhere", "StaleReference"].contains(&kind), "{error}");
        }
    }

    /// Waits for the notices of all losses. With `ends`, the window gives up the session.
    fn hears_of_losses(&mut self, ends: bool) {
        let lost = {
            let mut known = self.ground.known();
            if ends && known.holder.is_some_and(|(who, _)| who == self.who) {
                known.holder = None;
            }
            known.lost[self.who]
        };
        self.until(|told| told.taken_over >= lost);
    }

    fn fights(&mut self) {
        self.hears_of_losses(false);
        if self.holds().is_none() && !self.gains() {
            return;
        }
        for _ in 0..=self.chance.below(3) {
            if !self.works_in_wanted() {
                break;
            }
        }
        // Sometimes it keeps the session idle.
        if self.holds().is_none() || self.chance.below(4) > 0 {
            self.lets_go();
        }
    }

    fn lives(mut self, storage: &Value, turns: u64, at_the_fight: &Sender<()>, other: &Receiver<()>) -> Self {
        let settings = json!({ "model": { "name": "m", "window": 16_000 }, "titles": "request" });
        self.life.greet(storage, &settings);
        let params = json!({ "workspaceFolder": "/code/parser", "sessionId": self.own });
        self.call("session/open", params).expect("it opens");
        for n in 0..turns {
            if n % BETWEEN_FIGHTS == 0 {
                at_the_fight.send(()).expect("the other window is there");
                other.recv_timeout(DEADLINE).expect("the other window comes");
                self.fights();
            }
            self.works();
        }
        at_the_fight.send(()).expect("the other window is there");
        other.recv_timeout(DEADLINE).expect("the other window comes");
        self.lets_go();
        self.done.told = self.told.taken_over;
        self
    }
}

/// Checks that accepted messages are there, each once.
fn are_there(accepted: &[(String, String)], snapshot: &Value) {
    let messages = snapshot["messages"].as_array().expect("messages");
    let ids: BTreeMap<&str, &Value> =
        messages.iter().map(|m| (m["id"].as_str().unwrap_or_default(), &m["parts"])).collect();
    assert_eq!(ids.len(), messages.len(), "no message is there twice");
    let text = snapshot["messages"].to_string();
    for (id, words) in accepted {
        let found = ids.get(id.as_str());
        assert!(found.is_some_and(|parts| parts.to_string().contains(words)), "{id} is gone: {words}");
        assert_eq!(text.matches(words.as_str()).count(), 1, "{words}");
    }
}

#[test]
fn two_windows_competing_for_a_session_lose_nothing() {
    let folder = Folder::new("fire-windows");
    let storage = json!({ "path": folder.path() });
    compete([&storage, &storage], TURNS);
}

/// Two windows with these storages of the same sessions, each with so many turns in its own session.
pub fn compete(storages: [&Value; 2], turns: u64) {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_nanos() as u64);
    println!("seed {seed}");
    let ground = Workspace::default();
    let window = |who: usize| Window {
        who,
        own: format!("own{who}"),
        life: Process::new(),
        told: Notifications::default(),
        ground: &ground,
        chance: Chance(seed.wrapping_add(who as u64)),
        done: Done::default(),
        accepted: Vec::new(),
    };
    let ((to_second, of_first), (to_first, of_second)) = (channel(), channel());
    let (first, second) = (window(0), window(1));
    let windows: Vec<Window<'_>> = std::thread::scope(|scope| {
        let lives = [
            scope.spawn(move || first.lives(storages[0], turns, &to_second, &of_second)),
            scope.spawn(move || second.lives(storages[1], turns, &to_first, &of_first)),
        ];
        lives.map(|life| life.join().expect("a window fares well")).into()
    });
    windows.iter().for_each(|window| println!("{:?}", window.done));

    let mut reader = Process::new();
    reader.greet(storages[0], &json!({ "model": { "name": "m", "window": 16_000 } }));
    let mut shown = |session: &str| {
        let params = json!({ "workspaceFolder": "/code/parser", "sessionId": session, "follow": true });
        let opened = reader.call("session/open", params, |_, _| {}).expect("the process lives");
        opened.expect("it opens")["snapshot"].take()
    };
    let wanted = shown(WANTED);
    are_there(&ground.known().accepted, &wanted);
    let mut snapshots = BTreeMap::from([(WANTED.to_owned(), wanted)]);
    for window in &windows {
        let own = shown(&window.own);
        are_there(&window.accepted, &own);
        assert_eq!(window.done.turns, turns);
        assert_eq!(own["turns"].as_array().map(Vec::len), Some(turns as usize));
        snapshots.insert(window.own.clone(), own);
    }
    for window in &windows {
        assert!(window.done.told >= ground.known().lost[window.who]);
        // Messages are stored as they were sent.
        for ((session, id), parts) in &window.told.messages {
            let messages = snapshots[session]["messages"].as_array().expect("messages");
            let found = messages.iter().find(|message| message["id"] == id.as_str());
            assert_eq!(found.map(|message| &message["parts"]), Some(parts), "{id} of {session}");
        }
    }
    let sum = |of: fn(&Done) -> u64| windows.iter().map(|window| of(&window.done)).sum::<u64>();
    let seen = [sum(|done| done.refused_to_open), sum(|done| done.took_over), sum(|done| done.told)];
    // A few turns may miss the rarer moments.
    assert!(turns < TURNS || seen.iter().all(|count| *count > 0), "{seen:?}");
}
