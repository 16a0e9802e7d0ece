//! Figures of a session as text: its prompt, its model, the sessions beside it, the turn that ended.

use super::visible::visible;
use protocol::context::{ContextInspectResult, Cost, LimitSource, Spending, WindowSource};
use protocol::message::Usage;
use protocol::prompt::section::SectionTokens;
use protocol::session::SessionSummary;
use protocol::settings::Settings;
use serde_json::{Map, Value};

/// Characters of a title in a list.
const MOST_TITLE: usize = 52;

/// The size and the parts of the prompt, and the distance to the next compaction.
pub(super) fn context(inspected: &ContextInspectResult) -> String {
    let ContextInspectResult { tokens, limit, window, tokens_until_compaction: left, .. } = inspected;
    let share = u64::from(*tokens) * 100 / u64::from((*limit).max(1));
    let source = match inspected.window_source {
        Some(WindowSource::Provider) => ", as its provider lists it",
        Some(WindowSource::Table) => ", known for a model of this name",
        None => "",
    };
    let mut lines = vec![
        format!(
            "{} of {} tokens ({share} %), in a window of {}{source}",
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

/// The progress of a tool call, by its server's words.
pub(super) fn progressed(done: f64, total: Option<f64>, message: Option<&str>) -> String {
    let share = match total {
        Some(total) if total > 0.0 => format!("{:.0} %", (done / total * 100.0).clamp(0.0, 100.0).floor()),
        _ => done.to_string(),
    };
    match message {
        Some(message) => format!("{share}: {}", visible(message)),
        None => share,
    }
}

/// Name of a session's model; `None` if it is the editor's.
pub(super) fn model(settings: &Settings) -> Option<String> {
    let model = settings.model.as_ref()?;
    let wire = serde_json::to_value(model.wire?).ok()?;
    let wire = wire.as_str().filter(|wire| *wire != "editor")?;
    Some(super::model::id(wire, model.name.as_deref().or(model.base_url.as_deref())))
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

/// How long a turn took, what it used and what it cost.
pub(super) fn turn(duration_ms: Option<u64>, usage: Option<&Usage>, spent: Option<&Cost>) -> Option<String> {
    let time = duration_ms.map(|ms| seconds(ms / 1_000));
    let count = |tokens: Option<u32>, what: &str| tokens.map(|tokens| format!("{} {what}", grouped(tokens)));
    let tokens = usage.map(|usage| {
        let cached = count(usage.cached_input_tokens.filter(|tokens| *tokens > 0), "cached");
        let read = count(usage.input_tokens, "tokens read");
        let read = read.map(|read| read + &cached.map(|cached| format!(" ({cached})")).unwrap_or_default());
        [read, count(usage.output_tokens, "written")].into_iter().flatten().collect::<Vec<_>>().join(", ")
    });
    let parts: Vec<String> = [time, tokens, spent.and_then(amount)]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    if parts.is_empty() { None } else { Some(format!("({})", parts.join(", "))) }
}

/// What the provider did on its own beside an answer, in order; mostly nothing.
pub(super) fn provider_notes(extra: Option<&Map<String, Value>>) -> Vec<String> {
    let Some(extra) = extra else { return Vec::new() };
    let name = |fallback: &Value, key: &str, unnamed: &str| {
        let given = fallback.get(key).and_then(|model| model.get("model").unwrap_or(model).as_str());
        visible(given.filter(|name| !name.is_empty()).unwrap_or(unnamed))
    };
    let compacted = extra.get("serverCompaction").filter(|told| told.is_object());
    let fallback = extra.get("fallback").filter(|told| told.is_object());
    let changed = extra.get("inputTransformations").and_then(Value::as_array);
    let notes = [
        compacted.map(|_| "(the provider compacted the conversation on its side for this answer)".to_owned()),
        fallback.map(|told| {
            let (from, to) = (name(told, "from", "the model"), name(told, "to", "another model"));
            format!("({from} declined to answer, and {to} answered instead)")
        }),
        changed.filter(|changes| !changes.is_empty()).map(|_| {
            "(the provider left out parts of earlier answers, such as thinking that no longer fits)"
                .to_owned()
        }),
    ];
    notes.into_iter().flatten().collect()
}

/// What a session cost.
pub(super) fn spending(spent: Option<&Spending>) -> String {
    let nothing =
        || "(no cost is known: the model's price is not known, and its provider reports none)".to_owned();
    let Some(spent) = spent else { return nothing() };
    let Some(total) = amount(&spent.total) else { return nothing() };
    let parts = [("answers", &spent.answers), ("summaries", &spent.summaries), ("titles", &spent.titles)];
    let parts = parts.iter().filter_map(|(what, cost)| Some(format!("\n  {what:<10} {}", amount(cost)?)));
    let Cost { reported, settings, table, incomplete, .. } = &spent.total;
    let sources = [
        reported.then(|| "reported by the provider".to_owned()),
        settings.then(|| "computed from the prices in the settings".to_owned()),
        table.as_ref().map(|date| format!("computed from the price list of {date}")),
    ];
    let sources: Vec<String> = sources.into_iter().flatten().collect();
    let missing =
        (*incomplete > 0).then(|| format!("\nnot known in full: the cost of {incomplete} requests"));
    let late = spent.began_late.then_some("\nearlier answers of the session are not counted");
    let parts: String = parts.collect();
    format!(
        "{total}, {}{parts}{}{}",
        sources.join(" or "),
        missing.unwrap_or_default(),
        late.unwrap_or_default()
    )
}

/// A cost in dollars; `None` if it is not known.
fn amount(cost: &Cost) -> Option<String> {
    let dollars = f64::from(cost.dollars?);
    let text = match dollars {
        0.0 => "$0.00".to_owned(),
        dollars if dollars < 0.0001 => "< $0.0001".to_owned(),
        dollars if dollars < 1.0 => format!("${dollars:.4}"),
        dollars => format!("${dollars:.2}"),
    };
    Some(if cost.incomplete > 0 { format!("at least {text}") } else { text })
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
    use serde_json::json;

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
        let cost = |dollars: f64| serde_json::from_value::<Cost>(json!({ "dollars": dollars })).unwrap();
        let said = turn(Some(61_500), Some(&usage), Some(&cost(0.0123)));
        assert_eq!(
            said.as_deref(),
            Some("(1 min 1 s, 12,345 tokens read (10,000 cached), 7 written, $0.0123)")
        );
        assert_eq!(turn(Some(900), Some(&Usage::default()), None).as_deref(), Some("(0 s)"));
        assert_eq!(turn(None, None, Some(&Cost::default())), None);
        let amounts = [0.0, 0.00001, 0.5, 12.345].map(|dollars| amount(&cost(dollars)).unwrap());
        assert_eq!(amounts, ["$0.00", "< $0.0001", "$0.5000", "$12.35"]);
    }

    #[test]
    fn acts_of_the_provider_are_told_behind_its_answer() {
        let notes = |extra: Value| provider_notes(extra.as_object());
        assert_eq!(provider_notes(None), Vec::<String>::new());
        assert_eq!(
            notes(
                json!({ "serverCompaction": {}, "fallback": { "from": { "model": "a" }, "to": "b\u{1b}" } })
            ),
            [
                "(the provider compacted the conversation on its side for this answer)",
                &format!("(a declined to answer, and {} answered instead)", visible("b\u{1b}")),
            ]
        );
        assert_eq!(notes(json!({ "inputTransformations": [1] })).len(), 1);
        let strange = json!({ "serverCompaction": null, "fallback": "x", "inputTransformations": {} });
        assert_eq!(notes(strange), Vec::<String>::new());
    }

    #[test]
    fn a_session_says_what_it_cost_and_from_where_that_is_known() {
        let spent = json!({
            "total": { "dollars": 0.25, "table": "2026-11-22", "incomplete": 2 },
            "answers": { "dollars": 0.25, "table": "2026-11-22", "incomplete": 2 },
            "summaries": {},
            "titles": {},
            "beganLate": true,
        });
        let spent: Spending = serde_json::from_value(spent).unwrap();
        let expected = "at least $0.2500, computed from the price list of 2026-11-22\n  answers    at least $0.2500\n\
                        not known in full: the cost of 2 requests\nearlier answers of the session are not counted";
        assert_eq!(spending(Some(&spent)), expected);
        assert!(spending(None).starts_with("(no cost is known"));
    }
}
