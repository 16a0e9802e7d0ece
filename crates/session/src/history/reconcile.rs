//! Compares an editor's history with ours: what only it has is appended, what it no longer has goes to a
//! revision, what it never had stays. Changes the transcript; writes follow from the report.

use crate::values::history_turn::HistoryTurn;
use engine::id::{CompactionId, Ordinal};
use engine::message::{Body, Content, Message, NewMessage};
use engine::tokens::TokenCount;
use engine::transcript::Transcript;

/// The point where the two histories part.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Divergence {
    /// Index of our turn that is their first one.
    first: usize,
    /// The first of our messages that they no longer have.
    cut: Option<Ordinal>,
    /// Index of their first turn with messages to append.
    turn: usize,
    /// Messages of that turn to append; later turns are appended whole.
    missing: Vec<usize>,
    /// Our results of which they have other content.
    changed: Vec<Ordinal>,
}

impl Divergence {
    /// Appends their turns whole, from this one on.
    fn turns(first: usize, cut: Option<Ordinal>, theirs: &[HistoryTurn], turn: usize) -> Self {
        let missing = theirs.get(turn).map_or(0, |turn| turn.messages.len());
        Self { first, cut, turn, missing: (0..missing).collect(), changed: Vec::new() }
    }
}

/// Extent of the editor's list of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The whole conversation: our turns after it are gone.
    Whole,
    /// Possibly an older state: our turns after it stay.
    Older,
    /// The running turn alone: our turns before it stay.
    Running,
}

/// Changes to make to the transcript.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Merge {
    /// Index of our turn that is their first one.
    pub first: usize,
    /// The first of our messages that leaves.
    pub cut: Option<Ordinal>,
    /// Messages to append; `true` if one starts a turn.
    pub append: Vec<(bool, NewMessage)>,
    /// Our requests whose ids the editor sends only now, with these.
    pub learned: Vec<(Ordinal, String)>,
    /// Our results of which they have other content; ours stay.
    pub changed: Vec<Ordinal>,
}

/// Compares both histories without changing anything. `ended` says which of our turns are over; it is given
/// if their last turn is the running one, as far as the editor has it.
pub(crate) fn merge(
    transcript: &Transcript,
    theirs: &[HistoryTurn],
    reach: Reach,
    ended: Option<&[bool]>,
) -> Merge {
    let Divergence { first, cut, turn, missing, changed } = part(transcript, theirs, reach, ended);
    let is_new = cut == Some(Ordinal(0));
    let of_first = theirs.get(turn).into_iter().flat_map(|theirs| {
        let said = if is_new { enriched(transcript, theirs) } else { theirs.messages.clone() };
        let at_start = if is_new { (0..said.len()).collect() } else { missing.clone() };
        at_start.into_iter().filter_map(move |at| Some((at == 0, said.get(at)?.clone())))
    });
    let of_later = theirs.iter().skip(turn + 1).flat_map(|theirs| {
        let said = if is_new { enriched(transcript, theirs) } else { theirs.messages.clone() };
        said.into_iter().enumerate().map(|(at, message)| (at == 0, message))
    });
    let append = of_first.chain(of_later).collect();
    let learned = theirs.iter().take(turn + 1).enumerate().filter_map(|(n, theirs)| {
        let ord = transcript.turns().get(first + n)?.first;
        let ours = transcript.message(ord).filter(|ours| ours.external_id.is_none())?;
        let request = theirs.messages.first()?;
        let id = request.external_id.clone().filter(|_| cut.is_none_or(|cut| ord < cut))?;
        same(ours, request, true).then_some((ord, id))
    });
    Merge { first, cut, append, learned: learned.collect(), changed }
}

/// A turn of theirs, with our rounds of it: an editor may keep no more than the request and the answer.
fn enriched(transcript: &Transcript, theirs: &HistoryTurn) -> Vec<NewMessage> {
    let known = theirs.external_id.as_deref().filter(|_| !theirs.detailed).and_then(|id| {
        let is_it =
            |ord: Ordinal| transcript.message(ord).is_some_and(|m| m.external_id.as_deref() == Some(id));
        transcript.turns().iter().position(|turn| is_it(turn.first))
    });
    let Some((turn, last)) =
        known.and_then(|at| Some((transcript.turns().get(at)?, transcript.last_of_turn(at)?)))
    else {
        return theirs.messages.clone();
    };
    transcript.range(turn.first, last).iter().map(|message| NewMessage::from(&**message)).collect()
}

fn part(transcript: &Transcript, theirs: &[HistoryTurn], reach: Reach, ended: Option<&[bool]>) -> Divergence {
    let ours = transcript.turns().len();
    let begin = |at: usize| transcript.turns().get(at).map(|turn| turn.first);
    let [start, more @ ..] = theirs else {
        let cut = if reach == Reach::Whole { begin(0) } else { None };
        return Divergence::turns(0, cut, theirs, 0);
    };
    let starts_running = more.is_empty() && ended.is_some();
    let Some(first) = aligned(transcript, start, reach, ended.filter(|_| starts_running)) else {
        return match reach {
            Reach::Running => Divergence::turns(ours, None, theirs, 0),
            Reach::Whole | Reach::Older => Divergence::turns(0, begin(0), theirs, 0),
        };
    };
    let mut changed = Vec::new();
    for (n, history) in theirs.iter().enumerate() {
        let at = first + n;
        let is_last = n + 1 == theirs.len();
        let runs = is_last && ended.is_some();
        if at >= ours {
            return Divergence { changed, ..Divergence::turns(first, None, theirs, n) };
        }
        // Without an id, the same text after the end of the turn is another request: the editor dropped the old one.
        if runs && history.external_id.is_none() && is_over(ended, at) {
            return Divergence { changed, ..Divergence::turns(first, begin(at), theirs, n) };
        }
        let end = match (is_last && reach != Reach::Older, runs) {
            (_, true) => End::Runs,
            (true, false) => End::Last,
            (false, false) => End::Before,
        };
        match inside(transcript, at, history, end, &mut changed) {
            TurnMatch::Same => {}
            // Our later turns follow something else than theirs do.
            TurnMatch::More(missing) => {
                return Divergence { first, cut: begin(at + 1), turn: n, missing, changed };
            }
            TurnMatch::Parts(ord, have) => {
                let missing = (have..history.messages.len()).collect();
                return Divergence { first, cut: Some(ord), turn: n, missing, changed };
            }
        }
    }
    let cut = if reach == Reach::Older { None } else { begin(first + theirs.len()) };
    Divergence { first, cut, turn: theirs.len(), missing: Vec::new(), changed }
}

fn is_over(ended: Option<&[bool]>, at: usize) -> bool {
    ended.and_then(|ended| ended.get(at)).copied().unwrap_or(false)
}

/// Index of our turn that is their first one: matched by the editor's id anywhere, without ids by text.
fn aligned(
    transcript: &Transcript,
    start: &HistoryTurn,
    reach: Reach,
    ended: Option<&[bool]>,
) -> Option<usize> {
    let request = start.messages.first()?;
    let is_it = |at: usize, runs: bool| {
        let first = transcript.turns().get(at).map(|turn| turn.first);
        first.and_then(|ord| transcript.message(ord)).is_some_and(|message| same(message, request, runs))
    };
    let mut turns = 0..transcript.turns().len();
    match reach {
        Reach::Whole | Reach::Older => {
            let newest = turns.end.checked_sub(1).filter(|_| ended.is_some());
            turns.find(|at| is_it(*at, newest == Some(*at)))
        }
        // Without an id, the same text may be sent again: only the newest turn can be the running one.
        Reach::Running if request.external_id.is_none() => {
            turns.next_back().filter(|at| !is_over(ended, *at) && is_it(*at, true))
        }
        Reach::Running => turns.rfind(|at| is_it(*at, false)),
    }
}

/// Result of comparing one of their turns with ours.
enum TurnMatch {
    /// Ours has all of it.
    Same,
    /// These of their messages are missing at the end of ours.
    More(Vec<usize>),
    /// Ours differs from this message on; it has this many of theirs.
    Parts(Ordinal, usize),
}

/// Knowledge of the end of one of their turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Another turn may follow: ours may have more of this one.
    Before,
    /// Their last turn, and all of it.
    Last,
    /// The running turn: rounds that we have may be missing, and results may come without their round.
    Runs,
}

/// Compares one of their turns with ours at this index, and adds the results of which they have other content.
fn inside(
    transcript: &Transcript,
    at: usize,
    history: &HistoryTurn,
    end: End,
    changed: &mut Vec<Ordinal>,
) -> TurnMatch {
    let Some(turn) = transcript.turns().get(at) else { return TurnMatch::Same };
    let Some(last) = transcript.last_of_turn(at) else { return TurnMatch::Same };
    let said = transcript.range(turn.first, last).iter().map(|message| &**message);
    let mut ours: Vec<&Message> = said.filter(|message| !message.is_hidden()).collect();
    ours.reverse();
    let is_result = |message: &&Message| matches!(message.body, Body::Tool(_));
    let mut missing = Vec::new();
    let mut begins = end == End::Runs;
    for (n, theirs) in history.messages.iter().enumerate() {
        if n > 0 && !history.detailed {
            return TurnMatch::Same;
        }
        if theirs.body.is_empty() {
            continue;
        }
        if begins && !matches!(theirs.body, Body::User(_)) {
            begins = false;
            if matches!(theirs.body, Body::Tool(_)) {
                return results_alone(&ours, history, n, changed);
            }
            skip_to(&mut ours, theirs);
        }
        if let Body::Tool(result) = &theirs.body {
            // Results come in any order: each is looked up among adjacent ones. One that was taken in stays
            // as it was.
            let together = ours.iter().rev().take_while(|message| is_result(message)).count();
            match ours.iter().skip(ours.len() - together).position(|message| answers(message, &result.call)) {
                Some(at) => {
                    let known = ours.remove(ours.len() - together + at);
                    changed.extend(is_other(known, &theirs.body).then_some(known.ord));
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
                return TurnMatch::More(missing);
            }
            Some(message) if same(message, theirs, end == End::Runs) => {
                ours.pop();
                // The model went on without the missing results: they can no longer be appended.
                missing.clear();
            }
            Some(message) => return TurnMatch::Parts(message.ord, n),
        }
    }
    match ours.iter().rfind(|message| !is_result(message)) {
        Some(message) if end != End::Before && history.detailed => {
            TurnMatch::Parts(message.ord, history.messages.len())
        }
        Some(_) => TurnMatch::Same,
        None if missing.is_empty() => TurnMatch::Same,
        None => TurnMatch::More(missing),
    }
}

fn answers(message: &Message, call: &str) -> bool {
    matches!(&message.body, Body::Tool(known) if known.call == call)
}

/// `true` if their copy of a result has other text. Texts are compared, not hashes: a history may have many results.
fn is_other(ours: &Message, theirs: &Body) -> bool {
    ours.body.texts() != theirs.texts()
}

/// The new ones among results of a running turn that came without their rounds.
fn results_alone(
    ours: &[&Message],
    history: &HistoryTurn,
    from: usize,
    changed: &mut Vec<Ordinal>,
) -> TurnMatch {
    let mut is_new = |n: &usize| match history.messages.get(*n).map(|message| &message.body) {
        Some(body @ Body::Tool(result)) => {
            let known = ours.iter().find(|message| answers(message, &result.call));
            changed.extend(known.filter(|known| is_other(known, body)).map(|known| known.ord));
            known.is_none()
        }
        _ => true,
    };
    let missing: Vec<usize> = (from..history.messages.len()).filter(|n| is_new(n)).collect();
    if missing.is_empty() { TurnMatch::Same } else { TurnMatch::More(missing) }
}

/// Skips rounds of ours that a running turn need not repeat: all before its first one, or all if that is new
/// to us and has its own id.
fn skip_to(ours: &mut Vec<&Message>, theirs: &NewMessage) {
    match ours.iter().rposition(|message| same(message, theirs, true)) {
        Some(at) => ours.truncate(at + 1),
        None if theirs.external_id.is_some() => ours.clear(),
        None => {}
    }
}

/// `true` if both are the same message. If both have an id, another id decides: an editor sends the same text
/// again under a new one. Content beside a request is stored at its first render: it need not come again, and
/// for the running turn or under the same id it may differ without effect. Images need not come again either:
/// an editor may not keep anything so large.
fn same(ours: &Message, theirs: &NewMessage, runs: bool) -> bool {
    if let (Some(a), Some(b)) = (&ours.external_id, &theirs.external_id)
        && a != b
    {
        return false;
    }
    match (&ours.body, &theirs.body) {
        (Body::User(all), Body::User(said)) => {
            let is_image = |part: &Content| matches!(part, Content::Image(_));
            let has_images = said.iter().any(is_image);
            let beside = |part: &Content| {
                matches!(
                    part,
                    Content::Resource { .. } | Content::ResourceLink(_) | Content::ContextFile { .. }
                ) || (is_image(part) && !has_images)
            };
            let unattached = |parts: &'_ [Content]| -> Vec<Content> {
                let is_compared =
                    |part: &&Content| !matches!(part, Content::Attachment(_) | Content::Meta(_));
                parts.iter().filter(is_compared).cloned().collect()
            };
            let (all, said) = (unattached(all), unattached(said));
            let has_id = ours.external_id.is_some() && theirs.external_id.is_some();
            let words = |parts: &'_ [Content]| -> Vec<Content> {
                parts.iter().filter(|part| !beside(part)).cloned().collect()
            };
            let same_words = || !words(&all).is_empty() && words(&all) == words(&said);
            all.starts_with(&said) && all.iter().skip(said.len()).all(beside)
                || (has_id || runs) && same_words()
        }
        (_, body) => ours.hash == body.hash(),
    }
}

/// Applies a comparison. Returns the compactions that went out of force and the appended messages.
pub(crate) fn apply(
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
