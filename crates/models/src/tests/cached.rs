//! Cache breakpoints: none before the shortest prefix that the model's provider caches.

use super::answers::{call, everything, posted, result, terms, user};
use crate::wire::post;
use engine::endpoint::{Endpoint, Wire};
use engine::prompt::item::{Item, ItemPart, Role, Tool};
use engine::prompt::request::Request;
use serde_json::Value;
use std::sync::Arc;

/// The texts right before the breakpoints, in order.
fn marked(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().into_iter().flatten();
    let of_tools = tools.filter(|tool| tool.get("cache_control").is_some()).map(|_| "tools".to_owned());
    let system = body["system"].as_array().into_iter().flatten();
    let contents = body["messages"].as_array().expect("messages").iter();
    let contents = contents.filter_map(|message| message["content"].as_array()).flatten();
    let texts = system.chain(contents).filter(|part| part.get("cache_control").is_some());
    of_tools.chain(texts.map(|part| part["text"].as_str().expect("a text").to_owned())).collect()
}

fn request(tool_bytes: usize) -> Request {
    let mut tools: Vec<Tool> = everything().tools.iter().take(1).cloned().collect();
    tools[0].description = "d".repeat(tool_bytes);
    Request {
        items: vec![
            Item::made(Role::System, "900", 900),
            user("901"),
            Item::made(Role::Assistant, "2,100", 1199),
            Item::made(Role::User, "5,000", 2900),
        ],
        tools: Arc::from(tools),
        cache_breakpoints: vec![0, 1, 2, 3],
        ..Request::default()
    }
}

#[test]
fn no_breakpoint_before_the_shortest_cached_prefix() {
    let all = ["900", "901", "2,100", "5,000"];
    let at = Endpoint {
        base_url: Some("https://openrouter.ai/api/v1".to_owned()),
        ..Endpoint::of(Wire::OpenaiChat)
    };
    for (model, tool_bytes, kept) in [
        ("claude-sonnet-4-6", 0, &all[2..]),
        ("claude-3-5-haiku", 0, &all[2..]),
        ("claude-opus-4-5", 0, &all[3..]),
        ("nobody-knows-it", 0, &all[..]),
        // Tools come first in the prompt, so they count.
        ("claude-sonnet-4-6", 600, &all[..]),
        ("claude-opus-4-5", 12_900, &all[..]),
    ] {
        let name = format!("{model}, {tool_bytes}");
        let request = request(tool_bytes);
        let body = posted(Wire::Anthropic, &request, &terms(model)).body;
        let found: Vec<String> = marked(&body).into_iter().filter(|text| text != "tools").collect();
        assert_eq!(found, kept, "{name}");
        let body = post(&at, &request, &terms(model)).expect("it is posted to").body;
        assert_eq!(marked(&body), kept, "{name}, over a router");
    }
}

#[test]
fn long_tools_get_a_spare_breakpoint() {
    for (model, tool_bytes, has_one) in [
        ("claude-sonnet-4-6", 3900, false),
        ("claude-sonnet-4-6", 4100, true),
        ("claude-opus-4-5", 4100, false),
        ("nobody-knows-it", 0, true),
    ] {
        let request = Request { cache_breakpoints: vec![3], ..request(tool_bytes) };
        let body = posted(Wire::Anthropic, &request, &terms(model)).body;
        assert_eq!(marked(&body).contains(&"tools".to_owned()), has_one, "{model}, {tool_bytes}");
    }
}

/// Blocks of a body in the order of the provider's cache, each with whether it is a breakpoint.
fn blocks(body: &Value) -> Vec<(String, bool)> {
    let of = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let messages = of(&body["messages"]).into_iter().flat_map(|message| of(&message["content"]));
    let blocks = of(&body["tools"]).into_iter().chain(of(&body["system"])).chain(messages);
    let taken = |mut block: Value| {
        let mark = block.as_object_mut().and_then(|block| block.shift_remove("cache_control"));
        (block.to_string(), mark.is_some())
    };
    blocks.map(taken).collect()
}

/// Blocks before a breakpoint in which the provider looks for what it wrote.
const LOOK_BACK: usize = 20;

#[test]
fn rounds_of_many_calls_are_read_from_the_cache() {
    let mut items = vec![Item::made(Role::System, "Be brief.", 5000), user("Look at everything.")];
    // Prefixes that the provider wrote.
    let mut written: Vec<Vec<String>> = Vec::new();
    let mut before = 0;
    for round in 0..20 {
        let request =
            Request { items: items.clone(), cache_breakpoints: vec![0, items.len() - 1], ..everything() };
        let blocks = blocks(&posted(Wire::Anthropic, &request, &terms("claude-sonnet-4-6")).body);
        let marks: Vec<usize> = (0..blocks.len()).filter(|at| blocks[*at].1).collect();
        assert!(marks.len() <= 4, "round {round}: {marks:?}");
        let texts: Vec<String> = blocks.into_iter().map(|(text, _)| text).collect();
        let found = marks.iter().flat_map(|mark| mark.saturating_sub(LOOK_BACK)..=*mark);
        let read = found.filter(|end| written.contains(&texts[..=*end].to_vec())).max();
        assert_eq!(read.map_or(0, |end| end + 1), before, "round {round}");
        written.extend(marks.iter().map(|mark| texts[..=*mark].to_vec()));
        before = texts.len();
        let ids: Vec<String> = (0..15).map(|at| format!("call_{round}_{at}")).collect();
        let calls = ids.iter().map(|id| call(id, "{}")).collect();
        items.push(Item { calls, ..Item::made(Role::Assistant, "I look.", 1) });
        items.extend(ids.iter().map(|id| result(id, vec![ItemPart::text("seen")])));
    }
}
