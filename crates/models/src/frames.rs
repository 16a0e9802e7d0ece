//! Splits the bytes of a stream into events: server-sent events, or lines of JSON. Pieces may be cut
//! anywhere.
//!
//! No library for this has a bound on an event's size and takes plain bytes, which tests cut anywhere.

use super::ModelError;

/// The largest event, in bytes; more is not a model's answer.
const MOST_EVENT: usize = 16 << 20;

/// The format of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events; an event is their `data`.
    Events,
    /// An event per line.
    Lines,
}

/// The incomplete event at the end of the data so far.
#[derive(Debug)]
pub struct Frames {
    framing: Framing,
    line: Vec<u8>,
    /// `true` after a carriage return: a line feed then belongs to the same line end.
    after_return: bool,
    data: Vec<u8>,
    has_data: bool,
    is_first: bool,
    /// Lines before the first event field that are no fields.
    stray: Vec<u8>,
    /// `true` once there was an event field.
    is_stream: bool,
}

/// Field names of server-sent events; a comment has an empty one.
const FIELDS: &[&[u8]] = &[b"data", b"event", b"id", b"retry", b""];

impl Frames {
    /// Creates the state before the first byte.
    pub fn new(framing: Framing) -> Self {
        Self {
            framing,
            line: Vec::new(),
            after_return: false,
            data: Vec::new(),
            has_data: false,
            is_first: true,
            stray: Vec::new(),
            is_stream: false,
        }
    }

    /// Adds bytes, and appends the events that they complete to `events`, also those before an error.
    ///
    /// # Errors
    ///
    /// Fails if an event is too large or not UTF-8.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<String>) -> Result<(), ModelError> {
        for byte in bytes {
            match byte {
                b'\n' if std::mem::take(&mut self.after_return) => {}
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    events.extend(self.line()?);
                }
                byte => {
                    self.after_return = false;
                    self.line.push(*byte);
                }
            }
            if self.line.len() + self.data.len() + self.stray.len() > MOST_EVENT {
                return Err(corrupt(&format!("an event is larger than {MOST_EVENT} bytes")));
            }
        }
        Ok(())
    }

    /// At the end of the stream, returns the whole body if it was no event stream: some servers answer with a
    /// single body, mostly an error.
    pub(crate) fn stray(&mut self) -> Option<String> {
        // The last line may be cut within a field name.
        let may_be_field = FIELDS.iter().any(|field| field.starts_with(&self.line)) || is_field(&self.line);
        if self.framing == Framing::Lines || self.is_stream || (self.stray.is_empty() && may_be_field) {
            return None;
        }
        self.stray.append(&mut self.line);
        let stray = String::from_utf8_lossy(&self.stray).trim().trim_start_matches('\u{feff}').to_owned();
        (!stray.is_empty()).then_some(stray)
    }

    /// At the end of the stream, returns the event that was begun, if any. The caller checks that it is
    /// complete.
    ///
    /// # Errors
    ///
    /// Fails if the event is not UTF-8.
    pub fn end(&mut self) -> Result<Option<String>, ModelError> {
        let last = if self.line.is_empty() { None } else { self.line()? };
        match last {
            Some(event) => Ok(Some(event)),
            None => self.event(),
        }
    }

    /// Ends a line. Returns the event that it completes, if any.
    fn line(&mut self) -> Result<Option<String>, ModelError> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_first) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        match self.framing {
            Framing::Lines if line.iter().all(u8::is_ascii_whitespace) => Ok(None),
            Framing::Lines => text(line).map(Some),
            Framing::Events if line.is_empty() => self.event(),
            Framing::Events => {
                if is_field(&line) {
                    self.is_stream = self.is_stream || !line.starts_with(b":");
                } else if !self.is_stream {
                    self.stray.extend_from_slice(&line);
                    self.stray.push(b'\n');
                }
                // Comments and other fields carry no content.
                if let Some(said) = line.strip_prefix(b"data:").or((line == b"data").then_some(&[][..])) {
                    if std::mem::replace(&mut self.has_data, true) {
                        self.data.push(b'\n');
                    }
                    self.data.extend_from_slice(said.strip_prefix(b" ").unwrap_or(said));
                }
                Ok(None)
            }
        }
    }

    fn event(&mut self) -> Result<Option<String>, ModelError> {
        let data = std::mem::take(&mut self.data);
        std::mem::take(&mut self.has_data).then(|| text(data)).transpose()
    }
}

fn is_field(line: &[u8]) -> bool {
    let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
    FIELDS.contains(&name)
}

fn text(bytes: Vec<u8>) -> Result<String, ModelError> {
    String::from_utf8(bytes).map_err(|_| corrupt("it is not UTF-8"))
}

fn corrupt(reason: &str) -> ModelError {
    ModelError::CorruptStream { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] =
        b"\xef\xbb\xbf: hello\r\nevent: x\r\ndata: one\r\ndata:two\r\n\r\n\n:\ndata\n\nid: 3\n\n\
                            data: {\"a\": \"\xc3\xa4\"}   \n\ndata: cut";

    #[test]
    fn events_are_the_same_wherever_their_bytes_are_cut() {
        let whole = vec!["one\ntwo", "", "{\"a\": \"ä\"}   ", "cut"];
        for cut in 0..=STREAM.len() {
            let mut frames = Frames::new(Framing::Events);
            let (a, b) = STREAM.split_at(cut);
            let mut events = Vec::new();
            frames.push(a, &mut events).expect("text");
            frames.push(b, &mut events).expect("text");
            assert_eq!(frames.stray(), None, "cut at {cut}");
            events.extend(frames.end().expect("text"));
            assert_eq!(events, whole, "cut at {cut}");
        }
    }

    #[test]
    fn lines_are_events_and_empty_ones_are_none() {
        let mut frames = Frames::new(Framing::Lines);
        let mut events = Vec::new();
        frames.push(b"{}\r\n\n  \n[1]", &mut events).expect("text");
        assert_eq!(frames.stray(), None);
        events.extend(frames.end().expect("text"));
        assert_eq!(events, ["{}", "[1]"]);
    }

    #[test]
    fn invalid_text_and_oversized_events_are_errors() {
        let mut events = Vec::new();
        assert!(Frames::new(Framing::Lines).push(b"1\n\xff\n", &mut events).is_err());
        assert_eq!(events, ["1"], "events before the error are kept");
        for piece in [vec![b'a'; 1 << 20], b"a\n".repeat(1 << 19)] {
            let mut frames = Frames::new(Framing::Events);
            assert!((0..20).any(|_| frames.push(&piece, &mut events).is_err()));
        }
    }

    #[test]
    fn body_without_events_is_returned_whole() {
        let body: &[u8] = b"\xef\xbb\xbf{\n  \"error\": \"no\"\n}";
        for cut in 0..=body.len() {
            let mut frames = Frames::new(Framing::Events);
            let mut events = Vec::new();
            let (a, b) = body.split_at(cut);
            frames.push(a, &mut events).expect("text");
            frames.push(b, &mut events).expect("text");
            assert_eq!(frames.stray().as_deref(), Some("{\n  \"error\": \"no\"\n}"));
        }
        assert_eq!(Frames::new(Framing::Events).stray(), None);
    }
}
