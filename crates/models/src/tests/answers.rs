//! Helpers shared by the tests of Anthropic's and OpenAI's own wires: recorded streams with harmless damage,
//! answers as they go back to their model, and a prompt with every kind of item.

use super::{Heard, draft, lines, read, recordings, same_wherever_it_is_cut};
use crate::Progress;
pub(super) use crate::wire::Terms;
use crate::wire::{Post, post, stamped};
use engine::approval::Approval;
use engine::delta::{Delta, Draft};
use engine::endpoint::{Endpoint, Wire};
use engine::id::CallId;
use engine::message::{Body, Content, Image};
use engine::prompt::item::{Item, ItemCall, ItemPart, Role, Tool};
use engine::prompt::request::{Request, ToolChoice};
use expect_test::Expect;
use serde_json::{Value, json};
use std::sync::Arc;

/// The events of a recording, of all its answers, one JSON text each.
pub(super) fn events(name: &str) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(recordings()?.join(name)).expect("the recording is there");
    let is_framed = name.ends_with(".sse");
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let events = lines.filter_map(|line| if is_framed { line.strip_prefix("data: ") } else { Some(line) });
    Some(events.map(str::to_owned).collect())
}

pub(super) fn value(event: &str) -> Value {
    serde_json::from_str(event).expect("JSON")
}

/// These events as server-sent events.
pub(super) fn stream(events: &[String]) -> String {
    let name = |event: &str| value(event)["type"].as_str().expect("a type").to_owned();
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", name(event))).collect()
}

/// Checks that these events give the expected deltas: whole, cut anywhere, and with meaningless data between
/// them.
pub(super) fn gives(wire: Wire, events: &[String], golden: &Expect) -> Heard {
    let text = stream(events);
    let bytes = text.as_bytes();
    let heard = same_wherever_it_is_cut(wire, bytes);
    golden.assert_eq(&lines(&heard));
    for (what, damaged) in [
        ("comments", text.replace("event: ", ": OPENROUTER PROCESSING\n\nid: 7\nretry: 10\nevent: ")),
        ("pings", text.replace("event: ", "event: ping\ndata: {\"type\": \"ping\"}\n\nevent: ")),
        ("nothing", text.replace("event: ", "data:\n\nevent: ")),
        ("blanks", text.replace("}\n\n", "   } \t  \n\n\n").replace("data: {", "data:{  ")),
        ("two bytes at the end of a line", text.replace('\n', "\r\n")),
        (
            "a later version",
            text.replace("event: ", "data: {\"type\":\"response.new\",\"x\":[1]}\n\nevent: "),
        ),
        ("what follows the end", text.clone() + "data: no JSON\n\n"),
    ] {
        assert_ne!(damaged, text);
        if what != "what follows the end" || heard.end.is_ok() {
            assert_eq!(read(wire, [damaged.as_bytes()]), heard, "{what}");
        }
    }
    if heard.end.is_ok() {
        for (at, _) in text.match_indices("event: ").filter(|(at, _)| *at + 1 < text.len()) {
            for cut in [at, at + 9] {
                let broken = read(wire, [&bytes[..cut]]);
                assert_eq!(broken.end.expect_err("it was cut off").class(), "network", "cut off at {cut}");
            }
        }
    }
    heard
}

/// The message of a stream, stamped with `model`, stored and read again.
pub(super) fn stored(heard: &Heard, wire: Wire, model: &str) -> Body {
    let stamp = |delta: &Delta| match stamped(Progress::Delta(delta.clone()), wire, model) {
        Progress::Delta(delta) => delta,
        other => panic!("{other:?}"),
    };
    let deltas: Vec<Delta> = heard.deltas.iter().map(stamp).collect();
    let draft: Draft = draft(&deltas);
    let text = serde_json::to_string(&draft.body()).expect("JSON");
    serde_json::from_str(&text).expect("what was stored")
}

/// An answer as a prompt item.
pub(super) fn answer(body: &Body) -> Item {
    let Body::Assistant { parts, calls, .. } = body else { panic!("an answer") };
    let call = |call: &engine::message::ToolCall| ItemCall {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
    };
    Item {
        parts: parts.iter().map(ItemPart::from).collect(),
        calls: calls.iter().map(call).collect(),
        ..Item::made(Role::Assistant, "", 1)
    }
}

/// Terms for this model.
pub(super) fn terms(model: &str) -> Terms {
    Terms {
        model: model.to_owned(),
        window: 200_000,
        max_output: Some(4096),
        tool_choice_none: true,
        images: true,
        cache_key: Some("s1/2".to_owned()),
    }
}

/// The request body for a prompt of these items.
pub(super) fn asks(wire: Wire, model: &str, items: Vec<Item>) -> Value {
    posted(wire, &Request { items, ..Request::default() }, &terms(model)).body
}

pub(super) fn posted(wire: Wire, request: &Request, terms: &Terms) -> Post {
    post(&Endpoint::of(wire), request, terms).expect("a wire that is posted to")
}

pub(super) fn user(text: &str) -> Item {
    Item::made(Role::User, text, 1)
}

/// A tool result for this call.
pub(super) fn result(id: &str, parts: Vec<ItemPart>) -> Item {
    Item { parts, call_id: Some(CallId::new(id)), ..Item::made(Role::Tool, "", 1) }
}

pub(super) fn picture(data: &str) -> ItemPart {
    ItemPart::Content(Content::Image(Image { mime_type: "image/png".to_owned(), data: data.into() }))
}

pub(super) fn thinking(text: &str, signature: Option<&str>, block: Option<Value>) -> ItemPart {
    let block = block.map(|block| Arc::new(block.as_object().expect("an object").clone()));
    ItemPart::Reasoning { text: text.into(), signature: signature.map(Into::into), block }
}

pub(super) fn call(id: &str, arguments: &str) -> ItemCall {
    ItemCall { id: CallId::new(id), name: "read".into(), arguments: arguments.into() }
}

/// A prompt in the middle of a turn with every kind of item, including blocks of each provider.
pub(super) fn everything() -> Request {
    let file = Content::ContextFile { path: "/code/a.rs".to_owned(), text: "fn a() {}".into() };
    let asked = Item {
        parts: vec![
            ItemPart::text("What is in it?"),
            ItemPart::text(" "),
            ItemPart::Content(file),
            picture("aGk="),
            picture("data:image/gif;base64,aGc="),
            picture("https://example.org/a.png"),
        ],
        ..user("")
    };
    let raw = |block: Value| ItemPart::Raw(Arc::new(block));
    let answered = Item {
        parts: vec![
            thinking("Unsigned.", None, None),
            thinking("Signed.", Some("c2ln"), Some(json!({"index": 0}))),
            thinking("", None, Some(json!({"type": "redacted_thinking", "index": 1, "data": "cmVk"}))),
            thinking(
                "Told.",
                None,
                Some(json!({
                    "type": "reasoning", "id": "rs_1", "index": 0, "encrypted_content": "ZW5j",
                    "summary": [{"type": "summary_text", "text": "Told."}],
                })),
            ),
            thinking("", None, Some(json!({"type": "reasoning", "id": "rs_2", "index": 1}))),
            thinking("", Some("eA=="), Some(json!({"type": "reasoning.text", "format": "x", "index": 0}))),
            raw(
                json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "a"}}),
            ),
            raw(json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []})),
            raw(json!({"type": "web_search_call", "id": "ws_1", "status": "completed"})),
            raw(json!({"type": "compaction", "content": "What was."})),
            raw(json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "Y21w"})),
            raw(json!("a block of nobody")),
            ItemPart::text("I look."),
        ],
        calls: vec![call("toolu_a", "{\"path\": \"a\"}"), call("s1/b", "")],
        ..Item::made(Role::Assistant, "", 1)
    };
    let silent = Item { calls: vec![call("toolu_c", "{\"pa")], parts: Vec::new(), ..answered.clone() };
    let tool = |name: &str, input_schema: Value| Tool {
        name: name.to_owned(),
        description: "Does it.".to_owned(),
        input_schema,
        kind: None,
        guidelines: None,
        approval: Approval::default(),
        rules: Vec::new(),
        ends_turn: None,
        origin: None,
    };
    let mut items = vec![
        Item::made(Role::System, "Be brief.", 1),
        user("<summary>"),
        asked,
        answered,
        result("toolu_a", vec![ItemPart::text("one"), picture("aGk=")]),
        result("s1/b", Vec::new()),
        silent,
        result("toolu_c", vec![ItemPart::text("wrong")]),
    ];
    // Above every cache minimum.
    items.iter_mut().for_each(|item| item.tokens = 5000);
    Request {
        items,
        tools: Arc::from([
            tool("read", json!({"type": "object", "properties": {"path": {"type": "string"}}})),
            tool("list", json!({})),
        ]),
        tool_choice: ToolChoice::Auto,
        temperature_zero: false,
        max_output: None,
        room: None,
        cache_breakpoints: vec![0, 4, 7],
    }
}
