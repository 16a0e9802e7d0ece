-- Schema 1. Every key begins with the tenant. Texts are compared by their bytes, as in the other stores. Check sums are
-- those of the other stores, too.

-- Who may hold sessions: `expires_at` is the time until which a store counts as alive. `commits` rises with each of its
-- commits; `mark` names the last one.
CREATE TABLE holders (
    tenant text COLLATE "C" NOT NULL,
    holder text COLLATE "C" NOT NULL,
    user_name text NOT NULL,
    host text NOT NULL,
    machine text NOT NULL,
    pid bigint NOT NULL,
    started bigint NOT NULL,
    commits bigint NOT NULL,
    mark text,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, holder)
);

-- Who writes a session. The row outlives a release, so that a fence never comes twice.
CREATE TABLE leases (
    tenant text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    fence bigint NOT NULL,
    holder text COLLATE "C",
    since bigint NOT NULL,
    PRIMARY KEY (tenant, session)
);
CREATE INDEX leases_holder ON leases (tenant, holder) WHERE holder IS NOT NULL;

-- Where rows of messages, turns and compactions are. The ids in them begin with the id of the session `named`. A segment
-- is written by the session that has it as its own, or by none any more.
CREATE TABLE segments (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    named text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- What a session is. Written anew only when something in it changes.
CREATE TABLE chat_sessions (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    workspace text COLLATE "C" NOT NULL,
    title text,
    title_from text,
    driver text NOT NULL,
    kind text,
    parent text COLLATE "C",
    origin text COLLATE "C" NOT NULL,
    work_scope text COLLATE "C",
    generation bigint NOT NULL,
    cuts bigint NOT NULL,
    settings text NOT NULL,
    prefix text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    waits boolean NOT NULL DEFAULT false,
    first_request text,
    first_request_ord bigint,
    summary text,
    summarized_count bigint NOT NULL DEFAULT 0,
    summary_updated_at bigint,
    segment text COLLATE "C" NOT NULL,
    revision_cause text,
    revised_at bigint,
    revision_words text,
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX chat_sessions_segment ON chat_sessions (tenant, segment);
CREATE INDEX chat_sessions_prefix ON chat_sessions (tenant, prefix);
CREATE INDEX chat_sessions_parent ON chat_sessions (tenant, parent, created_at, id) WHERE parent IS NOT NULL;
CREATE INDEX chat_sessions_revisions ON chat_sessions (tenant, parent, cuts DESC) WHERE origin = 'revision';
CREATE INDEX chat_sessions_waiting ON chat_sessions (tenant, workspace, created_at, id) WHERE waits;

-- What changes with every turn. `state`, `works`, `used` and `left_behind` follow from `carried`, for
-- statements that do not read it.
CREATE TABLE chat_activity (
    tenant text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    workspace text COLLATE "C" NOT NULL,
    updated_at bigint NOT NULL,
    messages bigint NOT NULL DEFAULT 0,
    turns bigint NOT NULL DEFAULT 0,
    accepted bigint NOT NULL DEFAULT 0,
    carried text NOT NULL DEFAULT '{}',
    state text,
    works boolean NOT NULL DEFAULT false,
    used bigint NOT NULL DEFAULT 0,
    left_behind boolean NOT NULL DEFAULT false,
    commits bigint NOT NULL DEFAULT 0,
    rewrites bigint NOT NULL DEFAULT 0,
    is_revision boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant, session)
);
CREATE INDEX chat_activity_recent ON chat_activity (tenant, workspace, updated_at DESC, session) WHERE NOT is_revision;

-- Append only: an edit is a row of a higher rev.
CREATE TABLE chat_messages (
    tenant text COLLATE "C" NOT NULL,
    segment text COLLATE "C" NOT NULL,
    ord bigint NOT NULL,
    rev bigint NOT NULL,
    turn bigint NOT NULL,
    role text COLLATE "C" NOT NULL,
    external_id text COLLATE "C",
    message_id text NOT NULL,
    turn_id text NOT NULL,
    visible boolean NOT NULL,
    created_at text,
    tokens bigint NOT NULL,
    hash text COLLATE "C" NOT NULL,
    check_sum bigint NOT NULL,
    body text NOT NULL,
    shown text,
    PRIMARY KEY (tenant, segment, ord, rev)
);
CREATE INDEX chat_messages_request ON chat_messages (tenant, external_id) WHERE role = 'user' AND external_id IS NOT NULL;
CREATE INDEX chat_messages_changed ON chat_messages (tenant, segment, ord) WHERE rev > 0;

CREATE TABLE chat_turns (
    tenant text COLLATE "C" NOT NULL,
    segment text COLLATE "C" NOT NULL,
    idx bigint NOT NULL,
    id text NOT NULL,
    status text NOT NULL,
    started bigint,
    decided text NOT NULL,
    figures text NOT NULL,
    PRIMARY KEY (tenant, segment, idx)
);

-- record is without block and status, which have columns of their own; check_sum is over both texts.
CREATE TABLE compactions (
    tenant text COLLATE "C" NOT NULL,
    segment text COLLATE "C" NOT NULL,
    n bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    covered bigint NOT NULL,
    created_at bigint,
    check_sum bigint NOT NULL,
    block text NOT NULL,
    record text NOT NULL,
    PRIMARY KEY (tenant, segment, n)
);
CREATE UNIQUE INDEX compactions_id ON compactions (tenant, segment, id);

-- Rows from `start` on and before `until` that a session has in other segments; kind is `messages`, `turns` or
-- `compactions`. Ranges of a session do not overlap. A row in such a range is never changed.
CREATE TABLE shares (
    tenant text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    start bigint NOT NULL,
    until bigint NOT NULL,
    segment text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, session, kind, start)
);
CREATE INDEX shares_segment ON shares (tenant, segment, kind, until);

-- The status of a record that others have, too, as one session has it; else it is that of the record's own row.
CREATE TABLE compaction_statuses (
    tenant text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    n bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, session, n)
);

-- Large contents, once each in a tenant, under the hash of their bytes.
CREATE TABLE blobs (
    tenant text COLLATE "C" NOT NULL,
    hash text COLLATE "C" NOT NULL,
    size bigint NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (tenant, hash)
);

-- Who refers to a blob: owner is `message` (n is its ord), `compaction` (n is its n) or `queued` (n is that of the queue).
CREATE TABLE blob_refs (
    tenant text COLLATE "C" NOT NULL,
    segment text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    n bigint NOT NULL,
    rev bigint NOT NULL,
    hash text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, segment, owner, n, rev, hash)
);
CREATE INDEX blob_refs_hash ON blob_refs (tenant, hash);

-- Commands that were accepted and wait; n is the order of acceptance.
CREATE TABLE chat_queue (
    tenant text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    n bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    check_sum bigint NOT NULL,
    item text NOT NULL,
    PRIMARY KEY (tenant, session, n)
);
CREATE UNIQUE INDEX chat_queue_id ON chat_queue (tenant, session, id);

-- The newest keys of accepted commands, with what was answered; n rises.
CREATE TABLE chat_keys (
    tenant text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    n bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    check_sum bigint NOT NULL,
    accepted text NOT NULL,
    PRIMARY KEY (tenant, session, n)
);
CREATE UNIQUE INDEX chat_keys_key ON chat_keys (tenant, session, key);

-- What a user typed and did not send.
CREATE TABLE chat_drafts (
    tenant text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    check_sum bigint NOT NULL,
    draft text NOT NULL,
    PRIMARY KEY (tenant, session)
);

-- Pieces of an answer in progress, deleted with its end.
CREATE TABLE chat_streamed (
    tenant text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    n bigint NOT NULL,
    check_sum bigint NOT NULL,
    piece text NOT NULL,
    PRIMARY KEY (tenant, session, n)
);

-- What sessions of a workspace share.
CREATE TABLE scopes (
    tenant text COLLATE "C" NOT NULL,
    workspace text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    check_sum bigint NOT NULL,
    scope text NOT NULL,
    PRIMARY KEY (tenant, workspace, name)
);

-- Calls that a user approved or rejected once and for all; `call` is the hash of tool and pattern.
CREATE TABLE approvals (
    tenant text COLLATE "C" NOT NULL,
    workspace text COLLATE "C" NOT NULL,
    call text COLLATE "C" NOT NULL,
    tool text NOT NULL,
    pattern text,
    rejected boolean NOT NULL,
    check_sum bigint NOT NULL,
    PRIMARY KEY (tenant, workspace, call)
);

-- What is remembered for a workspace; memory is the whole of it as JSON.
CREATE TABLE memories (
    tenant text COLLATE "C" NOT NULL,
    workspace text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    check_sum bigint NOT NULL,
    memory text NOT NULL,
    PRIMARY KEY (tenant, workspace, id)
);
