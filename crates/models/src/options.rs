//! Validates the options of requests, once, where an endpoint is configured, and adds those to a request that are the
//! same on all wires.

use crate::address::{InvalidEndpoint, is_key_name};
use crate::wire::{Post, ThinkingSwitch, thinking_switch};
use engine::compact::secrets::looks_secret;
use engine::endpoint::options::{Effort, Fallbacks, HeaderValue, RequestOptions, Thinking};
use engine::endpoint::{Endpoint, Wire};
use reqwest::Url;
use reqwest::header::HeaderName;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Fields of bodies that carry the conversation, over any wire.
const OWN_FIELDS: &[&str] = &[
    "contents",
    "input",
    "instructions",
    "messages",
    "model",
    "stream",
    "system",
    "systemInstruction",
    "system_instruction",
    "tools",
];

/// Headers that belong to the transport.
const OWN_HEADERS: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Ends of fields' names that name a secret, without separators.
const SECRET_FIELDS: &[&str] =
    &["accesstoken", "apikey", "authorization", "authtoken", "credentials", "password", "secret"];

/// Words in names of values that are secrets.
const SECRET_WORDS: &[&str] = &[
    "apikey",
    "auth",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "jwt",
    "key",
    "password",
    "secret",
    "sig",
    "signature",
    "token",
];

/// The smallest prompt that Anthropic compacts, in tokens.
const LEAST_COMPACTED: u32 = 50_000;
/// The smallest budget of thinking that Anthropic accepts, in tokens.
pub(crate) const LEAST_BUDGET: u32 = 1024;

/// Validates the options of an endpoint and normalizes the names of headers.
///
/// # Errors
///
/// Fails with the first option that cannot be used. Values are left out: they may be secrets.
pub(crate) fn validated(endpoint: &Endpoint) -> Result<RequestOptions, InvalidEndpoint> {
    let options = &endpoint.options;
    let unfit = |part, reason: String| InvalidEndpoint { part, reason: reason.into() };
    let invalid = |part, reason| Err(unfit(part, reason));
    if let Some(reason) = options.effort.and_then(|effort| unfit_effort(endpoint.wire, effort)) {
        return invalid("effort", reason);
    }
    if let Some(reason) = options.thinking.and_then(|thinking| unfit_thinking(endpoint, thinking)) {
        return invalid("thinking", reason);
    }
    let is_both = options.effort.is_some() && !matches!(options.thinking, None | Some(Thinking::ADAPTIVE));
    if is_both && !matches!(endpoint.wire, Wire::Anthropic | Wire::Scripted) {
        let wire = endpoint.wire.name();
        return invalid(
            "thinking",
            format!("must be adaptive beside effort; {wire} has one parameter for both"),
        );
    }
    if options.cache_ttl.is_some() && !matches!(endpoint.wire, Wire::Anthropic | Wire::Scripted) {
        return invalid("cacheTtl", "needs the wire anthropic, whose cache marks have a lifetime".to_owned());
    }
    if options.manners.is_some() && !matches!(endpoint.wire, Wire::OpenaiChat | Wire::Scripted) {
        return invalid("manners", "needs the wire openai-chat".to_owned());
    }
    if let Some(reason) = unfit_fallbacks(endpoint) {
        return invalid("fallbacks", reason);
    }
    if let Some(reason) = unfit_compaction(endpoint) {
        return invalid("providerCompaction", reason);
    }
    if let Some(field) = options.extra_body.keys().find(|field| OWN_FIELDS.contains(&field.as_str())) {
        return invalid("extraBody", format!("must not contain {field}, which carries the conversation"));
    }
    if let Some((field, _)) = options.extra_body.iter().find(|(name, value)| is_secret_field(name, value)) {
        return invalid(
            "extraBody",
            format!("must not contain a key, which {field} looks like; use extraHeaders"),
        );
    }
    let mut headers = BTreeMap::new();
    for (name, value) in &options.extra_headers {
        let name = header(name, value).map_err(|reason| unfit("extraHeaders", reason))?;
        headers.insert(name, value.clone());
    }
    for (name, value) in &options.query {
        if let Some(reason) = unfit_parameter(name, value) {
            return invalid("query", reason);
        }
    }
    Ok(RequestOptions { extra_headers: headers, ..options.clone() })
}

/// The reason that a wire does not take this effort.
fn unfit_effort(wire: Wire, effort: Effort) -> Option<String> {
    use Effort::{High, Low, Max, Medium, Minimal, None, Xhigh};
    let taken: &[Effort] = match wire {
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Scripted => return Option::None,
        Wire::Anthropic => &[Low, Medium, High, Xhigh, Max],
        Wire::Gemini => &[Minimal, Low, Medium, High, Xhigh],
        Wire::Ollama => &[None, Low, Medium, High],
    };
    let words = || taken.iter().map(|effort| effort.name()).collect::<Vec<_>>().join(", ");
    let reason = || format!("must not be {}; {} takes {}", effort.name(), wire.name(), words());
    (!taken.contains(&effort)).then(reason)
}

/// The reason that the server of an endpoint does not take this thinking.
fn unfit_thinking(endpoint: &Endpoint, thinking: Thinking) -> Option<String> {
    let wire = endpoint.wire.name();
    match (endpoint.wire, thinking) {
        (_, Thinking::Budget(0)) => Some("must be at least 1 token; use off".to_owned()),
        (Wire::Anthropic, Thinking::Budget(tokens)) if tokens < LEAST_BUDGET => {
            Some(format!("must be at least {LEAST_BUDGET} tokens over {wire}"))
        }
        (Wire::Ollama | Wire::OpenaiResponses, Thinking::Budget(_)) => {
            Some(format!("must not be a number; {wire} takes off and adaptive, and an amount as effort"))
        }
        (Wire::OpenaiChat, thinking) => match (thinking_switch(endpoint), thinking) {
            (ThinkingSwitch::Unknown, _) => Some(
                "has no known field at this server; use manners, effort, or extraBody with the field"
                    .to_owned(),
            ),
            (ThinkingSwitch::Effort | ThinkingSwitch::Kind, Thinking::Budget(_)) => Some(
                "must not be a number; this server takes off and adaptive, and an amount as effort"
                    .to_owned(),
            ),
            _ => None,
        },
        _ => None,
    }
}

/// The reason that an endpoint does not take its fallbacks.
fn unfit_fallbacks(endpoint: &Endpoint) -> Option<String> {
    let fallbacks = endpoint.options.fallbacks.as_ref()?;
    if !matches!(endpoint.wire, Wire::Anthropic | Wire::Scripted) {
        return Some("needs the wire anthropic".to_owned());
    }
    let Fallbacks::Models(names) = fallbacks else { return None };
    let is_unfit = names.is_empty() || names.iter().any(String::is_empty);
    is_unfit.then(|| "must be default, or a list of names of models, none of them empty".to_owned())
}

/// The reason that an endpoint does not compact prompts at the given size.
fn unfit_compaction(endpoint: &Endpoint) -> Option<String> {
    let tokens = endpoint.options.provider_compaction?;
    let least = match endpoint.wire {
        Wire::Anthropic => LEAST_COMPACTED,
        Wire::OpenaiResponses | Wire::Scripted => 1,
        Wire::OpenaiChat | Wire::Gemini | Wire::Ollama => {
            return Some("needs the wire anthropic or openai-responses".to_owned());
        }
    };
    (tokens < least).then(|| format!("must be at least {least} tokens over {}", endpoint.wire.name()))
}

/// Validates a header. Returns its name in lower case, or the reason that it cannot be sent.
fn header(given: &str, value: &HeaderValue) -> Result<String, String> {
    let parsed = HeaderName::try_from(given).ok();
    let Some(name) = parsed else {
        return Err("has a name that is no name of an HTTP header".to_owned());
    };
    let name = name.as_str().to_owned();
    if OWN_HEADERS.contains(&name.as_str()) || name.starts_with("sec-") {
        return Err(format!("must not contain {name}, which belongs to the transport"));
    }
    match value {
        HeaderValue::Key { key_env } if is_key_name(key_env) => Ok(name),
        HeaderValue::Key { .. } => {
            Err(format!("needs the name of a key as keyEnv of {name}, never the key itself"))
        }
        HeaderValue::Text(text) => {
            let is_sent = reqwest::header::HeaderValue::from_str(text).is_ok();
            if is_secret_name(&name) || holds_secret_text(text) {
                return Err(format!("must not contain a key in {name}; name it as {{\"keyEnv\": \"NAME\"}}"));
            }
            if is_sent {
                Ok(name)
            } else {
                Err(format!("has characters in {name} that no HTTP header can have"))
            }
        }
    }
}

/// The reason that a parameter cannot be added to a URL.
fn unfit_parameter(name: &str, value: &str) -> Option<String> {
    if name.is_empty() {
        return Some("has a parameter without a name".to_owned());
    }
    if name == "alt" {
        return Some("must not contain alt, which selects the form of the stream".to_owned());
    }
    let is_secret = is_secret_name(name) || holds_secret_text(value);
    is_secret.then(|| "must not contain a key, because URLs are written to logs; use extraHeaders".to_owned())
}

/// Returns `true` if a value of this name is, or looks like, a key.
pub fn is_secret(name: &str, value: &str) -> bool {
    is_secret_name(name) || holds_secret_text(value)
}

fn is_secret_name(name: &str) -> bool {
    words(name).iter().any(|word| SECRET_WORDS.contains(&word.as_str()))
}

/// The words of a name in snake, kebab or camel case, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let begins = c.is_ascii_uppercase() && was_lower;
        if begins || !c.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        was_lower = c.is_ascii_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
    }
    words
}

/// `true` for a field of a body that names or holds a secret. A key may also be that of a cache.
fn is_secret_field(name: &str, value: &Value) -> bool {
    let words = words(name).concat();
    SECRET_FIELDS.iter().any(|field| words.ends_with(field)) || holds_secret(value)
}

fn holds_secret_text(text: &str) -> bool {
    let scheme = text.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    let has_scheme = matches!(&*scheme, "bearer" | "basic");
    has_scheme || text.split_whitespace().any(looks_secret)
}

fn holds_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => holds_secret_text(text),
        Value::Array(values) => values.iter().any(holds_secret),
        Value::Object(fields) => fields.iter().any(|(name, value)| is_secret_field(name, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Adds the extra fields to a body, and the parameters to its path.
pub(crate) fn extended(mut post: Post, options: &RequestOptions) -> Post {
    if let Value::Object(body) = &mut post.body {
        merge(body, &options.extra_body);
    }
    if !options.query.is_empty() {
        post.path = Cow::Owned(with_query(&post.path, options));
    }
    post
}

/// Adds the parameters of the options to a path.
pub(crate) fn with_query(path: &str, options: &RequestOptions) -> String {
    with_parameters(path, options.query.iter())
}

/// Adds these parameters to a path.
pub(crate) fn with_parameters<T: AsRef<str>>(path: &str, parameters: impl Iterator<Item = (T, T)>) -> String {
    let parameters: Vec<(T, T)> = parameters.collect();
    if parameters.is_empty() {
        return path.to_owned();
    }
    // Only the query is of use: any address will do.
    let url = Url::parse_with_params("http://localhost/", parameters).ok();
    let query = url.as_ref().and_then(Url::query).unwrap_or_default();
    let joint = if path.contains('?') { '&' } else { '?' };
    format!("{path}{joint}{query}")
}

/// Merges objects deeply; other values replace, and null removes a field.
fn merge(body: &mut Map<String, Value>, extra: &Map<String, Value>) {
    for (field, value) in extra {
        match (body.get_mut(field), value) {
            (_, Value::Null) => drop(body.shift_remove(field)),
            (Some(Value::Object(known)), Value::Object(more)) => merge(known, more),
            (Some(known), value) => *known = value.clone(),
            (None, value) => drop(body.insert(field.clone(), value.clone())),
        }
    }
}
