//! Lines of a server's standard output on their way to the protocol's reader. A line that is too long would be dropped
//! there without an answer, and its call would never end: here it becomes an error for the call. Requests and
//! notifications beyond a rate wait, because the reader keeps each until it is handled.

use crate::pace::{Allowance, NOTIFICATIONS, REQUESTS};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

/// The longest line, in bytes.
pub(crate) const MOST_LINE: usize = 8 << 20;
/// Bytes kept of each end of a line that is too long, to find the request that it answers.
const KEPT: usize = 256;

/// The parts of a message that tell requests, notifications and answers apart.
#[derive(Deserialize)]
struct Envelope {
    method: Option<IgnoredAny>,
    id: Option<IgnoredAny>,
}

/// Passes lines on until either side ends. Returns early if a line is too long and does not say what it answers, because
/// a call might wait for it: the end of the connection ends the call.
pub(crate) async fn pass(from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, most: usize) {
    let mut from = BufReader::with_capacity(64 << 10, from);
    let mut line = Vec::new();
    let (mut requests, mut notifications) = (Allowance::new(REQUESTS), Allowance::new(NOTIFICATIONS));
    loop {
        line.clear();
        let Some(long) = read(&mut from, &mut line, most).await else { return };
        if long > 0 {
            let Some(answer) = instead(&line, long) else { return };
            line = answer.into_bytes();
        }
        match serde_json::from_slice(&line) {
            Ok(Envelope { method: None, id: Some(_) }) => {}
            Ok(Envelope { method: Some(_), id: Some(_) }) => requests.take().await,
            Ok(Envelope { id: None, .. }) | Err(_) => notifications.take().await,
        }
        if to.write_all(&line).await.is_err() {
            return;
        }
    }
}

/// Reads a line with its end. Returns its length if that is over `most`: then `line` has only its two ends. `None` at the
/// end of the stream.
async fn read(from: &mut (impl AsyncBufReadExt + Unpin), line: &mut Vec<u8>, most: usize) -> Option<usize> {
    let mut length = 0;
    loop {
        let bytes = from.fill_buf().await.ok()?;
        if bytes.is_empty() {
            return None;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        line.extend_from_slice(&bytes[..taken]);
        from.consume(taken);
        length += taken;
        if length > most && line.len() > 2 * KEPT {
            line.drain(KEPT..line.len() - KEPT);
        }
        if end.is_some() {
            return Some(if length > most { length } else { 0 });
        }
    }
}

/// The error that answers the request of a response of `length` bytes, of which only both ends are known. Empty for a
/// notification, `None` if it cannot be told.
fn instead(ends: &[u8], length: usize) -> Option<String> {
    let (head, tail) = ends.split_at(ends.len().min(KEPT));
    let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
    let before = head.split("\"result\"").next().unwrap_or_default();
    if before.contains("\"method\"") && !before.contains("\"id\"") {
        return Some(String::new());
    }
    // Servers write the number first or last.
    let id = number_after(before).or_else(|| last_number(&tail))?;
    let message = format!("the answer has {length} bytes and the limit is {MOST_LINE}; it was dropped");
    let error = serde_json::json!({ "code": -32000, "message": message });
    Some(format!("{}\n", serde_json::json!({ "jsonrpc": "2.0", "id": id, "error": error })))
}

/// The number of the first `"id"`.
fn number_after(text: &str) -> Option<u64> {
    let (_, after) = text.split_once("\"id\"")?;
    let digits = after.trim_start().strip_prefix(':')?.trim_start();
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The number of an `"id"` that is one of the last fields, perhaps before the version.
fn last_number(text: &str) -> Option<u64> {
    let (_, after) = text.rsplit_once("\"id\"")?;
    let ended = after.trim_end().strip_suffix('}')?.trim_end();
    let ended = ended.strip_suffix("\"2.0\"").map_or(ended, |rest| {
        rest.trim_end_matches([' ', ':']).trim_end_matches("\"jsonrpc\"").trim_end_matches([' ', ','])
    });
    ended.trim_start().strip_prefix(':')?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::Instant;

    async fn passed(lines: &str, most: usize) -> String {
        let mut to = Vec::new();
        pass(lines.as_bytes(), &mut to, most).await;
        String::from_utf8(to).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn requests_beyond_the_rate_wait_and_answers_do_not() {
        let begin = Instant::now();
        let answers = "{\"id\":1,\"result\":{\"method\":\"x\"}}\n".repeat(20_000);
        assert_eq!(passed(&answers, 100).await, answers);
        assert_eq!(begin.elapsed(), Duration::ZERO);
        let requests = "{\"id\":1,\"method\":\"roots/list\"}\n".repeat(600);
        assert_eq!(passed(&requests, 100).await, requests);
        // Timers have steps of a millisecond.
        assert!(begin.elapsed() >= Duration::from_secs(2), "{:?}", begin.elapsed());
        let begin = Instant::now();
        let notifications = "{\"method\":\"notifications/message\"}\n".repeat(12_000);
        assert_eq!(passed(&notifications, 100).await, notifications);
        assert!(begin.elapsed() >= Duration::from_secs(2), "{:?}", begin.elapsed());
    }

    #[tokio::test]
    async fn short_lines_pass_unchanged() {
        let lines = "{\"a\":1}\nnot json\n";
        assert_eq!(passed(lines, 100).await, lines);
    }

    #[tokio::test]
    async fn too_long_answer_becomes_an_error_of_its_request() {
        let long = "x".repeat(3000);
        let error = |length: usize| {
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{{\"code\":-32000,\"message\":\"the answer has {length} bytes \
                 and the limit is {MOST_LINE}; it was dropped\"}}}}\n"
            )
        };
        for line in [
            format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{\"id\":9,\"a\":\"{long}\"}}}}\n"),
            format!("{{\"result\":{{\"id\":9,\"a\":\"{long}\"}},\"jsonrpc\":\"2.0\",\"id\":7}}\n"),
            format!("{{\"result\":{{\"id\":9,\"a\":\"{long}\"}}, \"id\": 7, \"jsonrpc\": \"2.0\"}}\n"),
        ] {
            assert_eq!(
                passed(&format!("{line}after\n"), 1000).await,
                format!("{}after\n", error(line.len()))
            );
        }
    }

    #[tokio::test]
    async fn too_long_notification_is_left_out() {
        let long =
            format!("{{\"method\":\"notifications/message\",\"a\":\"{}\"}}\nafter\n", "x".repeat(3000));
        assert_eq!(passed(&long, 1000).await, "after\n");
    }

    #[tokio::test]
    async fn too_long_line_that_answers_nothing_known_ends_the_connection() {
        assert_eq!(passed(&format!("{}\nafter\n", "x".repeat(3000)), 1000).await, "");
    }
}
