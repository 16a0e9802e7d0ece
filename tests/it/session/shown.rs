//! What the prompt of a session shows of the conversation, step after step: nothing is lost without a word, pairs stay
//! together, and an undo gives back what was shown before.

use std::collections::BTreeMap;
use threadhold::engine::id::CompactionId;
use threadhold::engine::prompt::coverage::coverage;
use threadhold::engine::prompt::item::Item;
use threadhold::engine::prompt::linearize::pair_faults;
use threadhold::engine::prompt::system::Fixed;
use threadhold::engine::prompt::{self, Source};
use threadhold::engine::session::event::Phase;
use threadhold::engine::settings::BudgetSettings;
use threadhold::engine::transcript::Transcript;

/// What was shown after the last step, and before each compaction that may be undone.
#[derive(Default)]
pub struct Shown {
    items: Vec<Item>,
    before: BTreeMap<CompactionId, Vec<Item>>,
    /// How often the past changed.
    cuts: u32,
}

impl Shown {
    /// Looks at a step that told this of compactions; whether one was undone and compared.
    pub fn look(&mut self, transcript: &Transcript, updates: &[(Phase, CompactionId)]) -> bool {
        let budget = BudgetSettings::default().budget(400_000).expect("a budget");
        let source = Source { transcript, fixed: &Fixed::default(), budget };
        let prompt = prompt::draft(source, transcript.in_force());
        let lost = coverage(transcript, transcript.in_force(), &prompt).unaccounted;
        assert_eq!(lost, 0, "a message is neither shown nor reported");
        assert_eq!(pair_faults(&prompt.items), []);
        // What changed the past changed what an undo gives back.
        let is_cut = std::mem::replace(&mut self.cuts, transcript.cuts()) != transcript.cuts();
        if is_cut {
            self.before.clear();
        }
        let mut is_compared = false;
        for (phase, id) in updates {
            match phase {
                // What was shown between a cut and a compaction of one step is not known here.
                Phase::Accepted if is_cut => {}
                Phase::Accepted => drop(self.before.entry(id.clone()).or_insert_with(|| self.items.clone())),
                Phase::Undone => {
                    // One that another takes the place of may come back, and what stood before it with it.
                    if updates.len() != 1 {
                        continue;
                    }
                    let Some(before) = self.before.remove(id) else { continue };
                    assert_eq!(prompt.items.get(..before.len()), Some(&before[..]), "P6: {id}");
                    is_compared = true;
                }
                _ => {}
            }
        }
        self.items = prompt.items;
        is_compared
    }
}
