//! Models that take thinking back only while everything before it is unchanged, by families and versions. No limits here.

use crate::engine::session::endpoint::Wire;

/// The families of Claude and the first version of each that checks it. Later ones do as well.
const CLAUDE: [(&str, (u32, u32)); 5] =
    [("fable", (5, 1)), ("mythos", (5, 1)), ("opus", (5, 5)), ("sonnet", (5, 5)), ("haiku", (5, 5))];

/// The same for a family of Claude that is not known.
const CLAUDE_UNKNOWN: (u32, u32) = (5, 1);

/// The first version of GPT over Responses whose provider leaves such thinking out without a word.
const GPT: (u32, u32) = (5, 6);

/// Larger numbers in a name are dates.
const MOST_VERSION: u32 = 99;

/// Whether this model, asked over this wire, takes thinking back only behind the prompt that it followed. The newest Claude
/// refuse any other with status 400, whoever serves them; OpenAI leaves it out by itself, so that what is shown and counted
/// would not be what is read. Ollama serves neither.
pub fn binds_thinking(wire: Option<Wire>, name: &str) -> bool {
    let name = super::plain(name).replace('.', "-");
    // Some hosts put their region and its maker before the name.
    match (wire, name.find("claude-"), name.strip_prefix("gpt-")) {
        (Some(Wire::Ollama | Wire::Scripted), ..) => false,
        (_, Some(at), _) => claude(name.get(at..).unwrap_or_default()),
        (Some(Wire::OpenaiResponses), None, Some(rest)) => version(rest.split('-')) >= GPT,
        _ => false,
    }
}

fn claude(name: &str) -> bool {
    let mut words = name.split('-').skip(1).peekable();
    let Some(family) = words.next_if(|word| word.parse::<u32>().is_err()) else {
        // Names that begin with their version are those of Claude 3 and before.
        return false;
    };
    if ["instant", "v1", "v2"].contains(&family) {
        return false;
    }
    let known = CLAUDE.iter().find(|(known, _)| *known == family);
    let has_version = words.peek().is_some_and(|word| word.parse::<u32>().is_ok());
    // Without one it is whatever is newest.
    !has_version || version(words) >= known.map_or(CLAUDE_UNKNOWN, |(_, from)| *from)
}

/// The first two numbers.
fn version<'a>(words: impl Iterator<Item = &'a str>) -> (u32, u32) {
    let mut numbers = words.map_while(|word| word.parse().ok().filter(|number| *number <= MOST_VERSION));
    (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_claude_models_bind_thinking_to_its_prompt() {
        for name in [
            "claude-fable-5-1",
            "claude-fable-5-2-20261110",
            "claude-opus-5-5",
            "claude-opus-6",
            "anthropic/claude-opus-5.5",
            "us.anthropic.claude-sonnet-5-5-v1:0",
            "Claude-Haiku-5-5@20261001",
            "claude-saga-5-1",
            "claude-opus-latest",
            "claude-next",
        ] {
            assert!(binds_thinking(Some(Wire::Anthropic), name), "{name}");
            assert!(binds_thinking(None, name) && binds_thinking(Some(Wire::OpenaiChat), name), "{name}");
            assert!(!binds_thinking(Some(Wire::Scripted), name), "{name}");
        }
        for name in [
            "claude-opus-5",
            "claude-fable-5",
            "claude-sonnet-5-20260401",
            "claude-opus-4-8",
            "claude-sonnet-4-20250514",
            "claude-3-5-sonnet-20241022",
            "claude-2.1",
            "claude-instant-1.2",
            "gpt-6.1-sol",
            "gemini-4-argon",
            "",
        ] {
            assert!(!binds_thinking(Some(Wire::Anthropic), name), "{name}");
        }
    }

    #[test]
    fn newest_gpt_models_bind_thinking_over_responses_alone() {
        for (name, binds) in
            [("gpt-5.6-sol", true), ("openai/gpt-6-luna", true), ("gpt-5.4-mini", false), ("gpt-5", false)]
        {
            assert_eq!(binds_thinking(Some(Wire::OpenaiResponses), name), binds, "{name}");
            assert!(!binds_thinking(Some(Wire::OpenaiChat), name), "{name}");
        }
    }
}
