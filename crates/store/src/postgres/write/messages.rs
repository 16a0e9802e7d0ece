//! Messages and turns, and what their session says of them: counts, its first request.

use super::blobs::{self, put_for};
use super::known::Version;
use super::segments::{self, own};
use super::{SessionWriter, of, search};
use crate::blob::split;
use crate::postgres::fault::{Done, refused};
use crate::postgres::read::contents::{Contents, decoded};
use crate::postgres::read::places::{RowKind, in_places};
use crate::postgres::read::rows;
use crate::postgres::value::values;
use crate::request_of;
use crate::row::{MessageRow, word};
use engine::id::{Ordinal, SessionId};
use engine::message::Message;
use session::stored::TurnRow;

pub(super) async fn append(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    turn: u32,
    message: &Message,
) -> Done {
    let (body, blobs) = split(&message.body).map_err(|error| refused(session, error.to_string()))?;
    let row = MessageRow::of(turn, message, &body);
    let is_behind = of(&mut writer.known, session)?.ends[RowKind::Messages as usize] > row.ord;
    let segment = own(writer, session, RowKind::Messages, row.ord).await?;
    let known = of(&mut writer.known, session)?;
    known.know_versions(writer.tx, row.ord).await?;
    let versions = known.versions.entry(row.ord).or_default();
    let check_sum = row.check_sum();
    if let Some(there) = versions.get_mut(&row.rev) {
        if there.check_sum == check_sum {
            return Ok(());
        }
        // The editor's id of a message may become known later.
        if row.external_id.is_some() && !there.has_external_id && there.hash == row.hash {
            (there.check_sum, there.has_external_id) = (check_sum, true);
            known.change.rewrites += 1;
            writer.tx.push(
                "UPDATE chat_messages SET external_id = $5, check_sum = $6
                 WHERE tenant = $1 AND segment = $2 AND ord = $3 AND rev = $4",
                values![segment, row.ord, row.rev, row.external_id, check_sum],
            );
            return Ok(());
        }
        let reason = format!("message {} (revision {}) exists with other content", row.ord, row.rev);
        return Err(refused(session, reason));
    }
    let has_external_id = row.external_id.is_some();
    versions.insert(row.rev, Version { check_sum, hash: row.hash.to_owned(), has_external_id });
    let is_edit = versions.len() > 1;
    let is_newest = versions.last_key_value().is_some_and(|(newest, _)| *newest == row.rev);
    if is_edit {
        known.change.rewrites += 1;
    } else {
        known.change.messages += 1;
    }
    writer.tx.push(
        "INSERT INTO chat_messages (tenant, segment, ord, rev, turn, role, external_id, message_id, turn_id, visible,
             created_at, tokens, hash, check_sum, body, shown)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
        values![
            &segment,
            row.ord,
            row.rev,
            row.turn,
            row.role,
            row.external_id,
            row.message_id,
            row.turn_id,
            row.visible,
            row.created_at,
            row.tokens,
            row.hash,
            check_sum,
            row.body,
            row.shown.as_deref(),
        ],
    );
    put_for(writer, &segment, ("message", row.ord, row.rev), &blobs);
    if is_behind {
        search::changed(writer.tx, &segment, row.ord);
    }
    if is_newest {
        follow_requests(writer, session, message, is_edit).await?;
    }
    Ok(())
}

/// Updates the beginning of the first request, from its newest version.
async fn follow_requests(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    message: &Message,
    is_edit: bool,
) -> Done {
    let (known, ord) = (of(&mut writer.known, session)?, message.ord.0);
    if let Some(request) = request_of(message) {
        if known.first_request.is_none_or(|first| first >= ord) {
            set_first_request(writer, session, Some((request, ord)))?;
        }
        return Ok(());
    }
    if !is_edit || known.first_request != Some(ord) {
        return Ok(());
    }
    let more =
        "AND r.ord > $3 AND r.role = 'user' AND r.visible AND NOT EXISTS (SELECT 1 FROM chat_messages n
         WHERE n.tenant = $1 AND n.segment = r.segment AND n.ord = r.ord AND n.rev > r.rev)";
    let sql = in_places(RowKind::Messages, rows::MESSAGE, more, "ORDER BY r.ord LIMIT 8");
    let mut first = None;
    let mut behind = ord;
    while first.is_none() {
        let found = writer.tx.query(sql.clone(), values![session.as_str(), behind]).await?;
        // An unreadable message cannot be shown.
        let later = decoded(writer.tx, &mut Contents::default(), |contents| {
            found.iter().map(|row| rows::message(row, contents)).collect::<Vec<_>>()
        })
        .await?;
        first = later.iter().flatten().find_map(|(_, later)| Some((request_of(later)?, later.ord.0)));
        match later.iter().flatten().next_back() {
            Some((_, last)) => behind = last.ord.0,
            None => break,
        }
    }
    set_first_request(writer, session, first)
}

fn set_first_request(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    first: Option<(String, u32)>,
) -> Done {
    let (request, ord) = first.unzip();
    of(&mut writer.known, session)?.first_request = ord;
    writer.tx.push(
        "UPDATE chat_sessions SET first_request = $3, first_request_ord = $4 WHERE tenant = $1 AND id = $2",
        values![session.as_str(), request.as_deref(), ord],
    );
    Ok(())
}

/// Replaces all versions of the message at this position by a shortened one, and deletes their contents.
pub(super) async fn replace(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    turn: u32,
    message: &Message,
) -> Done {
    let ord = message.ord.0;
    let segment = own(writer, session, RowKind::Messages, ord).await?;
    let known = of(&mut writer.known, session)?;
    known.know_versions(writer.tx, ord).await?;
    if known.versions.get(&ord).is_none_or(|versions| versions.is_empty()) {
        return Err(refused(session, format!("no message at position {ord}")));
    }
    let refs = known.refs_of(writer.tx, ord).await?;
    known.versions.insert(ord, Default::default());
    // `append` counts the new message.
    known.change.messages -= 1;
    known.change.rewrites += 1;
    if !refs.is_empty() {
        let gone =
            "DELETE FROM blob_refs WHERE tenant = $1 AND segment = $2 AND owner = 'message' AND n = $3";
        writer.tx.push(gone, values![&segment, ord]);
    }
    let gone = "DELETE FROM chat_messages WHERE tenant = $1 AND segment = $2 AND ord = $3";
    writer.tx.push(gone, values![&segment, ord]);
    append(writer, session, turn, message).await?;
    blobs::drop_unused(writer, &refs);
    follow_requests(writer, session, message, true).await
}

/// Deletes messages from `from` on and turns from `turns` on.
pub(super) fn truncate(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    from: Ordinal,
    turns: u32,
) -> Done {
    segments::count(writer.tx, session, '-', [from.0, turns]);
    segments::cut(writer, session, RowKind::Messages, from.0)?;
    segments::cut(writer, session, RowKind::Turns, turns)?;
    let known = of(&mut writer.known, session)?;
    known.change.rewrites += 1;
    known.forget_from(from, turns);
    if known.first_request.is_some_and(|first| first >= from.0) {
        set_first_request(writer, session, None)?;
    }
    Ok(())
}

pub(super) async fn write_turn(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    turn: &TurnRow,
) -> Done {
    let json = |error: serde_json::Error| refused(session, error.to_string());
    let decided = serde_json::to_string(&turn.decided).map_err(json)?;
    let figures = serde_json::to_string(&turn.figures).map_err(json)?;
    let known = of(&mut writer.known, session)?;
    let is_there = known.has_turn(writer.tx, turn.index).await?;
    let segment = own(writer, session, RowKind::Turns, turn.index).await?;
    let known = of(&mut writer.known, session)?;
    known.turns.insert(turn.index, true);
    known.change.turns += i64::from(!is_there);
    writer.tx.push(
        "INSERT INTO chat_turns (tenant, segment, idx, id, status, started, decided, figures)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (tenant, segment, idx) DO UPDATE SET id = excluded.id, status = excluded.status,
             started = excluded.started, decided = excluded.decided, figures = excluded.figures",
        values![
            segment,
            turn.index,
            turn.id.as_str(),
            word(&turn.status),
            turn.started.map(|ord| ord.0),
            decided,
            figures,
        ],
    );
    Ok(())
}
