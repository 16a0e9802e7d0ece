-- Schema 9: pieces of an answer in progress, in case its process ends before it does. They are deleted with its end, so
-- that most sessions have none.

CREATE TABLE chat_streamed (
    session TEXT NOT NULL REFERENCES chat_sessions (id),
    n INTEGER NOT NULL,
    check_sum INTEGER NOT NULL,
    piece TEXT NOT NULL,
    PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;
