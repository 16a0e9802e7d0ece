//! The rows of a session, and the values in them.

use super::contents::Contents;
use super::places::{RowKind, in_places};
use crate::blob::check_sum;
use crate::blob::join;
use crate::lost::{FoundOrLost, Left, Lost, Parts, in_order};
use crate::postgres::fault::Done;
use crate::postgres::tx::{Statement, Tx};
use crate::postgres::value::{boolean, bytes, number, number_or_null, text, text_or_null, values};
use crate::row::{CHANGED, MessageRow, compaction_sum, json, named_sum, time, variant};
use engine::compact::record::{Compaction, Status};
use engine::id::{Generation, Ordinal, SessionId, TurnId};
use engine::message::{Message, Text};
use session::queue::{Accepted, QueueItem};
use session::renaming::Renaming;
use session::stored::{Head, Prefix, Streamed, TurnRow};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio_postgres::Row;

const HEAD: &str = "SELECT s.workspace, s.title, s.driver, s.kind, s.parent, s.work_scope, s.generation, s.cuts, s.settings,
         s.prefix, s.created_at, a.updated_at, s.title_from, s.origin, a.accepted, a.carried, s.waits, b.bytes,
         a.messages
     FROM chat_sessions s LEFT JOIN chat_activity a ON a.tenant = s.tenant AND a.session = s.id
     LEFT JOIN blobs b ON b.tenant = s.tenant AND b.hash = s.prefix WHERE s.tenant = $1 AND s.id = $2";

/// The columns of a message, behind which are the ids of its segment and of the session.
pub(in crate::postgres) const MESSAGE: &str =
    "r.ord, r.rev, r.turn, r.role, r.external_id, r.message_id, r.turn_id, r.visible,
     r.created_at, r.tokens, r.hash, r.body, r.check_sum, r.shown, p.named, p.own";

const TURN: &str = "r.idx, r.id, r.status, r.started, r.decided, r.figures, p.named, p.own";

/// The columns of a record, with the status that the session has of it.
pub(in crate::postgres) const RECORD: &str = "r.n, coalesce((SELECT t.status FROM compaction_statuses t
     WHERE t.tenant = $1 AND t.session = $2 AND t.n = r.n), r.status), r.block, r.record, r.check_sum, p.named, p.own";

const QUEUE: &str =
    "SELECT n, id, check_sum, item FROM chat_queue WHERE tenant = $1 AND session = $2 ORDER BY n";
const KEYS: &str =
    "SELECT n, key, check_sum, accepted FROM chat_keys WHERE tenant = $1 AND session = $2 ORDER BY n";
const DRAFT: &str =
    "SELECT 0::bigint, 'draft', check_sum, draft FROM chat_drafts WHERE tenant = $1 AND session = $2";
const STREAMED: &str = "SELECT n, check_sum, piece FROM chat_streamed
     WHERE tenant = $1 AND session = $2 AND n >= $3 ORDER BY n";

pub(in crate::postgres) fn head_of(tx: &Tx<'_>, session: &SessionId) -> Statement {
    tx.of_tenant(HEAD, values![session.as_str()])
}

/// The versions of the messages in a range.
pub(in crate::postgres) fn messages_in(tx: &Tx<'_>, session: &SessionId, from: u32, until: u32) -> Statement {
    let sql =
        in_places(RowKind::Messages, MESSAGE, "AND r.ord >= $3 AND r.ord < $4", "ORDER BY r.ord, r.rev");
    tx.of_tenant(sql, values![session.as_str(), from, until])
}

pub(in crate::postgres) fn turns_from(tx: &Tx<'_>, session: &SessionId, from: u32) -> Statement {
    let sql = in_places(RowKind::Turns, TURN, "AND r.idx >= $3", "ORDER BY r.idx");
    tx.of_tenant(sql, values![session.as_str(), from])
}

/// The turns from that of the message at this position on, and maybe some before it.
pub(in crate::postgres) fn turns_at(tx: &Tx<'_>, session: &SessionId, from: Ordinal) -> Statement {
    let more = "AND r.idx >= coalesce((SELECT min(m.turn) FROM chat_messages m
             WHERE m.tenant = $1 AND m.ord = $3 AND m.segment IN (
                 SELECT s.segment FROM chat_sessions s WHERE s.tenant = $1 AND s.id = $2 UNION ALL
                 SELECT h.segment FROM shares h WHERE h.tenant = $1 AND h.session = $2 AND h.kind = 'messages')), 0)";
    let sql = in_places(RowKind::Turns, TURN, more, "ORDER BY r.idx");
    tx.of_tenant(sql, values![session.as_str(), from.0])
}

pub(in crate::postgres) fn records(tx: &Tx<'_>, session: &SessionId) -> Statement {
    tx.of_tenant(in_places(RowKind::Compactions, RECORD, "", "ORDER BY r.n"), values![session.as_str()])
}

pub(in crate::postgres) fn queued(tx: &Tx<'_>, session: &SessionId) -> Statement {
    tx.of_tenant(QUEUE, values![session.as_str()])
}

pub(in crate::postgres) fn keys(tx: &Tx<'_>, session: &SessionId) -> Statement {
    tx.of_tenant(KEYS, values![session.as_str()])
}

pub(in crate::postgres) fn draft(tx: &Tx<'_>, session: &SessionId) -> Statement {
    tx.of_tenant(DRAFT, values![session.as_str()])
}

pub(in crate::postgres) fn streamed_from(tx: &Tx<'_>, session: &SessionId, from: u64) -> Statement {
    tx.of_tenant(STREAMED, values![session.as_str(), from])
}

/// All of a session but messages before `from`, for [`Rows::of`].
pub(in crate::postgres) fn whole(tx: &Tx<'_>, session: &SessionId, from: Ordinal) -> Vec<Statement> {
    vec![
        head_of(tx, session),
        turns_from(tx, session, 0),
        messages_in(tx, session, from.0, u32::MAX),
        records(tx, session),
        queued(tx, session),
        keys(tx, session),
        draft(tx, session),
        streamed_from(tx, session, 0),
    ]
}

/// The rows of a session, by table.
#[derive(Debug)]
pub(in crate::postgres) struct Rows<'a> {
    pub session: &'a SessionId,
    pub head: &'a [Row],
    pub turns: &'a [Row],
    pub messages: &'a [Row],
    pub compactions: &'a [Row],
    pub queue: &'a [Row],
    pub keys: &'a [Row],
    pub draft: &'a [Row],
    pub streamed: &'a [Row],
}

impl<'a> Rows<'a> {
    /// The rows that the statements of [`whole`] found.
    pub fn of(session: &'a SessionId, found: &'a [Vec<Row>]) -> Self {
        let of = |n: usize| found.get(n).map_or(&[][..], Vec::as_slice);
        Self {
            session,
            head: of(0),
            turns: of(1),
            messages: of(2),
            compactions: of(3),
            queue: of(4),
            keys: of(5),
            draft: of(6),
            streamed: of(7),
        }
    }

    /// Adds the content that came with the session's own row.
    pub fn prefix(&self, contents: &mut Contents) -> Done {
        if let Some(row) = self.head.first()
            && let Ok(content) = bytes(row, 17)
        {
            contents.insert(text(row, 9)?, content);
        }
        Ok(())
    }

    /// The session's stored count of messages.
    pub fn counted(&self) -> Option<u32> {
        number_or_null(self.head.first()?, 18).ok().flatten()
    }

    /// The head, with defaults for unreadable parts.
    pub fn head(&self, contents: &mut Contents, unreadable: &mut Vec<String>) -> Result<Head, String> {
        let row = self.head.first().ok_or("the session has no row")?;
        let mut parts = Parts { unreadable };
        Ok(Head {
            id: self.session.clone(),
            workspace: parts.part("workspace", text(row, 0)),
            title: parts.part("title", text_or_null(row, 1)),
            driver: parts.part("driver", text(row, 2).and_then(|word| variant(&word))),
            kind: parts.part("kind", text_or_null(row, 3)),
            parent: parts.part("parent", text_or_null(row, 4)).map(SessionId::new),
            work_scope: parts.part("work scope", text_or_null(row, 5)),
            generation: Generation(parts.part("generation", number(row, 6))),
            cuts: parts.part("cuts", number(row, 7)),
            title_from: parts.part(
                "origin of the title",
                text_or_null(row, 12).and_then(|word| word.as_deref().map(variant).transpose()),
            ),
            origin: parts.part("origin", text(row, 13).and_then(|word| variant(&word))),
            accepted: parts.part("number of commands", number(row, 14)),
            waits: parts.part("waiting state", boolean(row, 16)),
            carried: parts.part("carried state", text(row, 15).and_then(|carried| json(&carried))),
            settings: parts.part("settings", text(row, 8).and_then(|settings| json(&settings))),
            prefix: parts.part::<Prefix>(
                "prefix",
                text(row, 9).and_then(|hash| contents.fetch(&hash)).and_then(|prefix| json(&prefix)),
            ),
            created_at: parts.part("creation time", number(row, 10).map(time)),
            updated_at: parts.part("time of last use", number(row, 11).map(time)),
        })
    }

    pub fn turns(&self, unreadable: &mut Vec<String>) -> Vec<TurnRow> {
        each(self.turns, "turn", unreadable, |row| {
            let turn = TurnRow {
                index: number(row, 0)?,
                id: TurnId::new(text(row, 1)?),
                status: variant(&text(row, 2)?)?,
                started: number_or_null(row, 3)?.map(Ordinal),
                decided: json(&text(row, 4)?)?,
                // Figures that cannot be read are not worth a turn.
                figures: json(&text(row, 5)?).unwrap_or_default(),
            };
            Ok(match renaming(row, 6)? {
                Some(renaming) => renaming.turn(turn),
                None => turn,
            })
        })
    }

    /// The rows of the newest versions of messages, in order; the rows must be in order of position and version.
    pub fn newest(&self) -> impl Iterator<Item = &Row> {
        let ord = |row: &Row| number::<i64>(row, 0);
        let behind = self.messages.iter().skip(1).map(Some).chain([None]);
        let is_newest =
            move |(row, next): &(&Row, Option<&Row>)| next.is_none_or(|next| ord(next) != ord(row));
        self.messages.iter().zip(behind).filter(is_newest).map(|(row, _)| row)
    }

    /// The newest version of each message from `from` on, with a stand-in for each unreadable one.
    pub fn messages(
        &self,
        from: Ordinal,
        contents: &mut Contents,
        unreadable: &mut Vec<String>,
    ) -> Vec<(u32, Arc<Message>)> {
        let mut found: BTreeMap<i64, (i64, FoundOrLost)> = BTreeMap::new();
        for row in self.newest() {
            let (Ok(ord), Ok(rev)) = (number(row, 0), number(row, 1)) else { continue };
            let message =
                message(row, contents).map_err(|reason| lost(self.session, (ord, rev), row, reason));
            found.insert(ord, (rev, message));
        }
        in_order(found, from, unreadable)
    }

    pub fn compactions(&self, contents: &mut Contents, unreadable: &mut Vec<String>) -> Vec<Compaction> {
        each(self.compactions, "compaction", unreadable, |row| record(row, contents))
    }

    /// Queued commands: urgent ones first, otherwise in order of acceptance.
    pub fn queue(&self, contents: &mut Contents, unreadable: &mut Vec<String>) -> Vec<QueueItem> {
        let item = |row: &Row| join(&named(row)?.1, &mut |hash| contents.fetch(hash));
        let mut queue: Vec<QueueItem> = each(self.queue, "queued command", unreadable, item);
        queue.sort_by_key(|item| !item.priority);
        queue
    }

    /// Keys of accepted commands with their answers, oldest first.
    pub fn keys(&self, unreadable: &mut Vec<String>) -> Vec<(String, Accepted)> {
        each(self.keys, "accepted command", unreadable, |row| {
            let (key, accepted) = named(row)?;
            Ok((key, json(&accepted)?))
        })
    }

    pub fn draft(&self, unreadable: &mut Vec<String>) -> Option<Text> {
        each(self.draft, "draft", unreadable, |row| Ok(Text::from(named(row)?.1))).pop()
    }

    /// The pieces of an answer in progress, with their numbers.
    pub fn streamed(&self, unreadable: &mut Vec<String>) -> Vec<(u64, Streamed)> {
        pieces(self.streamed, unreadable)
    }
}

/// Pieces of an answer in progress, with their numbers.
pub(in crate::postgres) fn pieces(rows: &[Row], unreadable: &mut Vec<String>) -> Vec<(u64, Streamed)> {
    each(rows, "streamed text", unreadable, |row| {
        let piece = text(row, 2)?;
        match check_sum(&[piece.as_bytes()]) == number::<i64>(row, 1)? {
            true => Ok((number(row, 0)?, json(&piece)?)),
            false => Err(CHANGED.to_owned()),
        }
    })
}

/// Reads rows; unreadable ones are reported under `what` and their first column.
fn each<T>(
    rows: &[Row],
    what: &str,
    unreadable: &mut Vec<String>,
    mut read: impl FnMut(&Row) -> Result<T, String>,
) -> Vec<T> {
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        match read(row) {
            Ok(value) => found.push(value),
            Err(reason) => {
                let place = number::<i64>(row, 0).unwrap_or_default();
                unreadable.push(format!("{what} {place}: {reason}"));
            }
        }
    }
    found
}

/// Name and value of a row (columns 1 and 3), if its check sum is right.
fn named(row: &Row) -> Result<(String, String), String> {
    let (name, value) = (text(row, 1)?, text(row, 3)?);
    if named_sum(&name, &value) == number::<i64>(row, 2)? {
        Ok((name, value))
    } else {
        Err(CHANGED.to_owned())
    }
}

/// The renaming by the ids of the segment and of the session, in these columns.
fn renaming(row: &Row, at: usize) -> Result<Option<Renaming>, String> {
    Ok(Renaming::between(&text(row, at)?, &text(row, at + 1)?))
}

/// The texts of a message's row.
struct Texts {
    role: String,
    external_id: Option<String>,
    message_id: String,
    turn_id: String,
    created_at: Option<String>,
    hash: String,
    body: String,
    shown: Option<String>,
}

impl Texts {
    fn of(row: &Row) -> Result<Self, String> {
        Ok(Self {
            role: text(row, 3)?,
            external_id: text_or_null(row, 4)?,
            message_id: text(row, 5)?,
            turn_id: text(row, 6)?,
            created_at: text_or_null(row, 8)?,
            hash: text(row, 10)?,
            body: text(row, 11)?,
            shown: text_or_null(row, 13)?,
        })
    }

    /// The row, if its check sum is right.
    fn message(&self, row: &Row) -> Result<MessageRow<'_>, String> {
        let found = MessageRow {
            ord: number(row, 0)?,
            rev: number(row, 1)?,
            turn: number(row, 2)?,
            role: &self.role,
            external_id: self.external_id.as_deref(),
            message_id: &self.message_id,
            turn_id: &self.turn_id,
            visible: boolean(row, 7)?,
            created_at: self.created_at.as_deref(),
            tokens: number(row, 9)?,
            hash: &self.hash,
            body: &self.body,
            shown: self.shown.as_deref().map(Cow::Borrowed),
        };
        found.checked(number(row, 12)?)
    }
}

/// Reads a message from a row with the columns of [`MESSAGE`].
pub(in crate::postgres) fn message(
    row: &Row,
    contents: &mut Contents,
) -> Result<(u32, Arc<Message>), String> {
    let (texts, renaming) = (Texts::of(row)?, renaming(row, 14)?);
    texts.message(row)?.message(&mut |hash| contents.fetch(hash), renaming.as_ref())
}

/// Version, id, turn and check sum of a message's row under other ids.
pub(in crate::postgres) fn renamed(
    row: &Row,
    renaming: &Renaming,
) -> Result<(u32, String, String, i64), String> {
    let texts = Texts::of(row)?;
    let found = texts.message(row)?;
    let (id, turn) = (renaming.id(found.message_id), renaming.id(found.turn_id));
    let rev = found.rev;
    let check_sum = MessageRow { message_id: &id, turn_id: &turn, ..found }.check_sum();
    Ok((rev, id, turn, check_sum))
}

fn lost(session: &SessionId, place: (i64, i64), row: &Row, reason: String) -> Lost {
    let (role, external_id) = (text(row, 3).ok(), text_or_null(row, 4).ok().flatten());
    let (message_id, turn_id) = (text(row, 5).ok(), text(row, 6).ok());
    let created_at = text_or_null(row, 8).ok().flatten();
    let left = Left {
        turn: number(row, 2).ok(),
        role: role.as_deref(),
        external_id: external_id.as_deref(),
        message_id: message_id.as_deref(),
        turn_id: turn_id.as_deref(),
        visible: boolean(row, 7).unwrap_or(true),
        created_at: created_at.as_deref(),
    };
    Lost::of(session, place, left, reason).renamed(renaming(row, 14).ok().flatten().as_ref())
}

/// Reads a compaction from a row with the columns of [`RECORD`].
pub(in crate::postgres) fn record(row: &Row, contents: &mut Contents) -> Result<Compaction, String> {
    let (block, record) = (text(row, 2)?, text(row, 3)?);
    if compaction_sum(&block, &record) != number::<i64>(row, 4)? {
        return Err(CHANGED.to_owned());
    }
    let rest: Compaction = join(&record, &mut |hash| contents.fetch(hash))?;
    let found = Compaction { block: block.into(), status: variant::<Status>(&text(row, 1)?)?, ..rest };
    Ok(match renaming(row, 5)? {
        Some(renaming) => renaming.compaction(found),
        None => found,
    })
}
