-- Schema 8: search ranks pieces of messages by their words; the count of a summary includes dropped messages; what
-- rewinds replace is kept as revisions of their session.

-- Runs of three characters cannot be ranked: nothing tells a rare word from a common one.
DROP TABLE search_messages;

-- The terms of each piece of the newest version of each message, as the engine splits them, hashed with the session's key, under
-- n * 2^39 + ord * 2^14 + the piece's number. Its segments are merged a little whenever it takes something in and never by
-- themselves, so that nobody pays at once for all those before.
CREATE VIRTUAL TABLE search_pieces USING fts5 (
    terms, content = '', contentless_delete = 1, tokenize = 'ascii'
);
INSERT INTO search_pieces (search_pieces, rank) VALUES ('automerge', 0);
INSERT INTO search_pieces (search_pieces, rank) VALUES ('crisismerge', 1000);
INSERT INTO search_pieces (search_pieces, rank) VALUES ('usermerge', 16);

-- With the key of a deleted session goes what the index has of it; entries are removed later.
ALTER TABLE search_sessions ADD COLUMN key BLOB NOT NULL DEFAULT x'';
DELETE FROM search_sessions;

-- The next search fills it.
UPDATE chat_activity SET indexed = 0;

UPDATE compactions SET covered = json_extract(record, '$.dropped.to') + 1
WHERE json_valid(record) AND json_extract(record, '$.dropped.to') IS NOT NULL;
UPDATE chat_sessions SET summarized_count = coalesce(
    (SELECT covered FROM compactions WHERE session = chat_sessions.id AND status = 'inForce' ORDER BY n DESC LIMIT 1), 0
);

-- A revision is a row like a session's, with origin `revision`: its parent is the session, its cuts are the number under which
-- it is listed. These columns are null in all other rows. Forks that rewinds left behind until now stay forks.
ALTER TABLE chat_sessions ADD COLUMN revision_cause TEXT;
ALTER TABLE chat_sessions ADD COLUMN revised_at INTEGER;
ALTER TABLE chat_sessions ADD COLUMN revision_words TEXT;
CREATE INDEX chat_sessions_revisions ON chat_sessions (parent, cuts DESC) WHERE origin = 'revision';

-- Lists of sessions read no revision, however many there are.
ALTER TABLE chat_activity ADD COLUMN is_revision INTEGER NOT NULL DEFAULT 0;
DROP INDEX chat_activity_recent;
CREATE INDEX chat_activity_recent ON chat_activity (workspace, updated_at DESC, session) WHERE is_revision = 0;
