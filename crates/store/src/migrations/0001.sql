-- Schema 1. Names follow document 002 where they mean the same.

-- What a session is. Written anew only when something in it changes, so a turn costs a row of chat_activity at most.
CREATE TABLE chat_sessions (
    id TEXT PRIMARY KEY NOT NULL,
    workspace TEXT NOT NULL,
    title TEXT,
    driver TEXT NOT NULL,
    kind TEXT,
    parent TEXT,
    work_scope TEXT,
    generation INTEGER NOT NULL,
    cuts INTEGER NOT NULL,
    settings TEXT NOT NULL,
    -- Sections and tools: the hash of a blob, for they may be large and are frozen.
    prefix TEXT NOT NULL REFERENCES blobs (hash),
    created_at INTEGER NOT NULL,
    first_request TEXT,
    first_request_ord INTEGER,
    summary TEXT,
    summarized_count INTEGER NOT NULL DEFAULT 0,
    summary_updated_at INTEGER
) STRICT;
CREATE INDEX chat_sessions_prefix ON chat_sessions (prefix);

-- What changes with every turn.
CREATE TABLE chat_activity (
    session TEXT PRIMARY KEY NOT NULL REFERENCES chat_sessions (id),
    workspace TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    messages INTEGER NOT NULL DEFAULT 0,
    turns INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX chat_activity_recent ON chat_activity (workspace, updated_at DESC, session);

-- Append only: an edit is a row of a higher rev. check_sum is over all other columns but the session.
CREATE TABLE chat_messages (
    session TEXT NOT NULL REFERENCES chat_sessions (id),
    ord INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    role TEXT NOT NULL,
    external_id TEXT,
    message_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    visible INTEGER NOT NULL,
    created_at TEXT,
    tokens INTEGER NOT NULL,
    hash TEXT NOT NULL,
    check_sum INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (session, ord, rev)
) STRICT, WITHOUT ROWID;
CREATE INDEX chat_messages_request ON chat_messages (external_id) WHERE role = 'user' AND external_id IS NOT NULL;

CREATE TABLE chat_turns (
    session TEXT NOT NULL REFERENCES chat_sessions (id),
    idx INTEGER NOT NULL,
    id TEXT NOT NULL,
    status TEXT NOT NULL,
    started INTEGER,
    decided TEXT NOT NULL,
    PRIMARY KEY (session, idx)
) STRICT, WITHOUT ROWID;

-- record is without block and status, which have columns of their own; check_sum is over both texts.
CREATE TABLE compactions (
    session TEXT NOT NULL REFERENCES chat_sessions (id),
    n INTEGER NOT NULL,
    id TEXT NOT NULL,
    status TEXT NOT NULL,
    covered INTEGER NOT NULL,
    created_at INTEGER,
    check_sum INTEGER NOT NULL,
    block TEXT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX compactions_id ON compactions (session, id);

-- Large contents, once each, under the hash of their bytes.
CREATE TABLE blobs (
    hash TEXT PRIMARY KEY NOT NULL,
    size INTEGER NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

-- Who refers to a blob: owner is `message` (n is its ord) or `compaction` (n is its n).
CREATE TABLE blob_refs (
    session TEXT NOT NULL REFERENCES chat_sessions (id),
    owner TEXT NOT NULL,
    n INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    hash TEXT NOT NULL REFERENCES blobs (hash),
    PRIMARY KEY (session, owner, n, rev, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_refs_hash ON blob_refs (hash);

-- Who writes a session. The row outlives a release, so that a fence never comes twice.
CREATE TABLE leases (
    session TEXT PRIMARY KEY NOT NULL,
    fence INTEGER NOT NULL,
    holder TEXT,
    pid INTEGER NOT NULL,
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX leases_holder ON leases (holder) WHERE holder IS NOT NULL;
