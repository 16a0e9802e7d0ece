//! `--model WIRE:NAME`, as every command takes it: parsing, and one wording of errors.

use super::Failure;
use clap::Args;
use engine::endpoint::{Endpoint, Wire};
use engine::text::distance;
use models::address;
use protocol::settings::GivenSettings;
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Flags that name a model.
#[derive(Debug, Default, Args)]
pub(super) struct ModelFlags {
    /// The model: anthropic:NAME, openai-chat:NAME, openai-responses:NAME, gemini:NAME, ollama:NAME or scripted[:FILE]; without it
    /// the model of the settings
    #[arg(long, value_name = "WIRE:NAME")]
    model: Option<String>,
    /// The model's base URL, instead of its provider's
    #[arg(long, value_name = "URL", requires = "model")]
    base_url: Option<String>,
    /// The environment variable that holds the API key, instead of the provider's usual one
    #[arg(long, value_name = "NAME", requires = "model")]
    key_env: Option<String>,
}

impl ModelFlags {
    /// The model, if one is named.
    pub fn named(&self) -> Result<Option<Named>, Failure> {
        let named = |model: &String| Named::read(model, self.base_url.as_deref(), self.key_env.as_deref());
        self.model.as_ref().map(named).transpose()
    }
}

/// The model that flags name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// The model's name; `None` for a scripted one.
    pub name: Option<String>,
    /// The address to ask.
    pub endpoint: Endpoint,
}

impl Named {
    /// Parses the flags. After `scripted`, a file may follow; every other wire needs a name.
    pub fn read(model: &str, base_url: Option<&str>, key_env: Option<&str>) -> Result<Self, Failure> {
        let bad = |reason: String| Failure::Model { name: model.to_owned(), reason };
        let (wire, name) = model.split_once(':').unwrap_or((model, ""));
        let name = Some(name.to_owned()).filter(|name| !name.is_empty());
        let Some(known) = Wire::named(wire) else {
            let wires = Wire::ALL.map(|(name, _)| name);
            let near =
                wires.iter().min_by_key(|name| distance(name, wire)).filter(|name| distance(name, wire) < 4);
            let near = near.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            return Err(bad(format!(
                "expected WIRE:NAME, such as openai-chat:gpt-4o; wires are {}{near}",
                wires.join(", ")
            )));
        };
        let endpoint = Endpoint {
            base_url: base_url.map(str::to_owned),
            key_env: key_env.map(str::to_owned),
            ..Endpoint::of(known)
        };
        let mut endpoint = address::endpoint(endpoint).map_err(|unfit| bad(unfit.to_string()))?;
        match (known, name) {
            (Wire::Scripted, file) => {
                let file = file.map(std::path::absolute).transpose();
                let file = file.map_err(|error| bad(format!("invalid path of the file: {error}")))?;
                // A later request may come from another working directory.
                endpoint.base_url =
                    file.map(|file: PathBuf| file.display().to_string()).or(endpoint.base_url);
                Ok(Self { name: None, endpoint })
            }
            (_, None) => Err(bad(format!("the model's name is missing: {wire}:NAME"))),
            (_, name) => Ok(Self { name, endpoint }),
        }
    }

    /// This model at the address and with the key of another one over the same wire, unless it has its own.
    pub fn beside(mut self, other: Option<&Self>) -> Self {
        if let Some(other) = other.filter(|other| other.endpoint.wire == self.endpoint.wire) {
            let Endpoint { base_url, key_env, .. } = &other.endpoint;
            self.endpoint.base_url = self.endpoint.base_url.or_else(|| base_url.clone());
            self.endpoint.key_env = self.endpoint.key_env.or_else(|| key_env.clone());
        }
        self
    }

    /// The model as `--model` names it.
    pub fn id(&self) -> String {
        id(self.endpoint.wire.name(), self.name.as_deref().or(self.endpoint.base_url.as_deref()))
    }

    /// The setting `model` as the values of `--set`.
    pub fn flags(&self) -> Vec<String> {
        let said = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.setting().iter().map(|(part, value)| format!("model.{part}={}", said(value))).collect()
    }

    /// Settings that have nothing but the setting `model`.
    pub fn settings(&self) -> GivenSettings {
        GivenSettings(Map::from_iter([("model".to_owned(), Value::Object(self.setting()))]))
    }

    /// The flags as the setting `model`.
    pub fn setting(&self) -> Map<String, Value> {
        let Endpoint { wire, base_url, key_env, .. } = &self.endpoint;
        let parts = [
            ("wire", Some(wire.name())),
            ("name", self.name.as_deref()),
            ("baseUrl", base_url.as_deref()),
            ("keyEnv", key_env.as_deref()),
        ];
        let set = parts.into_iter().filter_map(|(part, value)| Some((part.to_owned(), Value::from(value?))));
        set.collect()
    }
}

/// A model as `--model` names it. A scripted one has the path of its file for a name.
pub(super) fn id(wire: &str, name: Option<&str>) -> String {
    name.map_or_else(|| wire.to_owned(), |name| format!("{wire}:{name}"))
}
