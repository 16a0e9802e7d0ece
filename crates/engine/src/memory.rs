//! Memories of a workspace: values that outlive a session, their order, and the part of them that prompts
//! show. Computed without a model. Storage and the time of reading are decided elsewhere.

use super::id::Time;
use super::message::Text;
use super::search::{Words, folded};
use super::text::one_line;
use super::tokens::TokenCount;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// The area of summaries made from sessions.
pub const SESSION_SUMMARY: &str = "session_summary";
/// The area of memories without one.
pub(crate) const DEFAULT_AREA: &str = "general";
/// The highest importance.
pub(crate) const MOST_IMPORTANT: u8 = 5;
/// The importance of memories that state none.
const DEFAULT_IMPORTANCE: u8 = 3;

/// Tokens of a section's budget reserved for its heading, which marks the memories as background.
const HEADING_TOKENS: u32 = 40;

/// The most bytes of a memory on one line: the normal limit, and that for a memory that would not fit otherwise.
const LINE_BYTES: [usize; 2] = [600, 120];
/// Memories in the reminder, at most.
const MOST_REMINDED: usize = 5;
/// Memories attached to a message, at most.
const MOST_ATTACHED: usize = 5;
/// Characters of the shortest word of a message that is searched for.
const LEAST_WORD_CHARS: usize = 4;
/// Characters from which a single shared word makes a memory relevant.
const LONG_WORD_CHARS: usize = 7;

/// A fact remembered for a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// Unique in its workspace.
    pub id: String,
    /// The subject area, such as `general`.
    pub area: String,
    /// The remembered text.
    pub text: Text,
    /// From 1 to [`MOST_IMPORTANT`].
    pub importance: u8,
    /// Search terms beyond the text.
    pub tags: Vec<String>,
    /// `true` if prompts may show the memory.
    pub active: bool,
    /// The origin, such as a compaction's id.
    pub source: Option<String>,
    /// The time of creation.
    pub created_at: Time,
    /// The time of the last change.
    pub updated_at: Time,
}

/// A new memory, or a change of one. Missing fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryPatch {
    /// See [`Memory::area`].
    pub area: Option<String>,
    /// See [`Memory::text`].
    pub text: Option<Text>,
    /// See [`Memory::importance`]; clamped to its range.
    pub importance: Option<u8>,
    /// See [`Memory::tags`].
    pub tags: Option<Vec<String>>,
    /// See [`Memory::active`].
    pub active: Option<bool>,
    /// See [`Memory::source`].
    pub source: Option<String>,
}

/// A filter and a page of memories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryQuery {
    /// The area to match.
    pub area: Option<String>,
    /// The state of [`Memory::active`] to match.
    pub active: Option<bool>,
    /// Words that text, tags and area must all contain between them. An empty list matches nothing.
    pub words: Option<Words>,
    /// The number of matches to skip.
    pub skip: usize,
    /// The most memories to return.
    pub limit: usize,
}

/// A page of memories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryPage {
    /// The most important first; among equals, the newest first.
    pub memories: Vec<Memory>,
    /// The [`MemoryQuery::skip`] of the next page; `None` on the last page.
    pub next: Option<usize>,
}

/// Memories as a session's prompts show them, read at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remembered {
    /// The section with all memories that fit its budget.
    pub core: Text,
    /// The most important memories, for the end of the system text.
    pub reminder: Text,
}

impl Memory {
    /// Creates a memory; `None` if the patch has no text.
    pub fn new(id: &str, patch: MemoryPatch, now: Time) -> Option<Self> {
        let text = patch.text.clone().filter(|text| !text.trim().is_empty())?;
        let mut memory = Self {
            id: id.to_owned(),
            area: DEFAULT_AREA.to_owned(),
            text,
            importance: DEFAULT_IMPORTANCE,
            tags: Vec::new(),
            active: true,
            source: None,
            created_at: now,
            updated_at: now,
        };
        memory.apply(patch, now);
        Some(memory)
    }

    /// Returns the memory of this id after a change; `None` if there is none before and the patch has no text.
    pub fn changed(before: Option<Self>, id: &str, patch: MemoryPatch, now: Time) -> Option<Self> {
        let Some(mut memory) = before else { return Self::new(id, patch, now) };
        memory.apply(patch, now);
        Some(memory)
    }

    /// Applies a patch. A patch without effect leaves `updated_at` unchanged.
    pub fn apply(&mut self, patch: MemoryPatch, now: Time) {
        let before = self.clone();
        let MemoryPatch { area, text, importance, tags, active, source } = patch;
        self.area = area.filter(|area| !area.is_empty()).unwrap_or_else(|| before.area.clone());
        self.text = text.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| before.text.clone());
        self.importance = importance.unwrap_or(before.importance).clamp(1, MOST_IMPORTANT);
        self.tags = tags.unwrap_or_else(|| before.tags.clone());
        self.active = active.unwrap_or(before.active);
        self.source = source.or_else(|| before.source.clone());
        if *self != before {
            self.updated_at = now;
        }
    }

    /// Returns all searchable text.
    pub fn said(&self) -> String {
        format!("{}\n{} {}", self.text, self.area, self.tags.join(" "))
    }

    fn rank(&self) -> (Reverse<u8>, Reverse<Time>, &str) {
        (Reverse(self.importance), Reverse(self.updated_at), &self.id)
    }

    fn line(&self, bytes: usize) -> String {
        format!("- {}: {}", one_line(&self.area, LINE_BYTES[1]), one_line(&self.text, bytes))
    }
}

impl MemoryQuery {
    /// `true` if the memory matches the filter; ignores `skip` and `limit`.
    pub fn wants(&self, memory: &Memory) -> bool {
        self.area.as_ref().is_none_or(|area| *area == memory.area)
            && self.active.is_none_or(|active| active == memory.active)
            && self.words.as_ref().is_none_or(|words| words.find(&memory.said()).is_some())
    }

    /// Returns the requested page, the most important first; among equals, the newest first.
    pub fn page(&self, memories: impl Iterator<Item = Memory>) -> MemoryPage {
        let mut all: Vec<Memory> = memories.filter(|memory| self.wants(memory)).collect();
        all.sort_by(|a, b| a.rank().cmp(&b.rank()));
        let end = self.skip.saturating_add(self.limit);
        let next = (end < all.len()).then_some(end);
        MemoryPage { memories: all.into_iter().skip(self.skip).take(self.limit).collect(), next }
    }
}

/// Renders memories under a budget in tokens; `None` if none is active or fits. The same memories give the
/// same bytes, in any input order.
pub fn remembered<'m>(
    memories: impl Iterator<Item = &'m Memory>,
    budget: u32,
    counter: &dyn TokenCount,
) -> Option<Remembered> {
    let mut active: Vec<&Memory> = memories.filter(|memory| memory.active).collect();
    active.sort_by_key(|memory| memory.rank());
    let core = render_lines(&active, budget, counter)?;
    let first = &active[..active.len().min(MOST_REMINDED)];
    let reminder = render_lines(first, budget, counter)?;
    Some(Remembered { core, reminder })
}

/// Renders memories relevant to a user's message under a budget in tokens, as a part of that message; `None`
/// if none is relevant. A memory must contain two words of the message or one long one; a word weighs more
/// the fewer memories contain it.
pub fn knowledge(memories: &[Memory], message: &str, budget: u32, counter: &dyn TokenCount) -> Option<Text> {
    let is_name_char = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let words =
        message.split(|c| !is_name_char(c)).map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    // At most 64, because every memory is searched for each.
    let words: Vec<Words> = words
        .filter(|word| word.chars().count() >= LEAST_WORD_CHARS)
        .map(|word| Words::of(&folded(word)))
        .take(64)
        .collect();
    let active: Vec<&Memory> = memories.iter().filter(|memory| memory.active).collect();
    let texts: Vec<String> = active.iter().map(|memory| memory.said()).collect();
    // For each memory a weight, which rare words raise most, and points: two for a long word, one for another.
    let mut weights = vec![(0_usize, 0_usize); active.len()];
    let mut seen: Vec<&Words> = Vec::new();
    for word in &words {
        if seen.contains(&word) {
            continue;
        }
        seen.push(word);
        let containing: Vec<usize> = (0..texts.len()).filter(|at| word.count(&texts[*at]) > 0).collect();
        let is_long = word.iter().any(|word| word.chars().count() >= LONG_WORD_CHARS);
        for at in &containing {
            weights[*at].0 += texts.len() * 100 / containing.len();
            weights[*at].1 += if is_long { 2 } else { 1 };
        }
    }
    let mut hits: Vec<(usize, &Memory)> = weights
        .into_iter()
        .zip(active)
        .filter(|((_, points), _)| *points >= 2)
        .map(|((weight, _), memory)| (weight, memory))
        .collect();
    hits.sort_by_key(|(weight, memory)| (Reverse(*weight), memory.rank()));
    let hits: Vec<&Memory> = hits.into_iter().take(MOST_ATTACHED).map(|(_, memory)| memory).collect();
    render_lines(&hits, budget, counter)
}

/// A line per memory in the given order, as many as fit below a heading; the rest is stated as a number.
fn render_lines(memories: &[&Memory], budget: u32, counter: &dyn TokenCount) -> Option<Text> {
    let joined = |lines: &[String]| match memories.len() - lines.len() {
        0 => lines.join("\n"),
        left => format!("{}\n[{left} more are kept and not shown here]", lines.join("\n")),
    };
    // A line break may be a token of its own.
    let weigh = |text: &str| counter.count(text).saturating_add(1);
    let budget = budget.saturating_sub(HEADING_TOKENS);
    let mut room = budget;
    let mut lines = Vec::new();
    for memory in memories {
        let mut forms = LINE_BYTES.into_iter().map(|bytes| memory.line(bytes));
        if let Some(line) = forms.find(|line| weigh(line) <= room) {
            room -= weigh(&line);
            lines.push(line);
        }
    }
    // Joined text may have more tokens than its parts, and the note on omitted memories adds some.
    while !lines.is_empty() && counter.count(&joined(&lines)) > budget {
        lines.pop();
    }
    (!lines.is_empty()).then(|| joined(&lines).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::QuarterOfChars;

    fn memory(id: &str, text: &str, importance: u8) -> Memory {
        let patch =
            MemoryPatch { text: Some(text.into()), importance: Some(importance), ..MemoryPatch::default() };
        Memory::new(id, patch, Time(1)).unwrap()
    }

    #[test]
    fn core_memories_fit_budget_and_are_deterministic() {
        let mut all: Vec<Memory> = (0..40)
            .map(|n| memory(&format!("m{n}"), &format!("fact {n} {}", "é word ".repeat(n)), n as u8 % 5 + 1))
            .collect();
        for budget in [0, 40, 60, 100, 500, 5000] {
            let made = remembered(all.iter(), budget, &QuarterOfChars);
            all.reverse();
            assert_eq!(remembered(all.iter(), budget, &QuarterOfChars), made);
            let Some(made) = made else {
                assert!(budget < 100);
                continue;
            };
            assert!(QuarterOfChars.count(&made.core) + HEADING_TOKENS <= budget, "{}", made.core);
        }
        let made = remembered(all.iter(), 100_000, &QuarterOfChars).unwrap();
        assert_eq!(made.reminder.lines().filter(|line| line.starts_with("- ")).count(), 5);
        assert_eq!(made.core.lines().filter(|line| line.starts_with("- ")).count(), 40);
        let first = made.core.lines().position(|line| line.contains("fact 4 ")).unwrap();
        let last = made.core.lines().position(|line| line.contains("fact 0")).unwrap();
        assert!(first < last, "the most important first");
        // Same count of memories, different text: the result must depend on the text.
        all[0].text = "changed".into();
        assert_ne!(remembered(all.iter(), 100_000, &QuarterOfChars).unwrap(), made);
        all.iter_mut().for_each(|memory| memory.active = false);
        assert_eq!(remembered(all.iter(), 500, &QuarterOfChars), None);
    }

    #[test]
    fn message_is_matched_with_relevant_memories() {
        let all = [
            memory("a", "The parser lives in src/parser.rs and has a table.", 1),
            memory("b", "Deployments happen on Fridays with this script.", 5),
            memory("c", "Use tabs in this project, always this way.", 3),
        ];
        let known = |says: &str| knowledge(&all, says, 500, &QuarterOfChars);
        let text = known("Please look at the parser table once more").unwrap();
        assert!(text.contains("src/parser.rs") && !text.contains("Fridays"), "{text}");
        assert!(known("fix src/parser.rs").is_some());
        for nothing in ["", "hello", "what is this", "\0 '' OR"] {
            assert_eq!(known(nothing), None, "{nothing}");
        }
        assert_eq!(knowledge(&all, "the parser table", 10, &QuarterOfChars), None, "the budget is too small");
    }

    #[test]
    fn patch_without_effect_changes_nothing() {
        let mut one = memory("a", "x", 9);
        assert_eq!((one.importance, one.area.as_str()), (5, DEFAULT_AREA));
        let before = one.clone();
        one.apply(
            MemoryPatch { active: Some(true), text: Some(" ".into()), ..MemoryPatch::default() },
            Time(9),
        );
        assert_eq!(one, before);
        one.apply(MemoryPatch { active: Some(false), ..MemoryPatch::default() }, Time(9));
        assert_eq!((one.active, one.updated_at, one.created_at), (false, Time(9), Time(1)));
        assert_eq!(Memory::new("b", MemoryPatch::default(), Time(1)), None);
    }
}
