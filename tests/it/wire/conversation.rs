//! Reads recorded conversations (`fixtures/wire/*.jsonl`) as lines; `fixtures` plays them.

use serde_json::Value;
use std::collections::BTreeMap;

/// The folder of the recordings.
pub const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/wire");

/// A line of a conversation.
#[derive(Debug, Clone)]
pub enum Line {
    /// A note for readers.
    Note,
    /// A frame of the client; captured values are filled in.
    Client(Value),
    /// Raw bytes of the client.
    Bytes(Vec<u8>),
    /// A frame of the server.
    Server(Value),
    /// Values to capture, by name, from pointers into the newest frame of the server that has them.
    Capture(BTreeMap<String, String>),
    /// A file that the runner writes, by its path below the storage folder; captured values are filled in.
    File { path: String, text: String },
    /// A restart of the server.
    Restart { is_killed: bool, is_store_new: bool },
}

impl Line {
    pub fn read(text: &str) -> Result<Self, String> {
        let line: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let text_at = |name: &str| line[name].as_str().map(str::to_owned);
        let is_clients = line["from"] == "client";
        if let Some(capture) = line["capture"].as_object() {
            let named = |(name, at): (&String, &Value)| Some((name.clone(), at.as_str()?.to_owned()));
            return Ok(Self::Capture(capture.iter().filter_map(named).collect()));
        }
        if let (Some(path), Some(text)) = (text_at("file"), text_at("text")) {
            return Ok(Self::File { path, text });
        }
        match (text_at("restart").as_deref(), line.get("frame")) {
            (Some(how @ ("kill" | "exit")), None) => {
                let is_store_new = match text_at("storage").as_deref() {
                    None => false,
                    Some("new") => true,
                    Some(other) => return Err(format!("a store that is {other}")),
                };
                Ok(Self::Restart { is_killed: how == "kill", is_store_new })
            }
            (None, Some(frame)) if is_clients => Ok(Self::Client(frame.clone())),
            (None, Some(frame)) if line["from"] == "server" => Ok(Self::Server(frame.clone())),
            (None, None) if is_clients => match (text_at("body"), text_at("bytes")) {
                (Some(body), None) => {
                    let body = unescape(&body)?;
                    let head = format!("Content-Length: {}\r\n\r\n", body.len());
                    Ok(Self::Bytes([head.into_bytes(), body].concat()))
                }
                (None, Some(bytes)) => Ok(Self::Bytes(unescape(&bytes)?)),
                _ => Err("neither frame nor body nor bytes".to_owned()),
            },
            (None, None) if line["note"].is_string() => Ok(Self::Note),
            _ => Err("not a line of a recording".to_owned()),
        }
    }
}

/// Reverses the escaping of bytes by `serve --record`.
fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        rest = match after.strip_prefix('\\') {
            Some(after) => {
                bytes.push(b'\\');
                after
            }
            None => {
                let digits = after.strip_prefix('x').and_then(|after| after.get(..2));
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                bytes.push(byte.ok_or_else(|| format!("a lone backslash before {after:?}"))?);
                after.get(3..).unwrap_or_default()
            }
        };
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}

/// Names and texts of the conversations.
pub fn conversations() -> Vec<(String, String)> {
    let files = std::fs::read_dir(FOLDER).expect("fixtures/wire is there");
    let paths = files.map(|file| file.expect("a file").path());
    let mut all: Vec<(String, String)> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .map(|path| {
            let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
            (name, std::fs::read_to_string(&path).expect("a text"))
        })
        .collect();
    all.sort();
    all
}

/// The lines of a conversation, parsed and as text.
pub fn lines<'a>(name: &str, text: &'a str) -> Vec<(Line, &'a str)> {
    let read = |(index, line): (usize, &'a str)| match Line::read(line) {
        Ok(read) => (read, line),
        Err(why) => panic!("{name}.jsonl:{}: {why}", index + 1),
    };
    text.lines().enumerate().map(read).collect()
}
