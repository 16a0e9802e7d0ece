//! Tests of providers' models: recorded streams give the expected events, every error its class, and faults
//! of servers are handled. Recordings are outside of the repository.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests fail as tests do"
)]

mod answers;
mod anthropic;
mod cached;
mod costs;
mod counted;
mod errors;
mod faults;
mod gemini;
mod headers;
mod limits;
mod ollama;
mod openai_chat;
mod openai_ends;
mod options;
mod own_items;
mod requests;
mod responses;
mod resumed;
mod socket;
mod sockets;

use crate::wire::Stream;
use crate::{ModelError, Progress};
use engine::delta::{Delta, Draft};
use engine::endpoint::Wire;
use engine::message::AssistantPart;
use engine::prompt::request::Answer;
use engine::text::sha256_hex;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The events of a stream and its end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heard {
    /// The deltas in order; neighbouring texts are joined.
    pub(crate) deltas: Vec<Delta>,
    /// The answer or the error.
    pub(crate) end: Result<Answer, ModelError>,
}

/// The folder of the recordings, or `None` without a corpus. CI must have one.
fn recordings() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("THREADHOLD_CORPUS") else {
        assert!(std::env::var_os("CI").is_none(), "THREADHOLD_CORPUS is not set, and on CI it must be");
        println!("not run: THREADHOLD_CORPUS does not name the folder of the corpus");
        return None;
    };
    Some(PathBuf::from(folder).join("providers"))
}

/// A recording, byte for byte.
fn recording(name: &str) -> Option<Vec<u8>> {
    recordings().map(|folder| std::fs::read(folder.join(name)).expect("the recording is there"))
}

/// Parses a stream that arrives in these pieces.
fn read<'a>(wire: Wire, pieces: impl IntoIterator<Item = &'a [u8]>) -> Heard {
    let mut deltas = Vec::new();
    let mut hear = |said| join(&mut deltas, said);
    let mut stream = Stream::new(wire).expect("a wire with streams");
    for piece in pieces {
        match stream.push(piece, &mut hear) {
            Ok(false) => {}
            Ok(true) => break,
            Err(error) => return Heard { deltas, end: Err(error) },
        }
    }
    let end = stream.end(&mut hear);
    Heard { deltas, end }
}

/// Appends a delta. Pieces of one text are joined: their size does not matter.
fn join(deltas: &mut Vec<Delta>, said: Progress) {
    let Progress::Delta(delta) = said else { return };
    match (deltas.last_mut(), delta) {
        (Some(Delta::AppendContent(last)), Delta::AppendContent(more))
        | (Some(Delta::AppendReasoning(last)), Delta::AppendReasoning(more)) => last.push_str(&more),
        (
            Some(Delta::AppendToolArguments { call: last, text }),
            Delta::AppendToolArguments { call, text: more },
        ) if *last == call => text.push_str(&more),
        (_, delta) => deltas.push(delta),
    }
}

/// Checks that the recording gives the same events wherever its bytes are cut.
fn same_wherever_it_is_cut(wire: Wire, bytes: &[u8]) -> Heard {
    let whole = read(wire, [bytes]);
    for at in places(bytes.len()) {
        let (a, b) = bytes.split_at(at);
        assert_eq!(read(wire, [a, b]), whole, "cut at {at}");
    }
    for size in 1..32 {
        assert_eq!(read(wire, bytes.chunks(size)), whole, "pieces of {size} bytes");
    }
    whole
}

/// The positions at which a stream of this size is cut: all, except in the middle of a large one, which is
/// also tested in pieces of one byte.
fn places(size: usize) -> impl Iterator<Item = usize> {
    let ends = if size < 50_000 { 5000 } else { 500 };
    (0..=size).filter(move |at| *at <= ends || at + ends / 2 > size)
}

/// Checks that a truncated stream is an error, and that its text is a prefix of the whole. `least` is the
/// size of a complete answer, in bytes.
fn broken_wherever_it_ends(wire: Wire, bytes: &[u8], least: usize) {
    let whole = draft(&read(wire, [bytes]).deltas);
    for end in places(bytes.len() - 1) {
        let heard = read(wire, [&bytes[..end]]);
        let so_far = draft(&heard.deltas);
        assert!(said(&whole).starts_with(&said(&so_far)), "cut off at {end}");
        match heard.end {
            Ok(_) => assert!(end >= least, "cut off at {end}: an answer"),
            Err(error) => assert_eq!(error.class(), "network", "cut off at {end}: {error}"),
        }
    }
}

/// The draft that the deltas add up to.
fn draft(deltas: &[Delta]) -> Draft {
    let mut draft = Draft::default();
    for delta in deltas.iter().cloned() {
        draft.fold(delta).expect("arguments follow their call");
    }
    draft
}

fn said(draft: &Draft) -> String {
    let parts = draft.said();
    parts.iter().filter_map(AssistantPart::text).map(|text| &**text).collect()
}

/// The deltas and the end, one per line.
pub(crate) fn lines(heard: &Heard) -> String {
    let mut out = String::new();
    for delta in &heard.deltas {
        let line = match delta {
            Delta::AppendContent(text) => format!("text {}", shown(text)),
            Delta::AppendReasoning(text) => format!("thinking {}", shown(text)),
            Delta::SetToolCalls(calls) => {
                let calls = calls.iter().map(|call| format!("{}={}({})", call.id, call.name, call.arguments));
                format!("calls {}", calls.collect::<Vec<_>>().join(" "))
            }
            Delta::AppendToolArguments { call, text } => format!("arguments {call} {text}"),
            Delta::SetThinkingBlocks(blocks) => {
                format!("blocks {}", brief(&serde_json::to_value(blocks).expect("JSON")))
            }
            Delta::AddCitation(value) => format!("citation {value}"),
            Delta::AddServerContentBlock(value) => format!("block {}", brief(value)),
            Delta::SetUsage(usage) => format!("usage {}", serde_json::to_string(usage).expect("JSON")),
            Delta::MergeExtra(extra) => {
                format!("extra {}", brief(&serde_json::to_value(extra).expect("JSON")))
            }
        };
        writeln!(out, "{line}").expect("a string takes all");
    }
    match &heard.end {
        Ok(answer) => {
            assert_eq!((&answer.parts, &answer.calls), (&None, &None), "all of it was streamed");
            writeln!(out, "stop {:?}", answer.stop).expect("a string takes all");
        }
        Err(error) => writeln!(out, "error {}: {error}", error.class()).expect("a string takes all"),
    }
    out
}

/// Abbreviates a long text to its ends, size and hash, so that recordings are not copied here.
fn shown(text: &str) -> String {
    if text.len() <= 60 {
        return format!("{text:?}");
    }
    let (head, tail) =
        (&text[..text.floor_char_boundary(12)], &text[text.ceil_char_boundary(text.len() - 12)..]);
    format!("{head:?}…{tail:?} {} bytes {}", text.len(), &sha256_hex(text.as_bytes())[..12])
}

/// Abbreviates the long texts of a value.
fn brief(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > 60 => shown(text).into(),
        Value::Array(list) => list.iter().map(brief).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), brief(value))).collect(),
        other => other.clone(),
    }
}
