//! Words of the tree with what their quotes, variables and substitutions make of them.

use crate::read::Reader;
use crate::word::{self, Glyph, Word};
use tree_sitter::Node;

/// Most words of a numeric range in braces.
const MOST_RANGE: i64 = 100;

impl<'t> Reader<'t, '_> {
    /// The words that a node makes.
    pub fn words(&mut self, node: Node<'t>) -> Vec<Word> {
        if let Some(all) = self.array(node) {
            return all;
        }
        let mut glyphs = Vec::new();
        self.glyphs(node, false, &mut glyphs);
        word::words(&glyphs)
    }

    /// The words of `${name[@]}`, quoted or not.
    fn array(&self, node: Node<'t>) -> Option<Vec<Word>> {
        let node = if node.kind() == "string" && node.named_child_count() == 1 {
            node.named_child(0)?
        } else {
            node
        };
        let inside = self.text(node).strip_prefix("${")?.strip_suffix('}')?;
        let called = inside.strip_suffix("[@]").or_else(|| inside.strip_suffix("[*]"))?;
        self.state.variables.get(called).cloned()
    }

    /// Appends the characters of a word's node.
    pub fn glyphs(&mut self, node: Node<'t>, is_quoted: bool, glyphs: &mut Vec<Glyph>) {
        self.deeper(node, |reader| reader.expanded(node, is_quoted, glyphs));
    }

    fn expanded(&mut self, node: Node<'t>, is_quoted: bool, glyphs: &mut Vec<Glyph>) {
        let text = self.text(node);
        let within = |start: &str, end: &str| {
            text.strip_prefix(start).and_then(|rest| rest.strip_suffix(end)).unwrap_or(text)
        };
        match node.kind() {
            "word"
            | "number"
            | "variable_name"
            | "extglob_pattern"
            | "regex"
            | "test_operator"
            | "special_variable_name"
                if node.named_child_count() == 0 =>
            {
                word::plain(text, glyphs);
            }
            "raw_string" => glyphs.extend(within("'", "'").chars().map(Glyph::Quoted)),
            "ansi_c_string" => word::ansi(within("$'", "'"), glyphs),
            "string" => {
                self.inside(node, node.start_byte() + 1, node.end_byte().saturating_sub(1), glyphs);
            }
            "translated_string" | "concatenation" | "command_name" => {
                for child in node.named_children(&mut node.walk()).collect::<Vec<_>>() {
                    self.glyphs(child, is_quoted, glyphs);
                }
            }
            "simple_expansion" => self.variable(within("$", ""), is_quoted, glyphs),
            "expansion" if node.named_child_count() <= 1 => {
                self.variable(within("${", "}"), is_quoted, glyphs)
            }
            "expansion" => self.trimmed(node, is_quoted, glyphs),
            "brace_expression" => range(text, glyphs),
            "command_substitution" if matches!(within("$(", ")").trim(), "pwd") => {
                self.variable("PWD", is_quoted, glyphs);
            }
            "command_substitution" if self.heredoc_shown(node).is_some() => {
                let text = self.heredoc_shown(node).unwrap_or_default();
                glyphs.extend(text.chars().map(Glyph::Quoted));
            }
            "process_substitution" => {
                self.statement(node);
                glyphs.push(Glyph::Process);
            }
            _ => {
                self.statement(node);
                glyphs.push(Glyph::Unknown);
            }
        }
    }

    /// The text of `$(cat <<'EOF'` …`)`, with which agents quote long arguments.
    fn heredoc_shown(&self, node: Node<'t>) -> Option<&'t str> {
        let statement = node.named_child(0).filter(|_| node.named_child_count() == 1)?;
        let is_cat = self.text(statement.child_by_field_name("body")?) == "cat";
        let heredoc = statement
            .child_by_field_name("redirect")
            .filter(|_| is_cat && statement.named_child_count() == 2)?;
        let part =
            |kind: &str| heredoc.named_children(&mut heredoc.walk()).find(|child| child.kind() == kind);
        let is_literal =
            self.text(part("heredoc_start")?).contains(['\'', '"', '\\']) && heredoc.named_child_count() == 3;
        part("heredoc_body").filter(|_| is_literal).map(|body| self.text(body))
    }

    /// Appends text in double quotes or a heredoc: what stands between expansions is literal.
    pub fn inside(&mut self, node: Node<'t>, start: usize, end: usize, glyphs: &mut Vec<Glyph>) {
        let mut from = start;
        let is_expanding =
            |child: &Node<'_>| child.kind().ends_with("expansion") || child.kind().ends_with("substitution");
        let children: Vec<Node<'t>> = node.named_children(&mut node.walk()).filter(is_expanding).collect();
        for child in children {
            word::quoted(self.source.get(from..child.start_byte()).unwrap_or_default(), glyphs);
            self.glyphs(child, true, glyphs);
            from = child.end_byte();
        }
        word::quoted(self.source.get(from..end).unwrap_or_default(), glyphs);
    }

    fn variable(&self, called: &str, is_quoted: bool, glyphs: &mut Vec<Glyph>) {
        let told = self.state.variables.get(called).and_then(|value| value.first().cloned());
        let folder = || self.state.sink.folder.as_deref();
        let value = told.or_else(|| match called {
            "HOME" => Some(Word::literal("~")),
            "PWD" => folder().map(|folder| Word::literal(if folder.is_empty() { "." } else { folder })),
            _ => None,
        });
        match value {
            // The home's mark must stay one, also in quotes.
            Some(value) => word::value(&value, is_quoted, glyphs),
            None => glyphs.push(Glyph::Unknown),
        }
    }

    /// `${name%end}` and `${name#start}` with literal text; any other operator gives what is not known.
    fn trimmed(&mut self, node: Node<'t>, is_quoted: bool, glyphs: &mut Vec<Glyph>) {
        let inside =
            self.text(node).strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
        let known = inside.find(['%', '#']).and_then(|at| {
            let (called, rest) = inside.split_at(at);
            let trim = rest.trim_start_matches(['%', '#']);
            let is_literal = !trim.is_empty() && !trim.contains(['*', '?', '[', '$', '"', '\'', '\\', '/']);
            let value = self.state.variables.get(called)?.first().filter(|_| is_literal)?.clone();
            let text = match rest.starts_with('%') {
                true => value.text.strip_suffix(trim).unwrap_or(&value.text).to_owned(),
                false => value.text.strip_prefix(trim).unwrap_or(&value.text).to_owned(),
            };
            Some(Word { text, ..value })
        });
        match known {
            Some(value) => word::value(&value, is_quoted, glyphs),
            None => {
                self.children(node);
                glyphs.push(Glyph::Unknown);
            }
        }
    }
}

/// Appends `{1..3}` as braces with commas.
fn range(text: &str, glyphs: &mut Vec<Glyph>) {
    let ends =
        text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).and_then(|rest| rest.split_once(".."));
    let number = |text: &str| text.parse::<i64>().ok().filter(|_| !text.starts_with('0') || text.len() == 1);
    match ends.and_then(|(from, to)| Some((number(from)?, number(to)?))) {
        Some((from, to)) if from <= to && to.saturating_sub(from) < MOST_RANGE => {
            let all: Vec<String> = (from..=to).map(|number| number.to_string()).collect();
            let braces = if all.len() == 1 { all.concat() } else { format!("{{{}}}", all.join(",")) };
            glyphs.extend(braces.chars().map(Glyph::Plain));
        }
        _ => glyphs.push(Glyph::Unknown),
    }
}
