//! Validates and normalizes endpoints as users write them, for settings and the command line alike. Nothing
//! is sent here.

use super::{ModelError, options};
use engine::compact::secrets::looks_secret;
use engine::endpoint::{Endpoint, Wire};
use engine::prompt::request::Failure;
use reqwest::Url;
use std::borrow::Cow;
use thiserror::Error;

/// A rejected part of an endpoint. The rejected text is left out: it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{part} {reason}")]
pub struct InvalidEndpoint {
    /// The field of the setting `model`.
    pub part: &'static str,
    /// The requirement that it does not meet.
    pub reason: Cow<'static, str>,
}

const NO_ADDRESS: &str = "must be an http or https address without user, password, query and fragment";
const NO_KEY_NAME: &str = "must be the name of a key, such as OPENAI_API_KEY, and never the key itself: letters, \
                           digits and underscores";
const NO_SOCKET: &str = "must be false; only the wire openai-responses has a WebSocket";

/// Paths that users copy along and that the wire appends itself. A longer one precedes its own suffixes.
const ENDINGS: &[(&[Wire], &str)] = &[
    (&[Wire::OpenaiChat, Wire::OpenaiResponses], "/chat/completions"),
    (&[Wire::OpenaiChat, Wire::OpenaiResponses], "/responses"),
    (&[Wire::Anthropic], "/messages"),
    (&[Wire::Gemini], "/models"),
    (&[Wire::Ollama], "/v1/chat/completions"),
    (&[Wire::Ollama], "/v1"),
    (&[Wire::Ollama], "/api/chat"),
    (&[Wire::Ollama], "/api"),
];

/// Validates an endpoint and normalizes its address.
///
/// # Errors
///
/// Fails with the first part that cannot be used.
pub fn endpoint(given: Endpoint) -> Result<Endpoint, InvalidEndpoint> {
    if !given.key_env.as_deref().is_none_or(is_key_name) {
        return Err(InvalidEndpoint { part: "keyEnv", reason: NO_KEY_NAME.into() });
    }
    if given.socket && given.wire != Wire::OpenaiResponses {
        return Err(InvalidEndpoint { part: "webSocket", reason: NO_SOCKET.into() });
    }
    let base_url = match given.base_url {
        // A file's path, not an address.
        Some(file) if given.wire == Wire::Scripted => Some(file),
        Some(url) => {
            let unfit = InvalidEndpoint { part: "baseUrl", reason: NO_ADDRESS.into() };
            Some(base_url(given.wire, &url).ok_or(unfit)?)
        }
        None => None,
    };
    let endpoint = Endpoint { base_url, ..given };
    let options = options::validated(&endpoint)?;
    Ok(Endpoint { options, ..endpoint })
}

/// `true` if this can be the name of a key and does not look like a key.
pub fn is_key_name(name: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty()
        && name.chars().all(is_of_name)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !looks_secret(name)
}

/// Normalizes an address to the base of the wire's paths. Returns `None` if it cannot be used.
fn base_url(wire: Wire, text: &str) -> Option<String> {
    if text.contains(char::is_whitespace) {
        return None;
    }
    let mut url = Url::parse(text).ok()?;
    // A WebSocket handshake is an HTTP request.
    match url.scheme() {
        "ws" => url.set_scheme("http").ok()?,
        "wss" => url.set_scheme("https").ok()?,
        _ => {}
    }
    let is_plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if !is_plain {
        return None;
    }
    let path = url.path().trim_end_matches('/');
    let mut endings = ENDINGS.iter().filter(|(wires, _)| wires.contains(&wire));
    let path = endings.find_map(|(_, ending)| path.strip_suffix(ending)).unwrap_or(path);
    let origin = url.origin().ascii_serialization();
    let more = match wire {
        // Clients of this wire append `/v1` themselves, and providers document addresses without it.
        Wire::Anthropic if url.host_str().is_some_and(is_vertex_host) => "",
        Wire::Anthropic if path.is_empty() || path.ends_with("/anthropic") => "/v1",
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Gemini if path.is_empty() => {
            wire.usual_url().strip_prefix(&*origin).unwrap_or_default()
        }
        _ => "",
    };
    Some(format!("{origin}{path}{more}"))
}

/// `true` if the endpoint is on this machine (a loopback address or `localhost`).
pub(crate) fn is_local(endpoint: &Endpoint) -> bool {
    let Ok(url) = Url::parse(endpoint.url()) else { return false };
    let Some(host) = url.host_str() else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    match address {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Returns the host of an endpoint, with its port if that is not the scheme's.
pub(crate) fn host(endpoint: &Endpoint) -> String {
    let url = Url::parse(endpoint.url()).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default().to_owned();
    match url.as_ref().and_then(Url::port) {
        Some(port) => format!("{host}:{port}"),
        None => host,
    }
}

/// `true` if the endpoint is at Google's Vertex AI.
pub(crate) fn is_vertex(endpoint: &Endpoint) -> bool {
    let url = Url::parse(endpoint.url()).ok();
    url.as_ref().and_then(Url::host_str).is_some_and(is_vertex_host)
}

fn is_vertex_host(host: &str) -> bool {
    const HOST: &str = "aiplatform.googleapis.com";
    // Of a region, and of several, such as `aiplatform.eu.rep.googleapis.com`.
    let is_regional = host.strip_suffix(HOST).is_some_and(|region| region.ends_with('-'));
    let is_of_several = host.starts_with("aiplatform.") && host.ends_with(".rep.googleapis.com");
    host == HOST || is_regional || is_of_several
}

/// Returns the header that carries the key of an endpoint, with its value. The clouds that serve models of others take a
/// bearer token over every wire.
pub(crate) fn key_header(endpoint: &Endpoint, key: &str) -> (&'static str, String) {
    let is_cloud = is_vertex(endpoint) || is_bedrock(endpoint);
    match endpoint.wire {
        Wire::Anthropic if !is_cloud => ("x-api-key", key.to_owned()),
        Wire::Gemini if !is_cloud => ("x-goog-api-key", key.to_owned()),
        _ => ("authorization", format!("Bearer {key}")),
    }
}

/// `true` if the endpoint is at Amazon Bedrock.
pub(crate) fn is_bedrock(endpoint: &Endpoint) -> bool {
    let url = Url::parse(endpoint.url()).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let is_amazon = [".amazonaws.com", ".amazonaws.com.cn", ".api.aws"].iter().any(|end| host.ends_with(end));
    host.starts_with("bedrock") && is_amazon
}

/// Advice for a provider's 404.
pub fn of_nothing_there(wire: Wire) -> String {
    format!(
        "check the model's name as its provider spells it, and the address: for {} it ends before {}",
        wire.name(),
        path(wire)
    )
}

/// Converts an error to a failure, with advice for a 404, a 405 and a key that is not configured.
pub fn advised(error: ModelError, endpoint: &Endpoint) -> Failure {
    let advice = match &error {
        ModelError::BadRequest { status: Some(404 | 405), .. } => {
            Some(format!("unknown model or address; {}", of_nothing_there(endpoint.wire)))
        }
        ModelError::Auth { .. } if endpoint.key_name().is_none() => {
            Some("no key was sent: model.keyEnv names none for this address".to_owned())
        }
        _ => None,
    };
    let failure = Failure::from(error);
    match advice {
        Some(advice) => Failure { why: format!("{}; {advice}", failure.why), ..failure },
        None => failure,
    }
}

/// The path that a wire appends to its address.
pub(crate) fn path(wire: Wire) -> &'static str {
    match wire {
        Wire::OpenaiChat => "/chat/completions",
        Wire::OpenaiResponses => "/responses",
        Wire::Anthropic => "/messages",
        Wire::Gemini => "/models",
        Wire::Ollama => "/api/chat",
        Wire::Scripted => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(wire: Wire, url: &str) -> Result<String, InvalidEndpoint> {
        let given = Endpoint { base_url: Some(url.to_owned()), ..Endpoint::of(wire) };
        endpoint(given).map(|endpoint| endpoint.url().to_owned())
    }

    #[test]
    fn common_addresses_are_normalized_for_their_wire() {
        use Wire::{Anthropic, Gemini, Ollama, OpenaiChat, OpenaiResponses};
        for (wire, given, used) in [
            (OpenaiChat, "https://models.example/v1", "https://models.example/v1"),
            (OpenaiChat, "HTTPS://Models.example:443/v1//", "https://models.example/v1"),
            (OpenaiChat, "http://127.0.0.1:8080/v1/chat/completions/", "http://127.0.0.1:8080/v1"),
            (OpenaiChat, "http://[::1]:8080", "http://[::1]:8080"),
            (OpenaiChat, "https://api.openai.com", "https://api.openai.com/v1"),
            (OpenaiChat, "https://models.example/v1/responses", "https://models.example/v1"),
            (OpenaiResponses, "https://api.openai.com/v1/responses", "https://api.openai.com/v1"),
            (OpenaiResponses, "wss://models.example/v1", "https://models.example/v1"),
            (Anthropic, "https://api.anthropic.com", "https://api.anthropic.com/v1"),
            (Anthropic, "https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1"),
            (Anthropic, "https://models.example/anthropic/", "https://models.example/anthropic/v1"),
            (Anthropic, "https://models.example/gate", "https://models.example/gate"),
            (
                Anthropic,
                "https://bedrock-runtime.us-east-1.amazonaws.com/anthropic",
                "https://bedrock-runtime.us-east-1.amazonaws.com/anthropic/v1",
            ),
            (
                Anthropic,
                "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu/publishers/anthropic/",
                "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu/publishers/anthropic",
            ),
            (
                Gemini,
                "https://generativelanguage.googleapis.com",
                "https://generativelanguage.googleapis.com/v1beta",
            ),
            (
                Gemini,
                "https://generativelanguage.googleapis.com/v1beta/models/",
                "https://generativelanguage.googleapis.com/v1beta",
            ),
            (Gemini, "https://models.example/publishers/google", "https://models.example/publishers/google"),
            (Ollama, "http://localhost:11434/v1", "http://localhost:11434"),
            (Ollama, "http://localhost:11434/v1/chat/completions", "http://localhost:11434"),
            (Ollama, "http://localhost:11434/api/chat", "http://localhost:11434"),
            (Ollama, "http://localhost:11434/api", "http://localhost:11434"),
            (Wire::Scripted, "a file.json", "a file.json"),
        ] {
            assert_eq!(at(wire, given), Ok(used.to_owned()), "{given}");
            assert_eq!(at(wire, used), Ok(used.to_owned()), "{used} is read again");
        }
    }

    #[test]
    fn unusable_and_secret_addresses_are_rejected() {
        for url in [
            "",
            "models.example",
            "localhost:8080/v1",
            "ftp://models.example",
            "http://",
            "http://[bad",
            "http://models.example:99999/v1",
            "https://models.example/v1?key=planted",
            "https://models.example/v1?",
            "https://models.example/v1#planted",
            "https://me@models.example/v1",
            "https://me:planted@models.example/v1",
            "https://models.example/v 1",
            "https://models.example/v1\n",
        ] {
            assert_eq!(at(Wire::OpenaiChat, url).map_err(|unfit| unfit.part), Err("baseUrl"), "{url:?}");
        }
    }

    #[test]
    fn a_key_in_the_place_of_its_name_is_refused() {
        let named = |name: &str| {
            let given = Endpoint { key_env: Some(name.to_owned()), ..Endpoint::of(Wire::OpenaiChat) };
            endpoint(given).map_err(|unfit| unfit.part).map(drop)
        };
        for name in ["OPENAI_API_KEY", "_key", "Key2"] {
            assert_eq!(named(name), Ok(()), "{name}");
        }
        for name in [
            "",
            "2KEY",
            "A KEY",
            "sk-planted-1",
            "gsk_planted1",
            "hf_planted1",
            "AbCdEf0123456789AbCdEf01",
            "ключ",
        ] {
            assert_eq!(named(name), Err("keyEnv"), "{name}");
        }
    }

    #[test]
    fn a_socket_belongs_to_its_wire() {
        for (_, wire) in Wire::ALL {
            let is_taken = endpoint(Endpoint { socket: true, ..Endpoint::of(wire) }).is_ok();
            assert_eq!(is_taken, wire == Wire::OpenaiResponses, "{}", wire.name());
        }
    }

    #[test]
    fn clouds_take_the_key_as_a_bearer_token() {
        use Wire::{Anthropic, Gemini, OpenaiChat, OpenaiResponses};
        for (wire, url, header) in [
            (Anthropic, "https://api.anthropic.com/v1", "x-api-key: k"),
            (Anthropic, "https://models.example/bedrock", "x-api-key: k"),
            (Anthropic, "https://bedrock.example.org/anthropic/v1", "x-api-key: k"),
            (
                Anthropic,
                "https://bedrock-runtime.eu-west-1.amazonaws.com/anthropic/v1",
                "authorization: Bearer k",
            ),
            (
                Anthropic,
                "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/anthropic",
                "authorization: Bearer k",
            ),
            (Anthropic, "https://bedrock-mantle.eu-west-1.api.aws/anthropic/v1", "authorization: Bearer k"),
            (Anthropic, "https://us-east5-aiplatform.googleapis.com/v1/p", "authorization: Bearer k"),
            (Anthropic, "https://aiplatform.eu.rep.googleapis.com/v1/p", "authorization: Bearer k"),
            (Anthropic, "https://aiplatform.googleapis.com.example/v1", "x-api-key: k"),
            (Gemini, "https://generativelanguage.googleapis.com/v1beta", "x-goog-api-key: k"),
            (Gemini, "https://aiplatform.googleapis.com/v1/p", "authorization: Bearer k"),
            (OpenaiChat, "https://models.example/v1", "authorization: Bearer k"),
            (
                OpenaiResponses,
                "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1",
                "authorization: Bearer k",
            ),
        ] {
            let endpoint = Endpoint { base_url: Some(url.to_owned()), ..Endpoint::of(wire) };
            let (name, value) = key_header(&endpoint, "k");
            assert_eq!(format!("{name}: {value}"), header, "{url}");
        }
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
        let local =
            |url: &str| is_local(&Endpoint { base_url: Some(url.into()), ..Endpoint::of(Wire::OpenaiChat) });
        for url in ["http://localhost:1/v1", "http://a.localhost", "http://127.0.0.2:8080", "http://[::1]:1"]
        {
            assert!(local(url), "{url}");
        }
        for url in ["https://localhost.example", "http://128.0.0.1", "http://[::2]", "no address"] {
            assert!(!local(url), "{url}");
        }
        assert!(is_local(&Endpoint::of(Wire::Ollama)) && !is_local(&Endpoint::of(Wire::Anthropic)));
    }
}
