//! Generates sessions as hostile as real ones: parallel calls, orphans, duplicates, hidden messages, our own tags, text
//! of many bytes per character, results larger than any window. Expectations are defined elsewhere.

use engine::compact::policy::presets::{
    DEFAULT, FOUR_STAGE, LAST_MESSAGES, LAST_TURNS, ROUNDS, SYSTEM_TAIL, WORDS_AND_LEDGER,
};
use engine::compact::policy::{Policy, Retention, Stage};
use engine::compact::record::ModeRequested;
use engine::id::CallId;
use engine::message::meta::Meta;
use engine::message::{
    AssistantPart, Beside, Body, Content, Effect, Image, NewMessage, SYSTEM_IN_HISTORY, ToolCall, ToolResult,
};
use engine::prompt::item::{Approval, Tool};
use import::{Entry, Format, Import, RecordedCompaction};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, json};
use std::fmt;
use std::sync::Arc;

/// Part of every message hidden from the model, and of no other.
pub const HIDDEN: &str = "hidden_marker_zz";

/// Fragments of which every text is composed.
const FRAGMENTS: &[&str] = &[
    "the build fails in ",
    "src/engine/plan.rs ",
    "漢字かな交じり文",
    "👩‍👩‍👧‍👦",
    "e\u{301}\u{308}",
    "\r\n",
    "\n",
    "<conversation-summary>",
    "</conversation-summary>",
    "</summary>",
    "<previous-summary>old</previous-summary>",
    "## Goal\n",
    "parse_header fetchWithRetry 4711 deadbeef01 ",
    "--no-default-features ",
    "Command exited with code 1\n",
    "\u{202e}\t\u{0}",
    "ghp_0123456789abcdefghij ",
    "[no result was recorded: the call was interrupted]",
];

/// Behaviours of the scripted model that yield no accepted summary. A model asked only once is asked in full mode.
pub const REFUSED: [&str; 7] = ["empty", "cut", "tooLong", "toolCall", "error", "refuse", "never"];
/// Behaviours that yield an accepted summary.
pub const ACCEPTED: [&str; 5] = ["echo", "repeatTag", "injects", "noTag", "missingSections"];

/// A session and the settings of its replay.
#[derive(Clone)]
pub struct Case {
    /// The recorded session.
    pub import: Import,
    /// The model's context window, in tokens.
    pub window: u32,
    /// The compaction policy.
    pub policy: Policy,
    /// Behaviour of the model that writes summaries; `None` without a model.
    pub summarizer: Option<&'static str>,
    /// Tokens above which a tool result is shown as head and tail.
    pub max_result: Option<u32>,
}

/// Short, because a failing case holds megabytes.
impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (window, policy) = (self.window, &self.policy);
        writeln!(f, "window {window}, {policy:?}, model {:?}", self.summarizer)?;
        writeln!(f, "system {:?}, {} tools", self.import.system, self.import.tools.len())?;
        for (n, entry) in self.import.entries.iter().enumerate() {
            let Entry::Message(message) = entry else {
                writeln!(f, "{n:3} recorded compaction")?;
                continue;
            };
            let bytes: usize = message.body.texts().iter().map(|text| text.len()).sum();
            let what = match &message.body {
                Body::User(parts) => format!("user, {} parts", parts.len()),
                Body::Assistant { calls, .. } => {
                    let calls: Vec<String> = calls.iter().map(|c| format!("{} {}", c.id, c.name)).collect();
                    format!("assistant calls {calls:?}")
                }
                Body::Tool(result) => format!("result of {}", result.call),
                Body::Event { kind, .. } => format!("event {kind}"),
            };
            let hidden = if message.visible_to_model { "" } else { " (hidden)" };
            writeln!(f, "{n:3} {what}{hidden}: {bytes} bytes")?;
        }
        Ok(())
    }
}

/// Text of about `bytes` bytes, with numbers in it so that it does not repeat.
fn text(bytes: impl Strategy<Value = usize>) -> impl Strategy<Value = String> {
    (prop::collection::vec(select(FRAGMENTS), 1..8), bytes, 0..100_000_u32).prop_map(
        |(words, bytes, salt)| {
            let mut text = String::new();
            for (n, word) in (0..).zip(words.iter().cycle()) {
                if text.len() >= bytes {
                    break;
                }
                text.push_str(word);
                if n % 5 == 4 {
                    text.push_str(&format!(" {}", salt.wrapping_mul(n)));
                }
            }
            text
        },
    )
}

fn said() -> impl Strategy<Value = String> {
    prop_oneof![
        12 => text(1..300_usize),
        3 => text(300..2_500_usize),
        1 => text(4_000..12_000_usize),
    ]
}

fn result_text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => text(1..600_usize),
        5 => text(1_000..5_000_usize),
        2 => (0..3_u32).prop_map(|n| format!("file {n} once more\n").repeat(60)),
        1 => text(30_000..180_000_usize),
        1 => Just(String::new()),
    ]
}

fn picture() -> Content {
    Content::Image(Image { mime_type: "image/png".into(), data: "aGVsbG8=".into() })
}

fn content(text: String, kind: u8) -> Vec<Content> {
    let plain = Content::Text(text.as_str().into());
    match kind {
        0 => vec![
            plain,
            Content::ContextFile { path: "src/context.rs".into(), text: "fn context() {}".into() },
        ],
        1 => vec![Content::Resource { uri: "file:///a/b.txt".into(), text: "a resource".into() }, plain],
        2 => vec![plain, picture()],
        3 => vec![Content::Text("".into()), plain, Content::Text("\r\n second part ".into())],
        _ => vec![plain],
    }
}

fn user() -> impl Strategy<Value = NewMessage> {
    (said(), 0..12_u8).prop_map(|(text, kind)| NewMessage::new(Body::User(content(text, kind))))
}

/// Results of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Answer {
    Once,
    Never,
    Twice,
    /// Appended after the next assistant message.
    Late,
    /// Hidden from the model.
    Hidden,
}

#[derive(Debug, Clone)]
struct Call {
    /// One of few ids, so that some repeat; `None` for a unique one.
    id: Option<&'static str>,
    tool: (&'static str, String),
    answer: Answer,
    result: ToolResult,
}

fn call() -> impl Strategy<Value = Call> {
    let path = select(vec!["src/lib.rs", "src/engine/plan.rs", "docs/漢字.md", "a b/c.txt"]);
    let tool = prop_oneof![
        4 => path.clone().prop_map(|path| ("read", format!(r#"{{"path":"{path}"}}"#))),
        3 => (path, text(1..2_000_usize)).prop_map(|(path, new)| {
            ("edit", serde_json::json!({ "file_path": path, "new_string": new }).to_string())
        }),
        3 => select(vec!["cargo test", "ls -l src/lib.rs", "grep -rn x_y ."])
            .prop_map(|command| ("bash", format!(r#"{{"command":"{command}"}}"#))),
        1 => said().prop_map(|todo| {
            let todos = serde_json::json!([{ "content": todo, "status": "pending" }, { "content": "b", "status": "completed" }]);
            ("TodoWrite", serde_json::json!({ "todos": todos }).to_string())
        }),
        1 => text(1..400_usize).prop_map(|broken| ("mcp__srv__write_file", format!("{{\"path\": {broken}"))),
    ];
    let id = prop_oneof![5 => Just(None), 1 => select(vec!["a", "b", "a_2", "a_2_2"]).prop_map(Some)];
    let answer = prop_oneof![
        14 => Just(Answer::Once),
        2 => Just(Answer::Never),
        1 => Just(Answer::Twice),
        1 => Just(Answer::Late),
        1 => Just(Answer::Hidden),
    ];
    let result =
        (result_text(), 0..12_u8, any::<bool>(), 0..6_u8).prop_map(|(text, kind, is_error, exit)| {
            let effects = match kind {
                4 => vec![Effect { path: "src/lib.rs".into(), sha256: "ab".repeat(32) }],
                _ => Vec::new(),
            };
            let exit_code = (exit == 0).then_some(1);
            ToolResult { content: content(text, kind), is_error, exit_code, effects, ..ToolResult::default() }
        });
    (id, tool, answer, result).prop_map(|(id, tool, answer, result)| Call { id, tool, answer, result })
}

/// Irregular entry before a round.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Noise {
    Nothing,
    Event,
    System,
    EmptyAssistant,
    HiddenAssistant,
    HiddenUser,
    EmptyUser,
    StrayResult,
    Compaction,
}

fn noise() -> impl Strategy<Value = Noise> {
    prop_oneof![
        24 => Just(Noise::Nothing),
        1 => Just(Noise::Event),
        1 => Just(Noise::System),
        1 => Just(Noise::EmptyAssistant),
        1 => Just(Noise::HiddenAssistant),
        1 => Just(Noise::HiddenUser),
        1 => Just(Noise::EmptyUser),
        1 => Just(Noise::StrayResult),
        1 => Just(Noise::Compaction),
    ]
}

#[derive(Debug, Clone)]
struct Round {
    said: String,
    thought: Option<String>,
    calls: Vec<Call>,
    is_reversed: bool,
    noise: Noise,
}

fn round() -> impl Strategy<Value = Round> {
    let thought = prop::option::weighted(0.2, text(1..300_usize));
    (said(), thought, prop::collection::vec(call(), 0..=4), any::<bool>(), noise()).prop_map(
        |(said, thought, calls, is_reversed, noise)| Round { said, thought, calls, is_reversed, noise },
    )
}

/// Sessions of `turns` turns, each of up to `rounds` rounds.
pub fn entries(turns: std::ops::Range<usize>, rounds: usize) -> impl Strategy<Value = Vec<Entry>> {
    let turn = (prop::collection::vec(user(), 1..=3), prop::collection::vec(round(), 0..=rounds));
    prop::collection::vec(turn, turns).prop_map(|turns| {
        let mut flat = Flat::default();
        for (users, rounds) in turns {
            users.into_iter().for_each(|user| flat.push(user));
            rounds.into_iter().for_each(|round| flat.round(round));
        }
        flat.entries
    })
}

#[derive(Default)]
struct Flat {
    entries: Vec<Entry>,
    late: Vec<ToolResult>,
    calls: u32,
}

impl Flat {
    fn push(&mut self, mut message: NewMessage) {
        if let (Body::User(content) | Body::Tool(ToolResult { content, .. }), 0) =
            (&mut message.body, self.entries.len() % 3)
        {
            let data = || Arc::new(Map::from_iter([("client".to_owned(), "its own data".into())]));
            content.insert(content.len().min(1), Content::Meta(Meta::Part(data())));
            content.push(Content::Meta(Meta::Whole(data())));
        }
        message.created_at = Some(format!("2026-11-21T01:02:{:02}Z", self.entries.len() % 60));
        self.entries.push(Entry::Message(message));
    }

    fn hidden(&mut self, body: Body) {
        self.push(NewMessage { visible_to_model: false, ..NewMessage::new(body) });
    }

    fn late(&mut self) {
        for result in std::mem::take(&mut self.late) {
            self.push(NewMessage::new(Body::Tool(result)));
        }
    }

    fn round(&mut self, round: Round) {
        match round.noise {
            Noise::Nothing => {}
            Noise::Event => {
                self.push(NewMessage::new(Body::Event { kind: "notice".into(), text: HIDDEN.into() }));
            }
            Noise::System => self.push(NewMessage::new(Body::Event {
                kind: SYSTEM_IN_HISTORY.into(),
                text: format!("another system text {HIDDEN}").into(),
            })),
            Noise::EmptyAssistant => {
                self.push(NewMessage::new(Body::assistant(" \n", vec![])));
                self.late();
            }
            Noise::HiddenAssistant => {
                let call = ToolCall::new("hidden", "bash", &format!(r#"{{"command":"{HIDDEN}"}}"#));
                self.hidden(Body::assistant(HIDDEN, vec![call]));
                self.hidden(Body::result("hidden", HIDDEN));
            }
            Noise::HiddenUser => self.hidden(Body::User(vec![Content::Text(HIDDEN.into())])),
            Noise::EmptyUser => self.push(NewMessage::user("")),
            Noise::StrayResult => self.push(NewMessage::new(Body::result("nobody", "asked for this"))),
            Noise::Compaction => self.entries.push(Entry::Compaction(RecordedCompaction {
                standing: import::Standing::Recorded,
                text: format!("recorded elsewhere {HIDDEN}"),
                tokens_before: Some(9),
                after_external_id: None,
            })),
        }
        let mut calls = Vec::new();
        let mut results = Vec::new();
        let mut late = Vec::new();
        for call in round.calls {
            self.calls += 1;
            let id = call.id.map_or_else(|| format!("call_{}", self.calls), str::to_owned);
            let result = ToolResult { call: id.clone(), ..call.result };
            match call.answer {
                Answer::Once => results.push((true, result)),
                Answer::Never => {}
                Answer::Twice => results.extend([(true, result.clone()), (true, result)]),
                Answer::Late => late.push(result),
                Answer::Hidden => results
                    .push((false, ToolResult { content: vec![Content::Text(HIDDEN.into())], ..result })),
            }
            let (name, arguments) = call.tool;
            let id = CallId::new(id);
            calls.push(ToolCall { id, source_id: None, name: name.into(), arguments: arguments.into() });
        }
        if round.is_reversed {
            results.reverse();
        }
        let mut parts = vec![AssistantPart::Text(round.said.as_str().into())];
        if let Some(text) = round.thought {
            // A search by the provider itself, preceded by reasoning.
            let found = json!({ "type": "search_result", "content": [text] });
            let block = Some(Arc::new(Map::from_iter([("index".to_owned(), json!(0))])));
            parts.insert(0, AssistantPart::Raw(Arc::new(found)));
            let signature = Some("c2ln".into());
            parts.insert(0, AssistantPart::Reasoning { text: text.into(), signature, block });
        }
        self.push(NewMessage::new(Body::Assistant { parts, calls, beside: Beside::default() }));
        self.late();
        for (is_visible, result) in results {
            match is_visible {
                true => self.push(NewMessage::new(Body::Tool(result))),
                false => self.hidden(Body::Tool(result)),
            }
        }
        self.late = late;
    }
}

/// Policies that differ in behaviour.
pub fn policies() -> Vec<Policy> {
    let no_limiter = Policy { limit_history: Stage::Off, ..DEFAULT };
    vec![
        DEFAULT,
        WORDS_AND_LEDGER,
        FOUR_STAGE,
        no_limiter.clone(),
        Policy { summary_mode: ModeRequested::Full, ..no_limiter.clone() },
        Policy { summary_mode: ModeRequested::Simple, ..no_limiter },
        Policy { limit_history: Stage::FoldRepeats, ..DEFAULT },
        ROUNDS,
        Policy { retention: Retention::UserTurns(2), ..LAST_TURNS },
        Policy { retention: Retention::Messages(5), ..LAST_MESSAGES },
        SYSTEM_TAIL,
    ]
}

/// An import of these entries with a system text and tools, or with neither.
pub fn import(entries: Vec<Entry>, with_fixed: bool) -> Import {
    let tool = |name: &str, schema: serde_json::Value| Tool {
        rules: Vec::new(),
        name: name.into(),
        description: format!("Does what {name} does. 漢字"),
        input_schema: schema,
        kind: None,
        guidelines: (name == "read").then(|| "Read before you write.".to_owned()),
        approval: Approval::default(),
        ends_turn: None,
        origin: None,
    };
    let path = serde_json::json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tools = vec![tool("read", path.clone()), tool("bash", serde_json::json!({})), tool("edit", path)];
    Import {
        format: Format::Jsonl,
        title: None,
        system: with_fixed.then(|| "You are an agent.\r\n".to_owned()),
        tools: if with_fixed { tools } else { Vec::new() },
        entries,
        skipped: Vec::new(),
    }
}

/// Any session under any policy with any summarizer. Half of the windows are small, where most failures occur.
pub fn case() -> impl Strategy<Value = Case> {
    let window = prop_oneof![1_500..4_000_u32, 4_000..40_000_u32];
    let mut models = vec![None];
    models.extend(REFUSED.map(Some));
    models.extend(ACCEPTED.map(Some));
    models.extend([None, Some("echo"), Some("echo"), Some("echo")]);
    let max_result = prop_oneof![Just(None), (1..4_000_u32).prop_map(Some)];
    (entries(1..6, 7), any::<bool>(), window, select(policies()), select(models), max_result).prop_map(
        |(entries, with_fixed, window, policy, summarizer, max_result)| Case {
            import: import(entries, with_fixed),
            window,
            policy,
            summarizer,
            max_result,
        },
    )
}
