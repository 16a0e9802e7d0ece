//! Where a model is asked, as settings say it: data that belongs to a session and is stored with it. Never a key, only the
//! name under which one is found; and no asking, which is `models`'s.

use serde::{Deserialize, Serialize};

/// Tokens of the window that is assumed for a model of which nothing is known.
pub const DEFAULT_WINDOW: u32 = 128_000;

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// Chat Completions: OpenAI, OpenRouter, DeepSeek, Copilot, vLLM, llama-server, LM Studio.
    OpenaiChat,
    /// Responses of OpenAI.
    OpenaiResponses,
    /// Messages of Anthropic.
    Anthropic,
    /// The native chat of Ollama.
    Ollama,
    /// A fixture in place of a provider; the base URL is the file's path, the one that is built in where there is none.
    Scripted,
}

/// Where a model is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// How.
    pub wire: Wire,
    /// The address, without a secret; the provider's own where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The name of the key: an environment variable, or one that the client gave. Where it is missing, the wire's usual one
    /// at the provider's own address, and none elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// Whether answers come over a WebSocket; `openai-responses` alone has one.
    #[serde(default)]
    pub socket: bool,
}

impl Wire {
    /// All of them, with their names in settings.
    pub const ALL: [(&'static str, Self); 5] = [
        ("openai-chat", Self::OpenaiChat),
        ("openai-responses", Self::OpenaiResponses),
        ("anthropic", Self::Anthropic),
        ("ollama", Self::Ollama),
        ("scripted", Self::Scripted),
    ];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, wire)| *wire == self).map_or("", |(name, _)| name)
    }

    /// The wire of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, wire)| *wire)
    }

    /// Where the provider is asked if nobody says where.
    pub fn usual_url(self) -> &'static str {
        match self {
            Self::OpenaiChat | Self::OpenaiResponses => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::Ollama => "http://127.0.0.1:11434",
            Self::Scripted => "",
        }
    }

    /// The window of a model of which nothing is said, in tokens. A window of Ollama's is memory of the machine that it
    /// runs on, taken before the first word.
    pub fn usual_window(self) -> u32 {
        match self {
            Self::Ollama => 16_384,
            Self::OpenaiChat | Self::OpenaiResponses | Self::Anthropic | Self::Scripted => DEFAULT_WINDOW,
        }
    }

    /// The variable that holds the key if nobody says which; nothing where none is needed.
    pub(crate) fn usual_key(self) -> Option<&'static str> {
        match self {
            Self::OpenaiChat | Self::OpenaiResponses => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Ollama | Self::Scripted => None,
        }
    }
}

impl Endpoint {
    /// A wire where its provider is.
    pub fn of(wire: Wire) -> Self {
        Self { wire, base_url: None, key_env: None, socket: false }
    }

    /// The address, without a slash at its end.
    pub fn url(&self) -> &str {
        self.base_url.as_deref().unwrap_or(self.wire.usual_url()).trim_end_matches('/')
    }

    /// Whether its wire's own provider is asked. Only what is spelled as that is, so who looks like it is not.
    pub fn is_usual(&self) -> bool {
        origin(self.url()) == origin(self.wire.usual_url())
    }

    /// The name of the key. The usual one is its provider's and goes to nobody else: whoever listens at another address,
    /// on this machine too, gets the key that was named for it.
    pub fn key_name(&self) -> Option<&str> {
        self.key_env.as_deref().or_else(|| self.wire.usual_key().filter(|_| self.is_usual()))
    }

    /// Whether both are asked at one place, whatever stands behind it.
    pub fn is_at(&self, other: &Self) -> bool {
        origin(self.url()) == origin(other.url())
    }
}

/// Who an address belongs to: all of it before its path.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |scheme| scheme + "://".len());
    let end = url.get(host..).and_then(|rest| rest.find('/')).map_or(url.len(), |end| host + end);
    url.get(..end).unwrap_or(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_key_goes_to_its_provider_alone() {
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
