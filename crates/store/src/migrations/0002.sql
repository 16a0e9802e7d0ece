-- Schema 2: commands that wait, keys of accepted ones, drafts; where a title and a session come from.

ALTER TABLE chat_sessions ADD COLUMN title_from TEXT;
ALTER TABLE chat_sessions ADD COLUMN origin TEXT NOT NULL DEFAULT 'new';
-- Commands that were accepted so far: it changes as often as what stands beside it.
ALTER TABLE chat_activity ADD COLUMN accepted INTEGER NOT NULL DEFAULT 0;

-- Until now only clients gave titles.
UPDATE chat_sessions SET title_from = 'client' WHERE title IS NOT NULL;
-- Until now a session with a parent was either a copy of it, whose first message carries the original's id, or ran for it.
UPDATE chat_sessions SET origin = 'background' WHERE parent IS NOT NULL;
UPDATE chat_sessions SET origin = 'rewind' WHERE parent IS NOT NULL AND
    (SELECT substr(message_id, 1, length(chat_sessions.id) + 1) <> chat_sessions.id || '/' FROM chat_messages
     WHERE session = chat_sessions.id ORDER BY ord LIMIT 1);

-- Commands that were accepted and wait; n is the order of acceptance. check_sum is over id and item. Their large contents
-- are in blobs; owner in blob_refs is `queued`, n is this one.
CREATE TABLE chat_queue (
    session TEXT NOT NULL REFERENCES chat_sessions (id),
    n INTEGER NOT NULL,
    id TEXT NOT NULL,
    check_sum INTEGER NOT NULL,
    item TEXT NOT NULL,
    PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX chat_queue_id ON chat_queue (session, id);

-- The newest keys of accepted commands, with what was answered; n rises. check_sum is over key and answer.
CREATE TABLE chat_keys (
    session TEXT NOT NULL REFERENCES chat_sessions (id),
    n INTEGER NOT NULL,
    key TEXT NOT NULL,
    check_sum INTEGER NOT NULL,
    accepted TEXT NOT NULL,
    PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX chat_keys_key ON chat_keys (session, key);

-- What a user typed and did not send.
CREATE TABLE chat_drafts (
    session TEXT PRIMARY KEY NOT NULL REFERENCES chat_sessions (id),
    check_sum INTEGER NOT NULL,
    draft TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What sessions of a workspace share. check_sum is over all other columns.
CREATE TABLE scopes (
    workspace TEXT NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    check_sum INTEGER NOT NULL,
    scope TEXT NOT NULL,
    PRIMARY KEY (workspace, name)
) STRICT, WITHOUT ROWID;

-- Calls that a user approved once and for all. check_sum is over all other columns, lest damage approves anything.
CREATE TABLE approvals (
    workspace TEXT NOT NULL,
    tool TEXT NOT NULL,
    pattern TEXT,
    check_sum INTEGER NOT NULL
) STRICT;
CREATE INDEX approvals_workspace ON approvals (workspace, tool);
