//! The words in which providers say that a request is too large, as data: each with the places of the numbers that it
//! states. Neither a status nor an error's type alone tells an overflow, so words do; what follows from it is not here.

use crate::engine::prompt::request::Overflow;

/// Words of overflows, in lower case, those with numbers first. `{limit}` is what the provider takes, `{needed}` what the
/// request had; where that stands twice, both are added.
const WORDINGS: &[&str] = &[
    // Anthropic
    "prompt is too long: {needed} tokens > {limit} maximum",
    "exceed context limit: {needed} + {needed} > {limit}",
    // OpenAI, vLLM, OpenRouter, and what is compatible
    "maximum context length is {limit} tokens. however, your messages resulted in {needed} tokens",
    "maximum context length is {limit} tokens. however, you requested {needed} tokens",
    "maximum context length is {limit} tokens. however, you requested about {needed} tokens",
    "maximum context length is {limit} tokens. however, your request has {needed} input tokens",
    "maximum context length is {limit} tokens",
    "you passed {needed} input tokens and requested {needed} output tokens. however, the model's context length is only {limit} tokens",
    "context length is only {limit}",
    "input tokens exceed the configured limit of {limit} tokens",
    // Copilot
    "prompt token count of {needed} exceeds the limit of {limit}",
    // Gemini
    "input token count ({needed}) exceeds the maximum number of tokens allowed ({limit})",
    // llama.cpp
    "request ({needed} tokens) exceeds the available context size ({limit} tokens)",
    // xAI
    "maximum prompt length is {limit} but the request contains {needed} tokens",
    // Moonshot
    "exceeded model token limit: {limit} (requested: {needed})",
    // Mistral
    "too large for model with {limit} maximum context length",
    // Codes, and words without numbers
    "context_length_exceeded",
    "model_max_prompt_tokens_exceeded",
    "exceed_context_size_error",
    "context_window_exceeded",
    "contextwindowexceeded",
    "request_too_large",
    "maximum context length",
    "exceeds the context window",
    "exceed the context window",
    "exceeds the available context size",
    "exceeds the maximum number of tokens allowed",
    "exceed context limit",
    "context window exceeds limit",
    "longer than the context length",
    "greater than the context length",
    "larger than the context window",
    "larger than the model's context",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input length exceeds",
];

/// Words of other failures that speak of tokens and limits too: those of a rate, which more time mends.
const OTHERS: &[&str] = &[
    "tokens per min",
    "input tokens per",
    "rate limit",
    "rate_limit",
    "too many requests",
    "throttl",
    "quota",
];

/// The overflow that these words tell, where they tell one.
pub fn told(words: &str) -> Option<Overflow> {
    let words = words.to_lowercase();
    if OTHERS.iter().any(|other| words.contains(other)) {
        return None;
    }
    WORDINGS.iter().find_map(|wording| matched(wording, &words))
}

/// The numbers of a wording in these words, where they hold it.
fn matched(wording: &str, words: &str) -> Option<Overflow> {
    let first = wording.split('{').next().unwrap_or_default();
    words.match_indices(first).find_map(|(at, _)| read(wording, words.get(at..)?))
}

/// Reads a wording from where the words begin with it.
fn read(wording: &str, words: &str) -> Option<Overflow> {
    let mut overflow = Overflow::default();
    let (mut wording, mut words) = (wording, words);
    while let Some((literal, rest)) = wording.split_once('{') {
        let (name, after) = rest.split_once('}')?;
        words = words.strip_prefix(literal)?;
        let end = words.find(|c: char| !c.is_ascii_digit() && !matches!(c, ',' | '_')).unwrap_or(words.len());
        let (digits, others) = words.split_at_checked(end)?;
        // A comma that ends a clause is none of a number.
        let number: u32 = digits.replace([',', '_'], "").parse().ok()?;
        if name == "limit" {
            overflow.limit = Some(number);
        } else {
            overflow.needed = Some(overflow.needed.unwrap_or(0).saturating_add(number));
        }
        (wording, words) = (after, others);
    }
    words.starts_with(wording).then_some(overflow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_words() {
        let told_of = |limit, needed| Some(Overflow { limit, needed });
        assert_eq!(
            told("400: Prompt is too long: 208,310 tokens > 200000 maximum"),
            told_of(Some(200_000), Some(208_310))
        );
        assert_eq!(
            told("input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease"),
            told_of(Some(200_000), Some(242_959))
        );
        assert_eq!(told("your input exceeds the context window of this model"), told_of(None, None));
        assert_eq!(
            told(
                "You passed 130000 input tokens and requested 8192 output tokens. However, the model's context \
                 length is only 131072 tokens, resulting in"
            ),
            told_of(Some(131_072), Some(138_192))
        );
        assert_eq!(told("{\"code\":\"context_length_exceeded\"}"), told_of(None, None));
        for other in
            ["rate limit reached: tokens per min, maximum context length", "overloaded", "", "{limit}"]
        {
            assert_eq!(told(other), None, "{other}");
        }
    }
}
