//! An editor's history against ours (source: 003, protocol): what it has more is taken in, what it has no longer goes
//! to a fork, what it never had stays. Decides and changes the transcript; what is written follows from the report.

use super::history_turn::HistoryTurn;
use crate::engine::compact::restore::Restored;
use crate::engine::id::{CompactionId, Ordinal, SessionId};
use crate::engine::message::{Body, Content, Message, NewMessage};
use crate::engine::prompt::coverage::is_hidden;
use crate::engine::tokens::TokenCount;
use crate::engine::transcript::Transcript;

/// What became of a history that an editor brought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Messages that were taken in.
    pub appended: u32,
    /// Messages that left the session.
    pub truncated: u32,
    /// The session that keeps them.
    pub fork: Option<SessionId>,
    /// Compactions that went out of force because of it.
    pub void: Vec<CompactionId>,
    /// What became of each summary.
    pub summaries: Vec<Restored>,
    /// Results that answer no call, by the id that they name.
    pub strays: Vec<String>,
    /// Rows of the store that could not be read.
    pub unreadable: Vec<String>,
}

/// Where the two part.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Parting {
    /// Our place of the first turn of theirs.
    first: usize,
    /// Ours from here on is not theirs.
    cut: Option<Ordinal>,
    /// Their turn from which on messages are taken in.
    turn: usize,
    /// Which messages of that turn; all of those after it.
    missing: Vec<usize>,
}

impl Parting {
    /// Whole turns of theirs, from this one on.
    fn turns(first: usize, cut: Option<Ordinal>, theirs: &[HistoryTurn], turn: usize) -> Self {
        let missing = theirs.get(turn).map_or(0, |turn| turn.messages.len());
        Self { first, cut, turn, missing: (0..missing).collect() }
    }
}

/// Whether the list ends with the newest turn, or may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// It is all there is: ours after it is gone.
    Whole,
    /// It may be older than ours: what ours has after it stays.
    Older,
    /// It is the running turn alone: ours before it stays.
    Running,
}

/// What to do with the transcript.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Merge {
    /// Our place of their first turn.
    pub first: usize,
    /// Ours from here on leaves.
    pub cut: Option<Ordinal>,
    /// What is taken in; whether each message starts a turn.
    pub append: Vec<(bool, NewMessage)>,
}

/// Compares. Nothing is changed.
pub(super) fn merge(transcript: &Transcript, theirs: &[HistoryTurn], reach: Reach) -> Merge {
    let Parting { first, cut, turn, missing } = part(transcript, theirs, reach);
    let of_first = theirs
        .get(turn)
        .into_iter()
        .flat_map(|turn| missing.iter().filter_map(|at| Some((*at == 0, turn.messages.get(*at)?.clone()))));
    let of_later = theirs
        .iter()
        .skip(turn + 1)
        .flat_map(|turn| turn.messages.iter().enumerate().map(|(at, message)| (at == 0, message.clone())));
    Merge { first, cut, append: of_first.chain(of_later).collect() }
}

/// All of theirs after all of ours: the running turn of an editor whose last one is over.
pub(super) fn after(transcript: &Transcript, theirs: &[HistoryTurn]) -> Merge {
    let messages = theirs.iter().flat_map(|turn| turn.messages.iter().enumerate());
    Merge {
        first: transcript.turns().len(),
        cut: None,
        append: messages.map(|(at, message)| (at == 0, message.clone())).collect(),
    }
}

fn part(transcript: &Transcript, theirs: &[HistoryTurn], reach: Reach) -> Parting {
    let ours = transcript.turns().len();
    let begin = |at: usize| transcript.turns().get(at).map(|turn| turn.first);
    let Some(start) = theirs.first() else {
        let cut = if reach == Reach::Whole { begin(0) } else { None };
        return Parting::turns(0, cut, theirs, 0);
    };
    let Some(first) = aligned(transcript, start, reach) else {
        return match reach {
            Reach::Running => Parting::turns(ours, None, theirs, 0),
            Reach::Whole | Reach::Older => Parting::turns(0, begin(0), theirs, 0),
        };
    };
    for (n, history) in theirs.iter().enumerate() {
        let at = first + n;
        if at >= ours {
            return Parting::turns(first, None, theirs, n);
        }
        let is_last = n + 1 == theirs.len() && reach != Reach::Older;
        match inside(transcript, at, history, is_last) {
            Inside::Same => {}
            // Where turns of ours follow, they follow something else than theirs do.
            Inside::More(missing) => {
                return Parting { first, cut: begin(at + 1), turn: n, missing };
            }
            Inside::Parts(ord, have) => {
                let missing = (have..history.messages.len()).collect();
                return Parting { first, cut: Some(ord), turn: n, missing };
            }
        }
    }
    let cut = if reach == Reach::Older { None } else { begin(first + theirs.len()) };
    Parting { first, cut, turn: theirs.len(), missing: Vec::new() }
}

/// Our turn that is their first one. By the editor's id wherever it stands; without ids the words must be the same.
fn aligned(transcript: &Transcript, start: &HistoryTurn, reach: Reach) -> Option<usize> {
    let request = start.messages.first()?;
    let is_it = |at: &usize| {
        let first = transcript.turns().get(*at).map(|turn| turn.first);
        first.and_then(|ord| transcript.message(ord)).is_some_and(|message| same(message, request))
    };
    let mut turns = 0..transcript.turns().len();
    match reach {
        Reach::Whole | Reach::Older => turns.find(is_it),
        // Without an id, the same words may be said again: only the newest turn can be the running one.
        Reach::Running if request.external_id.is_none() => turns.next_back().filter(is_it),
        Reach::Running => turns.rfind(is_it),
    }
}

/// One of their turns against ours.
enum Inside {
    /// Ours has it all.
    Same,
    /// These of their messages are missing at the end of ours.
    More(Vec<usize>),
    /// Ours is another one from here on; this many of theirs are ours too.
    Parts(Ordinal, usize),
}

fn inside(transcript: &Transcript, at: usize, history: &HistoryTurn, is_last: bool) -> Inside {
    let Some(turn) = transcript.turns().get(at) else { return Inside::Same };
    let Some(last) = transcript.last_of_turn(at) else { return Inside::Same };
    let said = transcript.range(turn.first, last).iter().map(|message| &**message);
    let mut ours: Vec<&Message> = said.filter(|message| !is_hidden(message)).collect();
    ours.reverse();
    let is_result = |message: &&Message| matches!(message.body, Body::Tool(_));
    let mut missing = Vec::new();
    for (n, theirs) in history.messages.iter().enumerate() {
        if n > 0 && !history.detailed {
            return Inside::Same;
        }
        if theirs.body.is_empty() {
            continue;
        }
        if let Body::Tool(result) = &theirs.body {
            // Results come in any order: each is looked for among those that stand together.
            let together = ours.iter().rev().take_while(|message| is_result(message)).count();
            let known =
                |message: &&Message| matches!(&message.body, Body::Tool(known) if known.call == result.call);
            match ours.iter().skip(ours.len() - together).position(known) {
                Some(at) => {
                    let at = ours.len() - together + at;
                    if !same(ours[at], theirs) {
                        return Inside::Parts(ours[at].ord, n);
                    }
                    ours.remove(at);
                }
                None => missing.push(n),
            }
            continue;
        }
        while ours.last().is_some_and(is_result) {
            ours.pop();
        }
        match ours.last() {
            None => {
                missing.extend(n..history.messages.len());
                return Inside::More(missing);
            }
            Some(message) if same(message, theirs) => {
                ours.pop();
                // The model went on without them: they cannot be taken in any more.
                missing.clear();
            }
            Some(message) => return Inside::Parts(message.ord, n),
        }
    }
    match ours.iter().rfind(|message| !is_result(message)) {
        Some(message) if is_last && history.detailed => Inside::Parts(message.ord, history.messages.len()),
        Some(_) => Inside::Same,
        None if missing.is_empty() => Inside::Same,
        None => Inside::More(missing),
    }
}

/// Whether they are the same message. With ids on both sides the ids decide first: an editor sends the same words
/// again under a new one. What was put beside a request is captured when it is first rendered: it need not come again,
/// and under the same id it may come in another state, which changes nothing.
fn same(ours: &Message, theirs: &NewMessage) -> bool {
    if let (Some(a), Some(b)) = (&ours.external_id, &theirs.external_id)
        && a != b
    {
        return false;
    }
    match (&ours.body, &theirs.body) {
        (Body::User(all), Body::User(said)) => {
            let beside =
                |part: &Content| matches!(part, Content::Resource { .. } | Content::ContextFile { .. });
            let has_id = ours.external_id.is_some() && theirs.external_id.is_some();
            let words = |parts: &'_ [Content]| -> Vec<Content> {
                parts.iter().filter(|part| !beside(part)).cloned().collect()
            };
            let same_words = || !words(all).is_empty() && words(all) == words(said);
            all.starts_with(said) && all.iter().skip(said.len()).all(beside) || has_id && same_words()
        }
        (_, body) => ours.hash == body.hash(),
    }
}

/// Applies a comparison. The ids of compactions that went out of force, and the messages that were taken in.
pub(super) fn apply(
    transcript: &mut Transcript,
    merge: &Merge,
    counter: &dyn TokenCount,
) -> (Vec<CompactionId>, Vec<Ordinal>) {
    let void = merge.cut.map_or_else(Vec::new, |from| transcript.truncate(from));
    let appended = merge.append.iter().map(|(starts, message)| match (starts, &message.body) {
        (true, _) => transcript.append_turn(message.clone(), counter),
        (false, Body::User(_)) => transcript.inject(message.clone(), counter),
        (false, _) => transcript.append(message.clone(), counter),
    });
    let appended = appended.collect();
    (void, appended)
}
