//! Models of providers: recorded streams give the events that were written down, every error its class, and a server that
//! misbehaves is met as it should be. Recordings stay outside of the repository.
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
mod errors;
mod faults;
mod limits;
mod ollama;
mod openai_chat;
mod openai_ends;
mod requests;
mod responses;
mod socket;

use crate::wire::Stream;
use crate::{ModelError, Said};
use engine::delta::{Delta, Draft};
use engine::endpoint::Wire;
use engine::message::AssistantPart;
use engine::prompt::request::Answer;
use engine::text::sha256_hex;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::PathBuf;

/// What came of a stream: what was heard, and how it ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heard {
    /// What was said, in order; texts that follow one another are one.
    pub(crate) deltas: Vec<Delta>,
    /// How it ended.
    pub(crate) end: Result<Answer, ModelError>,
}

/// The folder of the recordings, or nothing where there is no corpus. On CI there must be one.
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

/// Reads a stream that comes in these pieces.
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

/// Puts what was said to what was said before. Pieces of one text are one text: how large they are is no matter.
fn join(deltas: &mut Vec<Delta>, said: Said) {
    let Said::Delta(delta) = said else { return };
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

/// The recording gives these events, wherever its bytes are cut.
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

/// Where a stream of this size is cut: everywhere, but for the middle of a large one, which pieces of one byte cut too.
fn places(size: usize) -> impl Iterator<Item = usize> {
    let ends = if size < 50_000 { 5000 } else { 500 };
    (0..=size).filter(move |at| *at <= ends || at + ends / 2 > size)
}

/// A stream that is cut off anywhere is a broken one, and what was heard of it is a beginning of what is heard of the
/// whole one. `least` is how many bytes a whole answer needs.
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

/// What the deltas amount to.
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

/// What was heard, a line for each event.
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

/// A long text by its ends, its size and its hash: a recording is not repeated here.
fn shown(text: &str) -> String {
    if text.len() <= 60 {
        return format!("{text:?}");
    }
    let (head, tail) =
        (&text[..text.floor_char_boundary(12)], &text[text.ceil_char_boundary(text.len() - 12)..]);
    format!("{head:?}…{tail:?} {} bytes {}", text.len(), &sha256_hex(text.as_bytes())[..12])
}

/// The same with its long texts by their ends.
fn brief(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > 60 => shown(text).into(),
        Value::Array(list) => list.iter().map(brief).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), brief(value))).collect(),
        other => other.clone(),
    }
}
