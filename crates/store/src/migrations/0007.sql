-- Schema 7: sessions that wait for a process that serves their folder. Most wait for none, and are in no such index.

ALTER TABLE chat_sessions ADD COLUMN waits INTEGER NOT NULL DEFAULT 0;
CREATE INDEX chat_sessions_waiting ON chat_sessions (workspace, created_at, id) WHERE waits = 1;
CREATE INDEX chat_sessions_tasks ON chat_sessions (parent, created_at, id) WHERE origin = 'background';
