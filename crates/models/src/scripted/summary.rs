//! The summary of a scripted model: first lines of the request's messages, under the five headings. Nothing
//! is interpreted; `compact` decides which answers are accepted.

use engine::compact::template::{
    BLOCK_CLOSE, BLOCK_OPEN, CONVERSATION_CLOSE, CONVERSATION_OPEN, PREVIOUS_CLOSE, PREVIOUS_OPEN,
};
pub(super) use engine::compact::template::{SUMMARY_CLOSE as CLOSE, SUMMARY_OPEN as OPEN};
use engine::message::Content;
use engine::prompt::item::{Item, ItemPart, Role};
use engine::prompt::request::Request;
use engine::text::first_line;

/// Tags of an earlier summary in a request: on its own, or as the block of a prompt.
const PREVIOUS: [(&str, &str); 2] = [(PREVIOUS_OPEN, PREVIOUS_CLOSE), (BLOCK_OPEN, BLOCK_CLOSE)];
/// Tags of a conversation in a request that does not hold it as messages.
const CONVERSATION: (&str, &str) = (CONVERSATION_OPEN, CONVERSATION_CLOSE);

/// The line under an empty heading.
const NONE: &str = "- none recorded";
/// The number of last answers that become decisions.
const DECISIONS: usize = 5;
/// The longest line of a decision, in bytes.
const DECISION_BYTES: usize = 100;
/// The longest other line, in bytes.
const LINE_BYTES: usize = 200;
/// Bytes per token when the list of decisions is cut. Carried lines are mostly names and paths, which are
/// denser than prose: at four bytes an exact counter would reject a long list as too large.
const BYTES_PER_TOKEN: usize = 3;

/// The parts of a summary. Every line is a list item, so that echoed text cannot look like a heading.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    goal: String,
    decisions: Vec<String>,
    state: [String; 2],
    next: String,
}

impl Summary {
    /// Summarizes the request without its last item, the instruction. A single item is both instruction and
    /// content.
    pub(super) fn of(request: &Request) -> Self {
        let items = request.items.as_slice();
        let held = items.split_last().map_or(items, |(_, held)| if held.is_empty() { items } else { held });
        let transcript = held.iter().flat_map(texts).find_map(|text| between(text, CONVERSATION).next());
        let said = |role, bytes| match transcript {
            Some(transcript) => entries(transcript, role, bytes),
            None => said(held, role, bytes),
        };
        let users: Vec<String> = said(Role::User, LINE_BYTES);
        let answers: Vec<String> = said(Role::Assistant, DECISION_BYTES);
        let last_answer = said(Role::Assistant, LINE_BYTES).pop();

        let mut decisions = carried(items);
        decisions.retain(|line| Some(line) != users.first());
        for line in answers.into_iter().rev().take(DECISIONS).rev() {
            if !decisions.contains(&line) {
                decisions.push(line);
            }
        }
        let count = |role| items.iter().filter(|item| item.role == role).count();
        let counts = format!(
            "- messages: {} system, {} user, {} assistant, {} tool",
            count(Role::System),
            count(Role::User),
            count(Role::Assistant),
            count(Role::Tool)
        );
        let or_none = |line: Option<String>| line.unwrap_or_else(|| NONE.into());
        let mut summary = Self {
            goal: or_none(users.first().cloned()),
            decisions,
            state: [counts, or_none(last_answer)],
            next: or_none(users.last().cloned()),
        };
        if let Some(tokens) = request.max_output {
            summary.cut_to(tokens as usize * BYTES_PER_TOKEN);
        }
        summary
    }

    /// Drops decisions, the oldest first. A summary without any fits every real limit.
    fn cut_to(&mut self, bytes: usize) {
        let over = self.tagged().len().saturating_sub(bytes);
        let mut freed = 0;
        let drop = self.decisions.iter().take_while(|line| {
            let more = freed < over;
            freed += line.len() + 1;
            more
        });
        let drop = drop.count();
        self.decisions.drain(..drop);
    }

    /// Adds a line under Decisions.
    pub(super) fn with_decision(mut self, line: String) -> Self {
        self.decisions.push(line);
        self
    }

    /// Adds lines until the summary has at least `tokens`, at four bytes each.
    pub(super) fn padded(mut self, tokens: u32) -> Self {
        let mut bytes = self.tagged().len();
        let least = tokens as usize * 4;
        for number in 1.. {
            if bytes >= least {
                break;
            }
            let line = format!("- line {number} of an answer that does not end");
            bytes += line.len() + 1;
            self.decisions.push(line);
        }
        self
    }

    /// The five sections, without the tag.
    pub(super) fn body(&self) -> String {
        let decisions = if self.decisions.is_empty() { NONE.into() } else { self.decisions.join("\n") };
        let [counts, last_answer] = &self.state;
        format!(
            "## Goal\n{}\n## Decisions\n{decisions}\n## State\n{counts}\n{last_answer}\n## Next steps\n{}\n## Open questions\n{NONE}",
            self.goal, self.next
        )
    }

    /// The five sections in their tag.
    pub(super) fn tagged(&self) -> String {
        format!("{OPEN}\n{}\n{CLOSE}", self.body())
    }

    /// The tag with the first section only.
    pub(super) fn goal_alone(&self) -> String {
        format!("{OPEN}\n## Goal\n{}\n{CLOSE}", self.goal)
    }
}

/// First lines of the items of this role, as list items.
fn said(items: &[Item], role: Role, bytes: usize) -> Vec<String> {
    items
        .iter()
        .filter(|item| item.role == role)
        .filter_map(|item| {
            let mut lines = texts(item).map(|text| first_line(&without_previous(text), bytes));
            lines.find(|line| !line.is_empty())
        })
        .map(|line| format!("- {}", untagged(&line)))
        .collect()
}

/// First lines of this role's entries in a text transcript, as list items.
fn entries(transcript: &str, role: Role, bytes: usize) -> Vec<String> {
    let mark = format!("[{}]", role.name());
    transcript
        .split("\n\n")
        .filter_map(|entry| entry.trim_start().strip_prefix(&mark))
        .map(|entry| first_line(entry, bytes))
        .filter(|line| !line.is_empty() && !line.starts_with("[calls "))
        .map(|line| format!("- {}", untagged(&line)))
        .collect()
}

/// The texts of an item, without files and thinking.
fn texts(item: &Item) -> impl Iterator<Item = &str> {
    item.parts.iter().filter_map(|part| match part {
        ItemPart::Content(Content::Text(text)) => Some(text.as_ref()),
        _ => None,
    })
}

/// The lines under Goal and Decisions of every earlier summary, each once, verbatim. Only texts of the user
/// and the system count: a tool may print the tag.
fn carried(items: &[Item]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for text in items.iter().filter(|i| matches!(i.role, Role::User | Role::System)).flat_map(texts) {
        for previous in PREVIOUS.iter().flat_map(|tag| between(text, *tag)) {
            let mut wanted = false;
            for line in previous.lines().map(str::trim).filter(|line| !line.is_empty()) {
                if let Some(heading) = line.strip_prefix("## ") {
                    wanted = matches!(heading.trim(), "Goal" | "Decisions");
                    continue;
                }
                // The ledger of a block follows its narrative, under headings of another level.
                wanted &= !line.starts_with("# ");
                let line = untagged(line);
                if wanted && line != NONE && !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
    }
    lines
}

/// Texts between an opening tag and the next closing one.
fn between<'a>(text: &'a str, (open, close): (&'a str, &'a str)) -> impl Iterator<Item = &'a str> {
    text.split(open).skip(1).filter_map(move |part| Some(part.split_once(close)?.0))
}

/// Removes earlier summaries: the user did not write them.
fn without_previous(text: &str) -> String {
    let mut text = text.to_owned();
    for (open, close) in PREVIOUS {
        let mut parts = text.split(open);
        let mut out = String::from(parts.next().unwrap_or_default());
        for part in parts {
            out.push_str(part.split_once(close).map_or(part, |(_, after)| after));
        }
        text = out;
    }
    text
}

/// Escapes the summary's tags.
fn untagged(line: &str) -> String {
    line.replace(OPEN, "&lt;summary>").replace(CLOSE, "&lt;/summary>")
}
