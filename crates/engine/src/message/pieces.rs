//! A message as pieces of a few lines, from which the excerpts of a compaction are chosen. Values only; `compact` cuts
//! them.

/// The part of a message that a piece was cut from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A user's request.
    Request,
    /// A model's words.
    Words,
    /// The text that an edit put in place of another.
    Edit,
    /// The content of a file that was written whole.
    Write,
    /// Other arguments of a call.
    Arguments,
    /// The result of a call.
    Result,
}

/// A run of lines of one text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    pub origin: Origin,
    /// The call in the message that it belongs to.
    pub call: Option<usize>,
    /// The file that the edit itself names.
    pub file: Option<String>,
    /// Number of its text in the message, and of the piece in that text.
    pub text: usize,
    pub place: usize,
    pub lines: Vec<Line>,
    /// The first line that an edit replaced, by its fingerprint.
    pub replaces: Option<u64>,
    /// Bytes of all lines.
    pub bytes: usize,
    /// Fingerprints of the names in it, sorted.
    pub names: Vec<u64>,
    /// Number of marks, up to `MOST_MARKS`.
    pub marks: usize,
}

/// A line of a piece, without the number that a tool put before it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub text: Box<str>,
    /// Fingerprint without regard to white space; `None` for a line that is too short to tell apart.
    pub print: Option<u64>,
    /// The number of the line in its file, if the tool stated it.
    pub number: Option<u32>,
}

/// Lines that an edit took away, or content that replaced a whole file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Replaced {
    /// The call that did it.
    pub call: usize,
    /// The file that the edit itself names.
    pub file: Option<String>,
    /// Fingerprints of lines: those that are gone, or all that are left if `is_whole`.
    pub lines: Vec<u64>,
    pub is_whole: bool,
    /// The old and the new text if neither has a line break, so that they may be parts of lines.
    pub within: Option<(Box<str>, Box<str>)>,
}

/// A message as pieces.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Pieces {
    pub pieces: Vec<Piece>,
    pub replaced: Vec<Replaced>,
}
