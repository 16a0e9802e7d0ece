//! Values and their tables: medians, the exponent over the length of a session, rows in Markdown.

use std::io::Write;
use std::time::{Duration, Instant};

/// Rows of values by number of rounds.
pub struct Table {
    sizes: Vec<usize>,
    rows: Vec<Row>,
}

struct Row {
    what: String,
    unit: &'static str,
    goal: &'static str,
    values: Vec<Option<f64>>,
}

impl Table {
    /// A table with a column for each number of rounds.
    pub fn new(sizes: &[usize]) -> Self {
        Self { sizes: sizes.to_vec(), rows: Vec::new() }
    }

    /// Sets the value of a row at this number of rounds; `None` if it could not be measured.
    pub fn put(
        &mut self,
        rounds: usize,
        what: &str,
        unit: &'static str,
        value: impl Into<Option<f64>>,
        goal: &'static str,
    ) {
        let at = self.rows.iter().position(|row| row.what == what).unwrap_or_else(|| {
            let values = vec![None; self.sizes.len()];
            self.rows.push(Row { what: what.to_owned(), unit, goal, values });
            self.rows.len() - 1
        });
        let value = value.into();
        for (size, cell) in self.sizes.iter().zip(&mut self.rows[at].values) {
            if *size == rounds {
                *cell = value;
            }
        }
    }

    /// Prints all rows.
    pub fn print(&self) {
        self.print_by("rounds");
    }

    /// Prints all rows of a table whose columns are numbers of something else.
    pub fn print_by(&self, sizes_of: &str) {
        let sizes: Vec<String> = self.sizes.iter().map(|size| grouped(*size)).collect();
        say(&format!("| what | {} {sizes_of} | exponent | goal |", sizes.join(" | ")));
        say(&format!("|---|{}---|---|", "---:|".repeat(sizes.len())));
        for row in &self.rows {
            let show = |value: f64| match row.unit {
                "" => format!("{value:.0}"),
                unit => format!("{} {unit}", short(value)),
            };
            let values = row.values.iter().map(|value| value.map_or_else(|| "–".to_owned(), show));
            let values: Vec<String> = values.collect();
            let exponent = exponent(&self.sizes, &row.values);
            let exponent = exponent.map_or_else(|| "–".to_owned(), |exponent| format!("{exponent:.2}"));
            say(&format!("| {} | {} | {exponent} | {} |", row.what, values.join(" | "), row.goal));
        }
    }
}

/// The exponent of the power of the number of rounds that fits best: 0 is flat, 1 is linear.
fn exponent(sizes: &[usize], values: &[Option<f64>]) -> Option<f64> {
    let logs = sizes.iter().zip(values).filter_map(|(size, value)| {
        value.filter(|value| *value > 0.0).map(|value| ((*size as f64).ln(), value.ln()))
    });
    let logs: Vec<(f64, f64)> = logs.collect();
    let count = logs.len() as f64;
    let middle = |all: f64| all / count;
    let (x, y) = (middle(logs.iter().map(|log| log.0).sum()), middle(logs.iter().map(|log| log.1).sum()));
    let spread: f64 = logs.iter().map(|log| (log.0 - x).powi(2)).sum();
    let slope: f64 = logs.iter().map(|log| (log.0 - x) * (log.1 - y)).sum();
    // Without a sign if it rounds to nothing.
    (spread > 0.0).then(|| (slope / spread * 100.0).round() / 100.0 + 0.0)
}

/// Prints the head of a table of single values.
pub fn head() {
    say("| what | value | beside | ratio | goal |");
    say("|---|---:|---:|---:|---|");
}

/// Prints a row of such a table.
pub fn row(what: &str, value: &str, beside: &str, ratio: &str, goal: &str) {
    say(&format!("| {what} | {value} | {beside} | {ratio} | {goal} |"));
}

/// A quotient as a table shows it.
pub fn ratio(one: f64, other: f64) -> String {
    format!("{:.2} ×", one / other)
}

/// Prints a line.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Tells on standard error, which is no part of the table, what takes long.
pub fn progress(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The load average over 1, 5 and 15 minutes, if the system reports it.
pub fn load() -> String {
    let told = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let three: Vec<&str> = told.split_whitespace().take(3).collect();
    if three.is_empty() { "unknown".to_owned() } else { three.join(" ") }
}

/// Milliseconds.
pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Milliseconds that some work takes.
pub fn timed<T>(work: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    let result = work();
    let time = ms(start.elapsed());
    // Dropping a large answer is no part of the work.
    drop(result);
    time
}

/// So many measurements.
pub fn times(count: usize, measure: impl FnMut() -> f64) -> Vec<f64> {
    std::iter::repeat_with(measure).take(count).collect()
}

/// The median.
pub fn median(values: &[f64]) -> Option<f64> {
    percentile(values, 0.5)
}

/// Runs the groups that the command line names, or all of them, each with its heading and the load around it.
///
/// # Panics
/// If a word names no group.
pub fn run<G: Copy>(groups: &[(&str, G)], mut rows: impl FnMut(G)) {
    // Cargo adds `--bench` to the words of the user.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    for word in &wanted {
        let names: Vec<&str> = groups.iter().map(|(name, _)| *name).collect();
        assert!(names.contains(&word.as_str()), "no group `{word}`; there are {}", names.join(", "));
    }
    let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    say(&format!("{now}, {cores} cores, load average {}", load()));
    for (name, group) in groups {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            let before = load();
            say(&format!("\n### {name}\n"));
            rows(*group);
            say(&format!("\nLoad average before {before}, after {}.", load()));
        }
    }
}

/// The value that this share of all values does not exceed.
pub fn percentile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The largest value.
pub fn longest(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

/// A value with about three digits.
fn short(value: f64) -> String {
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$}")
}

/// A number with a comma before every three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    String::from_utf8(groups.join(&b',')).unwrap_or(digits)
}
