//! Model endpoints as configured: data that belongs to a session and is stored with it. Holds the name of a
//! key, never the key. The crate `models` sends the requests.

pub mod options;

use options::RequestOptions;
use serde::{Deserialize, Serialize};

/// The context window assumed for an unknown model, in tokens.
pub const DEFAULT_WINDOW: u32 = 128_000;

/// The wire format of a provider's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// Chat Completions: OpenAI, OpenRouter, DeepSeek, Copilot, vLLM, llama-server, LM Studio.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini's `generateContent`, at Google's API or Vertex AI.
    Gemini,
    /// Ollama's native chat API.
    Ollama,
    /// A fixture instead of a provider; the base URL is the file's path, or the built-in fixture if there is none.
    Scripted,
}

/// The address and wire format of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// The wire format.
    pub wire: Wire,
    /// The base URL, without a secret; `None` for the provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The name of the key: an environment variable, or a key that the client supplied. If `None`, the wire's
    /// default name at the provider's own address, and no key elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// `true` to receive answers over a WebSocket; only `openai-responses` supports it.
    #[serde(default)]
    pub socket: bool,
    /// Options of the requests.
    #[serde(default, skip_serializing_if = "RequestOptions::is_empty")]
    pub options: RequestOptions,
}

impl Wire {
    /// All wires with their names in settings.
    pub const ALL: [(&'static str, Self); 6] = [
        ("openai-chat", Self::OpenaiChat),
        ("openai-responses", Self::OpenaiResponses),
        ("anthropic", Self::Anthropic),
        ("gemini", Self::Gemini),
        ("ollama", Self::Ollama),
        ("scripted", Self::Scripted),
    ];

    /// Returns the name in settings.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, wire)| *wire == self).map_or("", |(name, _)| name)
    }

    /// Finds a wire by its name in settings.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, wire)| *wire)
    }

    /// Returns the provider's own base URL.
    pub fn usual_url(self) -> &'static str {
        match self {
            Self::OpenaiChat | Self::OpenaiResponses => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta",
            Self::Ollama => "http://127.0.0.1:11434",
            Self::Scripted => "",
        }
    }

    /// Returns the window assumed for an unknown model, in tokens. Ollama allocates the whole window in
    /// memory when it loads a model, so its default is small.
    pub fn usual_window(self) -> u32 {
        match self {
            Self::Ollama => 16_384,
            Self::OpenaiChat | Self::OpenaiResponses | Self::Anthropic | Self::Gemini | Self::Scripted => {
                DEFAULT_WINDOW
            }
        }
    }

    /// The environment variable with the key by default; `None` if no key is needed.
    pub(crate) fn usual_key(self) -> Option<&'static str> {
        match self {
            Self::OpenaiChat | Self::OpenaiResponses => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::Ollama | Self::Scripted => None,
        }
    }
}

impl Endpoint {
    /// Creates an endpoint at the provider's own address.
    pub fn of(wire: Wire) -> Self {
        Self { wire, base_url: None, key_env: None, socket: false, options: RequestOptions::default() }
    }

    /// Returns the base URL without trailing slashes.
    pub fn url(&self) -> &str {
        self.base_url.as_deref().unwrap_or(self.wire.usual_url()).trim_end_matches('/')
    }

    /// `true` if the endpoint is at its wire's own provider. Compared as text, so no lookalike host passes.
    pub fn is_usual(&self) -> bool {
        origin(self.url()) == origin(self.wire.usual_url())
    }

    /// Returns the name of the key. The default key goes only to its own provider: any other address, also on
    /// this machine, receives only a key named for it.
    pub fn key_name(&self) -> Option<&str> {
        self.key_env.as_deref().or_else(|| self.wire.usual_key().filter(|_| self.is_usual()))
    }

    /// `true` if both endpoints have the same origin, whatever their paths.
    pub fn is_at(&self, other: &Self) -> bool {
        origin(self.url()) == origin(other.url())
    }
}

/// The scheme, host and port of a URL: everything before the path.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |scheme| scheme + "://".len());
    let end = url.get(host..).and_then(|rest| rest.find('/')).map_or(url.len(), |end| host + end);
    url.get(..end).unwrap_or(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_key_goes_only_to_its_own_provider() {
        let key = |wire, url: &str| {
            let endpoint = Endpoint { base_url: Some(url.to_owned()), ..Endpoint::of(wire) };
            endpoint.key_name().map(str::to_owned)
        };
        assert_eq!(Endpoint::of(Wire::Anthropic).key_name(), Some("ANTHROPIC_API_KEY"));
        for url in ["https://api.openai.com", "https://api.openai.com/", "https://api.openai.com/v2"] {
            assert_eq!(key(Wire::OpenaiChat, url).as_deref(), Some("OPENAI_API_KEY"), "{url}");
        }
        for url in [
            "http://api.openai.com/v1",
            "https://api.openai.com:8443/v1",
            "https://api.openai.com.example/v1",
            "https://api.openai.com@models.example/v1",
            "http://127.0.0.1:8080/v1",
            "https://api.anthropic.com/v1",
        ] {
            assert_eq!(key(Wire::OpenaiChat, url), None, "{url}");
        }
        let named = Endpoint {
            base_url: Some("https://models.example".to_owned()),
            key_env: Some("MINE".to_owned()),
            ..Endpoint::of(Wire::OpenaiChat)
        };
        assert_eq!(named.key_name(), Some("MINE"));
    }
}
