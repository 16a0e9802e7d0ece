//! Figures of a session as text: its prompt, its model, the sessions beside it, the turn that ended.

use super::visible::visible;
use protocol::context::{ContextInspectResult, LimitSource};
use protocol::message::Usage;
use protocol::prompt::section::SectionTokens;
use protocol::session::SessionSummary;
use protocol::settings::Settings;

/// Characters of a title in a list.
const MOST_TITLE: usize = 52;

/// The size and the parts of the prompt, and the distance to the next compaction.
pub(super) fn context(inspected: &ContextInspectResult) -> String {
    let ContextInspectResult { tokens, limit, window, tokens_until_compaction: left, .. } = inspected;
    let share = u64::from(*tokens) * 100 / u64::from((*limit).max(1));
    let mut lines = vec![
        format!(
            "{} of {} tokens ({share} %), in a window of {}",
            grouped(*tokens),
            grouped(*limit),
            grouped(*window)
        ),
        format!("{} more before the next compaction", grouped(*left)),
    ];
    let mut sections: Vec<&SectionTokens> =
        inspected.sections.iter().filter(|part| part.tokens > 0).collect();
    sections.sort_by_key(|part| std::cmp::Reverse(part.tokens));
    let widest = sections.iter().map(|part| part.name.chars().count()).max().unwrap_or(0);
    for SectionTokens { name, tokens, .. } in sections {
        lines.push(format!("  {:<widest$}  {:>11}", visible(name), grouped(*tokens)));
    }
    let compactions = inspected.compactions.len() + inspected.earlier_compactions.unwrap_or(0) as usize;
    if compactions > 0 {
        lines.push(format!("compactions: {compactions}"));
    }
    if let Some(learned) = &inspected.learned_limit {
        let source = match learned.source {
            LimitSource::Stated => "the provider stated it",
            LimitSource::StatedWithAnswer => "from the provider's limit of prompt and answer together",
            LimitSource::Guessed => "guessed from a prompt that the provider rejected",
        };
        lines.push(format!("limit learned: {} tokens ({source})", grouped(learned.tokens)));
    }
    lines.push(format!("counted with {}", visible(&inspected.estimator)));
    lines.join("\n")
}

/// Name of a session's model; `None` if it is the editor's.
pub(super) fn model(settings: &Settings) -> Option<String> {
    let model = settings.model.as_ref()?;
    let wire = serde_json::to_value(model.wire?).ok()?;
    let wire = wire.as_str().filter(|wire| *wire != "editor")?;
    let name = model.name.as_deref().or(model.base_url.as_deref());
    Some(name.map_or_else(|| wire.to_owned(), |name| format!("{wire}:{name}")))
}

/// A numbered list of sessions, with the one that is open marked.
pub(super) fn sessions(sessions: &[SessionSummary], open: &str) -> String {
    let line = |(at, session): (usize, &SessionSummary)| {
        let title = visible(session.title.as_deref().unwrap_or("(no title)"));
        let title: String =
            title.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MOST_TITLE).collect();
        let mark = if session.session_id == open { "*" } else { " " };
        let time: String =
            session.updated_at.chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect();
        format!("{mark}{:>3}  {time} UTC  {title}", at + 1)
    };
    if sessions.is_empty() {
        return "(no sessions)".to_owned();
    }
    let lines: Vec<String> = sessions.iter().enumerate().map(line).collect();
    lines.join("\n")
}

/// How long a turn took and what it used.
pub(super) fn turn(duration_ms: Option<u64>, usage: Option<&Usage>) -> Option<String> {
    let time = duration_ms.map(|ms| seconds(ms / 1_000));
    let count = |tokens: Option<u32>, what: &str| tokens.map(|tokens| format!("{} {what}", grouped(tokens)));
    let tokens = usage.map(|usage| {
        let cached = count(usage.cached_input_tokens.filter(|tokens| *tokens > 0), "cached");
        let read = count(usage.input_tokens, "tokens read");
        let read = read.map(|read| read + &cached.map(|cached| format!(" ({cached})")).unwrap_or_default());
        [read, count(usage.output_tokens, "written")].into_iter().flatten().collect::<Vec<_>>().join(", ")
    });
    let parts: Vec<String> = [time, tokens].into_iter().flatten().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { None } else { Some(format!("({})", parts.join(", "))) }
}

/// A time in seconds.
pub(super) fn seconds(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// A number with its thousands apart.
pub(super) fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && at % 3 == first {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_readable() {
        assert_eq!(
            [0, 12, 999, 1_000, 4_294_967_295].map(grouped),
            ["0", "12", "999", "1,000", "4,294,967,295"]
        );
        assert_eq!([0, 59, 61].map(seconds), ["0 s", "59 s", "1 min 1 s"]);
    }

    #[test]
    fn a_turn_says_what_is_known_of_it() {
        let usage = Usage {
            input_tokens: Some(12_345),
            cached_input_tokens: Some(10_000),
            output_tokens: Some(7),
            ..Usage::default()
        };
        let said = turn(Some(61_500), Some(&usage));
        assert_eq!(said.as_deref(), Some("(1 min 1 s, 12,345 tokens read (10,000 cached), 7 written)"));
        assert_eq!(turn(Some(900), Some(&Usage::default())).as_deref(), Some("(0 s)"));
        assert_eq!(turn(None, None), None);
    }
}
