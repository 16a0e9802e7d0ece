//! Erasure of deleted content, and checkpoints of the log.
//!
//! With `secure_delete` SQLite overwrites deleted rows and freed pages itself. Deleted words can still be in
//! three places: in earlier versions of pages in the log; in copies of the file; and in the free space of
//! pages, because SQLite moves rows between pages without overwriting the bytes that they leave. Such a copy
//! of a row stays when the row itself is deleted. So the free space of pages is overwritten: of the pages in
//! the log before they are moved to the file, and of all pages after a deletion. Reading a page costs little;
//! only pages with something to overwrite are written.
//!
//! The search index has no words to erase; see [`super::search`].

use super::fault::Done;
use super::{Fault, SqliteStore};
use crate::error::{StoreError, from_sqlite};
use crate::schema;
use rusqlite::{Connection, Transaction, params};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

/// Commits, and bytes of the log, that make a checkpoint worthwhile when the store is idle.
const WORTH_MOVING: u32 = 256;
const LONG_LOG: u64 = 4 * 1024 * 1024;
/// Commits and bytes that force a checkpoint even when it is busy: reads slow down, and the disk fills up.
const MOST_UNMOVED: u32 = 8192;
const LONGEST_LOG: u64 = 128 * 1024 * 1024;

/// The largest file that is read whole within a deletion, in bytes.
pub(super) const READ_AT_ONCE: u64 = 32 * 1024 * 1024;

/// Pages from which on the first byte of an overflow page may look like that of a page of rows. The free
/// space of such a file cannot be told from content.
pub(super) const MOST_PAGES: i64 = 1 << 25;

/// Bytes of the log's header, and of each page's.
const LOG_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;

/// Where content that is deleted may still be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Traces {
    /// In copies of the file, made before a migration or a repair.
    copies: bool,
    /// In the free space of these pages.
    pages: Pages,
    /// In the log.
    log: bool,
}

/// Pages whose free space may have copies of deleted rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Pages {
    #[default]
    None,
    /// Those in the log: the free space of all others was overwritten before.
    InLog,
    All,
}

impl SqliteStore {
    /// Notes that a session was deleted, and erases it unless the file is large: then it is read once for all
    /// deletions, when the store is idle. Returns `false` if something is left.
    pub(super) fn erase_session(&mut self) -> bool {
        if self.file.is_none() {
            return true;
        }
        self.traces = Traces { copies: true, pages: Pages::All, log: true };
        self.bytes(&["-wal"]) <= READ_AT_ONCE && self.erase()
    }

    /// Notes that messages or memories were deleted. They are erased when the store is idle.
    pub(super) fn erase_later(&mut self) {
        if self.file.is_some() {
            let pages = if self.is_clean { Pages::InLog } else { Pages::All };
            self.traces = Traces { pages: self.traces.pages.max(pages), log: true, ..self.traces };
        }
    }

    /// Erases deleted content. Returns `false` if some is left, for a later attempt. An attempt repeats no
    /// step that was completed, so a log that others read does not grow with each.
    pub(super) fn erase(&mut self) -> bool {
        if self.traces.copies {
            self.traces.copies = !schema::remove_copies(&self.path);
        }
        if let Ok(is_clean) = self.overwrite(self.traces.pages) {
            self.traces.pages = Pages::None;
            self.is_clean |= is_clean;
        }
        // Pages that are overwritten later need another checkpoint.
        if self.traces.log && self.traces.pages == Pages::None {
            self.traces.log = !self.connection.as_ref().is_some_and(truncate_log);
        }
        self.traces == Traces::default()
    }

    /// Overwrites the free space of these pages. Returns `true` if it was that of all pages.
    fn overwrite(&mut self, pages: Pages) -> Result<bool, StoreError> {
        let numbers = match pages {
            _ if self.file.is_none() => return Ok(false),
            Pages::None => return Ok(false),
            Pages::InLog => Some(in_log(&schema::beside(&self.path, "-wal"))),
            Pages::All => None,
        };
        let limit = self.page_limit;
        if !self.read(|tx| Ok(can_write_pages(tx, limit)?))? {
            if let (Pages::All, Some(connection)) = (pages, self.connection.as_ref()) {
                connection.execute_batch("VACUUM").map_err(|error| from_sqlite(&error, &self.path))?;
            }
            return Ok(false);
        }
        // Found without a lock, so that others can write meanwhile: what they write has no deleted rows.
        let unclean = self.read(|tx| unclean(tx, numbers.as_ref()))?;
        if !unclean.is_empty() {
            self.write(|tx| unclean.iter().try_for_each(|number| clear(tx, *number)))?;
        }
        Ok(pages == Pages::All)
    }

    /// Makes every deletion rewrite the file, as with an SQLite that is built without access to pages.
    #[cfg(test)]
    pub(crate) fn without_pages(mut self) -> Self {
        self.page_limit = 0;
        self
    }

    /// See [`crate::Store::tidy`].
    pub(super) fn maintain(&mut self, is_late: bool) -> Result<(), StoreError> {
        if !is_late && self.traces != Traces::default() && self.without_waiting(Self::erase) {
            return Ok(());
        }
        let log = super::bytes_of(&schema::beside(&self.path, "-wal"));
        let is_due = match is_late {
            true => self.unmoved >= MOST_UNMOVED || log >= LONGEST_LOG,
            false => self.unmoved > 0 && (self.unmoved >= WORTH_MOVING || log >= LONG_LOG),
        };
        if !is_due {
            return Ok(());
        }
        if is_late {
            // A log that a reader keeps is long after every job; to look through it each time would take too long.
            self.mark_unclean();
        } else if let Err(error) = self.without_waiting(|store| store.overwrite(Pages::InLog)) {
            self.mark_unclean();
            tracing::info!(%error, "the free space of the log's pages was not overwritten");
        }
        self.unmoved = 0;
        let connection = self.connection.as_ref().ok_or(StoreError::Closed)?;
        // PASSIVE waits for no one; pages that others still read are left for the next time.
        let moved = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        moved.map_err(|error| from_sqlite(&error, &self.path))
    }

    /// Notes that pages are moved to the file with whatever is in their free space.
    fn mark_unclean(&mut self) {
        self.is_clean = false;
        if self.traces.pages == Pages::InLog {
            self.traces.pages = Pages::All;
        }
    }

    /// Runs work that fails at once where it would wait for another process: maintenance is tried again later,
    /// and the next job must not wait for it.
    pub(super) fn without_waiting<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let wait = |store: &Self, longest: Duration| {
            // On failure the former limit stays.
            store.connection.as_ref().map(|connection| connection.busy_timeout(longest))
        };
        let longest = self.file.as_ref().map_or(Duration::ZERO, |file| file.busy_timeout);
        drop(wait(self, Duration::ZERO));
        let done = work(self);
        drop(wait(self, longest));
        done
    }
}

/// Moves the log into the file and truncates it. Returns `false` if another connection still reads from it.
pub(super) fn truncate_log(connection: &Connection) -> bool {
    let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    busy.is_ok_and(|busy| busy == 0)
}

/// `true` if pages can be read and written as such: SQLite is built with `sqlite_dbpage`, and the file has fewer than
/// `limit` pages.
fn can_write_pages(tx: &Transaction<'_>, limit: i64) -> rusqlite::Result<bool> {
    tx.query_row(
        "SELECT EXISTS (SELECT 1 FROM pragma_module_list WHERE name = 'sqlite_dbpage')
             AND (SELECT page_count FROM pragma_page_count) < ?1",
        [limit],
        |row| row.get(0),
    )
}

/// The pages in the log, those of completed checkpoints included. Empty if the log cannot be read.
fn in_log(path: &Path) -> BTreeSet<u32> {
    let read = || -> std::io::Result<BTreeSet<u32>> {
        let bytes = fs::metadata(path)?.len();
        let mut log = File::open(path)?;
        let mut word = [0; 4];
        log.seek(SeekFrom::Start(8))?;
        log.read_exact(&mut word)?;
        let frame = FRAME_HEADER + u64::from(u32::from_be_bytes(word));
        let mut numbers = BTreeSet::new();
        for n in 0..bytes.saturating_sub(LOG_HEADER) / frame {
            log.seek(SeekFrom::Start(LOG_HEADER + n * frame))?;
            log.read_exact(&mut word)?;
            numbers.insert(u32::from_be_bytes(word));
        }
        Ok(numbers)
    };
    read().unwrap_or_default()
}

/// Which of these pages have anything in their free space; `None` stands for all pages.
fn unclean(tx: &Transaction<'_>, numbers: Option<&BTreeSet<u32>>) -> Result<Vec<u32>, Fault> {
    let mut found = Vec::new();
    let mut look = |number: u32, page: &[u8]| {
        if free_space(page, number).is_some_and(|free| page[free].iter().any(|byte| *byte != 0)) {
            found.push(number);
        }
    };
    if let Some(numbers) = numbers {
        for number in numbers {
            let page = page(tx, *number)?;
            page.iter().for_each(|page| look(*number, page));
        }
        return Ok(found);
    }
    let mut statement = tx.prepare_cached("SELECT pgno, data FROM sqlite_dbpage")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Ok(page) = row.get_ref(1)?.as_blob() {
            look(row.get(0)?, page);
        }
    }
    Ok(found)
}

/// Overwrites the free space of a page with zeros.
fn clear(tx: &Transaction<'_>, number: u32) -> Done {
    let Some(mut page) = page(tx, number)? else { return Ok(()) };
    let Some(free) = free_space(&page, number) else { return Ok(()) };
    page[free].fill(0);
    tx.prepare_cached("UPDATE sqlite_dbpage SET data = ?2 WHERE pgno = ?1")?
        .execute(params![number, page])?;
    Ok(())
}

/// The bytes of a page; `None` behind the end of the file.
fn page(tx: &Transaction<'_>, number: u32) -> Done<Option<Vec<u8>>> {
    let mut statement = tx.prepare_cached("SELECT data FROM sqlite_dbpage WHERE pgno = ?1")?;
    let mut rows = statement.query([number])?;
    Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
}

/// The bytes between the cell pointers and the cells of a page of a table or an index; `None` for other pages.
fn free_space(page: &[u8], number: u32) -> Option<Range<usize>> {
    // The first page begins with the file's header.
    let start = if number == 1 { 100 } else { 0 };
    let word = |at: usize| {
        let bytes = page.get(start + at..start + at + 2)?;
        Some(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
    };
    let header = match page.get(start)? {
        // Inner pages of an index and of a table; leaves of both.
        2 | 5 => 12,
        10 | 13 => 8,
        _ => return None,
    };
    let from = start + header + 2 * word(3)?;
    // 0 stands for 65,536.
    let to = word(5)?.checked_sub(1).map_or(1 << 16, |to| to + 1);
    (from <= to && to <= page.len()).then_some(from..to)
}
