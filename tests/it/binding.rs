//! A provider that binds thinking to its prompt, as the newest Claude models do: each signature is a hash of
//! `system`, `tools` and all earlier messages, and a block behind another prompt gives a 400. The session is
//! tested against it with the wire's real body.

use crate::bench::{Bench, SUMMARY, result, settings, tool};
use engine::compact::policy::{DEFAULT, Policy, Stage};
use engine::delta::Delta;
use engine::endpoint::{Endpoint, Wire};
use engine::message::{Content, ToolCall};
use engine::prompt::item::{Approval, Item};
use engine::prompt::request::{Answer, Failure, Request, StopReason};
use engine::text::sha256_hex;
use models::ModelError;
use models::testing::{Reply, event};
use models::wire::{Terms, post};
use serde_json::{Map, Value, json};
use session::breaks::BreakCause;
use session::effect::{Effect, Purpose};
use session::event::EventBody;
use session::input::{At, Command, Compact, GivenPrefix, Input, StartTurn, ToolOutcome};
use session::settings::{ModelFacts, Settings};
use session::stored::Driver;
use std::collections::BTreeSet;

/// The provider's error for thinking behind another prompt.
const REFUSAL: &str = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different \
    conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".";

/// A value without cache breakpoints, which are not part of the hash.
fn unmarked(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(unmarked).collect(),
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| *key != "cache_control");
            kept.map(|(key, value)| (key.clone(), unmarked(value))).collect()
        }
        other => other.clone(),
    }
}

/// The signature of a block behind this body, or behind its first messages.
fn signature(body: &Value, messages: &[Value]) -> String {
    let bound = json!([unmarked(&body["tools"]), unmarked(&body["system"]), unmarked(&json!(messages))]);
    format!("bound:{}", sha256_hex(bound.to_string().as_bytes()))
}

/// Counts the thinking blocks; fails if one is behind another prompt than its own.
pub(crate) fn bound(body: &Value) -> Result<usize, &'static str> {
    let messages = body["messages"].as_array().expect("messages");
    let mut count = 0;
    for (at, message) in messages.iter().enumerate() {
        let blocks = message["content"].as_array().expect("blocks");
        for block in blocks.iter().filter(|block| block["type"] == "thinking") {
            if block["signature"] != signature(body, &messages[..at]) {
                return Err(REFUSAL);
            }
            count += 1;
        }
    }
    Ok(count)
}

/// The provider over HTTP: rejects the request, or thinks and answers with this text.
pub(crate) fn reply(body: &Value, text: &str) -> Reply {
    if let Err(refusal) = bound(body) {
        let error = json!({ "type": "invalid_request_error", "message": refusal });
        return Reply::body(400, &json!({ "type": "error", "error": error }).to_string());
    }
    let signed = signature(body, body["messages"].as_array().expect("messages"));
    let block = |index: u8, begin: Value, delta: Value| {
        [
            event(&json!({ "type": "content_block_start", "index": index, "content_block": begin })),
            event(&json!({ "type": "content_block_delta", "index": index, "delta": delta })),
        ]
    };
    let stop = |index: u8| event(&json!({ "type": "content_block_stop", "index": index }));
    let [begin, thinks] = block(
        0,
        json!({ "type": "thinking", "thinking": "", "signature": "" }),
        json!({ "type": "thinking_delta", "thinking": "Let me think." }),
    );
    let delta = json!({ "type": "signature_delta", "signature": signed });
    let signs = event(&json!({ "type": "content_block_delta", "index": 0, "delta": delta }));
    let [words, says] =
        block(1, json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": text }));
    let usage = json!({ "input_tokens": 900, "output_tokens": 20 });
    Reply::stream(vec![
        event(&json!({ "type": "message_start", "message": { "usage": usage } })),
        begin,
        thinks,
        signs,
        stop(0),
        words,
        says,
        stop(1),
        event(&json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": usage })),
        event(&json!({ "type": "message_stop" })),
    ])
}

/// A session with its provider.
struct Talk {
    bench: Bench,
    /// The number of rejected requests.
    refusals: usize,
    /// Thinking blocks in each accepted prompt.
    thought: Vec<usize>,
    tools: Vec<&'static str>,
}

fn tools(names: &[&str]) -> Vec<engine::prompt::item::Tool> {
    names.iter().map(|name| tool(name, Approval::Allow)).collect()
}

impl Talk {
    fn new(model: ModelFacts) -> Self {
        // The turns below are such that shortened results make room where they should.
        let policy = Policy { limit_history: Stage::ShortenResults, ..DEFAULT };
        let settings = Settings { model, policy, ..settings() };
        let bench = Bench::with(Driver::Sidecar, settings, tools(&["read"]));
        Self { bench, refusals: 0, thought: Vec::new(), tools: vec!["read"] }
    }

    /// The body of the newest model call.
    fn body(&self, items: &[Item], purpose: Purpose) -> Value {
        let of_tools = self.bench.effects.iter().rev().find_map(|effect| match effect {
            Effect::AskModel(ask) => Some((ask.request.tools.clone(), ask.request.tool_choice)),
            _ => None,
        });
        let (tools, tool_choice) = of_tools.expect("a model was asked in this step");
        assert!(purpose != Purpose::Turn || tools.len() >= self.tools.len());
        let request = Request { items: items.to_vec(), tools, tool_choice, ..Request::default() };
        let terms = Terms {
            model: "claude-opus-5-5".to_owned(),
            window: 200_000,
            max_output: Some(4096),
            tool_choice_none: true,
            images: true,
            cache_key: Some("s1/2".to_owned()),
        };
        post(&Endpoint::of(Wire::Anthropic), &request, &terms).expect("a wire that is posted to").body
    }

    /// Answers requests until one is accepted, with this text and these calls.
    fn says(&mut self, text: &str, calls: &[&str]) {
        loop {
            let (call, purpose, items) = self.bench.asked.pop().expect("a model is asked");
            let body = self.body(&items, purpose);
            match bound(&body) {
                Err(reason) => {
                    self.refusals += 1;
                    assert!(self.refusals < 9, "it is asked again and again");
                    let error = ModelError::BadRequest { status: Some(400), reason: reason.to_owned() };
                    self.bench.step(Input::ModelDone(call, Err(Failure::from(error))));
                }
                Ok(_) if purpose != Purpose::Turn => {
                    self.bench.step(Input::ModelDelta(call, Delta::AppendContent(SUMMARY.to_owned())));
                    self.bench.answer(call, Vec::new());
                    if self.bench.asked.is_empty() {
                        // Only the summary was requested.
                        return;
                    }
                }
                Ok(thought) => {
                    self.thought.push(thought);
                    let signed = signature(&body, body["messages"].as_array().expect("messages"));
                    let block = json!({ "type": "thinking", "index": 0, "signature": signed });
                    let block: Map<String, Value> = block.as_object().cloned().expect("an object");
                    let calls = calls.iter().enumerate().map(|(at, name)| {
                        ToolCall::new(&format!("c{}-{at}", call.0), name, "{\"path\": \"a.rs\"}")
                    });
                    for delta in [
                        Delta::AppendReasoning("Let me think. ".repeat(8)),
                        Delta::SetThinkingBlocks(vec![block]),
                        Delta::AppendContent(text.to_owned()),
                    ] {
                        self.bench.step(Input::ModelDelta(call, delta));
                    }
                    let (calls, stop) = (Some(calls.collect()), StopReason::End);
                    let answer = Answer { parts: None, calls, stop, usage: None };
                    return self.bench.step(Input::ModelDone(call, Ok(answer)));
                }
            }
        }
    }

    /// Runs a turn with `rounds` rounds, whose results have about `chars` characters, and an answer.
    fn turn(&mut self, request: &str, rounds: usize, chars: usize) {
        self.bench.asks(request);
        for round in 0..rounds {
            self.says("I look.", &["read"]);
            let call = self.bench.invoked.remove(0);
            let text = format!("{request} {round} ").repeat(chars / (request.len() + 3) + 1);
            self.bench
                .step(Input::ToolDone(call.clone(), ToolOutcome::Answered(result(call.as_str(), &text))));
        }
        self.says("It is done.", &[]);
    }

    fn command(&mut self, command: Command) {
        let to = self.bench.command(command);
        while self.bench.reply(to).is_none() {
            self.says("", &[]);
        }
        assert!(self.bench.reply(to).expect("an answer").is_ok(), "{:?}", self.bench.reply(to));
    }

    /// The causes of each announced break of the prefix.
    fn breaks(&self) -> Vec<BTreeSet<BreakCause>> {
        let told = self.bench.events.iter().filter_map(|(_, body)| match body {
            EventBody::PrefixBroken { causes, .. } => Some(causes.clone()),
            _ => None,
        });
        told.collect()
    }
}

fn binding(window: u32) -> ModelFacts {
    ModelFacts { name: Some("claude-opus-5-5".into()), window, binds_thinking: true, ..settings().model }
}

fn causes<const N: usize>(causes: [BreakCause; N]) -> BTreeSet<BreakCause> {
    BTreeSet::from(causes)
}

fn with_tools(names: &[&str]) -> GivenPrefix {
    GivenPrefix { tools: Some(tools(names)), sections: None }
}

#[test]
fn unchanged_prompts_keep_all_thinking() {
    let mut talk = Talk::new(binding(40_000));
    for request in ["one", "two", "three"] {
        talk.turn(request, 2, 400);
    }
    talk.bench.another_process();
    talk.turn("four", 0, 0);
    assert_eq!((talk.refusals, &talk.thought[..]), (0, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9][..]));
    assert_eq!(talk.breaks(), []);
}

#[test]
fn thinking_behind_a_compaction_is_left_out_and_announced() {
    let mut talk = Talk::new(binding(40_000));
    for request in ["one", "two", "three"] {
        talk.turn(request, 2, 9_000);
    }
    talk.command(Command::Compact(Compact::default()));
    talk.turn("four", 2, 400);
    talk.bench.another_process();
    talk.turn("five", 0, 0);
    assert_eq!(talk.refusals, 0);
    let after = talk.thought.len() - 4;
    assert_eq!(talk.thought[after..], [0, 1, 2, 3], "what came after it holds again");
}

#[test]
fn compaction_within_a_turn_leaves_its_earlier_thinking_out() {
    let mut talk = Talk::new(binding(9_000));
    talk.turn("long", 12, 3_000);
    let broken: Vec<_> = talk.breaks();
    assert_eq!(talk.refusals, 0);
    assert!(!broken.is_empty(), "it was compacted");
    let of_both = causes([BreakCause::Compaction, BreakCause::Thinking]);
    assert!(broken.iter().all(|causes| *causes == of_both), "{broken:?}");
    assert_eq!(talk.thought.iter().filter(|thought| **thought == 0).count(), broken.len() + 1);
}

#[test]
fn undo_brings_thinking_back_with_its_prompt() {
    let mut talk = Talk::new(binding(40_000));
    for request in ["one", "two", "three"] {
        talk.turn(request, 2, 9_000);
    }
    talk.command(Command::Compact(Compact::default()));
    talk.turn("four", 1, 400);
    talk.command(Command::Undo(None));
    talk.turn("five", 0, 0);
    assert_eq!(
        (talk.refusals, talk.thought.last()),
        (0, Some(&9)),
        "nine answers came before the compaction"
    );
}

#[test]
fn other_tools_leave_thinking_out_until_restored() {
    let mut talk = Talk::new(binding(40_000));
    talk.turn("one", 1, 400);
    for (names, expected) in [(&["read", "write"][..], 0), (&["read"][..], 2)] {
        let content = vec![Content::Text("go on".into())];
        let start = StartTurn { content, prefix: with_tools(names), ..StartTurn::default() };
        talk.bench.command(Command::StartTurn(Box::new(start)));
        talk.says("It is done.", &[]);
        assert_eq!((talk.refusals, talk.thought.last()), (0, Some(&expected)), "{names:?}");
    }
    let of_both = causes([BreakCause::Tools, BreakCause::Thinking]);
    assert_eq!(talk.breaks().first(), Some(&of_both));
}

#[test]
fn edited_message_leaves_out_thinking_behind_it_alone() {
    let mut talk = Talk::new(binding(40_000));
    for request in ["one", "two", "three"] {
        talk.turn(request, 0, 0);
    }
    let content = vec![Content::Text("other words".into())];
    talk.command(Command::Update { message: At::Index(2), content, regenerate: false, key: None });
    talk.turn("four", 0, 0);
    assert_eq!((talk.refusals, talk.thought.last()), (0, Some(&1)));
    assert_eq!(talk.breaks(), [causes([BreakCause::Edit, BreakCause::Thinking])]);
}

#[test]
fn refused_thinking_of_an_unknown_model_is_left_out_once() {
    let model = ModelFacts { name: Some("unknown".into()), binds_thinking: false, ..binding(40_000) };
    let mut talk = Talk::new(model);
    for request in ["one", "two", "three"] {
        talk.turn(request, 0, 0);
    }
    let content = vec![Content::Text("other words".into())];
    talk.command(Command::Update { message: At::Index(2), content, regenerate: false, key: None });
    talk.turn("four", 1, 400);
    assert_eq!((talk.refusals, &talk.thought[3..]), (1, &[0, 1][..]));
    let content = vec![Content::Text("again other words".into())];
    talk.command(Command::Update { message: At::Index(0), content, regenerate: false, key: None });
    talk.bench.another_process();
    talk.turn("five", 0, 0);
    assert_eq!((talk.refusals, talk.thought.last()), (1, Some(&0)), "the model is known to refuse by now");
}
