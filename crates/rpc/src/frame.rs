//! The base framing of the language server protocol: bytes in, bodies out, with invalid input reported and
//! skipped. Handles headers and lengths; [`super::message`] parses bodies.

use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The longest header block, in bytes.
const MOST_HEADER: usize = 8 << 10;
/// Bytes kept of a body over the limit, to find its id.
pub const HEAD: usize = 4 << 10;
/// Enough bytes for `Content-Length:`, blanks, a number and the line break.
const LENGTH_LINE: usize = 64;
/// Free bytes in the buffer before each read.
const ROOM: usize = 16 << 10;
/// A larger buffer is shrunk once it is empty, in bytes.
const KEEP: usize = 1 << 20;

/// A piece of the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// The body of a frame.
    Body(Vec<u8>),
    /// Invalid input; the search for the next piece starts after it.
    Bad {
        /// The fault.
        fault: Fault,
        /// The bytes consumed so far: the header's valid lines, or the first [`HEAD`] bytes of a body.
        bytes: Vec<u8>,
    },
    /// Bytes between a bad frame and the next header. Only recorded, never answered.
    Skipped(Vec<u8>),
}

/// The reason why a frame is invalid. The message is for people and quotes no content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A line that is not a header.
    #[error("invalid header line; reading resumes at the next Content-Length")]
    NotAHeader,
    /// A length that is not a number, or two that differ.
    #[error("invalid Content-Length; reading resumes at the next Content-Length")]
    BadLength,
    /// A header block without a length.
    #[error("header without Content-Length; reading resumes at the next Content-Length")]
    NoLength,
    /// A header block that does not end within [`MOST_HEADER`] bytes. Its length, if any, is ignored.
    #[error(
        "a header is longer than {MOST_HEADER} bytes; it was skipped; reading resumes at the next Content-Length"
    )]
    HeaderTooLong,
    /// A body over the limit, both in bytes.
    #[error("a body of {actual} bytes exceeds the limit of {limit}; it was skipped; send less at a time")]
    TooLarge {
        /// The largest accepted body.
        limit: u64,
        /// The announced length.
        actual: u64,
    },
}

/// The reason why no further frame can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unframeable {
    /// The input ended inside a frame.
    #[error("the input ended inside a frame")]
    EndInside,
}

/// Finds frames in a stream that arrives in chunks of any size. Does no IO.
#[derive(Debug)]
pub struct Decoder {
    limit: u64,
    buffer: Vec<u8>,
    /// The start of the unconsumed bytes.
    at: usize,
    state: State,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Header,
    Body {
        length: usize,
    },
    /// Waiting for the first [`HEAD`] bytes of a body over the limit.
    Head {
        actual: u64,
    },
    /// Skipping the rest of such a body.
    Skip {
        left: u64,
    },
    /// After a bad header: searching for the next `Content-Length`.
    Search,
}

/// The result of parsing a header block.
enum Header {
    More,
    Done { end: usize, length: u64 },
    Bad { fault: Fault, end: usize },
}

impl Decoder {
    /// Creates a decoder for bodies of at most `limit` bytes.
    #[must_use]
    pub const fn new(limit: u64) -> Self {
        Self { limit, buffer: Vec::new(), at: 0, state: State::Header }
    }

    /// Returns the buffer to append the next bytes of the stream to.
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
        // Reserves only for bytes that arrive: an announced length alone allocates nothing.
        self.buffer.reserve(ROOM);
        &mut self.buffer
    }

    /// Returns the next piece, or `None` until more bytes are available. Invalid input is skipped as it
    /// arrives, so that the buffer never holds more of it than a header's limit.
    pub fn piece(&mut self) -> Option<Frame> {
        loop {
            let rest = self.buffer.get(self.at..).unwrap_or_default();
            match self.state {
                // Limits the bytes parsed, because how many have arrived must not decide whether a header is valid.
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

    /// Checks that the input may end here.
    ///
    /// # Errors
    /// If a frame has begun, or no header was found since the last bad one.
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

/// Parses the header block at the start of `bytes`. An invalid line is reported at its first bad byte, so
/// that a client that sends bodies without headers gets an error at once.
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
            // The end of the block, or a blank line before it.
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

/// `true` for bytes of header names (RFC 9110, `tchar`).
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

/// Parses a length; `None` if invalid. At most 19 digits, which fit into 64 bits and exceed any body.
fn parse_length(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii();
    if digits.is_empty() || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Searches for `Content-Length: NUMBER` and a line break; returns the number of bytes before it and whether
/// it was found. It may start within a line, because a body before it ends without a line break; it cannot be
/// part of JSON, which escapes line breaks.
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
                // The rest of the line has not arrived yet.
                None if at + LENGTH_LINE > bytes.len() => return (at, false),
                _ => {}
            }
        }
    }
    // The name itself may have arrived in part.
    let kept = (1..NAME.len().min(bytes.len() + 1))
        .rev()
        .find(|kept| {
            let tail = bytes.get(bytes.len() - kept..).unwrap_or_default();
            NAME.get(..*kept).is_some_and(|name| name.eq_ignore_ascii_case(tail))
        })
        .unwrap_or_default();
    (bytes.len() - kept, false)
}

/// Returns the header for a body of `length` bytes.
#[must_use]
pub fn head(length: usize) -> String {
    format!("Content-Length: {length}\r\n\r\n")
}

/// Reads frames from a stream.
#[derive(Debug)]
pub struct FrameReader<R> {
    input: R,
    decoder: Decoder,
}

/// The reason why no frame could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The stream cannot be framed any more.
    #[error(transparent)]
    Unframeable(#[from] Unframeable),
    /// Reading failed: the other side is gone.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Creates a reader for bodies of at most `limit` bytes.
    pub const fn new(input: R, limit: u64) -> Self {
        Self { input, decoder: Decoder::new(limit) }
    }

    /// Returns the next piece; `None` at the end of the input. Cancel safe.
    ///
    /// # Errors
    /// If reading failed, or the stream cannot be framed any more.
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
