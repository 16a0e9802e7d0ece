//! An index of a session for many searches in a row. Counts terms and proposes candidates as the store's does; the engine
//! ranks.

use engine::message::Message;
use engine::search::pieces::pieces;
use engine::search::{MOST_RANKED, Query, Ranking, SearchPage, score};
use engine::transcript::Transcript;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

/// The terms of a session's messages. Messages are only ever added.
#[derive(Default)]
pub(super) struct Index {
    messages: usize,
    pieces: Vec<Place>,
    /// The pieces that contain a term, and how often.
    postings: HashMap<String, Vec<(usize, u32)>>,
}

struct Place {
    message: usize,
    terms: usize,
}

impl Index {
    /// Adds the messages that are new.
    fn extend(&mut self, transcript: &Transcript) {
        for message in transcript.messages().iter().skip(self.messages) {
            self.add(message);
        }
    }

    fn add(&mut self, message: &Message) {
        for piece in pieces(message) {
            let at = self.pieces.len();
            let terms = piece.terms();
            self.pieces.push(Place { message: self.messages, terms: terms.len() });
            for term in terms {
                let postings = self.postings.entry(term).or_default();
                match postings.last_mut() {
                    Some((last, here)) if *last == at => *here += 1,
                    _ => postings.push((at, 1)),
                }
            }
        }
        self.messages += 1;
    }

    /// Searches a transcript that continues those of earlier searches.
    pub(super) fn search(&mut self, transcript: &Transcript, query: &Query) -> SearchPage {
        self.extend(transcript);
        let none = Vec::new();
        let terms = query.words.terms().iter();
        let postings: Vec<&Vec<(usize, u32)>> =
            terms.map(|term| self.postings.get(term).unwrap_or(&none)).collect();
        let with: Vec<u64> = postings.iter().map(|list| list.len() as u64).collect();
        let all = self.pieces.len() as u64;
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for (list, with) in postings.iter().zip(&with) {
            for (piece, here) in *list {
                let length = self.pieces.get(*piece).map_or(0, |place| place.terms);
                *scores.entry(*piece).or_default() += score(std::iter::once((*here, *with)), length, all);
            }
        }
        let mut best: Vec<(f64, usize)> = scores.into_iter().map(|(piece, score)| (score, piece)).collect();
        best.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| Reverse(x).cmp(&Reverse(y))));
        best.truncate(MOST_RANKED);
        let candidates = best.into_iter().filter_map(|(_, piece)| Some(self.pieces.get(piece)?.message));
        let candidates: BTreeSet<usize> = candidates.collect();
        let mut ranking = Ranking::new(query);
        ranking.count(all, &with);
        for message in candidates {
            if let Some(message) = transcript.messages().get(message) {
                ranking.take_counted(message);
            }
        }
        ranking.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::id::SessionId;
    use engine::message::NewMessage;
    use engine::search::{Words, find};
    use engine::tokens::QuarterOfChars;

    #[test]
    fn hits_are_those_of_a_search_without_an_index() {
        let mut transcript = Transcript::new(SessionId::new("s"));
        let mut index = Index::default();
        for n in 0..60 {
            let text =
                format!("message {n} about topic{} and\nread_file {}", n % 7, "filler ".repeat(n * 20));
            transcript.append(NewMessage::user(&text), &QuarterOfChars);
            for words in ["topic3 readFile", "message 12 filler", "nothing"] {
                let query =
                    Query { words: Words::of(words), before: None, skip: 2, limit: 20, hidden: false };
                let plain = find(transcript.messages().iter().rev().map(|message| &**message), &query);
                assert_eq!(index.search(&transcript, &query), plain, "{n} {words}");
            }
        }
    }
}
