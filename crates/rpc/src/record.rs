//! A recording of the wire: one JSON line per frame of either direction, written before the frame is handled.
//! Contains all content, secrets included, except those of [`Masked`]; written only on request.
//!
//! A line is `{"from":"client"|"server","at":MILLISECONDS,"frame":{…}}`. Invalid input has a `"note"` and,
//! instead of `"frame"`, a `"body"` if only the body after a valid header was bad, else `"bytes"`, header
//! included: the text with backslashes doubled and each byte that is not UTF-8 as `\xNN`. So a recording can
//! be replayed, with two exceptions: the end of a body over the limit is missing, and an unpaired surrogate
//! is recorded as U+FFFD, as it was read. `fixtures/wire` has recordings and describes their replay.

use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

/// The replacement of a secret.
const MASKED: &str = "[key]";

/// A method with secrets in its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Masked {
    /// The method's name.
    pub method: &'static str,
    /// The parameters that are masked.
    pub secrets: Secrets,
}

/// The secrets among parameters.
#[derive(Debug, Clone, Copy)]
pub enum Secrets {
    /// All parameters but this one.
    AllBut(&'static str),
    /// The values of some fields of each object in one parameter, which is an object of objects.
    Fields {
        /// The parameter.
        of: &'static str,
        /// The fields: objects or lists, whose names and length stay.
        fields: &'static [&'static str],
    },
}

/// The sender of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The editor.
    Client,
    /// This process.
    Server,
}

impl Side {
    const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Writes a recording.
#[derive(Debug)]
pub struct Recorder {
    file: Option<File>,
    masked: &'static [Masked],
    started: Instant,
}

impl Recorder {
    /// Creates a recording; an existing file is overwritten.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path, masked: &'static [Masked]) -> io::Result<Self> {
        Ok(Self { file: Some(open_private(path)?), masked, started: Instant::now() })
    }

    /// Records a frame whose body is JSON.
    pub fn frame(&mut self, from: Side, body: &[u8]) {
        // A line break in JSON is white space between tokens, as strings escape it.
        let text = match self.masked.iter().find_map(|masked| masked.without_secret(body)) {
            Some(masked) => masked,
            None => String::from_utf8_lossy(body).replace(['\n', '\r'], " "),
        };
        self.line(from, &format!("\"frame\":{text}"));
    }

    /// Records input that is not a frame.
    pub fn bytes(&mut self, from: Side, bytes: &[u8], note: &str) {
        self.escaped(from, "bytes", bytes, note);
    }

    /// Records an invalid body after a valid header.
    pub fn body(&mut self, from: Side, body: &[u8], note: &str) {
        self.escaped(from, "body", body, note);
    }

    fn escaped(&mut self, from: Side, name: &str, bytes: &[u8], note: &str) {
        // Unreadable input cannot be masked in part.
        let has = |word: &str| bytes.windows(word.len()).any(|part| part == word.as_bytes());
        let is_key = self.masked.iter().any(|masked| match masked.secrets {
            Secrets::AllBut(_) => has(masked.method),
            Secrets::Fields { of, .. } => has(of),
        });
        let text = serde_json::Value::from(if is_key { MASKED.to_owned() } else { escape(bytes) });
        let note = serde_json::Value::from(note);
        self.line(from, &format!("\"{name}\":{text},\"note\":{note}"));
    }

    fn line(&mut self, from: Side, rest: &str) {
        let Some(file) = &mut self.file else { return };
        let at = self.started.elapsed().as_millis();
        let line = format!("{{\"from\":\"{}\",\"at\":{at},{rest}}}\n", from.name());
        if let Err(error) = file.write_all(line.as_bytes()) {
            tracing::error!(%error, "the recording ends here: the file cannot be written");
            self.file = None;
        }
    }
}

/// The method of a frame, in any JSON spelling.
#[derive(Deserialize)]
struct Method<'a> {
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
}

impl Masked {
    /// A frame of this method with its secrets masked; `None` for any other frame.
    fn without_secret(self, body: &[u8]) -> Option<String> {
        let Method { method } = serde_json::from_slice(body).ok()?;
        if method.as_deref() != Some(self.method) {
            return None;
        }
        let mut frame: Value = serde_json::from_slice(body).ok()?;
        match (frame.get_mut("params"), self.secrets) {
            (None, _) => {}
            (Some(Value::Object(params)), Secrets::AllBut(shown)) => {
                let others = params.iter_mut().filter(|(name, value)| *name != shown && !value.is_null());
                others.for_each(|(_, value)| *value = MASKED.into());
            }
            (Some(Value::Object(params)), Secrets::Fields { of, fields }) => {
                if let Some(all) = params.get_mut(of) {
                    mask_fields(all, fields);
                }
            }
            // In parameters of an unknown shape, the secret could be anywhere.
            (Some(params), _) => *params = MASKED.into(),
        }
        Some(frame.to_string())
    }
}

/// Masks the values of these fields of each object. A value of another shape is masked as a whole.
fn mask_fields(all: &mut Value, fields: &[&str]) {
    let Value::Object(all) = all else {
        if !all.is_null() {
            *all = MASKED.into();
        }
        return;
    };
    for one in all.values_mut() {
        let Value::Object(one) = one else {
            *one = MASKED.into();
            continue;
        };
        for field in fields {
            match one.get_mut(*field) {
                Some(Value::Object(parts)) => parts.values_mut().for_each(|part| *part = MASKED.into()),
                Some(Value::Array(parts)) => parts.iter_mut().for_each(|part| *part = MASKED.into()),
                Some(Value::Null) | None => {}
                Some(other) => *other = MASKED.into(),
            }
        }
    }
}

/// Creates a file that only its user can read; an existing file is overwritten.
///
/// # Errors
/// If the file cannot be created.
pub fn open_private(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

/// Escapes bytes to text unambiguously.
fn escape(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', "\\\\"));
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Masked = Masked { method: "model/key", secrets: Secrets::AllBut("name") };
    const SERVERS: Masked = Masked {
        method: "session/open",
        secrets: Secrets::Fields { of: "mcpServers", fields: &["env", "headers", "args"] },
    };

    #[test]
    fn fields_of_each_server_are_masked() {
        let masked = |params: Value| {
            let frame = serde_json::json!({ "method": "session/open", "params": params }).to_string();
            let masked = SERVERS.without_secret(frame.as_bytes()).unwrap();
            serde_json::from_str::<Value>(&masked).unwrap()["params"].clone()
        };
        let given = serde_json::json!({ "title": "t", "mcpServers": {
            "a": { "command": "c", "args": ["s1"], "env": { "TOKEN": "s2", "B": { "keyEnv": "s3" } } },
            "b": { "url": "u", "headers": { "Authorization": "s4" }, "env": "s5" },
            "c": "s6",
        } });
        let expected = serde_json::json!({ "title": "t", "mcpServers": {
            "a": { "command": "c", "args": [MASKED], "env": { "TOKEN": MASKED, "B": MASKED } },
            "b": { "url": "u", "headers": { "Authorization": MASKED }, "env": MASKED },
            "c": MASKED,
        } });
        assert_eq!(masked(given), expected);
        assert_eq!(masked(serde_json::json!({ "mcpServers": ["s1"] }))["mcpServers"], MASKED);
        assert_eq!(masked(serde_json::json!(["s1"])), MASKED);
    }

    #[test]
    fn key_is_masked_in_any_spelling_of_its_method() {
        for method in ["model/key", "model\\/key", "\\u006dodel/key"] {
            let frame = format!(r#"{{"method":"{method}","params":{{"name":"A","value":"sk-1"}},"id":1}}"#);
            let masked = KEY.without_secret(frame.as_bytes()).unwrap();
            assert!(
                masked.contains("[key]") && masked.contains("\"A\"") && !masked.contains("sk-1"),
                "{masked}"
            );
        }
        let odd = KEY.without_secret(br#"{"method":"model/key","params":["sk-1"]}"#).unwrap();
        assert!(!odd.contains("sk-1"), "{odd}");
        assert_eq!(KEY.without_secret(br#"{"method":"turn/start","params":{"value":"a"}}"#), None);
        assert_eq!(KEY.without_secret(b"[]"), None);
    }

    #[test]
    fn escaped_bytes_are_distinct_from_text() {
        assert_eq!(escape(b"a\xffb\\xff\xc3\xa9\xc3"), "a\\xffb\\\\xff\u{e9}\\xc3");
    }
}
