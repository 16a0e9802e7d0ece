-- Schema 3: an index for searches, filled by them.

-- Messages before `indexed` are in the index, but for those in `search_stale`. Without its key nothing can be read from
-- the terms of a segment, which outlive its rows in the index.
ALTER TABLE segments ADD COLUMN indexed bigint NOT NULL DEFAULT 0;
ALTER TABLE segments ADD COLUMN search_key text;

-- Keyed hashes of the terms of each piece of a message, with repetitions.
CREATE TABLE search_pieces (
    tenant text COLLATE "C" NOT NULL,
    segment text COLLATE "C" NOT NULL,
    ord bigint NOT NULL,
    piece bigint NOT NULL,
    terms bigint[] NOT NULL,
    PRIMARY KEY (tenant, segment, ord, piece)
);
CREATE INDEX search_pieces_terms ON search_pieces USING gin (terms);

-- Messages that changed since they were indexed.
CREATE TABLE search_stale (
    tenant text COLLATE "C" NOT NULL,
    segment text COLLATE "C" NOT NULL,
    ord bigint NOT NULL,
    PRIMARY KEY (tenant, segment, ord)
);

ALTER TABLE search_pieces ENABLE ROW LEVEL SECURITY;
ALTER TABLE search_pieces FORCE ROW LEVEL SECURITY;
CREATE POLICY search_pieces_of_tenant ON search_pieces USING (tenant = (SELECT threadhold_tenant()));

ALTER TABLE search_stale ENABLE ROW LEVEL SECURITY;
ALTER TABLE search_stale FORCE ROW LEVEL SECURITY;
CREATE POLICY search_stale_of_tenant ON search_stale USING (tenant = (SELECT threadhold_tenant()));
