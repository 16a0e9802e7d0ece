//! Another renderer of prompts over sessions of the same length, where it is installed. `PROMPT_TSX` names a
//! folder with its `gen.js`, which writes a transcript, and `bench.js`, which prints medians as JSON.

use crate::folder::Folder;
use crate::sessions::WINDOW;
use crate::table::Table;
use serde_json::Value;
use std::process::Command;

/// The most rounds: it renders anew what did not change, so longer sessions take hours.
const MOST: usize = 5_000;

/// Adds its rows, if it is there.
pub fn put(table: &mut Table, rounds: usize) {
    let Some(peer) = std::env::var_os("PROMPT_TSX").filter(|_| rounds <= MOST) else { return };
    let node = || {
        let mut command = Command::new("node");
        command.current_dir(&peer);
        command
    };
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path()).expect("a folder can be made");
    let transcript = folder.path().join("transcript.json");
    let made = output(node().args(["gen.js", "--rounds", &rounds.to_string()]));
    std::fs::write(&transcript, made).expect("it can be written");
    let (budget, repeat) = (WINDOW.to_string(), if rounds > 500 { "1" } else { "5" });
    for strategy in ["prune", "summary"] {
        let options = ["--strategy", strategy, "--budget", &budget, "--repeat", repeat];
        let told = output(node().args(["--expose-gc", "bench.js"]).arg(&transcript).args(options));
        let told: Value = serde_json::from_slice(&told).expect("JSON");
        for (phase, what) in [("cold", "first prompt"), ("append", "append a round, make the prompt")] {
            let what = format!("prompt-tsx, {strategy}: {what}");
            table.put(rounds, &what, "ms", told[phase]["ms"].as_f64(), "");
        }
    }
}

/// Standard output of a command.
fn output(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("node starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
