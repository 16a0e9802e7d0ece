//! Knowledge of a session within a transaction that changes it: its own row, where its rows are, and the rows that its
//! writes are about. It is asked for before the first write, in one round trip, and follows the writes; what nobody
//! asked for then is asked for when it is needed.

use crate::postgres::fault::Done;
use crate::postgres::read::places::{RowKind, in_places};
use crate::postgres::read::rows::RECORD;
use crate::postgres::shared;
use crate::postgres::tx::{Statement, Tx};
use crate::postgres::value::{number, number_or_null, text, text_or_null, values};
use engine::id::{Ordinal, SessionId};
use engine::scope::Scope;
use session::stored::Write;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tokio_postgres::Row;

/// A version of a message.
#[derive(Debug, Clone)]
pub(in crate::postgres) struct Version {
    pub check_sum: i64,
    pub hash: String,
    pub has_external_id: bool,
}

/// Rows of a session in another segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::postgres) struct Share {
    pub kind: RowKind,
    pub range: Range<u32>,
    pub segment: String,
    /// The session whose id the ids in that segment begin with.
    pub named: String,
}

/// A session, as it is after the writes so far.
#[derive(Debug, Clone)]
pub(in crate::postgres) struct Known {
    pub id: SessionId,
    pub workspace: String,
    pub is_revision: bool,
    pub parent: Option<String>,
    /// The hash of its prefix.
    pub prefix: String,
    /// The segment that it writes, and the session whose id the ids there begin with.
    pub segment: String,
    pub named: String,
    /// Where its first request is.
    pub first_request: Option<u32>,
    /// Ranges in other segments.
    pub shares: Vec<Share>,
    /// Ranges of its own segment that others have, too.
    pub lent: Vec<(RowKind, Range<u32>)>,
    /// The positions behind the last rows of its own segment, by [`RowKind::ALL`].
    pub ends: [u32; 3],
    /// Versions of messages, turns, and queued commands with check sums, as far as they were asked for.
    pub versions: BTreeMap<u32, BTreeMap<u32, Version>>,
    pub turns: BTreeMap<u32, bool>,
    pub queue: BTreeMap<String, Option<Queued>>,
    pub records: BTreeMap<String, Option<RecordPlace>>,
    /// Contents that messages refer to which are to be replaced.
    pub refs: BTreeMap<u32, Vec<String>>,
    /// The sessions that it makes: `true` for those that exist.
    pub made: BTreeMap<String, bool>,
    /// Own scopes of it and of those that it makes; `None` if they are not known.
    pub scopes: Option<BTreeMap<String, Scope>>,
    /// From these positions of messages and turns on, it has no rows but those that are known.
    pub empty_from: [u32; 2],
    /// Changes of its counts that are not written yet.
    pub change: Change,
    /// `true` if it has no rows but those that are known.
    pub is_new: bool,
}

/// A queued command.
#[derive(Debug, Clone)]
pub(in crate::postgres) struct Queued {
    pub check_sum: i64,
    /// The contents that it refers to.
    pub refs: Vec<String>,
}

/// Where a compaction record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::postgres) struct RecordPlace {
    pub n: u32,
    /// The check sum that it has with the ids of the session; `None` if it is stored under other ids.
    pub check_sum: Option<i64>,
}

/// Changes of a session's counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::postgres) struct Change {
    pub messages: i64,
    pub turns: i64,
    pub commits: i64,
    pub rewrites: i64,
}

/// Rows that writes are about.
#[derive(Debug, Default)]
pub(in crate::postgres) struct Wanted {
    messages: BTreeSet<u32>,
    replaced: BTreeSet<u32>,
    turns: BTreeSet<u32>,
    queue: BTreeSet<String>,
    records: BTreeSet<String>,
    made: BTreeSet<String>,
}

impl Wanted {
    /// Adds what these writes are about.
    pub fn add(&mut self, writes: &[Write]) {
        let wanted = self;
        for write in writes {
            match write {
                Write::Message { message, .. } => _ = wanted.messages.insert(message.ord.0),
                Write::LetGo { messages, .. } => {
                    wanted.messages.extend(messages.iter().map(|message| message.ord.0));
                    wanted.replaced.extend(messages.iter().map(|message| message.ord.0));
                }
                Write::Turn(turn) => _ = wanted.turns.insert(turn.index),
                Write::Enqueue(item) => _ = wanted.queue.insert(item.id.as_str().to_owned()),
                Write::Dequeue(item) => _ = wanted.queue.insert(item.as_str().to_owned()),
                Write::Compaction(record) => _ = wanted.records.insert(record.id.as_str().to_owned()),
                Write::CompactionStatus { id, .. } => _ = wanted.records.insert(id.as_str().to_owned()),
                Write::Revision(revision) => _ = wanted.made.insert(revision.id.as_str().to_owned()),
                Write::Branch { to, inherited, .. } => {
                    wanted.made.insert(to.as_str().to_owned());
                    wanted.records.extend(inherited.compactions.iter().map(|id| id.as_str().to_owned()));
                }
                _ => {}
            }
        }
    }
}

const SESSION: &str = "SELECT s.workspace, s.origin, s.parent, s.prefix, s.segment, coalesce(g.named, s.id), s.first_request_ord,
         (SELECT max(ord) + 1 FROM chat_messages m WHERE m.tenant = s.tenant AND m.segment = s.segment),
         (SELECT max(idx) + 1 FROM chat_turns t WHERE t.tenant = s.tenant AND t.segment = s.segment),
         (SELECT max(n) + 1 FROM compactions c WHERE c.tenant = s.tenant AND c.segment = s.segment)
     FROM chat_sessions s LEFT JOIN segments g ON g.tenant = s.tenant AND g.id = s.segment
     WHERE s.tenant = $1 AND s.id = $2";

/// Ranges that the session has elsewhere, and those in its own segment that others have.
const SHARES: &str = "SELECT h.kind, h.start, h.until, h.segment, coalesce(g.named, h.segment) FROM shares h
     LEFT JOIN segments g ON g.tenant = h.tenant AND g.id = h.segment WHERE h.tenant = $1 AND h.session = $2
     UNION ALL SELECT h.kind, h.start, h.until, NULL, NULL FROM shares h
     JOIN chat_sessions s ON s.tenant = h.tenant AND s.segment = h.segment WHERE s.tenant = $1 AND s.id = $2";

/// Selects a segment with the name of the session, which a new session cannot have then.
const TAKEN: &str = "SELECT id FROM segments WHERE tenant = $1 AND id = $2";

/// Selects those of these sessions that exist.
const THERE: &str = "SELECT id FROM chat_sessions WHERE tenant = $1 AND id = ANY($2)";

/// The statements about a session, for [`Known::read`].
pub(in crate::postgres) fn ask(tx: &Tx<'_>, session: &SessionId, wanted: &Wanted) -> Vec<Statement> {
    let id = session.as_str();
    let mut asked = vec![
        tx.of_tenant(SESSION, values![id]),
        tx.of_tenant(SHARES, values![id]),
        tx.of_tenant(TAKEN, values![id]),
    ];
    let numbers = |of: &BTreeSet<u32>| of.iter().copied().map(i64::from).collect::<Vec<_>>();
    if !wanted.messages.is_empty() {
        asked.push(versions(tx, session, numbers(&wanted.messages)));
    }
    if !wanted.replaced.is_empty() {
        asked.push(refs(tx, session, numbers(&wanted.replaced)));
    }
    if !wanted.turns.is_empty() {
        asked.push(turns(tx, session, numbers(&wanted.turns)));
    }
    if !wanted.queue.is_empty() {
        let items: Vec<String> = wanted.queue.iter().cloned().collect();
        asked.push(queue(tx, session, &items));
    }
    if !wanted.records.is_empty() {
        let ids: Vec<String> = wanted.records.iter().cloned().collect();
        asked.push(records(tx, session, &ids));
    }
    if !wanted.made.is_empty() {
        let mut ids: Vec<String> = wanted.made.iter().cloned().collect();
        asked.push(tx.of_tenant(THERE, values![&ids[..]]));
        ids.push(id.to_owned());
        asked.push(shared::of_session(tx, id, &ids));
    }
    asked
}

fn versions(tx: &Tx<'_>, session: &SessionId, ords: Vec<i64>) -> Statement {
    let columns = "r.ord, r.rev, r.check_sum, r.hash, r.external_id, p.named, p.own";
    let sql = in_places(RowKind::Messages, columns, "AND r.ord = ANY($3)", "");
    tx.of_tenant(sql, values![session.as_str(), ords])
}

fn refs(tx: &Tx<'_>, session: &SessionId, ords: Vec<i64>) -> Statement {
    let sql = "SELECT b.n, b.hash FROM blob_refs b JOIN chat_sessions s ON s.tenant = b.tenant AND s.segment = b.segment
         WHERE s.tenant = $1 AND s.id = $2 AND b.owner = 'message' AND b.n = ANY($3)";
    tx.of_tenant(sql, values![session.as_str(), ords])
}

fn turns(tx: &Tx<'_>, session: &SessionId, indexes: Vec<i64>) -> Statement {
    let sql = in_places(RowKind::Turns, "r.idx", "AND r.idx = ANY($3)", "");
    tx.of_tenant(sql, values![session.as_str(), indexes])
}

fn queue(tx: &Tx<'_>, session: &SessionId, items: &[String]) -> Statement {
    let sql = "SELECT q.id, q.check_sum, b.hash FROM chat_queue q
         JOIN chat_sessions s ON s.tenant = q.tenant AND s.id = q.session
         LEFT JOIN blob_refs b ON b.tenant = s.tenant AND b.segment = s.segment AND b.owner = 'queued' AND b.n = q.n
         WHERE q.tenant = $1 AND q.session = $2 AND q.id = ANY($3)";
    tx.of_tenant(sql, values![session.as_str(), items])
}

/// Selects records by the ids that they have in the session, with the columns of [`RECORD`].
pub(super) fn records(tx: &Tx<'_>, session: &SessionId, ids: &[String]) -> Statement {
    let (from, more) = (
        format!("{RECORD}, x.id"),
        "AND r.id = CASE WHEN left(x.id, length(p.own) + 1) = p.own || '/'
             THEN p.named || substr(x.id, length(p.own) + 1) ELSE x.id END",
    );
    let sql = in_places(RowKind::Compactions, &from, more, "ORDER BY r.n");
    let sql = sql.replacen("FROM places p JOIN", "FROM unnest($3) AS x (id) CROSS JOIN places p JOIN", 1);
    tx.of_tenant(sql, values![session.as_str(), ids])
}

impl RecordPlace {
    /// Reads a row of [`records`].
    pub fn read(row: &Row) -> Result<Self, String> {
        let is_same = text(row, 5)? == text(row, 6)?;
        Ok(Self { n: number(row, 0)?, check_sum: is_same.then(|| number(row, 4)).transpose()? })
    }
}

impl Known {
    /// A session that is made now.
    pub fn new(id: &SessionId, workspace: &str, (segment, named): (String, String)) -> Self {
        Self {
            id: id.clone(),
            workspace: workspace.to_owned(),
            is_revision: false,
            parent: None,
            prefix: String::new(),
            segment,
            named,
            first_request: None,
            shares: Vec::new(),
            lent: Vec::new(),
            ends: [0; 3],
            versions: BTreeMap::new(),
            turns: BTreeMap::new(),
            queue: BTreeMap::new(),
            records: BTreeMap::new(),
            refs: BTreeMap::new(),
            made: BTreeMap::new(),
            scopes: None,
            empty_from: [u32::MAX; 2],
            change: Change::default(),
            is_new: true,
        }
    }

    /// Reads the answers to [`ask`] off. For an unknown session, returns whether a segment may have its name.
    pub fn read(
        id: &SessionId,
        wanted: &Wanted,
        answers: &mut impl Iterator<Item = Vec<Row>>,
    ) -> Result<Result<Self, bool>, String> {
        let session = answers.next().unwrap_or_default();
        let shares = answers.next().unwrap_or_default();
        let taken = answers.next().unwrap_or_default();
        let mut of = |is_asked: bool| if is_asked { answers.next().unwrap_or_default() } else { Vec::new() };
        let messages = of(!wanted.messages.is_empty());
        let refs = of(!wanted.replaced.is_empty());
        let turns = of(!wanted.turns.is_empty());
        let queue = of(!wanted.queue.is_empty());
        let records = of(!wanted.records.is_empty());
        let made = of(!wanted.made.is_empty());
        let scopes = of(!wanted.made.is_empty());
        let Some(row) = session.first() else { return Ok(Err(taken.is_empty())) };
        let mut known = Self {
            is_revision: text(row, 1)? == "revision",
            parent: text_or_null(row, 2)?,
            prefix: text(row, 3)?,
            first_request: number_or_null(row, 6)?,
            is_new: false,
            ..Self::new(id, &text(row, 0)?, (text(row, 4)?, text(row, 5)?))
        };
        for (end, column) in known.ends.iter_mut().zip(7..) {
            *end = number_or_null(row, column)?.unwrap_or_default();
        }
        for row in &shares {
            let word = text(row, 0)?;
            let kind = RowKind::ALL.into_iter().find(|kind| kind.word() == word);
            let kind = kind.ok_or_else(|| format!("shares of {word}"))?;
            let range = number(row, 1)?..number(row, 2)?;
            match text_or_null(row, 3)? {
                Some(segment) => known.shares.push(Share { kind, range, segment, named: text(row, 4)? }),
                None => known.lent.push((kind, range)),
            }
        }
        known.shares.sort_by_key(|share| (share.kind, share.range.start));
        known.versions.extend(wanted.messages.iter().map(|ord| (*ord, BTreeMap::new())));
        known.refs.extend(wanted.replaced.iter().map(|ord| (*ord, Vec::new())));
        known.turns.extend(wanted.turns.iter().map(|index| (*index, false)));
        known.queue.extend(wanted.queue.iter().map(|item| (item.clone(), None)));
        known.add_versions(&messages)?;
        for row in &refs {
            known.refs.entry(number(row, 0)?).or_default().push(text(row, 1)?);
        }
        for row in &turns {
            known.turns.insert(number(row, 0)?, true);
        }
        known.add_queue(&queue)?;
        known.records.extend(wanted.records.iter().map(|record| (record.clone(), None)));
        for row in &records {
            known.records.insert(text(row, 7)?, Some(RecordPlace::read(row)?));
        }
        known.made.extend(wanted.made.iter().map(|id| (id.clone(), false)));
        for row in &made {
            known.made.insert(text(row, 0)?, true);
        }
        known.scopes = Some(shared::by_name(&known.workspace, &scopes)?);
        Ok(Ok(known))
    }

    fn add_queue(&mut self, rows: &[Row]) -> Result<(), String> {
        for row in rows {
            let queued = Queued { check_sum: number(row, 1)?, refs: Vec::new() };
            let queued = self.queue.entry(text(row, 0)?).or_default().get_or_insert(queued);
            queued.refs.extend(text_or_null(row, 2)?);
        }
        Ok(())
    }

    fn add_versions(&mut self, rows: &[Row]) -> Result<(), String> {
        for row in rows {
            // Under other ids the row has another check sum, which is known once it was copied.
            if text(row, 5)? != text(row, 6)? {
                self.versions.remove(&number(row, 0)?);
                continue;
            }
            let version = Version {
                check_sum: number(row, 2)?,
                hash: text(row, 3)?,
                has_external_id: text_or_null(row, 4)?.is_some(),
            };
            self.versions.entry(number(row, 0)?).or_default().insert(number(row, 1)?, version);
        }
        Ok(())
    }

    /// Makes sure that the versions of a message are known.
    pub async fn know_versions(&mut self, tx: &mut Tx<'_>, ord: u32) -> Done {
        if self.is_new || ord >= self.empty_from[0] {
            self.versions.entry(ord).or_default();
        }
        if !self.versions.contains_key(&ord) {
            let asked = vec![versions(tx, &self.id, vec![ord.into()])];
            let rows = tx.queries(asked).await?.pop().unwrap_or_default();
            self.versions.insert(ord, BTreeMap::new());
            self.add_versions(&rows)?;
        }
        Ok(())
    }

    /// The contents that a message of its own segment refers to.
    pub async fn refs_of(&mut self, tx: &mut Tx<'_>, ord: u32) -> Done<Vec<String>> {
        if let Some(refs) = self.refs.remove(&ord) {
            return Ok(refs);
        }
        let asked = vec![refs(tx, &self.id, vec![ord.into()])];
        let rows = tx.queries(asked).await?.pop().unwrap_or_default();
        Ok(rows.iter().map(|row| text(row, 1)).collect::<Result<_, _>>()?)
    }

    /// `true` if there is such a turn.
    pub async fn has_turn(&mut self, tx: &mut Tx<'_>, index: u32) -> Done<bool> {
        if let Some(there) = self.turns.get(&index) {
            return Ok(*there);
        }
        if self.is_new || index >= self.empty_from[1] {
            return Ok(false);
        }
        let asked = vec![turns(tx, &self.id, vec![index.into()])];
        let rows = tx.queries(asked).await?.pop().unwrap_or_default();
        Ok(!rows.is_empty())
    }

    /// A queued command, if it waits.
    pub async fn queued(&mut self, tx: &mut Tx<'_>, item: &str) -> Done<&mut Option<Queued>> {
        if !self.is_new && !self.queue.contains_key(item) {
            let asked = vec![queue(tx, &self.id, &[item.to_owned()])];
            let rows = tx.queries(asked).await?.pop().unwrap_or_default();
            self.add_queue(&rows)?;
        }
        Ok(self.queue.entry(item.to_owned()).or_default())
    }

    /// Forgets the rows from a position on, which were deleted.
    pub fn forget_from(&mut self, messages: Ordinal, turns: u32) {
        let [of_messages, of_turns] = self.empty_from;
        self.empty_from = [of_messages.min(messages.0), of_turns.min(turns)];
        self.versions.retain(|ord, _| *ord < messages.0);
        self.refs.retain(|ord, _| *ord < messages.0);
        self.turns.retain(|index, _| *index < turns);
    }

    /// The range elsewhere that has a row, if one has.
    pub fn share_at(&self, kind: RowKind, at: u32) -> Option<usize> {
        self.shares.iter().position(|share| share.kind == kind && share.range.contains(&at))
    }

    /// `true` if others have a row of the own segment.
    pub fn is_lent(&self, kind: RowKind, at: u32) -> bool {
        self.lent.iter().any(|(of, range)| *of == kind && range.contains(&at))
    }
}
