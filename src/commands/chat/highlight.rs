//! Colours of code in a terminal: the syntaxes are syntect's, the colours are the terminal's own, so that they fit its
//! background.

use super::paint::Paint;
use super::wrap::Painted;
use std::ops::Range;
use std::sync::LazyLock;
use syntect::parsing::{ParseState, Scope, ScopeStack, ScopeStackOp, SyntaxSet};

/// Unpacked at the first block of code: it takes some milliseconds and megabytes.
static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

/// Colours by scope. Of the rules that match, the one with the longest scope holds.
static RULES: LazyLock<Vec<(Scope, Paint)>> = LazyLock::new(|| {
    [
        ("comment", Paint::Dim),
        ("string", Paint::Green),
        ("constant", Paint::Yellow),
        ("constant.character.escape", Paint::Cyan),
        ("keyword", Paint::Magenta),
        ("keyword.operator", Paint::Plain),
        ("storage", Paint::Magenta),
        ("entity.name", Paint::Blue),
        ("entity.name.tag", Paint::Magenta),
        ("support.function", Paint::Blue),
        ("support.type", Paint::Cyan),
        ("variable.function", Paint::Blue),
        ("markup.inserted", Paint::Green),
        ("markup.deleted", Paint::Red),
        ("meta.diff.range", Paint::Cyan),
    ]
    .into_iter()
    .filter_map(|(scope, paint)| Some((Scope::new(scope).ok()?, paint)))
    .collect()
});

/// A longer line is not coloured: patterns take more than linear time on some lines. Bytes.
const MOST_LINE: usize = 2_000;
/// Lines of one block that are coloured.
const MOST_LINES: u32 = 5_000;

/// Colours a block of code line by line.
#[derive(Debug)]
pub(super) struct Highlighter {
    /// `None` once the rest is shown without colours.
    state: Option<(ParseState, ScopeStack)>,
    lines: u32,
}

impl Highlighter {
    /// For code of this language, named as after the fence of a block in Markdown. An unknown one has no colours.
    pub fn new(language: &str) -> Self {
        let word = language.split([' ', ',', '{']).next().unwrap_or_default().to_lowercase();
        // Not among syntect's syntaxes, and near enough.
        let name = match word.as_str() {
            "ts" | "tsx" | "jsx" | "typescript" => "js",
            "jsonc" | "json5" => "json",
            "console" | "shell" | "zsh" => "sh",
            word => word,
        };
        let syntax = if name.is_empty() { None } else { SYNTAXES.find_syntax_by_token(name) };
        Self { state: syntax.map(|syntax| (ParseState::new(syntax), ScopeStack::new())), lines: 0 }
    }

    /// The pieces of a line, which has no line feed, and their colours.
    pub fn line(&mut self, line: &str) -> Painted {
        self.lines += 1;
        if line.len() > MOST_LINE || self.lines > MOST_LINES {
            self.state = None;
        }
        if let Some((state, stack)) = &mut self.state {
            match state.parse_line(&format!("{line}\n"), &SYNTAXES) {
                Ok(operations) => return pieces(line, &operations, stack),
                Err(_) => self.state = None,
            }
        }
        if line.is_empty() { Painted::new() } else { vec![(Paint::Plain, line.to_owned())] }
    }
}

fn pieces(line: &str, operations: &[(usize, ScopeStackOp)], stack: &mut ScopeStack) -> Painted {
    let mut pieces = Painted::new();
    let mut add = |range: Range<usize>, stack: &ScopeStack| {
        let text = line.get(range).unwrap_or_default();
        let paint = paint(stack);
        match pieces.last_mut() {
            _ if text.is_empty() => {}
            Some((last, before)) if *last == paint => before.push_str(text),
            _ => pieces.push((paint, text.to_owned())),
        }
    };
    let mut from = 0;
    for (at, operation) in operations {
        let at = (*at).min(line.len());
        add(from..at, stack);
        from = at;
        // An operation that does not fit the stack leaves it as it is.
        drop(stack.apply(operation));
    }
    add(from..line.len(), stack);
    pieces
}

/// The colour of the innermost scope that has one.
fn paint(stack: &ScopeStack) -> Paint {
    let of = |scope: &Scope| {
        let matching = RULES.iter().filter(|(rule, _)| rule.is_prefix_of(*scope));
        matching.max_by_key(|(rule, _)| rule.len()).map(|(_, paint)| *paint)
    };
    stack.as_slice().iter().rev().find_map(of).unwrap_or(Paint::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(language: &str, line: &str) -> Painted {
        Highlighter::new(language).line(line)
    }

    #[test]
    fn code_has_the_colours_of_its_language() {
        let expected = [
            (Paint::Magenta, "let"),
            (Paint::Plain, " a = "),
            (Paint::Green, "\"b"),
            (Paint::Cyan, "\\n"),
            (Paint::Green, "\""),
            (Paint::Plain, "; "),
            (Paint::Dim, "// c"),
        ];
        let expected: Vec<_> = expected.map(|(paint, text)| (paint, text.to_owned())).into();
        assert_eq!(shown("rust", r#"let a = "b\n"; // c"#), expected);
        assert_eq!(shown("diff", "-gone"), [(Paint::Red, "-gone".to_owned())]);
        for plain in ["", "no-such-language"] {
            assert_eq!(shown(plain, "let a;"), [(Paint::Plain, "let a;".to_owned())]);
        }
    }

    #[test]
    fn state_goes_on_from_line_to_line_until_a_line_is_too_long() {
        let mut rust = Highlighter::new("rs");
        assert_eq!(rust.line("/* a"), [(Paint::Dim, "/* a".to_owned())]);
        assert_eq!(rust.line("b"), [(Paint::Dim, "b".to_owned())]);
        rust.line(&"x".repeat(MOST_LINE + 1));
        assert_eq!(rust.line("c"), [(Paint::Plain, "c".to_owned())]);
    }
}
