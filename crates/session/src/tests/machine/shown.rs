//! The conversation as prompts show it, step by step: nothing is lost unreported, pairs stay together, and an
//! undo restores what was shown before.

use crate::event::Phase;
use engine::id::CompactionId;
use engine::prompt::coverage::coverage;
use engine::prompt::item::{Item, Role};
use engine::prompt::linearize::pair_faults;
use engine::prompt::system::Fixed;
use engine::prompt::{self, Source};
use engine::settings::BudgetSettings;
use engine::transcript::Transcript;
use std::collections::BTreeMap;

/// The prompts after the last step, and before each compaction that may be undone.
#[derive(Default)]
pub struct Shown {
    last: Prompt,
    before: BTreeMap<CompactionId, Prompt>,
    /// The number of changes to the past.
    cuts: u32,
}

/// A prompt, and the number of messages in the session at the time.
#[derive(Default, Clone)]
struct Prompt {
    items: Vec<Item>,
    messages: usize,
}

impl Prompt {
    /// Returns `true` if these items begin with all of it. A result that came since may replace its stand-in:
    /// no model was asked with the stand-in.
    fn begins(&self, now: &[Item]) -> bool {
        let came_since = |before: &Item, now: &Item| {
            let is_stand_in = before.role == Role::Tool && before.sources.is_empty();
            let is_newer = !now.sources.is_empty()
                && now.sources.iter().all(|source| source.ord.index() >= self.messages);
            is_stand_in && is_newer && now.call_id == before.call_id
        };
        let mut pairs = self.items.iter().zip(now);
        self.items.len() <= now.len() && pairs.all(|(before, now)| before == now || came_since(before, now))
    }
}

impl Shown {
    /// Checks a step with these compaction updates; returns `true` if one was undone and compared.
    pub fn look(&mut self, transcript: &Transcript, updates: &[(Phase, CompactionId)]) -> bool {
        let budget = BudgetSettings::default().budget(400_000).expect("a budget");
        let source = Source { transcript, fixed: &Fixed::default(), budget };
        let prompt = prompt::draft(source, transcript.in_force());
        let lost = coverage(transcript, transcript.in_force(), &prompt).unaccounted;
        assert_eq!(lost, 0, "a message is neither shown nor reported");
        assert_eq!(pair_faults(&prompt.items), []);
        // A change of the past changes what an undo restores.
        let is_cut = std::mem::replace(&mut self.cuts, transcript.cuts()) != transcript.cuts();
        if is_cut {
            self.before.clear();
        }
        let is_replaced = updates.iter().any(|(phase, _)| *phase == Phase::Undone);
        let mut is_compared = false;
        for (phase, id) in updates {
            match phase {
                // The prompt between a cut and a compaction in the same step is not known here, nor the one before a
                // record that comes back with the undo of another.
                Phase::Accepted if is_cut || is_replaced => {}
                Phase::Accepted => drop(self.before.entry(id.clone()).or_insert_with(|| self.last.clone())),
                Phase::Undone => {
                    // A replaced record may come back, and with it the prompt before that one.
                    if updates.len() != 1 {
                        continue;
                    }
                    let Some(before) = self.before.remove(id) else { continue };
                    assert!(
                        before.begins(&prompt.items),
                        "{id}: {:#?} became {:#?}",
                        before.items,
                        prompt.items
                    );
                    is_compared = true;
                }
                _ => {}
            }
        }
        self.last = Prompt { items: prompt.items, messages: transcript.messages().len() };
        is_compared
    }
}
