//! A conversation that comes in bits: words in deltas or whole, calls that begin and end. What belongs together is put
//! together here; what a record looks like is not known.

use crate::Import;
use engine::message::{AssistantPart, Beside, Body, Content, ToolCall, ToolResult, Usage};
use std::collections::BTreeMap;

/// So many parts of an answer can be open at once; a file of millions must not be searched for each.
const NEAR: usize = 32;

/// What a model says something with. Each comes in deltas of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    Words,
    Thinking,
    /// What a provider tells of thinking that it does not show.
    Summary,
}

/// The conversation so far.
#[derive(Default)]
pub(super) struct Talk {
    pieces: Vec<Piece>,
    /// Calls without a result, each with the answer that asked for it.
    open: BTreeMap<String, usize>,
    /// What calls without a result have printed.
    printed: BTreeMap<String, Vec<u8>>,
    /// Where the last answer stands.
    last: Option<usize>,
    /// Where the task began that runs.
    task: usize,
    time: Option<String>,
}

enum Piece {
    Answer(Answer),
    Other(Body, Option<String>),
    System(String, Option<String>),
    Summary(String),
}

/// One model call: what it said and asked for, and what came of that.
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
    voice: Voice,
    words: String,
    is_whole: bool,
}

impl Talk {
    /// When what comes next was said.
    pub(super) fn at(&mut self, time: Option<&str>) {
        self.time = time.map(str::to_owned);
    }

    pub(super) fn user(&mut self, parts: Vec<Content>) {
        self.pieces.push(Piece::Other(Body::User(parts), self.time.clone()));
    }

    /// The user's words, where they are the last that there are.
    pub(super) fn last_user(&self) -> Option<&[Content]> {
        match self.pieces.last() {
            Some(Piece::Other(Body::User(parts), _)) => Some(parts),
            _ => None,
        }
    }

    pub(super) fn event(&mut self, kind: &str, text: &str) {
        let body = Body::Event { kind: kind.to_owned(), text: text.into() };
        self.pieces.push(Piece::Other(body, self.time.clone()));
    }

    pub(super) fn system(&mut self, text: &str) {
        self.pieces.push(Piece::System(text.to_owned(), self.time.clone()));
    }

    pub(super) fn summary(&mut self, text: &str) {
        self.close();
        self.pieces.push(Piece::Summary(text.to_owned()));
    }

    /// The answer that is being given. It ends with the first result, for what a model says then knows of it.
    fn answer(&mut self) -> Option<&mut Answer> {
        let is_open =
            |piece: &Piece| matches!(piece, Piece::Answer(a) if a.results.is_empty() && !a.is_closed);
        if !self.pieces.last().is_some_and(is_open) {
            self.last = Some(self.pieces.len());
            self.pieces.push(Piece::Answer(Answer { time: self.time.clone(), ..Answer::default() }));
        }
        self.answer_at(self.pieces.len().checked_sub(1)?)
    }

    fn answer_at(&mut self, at: usize) -> Option<&mut Answer> {
        match self.pieces.get_mut(at)? {
            Piece::Answer(answer) => Some(answer),
            Piece::Other(..) | Piece::System(..) | Piece::Summary(_) => None,
        }
    }

    pub(super) fn delta(&mut self, voice: Voice, words: &str) {
        let Some(answer) = self.answer() else { return };
        match answer.near().rfind(|heard| heard.voice == voice).filter(|heard| !heard.is_whole) {
            Some(heard) => heard.words.push_str(words),
            None => answer.heard.push(Heard { voice, words: words.to_owned(), is_whole: false }),
        }
    }

    /// The deltas that come next belong to another section.
    pub(super) fn section(&mut self, voice: Voice) {
        if let Some(answer) = self.answer() {
            answer.heard.push(Heard { voice, words: String::new(), is_whole: false });
        }
    }

    /// Words as a whole. They stand in the place of the deltas that say the same.
    pub(super) fn whole(&mut self, voice: Voice, words: &str) {
        let Some(answer) = self.answer() else { return };
        let is_same = |heard: &&mut Heard| {
            heard.voice == voice && !heard.is_whole && words.contains(heard.words.trim())
        };
        match answer.near().find(is_same) {
            Some(heard) => (heard.words, heard.is_whole) = (words.to_owned(), true),
            None => answer.heard.push(Heard { voice, words: words.to_owned(), is_whole: true }),
        }
    }

    /// The last words of the task, which were said before unless the record of them is lost.
    pub(super) fn last_words(&mut self, words: &str) {
        let is_it = |heard: &Heard| heard.voice == Voice::Words && heard.words == words;
        let said = self.pieces.get(self.task..).unwrap_or_default().iter().rev();
        let is_known =
            |piece: &Piece| matches!(piece, Piece::Answer(answer) if answer.heard.iter().any(is_it));
        if !said.into_iter().any(is_known) {
            self.whole(Voice::Words, words);
        }
    }

    /// A call. The same one comes again where the user was asked about it before it began.
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

    /// A part of what a call prints. It is of use where the end of the call never comes.
    pub(super) fn output(&mut self, id: &str, bytes: &[u8]) {
        self.printed.entry(id.to_owned()).or_default().extend(bytes);
    }

    /// A result stands behind the answer that asked for it; one that answers no call, where it came.
    pub(super) fn result(&mut self, result: ToolResult) {
        let (time, at) = (self.time.clone(), self.open.remove(&result.call));
        self.printed.remove(&result.call);
        match at.and_then(|at| self.answer_at(at)) {
            Some(answer) => answer.results.push((result, time)),
            None => self.pieces.push(Piece::Other(Body::Tool(result), time)),
        }
    }

    /// What the last answer used.
    pub(super) fn used(&mut self, usage: Option<Usage>) {
        if let Some(answer) = self.last.and_then(|at| self.answer_at(at)) {
            answer.usage = usage.or(answer.usage);
        }
    }

    /// A task begins or ends: no answer goes on, and no call ends any more.
    pub(super) fn close(&mut self) {
        if let Some(Piece::Answer(answer)) = self.pieces.last_mut() {
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

    /// All of it, in order.
    pub(super) fn finish(mut self, import: &mut Import) {
        self.close();
        for piece in self.pieces {
            match piece {
                Piece::Answer(answer) => answer.finish(import),
                Piece::Other(body, time) => drop(import.push(body, None, time)),
                Piece::System(text, time) => import.push_system(&text, time),
                Piece::Summary(text) => import.push_compaction(&text, None, None),
            }
        }
    }
}

impl Answer {
    /// What was heard last, which is all that words can still belong to.
    fn near(&mut self) -> std::slice::IterMut<'_, Heard> {
        let from = self.heard.len().saturating_sub(NEAR);
        self.heard[from..].iter_mut()
    }

    fn finish(self, import: &mut Import) {
        let heard = self.heard.into_iter().filter(|heard| !heard.words.is_empty());
        let parts: Vec<AssistantPart> = heard
            .map(|Heard { voice, words, .. }| match voice {
                Voice::Words => AssistantPart::Text(words.into()),
                Voice::Thinking | Voice::Summary => {
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
