//! The prefix of prompts: when changes to system text, memories and placement take effect.

use crate::input::Input;
use crate::memories::MemorySettings;
use crate::settings::Settings;
use crate::stored::Driver;
use crate::tests::bench::{Bench, settings, text};
use engine::compact::policy::LAST_TURNS;
use engine::compact::record::Placement;
use engine::id::Time;
use engine::memory::{Memory, MemoryPatch};
use engine::message::Text;
use engine::prompt::item::{Item, Role};
use engine::prompt::order::{SystemPrompt, SystemText};

fn with(system: SystemText) -> Settings {
    Settings { system, ..settings() }
}

fn role(role: &str) -> SystemText {
    SystemText { role: Some(role.into()), ..SystemText::default() }
}

/// Returns the items that a model is asked with now.
fn items(bench: &Bench) -> &[Item] {
    &bench.asked.last().expect("a model is asked").2
}

fn of_system(bench: &Bench) -> Vec<Text> {
    let system = items(bench).iter().filter(|item| item.role == Role::System);
    system.flat_map(Item::texts).cloned().collect()
}

#[test]
fn each_session_has_its_own_role() {
    for said in ["You review.", "You plan."] {
        let mut bench = Bench::with(Driver::Sidecar, with(role(said)), Vec::new());
        bench.asks("go");
        assert_eq!(of_system(&bench), [Text::from(said)]);
    }
}

/// A setting applies from the next prompt on, and leaves nothing behind when it is withdrawn.
#[test]
fn system_text_setting_applies_from_the_next_prompt() {
    let mut bench = Bench::with(Driver::Sidecar, with(role("You review.")), Vec::new());
    bench.asks("go");
    bench.says("done", &[]);
    let capped = SystemText { iteration_budget: Some(7), ..role("You plan.") };
    bench.step(Input::Settings(Box::new(with(capped))));
    bench.asks("again");
    let said = of_system(&bench);
    assert_eq!(said[0], Text::from("You plan."));
    assert!(said[1].starts_with("# ITERATION BUDGET\n") && said[1].contains("at most 7 rounds"), "{said:?}");
    bench.says("done", &[]);
    bench.step(Input::Settings(Box::new(with(SystemText::default()))));
    bench.asks("once more");
    assert_eq!(of_system(&bench), Vec::<Text>::new());
}

/// Memories read during a session go into its next turn or wait, as the setting says.
#[test]
fn changed_memories_wait_while_the_prefix_is_frozen() {
    for (when, shown) in [(SystemPrompt::Frozen, "one"), (SystemPrompt::PerTurn, "two")] {
        let memory = MemorySettings { core: Some(500), ..MemorySettings::default() };
        let settings = Settings { system_prompt: when, policy: LAST_TURNS, memory, ..settings() };
        let mut bench = Bench::with(Driver::Sidecar, settings, Vec::new());
        let read = |text: &str| {
            let patch = MemoryPatch { text: Some(text.into()), ..MemoryPatch::default() };
            Input::Memories(Memory::new("m", patch, Time(0)).into_iter().collect())
        };
        bench.step(read("one"));
        bench.asks("go");
        assert!(of_system(&bench)[0].contains("one"));
        bench.step(read("two"));
        bench.says("done", &[]);
        bench.asks("again");
        assert!(of_system(&bench)[0].contains(shown), "{when:?}");
    }
}

/// The block in force moves to its new place once, and a new process shows the same.
#[test]
fn a_switched_placement_moves_the_block_once() {
    let mut bench = Bench::new(Driver::Sidecar);
    while bench.session.transcript().in_force().is_none() {
        bench.asks(&text(900));
        while !bench.asked.is_empty() {
            bench.says("done", &[]);
        }
    }
    let block = |bench: &Bench| bench.session.transcript().in_force().expect("a record").clone();
    let made = bench.session.transcript().compactions().len();
    let first = block(&bench);
    assert!(!first.block.is_empty());
    let mut settings = settings();
    settings.policy.placement = Placement::SystemPromptTail;
    bench.step(Input::Settings(Box::new(settings)));
    let mut seen = Vec::new();
    for turn in 0..3 {
        bench.asks(&format!("go on {turn}"));
        seen.push(of_system(&bench));
        let said: String = items(&bench).iter().flat_map(Item::texts).map(|text| text.to_string()).collect();
        assert_eq!(said.matches("[Archived Context Summary]").count(), 1);
        assert_eq!(said.matches("<conversation-summary>").count(), 0, "nothing of the old place is left");
        bench.says("done", &[]);
    }
    assert_eq!(bench.session.transcript().compactions().len(), made + 1, "one record more");
    assert_eq!(block(&bench).previous, Some(first.id));
    assert!(seen.windows(2).all(|two| two[0] == two[1]), "and it stays as it is");
    bench.another_process();
    bench.asks("and now?");
    assert_eq!(of_system(&bench), seen[0], "also in a new process");
}
