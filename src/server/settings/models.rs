//! Models as settings and requests name them: facts, with what is known of their names and where they are asked. Nothing
//! is asked here.

use super::effective::Read;
use crate::engine::session::endpoint::{Endpoint, Wire};
use crate::engine::session::settings::{DEFAULT_WINDOW, ModelFacts};
use crate::model::known;
use crate::protocol::error::ProtocolError;
use crate::protocol::settings::{Model, ModelWire, Settings};

/// A model as it comes over the wire. What is not said of it is what is known of the model of its name.
pub(in crate::server) fn facts(model: &Model) -> Read<ModelFacts> {
    let wire = model.wire.and_then(wire);
    let known = model.name.as_deref().and_then(|name| known::served(wire, name));
    let usual_window = wire.map_or(DEFAULT_WINDOW, Wire::usual_window);
    let usual = ModelFacts::default();
    Ok(ModelFacts {
        name: model.name.clone(),
        window: model.window.or(known.map(|known| known.window)).unwrap_or(usual_window),
        max_output: model.max_output,
        tool_choice_none: model.tool_choice_none.unwrap_or(usual.tool_choice_none),
        system_role: has_role(model, "system"),
        tool_role: has_role(model, "tool"),
        images: model.images.or(known.map(|known| known.images)).unwrap_or(usual.images),
        counts_tokens: model.count_tokens == Some(true) && model.usage != Some(true),
        endpoint: match wire {
            Some(wire) => Some(Endpoint {
                wire,
                base_url: match &model.base_url {
                    // A path.
                    Some(path) if wire == Wire::Scripted => Some(path.clone()),
                    Some(url) => Some(address("settings.model.baseUrl", url)?),
                    None => None,
                },
                key_env: model.key_env.clone(),
                socket: model.web_socket.unwrap_or(false),
            }),
            None => None,
        },
    })
}

/// The model that writes summaries, where one is named or has an address of its own: else as the main one.
pub(super) fn summary(settings: &Settings, main: &ModelFacts) -> Read<Option<ModelFacts>> {
    let Settings { summary_model: name, summary_base_url: url, .. } = settings;
    if name.is_none() && url.is_none() {
        return Ok(None);
    }
    let mut facts = main.clone();
    if let Some(name) = name.as_ref().filter(|name| Some(*name) != main.name.as_ref()) {
        let known = known::served(main.endpoint.as_ref().map(|endpoint| endpoint.wire), name);
        facts.name = Some(name.clone());
        // What is known of neither is taken for alike.
        facts.window = known.map_or(main.window, |known| known.window);
        facts.max_output = None;
    }
    if let Some(url) = url {
        let url = address("settings.summaryBaseUrl", url)?;
        let main = main.endpoint.clone().filter(|main| main.wire != Wire::Scripted);
        let endpoint = main.unwrap_or_else(|| Endpoint::of(Wire::OpenaiChat));
        facts.endpoint = Some(Endpoint { base_url: Some(url), ..endpoint });
    }
    Ok(Some(facts))
}

/// The wire that we speak ourselves; nothing for the editor's.
fn wire(wire: ModelWire) -> Option<Wire> {
    match wire {
        ModelWire::Editor => None,
        ModelWire::OpenaiChat => Some(Wire::OpenaiChat),
        ModelWire::OpenaiResponses => Some(Wire::OpenaiResponses),
        ModelWire::Anthropic => Some(Wire::Anthropic),
        ModelWire::Ollama => Some(Wire::Ollama),
        ModelWire::Scripted => Some(Wire::Scripted),
    }
}

/// A model in force, as a client reads it.
pub(super) fn shown(model: &ModelFacts) -> Model {
    let endpoint = model.endpoint.as_ref();
    Model {
        name: model.name.clone(),
        wire: endpoint.map(|endpoint| wire_shown(endpoint.wire)),
        base_url: endpoint.and_then(|endpoint| endpoint.base_url.clone()),
        key_env: endpoint.and_then(|endpoint| endpoint.key_env.clone()),
        web_socket: endpoint.filter(|endpoint| endpoint.socket).map(|_| true),
        window: Some(model.window),
        max_output: model.max_output,
        tool_choice_none: Some(model.tool_choice_none),
        ..Model::default()
    }
}

fn wire_shown(wire: Wire) -> ModelWire {
    match wire {
        Wire::OpenaiChat => ModelWire::OpenaiChat,
        Wire::OpenaiResponses => ModelWire::OpenaiResponses,
        Wire::Anthropic => ModelWire::Anthropic,
        Wire::Ollama => ModelWire::Ollama,
        Wire::Scripted => ModelWire::Scripted,
    }
}

fn has_role(model: &Model, role: &str) -> bool {
    model.roles.as_ref().is_none_or(|roles| roles.iter().any(|known| known == role))
}

/// An address that can be shown and stored: what would give somebody else a key is no part of it.
fn address(field: &str, url: &str) -> Read<String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let is_plain = !host.is_empty() && !host.contains('@') && !url.contains(char::is_whitespace);
    let reason = "must be an http or https address without a user and a password";
    if is_plain { Ok(url.to_owned()) } else { Err(ProtocolError::invalid(field, reason)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_nobody_set_are_those_of_the_model_or_of_who_serves_it() {
        let of = |wire, name: &str| {
            let model = Model { wire: Some(wire), name: Some(name.to_owned()), ..Model::default() };
            let facts = facts(&model).unwrap();
            (facts.window, facts.max_output)
        };
        assert_eq!(of(ModelWire::OpenaiChat, "gpt-4"), (8_192, None), "no limit is told that nobody set");
        assert_eq!(of(ModelWire::OpenaiChat, "nobody-knows-it"), (DEFAULT_WINDOW, None));
        assert_eq!(of(ModelWire::Ollama, "llama3"), (16_384, None));
        assert_eq!(of(ModelWire::Ollama, "deepseek-r1:8b"), (16_384, None), "its maker's window is not here");
        let set = Model { window: Some(32_000), wire: Some(ModelWire::Ollama), ..Model::default() };
        assert_eq!(facts(&set).unwrap().window, 32_000);
    }
}
