//! The base framing of the language server protocol: bytes in, bodies out, and what is no frame named and stepped over.
//! It knows headers and lengths; what a body says is [`super::message`]'s.

use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// A header block longer than this is none. Bytes.
const MOST_HEADER: usize = 8 << 10;
/// How much of a body over the limit is kept, to find out whose it is. Bytes.
pub const HEAD: usize = 4 << 10;
/// `Content-Length:`, blanks, a number and the line's end have room in here. Bytes.
const LENGTH_LINE: usize = 64;
/// Free room before each read. Bytes.
const ROOM: usize = 16 << 10;
/// A buffer larger than this is given back once it is empty. Bytes.
const KEEP: usize = 1 << 20;

/// One piece of the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// The body of a frame.
    Body(Vec<u8>),
    /// What is no frame; the next piece is looked for behind it.
    Bad {
        /// What is wrong with it.
        fault: Fault,
        /// What was taken off the stream so far: the header's good lines, or the first [`HEAD`] bytes of a body.
        bytes: Vec<u8>,
    },
    /// Bytes between a bad frame and the next header: for recordings, for nobody answers them.
    Skipped(Vec<u8>),
}

/// Why a frame is none. Its text is for people and repeats nothing of the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A line that is no header.
    #[error("A line in the place of a header is no header. The stream goes on at the next Content-Length.")]
    NotAHeader,
    /// A length that is no number, or two that differ.
    #[error("A Content-Length is no length. The stream goes on at the next Content-Length.")]
    BadLength,
    /// A header block without a length.
    #[error("A header has no Content-Length. The stream goes on at the next one.")]
    NoLength,
    /// A header block that does not end within [`MOST_HEADER`] bytes. Its length, if it has one, is not believed.
    #[error(
        "a header is longer than {MOST_HEADER} bytes; it was skipped, and the stream goes on at the next Content-Length"
    )]
    HeaderTooLong,
    /// A body over the limit. Both in bytes.
    #[error("A body of {actual} bytes is over the limit of {limit}. It was skipped; send less at a time.")]
    TooLarge {
        /// The largest body that is taken.
        limit: u64,
        /// What the header announced.
        actual: u64,
    },
}

/// Why no further frame can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unframeable {
    /// The input ended where a frame had begun.
    #[error("the input ended inside a frame")]
    EndInside,
}

/// Finds frames in bytes that come in pieces of any size. Does no IO.
#[derive(Debug)]
pub struct Decoder {
    limit: u64,
    buffer: Vec<u8>,
    /// What lies before was handed out.
    at: usize,
    state: State,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Header,
    Body {
        length: usize,
    },
    /// The head of a body over the limit is awaited.
    Head {
        actual: u64,
    },
    /// The rest of such a body.
    Skip {
        left: u64,
    },
    /// After a bad header: the next `Content-Length`.
    Search,
}

/// What a header block came to.
enum Header {
    More,
    Done { end: usize, length: u64 },
    Bad { fault: Fault, end: usize },
}

impl Decoder {
    /// A decoder of bodies of at most `limit` bytes.
    #[must_use]
    pub const fn new(limit: u64) -> Self {
        Self { limit, buffer: Vec::new(), at: 0, state: State::Header }
    }

    /// Where the next bytes of the stream go: to the end of this.
    pub fn room(&mut self) -> &mut Vec<u8> {
        if self.at == self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
            if self.buffer.capacity() > KEEP {
                self.buffer.shrink_to(ROOM);
            }
        } else if self.at > KEEP.min(self.buffer.len() / 2) {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        // No more than comes: an announced length alone costs nothing.
        self.buffer.reserve(ROOM);
        &mut self.buffer
    }

    /// The next piece, or nothing until more bytes are there. However much is no frame: it is stepped over as it comes, so
    /// that no more of it is held than a header has room for.
    pub fn piece(&mut self) -> Option<Frame> {
        loop {
            let rest = self.buffer.get(self.at..).unwrap_or_default();
            match self.state {
                // How much has come behind a header is chance, and must not decide whether it is one.
                State::Header => match header(rest.get(..MOST_HEADER).unwrap_or(rest)) {
                    Header::More if rest.len() < MOST_HEADER => return None,
                    Header::More => return Some(self.bad(Fault::HeaderTooLong, MOST_HEADER)),
                    Header::Bad { fault, end } => return Some(self.bad(fault, end)),
                    Header::Done { end, length } => {
                        self.at += end;
                        self.state = match usize::try_from(length) {
                            Ok(length) if length as u64 <= self.limit => State::Body { length },
                            _ => State::Head { actual: length },
                        };
                    }
                },
                State::Body { length } if rest.len() >= length => {
                    self.state = State::Header;
                    return Some(Frame::Body(self.take(length)));
                }
                State::Head { actual } => {
                    let head = HEAD.min(usize::try_from(actual).unwrap_or(HEAD));
                    if rest.len() < head {
                        return None;
                    }
                    let bytes = self.take(head);
                    self.state = State::Skip { left: actual - head as u64 };
                    return Some(Frame::Bad { fault: Fault::TooLarge { limit: self.limit, actual }, bytes });
                }
                State::Skip { left: 0 } => self.state = State::Header,
                State::Skip { left } if !rest.is_empty() => {
                    let step = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    self.at += step;
                    self.state = State::Skip { left: left - step as u64 };
                }
                State::Search => {
                    let (step, found) = search(rest);
                    if found {
                        self.state = State::Header;
                    }
                    if step > 0 {
                        return Some(Frame::Skipped(self.take(step)));
                    }
                    if !found {
                        return None;
                    }
                }
                State::Body { .. } | State::Skip { .. } => return None,
            }
        }
    }

    /// Whether the input may end here.
    ///
    /// # Errors
    /// When a frame has begun, or no header was found again.
    pub fn finish(&self) -> Result<(), Unframeable> {
        let rest = self.buffer.get(self.at..).unwrap_or_default();
        match self.state {
            State::Header if rest.trim_ascii().is_empty() => Ok(()),
            State::Skip { left: 0 } => Ok(()),
            _ => Err(Unframeable::EndInside),
        }
    }

    fn take(&mut self, length: usize) -> Vec<u8> {
        let end = self.at + length;
        if self.at == 0 && self.buffer.len() == end {
            return std::mem::take(&mut self.buffer);
        }
        let bytes = self.buffer.get(self.at..end).unwrap_or_default().to_vec();
        self.at = end;
        bytes
    }

    fn bad(&mut self, fault: Fault, end: usize) -> Frame {
        self.state = State::Search;
        Frame::Bad { fault, bytes: self.take(end) }
    }
}

/// Reads the header block at the beginning of `bytes`. A line that can be no header is told from its first bad byte,
/// so that whoever sends bodies without headers hears of it at once.
fn header(bytes: &[u8]) -> Header {
    let (mut length, mut start, mut is_begun) = (None, 0, false);
    loop {
        let rest = bytes.get(start..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == b'\n');
        let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let name = line.iter().position(|byte| !is_name(*byte));
        let is_blank = matches!(line, b"" | b"\r");
        let next = end.map(|end| start + end + 1);
        match (name.and_then(|name| line.split_at_checked(name)), next) {
            // The block's end, or a blank before it.
            (_, Some(next)) if is_blank => match length {
                Some(length) => return Header::Done { end: next, length },
                None if is_begun => return Header::Bad { fault: Fault::NoLength, end: next },
                None => start = next,
            },
            (Some((name, [b':', value @ ..])), Some(next)) if !name.is_empty() => {
                if name.eq_ignore_ascii_case(b"content-length") {
                    let value = parse_length(value);
                    if value.is_none() || (length.is_some() && length != value) {
                        return Header::Bad { fault: Fault::BadLength, end: start };
                    }
                    length = value;
                }
                is_begun = true;
                start = next;
            }
            (Some(([_, ..], [b':', ..])) | None, None) => return Header::More,
            (_, None) if is_blank => return Header::More,
            _ => return Header::Bad { fault: Fault::NotAHeader, end: start },
        }
    }
}

/// What header names are made of (RFC 9110, `tchar`).
const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

/// A length, or nothing where there is none. Nineteen digits are more than any body has and fit into 64 bits.
fn parse_length(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii();
    if digits.is_empty() || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Looks for `Content-Length: NUMBER` and a line's end: how many bytes are before it, and whether it is there. It may
/// begin in the middle of a line, for a body before it ends without one; JSON cannot hold it, for a line's end is
/// escaped in JSON.
fn search(bytes: &[u8]) -> (usize, bool) {
    const NAME: &[u8] = b"content-length:";
    for (at, window) in bytes.windows(NAME.len()).enumerate() {
        if window.eq_ignore_ascii_case(NAME) {
            let end = bytes.len().min(at + LENGTH_LINE);
            let value = bytes.get(at + NAME.len()..end).unwrap_or_default();
            match value.iter().position(|byte| *byte == b'\n') {
                Some(line) if parse_length(value.get(..line).unwrap_or_default()).is_some() => {
                    return (at, true);
                }
                // The rest of the line has not come yet.
                None if at + LENGTH_LINE > bytes.len() => return (at, false),
                _ => {}
            }
        }
    }
    // The name itself may have come in part.
    let kept = (1..NAME.len().min(bytes.len() + 1))
        .rev()
        .find(|kept| {
            let tail = bytes.get(bytes.len() - kept..).unwrap_or_default();
            NAME.get(..*kept).is_some_and(|name| name.eq_ignore_ascii_case(tail))
        })
        .unwrap_or_default();
    (bytes.len() - kept, false)
}

/// The header of a body of this many bytes.
#[must_use]
pub fn head(length: usize) -> String {
    format!("Content-Length: {length}\r\n\r\n")
}

/// Frames from a stream.
#[derive(Debug)]
pub struct FrameReader<R> {
    input: R,
    decoder: Decoder,
}

/// Why no frame could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The stream makes no sense any more.
    #[error(transparent)]
    Unframeable(#[from] Unframeable),
    /// The stream broke: the other side is gone.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Reads bodies of at most `limit` bytes.
    pub const fn new(input: R, limit: u64) -> Self {
        Self { input, decoder: Decoder::new(limit) }
    }

    /// The next piece; nothing at the input's end. Nothing is lost when the future is dropped before it is done.
    ///
    /// # Errors
    /// When the stream broke or cannot be framed any more.
    pub async fn next(&mut self) -> Result<Option<Frame>, ReadError> {
        loop {
            if let Some(frame) = self.decoder.piece() {
                return Ok(Some(frame));
            }
            if self.input.read_buf(self.decoder.room()).await? == 0 {
                self.decoder.finish()?;
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests;
