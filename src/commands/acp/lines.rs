//! Messages of the Agent Client Protocol on a byte stream: one JSON object on each line. A line that is too long, not
//! UTF-8 or no message becomes an error to send back, and reading goes on at the next line.

use rpc::frame::Fault;
use rpc::message::{Message, decode, of_fault};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of an overlong line that are kept, from which its id is read.
const KEPT: usize = 4 << 10;

/// Reads messages from a stream.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    /// Longest line that is taken, in bytes.
    limit: usize,
    /// Bytes that were read and not taken yet.
    buffer: Vec<u8>,
    /// Bytes of `buffer` that have no line feed.
    searched: usize,
    /// Bytes of an overlong line that were dropped.
    dropped: u64,
    is_over: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub fn new(input: R, limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Self { input, limit, buffer: Vec::new(), searched: 0, dropped: 0, is_over: false }
    }

    /// The next message; `None` at the end of the stream. Cancel safe.
    pub async fn next(&mut self) -> Option<Message> {
        loop {
            if let Some(line) = self.line() {
                match self.message(&line) {
                    Some(message) => return Some(message),
                    None => continue,
                }
            }
            if self.is_over {
                let last = std::mem::take(&mut self.buffer);
                return self.message(&last);
            }
            self.searched = self.buffer.len();
            if self.buffer.len() > self.limit {
                self.dropped += (self.buffer.len() - KEPT) as u64;
                self.buffer.truncate(KEPT);
                self.searched = KEPT;
            }
            // A connection that breaks has no more lines.
            self.is_over = !matches!(self.input.read_buf(&mut self.buffer).await, Ok(1..));
        }
    }

    /// Takes the first whole line, without its line feed.
    fn line(&mut self) -> Option<Vec<u8>> {
        let fresh = self.buffer.get(self.searched..)?;
        let end = self.searched + fresh.iter().position(|byte| *byte == b'\n')?;
        let rest = self.buffer.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        line.truncate(end);
        self.searched = 0;
        Some(line)
    }

    /// The message on a line; `None` for a blank one.
    fn message(&mut self, line: &[u8]) -> Option<Message> {
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            let fault = Fault::TooLarge { limit: self.limit as u64, actual: line.len() as u64 + dropped };
            return Some(of_fault(fault, line));
        }
        if line.trim_ascii().is_empty() { None } else { Some(decode(line)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tower_lsp::jsonrpc::{Id, Request};

    async fn read(text: &[u8], limit: u64) -> Vec<Message> {
        let mut lines = Lines::new(text, limit);
        let mut messages = Vec::new();
        while let Some(message) = lines.next().await {
            messages.push(message);
        }
        messages
    }

    fn request(id: i64) -> Message {
        Message::Call(Request::build("m").params(json!({})).id(id).finish())
    }

    #[tokio::test]
    async fn each_line_is_a_message_and_bad_ones_are_answered() {
        let one = br#"{"jsonrpc":"2.0","id":1,"method":"m","params":{}}"#.as_slice();
        let two = br#"{"jsonrpc":"2.0","id":2,"method":"m","params":{}}"#.as_slice();
        let text = [one, b"\r\n\n \n{\"a\": \xff}\n[1]\n", two].concat();
        let messages = read(&text, 1 << 20).await;
        assert_eq!(messages.len(), 4);
        assert_eq!(messages[0], request(1));
        for (message, code) in messages[1..3].iter().zip([-32700, -32600]) {
            let Message::Bad { id: Id::Null, error } = message else { panic!("{message:?}") };
            assert_eq!(error.code.code(), code);
        }
        assert_eq!(messages[3], request(2));
    }

    #[tokio::test]
    async fn overlong_line_is_answered_by_its_id_and_skipped() {
        let long =
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"a":"{}"}}}}"#, "x".repeat(20_000));
        let text = [long.as_bytes(), b"\n", br#"{"jsonrpc":"2.0","id":1,"method":"m","params":{}}"#].concat();
        let messages = read(&text, 10_000).await;
        let Message::Bad { id: Id::Number(7), error } = &messages[0] else { panic!("{:?}", messages[0]) };
        let expected = json!({ "kind": "TooLarge", "what": "body", "limit": 10_000, "actual": long.len() });
        assert_eq!((error.code.code(), error.data.as_ref()), (-33012, Some(&expected)));
        assert_eq!(messages[1..], [request(1)]);
    }
}
