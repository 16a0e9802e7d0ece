//! What a command checks, whatever filters its output: `cargo clippy 2>&1 | tail -20` and `cd app && cargo clippy` check
//! the same.

use super::test_run::reads_only;

/// Words before a program that change nothing about what it checks.
const BEFORE: &[&str] = &["command", "env", "exec", "sudo", "time"];

/// `true` if a command that ended well checks all that another one checked.
pub(super) fn covers(passed: &str, failed: &str) -> bool {
    let (passed_parts, failed_parts) = (parts(passed), parts(failed));
    // Of a list without `&&` the outcome is that of the last part.
    let is_chain = !passed.contains("||") && !passed.contains([';', '\n']);
    match is_chain {
        _ if failed_parts.is_empty() => false,
        true => failed_parts.iter().all(|part| passed_parts.contains(part)),
        false => passed_parts == failed_parts,
    }
}

/// The parts that check something, without redirections.
fn parts(command: &str) -> Vec<Vec<&str>> {
    // An ampersand of `2>&1` separates nothing.
    let parts = command.split([';', '|', '\n']).flat_map(|part| part.split("&&"));
    let checks = parts.filter_map(|part| {
        let mut words = Vec::new();
        let mut is_target = false;
        for word in part.split_whitespace() {
            if std::mem::take(&mut is_target) {
                continue;
            }
            match word.find('>') {
                Some(_) => is_target = word.ends_with('>'),
                None => words.push(word),
            }
        }
        let start = words.iter().position(|word| !BEFORE.contains(word))?;
        let words = words.split_off(start);
        let program = words.first()?.rsplit('/').next()?;
        (!reads_only(program)).then_some(words)
    });
    checks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_and_folders_do_not_make_another_check() {
        for (passed, failed) in [
            ("cargo clippy 2>&1 | tail -5", "cargo clippy"),
            ("cargo clippy", "cd app && cargo clippy 2>&1 | grep -A3 error"),
            ("cargo fmt && cargo clippy && cargo test", "cargo clippy > out.txt"),
            ("time ./node_modules/.bin/tsc --noEmit", "./node_modules/.bin/tsc --noEmit | head -40"),
        ] {
            assert!(covers(passed, failed), "{passed} covers {failed}");
        }
    }

    #[test]
    fn narrower_and_uncertain_runs_cover_nothing() {
        for (passed, failed) in [
            ("cargo clippy", "cargo fmt --check && cargo clippy"),
            ("cargo clippy -p a", "cargo clippy -p b"),
            ("cargo clippy || true", "cargo clippy && cargo test"),
            ("cargo clippy; cargo test", "cargo clippy"),
            ("cat a.txt", "cat b.txt"),
        ] {
            assert!(!covers(passed, failed), "{passed} does not cover {failed}");
        }
    }
}
