//! A conversation assembled from fragments: text in deltas or whole, calls that begin and end. Independent of
//! the record formats.

use crate::Import;
use crate::shared::noise;
use engine::message::{AssistantPart, Beside, Body, Content, ToolCall, ToolResult, Usage};
use std::collections::BTreeMap;

/// The number of an answer's last parts that can still change; limits the search in files with millions of parts.
const NEAR: usize = 32;

/// The kind of a model's text. Each has deltas of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    Words,
    Thinking,
    /// The provider's summary of thinking that it does not show.
    Summary,
}

#[derive(Default)]
pub(super) struct Assembler {
    pieces: Vec<Fragment>,
    /// Calls without a result, each with the index of its answer.
    open: BTreeMap<String, usize>,
    /// Output so far of calls without a result.
    printed: BTreeMap<String, Vec<u8>>,
    /// The index of the last answer.
    last: Option<usize>,
    /// The index at which the current task began.
    task: usize,
    time: Option<String>,
}

enum Fragment {
    Answer(Answer),
    Other(Body, Option<String>),
    System(String, Option<String>),
    Summary(String),
}

/// A model call: its text, tool calls and their results.
#[derive(Default)]
struct Answer {
    heard: Vec<Heard>,
    calls: Vec<ToolCall>,
    results: Vec<(ToolResult, Option<String>)>,
    usage: Option<Usage>,
    is_closed: bool,
    time: Option<String>,
}

struct Heard {
    voice: TextKind,
    words: String,
    is_whole: bool,
}

impl Assembler {
    /// Sets the time of the following fragments.
    pub(super) fn at(&mut self, time: Option<&str>) {
        self.time = time.map(str::to_owned);
    }

    pub(super) fn user(&mut self, parts: Vec<Content>) {
        self.pieces.push(Fragment::Other(Body::User(parts), self.time.clone()));
    }

    /// Adds a message of the role `user`, with what the program put there as attachments.
    pub(super) fn said(&mut self, parts: Vec<Content>) {
        let parts = noise::apart(parts);
        if !parts.is_empty() {
            self.user(parts);
        }
    }

    /// Returns the user's message if it is the last piece.
    pub(super) fn last_user(&self) -> Option<&[Content]> {
        match self.pieces.last() {
            Some(Fragment::Other(Body::User(parts), _)) => Some(parts),
            _ => None,
        }
    }

    pub(super) fn event(&mut self, kind: &str, text: &str) {
        let body = Body::Event { kind: kind.to_owned(), text: text.into() };
        self.pieces.push(Fragment::Other(body, self.time.clone()));
    }

    pub(super) fn system(&mut self, text: &str) {
        self.pieces.push(Fragment::System(text.to_owned(), self.time.clone()));
    }

    pub(super) fn summary(&mut self, text: &str) {
        self.close();
        self.pieces.push(Fragment::Summary(text.to_owned()));
    }

    /// The current answer, or a new one. An answer ends with the first result, because later text already
    /// refers to it.
    fn answer(&mut self) -> Option<&mut Answer> {
        let is_open =
            |piece: &Fragment| matches!(piece, Fragment::Answer(a) if a.results.is_empty() && !a.is_closed);
        if !self.pieces.last().is_some_and(is_open) {
            self.last = Some(self.pieces.len());
            self.pieces.push(Fragment::Answer(Answer { time: self.time.clone(), ..Answer::default() }));
        }
        self.answer_at(self.pieces.len().checked_sub(1)?)
    }

    fn answer_at(&mut self, at: usize) -> Option<&mut Answer> {
        match self.pieces.get_mut(at)? {
            Fragment::Answer(answer) => Some(answer),
            Fragment::Other(..) | Fragment::System(..) | Fragment::Summary(_) => None,
        }
    }

    pub(super) fn delta(&mut self, voice: TextKind, words: &str) {
        let Some(answer) = self.answer() else { return };
        match answer.near().rfind(|heard| heard.voice == voice).filter(|heard| !heard.is_whole) {
            Some(heard) => heard.words.push_str(words),
            None => answer.heard.push(Heard { voice, words: words.to_owned(), is_whole: false }),
        }
    }

    /// Starts a new section for the following deltas.
    pub(super) fn section(&mut self, voice: TextKind) {
        if let Some(answer) = self.answer() {
            answer.heard.push(Heard { voice, words: String::new(), is_whole: false });
        }
    }

    /// Adds a whole text, in place of the deltas with the same content.
    pub(super) fn whole(&mut self, voice: TextKind, words: &str) {
        let Some(answer) = self.answer() else { return };
        let is_same = |heard: &&mut Heard| {
            heard.voice == voice && !heard.is_whole && words.contains(heard.words.trim())
        };
        match answer.near().find(is_same) {
            Some(heard) => (heard.words, heard.is_whole) = (words.to_owned(), true),
            None => answer.heard.push(Heard { voice, words: words.to_owned(), is_whole: true }),
        }
    }

    /// Adds the last text of the task, unless its own record was already read.
    pub(super) fn last_words(&mut self, words: &str) {
        let is_it = |heard: &Heard| heard.voice == TextKind::Words && heard.words == words;
        let said = self.pieces.get(self.task..).unwrap_or_default().iter().rev();
        let is_known =
            |piece: &Fragment| matches!(piece, Fragment::Answer(answer) if answer.heard.iter().any(is_it));
        if !said.into_iter().any(is_known) {
            self.whole(TextKind::Words, words);
        }
    }

    /// Adds a call, unless it is open already: approval requests repeat it.
    pub(super) fn call(&mut self, id: &str, name: &str, arguments: &str) {
        if self.is_open(id) {
            return;
        }
        let Some(answer) = self.answer() else { return };
        answer.calls.push(ToolCall::new(id, name, arguments));
        self.open.extend(self.last.map(|at| (id.to_owned(), at)));
    }

    pub(super) fn is_open(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// Collects a part of a call's output, in case the call never ends.
    pub(super) fn output(&mut self, id: &str, bytes: &[u8]) {
        self.printed.entry(id.to_owned()).or_default().extend(bytes);
    }

    /// Adds a result after the answer that made the call; a result of no known call goes to the end.
    pub(super) fn result(&mut self, result: ToolResult) {
        let (time, at) = (self.time.clone(), self.open.remove(&result.call));
        self.printed.remove(&result.call);
        match at.and_then(|at| self.answer_at(at)) {
            Some(answer) => answer.results.push((result, time)),
            None => self.pieces.push(Fragment::Other(Body::Tool(result), time)),
        }
    }

    /// Sets the usage of the last answer.
    pub(super) fn used(&mut self, usage: Option<Usage>) {
        if let Some(answer) = self.last.and_then(|at| self.answer_at(at)) {
            answer.usage = usage.or(answer.usage);
        }
    }

    /// Ends the current answer and all open calls, at a task's start or end.
    pub(super) fn close(&mut self) {
        if let Some(Fragment::Answer(answer)) = self.pieces.last_mut() {
            answer.is_closed = true;
        }
        for (call, bytes) in std::mem::take(&mut self.printed) {
            if self.is_open(&call) {
                let content = vec![Content::Text(String::from_utf8_lossy(&bytes).into())];
                self.result(ToolResult { call, content, ..ToolResult::default() });
            }
        }
        self.open.clear();
        self.task = self.pieces.len();
    }

    /// Moves all pieces into the import, in order.
    pub(super) fn finish(mut self, import: &mut Import) {
        self.close();
        for piece in self.pieces {
            match piece {
                Fragment::Answer(answer) => answer.finish(import),
                Fragment::Other(body, time) => drop(import.push(body, None, time)),
                Fragment::System(text, time) => import.push_system(&text, time),
                Fragment::Summary(text) => import.push_compaction(&text, None, None),
            }
        }
    }
}

impl Answer {
    /// The last texts, the only ones that can still change.
    fn near(&mut self) -> std::slice::IterMut<'_, Heard> {
        let from = self.heard.len().saturating_sub(NEAR);
        self.heard[from..].iter_mut()
    }

    fn finish(self, import: &mut Import) {
        let heard = self.heard.into_iter().filter(|heard| !heard.words.is_empty());
        let parts: Vec<AssistantPart> = heard
            .map(|Heard { voice, words, .. }| match voice {
                TextKind::Words => AssistantPart::Text(words.into()),
                TextKind::Thinking | TextKind::Summary => {
                    AssistantPart::Reasoning { text: words.into(), signature: None, block: None }
                }
            })
            .collect();
        if !parts.is_empty() || !self.calls.is_empty() {
            let beside = Beside { usage: self.usage, ..Beside::default() };
            import.push(Body::Assistant { parts, calls: self.calls, beside }, None, self.time);
        }
        for (result, time) in self.results {
            import.push(Body::Tool(result), None, time);
        }
    }
}
