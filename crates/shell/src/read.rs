//! The walk over a command's tree: statements in order, with the working directory, variables and certainty at each.

use crate::command;
use crate::dialect;
use crate::known::is_condition;
use crate::patch;
use crate::path::name;
use crate::sink::Sink;
use crate::word::{self, MOST_WORDS, Word};
use crate::{Kind, MOST_BYTES, Reason};
use std::borrow::Cow;
use std::collections::BTreeMap;
use tree_sitter::{Node, Parser};

/// Deepest nesting of statements and words.
const MOST_DEPTH: u32 = 200;
/// Most statements that are read, those of loops and functions as often as they run.
const MOST_STATEMENTS: u32 = 20_000;
/// Most variables that are remembered.
const MOST_VARIABLES: usize = 200;
/// Bytes of a text in a shell inside that count as a statement.
const STATEMENT_BYTES: usize = 64;
/// A character that is part of a word and nothing else, to a shell and to the grammar.
const PLAIN: char = '\u{7f}';
/// Most rounds of a loop.
const MOST_ROUNDS: usize = 200;

/// Values that outlive a text: a shell inside starts with them.
pub(crate) struct State {
    pub sink: Sink,
    /// Variables whose value the text tells; arrays have several words.
    pub variables: BTreeMap<String, Vec<Word>>,
    /// Number of shells around the text.
    pub shells: u32,
    /// Folders of `pushd`.
    pub folders: Vec<Option<String>>,
    /// The folder before the last `cd`.
    pub last_folder: Option<Option<String>>,
    statements: u32,
    depth: u32,
}

/// A text with its tree.
pub(crate) struct Reader<'t, 'm> {
    pub source: &'t str,
    functions: BTreeMap<&'t str, Node<'t>>,
    pub state: &'m mut State,
}

/// Reads a command. `is_stated` tells that its shell is known to be a POSIX one.
pub(crate) fn read(text: &str, sink: &mut Sink, is_stated: bool) {
    with_state(sink, |state| parsed(text, state, is_stated));
}

/// Reads a command that is given as words.
pub(crate) fn read_words<'w>(words: impl Iterator<Item = &'w str>, sink: &mut Sink) {
    let words: Vec<Word> = words.map(Word::literal).collect();
    with_state(sink, |state| {
        let mut reader = Reader { source: "", functions: BTreeMap::new(), state };
        let part = words.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" ");
        command::read(&words, &part, None, &mut reader);
    });
}

/// Reads a text inside another; a shell inside keeps the folder for itself.
pub(crate) fn read_inside(text: &str, state: &mut State) {
    parsed(text, state, false);
}

fn with_state(sink: &mut Sink, run: impl FnOnce(&mut State)) {
    let own = std::mem::replace(sink, Sink::new(None));
    let mut state = State {
        sink: own,
        variables: BTreeMap::new(),
        shells: 0,
        folders: Vec::new(),
        last_folder: None,
        statements: 0,
        depth: 0,
    };
    run(&mut state);
    *sink = state.sink;
}

fn parsed(text: &str, state: &mut State, is_stated: bool) {
    // Some agents send a patch as a command, without quotes that a shell would need.
    let bare = text.trim_start();
    let patch = ["apply_patch", "applypatch"].iter().find_map(|name| bare.strip_prefix(name)).unwrap_or(bare);
    if patch.trim_start().starts_with("*** Begin Patch") {
        state.sink.program("apply_patch");
        patch::read(patch, &mut state.sink);
        return;
    }
    state.statements += u32::try_from(text.len() / STATEMENT_BYTES).unwrap_or(MOST_STATEMENTS);
    let mut parser = Parser::new();
    let is_ready = parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_ok();
    let Some(tree) = parser.parse(&*in_ascii(text), None).filter(|_| is_ready && text.len() <= MOST_BYTES)
    else {
        return state.sink.unknown(text, Reason::Limit);
    };
    let root = tree.root_node();
    if !is_stated && dialect::is_foreign(root, text) {
        return state.sink.unknown(text, Reason::Shell);
    }
    let was_certain = state.sink.is_certain;
    // A shell may refuse the whole text.
    state.sink.is_certain &= !root.has_error();
    let mut reader = Reader { source: text, functions: BTreeMap::new(), state };
    reader.statement(root);
    state.sink.is_certain = was_certain;
}

/// The text as the parser gets it, with each place of a byte kept. Behind a `{`, the grammar's scanner looks any character
/// up in a table of 256, and reads whatever memory is there for one beyond. To a shell, these are plain parts of words.
fn in_ascii(text: &str) -> Cow<'_, str> {
    match text.is_ascii() {
        true => Cow::Borrowed(text),
        false => text.bytes().map(|byte| if byte.is_ascii() { char::from(byte) } else { PLAIN }).collect(),
    }
}

impl<'t> Reader<'t, '_> {
    pub fn text(&self, node: Node<'_>) -> &'t str {
        self.source.get(node.byte_range()).unwrap_or_default()
    }

    /// Reads one level deeper, if the limits allow it.
    pub fn deeper(&mut self, node: Node<'t>, read: impl FnOnce(&mut Self)) {
        self.state.statements += 1;
        if self.state.depth >= MOST_DEPTH || self.state.statements > MOST_STATEMENTS {
            let text = self.text(node);
            return self.state.sink.unknown(text, Reason::Limit);
        }
        self.state.depth += 1;
        read(self);
        self.state.depth -= 1;
    }

    /// Reads what may not be run: what it does is possible, and folder and variables are unknown if it changes them.
    pub fn conditionally(&mut self, read: impl FnOnce(&mut Self)) {
        let was_certain = std::mem::replace(&mut self.state.sink.is_certain, false);
        let folder = self.state.sink.folder.clone();
        let variables = self.state.variables.clone();
        read(self);
        self.state.sink.is_certain = was_certain;
        if self.state.sink.folder != folder {
            self.state.sink.folder = None;
        }
        self.state.variables.retain(|name, value| variables.get(name) == Some(value));
    }

    /// Reads what runs in a shell of its own, which keeps its folder and variables for itself.
    fn apart(&mut self, read: impl FnOnce(&mut Self)) {
        let folder = self.state.sink.folder.clone();
        let variables = self.state.variables.clone();
        read(self);
        self.state.sink.folder = folder;
        self.state.variables = variables;
    }

    /// Reads the body of a function that the text defines; `false` if it defines none of this name.
    pub fn call(&mut self, function: &str) -> bool {
        let Some(body) = self.functions.get(function).copied() else { return false };
        self.deeper(body, |reader| reader.statement(body));
        true
    }

    pub fn statement(&mut self, node: Node<'t>) {
        self.deeper(node, |reader| reader.read(node));
    }

    pub fn children(&mut self, node: Node<'t>) {
        let children: Vec<Node<'t>> = node.named_children(&mut node.walk()).collect();
        children.into_iter().for_each(|child| self.statement(child));
    }

    fn read(&mut self, node: Node<'t>) {
        match node.kind() {
            "program" | "compound_statement" | "do_group" => self.children(node),
            "list" => self.list(node, &[]),
            "pipeline" => self.pipeline(node, &[]),
            "subshell" | "command_substitution" | "process_substitution" => {
                self.apart(|reader| reader.children(node))
            }
            "negated_command" => self.children(node),
            "command" => self.command(node, None, &[]),
            "redirected_statement" => {
                let redirects: Vec<Node<'t>> =
                    node.children_by_field_name("redirect", &mut node.walk()).collect();
                match node.child_by_field_name("body") {
                    Some(body) => self.redirected(body, &redirects),
                    None => self.opened(None, &redirects),
                }
            }
            "if_statement" | "while_statement" => {
                for (field, child) in fields(node) {
                    match field {
                        Some("condition") => self.statement(child),
                        _ => self.conditionally(|reader| reader.statement(child)),
                    }
                }
            }
            "elif_clause" | "else_clause" => self.children(node),
            "for_statement" => self.repeated(node),
            "c_style_for_statement" => self.conditionally(|reader| reader.children(node)),
            "case_statement" => {
                for child in node.named_children(&mut node.walk()).collect::<Vec<_>>() {
                    self.conditionally(|reader| reader.statement(child));
                }
            }
            "case_item" => {
                let statements = fields(node).into_iter().filter(|(field, _)| *field != Some("value"));
                statements.for_each(|(_, child)| self.statement(child));
            }
            "function_definition" => {
                let part = |field| node.child_by_field_name(field);
                if let (Some(called), Some(body)) = (part("name"), part("body")) {
                    self.functions.insert(self.text(called), body);
                }
            }
            "variable_assignment" => self.assign(node),
            "unset_command" => {
                for child in node.named_children(&mut node.walk()) {
                    self.state.variables.remove(self.text(child));
                }
            }
            "comment" | "heredoc_body" | "heredoc_start" | "heredoc_end" => {}
            "ERROR" => {
                self.state.sink.unknown(self.text(node), Reason::Syntax);
                self.children(node);
            }
            // Declarations, and words, tests and arithmetic: only what they substitute is run.
            _ => self.children(node),
        }
    }

    /// A chain of `&&` and `||`, whose tree leans left: it is walked without recursion.
    fn list(&mut self, node: Node<'t>, redirects: &[Node<'t>]) {
        let mut chain: Vec<Node<'t>> = Vec::new();
        let mut left = node;
        while left.kind() == "list" {
            let children: Vec<Node<'t>> =
                left.children(&mut left.walk()).filter(|child| child.kind() != "comment").collect();
            let Some((first, rest)) = children.split_first() else { break };
            chain.extend(rest.iter().rev().copied());
            left = *first;
        }
        self.statement(left);
        let last = chain.first().copied();
        let (mut operator, mut before, mut is_conditional) = ("", left, false);
        for child in chain.into_iter().rev() {
            match child.kind() {
                "&&" => {
                    operator = "&&";
                    is_conditional |= self.is_test(before);
                }
                "||" => operator = "||",
                _ => {
                    is_conditional &= operator != "||";
                    let own = if Some(child) == last { redirects } else { &[] };
                    let read = |reader: &mut Self| reader.redirected(child, own);
                    if is_conditional || operator == "||" {
                        self.conditionally(read)
                    } else {
                        read(self)
                    }
                    before = child;
                }
            }
        }
    }

    /// `true` for a statement that asks something, so that what follows `&&` depends on the answer.
    fn is_test(&self, node: Node<'t>) -> bool {
        let body = node.child_by_field_name("body").unwrap_or(node);
        let called = body.child_by_field_name("name").map_or("", |called| name(self.text(called)));
        matches!(body.kind(), "test_command" | "negated_command") || is_condition(called)
    }

    /// `for`: over words that the text tells, the body is read once per word; else it is possible.
    fn repeated(&mut self, node: Node<'t>) {
        let values: Vec<Node<'t>> = node.children_by_field_name("value", &mut node.walk()).collect();
        let words: Vec<Word> = values.into_iter().flat_map(|value| self.words(value)).collect();
        let variable =
            node.child_by_field_name("variable").map_or("", |variable| self.text(variable)).to_owned();
        let Some(body) = node.child_by_field_name("body") else { return };
        let is_told =
            !words.is_empty() && words.len() <= MOST_ROUNDS && words.iter().all(|word| word.is_known);
        if !is_told {
            self.state.variables.remove(&variable);
            return self.conditionally(|reader| reader.statement(body));
        }
        let text = self.text(body);
        let may_end = ["break", "continue", "exit", "return"].iter().any(|word| text.contains(word));
        for word in words {
            let is_certain = !word.is_pattern && !may_end;
            let turn = |reader: &mut Self| {
                reader.state.variables.insert(variable.clone(), vec![word]);
                reader.statement(body);
            };
            if is_certain { turn(self) } else { self.conditionally(turn) }
        }
    }

    fn assign(&mut self, node: Node<'t>) {
        let Some(variable) = node.child_by_field_name("name") else { return };
        let is_plain = node.children(&mut node.walk()).any(|child| child.kind() == "=");
        let value = match node.child_by_field_name("value") {
            None => vec![Word::literal("")],
            Some(array) if array.kind() == "array" => {
                let elements: Vec<Node<'t>> = array.named_children(&mut array.walk()).collect();
                elements.into_iter().flat_map(|element| self.words(element)).take(MOST_WORDS + 1).collect()
            }
            Some(value) => {
                let mut glyphs = Vec::new();
                self.glyphs(value, false, &mut glyphs);
                // No globs in an assignment.
                vec![Word { is_pattern: false, ..word::word(&glyphs) }]
            }
        };
        let variable = self.text(variable).to_owned();
        let is_kept = value.len() <= MOST_WORDS && self.state.variables.len() < MOST_VARIABLES;
        if is_plain && is_kept {
            self.state.variables.insert(variable, value);
        } else {
            self.state.variables.remove(&variable);
        }
    }

    fn pipeline(&mut self, node: Node<'t>, redirects: &[Node<'t>]) {
        let parts: Vec<Node<'t>> = node.named_children(&mut node.walk()).collect();
        let last = parts.last().copied();
        for part in parts {
            let own = if Some(part) == last { redirects } else { &[] };
            self.apart(|reader| reader.redirected(part, own));
        }
    }

    /// A statement with redirects. Those of a chain or a pipeline stand in the tree beside all of it, and are its last
    /// command's.
    fn redirected(&mut self, body: Node<'t>, redirects: &[Node<'t>]) {
        match body.kind() {
            _ if redirects.is_empty() => self.statement(body),
            "list" => self.deeper(body, |reader| reader.list(body, redirects)),
            "pipeline" => self.deeper(body, |reader| reader.pipeline(body, redirects)),
            _ => self.opened(Some(body), redirects),
        }
    }

    /// A statement, or none, with redirects, which are opened in the folder before it.
    fn opened(&mut self, body: Option<Node<'t>>, redirects: &[Node<'t>]) {
        let mut input = None;
        let mut more = Vec::new();
        for redirect in redirects {
            match redirect.kind() {
                "heredoc_redirect" => {
                    input = Some(self.heredoc(*redirect));
                    more.extend(redirect.children_by_field_name("argument", &mut redirect.walk()));
                }
                "herestring_redirect" => input = self.herestring(*redirect),
                _ => {}
            }
        }
        let before = self.state.sink.folder.clone();
        match body {
            Some(body) if body.kind() == "command" => self.command(body, input.as_ref(), &more),
            Some(body) => self.statement(body),
            None => {}
        }
        let after = std::mem::replace(&mut self.state.sink.folder, before);
        redirects.iter().for_each(|redirect| self.redirect(*redirect));
        self.state.sink.folder = after;
        // What follows the heredoc's mark on its line: a pipeline, or a statement behind an operator.
        for redirect in redirects.iter().filter(|redirect| redirect.kind() == "heredoc_redirect") {
            for (field, child) in fields(*redirect) {
                match (field, child.kind()) {
                    (_, "pipeline") => self.statement(child),
                    (Some("right"), _) => {
                        let is_or =
                            redirect.child_by_field_name("operator").is_some_and(|sign| sign.kind() == "||");
                        let read = |reader: &mut Self| reader.statement(child);
                        if is_or { self.conditionally(read) } else { read(self) }
                    }
                    _ => {}
                }
            }
        }
    }

    fn heredoc(&mut self, node: Node<'t>) -> Word {
        let child = |kind: &str| node.named_children(&mut node.walk()).find(|child| child.kind() == kind);
        let is_literal =
            child("heredoc_start").is_some_and(|start| self.text(start).contains(['\'', '"', '\\']));
        let Some(body) = child("heredoc_body") else { return Word::literal("") };
        if is_literal {
            return Word::literal(self.text(body));
        }
        let mut glyphs = Vec::new();
        self.inside(body, body.start_byte(), body.end_byte(), &mut glyphs);
        word::word(&glyphs)
    }

    fn herestring(&mut self, node: Node<'t>) -> Option<Word> {
        let value = node.named_children(&mut node.walk()).last()?;
        self.words(value).into_iter().next()
    }

    fn redirect(&mut self, node: Node<'t>) {
        if node.kind() == "heredoc_redirect" {
            let nested: Vec<Node<'t>> = node.children_by_field_name("redirect", &mut node.walk()).collect();
            return nested.into_iter().for_each(|nested| self.redirect(nested));
        }
        let Some(target) = node.child_by_field_name("destination") else { return };
        let sign =
            node.children(&mut node.walk()).find(|child| !child.is_named()).map_or("", |sign| sign.kind());
        let text = self.text(node).to_owned();
        let part = std::mem::replace(&mut self.state.sink.part, text);
        for word in self.words(target) {
            let is_descriptor = word.text.bytes().all(|b| b.is_ascii_digit()) || word.text == "-";
            match sign {
                ">&" | "<&" if is_descriptor && word.is_known => {}
                "<" | "<>" => self.state.sink.effect(Kind::Read, &word),
                _ if sign.contains('>') => self.state.sink.effect(Kind::Write, &word),
                _ => {}
            }
        }
        self.state.sink.part = part;
    }

    fn command(&mut self, node: Node<'t>, input: Option<&Word>, more: &[Node<'t>]) {
        // An error inside leaves the words unclear.
        if node.has_error() {
            let text = self.text(node);
            return self.state.sink.unknown(text, Reason::Syntax);
        }
        let (mut words, mut own_input, mut is_updating) = (Vec::new(), None, false);
        for (field, child) in fields(node) {
            match (field, child.kind()) {
                (Some("name"), _) => {
                    let called: Vec<Node<'t>> = child.named_children(&mut child.walk()).collect();
                    words.extend(called.into_iter().flat_map(|called| self.words(called)));
                }
                (Some("argument"), _) => words.extend(self.words(child)),
                (_, "file_redirect") => self.redirect(child),
                (_, "herestring_redirect") => own_input = self.herestring(child),
                (_, "variable_assignment") => {
                    // Only for this command: what it substitutes is run, the variable is not kept.
                    let variables = self.state.variables.clone();
                    self.assign(child);
                    self.state.variables = variables;
                    is_updating |= is_update(self.text(child));
                }
                _ => self.statement(child),
            }
        }
        words.extend(more.iter().flat_map(|more| self.words(*more)));
        if is_updating {
            let text = self.text(node);
            self.state.sink.unknown(text, Reason::Program);
        }
        let part = self.text(node);
        self.deeper(node, |reader| command::read(&words, part, own_input.as_ref().or(input), reader));
    }
}

/// `true` for a variable that tells tests to write their golden files.
fn is_update(assignment: &str) -> bool {
    let called = assignment.split('=').next().unwrap_or_default();
    ["BLESS", "OVERWRITE", "UPDATE"].iter().any(|word| called.contains(word))
}

/// A node's named children with their fields.
fn fields<'t>(node: Node<'t>) -> Vec<(Option<&'t str>, Node<'t>)> {
    let mut cursor = node.walk();
    let mut fields = Vec::new();
    let mut is_there = cursor.goto_first_child();
    while is_there {
        if cursor.node().is_named() {
            fields.push((cursor.field_name(), cursor.node()));
        }
        is_there = cursor.goto_next_sibling();
    }
    fields
}
