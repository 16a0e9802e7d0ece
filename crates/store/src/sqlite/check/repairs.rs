//! Repairs of a file: each removes what nothing refers to, or computes anew what follows from the rest.

use super::{LEFT_OVER, OF_A_SEGMENT, OF_A_SESSION, UNUSED, counted, miscounted};
use crate::schema;
use crate::sqlite::{Fault, segments, write};
use rusqlite::{Transaction, params};

/// A repair. None removes a message that could still be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repair {
    /// Writes into the file's header what it is: a store of this schema.
    Identify(u32),
    /// Rebuilds indexes from their tables.
    Reindex,
    /// Writes missing rows of segments that sessions have.
    NameSegments,
    /// Removes rows of missing sessions.
    DropOrphans,
    /// Removes contents that nothing refers to.
    DropContents,
    /// Recounts a session's counts and summary.
    Recount,
    /// Empties the search index; the next search fills it.
    EmptySearch,
}

impl Repair {
    /// The effect, in words.
    pub fn name(self) -> &'static str {
        match self {
            Repair::Identify(_) => "write into the file that it is a store of this program",
            Repair::Reindex => "rebuild the indexes",
            Repair::NameSegments => "write the missing rows of segments",
            Repair::DropOrphans => "delete what missing sessions left",
            Repair::DropContents => "delete unreferenced contents",
            Repair::Recount => "recount messages and turns",
            Repair::EmptySearch => "empty the search index; the next search fills it",
        }
    }

    pub(super) fn make(self, tx: &Transaction<'_>) -> Result<(), Fault> {
        match self {
            Repair::Identify(schema) => {
                tx.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
                tx.pragma_update(None, "user_version", schema)?;
            }
            Repair::Reindex => tx.execute_batch("REINDEX")?,
            Repair::NameSegments => {
                // The ids in their messages tell whom they are named by.
                tx.execute_batch(
                    "INSERT OR IGNORE INTO segments
                     SELECT segment, CASE WHEN origin = 'revision' THEN coalesce(parent, id) ELSE id END
                     FROM chat_sessions WHERE segment IS NOT NULL;
                     INSERT OR IGNORE INTO segments SELECT segment, coalesce(
                         (SELECT substr(id, 1, length(id) - 2) FROM
                             (SELECT rtrim(message_id, '0123456789') AS id FROM chat_messages m WHERE m.segment = shares.segment)
                          WHERE id LIKE '%/m' LIMIT 1), segment)
                     FROM shares",
                )?;
            }
            Repair::DropOrphans => {
                for (tables, owner, ids) in [
                    (&OF_A_SESSION[..], "session", "SELECT id FROM chat_sessions"),
                    (&OF_A_SEGMENT[..], "segment", "SELECT id FROM segments"),
                ] {
                    for table in tables {
                        tx.execute(&format!("DELETE FROM {table} WHERE {owner} NOT IN ({ids})"), [])?;
                    }
                }
                let mut statement = tx.prepare(LEFT_OVER)?;
                let left_over = statement.query_map([], |row| row.get(0))?;
                for segment in left_over.collect::<Result<Vec<String>, _>>()? {
                    segments::drop_unused(tx, &segment)?;
                }
                // Contents that only these rows referred to.
                Repair::DropContents.make(tx)?;
            }
            Repair::DropContents => drop(tx.execute(&format!("DELETE FROM blobs WHERE {UNUSED}"), [])?),
            Repair::Recount => recount(tx)?,
            Repair::EmptySearch => tx.execute_batch(
                "INSERT INTO search_pieces (search_pieces) VALUES ('delete-all');
                 UPDATE chat_activity SET indexed = 0",
            )?,
        }
        Ok(())
    }
}

fn recount(tx: &Transaction<'_>) -> Result<(), Fault> {
    for session in miscounted(tx)? {
        let id = session.as_str();
        tx.execute(
            "INSERT INTO chat_activity (session, workspace, updated_at, is_revision)
             SELECT id, workspace, created_at, origin = 'revision' FROM chat_sessions WHERE id = ?1 ON CONFLICT (session) DO NOTHING",
            [id],
        )?;
        let (messages, turns) = counted(tx, &session)?;
        tx.execute(
            "UPDATE chat_activity SET rewrites = rewrites + 1, messages = ?2, turns = ?3 WHERE session = ?1",
            params![id, messages, turns],
        )?;
        write::sum_up(tx, &session)?;
    }
    Ok(())
}
