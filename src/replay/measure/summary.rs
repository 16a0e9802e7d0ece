//! Several sessions together: each weighed equally, and all facts pooled.

use super::{Row, Score, share};
use serde::Serialize;

/// Fewest facts of a kind at which a session enters the mean.
pub const LEAST_NEEDED: usize = 5;

/// One policy or method over all sessions at one window.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Total {
    /// Name of the policy or method.
    pub policy: String,
    /// Number of sessions in which it compacted.
    pub sessions: usize,
    /// Number of compactions.
    pub compactions: usize,
    /// Tokens of the prompts after these compactions, summed.
    pub retained_tokens: u64,
    /// Identifiers in the arguments of calls.
    pub names: Weighed,
    /// Lines that edits quote as old text.
    pub lines: Weighed,
    /// Phrases and figures in the assistant's words.
    pub quotes: Weighed,
    /// Lost lines, phrases and figures that a search found.
    pub found: Weighed,
    /// Changed files that the blocks list.
    pub files: Weighed,
    /// Lines about changed files that are wrong.
    pub wrong_files: usize,
    /// The user's words about refused calls.
    pub refusals: Weighed,
}

/// A share over several sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Weighed {
    /// Mean of the sessions' shares, of those with five facts or more; `None` without one.
    pub mean: Option<f64>,
    /// Share over the facts of all sessions; `None` without a fact.
    pub pooled: Option<f64>,
    /// Number of facts.
    pub of: usize,
    /// Number of sessions in the mean.
    pub sessions: usize,
}

impl Weighed {
    /// Of pairs of a part and its whole, one per session.
    fn of(pairs: impl Iterator<Item = (usize, usize)>) -> Self {
        let (mut part, mut whole, mut sum, mut sessions) = (0, 0, 0.0, 0);
        for (session_part, session_whole) in pairs {
            part += session_part;
            whole += session_whole;
            if let Some(one) = share(session_part, session_whole).filter(|_| session_whole >= LEAST_NEEDED) {
                sum += one;
                sessions += 1;
            }
        }
        let mean = (sessions > 0).then(|| sum / sessions as f64);
        Self { mean, pooled: share(part, whole), of: whole, sessions }
    }
}

/// Sums the rows of several sessions at one window, by policy, in the order of their first row.
pub fn totals(sessions: &[Vec<Row>]) -> Vec<Total> {
    let mut policies: Vec<&str> = Vec::new();
    for row in sessions.iter().flatten() {
        if !policies.contains(&&*row.policy) {
            policies.push(&row.policy);
        }
    }
    policies.into_iter().map(|policy| total(policy, sessions)).collect()
}

fn total(policy: &str, sessions: &[Vec<Row>]) -> Total {
    let is_own = |row: &&Row| row.policy == policy && row.compactions > 0;
    let rows: Vec<&Row> = sessions.iter().flatten().filter(is_own).collect();
    let kept = |of: fn(&Row) -> Score| Weighed::of(rows.iter().map(|row| (of(row).held, of(row).needed)));
    let searched = rows.iter().filter_map(|row| {
        let score = row.lines_and_quotes();
        Some((score.found?, score.lost()))
    });
    Total {
        policy: policy.to_owned(),
        sessions: rows.len(),
        compactions: rows.iter().map(|row| row.compactions).sum(),
        retained_tokens: rows.iter().map(|row| row.retained_tokens).sum(),
        names: kept(|row| row.names),
        lines: kept(|row| row.lines),
        quotes: kept(|row| row.quotes),
        found: Weighed::of(searched),
        files: kept(|row| row.state.unwrap_or_default().files),
        wrong_files: rows.iter().map(|row| row.state.unwrap_or_default().wrong_files).sum(),
        refusals: kept(|row| row.state.unwrap_or_default().refusals),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(policy: &str, needed: usize, held: usize, found: Option<usize>) -> Row {
        let lines = Score { needed, held, found };
        Row { policy: policy.into(), compactions: 1, retained_tokens: 10, lines, ..Row::default() }
    }

    #[test]
    fn sessions_weigh_equally_in_the_mean_and_by_facts_when_pooled() {
        let sessions = [
            vec![row("tail", 10, 5, None), row("own", 10, 10, Some(0))],
            vec![row("tail", 90, 90, None), row("own", 90, 0, Some(45))],
            // Too few facts for the mean.
            vec![row("tail", 4, 0, None)],
        ];
        let [tail, own] = totals(&sessions).try_into().unwrap();
        assert_eq!((tail.sessions, tail.compactions, tail.retained_tokens), (3, 3, 30));
        let lines = Weighed { mean: Some(0.75), pooled: Some(95.0 / 104.0), of: 104, sessions: 2 };
        assert_eq!((tail.lines, tail.found, tail.quotes), (lines, Weighed::default(), Weighed::default()));
        assert_eq!(own.found, Weighed { mean: Some(0.5), pooled: Some(0.5), of: 90, sessions: 1 });
    }
}
