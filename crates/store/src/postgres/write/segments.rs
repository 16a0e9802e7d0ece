//! Segments: where the rows of messages, turns and compactions are. A session writes into a segment of its own. A branch
//! and a revision have ranges of rows in the segments of their session instead of copies.
//!
//! A row that another session has, too, is never changed. Before a session changes one, the row is copied into its own
//! segment ([`own`]); if its own segment is what others have rows in, it goes on in a new one. A segment that nobody
//! writes any more goes away with the last session that has rows in it ([`drop_unused`]).

use super::blobs::{self, QUEUED};
use super::known::{Known, Share};
use super::{SessionWriter, of, search};
use crate::Deleted;
use crate::postgres::fault::Done;
use crate::postgres::read::places::{RowKind, in_places};
use crate::postgres::read::rows;
use crate::postgres::tx::{Statement, Tx};
use crate::postgres::value::{Value, number, text, values};
use engine::id::SessionId;
use session::renaming::Renaming;
use std::collections::BTreeSet;
use std::ops::Range;
use tokio_postgres::Row;
use uuid::Uuid;

/// Which versions of a message are copied.
#[derive(Clone, Copy)]
enum Versions<'r> {
    All,
    /// That of this row.
    Newest(&'r Row),
}

/// Makes a segment with ids of the session `named`. A session that is made may have the id of one that was deleted, whose
/// segment others still have rows in; so only the caller knows whether the name is free.
pub(super) fn create(tx: &mut Tx<'_>, id: &SessionId, named: &str, is_free: bool) -> String {
    // The end of a time-ordered id is random.
    let random = Uuid::now_v7().as_u128() & 0xffff_ffff_ffff;
    let name = if is_free { id.as_str().to_owned() } else { format!("{id}#{random:012x}") };
    tx.push("INSERT INTO segments (tenant, id, named) VALUES ($1, $2, $3)", values![&name, named]);
    name
}

/// The ranges of a session's positions in its own segment.
fn own_ranges(known: &Known, kind: RowKind) -> Vec<Range<u32>> {
    let mut ranges = Vec::new();
    let mut at = 0;
    for share in known.shares.iter().filter(|share| share.kind == kind) {
        if at < share.range.start {
            ranges.push(at..share.range.start);
        }
        at = share.range.end;
    }
    // More rows may follow there.
    let end = known.ends[kind as usize];
    if at < end {
        ranges.push(at..end);
    }
    ranges
}

/// Everything that a session has so far, as shares of another one, before this position.
fn all_shares(known: &Known, kind: RowKind, limit: u32) -> Vec<Share> {
    let own = own_ranges(known, kind).into_iter().map(|range| Share {
        kind,
        range,
        segment: known.segment.clone(),
        named: known.named.clone(),
    });
    let mut shares: Vec<Share> =
        known.shares.iter().filter(|share| share.kind == kind).cloned().chain(own).collect();
    shares.iter_mut().for_each(|share| share.range.end = share.range.end.min(limit));
    shares.retain(|share| !share.range.is_empty());
    shares.sort_by_key(|share| share.range.start);
    shares
}

fn insert_share(tx: &mut Tx<'_>, session: &SessionId, share: &Share) {
    tx.push(
        "INSERT INTO shares (tenant, session, kind, start, until, segment) VALUES ($1, $2, $3, $4, $5, $6)",
        values![session.as_str(), share.kind.word(), share.range.start, share.range.end, &share.segment],
    );
}

/// How far another session shares messages, turns and compactions: the first position that is not shared.
pub(super) type Limits = [u32; 3];

/// The limits of a session that shares everything.
pub(super) const EVERYTHING: Limits = [u32::MAX; 3];

/// Gives a new session the rows of another one before these limits.
pub(super) fn share(
    writer: &mut SessionWriter<'_, '_>,
    from: &SessionId,
    to: &SessionId,
    limits: Limits,
) -> Done {
    for (kind, limit) in RowKind::ALL.into_iter().zip(limits) {
        let lender = of(&mut writer.known, from)?;
        let shares = all_shares(lender, kind, limit);
        let lent = shares.iter().filter(|share| share.segment == lender.segment);
        let lent: Vec<_> = lent.map(|share| (kind, share.range.clone())).collect();
        lender.lent.extend(lent);
        shares.iter().for_each(|share| insert_share(writer.tx, to, share));
        let borrower = of(&mut writer.known, to)?;
        borrower.is_new &= shares.is_empty();
        borrower.shares.extend(shares);
    }
    let [.., records] = limits;
    writer.tx.push(
        "INSERT INTO compaction_statuses (tenant, session, n, status)
         SELECT tenant, $3, n, status FROM compaction_statuses WHERE tenant = $1 AND session = $2 AND n < $4",
        values![from.as_str(), to.as_str(), records],
    );
    Ok(())
}

/// The segment in which a session may write the row at this position. All versions of the row are there from now on, if
/// there are any.
pub(super) async fn own(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    kind: RowKind,
    at: u32,
) -> Done<String> {
    let known = of(&mut writer.known, session)?;
    if known.is_lent(kind, at) {
        go_on(writer.tx, known);
    }
    if known.share_at(kind, at).is_some() {
        copy(writer, session, kind, at, Versions::All).await?;
    }
    let known = of(&mut writer.known, session)?;
    let end = &mut known.ends[kind as usize];
    *end = (*end).max(at.saturating_add(1));
    Ok(known.segment.clone())
}

/// Lets a session write a new segment; it has the rows of the one before as others do.
fn go_on(tx: &mut Tx<'_>, known: &mut Known) {
    let new = create(tx, &known.id, &known.named, false);
    for kind in RowKind::ALL {
        for range in own_ranges(known, kind) {
            let share = Share { kind, range, segment: known.segment.clone(), named: known.named.clone() };
            insert_share(tx, &known.id, &share);
            known.shares.push(share);
        }
    }
    known.shares.sort_by_key(|share| (share.kind, share.range.start));
    let id = known.id.as_str();
    tx.push("UPDATE chat_sessions SET segment = $3 WHERE tenant = $1 AND id = $2", values![id, &new]);
    tx.push(
        "UPDATE blob_refs SET segment = $3 WHERE tenant = $1 AND segment = $2 AND owner = $4",
        values![&known.segment, &new, QUEUED],
    );
    (known.segment, known.ends) = (new, [0; 3]);
    known.lent.clear();
    known.refs.clear();
}

/// Copies a row and the references to its contents into the own segment, under the session's ids. From now on it is the
/// session's own.
async fn copy(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    kind: RowKind,
    at: u32,
    versions: Versions<'_>,
) -> Done {
    let known = of(&mut writer.known, session)?;
    let Some(place) = known.share_at(kind, at) else { return Ok(()) };
    let share = known.shares.remove(place);
    let renaming = Renaming::between(&share.named, &known.named);
    match kind {
        RowKind::Messages => {
            copy_message(writer.tx, known, at, &share, renaming.as_ref(), versions).await?;
            known.refs.remove(&at);
            if renaming.is_some() || matches!(versions, Versions::Newest(_)) {
                known.versions.remove(&at);
            }
        }
        RowKind::Turns => copy_turn(writer.tx, known, at, &share, renaming.is_some()),
        // A record never changes; its status is beside it.
        RowKind::Compactions => {}
    }
    let gone = "DELETE FROM shares WHERE tenant = $1 AND session = $2 AND kind = $3 AND start = $4";
    writer.tx.push(gone, values![session.as_str(), kind.word(), share.range.start]);
    for range in [share.range.start..at, at.saturating_add(1)..share.range.end] {
        if !range.is_empty() {
            let part = Share { range, ..share.clone() };
            insert_share(writer.tx, session, &part);
            known.shares.push(part);
        }
    }
    known.shares.sort_by_key(|share| (share.kind, share.range.start));
    release(writer, &share.segment, kind, at);
    Ok(())
}

async fn copy_message(
    tx: &mut Tx<'_>,
    known: &Known,
    at: u32,
    share: &Share,
    renaming: Option<&Renaming>,
    versions: Versions<'_>,
) -> Done {
    let newest = matches!(versions, Versions::Newest(_));
    // Raw, so that what is unreadable there is so here.
    tx.push(
        "INSERT INTO chat_messages (tenant, segment, ord, rev, turn, role, external_id, message_id, turn_id, visible,
             created_at, tokens, hash, check_sum, body, shown)
         SELECT tenant, $4, ord, rev, turn, role, external_id, message_id, turn_id, visible, created_at, tokens, hash,
             check_sum, body, shown FROM chat_messages m WHERE tenant = $1 AND segment = $2 AND ord = $3
             AND (NOT $5 OR NOT EXISTS (SELECT 1 FROM chat_messages n
                 WHERE n.tenant = $1 AND n.segment = $2 AND n.ord = $3 AND n.rev > m.rev))",
        values![&share.segment, at, &known.segment, newest],
    );
    tx.push(
        "INSERT INTO blob_refs (tenant, segment, owner, n, rev, hash)
         SELECT b.tenant, $4, b.owner, b.n, b.rev, b.hash FROM blob_refs b
         WHERE b.tenant = $1 AND b.segment = $2 AND b.owner = 'message' AND b.n = $3
             AND EXISTS (SELECT 1 FROM chat_messages m
                 WHERE m.tenant = $1 AND m.segment = $4 AND m.ord = $3 AND m.rev = b.rev)",
        values![&share.segment, at, &known.segment],
    );
    search::changed(tx, &known.segment, at);
    let Some(renaming) = renaming else { return Ok(()) };
    let all;
    let copied = match versions {
        Versions::Newest(row) => std::slice::from_ref(row),
        Versions::All => {
            let sql = format!(
                "SELECT {} FROM chat_messages r, (SELECT ''::text AS named, ''::text AS own) p
                 WHERE r.tenant = $1 AND r.segment = $2 AND r.ord = $3",
                rows::MESSAGE
            );
            all = tx.query(sql, values![&known.segment, at]).await?;
            &all[..]
        }
    };
    for row in copied {
        let renamed = rows::renamed(row, renaming);
        let Ok((rev, id, turn, check_sum)) = renamed else { continue };
        tx.push(
            "UPDATE chat_messages SET message_id = $5, turn_id = $6, check_sum = $7
             WHERE tenant = $1 AND segment = $2 AND ord = $3 AND rev = $4",
            values![&known.segment, at, rev, id, turn, check_sum],
        );
    }
    Ok(())
}

fn copy_turn(tx: &mut Tx<'_>, known: &Known, at: u32, share: &Share, is_renamed: bool) {
    let (from, to) = (format!("{}/", share.named), format!("{}/", known.named));
    // A session does not take over what another one decided.
    tx.push(
        "INSERT INTO chat_turns (tenant, segment, idx, id, status, started, decided, figures)
         SELECT tenant, $4, idx,
             CASE WHEN left(id, length($5)) = $5 THEN $6 || substr(id, length($5) + 1) ELSE id END,
             status, started, CASE WHEN $7 THEN '[]' ELSE decided END, figures
         FROM chat_turns WHERE tenant = $1 AND segment = $2 AND idx = $3",
        values![&share.segment, at, &known.segment, from, to, is_renamed],
    );
}

/// Selects the messages of a session that were edited, with the columns of [`rows::MESSAGE`]: their newest versions.
pub(super) fn edited(tx: &Tx<'_>, session: &SessionId) -> Statement {
    let newest = "AND r.rev > 0 AND NOT EXISTS (SELECT 1 FROM chat_messages n
         WHERE n.tenant = $1 AND n.segment = r.segment AND n.ord = r.ord AND n.rev > r.rev)";
    let sql = in_places(RowKind::Messages, rows::MESSAGE, newest, "ORDER BY r.ord");
    tx.of_tenant(sql, values![session.as_str()])
}

/// Gives a session only the newest version of what it shares, by the rows of [`edited`]: what its session changed was
/// never the branch's.
pub(super) async fn forget_versions(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    edited: &[Row],
) -> Done {
    for row in edited {
        let at = number(row, 0)?;
        copy(writer, session, RowKind::Messages, at, Versions::Newest(row)).await?;
        let end = &mut of(&mut writer.known, session)?.ends[RowKind::Messages as usize];
        *end = (*end).max(at.saturating_add(1));
    }
    Ok(())
}

/// `true` if a session alone has the row at this position, which it may change in place.
pub(super) fn is_its_alone(known: &Known, kind: RowKind, at: u32) -> bool {
    !known.is_lent(kind, at) && known.share_at(kind, at).is_none()
}

/// Removes a session's rows of a kind from a position on; those that others have stay with them.
pub(super) fn cut(writer: &mut SessionWriter<'_, '_>, session: &SessionId, kind: RowKind, from: u32) -> Done {
    let known = of(&mut writer.known, session)?;
    if known.lent.iter().any(|(of, range)| *of == kind && range.end > from) {
        go_on(writer.tx, known);
    }
    if known.ends[kind as usize] > from {
        push_all(writer.tx, deletion(&known.segment, Some(kind), from, Gone::All));
        writer.contents.clear();
        known.ends[kind as usize] = from;
    }
    let (behind, mut stay): (Vec<_>, Vec<_>) =
        known.shares.drain(..).partition(|share| share.kind == kind && share.range.end > from);
    if behind.is_empty() {
        known.shares = stay;
        return Ok(());
    }
    let of = values![session.as_str(), kind.word(), from];
    writer.tx.push(
        "DELETE FROM shares WHERE tenant = $1 AND session = $2 AND kind = $3 AND start >= $4",
        of.clone(),
    );
    writer.tx.push(
        "UPDATE shares SET until = $4 WHERE tenant = $1 AND session = $2 AND kind = $3 AND until > $4",
        of,
    );
    let segments: BTreeSet<String> = behind.iter().map(|share| share.segment.clone()).collect();
    let cut = |share: Share| Share { range: share.range.start..share.range.end.min(from), ..share };
    stay.extend(behind.into_iter().map(cut).filter(|share| !share.range.is_empty()));
    stay.sort_by_key(|share| (share.kind, share.range.start));
    known.shares = stay;
    for segment in segments {
        release(writer, &segment, kind, from);
    }
    Ok(())
}

/// Forgets where a session has its rows, before its own row is deleted. Returns the segments that it had some in.
pub(super) async fn forget(tx: &mut Tx<'_>, session: &SessionId) -> Done<BTreeSet<String>> {
    tx.push("DELETE FROM compaction_statuses WHERE tenant = $1 AND session = $2", values![session.as_str()]);
    let gone = "DELETE FROM shares WHERE tenant = $1 AND session = $2 RETURNING segment";
    let own = "SELECT segment FROM chat_sessions WHERE tenant = $1 AND id = $2";
    let asked = [gone, own].map(|sql| tx.of_tenant(sql, values![session.as_str()]));
    let rows = tx.queries(asked.into()).await?;
    Ok(rows.iter().flatten().map(|row| text(row, 0)).collect::<Result<_, _>>()?)
}

/// Which rows of a segment go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gone {
    All,
    /// Those that no session has, unless one still writes the segment.
    Unused,
}

/// What the answer to a statement of a deletion says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    Nothing,
    Rows(RowKind),
    /// A row with the size of each deleted content.
    Blobs,
}

/// A statement whose first parameters are the tenant, a segment and a position.
type Deletion = (Counted, String, Vec<Value>);

/// The ranges of positions from `$3` on whose rows go, as a table `gone`. Without a kind, all positions of a segment that
/// nobody needs.
fn ranges(kind: Option<RowKind>, gone: Gone) -> String {
    let unwritten = "NOT EXISTS (SELECT 1 FROM chat_sessions w WHERE w.tenant = $1 AND w.segment = $2)";
    match (kind, gone) {
        (_, Gone::All) => "WITH gone (start, until) AS (SELECT $3::bigint, 4294967296)".to_owned(),
        (Some(kind), Gone::Unused) => format!(
            "WITH shared (start, until) AS (
                 SELECT start, until FROM shares WHERE tenant = $1 AND segment = $2 AND kind = '{}'
                 UNION ALL SELECT 4294967296, 4294967296),
             gone (start, until) AS (
                 SELECT greatest($3::bigint, max(until) OVER (ORDER BY start, until
                     ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)), start FROM shared WHERE {unwritten})",
            kind.word()
        ),
        (None, Gone::Unused) => format!(
            "WITH gone (start, until) AS (SELECT -9223372036854775808 + $3::bigint, 9223372036854775807
                 WHERE NOT EXISTS (SELECT 1 FROM shares h WHERE h.tenant = $1 AND h.segment = $2) AND {unwritten})"
        ),
    }
}

/// The statements that delete rows of a segment with what they refer to; without a kind, references alone. A content is
/// locked first, so that those who refer to it are seen by the statement that deletes it.
fn deletion(segment: &str, kind: Option<RowKind>, from: u32, gone: Gone) -> Vec<Deletion> {
    let ranges = ranges(kind, gone);
    let mut statements = Vec::new();
    let owner = kind.map(RowKind::owner);
    if owner != Some(None) {
        let owner = owner.flatten().map_or_else(String::new, |owner| format!("AND b.owner = '{owner}'"));
        let refs =
            format!("b.tenant = $1 AND b.segment = $2 {owner} AND b.n >= gone.start AND b.n < gone.until");
        let lock = format!(
            "{ranges} SELECT hash FROM blobs WHERE tenant = $1
                 AND hash IN (SELECT b.hash FROM gone JOIN blob_refs b ON {refs}) ORDER BY hash FOR UPDATE"
        );
        let drop = format!(
            "{ranges}, refs AS (DELETE FROM blob_refs b USING gone WHERE {refs} RETURNING b.owner, b.n, b.rev, b.hash)
             DELETE FROM blobs b WHERE b.tenant = $1 AND b.hash IN (SELECT hash FROM refs)
                 AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.tenant = $1 AND r.hash = b.hash
                     AND NOT (r.segment = $2 AND (r.owner, r.n, r.rev, r.hash) IN (SELECT * FROM refs)))
                 AND NOT EXISTS (SELECT 1 FROM chat_sessions s WHERE s.tenant = $1 AND s.prefix = b.hash)
             RETURNING size"
        );
        statements.extend([(Counted::Nothing, lock), (Counted::Blobs, drop)]);
    }
    if let Some(kind) = kind {
        let (table, position) = kind.table();
        let rows = format!(
            "{ranges}, rows AS (DELETE FROM {table} r USING gone WHERE r.tenant = $1 AND r.segment = $2
                 AND r.{position} >= gone.start AND r.{position} < gone.until RETURNING 1)
             SELECT count(*) FROM rows"
        );
        statements.push((Counted::Rows(kind), rows));
        if kind == RowKind::Messages {
            statements.extend(search::forget(&ranges).map(|sql| (Counted::Nothing, sql)));
        }
    }
    statements.into_iter().map(|(counted, sql)| (counted, sql, values![segment, from])).collect()
}

/// The statements that delete what no session has of a segment, of these kinds and from this position on. Of two that do
/// so at once, the second one waits at the segment's row, and sees what the first one left.
fn unused(segment: &str, kinds: &[RowKind], from: u32) -> Vec<Deletion> {
    let lock = "SELECT id FROM segments WHERE tenant = $1 AND id = $2 FOR UPDATE".to_owned();
    let last = "DELETE FROM segments g WHERE g.tenant = $1 AND g.id = $2
         AND NOT EXISTS (SELECT 1 FROM shares h WHERE h.tenant = $1 AND h.segment = $2)
         AND NOT EXISTS (SELECT 1 FROM chat_sessions w WHERE w.tenant = $1 AND w.segment = $2)";
    let mut statements = vec![(Counted::Nothing, lock, values![segment])];
    for kind in kinds {
        statements.extend(deletion(segment, Some(*kind), from, Gone::Unused));
    }
    statements.extend(deletion(segment, None, 0, Gone::Unused));
    statements.push((Counted::Nothing, last.to_owned(), values![segment]));
    statements
}

fn push_all(tx: &mut Tx<'_>, statements: Vec<Deletion>) {
    for (_, sql, values) in statements {
        tx.push(sql, values);
    }
}

/// Deletes the rows of a segment from a position on that no session has, after a session gave some up.
fn release(writer: &mut SessionWriter<'_, '_>, segment: &str, kind: RowKind, from: u32) {
    push_all(writer.tx, unused(segment, &[kind], from));
    // Which contents went with them is not known here.
    writer.contents.clear();
}

/// Deletes all rows of a segment that no session has, and counts them.
pub(super) async fn drop_unused(tx: &mut Tx<'_>, segment: &str) -> Done<Deleted> {
    let (mut counted, mut asked): (Vec<Counted>, Vec<Statement>) = Default::default();
    for (what, sql, values) in unused(segment, &RowKind::ALL, 0) {
        counted.push(what);
        asked.push(tx.of_tenant(sql, values));
    }
    let mut deleted = Deleted::default();
    for (what, rows) in counted.into_iter().zip(tx.queries(asked).await?) {
        for row in &rows {
            match what {
                Counted::Nothing => {}
                Counted::Rows(RowKind::Messages) => deleted.messages += number::<u32>(row, 0)?,
                Counted::Rows(RowKind::Turns) => deleted.turns += number::<u32>(row, 0)?,
                Counted::Rows(RowKind::Compactions) => deleted.compactions += number::<u32>(row, 0)?,
                Counted::Blobs => blobs::count(&mut deleted, row)?,
            }
        }
    }
    Ok(deleted)
}

/// Adds the number of a session's messages and turns from these positions on to its counts, or takes it off them. The
/// versions of a message count once.
pub(super) fn count(tx: &mut Tx<'_>, session: &SessionId, sign: char, [messages, turns]: [u32; 2]) {
    let number = |kind: RowKind, parameter: &str| {
        let (_, position) = kind.table();
        let more = format!("AND r.{position} >= {parameter}");
        in_places(kind, &format!("count(DISTINCT r.{position})"), &more, "")
    };
    let (of_messages, of_turns) = (number(RowKind::Messages, "$3"), number(RowKind::Turns, "$4"));
    let sql = format!(
        "UPDATE chat_activity SET messages = messages {sign} ({of_messages}), turns = turns {sign} ({of_turns})
         WHERE tenant = $1 AND session = $2"
    );
    tx.push(sql, values![session.as_str(), messages, turns]);
}
