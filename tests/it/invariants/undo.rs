//! Undo restores the bytes of the prompt before the compaction, followed by the messages since, in any session and
//! under any placement. The sessions are `generate`'s.

use super::expect::Said;
use super::generate::Case;
use engine::compact::policy::Policy;
use engine::compact::record::{Compaction, Placement, Status};
use engine::id::CompactionId;
use engine::prompt::system::Fixed;
use engine::prompt::{self, Source};
use engine::settings::{Budget, BudgetSettings};
use engine::tokens::TokenCount;
use engine::transcript::Transcript;
use models::Model;
use models::scripted::Scripted;
use threadhold::replay::{Options, Render, Watch, replay};

/// The items of the prompt before each compaction.
struct Undoing {
    fixed: Option<(Fixed, Budget)>,
    before: Vec<(CompactionId, Vec<Said>)>,
    undone: usize,
}

fn items(transcript: &Transcript, (fixed, budget): &(Fixed, Budget)) -> Vec<Said> {
    let source = Source { transcript, fixed, budget: *budget };
    prompt::draft(source, transcript.in_force()).items.iter().map(Said::from).collect()
}

impl Watch for Undoing {
    fn compacted(&mut self, before: Source<'_>, record: &Compaction) {
        let context = (before.fixed.clone(), before.budget);
        self.before.push((record.id.clone(), items(before.transcript, &context)));
        self.fixed = Some(context);
    }

    fn rendered(&mut self, render: &Render<'_>) {
        let Some(context) = &self.fixed else { return };
        let mut transcript = render.transcript.clone();
        // All of them, the newest first: each undo restores the prompt before its compaction.
        for (id, before) in self.before.iter().rev() {
            assert_eq!(transcript.in_force().map(|record| &record.id), Some(id));
            transcript.set_status(id, Status::Undone);
            let now = items(&transcript, context);
            assert_eq!(now.get(..before.len()), Some(&before[..]), "undoing {id} gives other bytes");
            self.undone += 1;
        }
        assert!(transcript.in_force().is_none());
    }
}

/// Replays a case, undoes all its compactions at each render, and returns the number of undos.
pub fn hold_undone(case: &Case, placement: Placement, counter: &dyn TokenCount) -> usize {
    let options = Options {
        window: case.window,
        policy: Policy { placement, ..case.policy.clone() },
        budget: BudgetSettings::default(),
        max_result: case.max_result,
        recorded: false,
    };
    let mut model = case.summarizer.map(|_| -> Box<dyn Model> { Box::new(Scripted::echo()) });
    let mut watch = Undoing { fixed: None, before: Vec::new(), undone: 0 };
    replay(&case.import, &options, counter, &mut model, &mut watch).expect("a window");
    watch.undone
}
