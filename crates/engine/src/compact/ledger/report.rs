//! The ledger as a report for people, in pages: every entry is named, also those that a block only counts. Secrets are
//! masked as in a block.

use super::files::{FileLine, Perhaps};
use super::lines::shown;
use super::{
    CellLine, CommandLine, DecisionLine, FailedRun, ImageLine, Ledger, TestRun, UnclearLine, UnreadableLine,
};

/// Bytes shown of a text in an entry: more than usual paths, commands and notes have, but a bound for a page.
const TEXT_BYTES: usize = 4096;

/// A page of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// Entries of the page, list by list in the order of [`Ledger`]'s fields, each newest first.
    pub entries: Ledger,
    /// Number of entries in the whole ledger.
    pub total: usize,
    /// Index of the next page's first entry, if there is a next page.
    pub next: Option<usize>,
}

impl Ledger {
    /// Returns at most `limit` entries from index `skip` on.
    pub fn page(self, skip: usize, limit: usize) -> Page {
        let total = self.entries();
        let mut window = Window { skip, left: limit };
        let entries = Ledger {
            files: window.of(self.files.into_iter().rev(), FileLine::masked),
            commands: window.of(self.commands.into_iter().rev(), CommandLine::masked),
            unclear: window.of(self.unclear.into_iter().rev(), UnclearLine::masked),
            last_test: window.of(self.last_test.into_iter(), TestRun::masked).pop(),
            last_failure: window.of(self.last_failure.into_iter(), FailedRun::masked).pop(),
            todos: window.of(self.todos.into_iter(), |(text, status)| (text_of(&text), text_of(&status))),
            decisions: window.of(self.decisions.into_iter().rev(), DecisionLine::masked),
            cells: window.of(self.cells.into_iter().rev(), CellLine::masked),
            unreadable: window.of(self.unreadable.into_iter(), UnreadableLine::masked),
            images: window.of(self.images.into_iter().rev(), ImageLine::masked),
        };
        let end = skip.saturating_add(entries.entries());
        Page { entries, total, next: (end < total && limit > 0).then_some(end) }
    }

    /// Number of entries in all lists.
    fn entries(&self) -> usize {
        let Self {
            files,
            commands,
            unclear,
            last_test,
            last_failure,
            todos,
            decisions,
            cells,
            unreadable,
            images,
        } = self;
        files.len()
            + commands.len()
            + unclear.len()
            + usize::from(last_test.is_some())
            + usize::from(last_failure.is_some())
            + todos.len()
            + decisions.len()
            + cells.len()
            + unreadable.len()
            + images.len()
    }
}

/// Numbers of entries still to skip and to take for a page.
struct Window {
    skip: usize,
    left: usize,
}

impl Window {
    fn of<T>(&mut self, list: impl ExactSizeIterator<Item = T>, masked: impl Fn(T) -> T) -> Vec<T> {
        let skipped = self.skip.min(list.len());
        self.skip -= skipped;
        let page: Vec<T> = list.skip(skipped).take(self.left).map(masked).collect();
        self.left -= page.len();
        page
    }
}

fn text_of(text: &str) -> String {
    shown(text, TEXT_BYTES)
}

impl FileLine {
    fn masked(self) -> Self {
        let perhaps = self.perhaps.map(|perhaps| match perhaps {
            Perhaps::RenamedTo(path) => Perhaps::RenamedTo(text_of(&path)),
            Perhaps::RenamedFrom(path) => Perhaps::RenamedFrom(text_of(&path)),
            Perhaps::Changed | Perhaps::Deleted => perhaps,
        });
        let spellings = self.spellings.iter().map(|path| text_of(path)).collect();
        let renamed_from = self.renamed_from.as_deref().map(text_of);
        Self { path: text_of(&self.path), perhaps, spellings, renamed_from, ..self }
    }
}

impl UnclearLine {
    fn masked(self) -> Self {
        Self { part: text_of(&self.part), ..self }
    }
}

impl CommandLine {
    fn masked(self) -> Self {
        Self { command: text_of(&self.command), ..self }
    }
}

impl TestRun {
    fn masked(mut self) -> Self {
        self.command = text_of(&self.command);
        let texts = self.report.failing.iter_mut().chain(&mut self.report.last_lines);
        texts.for_each(|text| *text = text_of(text));
        self
    }
}

impl FailedRun {
    fn masked(mut self) -> Self {
        self.command = text_of(&self.command);
        self.message.iter_mut().for_each(|line| *line = text_of(line));
        self
    }
}

impl DecisionLine {
    fn masked(mut self) -> Self {
        self.call = text_of(&self.call);
        self.verdict.note = self.verdict.note.as_deref().map(text_of);
        self
    }
}

impl CellLine {
    fn masked(self) -> Self {
        Self { cell: text_of(&self.cell), notebook: self.notebook.as_deref().map(text_of), ..self }
    }
}

impl UnreadableLine {
    fn masked(self) -> Self {
        Self { tool: text_of(&self.tool), ..self }
    }
}

impl ImageLine {
    fn masked(self) -> Self {
        Self { mime_type: text_of(&self.mime_type), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::Outcome;
    use super::super::test_run::TestReport;
    use super::*;
    use crate::id::{MessageId, Ordinal};
    use crate::message::Verdict;

    /// Two entries per list, one of them with a secret.
    fn full() -> Ledger {
        let (last, times) = (Ordinal(1), 1);
        let of = |n: u32| if n == 0 { "first".to_owned() } else { "login --password hunter2".to_owned() };
        let each = [0, 1];
        let outcome = Outcome::Exit(1);
        Ledger {
            files: each
                .map(|n| FileLine { renamed_from: Some(of(n)), changed: n, ..FileLine::new(&of(n), last) })
                .into(),
            commands: each.map(|n| CommandLine { command: of(n), outcome, times, last }).into(),
            unclear: each.map(|n| UnclearLine { part: of(n), last }).into(),
            last_test: Some(TestRun {
                command: of(1),
                outcome,
                report: TestReport { failing: vec![of(1)], last_lines: vec![of(1)] },
                is_outdated: false,
                last,
            }),
            last_failure: Some(FailedRun {
                command: of(1),
                outcome,
                message: vec![of(1)],
                is_outdated: false,
                last,
            }),
            todos: each.map(|n| (of(n), of(n))).into(),
            decisions: each
                .map(|n| {
                    let verdict = Verdict::new(false, Some(of(n)));
                    DecisionLine { call: of(n), verdict, times, last }
                })
                .into(),
            cells: each
                .map(|n| CellLine {
                    cell: of(n),
                    notebook: Some(of(n)),
                    outcome,
                    output: vec![],
                    times,
                    last,
                })
                .into(),
            unreadable: each.map(|n| UnreadableLine { tool: of(n), outcome, times, last }).into(),
            images: each
                .map(|n| ImageLine {
                    mime_type: of(n),
                    sha256: "ff".into(),
                    message: MessageId::new("m"),
                    ord: last,
                })
                .into(),
        }
    }

    #[test]
    fn pages_hold_each_entry_once_and_no_secret() {
        let whole = full().page(0, usize::MAX);
        assert_eq!((whole.total, whole.entries.entries(), whole.next), (18, 18, None));
        assert!(!format!("{whole:?}").contains("hunter2"), "{whole:?}");
        assert_eq!(
            (whole.entries.files[0].changed, &*whole.entries.files[1].path),
            (1, "first"),
            "newest first"
        );
        for limit in 1..=19 {
            let (mut skip, mut all) = (Some(0), Ledger::default());
            while let Some(at) = skip {
                let page = full().page(at, limit);
                assert!(page.entries.entries() <= limit && page.total == 18);
                let entries = page.entries;
                all.files.extend(entries.files);
                all.commands.extend(entries.commands);
                all.unclear.extend(entries.unclear);
                all.last_test = all.last_test.or(entries.last_test);
                all.last_failure = all.last_failure.or(entries.last_failure);
                all.todos.extend(entries.todos);
                all.decisions.extend(entries.decisions);
                all.cells.extend(entries.cells);
                all.unreadable.extend(entries.unreadable);
                all.images.extend(entries.images);
                skip = page.next;
            }
            assert_eq!(all, whole.entries, "{limit} a page");
        }
        assert_eq!(full().page(99, 5), Page { total: 18, ..Page::default() }, "past the end");
    }
}
