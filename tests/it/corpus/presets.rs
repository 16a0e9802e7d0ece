//! Every built-in policy over every transcript, judged only by the output of `replay --json` and `measure`: prompts
//! extend the previous one, compactions come no sooner than new tokens, turns or messages do, and needed names are kept. The content of
//! the prompts is tested by the checker.

use super::{FILES, threadhold, transcripts};
use engine::compact::policy::Policy;
use engine::compact::policy::presets::ALL;
use serde_json::Value;

/// The session that must keep nine tenths of its prefixes at a window of 32,000.
const LONG: &str = "pi-large-session.jsonl";

/// A compaction in the output of `replay --json`, in tokens.
#[derive(Debug)]
struct Compacted {
    before: u64,
    after: u64,
    target: u64,
    dropped: bool,
    trigger: String,
}

impl Compacted {
    fn of(line: &Value) -> Self {
        let tokens = |key: &str| line[key].as_u64().unwrap_or_else(|| panic!("{key}: {line}"));
        let (before, after) = (tokens("tokensBefore"), tokens("tokensAfter"));
        let trigger = line["trigger"].as_str().unwrap_or_else(|| panic!("trigger: {line}")).to_owned();
        Self { before, after, target: tokens("target"), dropped: line["mode"] == "dropped", trigger }
    }

    /// `true` if the number of turns or messages started it, whatever their size.
    fn is_by_count(&self) -> bool {
        ["userTurns", "messages"].contains(&&*self.trigger)
    }
}

/// Checks one line of a replay under this policy.
fn judged(line: &Value, name: &str, policy: &Policy) {
    let limit = line["limit"].as_u64().unwrap();
    let new = line["messageTokens"].as_u64().unwrap();
    let made: Vec<Compacted> = line["compactions"].as_array().unwrap().iter().map(Compacted::of).collect();
    assert_eq!(
        (&line["prefix"]["shareBetweenBreaks"], &line["overBudget"]),
        (&1.0.into(), &0.into()),
        "{name}"
    );
    assert_eq!(line["prefix"]["breaks"], made.len(), "{name}: nothing else breaks a prefix here");
    if !policy.enabled {
        assert!(made.is_empty(), "{name}");
        return;
    }
    for one in &made {
        assert!(one.after < one.before && one.after <= one.target && one.target <= limit, "{name}: {one:?}");
        // Only the last stage may aim at the limit.
        assert!(one.target < limit || one.dropped, "{name}: {one:?}");
    }
    // One by one: the next comes only after as many new tokens as lie between target and limit, or as many new turns or
    // messages as the policy says.
    for two in made.windows(2).filter(|two| !two[1].is_by_count()) {
        let came = two[1].before - two[0].after;
        assert!(came >= limit - two[0].target, "{name}: again after {came} new tokens, {two:?} of {limit}");
    }
    // All together: the bound on their number.
    let Some(least) = made.iter().map(|one| limit - one.target).min() else { return };
    let times = |count: &str, most: Option<u32>| {
        most.map_or(0, |most| {
            line[count].as_u64().unwrap_or_else(|| panic!("{count}: {line}")) / u64::from(most)
        })
    };
    let by_count = times("turns", policy.triggers.user_turns) + times("messages", policy.triggers.messages);
    let counted = made.iter().filter(|one| one.is_by_count()).count() as u64;
    assert!(counted <= by_count, "{name}: {counted} compactions by count, {by_count} are allowed");
    let bound = new.div_ceil(least.max(1)) + 1 + by_count;
    assert!(made.len() as u64 <= bound, "{name}: {} compactions, {bound} are allowed", made.len());
}

/// Replays all transcripts under all policies at one window.
fn every_preset(window: u32) {
    let Some(transcripts) = transcripts() else { return };
    let files = FILES.map(|(name, ..)| transcripts.join(name).display().to_string());
    for preset in ALL {
        let policy = &*preset.policy.name;
        let plain = ["replay", "--json", "--policy", policy, "--window", &window.to_string()];
        let ran = threadhold(plain.into_iter().chain(files.iter().map(String::as_str)));
        let lines = ran.lines();
        assert_eq!(lines.len(), FILES.len(), "{policy}: {}", ran.err);
        for ((file, ..), line) in FILES.iter().zip(&lines) {
            let name = format!("{file} at {window} under {policy}");
            judged(line, &name, &preset.policy);
            println!(
                "{name}: {} compactions, {}",
                line["compactions"].as_array().unwrap().len(),
                line["prefix"]
            );
            if *file == LONG && window == 32_000 {
                assert!(line["prefix"]["share"].as_f64() >= Some(0.9), "{name}: {}", line["prefix"]);
                assert!(!preset.policy.enabled || line["prefix"]["breaks"].as_u64() >= Some(5), "{name}");
            }
        }
    }
}

#[test]
fn presets_at_16_000_bound_compactions_and_keep_prefixes() {
    every_preset(16_000);
}

#[test]
fn presets_at_32_000_bound_compactions_and_keep_prefixes() {
    every_preset(32_000);
}

#[test]
fn presets_at_64_000_bound_compactions_and_keep_prefixes() {
    every_preset(64_000);
}

/// Minimum share of the needed names without any model, which must also exceed that of a raw tail of at most the same
/// size.
#[test]
fn names_needed_by_later_calls_are_kept() {
    let Some(transcripts) = transcripts() else { return };
    let file = transcripts.join(LONG).display().to_string();
    for (window, goal) in [("16000", 0.85), ("32000", 0.97), ("64000", 0.99)] {
        let ran = threadhold(["measure", &file, "--window", window, "--json"]);
        let [line] = &ran.lines()[..] else { panic!("{window}: not one line: {}", ran.err) };
        let kept = |policy: &str| {
            let rows = line["rows"].as_array().unwrap();
            let row = rows.iter().find(|row| row["policy"] == policy);
            let names = row.map(|row| (row["names"]["held"].as_f64(), row["names"]["needed"].as_f64()));
            let Some((Some(held), Some(needed))) = names else { panic!("{window} {policy}: {line}") };
            held / needed
        };
        let (own, tail) = (kept("default"), kept("raw tail of the same size"));
        println!("{window}: raw tail {tail:.3}, default {own:.3}");
        assert!(own >= goal && own > tail, "{window}: {tail} {own}");
    }
}
