//! Reads compaction records.

use crate::blob::join;
use crate::sqlite::blobs::content;
use crate::sqlite::columns::{CHANGED, CompactionRow, compaction_sum, next, number, place, text, variant};
use crate::sqlite::segments::{self, RowKind};
use engine::compact::record::{Compaction, Status};
use engine::id::{CompactionId, SessionId};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use session::renaming::Renaming;

/// The status of record `c` as session `?4` has it.
pub(in crate::sqlite) const STATUS: &str =
    "coalesce((SELECT status FROM compaction_statuses t WHERE t.session = ?4 AND t.n = c.n), status)";

/// Selects the records of a segment in a range, as session `?4` has them.
pub(in crate::sqlite) fn compactions_sql(order: &str) -> String {
    format!(
        "SELECT n, {STATUS}, block, record, check_sum FROM compactions c
         WHERE segment = ?1 AND n >= ?2 AND n < ?3 ORDER BY n {order}"
    )
}

pub(in crate::sqlite) fn compactions(
    tx: &Transaction<'_>,
    session: &SessionId,
    unreadable: &mut Vec<String>,
) -> rusqlite::Result<Vec<Compaction>> {
    let mut found = Vec::new();
    for span in segments::spans(tx, session, RowKind::Compactions, 0..u32::MAX)? {
        let mut statement = tx.prepare_cached(&compactions_sql("ASC"))?;
        let of = params![span.segment, span.range.start, span.range.end, session.as_str()];
        let mut rows = statement.query(of)?;
        while let Some(row) = next(&mut rows, "compactions", unreadable)? {
            match compaction(tx, row, span.renaming.as_ref()) {
                Ok(compaction) => found.push(compaction),
                Err(reason) => unreadable.push(format!("compaction {}: {reason}", place(row))),
            }
        }
    }
    Ok(found)
}

/// Reads a compaction from a row with n, status, block, record and check sum.
pub(in crate::sqlite) fn compaction(
    tx: &Transaction<'_>,
    row: &Row<'_>,
    renaming: Option<&Renaming>,
) -> Result<Compaction, String> {
    let (block, record) = (text(row, 2)?, text(row, 3)?);
    if compaction_sum(block, record) != number::<i64>(row, 4)? {
        return Err(CHANGED.to_owned());
    }
    let rest: Compaction = join(record, &mut |hash| content(tx, hash))?;
    let found = Compaction { block: block.into(), status: variant::<Status>(text(row, 1)?)?, ..rest };
    Ok(renaming.into_iter().fold(found, |found, renaming| renaming.compaction(found)))
}

/// Where a record of a session is.
pub(in crate::sqlite) struct RecordRow {
    pub n: u32,
    /// The check sum that it has with the ids of the session.
    pub check_sum: i64,
}

pub(in crate::sqlite) const RECORD: &str = "SELECT n, status, block, record, check_sum FROM compactions
     WHERE segment = ?1 AND id = ?4 AND n >= ?2 AND n < ?3";

/// Finds a record by its id.
pub(in crate::sqlite) fn record(
    tx: &Transaction<'_>,
    session: &SessionId,
    id: &CompactionId,
) -> rusqlite::Result<Option<RecordRow>> {
    segments::newest(tx, (session, RowKind::Compactions, 0..u32::MAX), |span| {
        let renaming = span.renaming.as_ref();
        let id = renaming.map_or_else(|| id.as_str().to_owned(), |renaming| renaming.original(id.as_str()));
        let found = |row: &Row<'_>| {
            let renamed = renaming.and_then(|_| compaction(tx, row, renaming).ok());
            let renamed = renamed.and_then(|record| CompactionRow::of(&record).ok());
            let check_sum = renamed.map_or_else(|| row.get(4), |renamed| Ok(renamed.check_sum))?;
            Ok(RecordRow { n: row.get(0)?, check_sum })
        };
        let of = params![span.segment, span.range.start, span.range.end, id];
        tx.prepare_cached(RECORD)?.query_row(of, found).optional()
    })
}
