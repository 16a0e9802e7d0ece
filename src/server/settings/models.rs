//! Models as settings and requests name them: their facts, with what is known for their names, and their
//! endpoints. Makes no requests.

use super::effective::Read;
use engine::endpoint::DEFAULT_WINDOW;
use engine::endpoint::options::RequestOptions;
use engine::endpoint::{Endpoint, Wire};
use models::{address, known};
use protocol::error::ProtocolError;
use protocol::settings::{Model, ModelWire, Settings};
use session::settings::ModelFacts;

/// Parses a model. Missing facts are those known for its name.
pub(in crate::server) fn facts(model: &Model) -> Read<ModelFacts> {
    let endpoint = endpoint(model)?;
    let wire = endpoint.as_ref().map(|endpoint| endpoint.wire);
    let known = model.name.as_deref().and_then(|name| known::served(wire, name));
    let usual_window = wire.map_or(DEFAULT_WINDOW, Wire::usual_window);
    let usual = ModelFacts::default();
    let window = model.window.or(known.map(|known| known.window)).unwrap_or(usual_window);
    if model.max_output.is_some_and(|most| !(1..=window).contains(&most)) {
        return Err(invalid("maxOutput", "must be at least 1 and at most the window"));
    }
    Ok(ModelFacts {
        name: model.name.clone(),
        window,
        // An explicit window also states what fits into it.
        input: known.and_then(|known| known.input).filter(|_| model.window.is_none()),
        per_thousand: model.name.as_deref().and_then(known::tokens_per_thousand),
        max_output: model.max_output,
        tool_choice_none: model.tool_choice_none.unwrap_or(usual.tool_choice_none),
        system_role: has_role(model, "system"),
        tool_role: has_role(model, "tool"),
        images: model.images.or(known.map(|known| known.images)).unwrap_or(usual.images),
        binds_thinking: known::binds_thinking(wire, model.name.as_deref().unwrap_or_default()),
        counts_tokens: model.count_tokens == Some(true) && model.usage != Some(true),
        endpoint,
    })
}

/// The endpoint; `None` for a model of the editor, which must not have any part of one.
fn endpoint(model: &Model) -> Read<Option<Endpoint>> {
    let Some(wire) = model.wire.and_then(wire) else {
        let given = [
            ("baseUrl", model.base_url.is_some()),
            ("keyEnv", model.key_env.is_some()),
            ("webSocket", model.web_socket == Some(true)),
            ("effort", model.effort.is_some()),
            ("thinking", model.thinking.is_some()),
            ("cacheTtl", model.cache_ttl.is_some()),
            ("extraBody", model.extra_body.is_some()),
            ("extraHeaders", model.extra_headers.is_some()),
            ("query", model.query.is_some()),
        ];
        return match given.iter().find(|(_, is_given)| *is_given) {
            Some((part, _)) => {
                Err(invalid(part, "needs model.wire: without it the editor calls its own models"))
            }
            None => Ok(None),
        };
    };
    if wire != Wire::Scripted && model.name.as_deref().unwrap_or_default().is_empty() {
        return Err(invalid("name", "must be the model's name as its provider spells it"));
    }
    let given = Endpoint {
        wire,
        base_url: model.base_url.clone(),
        key_env: model.key_env.clone(),
        socket: model.web_socket.unwrap_or(false),
        options: RequestOptions {
            effort: model.effort,
            thinking: model.thinking,
            cache_ttl: model.cache_ttl,
            extra_body: model.extra_body.clone().unwrap_or_default(),
            extra_headers: model.extra_headers.clone().unwrap_or_default(),
            query: model.query.clone().unwrap_or_default(),
        },
    };
    address::endpoint(given).map(Some).map_err(|unfit| invalid(unfit.part, &unfit.reason))
}

/// The error for a part of the model that cannot be used.
fn invalid(part: &str, reason: &str) -> ProtocolError {
    ProtocolError::invalid(format!("settings.model.{part}"), reason)
}

/// The model for summaries, if it has a name, an address or a key of its own; the rest is the main model's.
/// The main model's key, headers and query are used at the same address only, its other options by itself only.
pub(super) fn summary(settings: &Settings, main: &ModelFacts) -> Read<Option<ModelFacts>> {
    let Settings { summary_model: name, summary_base_url: url, summary_key_env: key, .. } = settings;
    if name.is_none() && url.is_none() && key.is_none() {
        return Ok(None);
    }
    if name.as_deref() == Some("") {
        return Err(ProtocolError::invalid("settings.summaryModel", "must not be empty"));
    }
    let name_of_main = main.name.clone();
    let mut facts = main.clone();
    if let Some(name) = name.as_ref().filter(|name| Some(*name) != main.name.as_ref()) {
        let known = known::served(main.endpoint.as_ref().map(|endpoint| endpoint.wire), name);
        facts.name = Some(name.clone());
        // An unknown model counts as like the main one.
        facts.window = known.map_or(main.window, |known| known.window);
        facts.input = known.map_or(main.input, |known| known.input);
        facts.per_thousand = known::tokens_per_thousand(name);
        facts.max_output = None;
        facts.binds_thinking =
            known::binds_thinking(main.endpoint.as_ref().map(|endpoint| endpoint.wire), name);
    }
    let main = main.endpoint.as_ref().filter(|main| main.wire != Wire::Scripted);
    let like = main.cloned().unwrap_or_else(|| Endpoint::of(Wire::OpenaiChat));
    let base_url = url.clone().or_else(|| like.base_url.clone());
    let own = Endpoint { base_url, key_env: key.clone(), ..like };
    let mut own = address::endpoint(own).map_err(|unfit| {
        let field = if unfit.part == "keyEnv" { "settings.summaryKeyEnv" } else { "settings.summaryBaseUrl" };
        ProtocolError::invalid(field, &*unfit.reason)
    })?;
    let is_at_main = main.is_some_and(|main| own.is_at(main));
    if let Some(main) = main.filter(|_| own.key_env.is_none() && is_at_main) {
        own.key_env = main.key_env.clone();
    }
    own.options = match is_at_main {
        true if facts.name == name_of_main => own.options,
        true => own.options.of_address(),
        false => RequestOptions::default(),
    };
    // Without an address, requests still go to the editor or the fixture.
    if url.is_some() || main.is_some() {
        facts.endpoint = Some(own);
    }
    Ok(Some(facts))
}

/// The wire that we speak ourselves; `None` for the editor's.
fn wire(wire: ModelWire) -> Option<Wire> {
    match wire {
        ModelWire::Editor => None,
        ModelWire::OpenaiChat => Some(Wire::OpenaiChat),
        ModelWire::OpenaiResponses => Some(Wire::OpenaiResponses),
        ModelWire::Anthropic => Some(Wire::Anthropic),
        ModelWire::Gemini => Some(Wire::Gemini),
        ModelWire::Ollama => Some(Wire::Ollama),
        ModelWire::Scripted => Some(Wire::Scripted),
    }
}

/// A model in force, as a client reads it.
pub(super) fn shown(model: &ModelFacts) -> Model {
    let endpoint = model.endpoint.as_ref();
    let RequestOptions { effort, thinking, cache_ttl, extra_body, extra_headers, query } =
        endpoint.map(|endpoint| endpoint.options.clone()).unwrap_or_default();
    Model {
        name: model.name.clone(),
        wire: endpoint.map(|endpoint| wire_shown(endpoint.wire)),
        base_url: endpoint.and_then(|endpoint| endpoint.base_url.clone()),
        key_env: endpoint.and_then(|endpoint| endpoint.key_env.clone()),
        web_socket: endpoint.filter(|endpoint| endpoint.socket).map(|_| true),
        window: Some(model.window),
        max_output: model.max_output,
        tool_choice_none: Some(model.tool_choice_none),
        effort,
        thinking,
        cache_ttl,
        extra_body: Some(extra_body).filter(|fields| !fields.is_empty()),
        extra_headers: Some(extra_headers).filter(|headers| !headers.is_empty()),
        query: Some(query).filter(|parameters| !parameters.is_empty()),
        ..Model::default()
    }
}

fn wire_shown(wire: Wire) -> ModelWire {
    match wire {
        Wire::OpenaiChat => ModelWire::OpenaiChat,
        Wire::OpenaiResponses => ModelWire::OpenaiResponses,
        Wire::Anthropic => ModelWire::Anthropic,
        Wire::Gemini => ModelWire::Gemini,
        Wire::Ollama => ModelWire::Ollama,
        Wire::Scripted => ModelWire::Scripted,
    }
}

fn has_role(model: &Model, role: &str) -> bool {
    model.roles.as_ref().is_none_or(|roles| roles.iter().any(|known| known == role))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(model: serde_json::Value) -> Read<ModelFacts> {
        facts(&serde_json::from_value(model).unwrap())
    }

    #[test]
    fn invalid_model_is_refused_by_its_part() {
        for (model, part) in [
            (json!({ "baseUrl": "https://models.example" }), "baseUrl"),
            (json!({ "wire": "editor", "keyEnv": "A" }), "keyEnv"),
            (json!({ "webSocket": true }), "webSocket"),
            (json!({ "effort": "low" }), "effort"),
            (json!({ "thinking": "off" }), "thinking"),
            (json!({ "cacheTtl": "1h" }), "cacheTtl"),
            (json!({ "extraBody": {} }), "extraBody"),
            (json!({ "wire": "editor", "extraHeaders": {} }), "extraHeaders"),
            (json!({ "query": {} }), "query"),
            (json!({ "wire": "ollama", "name": "m", "effort": "max" }), "effort"),
            (
                json!({ "wire": "ollama", "name": "m", "extraHeaders": { "cookie": "planted" } }),
                "extraHeaders",
            ),
            (json!({ "wire": "openai-chat", "name": "m", "webSocket": true }), "webSocket"),
            (json!({ "wire": "ollama" }), "name"),
            (json!({ "wire": "ollama", "name": "" }), "name"),
            (json!({ "wire": "ollama", "name": "m", "baseUrl": "http://[bad" }), "baseUrl"),
            (json!({ "wire": "ollama", "name": "m", "keyEnv": "sk-planted" }), "keyEnv"),
            (json!({ "maxOutput": 0 }), "maxOutput"),
            (json!({ "maxOutput": 999_999_999 }), "maxOutput"),
            (json!({ "window": 9000, "maxOutput": 9001 }), "maxOutput"),
        ] {
            let error = read(model.clone()).unwrap_err();
            let text = serde_json::to_string(&error.data).unwrap();
            assert!(text.contains(&format!("\"settings.model.{part}\"")), "{model}: {text}");
            assert!(!text.contains("planted"), "{text}");
        }
        for model in [
            json!({}),
            json!({ "wire": "editor", "name": "", "webSocket": false }),
            json!({ "wire": "scripted", "baseUrl": "a file" }),
            json!({ "window": 4096, "name": "gpt-4o" }),
        ] {
            let facts = read(model.clone()).unwrap();
            assert!(facts.max_output.is_none_or(|most| most <= facts.window), "{model}");
        }
    }

    #[test]
    fn main_key_is_used_for_summaries_at_its_address_only() {
        let main = json!({ "wire": "openai-chat", "name": "m", "baseUrl": "https://a.example/v1", "keyEnv": "MAIN" });
        let main = read(main).unwrap();
        let of = |settings: serde_json::Value| {
            let settings: Settings = serde_json::from_value(settings).unwrap();
            let facts = summary(&settings, &main).unwrap().unwrap();
            let endpoint = facts.endpoint.unwrap();
            (endpoint.url().to_owned(), endpoint.key_name().map(str::to_owned))
        };
        let key = |name: &str| Some(name.to_owned());
        for (settings, url, name) in [
            (json!({ "summaryModel": "small" }), "https://a.example/v1", key("MAIN")),
            (json!({ "summaryBaseUrl": "https://a.example/v2" }), "https://a.example/v2", key("MAIN")),
            (json!({ "summaryBaseUrl": "https://b.example/v1" }), "https://b.example/v1", None),
            (json!({ "summaryBaseUrl": "http://a.example/v1" }), "http://a.example/v1", None),
            (
                json!({ "summaryBaseUrl": "https://b.example/v1", "summaryKeyEnv": "OTHER" }),
                "https://b.example/v1",
                key("OTHER"),
            ),
            (json!({ "summaryKeyEnv": "OTHER" }), "https://a.example/v1", key("OTHER")),
        ] {
            assert_eq!(of(settings.clone()), (url.to_owned(), name), "{settings}");
        }
        let editors = ModelFacts::default();
        let alone =
            |settings: serde_json::Value| summary(&serde_json::from_value(settings).unwrap(), &editors);
        assert_eq!(alone(json!({ "summaryKeyEnv": "OTHER" })).unwrap().unwrap().endpoint, None);
        for (settings, field) in [
            (json!({ "summaryModel": "" }), "settings.summaryModel"),
            (json!({ "summaryKeyEnv": "sk-planted" }), "settings.summaryKeyEnv"),
            (json!({ "summaryBaseUrl": "https://b.example?key=planted" }), "settings.summaryBaseUrl"),
        ] {
            let text = serde_json::to_string(&alone(settings).unwrap_err().data).unwrap();
            assert!(text.contains(&format!("\"{field}\"")) && !text.contains("planted"), "{text}");
        }
    }

    #[test]
    fn options_hold_for_their_model_headers_for_their_address() {
        let main = json!({
            "wire": "anthropic", "name": "m", "baseUrl": "https://a.example/v1", "effort": "max", "thinking": 2000,
            "cacheTtl": "1h", "extraBody": { "a": 1 }, "extraHeaders": { "X-A": "b" }, "query": { "c": "d" },
        });
        let main = read(main).unwrap();
        let shown = |facts: &ModelFacts| {
            let model = serde_json::to_value(shown(facts)).unwrap();
            let parts = ["effort", "thinking", "cacheTtl", "extraBody", "extraHeaders", "query"];
            json!(parts.map(|part| model.get(part).cloned()))
        };
        let all = json!(["max", 2000, "1h", { "a": 1 }, { "x-a": "b" }, { "c": "d" }]);
        let of_address = json!([null, null, null, null, { "x-a": "b" }, { "c": "d" }]);
        assert_eq!(shown(&main), all);
        for (settings, expected) in [
            (json!({ "summaryKeyEnv": "OTHER" }), &all),
            (json!({ "summaryModel": "m" }), &all),
            (json!({ "summaryModel": "small" }), &of_address),
            (json!({ "summaryBaseUrl": "https://a.example/v2" }), &all),
            (
                json!({ "summaryBaseUrl": "https://b.example/v1" }),
                &json!([null, null, null, null, null, null]),
            ),
        ] {
            let given: Settings = serde_json::from_value(settings.clone()).unwrap();
            assert_eq!(shown(&summary(&given, &main).unwrap().unwrap()), *expected, "{settings}");
        }
    }

    #[test]
    fn default_window_is_that_of_the_model_or_its_server() {
        let of = |wire, name: &str| {
            let model = Model { wire: Some(wire), name: Some(name.to_owned()), ..Model::default() };
            let facts = facts(&model).unwrap();
            (facts.window, facts.max_output)
        };
        assert_eq!(of(ModelWire::OpenaiChat, "gpt-4"), (8_192, None), "an unset limit stays unset");
        assert_eq!(of(ModelWire::OpenaiChat, "nobody-knows-it"), (DEFAULT_WINDOW, None));
        assert_eq!(of(ModelWire::Anthropic, "claude-opus-6"), (1_000_000, None));
        assert_eq!(of(ModelWire::Editor, "claude-sonnet-5-9-20270101"), (1_000_000, None));
        assert_eq!(of(ModelWire::Ollama, "llama3"), (16_384, None));
        assert_eq!(of(ModelWire::Ollama, "deepseek-r1:8b"), (16_384, None), "a local server may have less");
        let set = Model {
            window: Some(32_000),
            wire: Some(ModelWire::Ollama),
            name: Some("llama3".to_owned()),
            ..Model::default()
        };
        assert_eq!(facts(&set).unwrap().window, 32_000);
        let input = |model: serde_json::Value| read(model).unwrap().input;
        assert_eq!(input(json!({ "wire": "openai-responses", "name": "gpt-6.3" })), Some(922_000));
        let set = json!({ "wire": "openai-responses", "name": "gpt-6.3", "window": 272_000 });
        assert_eq!(input(set), None, "an explicit window also states what fits into it");
    }
}
