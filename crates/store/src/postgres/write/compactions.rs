//! Compaction records, and the summary that lists show of them.

use super::blobs::put_for;
use super::known::{self, RecordPlace};
use super::segments::is_its_alone;
use super::{SessionWriter, of};
use crate::postgres::fault::{Done, refused};
use crate::postgres::read::contents::{Contents, decoded};
use crate::postgres::read::places::{RowKind, places};
use crate::postgres::read::rows;
use crate::postgres::value::{number, values};
use crate::row::{CompactionRow, millis, word};
use engine::compact::record::{Compaction, Status};
use engine::id::{CompactionId, SessionId};

/// Finds a record by its id.
pub(super) async fn place_of(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    id: &CompactionId,
) -> Done<Option<RecordPlace>> {
    let known = of(&mut writer.known, session)?;
    if let Some(place) = known.records.get(id.as_str()) {
        return Ok(*place);
    }
    if known.is_new {
        return Ok(None);
    }
    let asked = vec![known::records(writer.tx, session, &[id.as_str().to_owned()])];
    let found = writer.tx.queries(asked).await?.pop().unwrap_or_default();
    Ok(found.last().map(RecordPlace::read).transpose()?)
}

/// The check sum that a record has with the ids of this session, which is not the one that wrote it.
async fn renamed_sum(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    id: &CompactionId,
) -> Done<Option<i64>> {
    let asked = vec![known::records(writer.tx, session, &[id.as_str().to_owned()])];
    let found = writer.tx.queries(asked).await?.pop().unwrap_or_default();
    let Some(row) = found.last() else { return Ok(None) };
    let record = decoded(writer.tx, &mut Contents::default(), |contents| rows::record(row, contents)).await?;
    match record.ok().and_then(|record| CompactionRow::of(&record).ok()) {
        Some(renamed) => Ok(Some(renamed.check_sum)),
        None => Ok(Some(number(row, 4)?)),
    }
}

pub(super) async fn record(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    compaction: &Compaction,
) -> Done {
    let name = compaction.id.as_str();
    let row = CompactionRow::of(compaction).map_err(|error| refused(session, error.to_string()))?;
    if let Some(there) = place_of(writer, session, &compaction.id).await? {
        let known = match there.check_sum {
            Some(known) => Some(known),
            None => renamed_sum(writer, session, &compaction.id).await?,
        };
        let other = || refused(session, format!("compaction {name} exists with other content"));
        return if known == Some(row.check_sum) { Ok(()) } else { Err(other()) };
    }
    let known = of(&mut writer.known, session)?;
    let kind = RowKind::Compactions;
    let shared = known.shares.iter().filter(|share| share.kind == kind).map(|share| share.range.end);
    let n = shared.max().unwrap_or_default().max(known.ends[kind as usize]);
    known.ends[kind as usize] = n + 1;
    known.records.insert(name.to_owned(), Some(RecordPlace { n, check_sum: Some(row.check_sum) }));
    let segment = known.segment.clone();
    writer.tx.push(
        "INSERT INTO compactions (tenant, segment, n, id, status, covered, created_at, check_sum, block, record)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        values![
            &segment,
            n,
            name,
            word(&compaction.status),
            compaction.resume_at().0,
            compaction.created_at.map(millis),
            row.check_sum,
            &*compaction.block,
            row.record,
        ],
    );
    put_for(writer, &segment, ("compaction", n, 0), &row.blobs);
    sum_up(writer, session)
}

pub(super) async fn set_status(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    record: &CompactionId,
    status: Status,
) -> Done {
    let Some(RecordPlace { n, .. }) = place_of(writer, session, record).await? else {
        return Err(refused(session, format!("unknown compaction {record}")));
    };
    let (id, status) = (session.as_str(), word(&status));
    let known = of(&mut writer.known, session)?;
    if is_its_alone(known, RowKind::Compactions, n) {
        let own = "UPDATE compactions SET status = $4 WHERE tenant = $1 AND segment = $2 AND n = $3";
        writer.tx.push(own, values![&known.segment, n, status]);
        let beside = "DELETE FROM compaction_statuses WHERE tenant = $1 AND session = $2 AND n = $3";
        writer.tx.push(beside, values![id, n]);
    } else {
        writer.tx.push(
            "INSERT INTO compaction_statuses (tenant, session, n, status) VALUES ($1, $2, $3, $4)
             ON CONFLICT (tenant, session, n) DO UPDATE SET status = excluded.status",
            values![id, n, status],
        );
    }
    sum_up(writer, session)
}

/// Updates the session's summary and its count, from the newest compaction in force. A revision is listed without its
/// summary.
pub(super) fn sum_up(writer: &mut SessionWriter<'_, '_>, session: &SessionId) -> Done {
    if of(&mut writer.known, session)?.is_revision {
        return Ok(());
    }
    let places = places(RowKind::Compactions);
    let status = "coalesce((SELECT t.status FROM compaction_statuses t
         WHERE t.tenant = $1 AND t.session = $2 AND t.n = r.n), r.status)";
    writer.tx.push(
        format!(
            "{places}, newest AS (
                 SELECT r.block, r.covered, r.created_at FROM places p JOIN compactions r ON r.tenant = $1
                     AND r.segment = p.segment AND r.n >= p.start AND r.n < p.until
                 WHERE {status} = 'inForce' ORDER BY r.n DESC LIMIT 1)
             UPDATE chat_sessions SET summary = nullif((SELECT block FROM newest), ''),
                 summarized_count = coalesce((SELECT covered FROM newest), 0),
                 summary_updated_at = (SELECT created_at FROM newest)
             WHERE tenant = $1 AND id = $2"
        ),
        values![session.as_str()],
    );
    Ok(())
}
