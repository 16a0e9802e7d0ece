//! The simple commands of a line as words, for decisions that must not be wrong about what runs. Unlike the reader of
//! effects, this one guesses nothing: what it does not know makes the reading incomplete.

use crate::MOST_BYTES;

/// The simple commands of a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Commands {
    /// Words of each command in the order of the text, without quotes and redirections.
    pub commands: Vec<Vec<String>>,
    /// `true` if the line runs these commands and nothing else, with exactly these words but for globs: no expansion,
    /// substitution, assignment, keyword, comment or redirection, other than to `/dev/null` or another descriptor.
    pub is_complete: bool,
}

/// Words that begin something other than a simple command.
const KEYWORDS: &[&str] = &[
    "[[", "begin", "case", "coproc", "do", "done", "elif", "else", "end", "esac", "fi", "for", "foreach",
    "function", "if", "in", "repeat", "select", "switch", "then", "time", "until", "while",
];

/// Returns the simple commands of a line for a POSIX shell. Whatever shells read differently, such as a backslash in
/// single quotes, makes the reading incomplete; the commands are then those that could be told.
pub fn commands(text: &str) -> Commands {
    let mut lexer =
        Lexer { characters: text.chars().collect(), is_odd: text.len() > MOST_BYTES, ..Lexer::default() };
    if !lexer.is_odd {
        lexer.read();
    }
    Commands { is_complete: !lexer.is_odd, commands: lexer.commands }
}

#[derive(Default)]
struct Lexer {
    characters: Vec<char>,
    at: usize,
    commands: Vec<Vec<String>>,
    /// Words of the command at hand.
    words: Vec<String>,
    /// The word at hand, and `false` if some of it was quoted.
    word: Option<(String, bool)>,
    /// Open subshells.
    depth: usize,
    /// An operator or a parenthesis needs a command behind it.
    is_waiting: bool,
    /// A subshell ended, behind which only an operator or a redirection may stand.
    is_closed: bool,
    is_odd: bool,
}

impl Lexer {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }

    /// Goes past a character, if it is the next one.
    fn takes(&mut self, character: char) -> bool {
        let is_next = self.peek() == Some(character);
        self.at += usize::from(is_next);
        is_next
    }

    fn read(&mut self) {
        while let Some(c) = self.next() {
            match c {
                ' ' | '\t' => self.end_word(),
                '\n' => self.end_command(),
                ';' => self.separate(false),
                '&' if self.peek() == Some('>') => self.end_word(),
                '&' => {
                    let is_and = self.takes('&');
                    self.separate(is_and);
                }
                '|' => {
                    self.takes('|');
                    self.separate(true);
                }
                '(' => self.open(),
                ')' => self.close(),
                '>' => self.redirect(),
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '\\' => self.escaped(),
                '#' if self.word.is_none() => {
                    // An interactive zsh runs comments.
                    self.is_odd = true;
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '`' | '{' | '}' | '<' => {
                    self.is_odd = true;
                    self.end_command();
                }
                '$' | '!' => self.is_odd = true,
                c if c.is_control() || c.is_whitespace() => self.is_odd = true,
                // What a glob makes may look like an option; `=ls` is a path to zsh.
                '*' | '?' | '[' | '=' if self.word.is_none() => {
                    self.is_odd = true;
                    self.push(c);
                }
                c => self.push(c),
            }
        }
        self.end_command();
        self.is_odd |= self.is_waiting || self.depth > 0;
    }

    fn push(&mut self, character: char) {
        self.word.get_or_insert((String::new(), true)).0.push(character);
    }

    fn push_quoted(&mut self, character: Option<char>) {
        let (word, is_plain) = self.word.get_or_insert((String::new(), true));
        word.extend(character);
        *is_plain = false;
    }

    fn end_word(&mut self) {
        let Some((word, _)) = self.word.take() else { return };
        self.is_odd |= self.is_closed;
        self.is_waiting = false;
        // A first word with `=` is an assignment, such as of PATH.
        self.is_odd |= self.words.is_empty() && (word.contains('=') || KEYWORDS.contains(&&*word));
        self.words.push(word);
    }

    fn end_command(&mut self) {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        self.commands.extend((!words.is_empty()).then_some(words));
        self.is_closed = false;
    }

    /// An operator between commands; `&&`, `||` and `|` need one behind them.
    fn separate(&mut self, is_waiting: bool) {
        self.end_word();
        self.is_odd |= self.words.is_empty() && !self.is_closed;
        self.end_command();
        self.is_waiting = is_waiting;
    }

    fn open(&mut self) {
        // A function, a glob of zsh, or arithmetic.
        self.is_odd |=
            self.word.is_some() || !self.words.is_empty() || self.is_closed || self.peek() == Some('(');
        self.end_command();
        self.depth += 1;
        self.is_waiting = true;
    }

    fn close(&mut self) {
        self.end_command();
        self.is_odd |= self.depth == 0 || self.is_waiting;
        self.depth = self.depth.saturating_sub(1);
        self.is_closed = true;
    }

    /// A redirection to a descriptor or to `/dev/null`. Any other writes a file.
    fn redirect(&mut self) {
        let is_descriptor =
            |(word, is_plain): &(String, bool)| *is_plain && word.bytes().all(|b| b.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_descriptor) {
            self.word = None;
        }
        self.end_word();
        self.is_odd |= self.words.is_empty() && !self.is_closed;
        let is_appending = self.takes('>');
        let mut target = String::new();
        if !is_appending && self.takes('&') {
            target.push('&');
        } else {
            while self.takes(' ') || self.takes('\t') {}
        }
        while let Some(c) = self.peek().filter(|c| !c.is_whitespace() && !";&|()<>".contains(*c)) {
            target.push(c);
            self.at += 1;
        }
        let number = target.strip_prefix('&');
        let is_number =
            number.is_some_and(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()));
        self.is_odd |= !is_number && target != "/dev/null";
    }

    fn single_quoted(&mut self) {
        self.push_quoted(None);
        loop {
            match self.next() {
                None => return self.is_odd = true,
                Some('\'') => return,
                Some(c) => {
                    // In fish, a backslash keeps a quote from ending the text.
                    self.is_odd |= c == '\\';
                    self.push_quoted(Some(c));
                }
            }
        }
    }

    fn double_quoted(&mut self) {
        self.push_quoted(None);
        loop {
            match self.next() {
                None => return self.is_odd = true,
                Some('"') => return,
                Some('\\') if matches!(self.peek(), Some('"' | '\\' | '$' | '`')) => {
                    let quoted = self.next();
                    self.push_quoted(quoted);
                }
                Some('\\') if self.takes('\n') => {}
                Some(c) => {
                    // Expansions, and the history of an interactive shell.
                    self.is_odd |= matches!(c, '$' | '`' | '!');
                    self.push_quoted(Some(c));
                }
            }
        }
    }

    fn escaped(&mut self) {
        match self.next() {
            Some('\n') => {}
            // fish gives letters a meaning.
            Some(c) => {
                self.is_odd |= c.is_alphanumeric() || c.is_control();
                self.push_quoted(Some(c));
            }
            None => self.is_odd = true,
        }
    }
}
