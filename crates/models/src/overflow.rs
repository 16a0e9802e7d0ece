//! Providers' wordings for a request that is too large, each with the part that it is about and placeholders
//! for its numbers. Neither a status nor an error's type alone identifies an overflow. The session decides
//! whether to believe one.

use engine::prompt::request::{Overflow, Part};

/// Wordings in lower case, those with numbers first. `{limit}` is the provider's limit, `{prompt}` the
/// prompt's size, in one or more terms, `{answer}` the requested answer limit, `{all}` the sum of the terms
/// that follow.
const WORDINGS: &[(Part, &str)] = &[
    // The answer alone: Anthropic, OpenAI, DeepSeek, DashScope, Groq
    (Part::Answer, "max_tokens: {answer} > {limit}, which is the maximum allowed number of output tokens"),
    (Part::Answer, "is too large: {answer}. this model supports at most {limit} completion tokens"),
    (Part::Answer, "valid range of max_tokens is [1, {limit}]"),
    (Part::Answer, "range of max_tokens should be [1, {limit}]"),
    (Part::Answer, "must be less than or equal to `{limit}`, the maximum value for `max_"),
    (Part::Answer, "must be less than or equal to {limit}, the maximum value for max_"),
    // Both: Anthropic; OpenAI and vLLM; OpenRouter; vLLM; text-generation-inference
    (Part::Both, "exceed context limit: {prompt} + {answer} > {limit}"),
    (
        Part::Both,
        "maximum context length is {limit} tokens. however, you requested {all} tokens ({prompt} in the messages, \
         {answer} in the completion)",
    ),
    (
        Part::Both,
        "maximum context length is {limit} tokens. however, you requested {all} tokens ({prompt} in the messages, \
         {prompt} in the functions, and {answer} in the completion)",
    ),
    (
        Part::Both,
        "maximum context length is {limit} tokens, however you requested {all} tokens ({prompt} in your prompt; \
         {answer} for the completion)",
    ),
    (
        Part::Both,
        "maximum context length is {limit} tokens. however, you requested about {all} tokens ({prompt} of text input, \
         {answer} in the output)",
    ),
    (
        Part::Both,
        "maximum context length is {limit} tokens. however, you requested about {all} tokens ({prompt} of text input, \
         {prompt} of tool input, {answer} in the output)",
    ),
    (
        Part::Both,
        "you passed {prompt} input tokens and requested {answer} output tokens. however, the model's context length is \
         only {limit} tokens",
    ),
    (
        Part::Both,
        "is too large: {answer}. this model's maximum context length is {limit} tokens and your request has {prompt} \
         input tokens",
    ),
    (
        Part::Both,
        "`inputs` tokens + `max_new_tokens` must be <= {limit}. given: {prompt} `inputs` tokens and {answer} \
         `max_new_tokens`",
    ),
    // Anthropic
    (Part::Prompt, "prompt is too long: {prompt} tokens > {limit} maximum"),
    // OpenAI, vLLM, OpenRouter, and what is compatible
    (
        Part::Prompt,
        "maximum context length is {limit} tokens. however, your messages resulted in {prompt} tokens",
    ),
    (Part::Prompt, "maximum context length is {limit} tokens. however, you requested {prompt} tokens"),
    (Part::Prompt, "maximum context length is {limit} tokens. however, you requested about {prompt} tokens"),
    (
        Part::Prompt,
        "maximum context length is {limit} tokens. however, your request has {prompt} input tokens",
    ),
    (Part::Prompt, "maximum context length is {limit} tokens"),
    (Part::Prompt, "context length is only {limit}"),
    (
        Part::Prompt,
        "input tokens exceed the configured limit of {limit} tokens. your messages resulted in {prompt} tokens",
    ),
    (Part::Prompt, "input tokens exceed the configured limit of {limit} tokens"),
    // Copilot
    (Part::Prompt, "prompt token count of {prompt} exceeds the limit of {limit}"),
    // Gemini
    (Part::Prompt, "input token count ({prompt}) exceeds the maximum number of tokens allowed ({limit})"),
    (Part::Prompt, "input token count exceeds the maximum number of tokens allowed ({limit})"),
    (Part::Prompt, "input token count exceeds the maximum number of tokens allowed {limit}"),
    // llama.cpp
    (Part::Prompt, "request ({prompt} tokens) exceeds the available context size ({limit} tokens)"),
    // xAI
    (Part::Prompt, "maximum prompt length is {limit} but the request contains {prompt} tokens"),
    // Moonshot
    (Part::Prompt, "exceeded model token limit: {limit} (requested: {prompt})"),
    // Mistral
    (Part::Prompt, "too large for model with {limit} maximum context length"),
    // Together
    (Part::Prompt, "input ({prompt} tokens) is longer than the model's context length ({limit} tokens)"),
    // Poolside
    (Part::Prompt, "maximum allowed input length of {limit}"),
    // DashScope
    (Part::Prompt, "range of input length should be [1, {limit}]"),
    // Wordings without numbers, and codes
    (Part::Answer, "maximum allowed number of output tokens"),
    (Part::Answer, "max_tokens is too large"),
    (Part::Answer, "max_completion_tokens is too large"),
    (Part::Answer, "max_output_tokens is too large"),
    (Part::Both, "input length and `max_tokens` exceed context limit"),
    (Part::Prompt, "context_length_exceeded"),
    (Part::Prompt, "model_max_prompt_tokens_exceeded"),
    (Part::Prompt, "exceed_context_size_error"),
    (Part::Prompt, "context_window_exceeded"),
    (Part::Prompt, "contextwindowexceeded"),
    (Part::Prompt, "request_too_large"),
    (Part::Prompt, "\"code\":\"1261\""),
    (Part::Prompt, "maximum context length"),
    (Part::Prompt, "maximum allowed input length"),
    (Part::Prompt, "exceeds the context window"),
    (Part::Prompt, "exceed the context window"),
    (Part::Prompt, "exceeds the available context size"),
    (Part::Prompt, "exceeds the maximum number of tokens allowed"),
    (Part::Prompt, "exceed context limit"),
    (Part::Prompt, "context window exceeds limit"),
    (Part::Prompt, "longer than the context length"),
    (Part::Prompt, "longer than the model's context"),
    (Part::Prompt, "greater than the context length"),
    (Part::Prompt, "larger than the context window"),
    (Part::Prompt, "larger than the model's context"),
    (Part::Prompt, "range of input length should be"),
    (Part::Prompt, "reduce the length of the messages"),
    (Part::Prompt, "prompt exceeds max length"),
    (Part::Prompt, "prompt is too long"),
    (Part::Prompt, "prompt too long"),
    (Part::Prompt, "input is too long"),
    (Part::Prompt, "input length exceeds"),
];

/// Wordings of rate limits, which mention tokens and limits too.
const OTHERS: &[&str] = &[
    "tokens per min",
    "input tokens per",
    "rate limit",
    "rate_limit",
    "too many requests",
    "throttl",
    "quota",
];

/// Returns the overflow that these words report, if any.
pub fn told(words: &str) -> Option<Overflow> {
    let words = words.to_lowercase();
    if OTHERS.iter().any(|other| words.contains(other)) {
        return None;
    }
    WORDINGS.iter().find_map(|(part, wording)| matched(*part, wording, &words))
}

/// Finds a wording anywhere in these words, and reads its numbers.
fn matched(part: Part, wording: &str, words: &str) -> Option<Overflow> {
    let first = wording.split('{').next().unwrap_or_default();
    words.match_indices(first).find_map(|(at, _)| read(part, wording, words.get(at..)?))
}

/// Matches a wording at the beginning of these words.
fn read(part: Part, wording: &str, words: &str) -> Option<Overflow> {
    let mut overflow = Overflow { part, ..Overflow::default() };
    let (mut wording, mut words) = (wording, words);
    while let Some((literal, rest)) = wording.split_once('{') {
        let (name, after) = rest.split_once('}')?;
        words = words.strip_prefix(literal)?;
        let end = words.find(|c: char| !c.is_ascii_digit() && !matches!(c, ',' | '_')).unwrap_or(words.len());
        // A comma that ends a clause is not part of the number.
        let digits = words.get(..end)?.trim_end_matches([',', '_']);
        let number: u32 = digits.replace([',', '_'], "").parse().ok()?;
        match name {
            "limit" => overflow.limit = Some(number),
            "prompt" => overflow.needed = Some(overflow.needed.unwrap_or(0).saturating_add(number)),
            "answer" if part == Part::Answer => overflow.needed = Some(number),
            // The requested answer limit and the sum are not needed.
            _ => (),
        }
        (wording, words) = (after, words.get(digits.len()..)?);
    }
    words.starts_with(wording).then_some(overflow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_words() {
        let told_of = |part, limit, needed| Some(Overflow { part, limit, needed });
        for (words, part, limit, needed) in [
            (
                "400: Prompt is too long: 208,310 tokens > 200000 maximum",
                Part::Prompt,
                Some(200_000),
                Some(208_310),
            ),
            (
                "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease",
                Part::Both,
                Some(200_000),
                Some(178_959),
            ),
            (
                "max_tokens: 128000 > 64,000, which is the maximum allowed number of output tokens for claude-x",
                Part::Answer,
                Some(64_000),
                Some(128_000),
            ),
            (
                "max_tokens is too large: 32768. This model supports at most 16384 completion tokens, whereas you",
                Part::Answer,
                Some(16_384),
                Some(32_768),
            ),
            (
                "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
                Part::Answer,
                Some(8192),
                None,
            ),
            ("Range of max_tokens should be [1, 8192]", Part::Answer, Some(8192), None),
            (
                "`max_tokens` must be less than or equal to `32768`, the maximum value for `max_tokens` is less than",
                Part::Answer,
                Some(32_768),
                None,
            ),
            (
                "This model's maximum context length is 131072 tokens. However, you requested 156632 tokens (152536 in \
                 the messages, 4096 in the completion). Please",
                Part::Both,
                Some(131_072),
                Some(152_536),
            ),
            (
                "maximum context length is 8192 tokens. However, you requested 9000 tokens (5000 in the messages, 3000 \
                 in the functions, and 1000 in the completion)",
                Part::Both,
                Some(8192),
                Some(8000),
            ),
            (
                "This endpoint's maximum context length is 262144 tokens. However, you requested about 263344 tokens \
                 (1344 of text input, 262000 in the output).",
                Part::Both,
                Some(262_144),
                Some(1344),
            ),
            (
                "This endpoint's maximum context length is 262144 tokens. However, you requested about 264344 tokens \
                 (1344 of text input, 1000 of tool input, 262000 in the output).",
                Part::Both,
                Some(262_144),
                Some(2344),
            ),
            (
                "You passed 130000 input tokens and requested 8192 output tokens. However, the model's context \
                 length is only 131072 tokens, resulting in",
                Part::Both,
                Some(131_072),
                Some(130_000),
            ),
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is \
                 8192 tokens and your request has 5000 input tokens (4096 > 8192 - 5000).",
                Part::Both,
                Some(8192),
                Some(5000),
            ),
            (
                "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 280000 tokens.",
                Part::Prompt,
                Some(272_000),
                Some(280_000),
            ),
            (
                "Input (40000 tokens) is longer than the model's context length (32768 tokens).",
                Part::Prompt,
                Some(32_768),
                Some(40_000),
            ),
            ("exceeds the maximum allowed input length of 131072 tokens", Part::Prompt, Some(131_072), None),
            ("Range of input length should be [1, 129024]", Part::Prompt, Some(129_024), None),
            (
                "The input token count exceeds the maximum number of tokens allowed 1048576.",
                Part::Prompt,
                Some(1_048_576),
                None,
            ),
            ("Please reduce the length of the messages or completion.", Part::Prompt, None, None),
            ("{\"code\":\"1261\",\"message\":\"Prompt exceeds max length\"}", Part::Prompt, None, None),
            ("your input exceeds the context window of this model", Part::Prompt, None, None),
            ("{\"code\":\"context_length_exceeded\"}", Part::Prompt, None, None),
            ("{\"type\":\"request_too_large\"}", Part::Prompt, None, None),
        ] {
            assert_eq!(told(words), told_of(part, limit, needed), "{words}");
        }
        for other in
            ["rate limit reached: tokens per min, maximum context length", "overloaded", "", "{limit}"]
        {
            assert_eq!(told(other), None, "{other}");
        }
    }
}
