//! Search in the messages of a session. The store gives all of them, `engine::search` scores and orders them, so the order
//! of hits is that of every other store.

use super::contents::{Contents, decoded};
use super::rows::{self, Rows};
use crate::postgres::fault::Done;
use crate::postgres::tx::Tx;
use engine::id::SessionId;
use engine::message::Message;
use engine::search::{self, Query, SearchPage};

/// See [`crate::Store::search`].
pub(in crate::postgres) async fn search(
    tx: &mut Tx<'_>,
    session: &SessionId,
    query: &Query,
) -> Done<SearchPage> {
    if query.words.is_empty() {
        return Ok(SearchPage::default());
    }
    let asked = vec![rows::messages_in(tx, session, 0, u32::MAX)];
    let found = tx.queries(asked).await?;
    let rows = Rows { messages: &found[0], ..Rows::of(session, &[]) };
    let messages = decoded(tx, &mut Contents::default(), |contents| {
        // An unreadable message cannot be found.
        let read = |row| rows::message(row, contents).ok();
        rows.newest().filter_map(read).collect::<Vec<_>>()
    })
    .await?;
    let newest = messages.iter().rev().map(|(_, message)| &**message as &Message);
    Ok(search::find(newest, query))
}
