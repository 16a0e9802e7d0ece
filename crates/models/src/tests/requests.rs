//! Request bodies: Chat Completions for each server that differs, and Ollama.

use crate::wire::{Post, Terms, post};
use engine::approval::Approval;
use engine::endpoint::options::{Manners, RequestOptions};
use engine::endpoint::{Endpoint, Wire};
use engine::id::CallId;
use engine::message::{Content, Image};
use engine::prompt::item::{Item, ItemCall, ItemPart, Role, Tool};
use engine::prompt::request::{Request, ToolChoice};
use expect_test::{ExpectFile, expect, expect_file};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn terms() -> Terms {
    Terms {
        model: "m".to_owned(),
        window: 32_768,
        max_output: Some(4096),
        tool_choice_none: true,
        images: true,
        cache_key: Some("s1/2".to_owned()),
    }
}

fn tool() -> Tool {
    Tool {
        name: "read".to_owned(),
        description: "Reads a file.".to_owned(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        kind: None,
        guidelines: None,
        approval: Approval::default(),
        rules: Vec::new(),
        ends_turn: None,
        origin: None,
    }
}

fn call(id: &str, arguments: &str) -> ItemCall {
    ItemCall { id: CallId::new(id), name: "read".into(), arguments: arguments.into() }
}

fn result(id: &str, parts: Vec<ItemPart>) -> Item {
    Item { parts, call_id: Some(CallId::new(id)), ..Item::made(Role::Tool, "", 1) }
}

fn picture(data: &str) -> ItemPart {
    ItemPart::Content(Content::Image(Image { mime_type: "image/png".to_owned(), data: data.into() }))
}

fn thinking(text: &str, signature: Option<&str>, block: Option<Value>) -> ItemPart {
    let block = block.map(|block| Arc::new(block.as_object().unwrap().clone()));
    ItemPart::Reasoning { text: text.into(), signature: signature.map(Into::into), block }
}

/// A prompt in the middle of a turn, with every kind of item.
pub(super) fn conversation() -> Request {
    let file = Content::ContextFile { path: "/code/a.rs".to_owned(), text: "fn a() {}".into() };
    let asked = Item {
        parts: vec![ItemPart::text("What is in it?"), ItemPart::Content(file), picture("aGk=")],
        ..Item::made(Role::User, "", 1)
    };
    let detail = json!({"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0});
    let of_another = json!({"type": "reasoning.text", "index": 0, "madeBy": "openai-chat/another"});
    let answered = Item {
        parts: vec![
            thinking("I look.", None, None),
            thinking("I look well.", Some("c2ln"), Some(detail)),
            thinking("", Some("Zm9yZWlnbg=="), None),
            thinking("Hm.", Some("Zm9yZWlnbg=="), Some(of_another)),
            ItemPart::text("I look."),
            ItemPart::Raw(Arc::new(json!({"type": "server_tool_use"}))),
        ],
        calls: vec![call("call_a", "{\"path\": \"a\"}"), call("call_b", "")],
        ..Item::made(Role::Assistant, "", 1)
    };
    let silent = Item {
        parts: Vec::new(),
        calls: vec![call("call_c", "{\"pa")],
        ..Item::made(Role::Assistant, "", 1)
    };
    Request {
        items: vec![
            Item::made(Role::System, "Be brief.", 1),
            Item::made(Role::User, "<summary>", 1),
            asked,
            answered,
            result("call_a", vec![ItemPart::text("one"), ItemPart::text("two")]),
            result("call_b", vec![picture("https://example.org/b.png")]),
            silent,
            result("call_c", vec![ItemPart::text("wrong")]),
        ],
        tools: Arc::from([tool()]),
        tool_choice: ToolChoice::Auto,
        temperature_zero: false,
        max_output: None,
        room: None,
        cache_breakpoints: vec![0, 1, 5, 7],
    }
}

fn at(wire: Wire, url: &str) -> Endpoint {
    Endpoint { base_url: Some(url.to_owned()), ..Endpoint::of(wire) }
}

fn posts(endpoint: &Endpoint, request: &Request, terms: &Terms, golden: ExpectFile) -> Value {
    let Post { path, headers, body } = post(endpoint, request, terms).expect("a wire that is posted to");
    assert!(headers.is_empty());
    golden.assert_eq(&format!("{path}\n{body:#}\n"));
    body
}

#[test]
fn unknown_server_gets_common_parameters() {
    posts(
        &at(Wire::OpenaiChat, "http://127.0.0.1:8080/v1/"),
        &conversation(),
        &terms(),
        expect_file!["bodies/chat.txt"],
    );
}

#[test]
fn openrouter_gets_breakpoints_and_its_thinking_back() {
    let body = posts(
        &at(Wire::OpenaiChat, "https://openrouter.ai/api/v1"),
        &conversation(),
        &terms(),
        expect_file!["bodies/openrouter.txt"],
    );
    assert_eq!(body.to_string().matches("cache_control").count(), 4, "each breakpoint is used");
}

/// A gateway on another host takes what the server does whose manners it has.
#[test]
fn stated_manners_hold_at_any_host() {
    for (manners, host) in [
        (Manners::Openai, "https://api.openai.com/v1"),
        (Manners::Openrouter, "https://openrouter.ai/api/v1"),
        (Manners::Mistral, "https://api.mistral.ai/v1"),
        (Manners::Deepseek, "https://api.deepseek.com/v1"),
    ] {
        let body = |endpoint: &Endpoint| post(endpoint, &conversation(), &terms()).unwrap().body;
        let plain = at(Wire::OpenaiChat, "https://gate.example/v1");
        let options = RequestOptions { manners: Some(manners), ..RequestOptions::default() };
        let stated = Endpoint { options, ..plain.clone() };
        assert_eq!(body(&stated), body(&at(Wire::OpenaiChat, host)), "{manners:?}");
        assert_ne!(body(&stated), body(&plain), "{manners:?}");
    }
}

/// The body without its messages.
fn beside(url: &str, request: &Request, terms: &Terms) -> String {
    let post = post(&at(Wire::OpenaiChat, url), request, terms).unwrap();
    let mut body = post.body.as_object().unwrap().clone();
    for same in ["messages", "model", "stream", "stream_options"] {
        assert!(body.shift_remove(same).is_some(), "{same}");
    }
    if let Some(tools) = body.get_mut("tools") {
        *tools = tools.as_array().unwrap().len().into();
    }
    serde_json::to_string(&body).unwrap()
}

#[test]
fn server_differences_follow_the_table() {
    let summary = Request {
        tool_choice: ToolChoice::None,
        temperature_zero: true,
        max_output: Some(100),
        ..conversation()
    };
    let (request, terms) = (conversation(), terms());
    let mut table = String::new();
    for url in [
        "https://api.openai.com/v1",
        "https://eu.API.openai.com:443/v1",
        "https://x.openai.azure.com/openai/v1",
        "https://openrouter.ai/api/v1",
        "https://api.deepseek.com",
        "http://user@localhost:1234/v1?api.openai.com",
        "https://notapi.openai.com.example.org/v1",
    ] {
        let (answer, summary) = (beside(url, &request, &terms), beside(url, &summary, &terms));
        table.push_str(&format!("{url}\n  {answer}\n  {summary}\n"));
    }
    expect![[r#"
        https://api.openai.com/v1
          {"tools":1,"max_completion_tokens":4096,"prompt_cache_key":"s1/2"}
          {"tools":1,"tool_choice":"none","temperature":0,"max_completion_tokens":100,"prompt_cache_key":"s1/2"}
        https://eu.API.openai.com:443/v1
          {"tools":1,"max_completion_tokens":4096,"prompt_cache_key":"s1/2"}
          {"tools":1,"tool_choice":"none","temperature":0,"max_completion_tokens":100,"prompt_cache_key":"s1/2"}
        https://x.openai.azure.com/openai/v1
          {"tools":1,"max_completion_tokens":4096}
          {"tools":1,"tool_choice":"none","temperature":0,"max_completion_tokens":100}
        https://openrouter.ai/api/v1
          {"tools":1,"max_tokens":4096}
          {"tools":1,"tool_choice":"none","temperature":0,"max_tokens":100}
        https://api.deepseek.com
          {"tools":1,"max_tokens":4096}
          {"tools":1,"tool_choice":"none","temperature":0,"max_tokens":100}
        http://user@localhost:1234/v1?api.openai.com
          {"tools":1,"max_tokens":4096}
          {"tools":1,"tool_choice":"none","temperature":0,"max_tokens":100}
        https://notapi.openai.com.example.org/v1
          {"tools":1,"max_tokens":4096}
          {"tools":1,"tool_choice":"none","temperature":0,"max_tokens":100}
    "#]].assert_eq(&table);
    let openai = "https://api.openai.com/v1";
    let named = |model: &str| Terms { model: model.to_owned(), ..terms.clone() };
    for (model, is_asked) in [("gpt-4o", true), ("gpt-5-mini", false), ("openai/o3", false), ("olmo", true)] {
        assert_eq!(beside(openai, &summary, &named(model)).contains("temperature"), is_asked, "{model}");
    }
    let cannot = Terms { tool_choice_none: false, ..terms.clone() };
    assert!(!beside(openai, &summary, &cannot).contains("tool"), "tools that it must not use are left out");
    let no_tools = Request { tools: Arc::default(), ..summary };
    assert!(!beside(openai, &no_tools, &terms).contains("tool"), "no choice without tools");
    let long_key = Terms { cache_key: Some("k".repeat(65)), ..terms };
    let posted = beside(openai, &request, &long_key);
    let hashed = engine::text::sha256_hex("k".repeat(65).as_bytes());
    assert!(posted.contains(&format!("\"prompt_cache_key\":\"{hashed}\"")), "{posted}");
}

#[test]
fn deepseek_gets_the_thinking_of_calls_back_and_no_other() {
    let talk = Item {
        parts: vec![thinking("Hm.", None, None), ItemPart::text("Yes.")],
        ..Item::made(Role::Assistant, "", 1)
    };
    let mut request = conversation();
    request.items.splice(1..1, [Item::made(Role::User, "Is it?", 1), talk]);
    let post = post(&at(Wire::OpenaiChat, "https://api.deepseek.com"), &request, &terms()).unwrap();
    let thought: Vec<_> = post.body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "assistant")
        .map(|message| message.get("reasoning_content").and_then(Value::as_str))
        .collect();
    assert_eq!(thought, [None, Some("I look."), Some("")]);
}

/// An image given as a `data:` URL is shown on wires that take only bytes, too.
#[test]
fn a_picture_is_shown_however_the_editor_gives_it() {
    for wire in [Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Anthropic, Wire::Ollama] {
        let body = |data: &str| {
            let asked = Item { parts: vec![picture(data)], ..Item::made(Role::User, "", 1) };
            let request = Request { items: vec![asked], ..Request::default() };
            post(&at(wire, "http://127.0.0.1:1"), &request, &terms()).unwrap().body
        };
        assert_eq!(body("data:image/png;base64,aGk="), body("aGk="), "{}", wire.name());
        assert!(body("aGk=").to_string().contains("aGk="), "{}", wire.name());
        let none = body("data:image/svg+xml,%3Csvg/%3E").to_string();
        assert!(none.contains("a picture stands here") && !none.contains("svg"), "{none}");
    }
}

#[test]
fn tools_of_any_name_and_schema_can_be_posted() {
    let tool = Tool { name: "fs.read/file".to_owned(), input_schema: json!({"type": "object"}), ..tool() };
    let call = |id: &str, name: &str| ItemCall { name: name.into(), ..call(id, "{}") };
    let answered = Item {
        parts: Vec::new(),
        calls: vec![call("call_a", ""), call("call_b", "fs.read/file")],
        ..Item::made(Role::Assistant, "", 1)
    };
    let items = vec![
        Item::made(Role::User, "Go.", 1),
        answered,
        result("call_a", vec![ItemPart::text("no such tool")]),
        result("call_b", vec![ItemPart::text("one")]),
    ];
    let request = Request { items, tools: Arc::from([tool]), ..Request::default() };
    for wire in [Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Anthropic, Wire::Ollama] {
        let body = post(&at(wire, "http://127.0.0.1:1"), &request, &terms()).unwrap().body;
        let text = body.to_string();
        assert!(text.contains("\"properties\":{}"), "{text}");
        assert!(!text.contains("fs.read") && !text.contains("\"name\":\"\""), "{text}");
        let names = text.matches("\"fsreadfile_").count();
        assert_eq!(names, if wire == Wire::Ollama { 3 } else { 2 }, "{text}");
    }
}

/// Mistral's own ids go back unchanged; others become nine letters and digits, equal in a call and its
/// result.
#[test]
fn mistral_gets_ids_of_nine_letters_and_digits() {
    let mut request = conversation();
    request.items[3].calls[0].id = CallId::new("aB3dE6gH9");
    request.items[4].call_id = Some(CallId::new("aB3dE6gH9"));
    let post = post(&at(Wire::OpenaiChat, "https://api.mistral.ai/v1"), &request, &terms()).unwrap();
    let messages = post.body["messages"].as_array().unwrap();
    let calls = messages.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
    let calls: Vec<&str> = calls.map(|call| call["id"].as_str().unwrap()).collect();
    let results: Vec<&str> = messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    assert_eq!((calls.len(), calls[0]), (3, "aB3dE6gH9"));
    assert_eq!(calls, results);
    assert_ne!(calls[1], calls[2]);
    for id in calls {
        assert!(id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()), "{id}");
    }
}

#[test]
fn model_without_vision_gets_text_for_an_image() {
    let blind = Terms { images: false, ..terms() };
    for wire in [Wire::OpenaiChat, Wire::Ollama] {
        let body = post(&at(wire, "http://127.0.0.1:1"), &conversation(), &blind).unwrap().body.to_string();
        assert!(!body.contains("aGk=") && !body.contains("image_url") && !body.contains("b.png"), "{body}");
        assert_eq!(body.matches("a picture stands here").count(), 2, "{body}");
    }
}

#[test]
fn ollama_gets_its_window_and_may_not_cut_the_prompt() {
    let body =
        posts(&Endpoint::of(Wire::Ollama), &conversation(), &terms(), expect_file!["bodies/ollama.txt"]);
    assert_eq!(body["options"]["num_ctx"], 32_768);
    let summary = Request {
        tool_choice: ToolChoice::None,
        temperature_zero: true,
        max_output: Some(100),
        ..conversation()
    };
    let body = post(&Endpoint::of(Wire::Ollama), &summary, &terms()).unwrap().body;
    assert_eq!(body["options"], json!({"num_ctx": 32_768, "num_predict": 100, "temperature": 0}));
    assert_eq!(body.get("tools"), None, "it cannot be told to use none");
}
