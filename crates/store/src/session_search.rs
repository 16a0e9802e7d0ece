//! Search over the sessions of a workspace, in what lists show of them and in their messages. One call searches a bounded
//! number of sessions and messages, since other jobs of the store wait meanwhile.

use crate::Store;
use crate::error::StoreError;
use crate::list::{Cursor, ListQuery, SessionRow};
use engine::search::{HITS, Hit, Query, Words, folded};

/// The most sessions that one call searches.
const MOST_SEARCHED: u32 = 64;
/// One call ends behind the session with which it has searched so many messages.
const MOST_MESSAGES: u32 = 20_000;
/// The most hits of a session.
const MOST_SHOWN: usize = 3;

/// A query for sessions by what was said in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionQuery {
    /// The workspace; `None` for all.
    pub workspace: Option<String>,
    /// The words to find.
    pub words: Words,
    /// The cursor of the page before.
    pub after: Option<Cursor>,
    /// The most sessions.
    pub limit: u32,
}

/// A session that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFound {
    /// The session.
    pub row: SessionRow,
    /// Its best messages. Empty if only its row contains the words.
    pub hits: Vec<Hit>,
}

/// A page of found sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionSearchPage {
    /// The most recently used first.
    pub sessions: Vec<SessionFound>,
    /// The cursor after the last session that was searched; `None` if that was the last of all.
    pub next: Option<Cursor>,
}

/// Searches sessions in the order of a list.
///
/// # Errors
/// Errors of the file.
pub fn search(store: &mut dyn Store, query: &SessionQuery) -> Result<SessionSearchPage, StoreError> {
    let mut found = SessionSearchPage::default();
    if query.words.is_empty() {
        return Ok(found);
    }
    let list = ListQuery {
        workspace: query.workspace.clone(),
        text: None,
        after: query.after.clone(),
        limit: MOST_SEARCHED,
    };
    let rows = store.list(&list)?;
    let (mut messages, count) = (0, rows.sessions.len());
    for (number, row) in rows.sessions.into_iter().enumerate() {
        let cursor = row.cursor();
        messages += row.messages;
        if let Some(session) = searched(store, row, &query.words)? {
            found.sessions.push(session);
        }
        let is_full = messages >= MOST_MESSAGES || found.sessions.len() >= query.limit as usize;
        if is_full && number + 1 < count {
            found.next = Some(cursor);
            return Ok(found);
        }
    }
    found.next = rows.next;
    Ok(found)
}

/// Searches one session; `None` if a word is missing.
fn searched(
    store: &mut dyn Store,
    row: SessionRow,
    words: &Words,
) -> Result<Option<SessionFound>, StoreError> {
    let query = |words: Words, limit: usize| Query { words, before: None, skip: 0, limit, hidden: true };
    let mut hits = store.search(&row.id, &query(words.clone(), HITS))?.hits;
    let of_row = [&row.title, &row.summary, &row.first_request].into_iter().flatten().map(String::as_str);
    let said = hits.iter().map(|hit| hit.excerpt.text.as_str());
    let text = joined(&folded(&of_row.chain(said).collect::<Vec<_>>().join("\n")));
    hits.truncate(MOST_SHOWN);
    // One that is half typed, or that the best messages lack, may be in another one.
    for missing in words.iter().filter(|word| !has(&text, word)) {
        let Some(hit) = store.search(&row.id, &query(Words::of(missing), 1))?.hits.pop() else {
            return Ok(None);
        };
        if !hits.iter().any(|known| known.ord == hit.ord) {
            hits.truncate(MOST_SHOWN - 1);
            hits.push(hit);
        }
    }
    Ok(Some(SessionFound { row, hits }))
}

/// `true` if a text contains a word, or all its parts. Both are folded; an underscore in a name is not compared.
fn has(text: &str, word: &str) -> bool {
    let has_parts = || {
        let parts = Words::of(word);
        !parts.terms().is_empty() && parts.terms().iter().all(|part| text.contains(part.as_str()))
    };
    text.contains(&joined(word)) || has_parts()
}

fn joined(text: &str) -> String {
    text.replace('_', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, head, message, on_each, user};
    use engine::id::SessionId;
    use engine::message::Body;
    use session::stored::Write;
    use std::sync::Arc;

    fn write(bench: &mut Bench, id: &str, texts: &[&str]) {
        let body = |ord, text: &str| if ord == 0 { user(text) } else { Body::assistant(text, Vec::new()) };
        let said = (0..)
            .zip(texts)
            .map(|(ord, text)| Write::Message { turn: 0, message: Arc::new(message(ord, body(ord, text))) });
        bench.write(id, &std::iter::once(Write::Head(Box::new(head(id)))).chain(said).collect::<Vec<_>>());
    }

    fn query(words: &str) -> SessionQuery {
        SessionQuery { workspace: None, words: Words::of(words), after: None, limit: 20 }
    }

    /// The found sessions with the ordinals of their hits, ordered by id.
    fn found(bench: &mut Bench, words: &str) -> Vec<(String, Vec<u32>)> {
        let page = search(bench.store(), &query(words)).expect("a page");
        assert_eq!(page.next, None);
        let hits = |hits: &[Hit]| hits.iter().map(|hit| hit.ord.0).collect();
        let mut found: Vec<_> =
            page.sessions.iter().map(|found| (found.row.id.as_str().to_owned(), hits(&found.hits))).collect();
        found.sort();
        found
    }

    #[test]
    fn sessions_are_found_by_all_words_in_any_message() {
        on_each(|bench| {
            write(
                bench,
                "a",
                &["Fix the parser.", "The cause was `updatePendingMessages` in é漢字.", "Done."],
            );
            write(bench, "b", &["Fix the lexer.", "The parser was fine, the tokens were not."]);
            let of = |id: &str, hits: &[u32]| (id.to_owned(), hits.to_vec());
            for (words, sessions) in [
                ("updatependingmessages", vec![of("a", &[1])]),
                ("pendingMessages,", vec![of("a", &[1])]),
                ("update_pending_messages", vec![of("a", &[1])]),
                ("ndingmess", vec![of("a", &[1])]),
                ("PARSER", vec![of("a", &[0]), of("b", &[1])]),
                ("parser tokens", vec![of("b", &[1])]),
                ("parser upda", vec![of("a", &[0, 1])]),
                ("parser done.", vec![of("a", &[2, 0])]),
                ("漢字", vec![of("a", &[1])]),
                ("parser absent", vec![]),
                (" ", vec![]),
            ] {
                assert_eq!(found(bench, words), sessions, "{words}");
            }
        });
    }

    #[test]
    fn pages_end_after_a_bounded_number_of_sessions_and_hits() {
        on_each(|bench| {
            for n in 0..70 {
                write(bench, &format!("s{n:02}"), if n % 10 == 0 { &["needle"] } else { &["hay"] });
            }
            let mut query = query("needle");
            let (mut found, mut pages) = (Vec::new(), 0);
            loop {
                let page = search(bench.store(), &query).expect("a page");
                found.extend(page.sessions.into_iter().map(|found| found.row.id));
                pages += 1;
                query.after = page.next;
                if query.after.is_none() {
                    break;
                }
            }
            found.sort();
            let all: Vec<SessionId> = (0..7).map(|n| SessionId::new(format!("s{n}0"))).collect();
            assert_eq!((found, pages), (all, 2));
            query.limit = 1;
            let page = search(bench.store(), &query).expect("a page");
            assert_eq!((page.sessions.len(), page.next.is_some()), (1, true));
        });
    }
}
