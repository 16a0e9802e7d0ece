//! BM25 over pieces, with the formula and the constants of SQLite's FTS5. A piece also takes a share of the scores of
//! the pieces next to it: a place where several pieces match is more telling than one piece alone.

use super::pieces::{Piece, pieces};
use super::{Hit, Query, SearchPage, Speaker};
use crate::id::{MessageId, Ordinal, TurnId};
use crate::message::Message;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The most pieces that are ranked for a query: the pages of its hits end there. An index proposes as many.
pub const MOST_RANKED: usize = 256;
/// How fast further occurrences of a term count less.
pub const K1: f64 = 1.2;
/// How much the length of a piece counts.
pub const B: f64 = 0.75;
/// Terms of a usual piece. A constant, so that an index need not keep the sum of all lengths.
pub const USUAL_TERMS: f64 = 100.0;
/// Least weight of a term that most pieces contain.
const LEAST_WEIGHT: f64 = 1e-6;
/// The share of a piece's score that the piece beside it takes, and the square of it the one after that.
const BESIDE: f64 = 0.5;
/// Pieces on each side that take a share.
const REACH: usize = 2;
/// A piece is left out if better hits show all but this share of its lines.
const LEAST_NEW: f64 = 0.34;
/// Least characters of a line that counts as shown.
const LEAST_LINE: usize = 8;

/// The weight of a term that `with` of `pieces` pieces contain.
fn weight(pieces: u64, with: u64) -> f64 {
    let (pieces, with) = (pieces as f64, with as f64);
    ((pieces - with + 0.5) / (with + 0.5)).ln().max(LEAST_WEIGHT)
}

/// The score of a piece of `length` terms: of each term of the query, its occurrences here, and the number of pieces
/// that contain it out of `pieces`.
pub fn score(terms: impl Iterator<Item = (u32, u64)>, length: usize, pieces: u64) -> f64 {
    let norm = K1 * (1.0 - B + B * length as f64 / USUAL_TERMS);
    terms
        .filter(|(here, _)| *here > 0)
        .map(|(here, with)| {
            let here = f64::from(here);
            weight(pieces, with) * here * (K1 + 1.0) / (here + norm)
        })
        .sum()
}

/// Ranks the pieces of a session for a query.
#[derive(Debug)]
pub struct Ranking<'a> {
    query: &'a Query,
    numbers: BTreeMap<&'a str, usize>,
    /// Pieces that contain each term.
    with: Vec<u64>,
    /// All pieces.
    pieces: u64,
    found: Vec<Found>,
}

/// A message with a piece that contains a term.
#[derive(Debug)]
struct Found {
    ord: Ordinal,
    id: MessageId,
    turn: TurnId,
    role: Speaker,
    bytes: usize,
    pieces: Vec<Piece>,
    /// Of each piece the occurrences of each term, and its length in terms.
    counts: Vec<(Vec<u32>, usize)>,
}

impl<'a> Ranking<'a> {
    /// Creates a ranking without pieces.
    pub fn new(query: &'a Query) -> Self {
        let terms = query.words.terms();
        let numbers = terms.iter().enumerate().map(|(number, term)| (term.as_str(), number)).collect();
        Self { query, numbers, with: vec![0; terms.len()], pieces: 0, found: Vec::new() }
    }

    /// `true` if the query has no terms, so that nothing is ranked.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// `true` if a message contains a term.
    pub fn has_found(&self) -> bool {
        !self.found.is_empty()
    }

    /// Adds the counts of an index: its pieces, and those that contain each term of the query.
    pub fn count(&mut self, pieces: u64, with: &[u64]) {
        self.pieces += pieces;
        self.with.iter_mut().zip(with).for_each(|(sum, with)| *sum += with);
    }

    /// The weight of each term in [`score`], by what was counted so far; for an index that proposes candidates.
    pub fn weights(&self) -> Vec<f64> {
        self.with.iter().map(|with| weight(self.pieces, *with)).collect()
    }

    /// Adds a message that an index counted, in its newest version.
    pub fn take_counted(&mut self, message: &Message) {
        if self.query.is_about(message) {
            let pieces = pieces(message);
            let counts = pieces.iter().map(|piece| self.occurrences(piece)).collect();
            self.add(message, pieces, counts);
        }
    }

    /// Adds and counts a message that no index counted, in its newest version.
    pub fn take_new(&mut self, message: &Message) {
        let pieces = pieces(message);
        let counts: Vec<(Vec<u32>, usize)> = pieces.iter().map(|piece| self.occurrences(piece)).collect();
        self.pieces += pieces.len() as u64;
        for (here, _) in &counts {
            self.with.iter_mut().zip(here).for_each(|(with, here)| *with += u64::from(*here > 0));
        }
        if self.query.is_about(message) {
            self.add(message, pieces, counts);
        }
    }

    /// The occurrences of each term in a piece, and its length in terms.
    fn occurrences(&self, piece: &Piece) -> (Vec<u32>, usize) {
        let mut here = vec![0; self.numbers.len()];
        let terms = piece.terms();
        for number in terms.iter().filter_map(|term| self.numbers.get(term.as_str())) {
            if let Some(here) = here.get_mut(*number) {
                *here += 1;
            }
        }
        (here, terms.len())
    }

    fn add(&mut self, message: &Message, pieces: Vec<Piece>, counts: Vec<(Vec<u32>, usize)>) {
        if counts.iter().any(|(here, _)| here.iter().any(|here| *here > 0)) {
            self.found.push(Found {
                ord: message.ord,
                id: message.id.clone(),
                turn: message.turn.clone(),
                role: Speaker::of(message),
                bytes: message.body.said().len(),
                pieces,
                counts,
            });
        }
    }

    /// Returns the page of the query.
    pub fn finish(self) -> SearchPage {
        let Self { query, with, pieces, found, .. } = self;
        let mut ranked: Vec<(f64, &Found, usize)> = Vec::new();
        for message in &found {
            let scores = message.scores(&with, pieces);
            ranked.extend(scores.into_iter().enumerate().map(|(number, score)| (score, message, number)));
        }
        ranked.retain(|(score, ..)| *score > 0.0);
        ranked.sort_by(|(a, x, i), (b, y, j)| {
            b.total_cmp(a).then_with(|| (Reverse(x.ord), i).cmp(&(Reverse(y.ord), j)))
        });
        ranked.truncate(MOST_RANKED);
        let mut shown = BTreeSet::new();
        let hits = ranked.into_iter().filter_map(|(_, message, number)| message.hit(number, &mut shown));
        let mut hits = hits.skip(query.skip);
        let page: Vec<Hit> = hits.by_ref().take(query.limit).collect();
        let next = hits.next().map(|_| query.skip + query.limit);
        SearchPage { hits: page, next }
    }
}

impl Found {
    /// The score of each piece, with the shares of those beside it; zero for a piece without a term.
    fn scores(&self, with: &[u64], pieces: u64) -> Vec<f64> {
        let of = |(here, length): &(Vec<u32>, usize)| {
            score(here.iter().copied().zip(with.iter().copied()), *length, pieces)
        };
        let own: Vec<f64> = self.counts.iter().map(of).collect();
        let near = |(at, own_score): (usize, &f64)| {
            if *own_score <= 0.0 {
                return 0.0;
            }
            let first = at.saturating_sub(REACH);
            let near = own.iter().enumerate().skip(first).take_while(|(other, _)| *other <= at + REACH);
            near.map(|(other, own)| own * BESIDE.powi(other.abs_diff(at) as i32)).sum()
        };
        own.iter().enumerate().map(near).collect()
    }

    /// The hit for a piece; `None` if better hits show its lines.
    fn hit(&self, number: usize, shown: &mut BTreeSet<String>) -> Option<Hit> {
        let this = self.pieces.get(number)?;
        if !is_new(&this.text, shown) {
            return None;
        }
        let before = number.checked_sub(1).and_then(|number| self.pieces.get(number));
        let excerpt = Piece::excerpt(before, this, self.pieces.get(number + 1));
        shown.extend(lines(&excerpt.text));
        Some(Hit {
            ord: self.ord,
            id: self.id.clone(),
            turn: self.turn.clone(),
            role: self.role,
            excerpt,
            bytes: self.bytes,
        })
    }
}

/// `true` if a piece has enough lines that better hits do not show.
fn is_new(text: &str, shown: &BTreeSet<String>) -> bool {
    let (mut all, mut new) = (0.0, 0.0);
    for line in lines(text) {
        all += 1.0;
        new += if shown.contains(&line) { 0.0 } else { 1.0 };
    }
    all == 0.0 || new >= all * LEAST_NEW
}

/// The lines of a text that count as shown.
fn lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(plain).filter(|line| line.chars().count() >= LEAST_LINE)
}

/// A line without the number that a tool printed before it, and without its indentation.
fn plain(line: &str) -> String {
    let line = line.trim();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = rest.len() < line.len() && rest.starts_with(['\t', '→', '|']);
    let line = if is_numbered { rest.trim_start_matches(['\t', '→', '|', ' ']) } else { line };
    line.to_owned()
}
