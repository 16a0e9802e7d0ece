//! Costs of a compaction, and of the decision that one is due, in sessions of 50 and of 5,000 rounds: in this
//! process, without model, disk or wire. Medians, each with its goal. Nothing is asserted: times depend on
//! the machine, and `crates/engine/src/compact/tests/bounded.rs` checks the counts. `cargo bench --bench
//! compaction`

#![allow(clippy::expect_used, clippy::panic, reason = "a measure gives up where its ground is missing")]

use engine::compact::compose::Inputs;
use engine::compact::ladder::{self, Step};
use engine::compact::plan::Aim;
use engine::compact::policy::DEFAULT;
use engine::compact::record::Compaction;
use engine::compact::trigger::{self, Next};
use engine::id::SessionId;
use engine::message::{Body, NewMessage, ToolCall};
use engine::prompt::order::{Order, SystemText};
use engine::prompt::system::Fixed;
use engine::prompt::{self, Source};
use engine::settings::{Budget, BudgetSettings};
use engine::tokens::TokenCount;
use engine::transcript::Transcript;
use std::cell::Cell;
use std::io::Write;
use std::time::{Duration, Instant};
use threadhold::tokenizer::O200k;

/// Measurements of each value, each in a new session: a message caches what is derived from it.
const TIMES: usize = 7;
/// Decisions measured in each session.
const DECISIONS: usize = 51;
/// Rounds of the long session.
const LONG: usize = 5000;
/// Rounds of the short session.
const SHORT: usize = 50;
/// The model's window in tokens: small enough for the short session to be over its limit.
const WINDOW: u32 = 16_000;

/// Counts the bytes that are tokenized.
#[derive(Default)]
struct Metered(Cell<usize>);

impl TokenCount for Metered {
    fn name(&self) -> &str {
        O200k.name()
    }

    fn count(&self, text: &str) -> u32 {
        self.0.set(self.0.get() + text.len());
        O200k.count(text)
    }
}

/// A session over its limit.
struct Session {
    transcript: Transcript,
    fixed: Fixed,
    budget: Budget,
    counter: Metered,
}

impl Session {
    /// Builds a session of at least so many rounds; compacted on the way whenever that is due, or never.
    fn new(rounds: usize, compacts: bool) -> Self {
        let counter = Metered::default();
        let system = SystemText::whole("You are an agent in an editor.");
        let fixed = Fixed::new(&system, &Order::DEFAULT, &[], Vec::new(), &counter);
        let budget = BudgetSettings::default().budget(WINDOW).expect("a window");
        let mut session = Self { transcript: Transcript::new(SessionId::new("s")), fixed, budget, counter };
        let mut n = 0;
        loop {
            session.round(n);
            n += 1;
            // Not rendered before it matters: a prompt of thousands of rounds takes long.
            let is_over = (compacts || n >= rounds) && prompt::render(session.source()).is_err();
            if n >= rounds && is_over {
                return session;
            }
            if compacts && is_over {
                let record = session.compaction();
                session.transcript.record(record);
            }
        }
    }

    /// Appends a call and a result of 600 bytes; before each twenty-fifth, a request.
    fn round(&mut self, n: usize) {
        if n.is_multiple_of(25) {
            self.transcript.append_turn(NewMessage::user(&format!("Request {n}.")), &O200k);
        }
        let path = format!("src/part{}.rs", n % 97);
        let arguments = serde_json::json!({ "path": path }).to_string();
        let call = ToolCall::new(&format!("c{n}"), "read", &arguments);
        let said = Body::assistant(&format!("Step {n}: let me look at {path}."), vec![call]);
        let result = Body::result(&format!("c{n}"), &format!("fn step_{n}() {{}}\n").repeat(30));
        for body in [said, result] {
            self.transcript.append(NewMessage::new(body), &O200k);
        }
    }

    fn source(&self) -> Source<'_> {
        Source { transcript: &self.transcript, fixed: &self.fixed, budget: self.budget }
    }

    /// Decides that a compaction is due. Returns the tokens of the prompt.
    fn decides(&self) -> u32 {
        match trigger::next(self.source(), &DEFAULT, false) {
            Next::Must(_, exceeded) => exceeded.needed,
            other => panic!("the session is over its limit: {other:?}"),
        }
    }

    fn compaction(&self) -> Compaction {
        let inputs = Inputs {
            source: self.source(),
            policy: &DEFAULT,
            counter: &self.counter,
            tokens_before: self.decides(),
            focus: None,
            aim: Aim::Room,
        };
        match ladder::start(inputs, false) {
            Step::Accepted(record) => *record,
            other => panic!("no model is needed: {other:?}"),
        }
    }
}

struct Costs {
    decision: Duration,
    compaction: Duration,
    counted: usize,
}

impl Costs {
    fn of(rounds: usize, compacts: bool) -> Self {
        let (mut decisions, mut compactions) = (Vec::new(), Vec::new());
        let mut counted = 0;
        for _ in 0..TIMES {
            let session = Session::new(rounds, compacts);
            for _ in 0..DECISIONS {
                decisions.push(timed(|| assert!(session.decides() > session.budget.limit)));
            }
            session.counter.0.set(0);
            compactions.push(timed(|| drop(session.compaction())));
            counted = session.counter.0.get();
        }
        Self { decision: median(decisions), compaction: median(compactions), counted }
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn row(what: &str, long: f64, short: f64, unit: &str, goal: &str) {
    let ratio = long / short.max(f64::MIN_POSITIVE);
    say(&format!("| {what} | {long:.2} {unit} | {short:.2} {unit} | {ratio:.2} × | {goal} |"));
}

fn main() {
    say(&format!("| what | {LONG} rounds | {SHORT} rounds | ratio | goal |"));
    say("|---|---|---|---|---|");
    for (compacts, which) in [(true, "compacted on the way"), (false, "nothing compacted yet")] {
        let (long, short) = (Costs::of(LONG, compacts), Costs::of(SHORT, compacts));
        let pair = |what: &str, of: fn(&Costs) -> f64, unit: &str, goal: &str| {
            row(&format!("{what}, {which}"), of(&long), of(&short), unit, goal);
        };
        pair("over-budget decision", |costs| costs.decision.as_secs_f64() * 1e6, "µs", "≤ 50 µs");
        pair("a compaction without a model", |costs| costs.compaction.as_secs_f64() * 1e3, "ms", "");
        pair("bytes tokenised by it", |costs| costs.counted as f64 / 1024.0, "KiB", "");
    }
}
