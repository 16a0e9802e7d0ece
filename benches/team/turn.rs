//! A session and the commits of its turns, at the points at which a sidecar commits: the request, each call, each result,
//! the end.

use engine::id::{Ordinal, Time, TurnId};
use engine::message::{Body, ToolCall};
use session::stored::{TurnFigures, TurnRow, TurnStatus, Write};
use std::sync::Arc;
use store::testing::{head, key, message, piece, session, user};
use store::{Fence, Store};

/// Rounds of a turn: as many as requests of the recorded transcripts have on average.
pub const ROUNDS: u32 = 9;
/// Bytes of a request and of an answer, and of a result.
pub const SAID: usize = 300;
pub const RESULT: usize = 600;

/// A sidecar's store with a session that it writes.
pub struct Sidecar {
    pub store: Box<dyn Store>,
    pub name: String,
    fence: Fence,
    next: Ordinal,
    turn: u32,
}

impl Sidecar {
    /// A new session in a store.
    pub fn new(mut store: Box<dyn Store>, name: String) -> Self {
        let fence = store.acquire(&session(&name), Time(1)).expect("a lease");
        Self { store, name, fence, next: Ordinal(0), turn: 0 }
    }

    /// The commits of the next turn, with so many pieces of each answer in progress.
    pub fn turn(&mut self, pieces: u32) -> Vec<Vec<Write>> {
        let n = self.turn;
        self.turn += 1;
        let mut commits = Vec::new();
        let request = self.message(user(&self.text(SAID)));
        commits.push(vec![
            self.head(n),
            self.row(n, TurnStatus::Running),
            request,
            key(&format!("k{n}"), "t"),
        ]);
        for round in 0..ROUNDS {
            for _ in 0..pieces {
                commits.push(vec![piece(&self.text(SAID / 3))]);
            }
            let id = format!("c{n}-{round}");
            let call = ToolCall::new(&id, "read_file", &format!(r#"{{"path":"src/part{round}.rs"}}"#));
            let call = self.message(Body::assistant(&self.text(SAID), vec![call]));
            commits.push(if pieces > 0 { vec![Write::StreamEnded, call] } else { vec![call] });
            commits.push(vec![self.message(Body::result(&id, &self.text(RESULT)))]);
        }
        let answer = self.message(Body::assistant(&self.text(SAID), Vec::new()));
        commits.push(vec![self.head(n + 1), self.row(n, TurnStatus::Completed), answer]);
        commits
    }

    /// Commits.
    pub fn commit(&mut self, writes: &[Write]) {
        self.store.commit(&session(&self.name), self.fence, writes).expect("a commit");
    }

    /// Makes a session at least so long, in few commits.
    pub fn fill(&mut self, messages: u32) {
        while self.next.0 < messages {
            let mut writes = Vec::new();
            while self.next.0 < messages && writes.len() < 2_000 {
                writes.extend(self.turn(0).into_iter().flatten());
            }
            self.commit(&writes);
        }
    }

    fn head(&self, n: u32) -> Write {
        let mut head = head(&self.name);
        head.updated_at = Time(u64::from(n) + 100);
        Write::Head(Box::new(head))
    }

    fn row(&self, n: u32, status: TurnStatus) -> Write {
        let id = TurnId::new(format!("{}/t{n}", self.name));
        let (started, decided, figures) = (None, Vec::new(), TurnFigures::default());
        Write::Turn(TurnRow { index: n, id, status, started, decided, figures })
    }

    fn message(&mut self, body: Body) -> Write {
        let mut message = message(self.next.0, body);
        message.turn = TurnId::new(format!("{}/t{}", self.name, self.turn - 1));
        self.next = self.next.next();
        Write::Message { turn: self.turn - 1, message: Arc::new(message) }
    }

    fn text(&self, bytes: usize) -> String {
        text(&self.name, self.next.0, bytes)
    }
}

/// A text of words that differ from place to place.
pub fn text(session: &str, place: u32, bytes: usize) -> String {
    let mut seed = u64::from(place) << 20 | session.len() as u64;
    let mut text = format!("{session} at {place}:");
    while text.len() < bytes {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text += &format!(" word{}", (seed >> 40) % 4_000);
    }
    text
}
