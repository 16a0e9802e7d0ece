//! A block of Markdown as lines: pulldown-cmark reads it, and the terminal's width breaks it.

use super::super::highlight::Highlighter;
use super::super::paint::Paint;
use super::super::wrap::{Painted, width, wrap};
use super::CODE_INDENT;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Narrowest column of a table that is too wide.
const LEAST_COLUMN: usize = 6;
/// Characters between columns.
const BETWEEN: &str = " │ ";
/// Columns left to a text, however deep it is nested.
const LEAST_TEXT: usize = 16;

/// The lines of a text.
pub(super) fn lines(text: &str, columns: usize) -> Vec<Painted> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer { columns, ..Writer::default() };
    for event in Parser::new_ext(text, options) {
        writer.handle(event);
    }
    writer.end_text();
    writer.lines
}

/// An enclosure of text.
#[derive(Debug)]
enum Container {
    Quote,
    /// A list; the number of its next item, if it has numbers.
    List(Option<u64>),
    /// An item; its mark, until it is shown, and the columns that the mark takes.
    Item {
        mark: Option<String>,
        indent: usize,
    },
}

#[derive(Debug, Default)]
struct Table {
    is_right: Vec<bool>,
    rows: Vec<Vec<Painted>>,
}

#[derive(Debug, Default)]
struct Writer {
    columns: usize,
    lines: Vec<Painted>,
    containers: Vec<Container>,
    /// The text that is read, before it is broken into lines.
    text: Painted,
    bold: u32,
    italic: u32,
    is_struck: bool,
    /// Address of the link that is read, and the length of the text before it.
    link: Option<(String, usize)>,
    code: Option<Highlighter>,
    table: Option<Table>,
    /// `true` if a blank line stands before the next text.
    has_gap: bool,
}

impl Writer {
    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.add(&text),
            Event::Code(text) => self.text.push((Paint::Cyan, text.into_string())),
            Event::SoftBreak => self.text.push((self.paint(), " ".to_owned())),
            Event::HardBreak => self.text.push((self.paint(), "\n".to_owned())),
            Event::Rule => {
                self.end_text();
                let room = self.room();
                self.put(vec![(Paint::Dim, "─".repeat(room))]);
                self.has_gap = true;
            }
            Event::TaskListMarker(is_done) => {
                self.text.push((Paint::Plain, if is_done { "[x] " } else { "[ ] " }.to_owned()));
            }
            Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => {
                self.text.push((Paint::Plain, text.into_string()));
            }
            Event::FootnoteReference(name) => self.text.push((Paint::Plain, format!("[{name}]"))),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.end_text();
                self.bold += 1;
            }
            Tag::Strong => self.bold += 1,
            Tag::Emphasis => self.italic += 1,
            Tag::Strikethrough => self.is_struck = true,
            Tag::BlockQuote(_) => {
                self.end_text();
                self.containers.push(Container::Quote);
            }
            Tag::List(first) => {
                self.end_text();
                self.containers.push(Container::List(first));
            }
            Tag::Item => {
                self.end_text();
                self.item();
            }
            Tag::CodeBlock(kind) => {
                self.end_text();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some(Highlighter::new(&language));
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some((dest_url.into_string(), self.text.len()));
            }
            Tag::Table(alignments) => {
                self.end_text();
                let is_right =
                    alignments.iter().map(|side| *side == pulldown_cmark::Alignment::Right).collect();
                self.table = Some(Table { is_right, rows: Vec::new() });
            }
            Tag::TableHead => {
                self.bold += 1;
                self.begin_row();
            }
            Tag::TableRow => self.begin_row(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.bold = self.bold.saturating_sub(1);
                self.end_text();
                self.has_gap = true;
            }
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.end_text();
                self.has_gap = true;
            }
            TagEnd::Strong => self.bold = self.bold.saturating_sub(1),
            TagEnd::Emphasis => self.italic = self.italic.saturating_sub(1),
            TagEnd::Strikethrough => self.is_struck = false,
            TagEnd::BlockQuote(_) | TagEnd::List(_) => {
                self.end_text();
                self.containers.pop();
                let is_within = self.containers.iter().any(|one| matches!(one, Container::List(_)));
                self.has_gap |= !is_within;
            }
            TagEnd::Item => {
                self.end_text();
                self.containers.pop();
            }
            TagEnd::CodeBlock => {
                self.code = None;
                self.has_gap = true;
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::TableHead => self.bold = self.bold.saturating_sub(1),
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    table.lines(self.room()).into_iter().for_each(|line| self.put(line));
                    self.has_gap = true;
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, text: &str) {
        let Some(highlighter) = &mut self.code else {
            let paint = self.paint();
            return self.text.push((paint, text.to_owned()));
        };
        let lines: Vec<Painted> = text
            .lines()
            .map(|line| {
                let mut pieces = vec![(Paint::Plain, CODE_INDENT.to_owned())];
                pieces.extend(highlighter.line(line));
                pieces
            })
            .collect();
        lines.into_iter().for_each(|line| self.put(line));
    }

    fn paint(&self) -> Paint {
        match (self.link.is_some(), self.bold > 0, self.italic > 0) {
            _ if self.is_struck => Paint::Struck,
            (true, ..) => Paint::Underlined,
            (_, true, true) => Paint::BoldItalic,
            (_, true, _) => Paint::Bold,
            (_, _, true) => Paint::Italic,
            _ => Paint::Plain,
        }
    }

    /// Shows a link's address behind its text, where that does not say it.
    fn end_link(&mut self) {
        let Some((address, from)) = self.link.take() else { return };
        let text: String = self.text.iter().skip(from).map(|(_, text)| text.as_str()).collect();
        if !address.is_empty() && text != address && format!("mailto:{text}") != address {
            self.text.push((Paint::Dim, format!(" ({address})")));
        }
    }

    fn item(&mut self) {
        let number = match self.containers.last_mut() {
            Some(Container::List(Some(next))) => {
                *next += 1;
                Some(*next - 1)
            }
            _ => None,
        };
        let mark = number.map_or_else(|| "• ".to_owned(), |number| format!("{number}. "));
        let indent = mark.chars().count();
        self.containers.push(Container::Item { mark: Some(mark), indent });
    }

    fn begin_row(&mut self) {
        if let Some(table) = &mut self.table {
            table.rows.push(Vec::new());
        }
    }

    /// Columns for text in what encloses it.
    fn room(&self) -> usize {
        let taken: usize = self.containers.iter().map(Container::columns).sum();
        self.columns.saturating_sub(taken).max(LEAST_TEXT)
    }

    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.iter().any(|(_, text)| !text.trim().is_empty()) {
            wrap(&text, self.room()).into_iter().for_each(|line| self.put(line));
        }
    }

    /// Shows a line behind the marks of what encloses it.
    fn put(&mut self, line: Painted) {
        let is_item = self.containers.iter().any(|one| matches!(one, Container::Item { mark: Some(_), .. }));
        // Items follow each other without a gap; what is separate in one has it.
        if std::mem::take(&mut self.has_gap) && !self.lines.is_empty() && !is_item {
            let pieces = self.containers.iter_mut().map(Container::prefix).collect();
            self.lines.push(trimmed(pieces));
        }
        let mut pieces: Painted = self.containers.iter_mut().map(Container::prefix).collect();
        pieces.retain(|(_, text)| !text.is_empty());
        pieces.extend(line);
        self.lines.push(trimmed(pieces));
    }
}

/// Without spaces at the end of the line.
fn trimmed(mut pieces: Painted) -> Painted {
    while let Some((_, last)) = pieces.last_mut() {
        last.truncate(last.trim_end_matches(' ').len());
        if !last.is_empty() {
            break;
        }
        pieces.pop();
    }
    pieces
}

impl Container {
    fn columns(&self) -> usize {
        match self {
            Self::Quote => 2,
            Self::List(_) => 0,
            Self::Item { indent, .. } => *indent,
        }
    }

    /// The mark before a line.
    fn prefix(&mut self) -> (Paint, String) {
        match self {
            Self::Quote => (Paint::Dim, "│ ".to_owned()),
            Self::List(_) => (Paint::Plain, String::new()),
            Self::Item { mark, indent } => (Paint::Plain, mark.take().unwrap_or_else(|| " ".repeat(*indent))),
        }
    }
}

impl Table {
    fn lines(&self, room: usize) -> Vec<Painted> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let natural =
            |at: usize| self.rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell)).max();
        let mut widths: Vec<usize> = (0..columns).map(|at| natural(at).unwrap_or(0).max(1)).collect();
        let room = room.saturating_sub(columns.saturating_sub(1) * 3);
        while widths.iter().sum::<usize>() > room {
            let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > LEAST_COLUMN) else {
                break;
            };
            *widest -= 1;
        }
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            lines.extend(self.row(row, &widths));
            if number == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(vec![(Paint::Dim, rule.join("─┼─"))]);
            }
        }
        lines
    }

    /// The lines of a row: as many as its longest cell takes.
    fn row(&self, row: &[Painted], widths: &[usize]) -> Vec<Painted> {
        let empty = Painted::new();
        let cells: Vec<Vec<Painted>> = widths
            .iter()
            .enumerate()
            .map(|(at, columns)| wrap(row.get(at).unwrap_or(&empty), *columns))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |number: usize| {
            let mut pieces = Painted::new();
            for (at, columns) in widths.iter().enumerate() {
                if at > 0 {
                    pieces.push((Paint::Dim, BETWEEN.to_owned()));
                }
                let cell = cells.get(at).and_then(|lines| lines.get(number)).unwrap_or(&empty);
                let space = (Paint::Plain, " ".repeat(columns.saturating_sub(width(cell))));
                if self.is_right.get(at) == Some(&true) {
                    pieces.push(space);
                    pieces.extend(cell.iter().cloned());
                } else {
                    pieces.extend(cell.iter().cloned());
                    pieces.push(space);
                }
            }
            pieces
        };
        (0..height).map(line).collect()
    }
}
