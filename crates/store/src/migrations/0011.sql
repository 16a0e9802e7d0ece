-- Schema 11: a branch and a revision share rows with their session instead of copying them.

-- Where rows of messages, turns and compactions are. The ids in them begin with the id of the session `named`. A segment is
-- written by the session that has it as its own, or by none any more.
CREATE TABLE segments (
    id TEXT PRIMARY KEY NOT NULL,
    named TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO segments SELECT id, CASE WHEN origin = 'revision' THEN coalesce(parent, id) ELSE id END FROM chat_sessions;

-- Rows whose session's own row is lost are kept.
INSERT OR IGNORE INTO segments
    SELECT session, session FROM chat_messages UNION SELECT session, session FROM chat_turns
    UNION SELECT session, session FROM compactions UNION SELECT session, session FROM blob_refs;

ALTER TABLE chat_messages RENAME COLUMN session TO segment;
ALTER TABLE chat_turns RENAME COLUMN session TO segment;
ALTER TABLE compactions RENAME COLUMN session TO segment;
ALTER TABLE blob_refs RENAME COLUMN session TO segment;

-- SQLite changes no reference of a table; its documentation names this way for what does not change how rows are stored. The
-- tables made below tell other connections.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'REFERENCES chat_sessions (id)', 'REFERENCES segments (id)')
WHERE type = 'table' AND name IN ('chat_messages', 'chat_turns', 'compactions', 'blob_refs');
PRAGMA writable_schema = RESET;

-- A session's own segment, which has all its rows but those in `shares`.
ALTER TABLE chat_sessions ADD COLUMN segment TEXT REFERENCES segments (id);
UPDATE chat_sessions SET segment = id;
CREATE UNIQUE INDEX chat_sessions_segment ON chat_sessions (segment);

-- Rows from `start` on and before `until` that a session has in other segments; kind is `messages`, `turns` or `compactions`.
-- Ranges of a session do not overlap. A row in such a range is never changed.
CREATE TABLE shares (
    session TEXT NOT NULL REFERENCES chat_sessions (id),
    kind TEXT NOT NULL,
    start INTEGER NOT NULL,
    until INTEGER NOT NULL,
    segment TEXT NOT NULL REFERENCES segments (id),
    PRIMARY KEY (session, kind, start)
) STRICT, WITHOUT ROWID;
CREATE INDEX shares_segment ON shares (segment, kind, until);

-- The status of a record that others have, too, as one session has it; else it is that of the record's own row.
CREATE TABLE compaction_statuses (
    session TEXT NOT NULL REFERENCES chat_sessions (id),
    n INTEGER NOT NULL,
    status TEXT NOT NULL,
    PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;

-- A revision is listed without its summary.
UPDATE chat_sessions SET summary = NULL, summarized_count = 0, summary_updated_at = NULL WHERE origin = 'revision';

-- Versions of changed messages, which a branch does not have.
CREATE INDEX chat_messages_changed ON chat_messages (segment, ord) WHERE rev > 0;
