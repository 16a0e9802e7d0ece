//! Every built-in policy over every transcript, judged only by the output of `replay --json` and `measure`: prompts
//! extend the previous one, compactions come no sooner than new tokens do, and needed names are kept. The content of
//! the prompts is tested by the checker.

use super::{FILES, threadhold, transcripts};
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
}

impl Compacted {
    fn of(line: &Value) -> Self {
        let tokens = |key: &str| line[key].as_u64().unwrap_or_else(|| panic!("{key}: {line}"));
        let (before, after) = (tokens("tokensBefore"), tokens("tokensAfter"));
        Self { before, after, target: tokens("target"), dropped: line["mode"] == "dropped" }
    }
}

/// Checks one line. `compacts` is `false` for a policy that never compacts.
fn judged(line: &Value, name: &str, compacts: bool) {
    let limit = line["limit"].as_u64().unwrap();
    let new = line["messageTokens"].as_u64().unwrap();
    let made: Vec<Compacted> = line["compactions"].as_array().unwrap().iter().map(Compacted::of).collect();
    assert_eq!(
        (&line["prefix"]["shareBetweenBreaks"], &line["overBudget"]),
        (&1.0.into(), &0.into()),
        "{name}"
    );
    assert_eq!(line["prefix"]["breaks"], made.len(), "{name}: nothing else breaks a prefix here");
    if !compacts {
        assert!(made.is_empty(), "{name}");
        return;
    }
    for one in &made {
        assert!(one.after < one.before && one.after <= one.target && one.target <= limit, "{name}: {one:?}");
        // Only the last stage may aim at the limit.
        assert!(one.target < limit || one.dropped, "{name}: {one:?}");
    }
    // One by one: the next comes only after as many new tokens as lie between target and limit.
    for two in made.windows(2) {
        let came = two[1].before - two[0].after;
        assert!(came >= limit - two[0].target, "{name}: again after {came} new tokens, {two:?} of {limit}");
    }
    // All together: the bound on their number.
    let Some(least) = made.iter().map(|one| limit - one.target).min() else { return };
    let bound = new.div_ceil(least.max(1)) + 1;
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
            judged(line, &name, preset.policy.enabled);
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

/// Minimum recall without any model, which must also exceed that of a raw tail of at most the same size; with one
/// search for each missing name, at least 0.99.
#[test]
fn names_needed_by_later_calls_are_kept_or_found() {
    let Some(transcripts) = transcripts() else { return };
    let file = transcripts.join(LONG).display().to_string();
    for (window, goal) in [("16000", 0.85), ("32000", 0.97), ("64000", 0.99)] {
        let ran = threadhold(["measure", &file, "--window", window, "--json"]);
        let [line] = &ran.lines()[..] else { panic!("{window}: not one line: {}", ran.err) };
        let recall = |policy: &str| {
            let rows = line["rows"].as_array().unwrap();
            let row = rows.iter().find(|row| row["of"]["policy"] == policy);
            row.and_then(|row| row["recall"].as_f64()).unwrap_or_else(|| panic!("{window} {policy}: {line}"))
        };
        let (own, tail) = (recall("default"), recall("raw tail of the same size"));
        let searched = recall("default and a search");
        println!("{window}: raw tail {tail:.3}, default {own:.3}, with a search {searched:.3}");
        assert!(own >= goal && own > tail && searched >= 0.99, "{window}: {tail} {own} {searched}");
    }
}
