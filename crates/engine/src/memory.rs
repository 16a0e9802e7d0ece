//! Memories of a workspace: values that outlive a session, their order, what of them stands in a prompt.
//! Everything here is made by code and never through a model. Where they are kept, and when a session reads them, is told
//! elsewhere.

use super::id::Time;
use super::message::Text;
use super::search::Words;
use super::text::one_line;
use super::tokens::TokenCount;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// The area of summaries that were made of sessions.
pub const SESSION_SUMMARY: &str = "session_summary";
/// The area of what is put nowhere else.
pub(crate) const DEFAULT_AREA: &str = "general";
pub(crate) const MOST_IMPORTANT: u8 = 5;
/// How important something is of which nobody says it.
const DEFAULT_IMPORTANCE: u8 = 3;

/// Tokens of a section's budget that are left for the heading above it, which says that it is background.
const HEADING_TOKENS: u32 = 40;

/// Bytes of a memory that one line shows, and of one that would not fit otherwise.
const LINE_BYTES: [usize; 2] = [600, 120];
/// Memories that a reminder shows.
const REMINDED: usize = 5;
/// Memories that stand with a message at most.
const KNOWN: usize = 5;
/// Characters of the shortest word of a message that is looked for.
const LEAST_WORD: usize = 4;
/// Characters of a word that says enough by itself.
const TELLING_WORD: usize = 7;

/// Something that is remembered for a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// Its id, one of its workspace.
    pub id: String,
    /// What it belongs to.
    pub area: String,
    /// What is remembered.
    pub text: Text,
    /// From 1 to [`MOST_IMPORTANT`].
    pub importance: u8,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Whether prompts may show it.
    pub active: bool,
    /// What it was made of, such as a compaction's id.
    pub source: Option<String>,
    /// When it was made.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

/// A change of a memory, or a new one. What is not given stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryPatch {
    /// See [`Memory::area`].
    pub area: Option<String>,
    /// See [`Memory::text`].
    pub text: Option<Text>,
    /// See [`Memory::importance`]; brought into its bounds.
    pub importance: Option<u8>,
    /// See [`Memory::tags`].
    pub tags: Option<Vec<String>>,
    /// See [`Memory::active`].
    pub active: Option<bool>,
    /// See [`Memory::source`].
    pub source: Option<String>,
}

/// Which memories are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryQuery {
    /// Of this area only.
    pub area: Option<String>,
    /// Active ones only, or only those that are not.
    pub active: Option<bool>,
    /// Those whose text, tags or area hold all of these words. No words at all find nothing.
    pub words: Option<Words>,
    /// Behind so many others.
    pub skip: usize,
    /// At most this many.
    pub limit: usize,
}

/// A page of memories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryPage {
    /// The most important first.
    pub memories: Vec<Memory>,
    /// Where the next page begins, as [`MemoryQuery::skip`]; nothing where this is the last.
    pub next: Option<usize>,
}

/// What of its workspace's memories a session's prompts show, as it was when they were last read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remembered {
    /// The section with all of them, under its budget.
    pub core: Text,
    /// The most important ones, for the end of the system text.
    pub reminder: Text,
}

impl Memory {
    /// A new one; nothing where the change says nothing that could be remembered.
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

    /// Changes it. A change that says what is there leaves it as it is, its time too.
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

    /// All that can be searched of it.
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
    /// Whether this one is wanted.
    pub fn wants(&self, memory: &Memory) -> bool {
        self.area.as_ref().is_none_or(|area| *area == memory.area)
            && self.active.is_none_or(|active| active == memory.active)
            && self.words.as_ref().is_none_or(|words| words.find(&memory.said()).is_some())
    }

    /// The page of these memories that is wanted, in the order of their importance; among equals the newest first.
    pub fn page(&self, memories: impl Iterator<Item = Memory>) -> MemoryPage {
        let mut all: Vec<Memory> = memories.filter(|memory| self.wants(memory)).collect();
        all.sort_by(|a, b| a.rank().cmp(&b.rank()));
        let end = self.skip.saturating_add(self.limit);
        let next = (end < all.len()).then_some(end);
        MemoryPage { memories: all.into_iter().skip(self.skip).take(self.limit).collect(), next }
    }
}

/// What prompts show of these memories under a budget in tokens; nothing where there are none. The same memories give
/// the same bytes, in whatever order they come.
pub fn remembered<'m>(
    memories: impl Iterator<Item = &'m Memory>,
    budget: u32,
    counter: &dyn TokenCount,
) -> Option<Remembered> {
    let mut active: Vec<&Memory> = memories.filter(|memory| memory.active).collect();
    active.sort_by_key(|memory| memory.rank());
    let core = listed(&active, budget, counter)?;
    let first = &active[..active.len().min(REMINDED)];
    let reminder = listed(first, budget, counter)?;
    Some(Remembered { core, reminder })
}

/// Memories that bear on what a user says, under a budget in tokens, as a part of the message; nothing where none does.
/// A word counts the more the fewer memories hold it.
pub fn knowledge(memories: &[Memory], says: &str, budget: u32, counter: &dyn TokenCount) -> Option<Text> {
    let of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let words = says.split(|c| !of_name(c)).map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let words: Vec<Words> =
        words.filter(|word| word.chars().count() >= LEAST_WORD).map(Words::of).take(64).collect();
    let active: Vec<&Memory> = memories.iter().filter(|memory| memory.active).collect();
    let texts: Vec<String> = active.iter().map(|memory| memory.said()).collect();
    let mut weights = vec![(0_usize, 0_usize); active.len()];
    let mut seen: Vec<&Words> = Vec::new();
    for word in &words {
        if seen.contains(&word) {
            continue;
        }
        seen.push(word);
        let held: Vec<usize> = (0..texts.len()).filter(|at| word.count(&texts[*at]) > 0).collect();
        let is_telling = word.iter().any(|word| word.chars().count() >= TELLING_WORD);
        for at in &held {
            weights[*at].0 += texts.len() * 100 / held.len();
            weights[*at].1 += if is_telling { 2 } else { 1 };
        }
    }
    let mut hits: Vec<(usize, &Memory)> = weights
        .into_iter()
        .zip(active)
        .filter(|((_, told), _)| *told >= 2)
        .map(|((weight, _), memory)| (weight, memory))
        .collect();
    hits.sort_by_key(|(weight, memory)| (Reverse(*weight), memory.rank()));
    let hits: Vec<&Memory> = hits.into_iter().take(KNOWN).map(|(_, memory)| memory).collect();
    listed(&hits, budget, counter)
}

/// A line for each memory in their order, as many as fit below a heading. What does not fit is counted.
fn listed(memories: &[&Memory], budget: u32, counter: &dyn TokenCount) -> Option<Text> {
    let with = |lines: &[String]| match memories.len() - lines.len() {
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
    // Text that is joined may weigh more than its parts, and what was left out is told too.
    while !lines.is_empty() && counter.count(&with(&lines)) > budget {
        lines.pop();
    }
    (!lines.is_empty()).then(|| with(&lines).into())
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
    fn core_memories_stay_under_their_budget_and_are_the_same_bytes_from_the_same_memories() {
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
        // The same number of memories, another text: nothing may go by the number.
        all[0].text = "changed".into();
        assert_ne!(remembered(all.iter(), 100_000, &QuarterOfChars).unwrap(), made);
        all.iter_mut().for_each(|memory| memory.active = false);
        assert_eq!(remembered(all.iter(), 500, &QuarterOfChars), None);
    }

    #[test]
    fn a_message_brings_the_memories_that_bear_on_it() {
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
        assert_eq!(knowledge(&all, "the parser table", 10, &QuarterOfChars), None, "no room");
    }

    #[test]
    fn a_change_that_says_nothing_new_changes_nothing() {
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
