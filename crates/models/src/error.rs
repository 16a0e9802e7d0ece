//! Classes of model errors, and how one is derived from a status, headers and a body. Callers act on the
//! class, never on the wording; retries and compaction are decided elsewhere.

use super::excerpt::{excerpt, without_key};
use super::overflow;
use engine::prompt::request::{Cause, Failure, Overflow};
use serde_json::Value;
use std::time::Duration;
use thiserror::Error;

/// The longest excerpt of a provider's own message, in bytes.
const MOST_REASON: usize = 600;

/// An error of a model call.
///
/// A `reason` is the provider's text and is shown to people; the code that fills it in removes keys.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ModelError {
    /// The provider reports that the request exceeds its limit. The session decides whether to believe it.
    #[error("the request is larger than the model's window")]
    ContextOverflow {
        /// The part that is too large, with the numbers that the provider stated.
        overflow: Overflow,
        /// The HTTP status, if there was one.
        status: Option<u16>,
        /// The provider's message.
        reason: String,
    },
    /// A single request exceeds the rate limit's tokens per period: only a smaller request helps, not
    /// waiting.
    #[error("the request alone exceeds the model's rate limit")]
    TooLargeForRate {
        /// The limit per period, in tokens.
        limit: Option<u32>,
        /// The size of the request, in tokens.
        needed: Option<u32>,
    },
    /// Too many requests or tokens in a period.
    #[error("the model's rate limit is reached: {reason}")]
    RateLimited {
        /// The HTTP status, if there was one.
        status: Option<u16>,
        /// The provider's requested delay before a retry, in milliseconds.
        retry_after_ms: Option<u64>,
        /// The provider's message.
        reason: String,
    },
    /// The account's quota is used up; a retry does not help.
    #[error("the model's account has no quota left: {reason}")]
    Quota {
        /// The HTTP status, if there was one.
        status: Option<u16>,
        /// The provider's message.
        reason: String,
    },
    /// The provider is out of capacity, or failed.
    #[error("the model's provider is overloaded: {reason}")]
    Overloaded {
        /// The HTTP status, if there was one.
        status: Option<u16>,
        /// The provider's requested delay before a retry, in milliseconds.
        retry_after_ms: Option<u64>,
        /// The provider's message.
        reason: String,
    },
    /// The key is missing, wrong or lacks the permission.
    #[error("the model's key was not accepted: {reason}")]
    Auth {
        /// The HTTP status, if there was one.
        status: Option<u16>,
        /// The provider's message.
        reason: String,
    },
    /// No data came within the deadline. The provider may still be working on the request, so it is not
    /// retried.
    #[error("the model could not be reached: it sent nothing for {} s; modelDeadlineMs sets this deadline", waited.as_secs())]
    Silent {
        /// The deadline that passed.
        waited: Duration,
    },
    /// The connection could not be opened, or broke.
    #[error("the model could not be reached: {reason}")]
    Network {
        /// The chain of underlying errors.
        reason: String,
    },
    /// The provider refused this request. A model that refuses in its own words gives an answer with
    /// [`StopReason::Refused`](engine::prompt::request::StopReason::Refused).
    #[error("the model's provider refused the request: {reason}")]
    Refused {
        /// The HTTP status, if there was one.
        status: Option<u16>,
        /// The provider's message.
        reason: String,
    },
    /// The caller cancelled the call.
    #[error("the call was cancelled")]
    Cancelled,
    /// The answer could not be parsed.
    #[error("the model's answer could not be read: {reason}")]
    CorruptStream {
        /// The defect of the stream.
        reason: String,
    },
    /// The provider rejected the request as invalid; a retry does not help.
    #[error("the model's provider did not accept the request: {reason}")]
    BadRequest {
        /// The HTTP status, if there was one.
        status: Option<u16>,
        /// The provider's message.
        reason: String,
    },
}

impl ModelError {
    /// The class, as the protocol names it.
    pub fn class(&self) -> &'static str {
        match self {
            Self::ContextOverflow { .. } => "contextOverflow",
            Self::TooLargeForRate { .. } => "tooLargeForRate",
            Self::RateLimited { .. } => "rateLimited",
            Self::Quota { .. } => "quota",
            Self::Overloaded { .. } => "overloaded",
            Self::Auth { .. } => "auth",
            Self::Network { .. } | Self::Silent { .. } => "network",
            Self::Refused { .. } => "refused",
            Self::Cancelled => "cancelled",
            Self::CorruptStream { .. } => "corruptStream",
            Self::BadRequest { .. } => "badRequest",
        }
    }

    /// `true` if a retry may help.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Overloaded { .. } | Self::Network { .. })
    }

    /// Hides the key in the reason: a provider may repeat it, whole or in part.
    #[must_use]
    pub fn without(mut self, key: &str) -> Self {
        if let Some(reason) = self.reason_mut() {
            *reason = without_key(reason, key);
        }
        self
    }

    fn reason_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::RateLimited { reason, .. }
            | Self::Quota { reason, .. }
            | Self::Overloaded { reason, .. }
            | Self::Auth { reason, .. }
            | Self::Network { reason }
            | Self::Refused { reason, .. }
            | Self::CorruptStream { reason }
            | Self::ContextOverflow { reason, .. }
            | Self::BadRequest { reason, .. } => Some(reason),
            Self::TooLargeForRate { .. } | Self::Silent { .. } | Self::Cancelled => None,
        }
    }

    /// The HTTP status, if there was one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::RateLimited { status, .. }
            | Self::Quota { status, .. }
            | Self::Overloaded { status, .. }
            | Self::Auth { status, .. }
            | Self::Refused { status, .. }
            | Self::ContextOverflow { status, .. }
            | Self::BadRequest { status, .. } => *status,
            _ => None,
        }
    }

    /// The provider's requested delay before a retry, in milliseconds, if it stated one.
    pub fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::RateLimited { retry_after_ms, .. } | Self::Overloaded { retry_after_ms, .. } => {
                *retry_after_ms
            }
            _ => None,
        }
    }
}

/// `true` if these words reject thinking of earlier answers. Matches Anthropic's two wordings; the older one
/// is that of models that check only the signature.
pub fn refuses_thinking(said: &str) -> bool {
    let said = said.to_lowercase();
    let is_signature = said.contains("invalid `signature` in `thinking` block");
    is_signature || (said.contains("thinking") && said.contains("bound to a different conversation"))
}

/// Converts to the engine's failure: an overflow starts compaction, every other error ends the turn.
impl From<ModelError> for Failure {
    fn from(mut error: ModelError) -> Self {
        let (word, status, retry_after_ms) = (error.class(), error.status(), error.retry_after_ms());
        let why = error.to_string();
        let said = error.reason_mut().map(std::mem::take);
        let overflow = match error {
            ModelError::ContextOverflow { overflow, .. } => Some(overflow),
            ModelError::TooLargeForRate { limit, needed } => {
                Some(Overflow { limit, needed, ..Overflow::default() })
            }
            _ => None,
        };
        let is_refused = matches!(error, ModelError::BadRequest { .. });
        let refuses_thinking = is_refused && said.as_deref().is_some_and(refuses_thinking);
        let cause = Cause { word, status, retry_after_ms, said };
        Self { why, overflow, refuses_thinking, counted: None, cause }
    }
}

/// A provider's error response.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Refusal {
    /// The HTTP status; 200 if the error came within a stream.
    pub status: u16,
    /// The requested delay before a retry (`retry-after-ms`, `retry-after`), in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The body or the stream's event: JSON, or else a string.
    pub body: Value,
}

/// Codes, types and wordings of providers, in lower case, each with its class; the first match counts. `kind`
/// says which of them override the status.
const CODES: &[(&str, Class)] = &[
    // Gemini calls a limit per minute a quota too, and names it in the details.
    ("perminute", Class::Rate),
    ("insufficient_quota", Class::Quota),
    ("quota_exceeded", Class::Quota),
    ("billing_error", Class::Quota),
    ("credit balance is too low", Class::Quota),
    ("exceeded your current quota", Class::Quota),
    ("insufficient credits", Class::Quota),
    ("content_policy", Class::Refused),
    ("content_filter", Class::Refused),
    ("cyber_policy", Class::Refused),
    ("requires moderation", Class::Refused),
    ("moderation_blocked", Class::Refused),
    ("flagged", Class::Refused),
    ("responsibleaipolicyviolation", Class::Refused),
    // Ollama: the machine lacks the memory for this model, so a retry does not help.
    ("more system memory", Class::Bad),
    ("out of memory", Class::Bad),
    // The caller's country is not served, so another key does not help.
    ("unsupported_country", Class::Bad),
    ("invalid_api_key", Class::Auth),
    ("api key not valid", Class::Auth),
    ("authentication_error", Class::Auth),
    ("permission_error", Class::Auth),
    ("rate_limit", Class::Rate),
    ("rate limit", Class::Rate),
    ("too many requests", Class::Rate),
    ("throttl", Class::Rate),
    ("overloaded", Class::Overloaded),
    ("slow_down", Class::Overloaded),
    ("server_error", Class::Overloaded),
    ("api_error", Class::Overloaded),
    ("service unavailable", Class::Overloaded),
];

/// Codes that end a WebSocket: it is too old, or its server no longer has the response before. Another one helps.
const OF_SOCKET: [&str; 2] = ["previous_response_not_found", "websocket_connection_limit_reached"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Quota,
    Refused,
    Auth,
    Rate,
    Overloaded,
    Bad,
}

impl Refusal {
    /// An error event within a stream that began with status 200.
    pub(crate) fn in_stream(body: &Value) -> Self {
        Self { status: 200, body: body.clone(), ..Self::default() }
    }

    /// Classifies the error, with the numbers that it states. Wordings of an overflow are tried before status
    /// and codes, neither of which identifies an overflow.
    pub fn class(&self) -> ModelError {
        let words = self.error().to_string();
        let reason = self.reason();
        if OF_SOCKET.iter().any(|code| self.error()["code"] == **code) {
            return ModelError::Network { reason };
        }
        if let Some((limit, needed)) = too_large_for_rate(&reason) {
            return ModelError::TooLargeForRate { limit, needed };
        }
        // An error within a stream has no status but the one that it states itself.
        let status = Some(self.stated_status()).filter(|status| *status != 200);
        // 413 is about bytes, and its message does not mention tokens.
        let of_bytes = || (self.status == 413).then(Overflow::default);
        if let Some(told) = overflow::told(&words).or_else(of_bytes) {
            let limit = told.limit.or_else(|| self.number("n_ctx"));
            let needed = told.needed.or_else(|| self.number("n_prompt_tokens"));
            let overflow = Overflow { limit, needed, ..told };
            return ModelError::ContextOverflow { overflow, status, reason };
        }
        let retry_after_ms = self.retry_after_ms.or_else(|| delay_in(&words));
        match self.kind(&words.to_lowercase()) {
            Class::Quota => ModelError::Quota { status, reason },
            Class::Refused => ModelError::Refused { status, reason },
            Class::Auth => ModelError::Auth { status, reason },
            Class::Rate => ModelError::RateLimited { status, retry_after_ms, reason },
            Class::Overloaded => ModelError::Overloaded { status, retry_after_ms, reason },
            Class::Bad => ModelError::BadRequest { status, reason },
        }
    }

    fn kind(&self, words: &str) -> Class {
        let status = self.stated_status();
        let told = CODES.iter().find(|(code, _)| words.contains(code)).map(|(_, class)| *class);
        match (status, told) {
            (_, Some(class @ (Class::Quota | Class::Refused | Class::Bad))) => class,
            (401 | 403, _) => Class::Auth,
            (402, _) => Class::Quota,
            (429, _) => Class::Rate,
            (408 | 409 | 425 | 500..=599, _) => Class::Overloaded,
            (400..=499, Some(Class::Auth)) => Class::Auth,
            (300..=499, _) => Class::Bad,
            (_, Some(class)) => class,
            // An unknown error within a stream is likely to be temporary.
            (_, None) => Class::Overloaded,
        }
    }

    /// The HTTP status, or the `code` in the body of a 200: gateways put the upstream's status there.
    fn stated_status(&self) -> u16 {
        if self.status == 200 { self.code().unwrap_or(200) } else { self.status }
    }

    /// The provider's error object, taken out of its wrapping. Fields beside it, such as a repeated request,
    /// are ignored.
    fn error(&self) -> &Value {
        let body = self.body.get(0).unwrap_or(&self.body);
        let body = body.get("response").unwrap_or(body);
        // A bare code in `error` beside a `message` is not a wrapping.
        let is_whole =
            |error: &&Value| error.is_object() || (error.is_string() && body.get("message").is_none());
        body.get("error").filter(is_whole).unwrap_or(body)
    }

    fn code(&self) -> Option<u16> {
        let code = self.error().get("code")?;
        code.as_u64().and_then(|code| u16::try_from(code).ok())
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.error().get(name).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok())
    }

    /// The provider's message for people, with the status before it.
    fn reason(&self) -> String {
        let error = self.error();
        let said = error.as_str().or_else(|| error.get("message").and_then(Value::as_str));
        let raw = error.get("metadata").and_then(|metadata| metadata.get("raw")).and_then(Value::as_str);
        let said = match (said, raw) {
            (Some(said), Some(raw)) => format!("{said}: {raw}"),
            (Some(said), None) => said.to_owned(),
            (None, _) if error.is_null() => "no message".to_owned(),
            (None, _) => error.to_string(),
        };
        let status = if self.status == 200 { String::new() } else { format!("{}: ", self.status) };
        format!("{status}{}", excerpt(&said, MOST_REASON))
    }
}

/// The limit and the size of a single request that exceeds a rate limit by itself: `Limit L, Requested R`.
fn too_large_for_rate(words: &str) -> Option<(Option<u32>, Option<u32>)> {
    let lower = words.to_lowercase();
    if !lower.contains("request too large") || !lower.contains("per min") {
        return None;
    }
    let after = |name: &str| {
        let rest = lower.split(name).nth(1)?.trim_start_matches([':', ' ']);
        let digits: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
        digits.replace(',', "").parse().ok()
    };
    Some((after("limit"), after("requested")))
}

/// Words before a delay, in lower case; the last is a field of Gemini's error details.
const BEFORE_DELAY: &[&str] = &["try again in ", "retry after ", "retry in ", "\"retrydelay\":\""];

/// Units of a delay, in milliseconds; a name must precede its own prefixes (`ms` before `m`).
const UNITS: &[(&str, f64)] =
    &[("milliseconds", 1.0), ("ms", 1.0), ("s", 1e3), ("m", 6e4), ("h", 36e5), ("d", 864e5)];

/// The delay that these words state, in milliseconds: `try again in 18.642s`, `in 174ms`, `in 1m2s`, `after 5
/// seconds`.
fn delay_in(words: &str) -> Option<u64> {
    let lower = words.to_lowercase();
    let mut rest = BEFORE_DELAY.iter().find_map(|before| lower.split_once(before))?.1.trim_start();
    let mut total = None;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Some((number, unit)) = rest.split_at_checked(end).filter(|(number, _)| !number.is_empty()) else {
            return total;
        };
        // A full stop after a unit is not a number.
        let Ok(number) = number.parse::<f64>() else { return total };
        let unit = unit.trim_start();
        let named = UNITS.iter().find_map(|(name, ms)| Some((unit.strip_prefix(name)?, *ms)));
        // A number without a unit is in seconds.
        let (after, ms) = match named {
            Some(named) => named,
            None if total.is_none() && !unit.starts_with(char::is_alphabetic) => ("", 1e3),
            None => return total,
        };
        total = Some(total.unwrap_or(0) + (number * ms) as u64);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn class(status: u16, body: Value) -> ModelError {
        Refusal { status, body, ..Refusal::default() }.class()
    }

    #[test]
    fn failure_carries_class_status_and_delay() {
        let body = json!({"error": {"message": "Please try again in 2s."}});
        let failure = Failure::from(class(429, body));
        let said = Some("429: Please try again in 2s.".to_owned());
        let cause = Cause { word: "rateLimited", status: Some(429), retry_after_ms: Some(2000), said };
        assert_eq!((failure.cause, failure.overflow), (cause, None));
        let inside = Failure::from(Refusal::in_stream(&json!({"error": {"message": "Overloaded"}})).class());
        assert_eq!((inside.cause.word, inside.cause.status), ("overloaded", None));
    }

    #[test]
    fn delays_are_read_from_words() {
        assert_eq!(delay_in("Please try again in 18.642s. Visit"), Some(18_642));
        assert_eq!(delay_in("try again in 174ms"), Some(174));
        assert_eq!(delay_in("Try again in 1m2s"), Some(62_000));
        assert_eq!(delay_in("retry after 5 seconds"), Some(5000));
        assert_eq!(delay_in("Retry after 30."), Some(30_000));
        assert_eq!(delay_in("try again in 2 minutes"), Some(120_000));
        assert_eq!(delay_in("try again in 2 weeks"), None);
        assert_eq!(delay_in("{\"retryDelay\":\"27s\"}"), Some(27_000));
        assert_eq!(delay_in("try again later"), None);
        assert_eq!(delay_in("try again in a while"), None);
    }

    #[test]
    fn wording_overrides_the_status() {
        let quota = json!({"error": {"code": "insufficient_quota", "message": "no"}});
        assert_eq!(class(429, quota).class(), "quota");
        let rate = json!({"error": {"code": "rate_limit_exceeded", "message": "Please try again in 2s."}});
        assert_eq!(class(429, rate).retry_after_ms(), Some(2000));
        let large = json!({"error": {"message": "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 44,210."}});
        assert_eq!(
            class(429, large),
            ModelError::TooLargeForRate { limit: Some(30_000), needed: Some(44_210) }
        );
        let llama =
            json!({"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 2009, "n_ctx": 512}});
        assert_eq!(
            Failure::from(class(400, llama)).overflow,
            Some(Overflow { limit: Some(512), needed: Some(2009), ..Overflow::default() })
        );
        assert_eq!(class(401, Value::Null).class(), "auth");
        let memory =
            json!({"error": "model requires more system memory (21.4 GiB) than is available (7.6 GiB)"});
        assert_eq!(
            (class(500, memory.clone()).class(), class(500, memory).is_passing()),
            ("badRequest", false)
        );
        let flagged = json!({"error": {"code": 403, "message": "Your chosen model requires moderation and your input was flagged"}});
        assert_eq!(class(403, flagged).class(), "refused");
        let country =
            json!({"error": {"code": "unsupported_country_region_territory", "message": "not supported"}});
        assert_eq!(class(403, country).class(), "badRequest");
        assert_eq!(class(403, json!({"error": {"message": "no access to the model"}})).class(), "auth");
        assert_eq!(class(529, json!({"error": {"type": "overloaded_error"}})).class(), "overloaded");
        assert_eq!(class(404, json!({"error": {"message": "no such model"}})).class(), "badRequest");
        assert_eq!(
            class(200, json!({"error": {"code": 502, "message": "bad gateway"}})).class(),
            "overloaded"
        );
    }
}
