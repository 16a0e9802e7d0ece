-- Schema 6: search in what was said, and memories.

-- The number under which the messages of a session are searched; never given twice.
CREATE TABLE search_sessions (
    n INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    session TEXT NOT NULL UNIQUE REFERENCES chat_sessions (id)
) STRICT;

-- Where a word may stand: the newest version of each message, under n * 2^32 + ord. Nothing of a message can be read from
-- it but which runs of three characters are in it. Its segments are merged a little whenever it takes something in and
-- never by themselves, so that nobody pays at once for all those before.
CREATE VIRTUAL TABLE search_messages USING fts5 (
    said, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram case_sensitive 1'
);
INSERT INTO search_messages (search_messages, rank) VALUES ('automerge', 0);
INSERT INTO search_messages (search_messages, rank) VALUES ('crisismerge', 1000);
INSERT INTO search_messages (search_messages, rank) VALUES ('usermerge', 16);

-- Messages before this one are in the index, which is filled when somebody searches.
ALTER TABLE chat_activity ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;

-- What is remembered for a workspace. check_sum is over all other columns but n; memory is the whole of it as JSON.
CREATE TABLE memories (
    n INTEGER PRIMARY KEY NOT NULL,
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    area TEXT NOT NULL,
    active INTEGER NOT NULL,
    check_sum INTEGER NOT NULL,
    memory TEXT NOT NULL,
    UNIQUE (workspace, id)
) STRICT;

CREATE VIRTUAL TABLE search_memories USING fts5 (
    said, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram case_sensitive 1'
);
