//! The server's output, read into the client's inbox as it comes. Accepts only exact framing, since the server's is
//! exact.

use super::Shared;
use serde_json::Value;
use std::io::{self, Read};

/// Reads frames until the end.
pub(super) fn read_output(output: impl Read, shared: &Shared) {
    let mut output = io::BufReader::new(output);
    let end = loop {
        shared.wait_until_read(|inbox| inbox.is_held);
        match read_frame(&mut output) {
            Ok(Some(frame)) => shared.change(|inbox| inbox.frames.push((frame, false))),
            Ok(None) => break "it ended".to_owned(),
            Err(error) => break error,
        }
    };
    shared.change(|inbox| inbox.end = Some(end));
}

fn read_frame(output: &mut impl Read) -> Result<Option<Value>, String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match output.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            // A killed process leaves a broken connection, or half a frame.
            Ok(_) | Err(_) if head.is_empty() => return Ok(None),
            _ => return Err(format!("the output ended in a header: {:?}", String::from_utf8_lossy(&head))),
        }
        let is_head = head.iter().zip(b"Content-Length: ").all(|(is, wanted)| is == wanted);
        if !is_head || head.len() > 60 {
            return Err(format!("no frame: {:?}", String::from_utf8_lossy(&head)));
        }
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let length = text.trim().trim_start_matches("Content-Length: ").parse();
    let mut body = vec![0; length.map_err(|_| format!("no length: {text:?}"))?];
    output.read_exact(&mut body).map_err(|error| format!("the output ended in a body: {error}"))?;
    serde_json::from_slice(&body).map(Some).map_err(|error| format!("no JSON: {error}"))
}

/// Reads the log until its end.
pub(super) fn read_log(mut log: impl Read, shared: &Shared) {
    shared.wait_until_read(|inbox| inbox.is_log_held);
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = log.read(&mut bytes) {
        let text = String::from_utf8_lossy(bytes.get(..count).unwrap_or_default()).into_owned();
        shared.change(|inbox| inbox.log.push_str(&text));
    }
}
