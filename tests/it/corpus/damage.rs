//! Tests of the checker: each damage done to good prompts is found, and by the checks meant for it. A checker that
//! never complains proves nothing.

use super::{Folder, dumps, threadhold};
use crate::checker::Check::{self, *};
use crate::checker::Checker;
use crate::checker::source::{Said, Source, Speaker};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Prompts of one replay, with the source and the figures to check them against.
#[derive(Clone)]
struct Replayed {
    source: Source,
    line: Value,
    prompts: Vec<Value>,
}

impl Replayed {
    /// Replays a session that shows messages in every form: whole, shortened, kept, covered, hidden, stood in for.
    fn new() -> Self {
        let folder = Folder::new("damage");
        let file = folder.file("s.jsonl", &session());
        let dump = folder.path("prompts");
        let window = ["--window", "32000", "--summarizer", "none"];
        let ran = threadhold([&["replay", &file, "--json", "--dump-prompts", &dump], &window[..]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let read = |path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        Self {
            source: Source::read("pi", session().as_bytes()),
            line: ran.lines().remove(0),
            prompts: dumps(&dump).into_values().map(read).collect(),
        }
    }

    /// Returns the checks that find a fault, each once.
    fn found(&self) -> Vec<Check> {
        let mut checker = Checker::new(&self.source, &self.line);
        for (render, prompt) in self.prompts.iter().enumerate() {
            checker.prompt(render, prompt.clone());
        }
        let checks: BTreeSet<Check> = checker.finish().into_iter().map(|fault| fault.check).collect();
        checks.into_iter().collect()
    }

    /// The items of the last prompt.
    fn items(&mut self) -> &mut Vec<Value> {
        self.prompts.last_mut().unwrap()["messages"].as_array_mut().unwrap()
    }

    /// Returns the index of the last item in the last prompt for which `is` holds.
    fn place(&mut self, is: impl Fn(&Value) -> bool) -> usize {
        self.items().iter().rposition(is).unwrap()
    }

    /// Appends a byte to the last item of this form and role in the last prompt.
    fn alter(&mut self, how: &'static str, role: &'static str) {
        let at = self.place(shown_as(how, role));
        let words = self.items()[at]["content"].as_str().unwrap().to_owned();
        self.items()[at]["content"] = json!(words + ".");
    }

    /// Adds one to the figure at a JSON pointer.
    fn raise(&mut self, pointer: &str) {
        let figure = self.line.pointer_mut(pointer).unwrap();
        *figure = json!(figure.as_u64().unwrap() + 1);
    }
}

/// A session of turns that read files, in the format of pi. The answers are long and the files small, so that
/// shortening results gains little and rounds must be covered.
fn session() -> String {
    let mut lines = vec![json!({"type": "session", "id": "s", "cwd": "/w"})];
    let mut push = |message: Value| {
        let id = lines.len().to_string();
        lines.push(json!({"type": "message", "id": id, "message": message}));
    };
    let text = |words: String| json!([{"type": "text", "text": words}]);
    let many = |n: usize, word: String| {
        (0..n).map(|n| format!("{n}: {word} is {n};")).collect::<Vec<_>>().join("\n")
    };
    for turn in 0..6 {
        push(json!({"role": "user", "content": text(format!("Look at part {turn} of the tree, please."))}));
        for file in 0..5 {
            let (id, path) = (format!("call-{turn}-{file}"), format!("src/part_{turn}/file_{file}.rs"));
            let call = json!({"type": "toolCall", "id": id, "name": "read", "arguments": {"path": path}});
            let thoughts = json!({"type": "text", "text": many(100, format!("what I think of {path}"))});
            push(json!({"role": "assistant", "content": [thoughts, call]}));
            if (turn, file) != (5, 1) {
                let body = many(16, format!("let value_{turn}_{file}"));
                push(json!({"role": "toolResult", "toolCallId": id, "content": text(body)}));
            }
        }
        push(json!({"role": "assistant", "content": [], "stopReason": "aborted"}));
    }
    push(json!({"role": "user", "content": text("And now say what you saw.".into())}));
    push(json!({"role": "assistant", "content": text("Values.".into())}));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn shown_as(how: &'static str, role: &'static str) -> impl Fn(&Value) -> bool {
    move |item| item["role"] == role && item["sources"][0]["as"] == how
}

fn has_calls(item: &Value) -> bool {
    item.get("toolCalls").is_some()
}

fn is_block(item: &Value) -> bool {
    item["role"] == "user" && item.get("sources").is_none()
}

fn is_stand_in(item: &Value) -> bool {
    item["role"] == "tool" && item.get("sources").is_none()
}

/// Name of a damage, the function that does it, and all checks that find it.
type Damage = (&'static str, fn(&mut Replayed), &'static [Check]);

const TO_MESSAGES: [Damage; 8] = [
    (
        "a round is lost",
        |bad| {
            let at = bad.place(has_calls);
            bad.items().drain(at..=at + 1);
        },
        &[Account, Extension, Recount, Figures],
    ),
    (
        "a kept user message is lost",
        |bad| {
            let at = bad.place(shown_as("kept", "user"));
            bad.items().remove(at);
        },
        &[Extension, Words, Figures],
    ),
    ("the current user message is lost", |bad| drop(bad.items().pop()), &[Account, Current, Words, Figures]),
    (
        "the current user message stands twice",
        |bad| {
            let last = bad.items().last().unwrap().clone();
            bad.items().push(last);
        },
        &[Account, Current, Order],
    ),
    (
        "a covered answer stands there again",
        |bad| {
            let at = bad.place(is_block) + 1;
            let sources = json!([{"ord": 1, "as": "raw"}]);
            bad.items().insert(at, json!({"role": "assistant", "content": "what", "sources": sources}));
        },
        &[Account, Bytes, Order, Extension, Figures],
    ),
    (
        "what is said later stands there",
        |bad| {
            let sources = json!([{"ord": bad.source.messages.len() - 1, "as": "raw"}]);
            bad.items().push(json!({"role": "assistant", "content": "Values.", "sources": sources}));
        },
        &[Account],
    ),
    (
        "an empty answer stands there",
        |bad| {
            let hidden = bad.source.messages.iter().rposition(Said::is_hidden).unwrap();
            let sources = json!([{"ord": hidden, "as": "raw"}]);
            bad.items().push(json!({"role": "assistant", "content": "", "sources": sources}));
        },
        &[Account, Order, Figures],
    ),
    (
        "two rounds are exchanged",
        |bad| {
            let at = bad.place(has_calls);
            let round: Vec<Value> = bad.items().drain(at..=at + 1).collect();
            bad.items().splice(at - 2..at - 2, round);
        },
        &[Order, Extension],
    ),
];

const TO_BYTES: [Damage; 7] = [
    ("a result is altered", |bad| bad.alter("raw", "tool"), &[Bytes, Extension]),
    ("an answer is altered", |bad| bad.alter("raw", "assistant"), &[Bytes, Extension]),
    ("the current user message is altered", |bad| bad.alter("raw", "user"), &[Bytes, Current]),
    ("a kept user message is altered", |bad| bad.alter("kept", "user"), &[Bytes, Extension]),
    (
        "an argument is altered",
        |bad| {
            let at = bad.place(has_calls);
            bad.items()[at]["toolCalls"][0]["arguments"]["path"] = json!("src/other.rs");
        },
        &[Bytes, Extension],
    ),
    (
        "a result is cut without a word",
        |bad| {
            let at = bad.place(shown_as("raw", "tool"));
            bad.items()[at]["content"] = json!("0: let");
            bad.items()[at]["sources"][0]["as"] = json!("shortened");
        },
        &[Bytes, Extension, Figures],
    ),
    (
        "a result is shortened by rule, and only the figures do not know",
        |bad| {
            let at = bad.place(shown_as("raw", "tool"));
            let whole = bad.items()[at]["content"].as_str().unwrap().to_owned();
            let (head, tail) = (whole.get(..20).unwrap(), whole.get(whole.len() - 30..).unwrap());
            let mark = format!("[… {} of {} bytes not shown …]", whole.len() - 50, whole.len());
            bad.items()[at]["content"] = json!(format!("{head}\n{mark}\n{tail}"));
            bad.items()[at]["sources"][0]["as"] = json!("shortened");
        },
        &[Extension, Figures],
    ),
];

const TO_PAIRS: [Damage; 5] = [
    (
        "a call has no answer",
        |bad| {
            let at = bad.place(is_stand_in);
            bad.items().remove(at);
        },
        &[Pairs, Extension],
    ),
    (
        "a result has a stand-in",
        |bad| {
            let stand_in = bad.place(is_stand_in);
            let words = bad.items()[stand_in]["content"].clone();
            let at = bad.place(shown_as("raw", "tool"));
            let id = bad.items()[at]["toolCallId"].clone();
            bad.items()[at] = json!({"role": "tool", "content": words, "toolCallId": id});
        },
        &[Account, Pairs, Extension, Figures],
    ),
    (
        "a result answers another call",
        |bad| {
            let at = bad.place(shown_as("raw", "tool"));
            bad.items()[at]["toolCallId"] = json!("call-0-0");
        },
        &[Pairs, Extension],
    ),
    (
        "a result stands behind the user's words",
        |bad| {
            let at = bad.place(shown_as("raw", "tool"));
            let result = bad.items().remove(at);
            bad.items().push(result);
        },
        &[Pairs, Extension],
    ),
    (
        "two calls have one id",
        |bad| {
            let at = bad.place(has_calls);
            let mut others = bad.items()[..at].iter().filter(|item| has_calls(item));
            let id = others.next_back().unwrap()["toolCalls"][0]["id"].clone();
            bad.items()[at]["toolCalls"][0]["id"] = id.clone();
            bad.items()[at + 1]["toolCallId"] = id;
        },
        &[Bytes, Pairs, Extension],
    ),
];

const TO_THE_REST: [Damage; 15] = [
    (
        "a second system message",
        |bad| {
            bad.items().push(json!({"role": "system", "content": "Obey."}));
        },
        &[Account, System],
    ),
    (
        "no system message",
        |bad| {
            let text = json!({"type": "text", "text": "Be brief."});
            // After all others, which thus keep their ordinals.
            bad.source.messages.push(Said::new(Speaker::System, vec![text]));
        },
        &[System],
    ),
    (
        "a tool that was not offered",
        |bad| {
            let tool = json!({"name": "rm", "description": "", "inputSchema": {}});
            bad.prompts.last_mut().unwrap()["tools"] = json!([tool]);
        },
        &[Extension, System],
    ),
    (
        "no block",
        |bad| {
            let at = bad.place(is_block);
            bad.items().remove(at);
        },
        &[Extension, Block, Recount],
    ),
    (
        "the block stands at the end",
        |bad| {
            let at = bad.place(is_block);
            let block = bad.items().remove(at);
            bad.items().push(block);
        },
        &[Order, Extension],
    ),
    (
        "an excerpt has a line that no message has",
        |bad| {
            let at = bad.place(is_block);
            let block = bad.items()[at]["content"].as_str().unwrap();
            let end = "</conversation-summary>";
            let block = block.replace(end, &format!("# From files, \n[a.rs]\nan invented line\n{end}"));
            bad.items()[at]["content"] = json!(block);
        },
        &[Extension, Block],
    ),
    (
        "another compaction is named",
        |bad| {
            bad.prompts.last_mut().unwrap()["compactionId"] = json!("replay/c99");
        },
        &[Block],
    ),
    (
        "more tokens than the limit",
        |bad| {
            let limit = bad.line["limit"].as_u64().unwrap();
            bad.prompts.last_mut().unwrap()["tokens"] = json!(limit + 1);
        },
        &[Limit, Recount],
    ),
    ("a limit of its own", |bad| bad.prompts.last_mut().unwrap()["limit"] = json!(1_000_000), &[Limit]),
    (
        "half of the tokens are stated",
        |bad| {
            let tokens = bad.prompts[0]["tokens"].as_u64().unwrap();
            bad.prompts[0]["tokens"] = json!(tokens / 2);
        },
        &[Recount],
    ),
    ("a wrong number of messages in the figures", |bad| bad.raise("/coverage/raw"), &[Figures]),
    ("a wrong number of lost messages in the figures", |bad| bad.raise("/coverage/unaccounted"), &[Figures]),
    ("a wrong number of words in the figures", |bad| bad.raise("/userMessages/verbatim"), &[Figures]),
    ("a wrong number of renders in the figures", |bad| bad.raise("/renders"), &[Figures]),
    ("a wrong number of breaks in the figures", |bad| bad.raise("/prefix/breaks"), &[Figures]),
];

#[test]
fn every_damage_is_found_by_its_checks() {
    let mut good = Replayed::new();
    assert_eq!(good.found(), []);
    for (how, role) in [("raw", "user"), ("raw", "assistant"), ("raw", "tool"), ("kept", "user")] {
        good.place(shown_as(how, role));
    }
    let damages = || [&TO_MESSAGES[..], &TO_BYTES, &TO_PAIRS, &TO_THE_REST].concat();
    let found: Vec<(&str, Vec<Check>)> = damages()
        .into_iter()
        .map(|(name, damage, _)| {
            let mut bad = good.clone();
            damage(&mut bad);
            (name, bad.found())
        })
        .collect();
    let expected: Vec<(&str, Vec<Check>)> =
        damages().into_iter().map(|(name, _, checks)| (name, checks.to_vec())).collect();
    assert_eq!(found, expected);
}
