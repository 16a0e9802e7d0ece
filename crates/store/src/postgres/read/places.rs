//! Where the rows of a session are: in its own segment, and in ranges of others that it shares. See
//! `crate::postgres::write::segments`.

/// Rows that sessions share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::postgres) enum RowKind {
    Messages,
    Turns,
    Compactions,
}

impl RowKind {
    pub const ALL: [Self; 3] = [Self::Messages, Self::Turns, Self::Compactions];

    /// Its name in `shares`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Turns => "turns",
            Self::Compactions => "compactions",
        }
    }

    /// The table, and its column with the position.
    pub fn table(self) -> (&'static str, &'static str) {
        match self {
            Self::Messages => ("chat_messages", "ord"),
            Self::Turns => ("chat_turns", "idx"),
            Self::Compactions => ("compactions", "n"),
        }
    }

    /// The owner of its contents in `blob_refs`.
    pub fn owner(self) -> Option<&'static str> {
        match self {
            Self::Messages => Some("message"),
            Self::Turns => None,
            Self::Compactions => Some("compaction"),
        }
    }
}

/// The places of session `$2`, as a table `places` for the statement behind it. No two have the same position.
pub(in crate::postgres) fn places(kind: RowKind) -> String {
    let kind = kind.word();
    format!(
        "WITH places (segment, start, until, named, own) AS (
             SELECT s.segment, 0::bigint, 4294967296, coalesce(g.named, s.id), coalesce(g.named, s.id)
             FROM chat_sessions s LEFT JOIN segments g ON g.tenant = s.tenant AND g.id = s.segment
             WHERE s.tenant = $1 AND s.id = $2
             UNION ALL
             SELECT h.segment, h.start, h.until, coalesce(g.named, h.segment), coalesce(o.named, s.id)
             FROM shares h JOIN chat_sessions s ON s.tenant = h.tenant AND s.id = h.session
             LEFT JOIN segments g ON g.tenant = h.tenant AND g.id = h.segment
             LEFT JOIN segments o ON o.tenant = s.tenant AND o.id = s.segment
             WHERE h.tenant = $1 AND h.session = $2 AND h.kind = '{kind}')"
    )
}

/// The rows of a session, as `r`, with their place, as `p`; `more` is a further condition on both.
pub(in crate::postgres) fn in_places(kind: RowKind, columns: &str, more: &str, order: &str) -> String {
    let (places, (table, position)) = (places(kind), kind.table());
    format!(
        "{places} SELECT {columns} FROM places p JOIN {table} r ON r.tenant = $1 AND r.segment = p.segment
             AND r.{position} >= p.start AND r.{position} < p.until {more} {order}"
    )
}

/// The newest row of a session, as `r`, with its place, as `p`: at the cost of a look into each place.
pub(in crate::postgres) fn newest_in(kind: RowKind, columns: &str) -> String {
    let (places, (table, position)) = (places(kind), kind.table());
    format!(
        "{places} SELECT {columns} FROM places p CROSS JOIN LATERAL (
             SELECT * FROM {table} l WHERE l.tenant = $1 AND l.segment = p.segment
                 AND l.{position} >= p.start AND l.{position} < p.until ORDER BY l.{position} DESC LIMIT 1) r
         ORDER BY r.{position} DESC LIMIT 1"
    )
}
