//! Models as settings and requests name them: their facts, with what is known for their names, and their
//! endpoints. Makes no requests.

use super::effective::Read;
use engine::cost::{Dollars, Price, PriceSource};
use engine::endpoint::DEFAULT_WINDOW;
use engine::endpoint::options::RequestOptions;
use engine::endpoint::{Endpoint, Wire};
use models::address;
use models::counted::is_counted;
use models::known::{self, price};
use protocol::error::ProtocolError;
use protocol::settings::{Model, ModelPrice, ModelWire, Settings};
use session::settings::{ModelFacts, WindowSource};

/// Parses a model. Missing facts are those known for its name.
pub(in crate::server) fn facts(model: &Model) -> Read<ModelFacts> {
    let endpoint = endpoint(model)?;
    let wire = endpoint.as_ref().map(|endpoint| endpoint.wire);
    let is_named = model.name.as_ref().is_some_and(|name| !name.is_empty());
    if wire.is_some_and(|wire| wire != Wire::Scripted) && !is_named {
        return Err(invalid("name", "must be the model's name as its provider spells it"));
    }
    let known = model.name.as_deref().and_then(|name| known::served(wire, name));
    let usual_window = wire.map_or(DEFAULT_WINDOW, Wire::usual_window);
    let usual = ModelFacts::default();
    let window = model.window.or(known.map(|known| known.window)).unwrap_or(usual_window);
    if model.max_output.is_some_and(|most| !(1..=window).contains(&most)) {
        return Err(invalid("maxOutput", "must be at least 1 and at most the window"));
    }
    let counts = model.count_tokens == Some(true);
    if counts && endpoint.as_ref().is_some_and(|endpoint| !is_counted(endpoint)) {
        return Err(invalid("countTokens", "the provider of this wire and address counts no requests"));
    }
    Ok(ModelFacts {
        name: model.name.clone(),
        window,
        window_source: match model.window.is_none() && known.is_some() {
            true => WindowSource::Known,
            false => WindowSource::Given,
        },
        // An explicit window also states what fits into it.
        input: known.and_then(|known| known.input).filter(|_| model.window.is_none()),
        per_thousand: model.name.as_deref().and_then(known::tokens_per_thousand),
        max_output: model.max_output,
        tool_choice_none: model.tool_choice_none.unwrap_or(usual.tool_choice_none),
        system_role: has_role(model, "system"),
        tool_role: has_role(model, "tool"),
        images: model.images.or(known.map(|known| known.images)).unwrap_or(usual.images),
        binds_thinking: known::binds_thinking(wire, model.name.as_deref().unwrap_or_default()),
        counts_tokens: counts && (endpoint.is_some() || model.usage != Some(true)),
        prices: prices("settings.model.price", model.price, endpoint.as_ref(), model.name.as_deref())?,
        endpoint,
    })
}

/// The highest price that anybody can mean, in dollars for a million tokens.
const MOST_PRICE: f64 = 100_000.0;

/// The prices of a model: those of the settings, otherwise those known for its name at this endpoint.
fn prices(
    field: &str,
    given: Option<ModelPrice>,
    endpoint: Option<&Endpoint>,
    name: Option<&str>,
) -> Read<Vec<Price>> {
    let Some(ModelPrice { input, output, cache_read, cache_write }) = given else {
        let known = endpoint.zip(name).map(|(endpoint, name)| price::prices(endpoint, name));
        return Ok(known.unwrap_or_default());
    };
    let dollars = |part: &str, price: f64| match price {
        price if (0.0..=MOST_PRICE).contains(&price) => Ok(Dollars::from(price)),
        _ => {
            let reason = format!("must be from 0 to {MOST_PRICE} dollars for a million tokens");
            Err(ProtocolError::invalid(format!("{field}.{part}"), reason))
        }
    };
    Ok(vec![Price {
        source: PriceSource::Settings,
        input: dollars("input", input)?,
        output: dollars("output", output)?,
        cache_read: Some(dollars("cacheRead", cache_read.unwrap_or(input))?),
        cache_write: Some(dollars("cacheWrite", cache_write.unwrap_or(input))?),
        long: None,
        until: None,
    }])
}

/// The endpoint; `None` for a model of the editor, which must not have any part of one. The model may be without a name.
pub(in crate::server) fn endpoint(model: &Model) -> Read<Option<Endpoint>> {
    let Some(wire) = model.wire.and_then(wire) else {
        let given = [
            ("baseUrl", model.base_url.is_some()),
            ("keyEnv", model.key_env.is_some()),
            ("webSocket", model.web_socket == Some(true)),
            ("effort", model.effort.is_some()),
            ("thinking", model.thinking.is_some()),
            ("cacheTtl", model.cache_ttl.is_some()),
            ("fallbacks", model.fallbacks.is_some()),
            ("providerCompaction", model.provider_compaction.is_some()),
            ("lookUpLimits", model.look_up_limits == Some(true)),
            ("manners", model.manners.is_some()),
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
    let given = Endpoint {
        wire,
        base_url: model.base_url.clone(),
        key_env: model.key_env.clone(),
        socket: model.web_socket.unwrap_or(false),
        options: RequestOptions {
            effort: model.effort,
            thinking: model.thinking,
            cache_ttl: model.cache_ttl,
            fallbacks: model.fallbacks.clone(),
            provider_compaction: model.provider_compaction,
            look_up_limits: model.look_up_limits,
            manners: model.manners,
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
        // Only the check: without a model of their own, summaries cost what the main model does.
        return prices("settings.summaryPrice", settings.summary_price, None, None).map(|_| None);
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
        facts.window_source = known.map_or(main.window_source, |_| WindowSource::Known);
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
    let is_main = is_at_main && facts.name == name_of_main;
    own.options = match is_at_main {
        true if is_main => own.options,
        true => own.options.of_address(),
        false => RequestOptions::default(),
    };
    // Without an address, requests still go to the editor or the fixture.
    if url.is_some() || main.is_some() {
        facts.endpoint = Some(own);
    }
    let is_main = is_main || (facts.endpoint.is_none() && facts.name == name_of_main);
    if !is_main || settings.summary_price.is_some() {
        let (endpoint, name) = (facts.endpoint.as_ref(), facts.name.as_deref());
        facts.prices = prices("settings.summaryPrice", settings.summary_price, endpoint, name)?;
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
    let options = endpoint.map(|endpoint| endpoint.options.clone()).unwrap_or_default();
    let RequestOptions {
        effort,
        thinking,
        cache_ttl,
        fallbacks,
        provider_compaction,
        look_up_limits,
        manners,
        extra_body,
        extra_headers,
        query,
    } = options;
    Model {
        name: model.name.clone(),
        wire: endpoint.map(|endpoint| wire_shown(endpoint.wire)),
        base_url: endpoint.and_then(|endpoint| endpoint.base_url.clone()),
        key_env: endpoint.and_then(|endpoint| endpoint.key_env.clone()),
        web_socket: endpoint.filter(|endpoint| endpoint.socket).map(|_| true),
        window: Some(model.window),
        max_output: model.max_output,
        tool_choice_none: Some(model.tool_choice_none),
        count_tokens: endpoint.filter(|_| model.counts_tokens).map(|_| true),
        price: price_shown(model),
        effort,
        thinking,
        cache_ttl,
        fallbacks,
        provider_compaction,
        look_up_limits,
        manners,
        extra_body: Some(extra_body).filter(|fields| !fields.is_empty()),
        extra_headers: Some(extra_headers).filter(|headers| !headers.is_empty()),
        query: Some(query).filter(|parameters| !parameters.is_empty()),
        ..Model::default()
    }
}

/// The prices of a model, if the settings state them.
pub(super) fn price_shown(model: &ModelFacts) -> Option<ModelPrice> {
    let price = model.prices.first().filter(|price| price.source == PriceSource::Settings)?;
    Some(ModelPrice {
        input: price.input.into(),
        output: price.output.into(),
        cache_read: price.cache_read.map(f64::from),
        cache_write: price.cache_write.map(f64::from),
    })
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
    use serde_json::{Value, json};

    fn read(model: Value) -> Read<ModelFacts> {
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
            (json!({ "fallbacks": "default" }), "fallbacks"),
            (json!({ "providerCompaction": 60_000 }), "providerCompaction"),
            (json!({ "manners": "openai" }), "manners"),
            (json!({ "wire": "anthropic", "name": "m", "manners": "openai" }), "manners"),
            (json!({ "extraBody": {} }), "extraBody"),
            (json!({ "wire": "editor", "extraHeaders": {} }), "extraHeaders"),
            (json!({ "query": {} }), "query"),
            (json!({ "wire": "ollama", "name": "m", "effort": "max" }), "effort"),
            (
                json!({ "wire": "ollama", "name": "m", "extraHeaders": { "cookie": "planted" } }),
                "extraHeaders",
            ),
            (json!({ "wire": "openai-chat", "name": "m", "webSocket": true }), "webSocket"),
            (json!({ "wire": "ollama", "name": "m", "countTokens": true }), "countTokens"),
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
    fn price_of_the_settings_goes_before_the_known_one() {
        let claude = |more: serde_json::Value| {
            let mut model = json!({ "wire": "anthropic", "name": "claude-sonnet-5-5" });
            model.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            read(model)
        };
        let figures = |facts: &ModelFacts| {
            let of = |price: &Price| {
                json!([price.source, price.input, price.output, price.cache_read, price.cache_write])
            };
            facts.prices.iter().map(of).collect::<Vec<_>>()
        };
        let known = claude(json!({})).unwrap();
        assert_eq!(figures(&known), [json!([{ "table": "2026-11-22" }, 2.0, 10.0, 0.1, 2.5])]);
        assert_eq!(shown(&known).price, None);
        let set = claude(json!({ "price": { "input": 1, "output": 4.5, "cacheRead": 0 } })).unwrap();
        assert_eq!(figures(&set), [json!(["settings", 1.0, 4.5, 0.0, 1.0])]);
        let back = serde_json::to_value(shown(&set)).unwrap();
        assert_eq!(
            back["price"],
            json!({ "input": 1.0, "output": 4.5, "cacheRead": 0.0, "cacheWrite": 1.0 })
        );
        assert_eq!(read(back).unwrap().prices, set.prices);
        let editors =
            read(json!({ "name": "claude-sonnet-5-5", "price": { "input": 1, "output": 2 } })).unwrap();
        assert_eq!(figures(&editors), [json!(["settings", 1.0, 2.0, 1.0, 1.0])]);
        assert_eq!(read(json!({ "name": "claude-sonnet-5-5" })).unwrap().prices, []);
        for (price, part) in [
            (json!({ "input": -1, "output": 2 }), "input"),
            (json!({ "input": 1, "output": 100_001 }), "output"),
            (json!({ "input": 1, "output": 2, "cacheRead": -0.1 }), "cacheRead"),
            (json!({ "input": 1, "output": 2, "cacheWrite": 1e300 }), "cacheWrite"),
        ] {
            let error = claude(json!({ "price": price })).unwrap_err();
            assert_eq!(
                serde_json::to_value(&error.data).unwrap()["field"],
                json!(format!("settings.model.price.{part}"))
            );
        }
    }

    #[test]
    fn summary_model_has_its_own_price() {
        let main = json!({
            "wire": "anthropic", "name": "claude-opus-5-5", "price": { "input": 1, "output": 2 },
        });
        let main = read(main).unwrap();
        let input = |settings: serde_json::Value| {
            let facts = summary(&serde_json::from_value(settings).unwrap(), &main).unwrap().unwrap();
            facts.prices.first().map(|price| f64::from(price.input))
        };
        for (settings, expected) in [
            (json!({ "summaryKeyEnv": "OTHER" }), Some(1.0)),
            (json!({ "summaryModel": "claude-opus-5-5" }), Some(1.0)),
            (json!({ "summaryModel": "claude-haiku-5-5" }), Some(0.1)),
            (json!({ "summaryModel": "claude-haiku-6" }), None),
            (
                json!({ "summaryModel": "claude-haiku-6", "summaryPrice": { "input": 3, "output": 4 } }),
                Some(3.0),
            ),
            // At another address the prices of the settings need not hold.
            (json!({ "summaryBaseUrl": "https://b.example/v1" }), Some(4.0)),
        ] {
            assert_eq!(input(settings.clone()), expected, "{settings}");
        }
        let alone = json!({ "summaryPrice": { "input": 3, "output": 4 } });
        assert_eq!(summary(&serde_json::from_value(alone).unwrap(), &main).unwrap(), None);
        let wrong = json!({ "input": 3, "output": -4 });
        for settings in
            [json!({ "summaryPrice": wrong }), json!({ "summaryModel": "m", "summaryPrice": wrong })]
        {
            let error = summary(&serde_json::from_value(settings).unwrap(), &main).unwrap_err();
            let field = serde_json::to_value(&error.data).unwrap()["field"].clone();
            assert_eq!(field, json!("settings.summaryPrice.output"));
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
    fn documented_models_are_valid() {
        let page = include_str!("../../../docs/models.md");
        let blocks: Vec<&str> =
            page.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(blocks.len() > 10);
        for block in blocks {
            let model: Value = serde_json::from_str(block).unwrap_or_else(|error| panic!("{error}: {block}"));
            // A misspelt field would be ignored.
            let known: Model = serde_json::from_value(model.clone()).unwrap();
            let known = serde_json::to_value(known).unwrap();
            for field in model.as_object().unwrap().keys() {
                assert!(known.get(field).is_some(), "{field} in {block}");
            }
            let facts = read(model).unwrap_or_else(|error| panic!("{error:?}: {block}"));
            assert!(facts.endpoint.is_some(), "{block}");
        }
    }

    #[test]
    fn options_hold_for_their_model_headers_for_their_address() {
        let main = json!({
            "wire": "anthropic", "name": "m", "baseUrl": "https://a.example/v1", "effort": "max", "thinking": 2000,
            "cacheTtl": "1h", "fallbacks": ["n"], "providerCompaction": 60_000, "extraBody": { "a": 1 },
            "extraHeaders": { "X-A": "b" }, "query": { "c": "d" },
        });
        let main = read(main).unwrap();
        let shown = |facts: &ModelFacts| {
            let model = serde_json::to_value(shown(facts)).unwrap();
            let parts = [
                "effort",
                "thinking",
                "cacheTtl",
                "fallbacks",
                "providerCompaction",
                "extraBody",
                "extraHeaders",
                "query",
            ];
            json!(parts.map(|part| model.get(part).cloned()))
        };
        let all = json!(["max", 2000, "1h", ["n"], 60_000, { "a": 1 }, { "x-a": "b" }, { "c": "d" }]);
        let of_address = json!([null, null, null, null, null, null, { "x-a": "b" }, { "c": "d" }]);
        assert_eq!(shown(&main), all);
        for (settings, expected) in [
            (json!({ "summaryKeyEnv": "OTHER" }), &all),
            (json!({ "summaryModel": "m" }), &all),
            (json!({ "summaryModel": "small" }), &of_address),
            (json!({ "summaryBaseUrl": "https://a.example/v2" }), &all),
            (
                json!({ "summaryBaseUrl": "https://b.example/v1" }),
                &json!([null, null, null, null, null, null, null, null]),
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
