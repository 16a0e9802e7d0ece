//! Words as a shell makes them: quotes removed, braces expanded, and told which characters were quoted.

/// Most words that braces of one word, or an array, make.
pub(crate) const MOST_WORDS: usize = 256;
/// Longest word that variables are put into, in bytes.
const MOST_VALUE: usize = 4096;
/// Deepest nesting of braces.
const MOST_BRACES: usize = 16;

/// A word of a command after expansion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Word {
    /// The text without quotes; of an unknown word, the part that is known.
    pub text: String,
    /// `true` if the shell takes it for a glob.
    pub is_pattern: bool,
    /// `false` if part of it comes from a variable or a substitution that is not known.
    pub is_known: bool,
    /// `true` for a process substitution, which stands for no file of the worktree.
    pub is_process: bool,
}

impl Word {
    /// A word that no shell expands.
    pub fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), is_pattern: false, is_known: true, is_process: false }
    }

    /// The same word with another text, such as the value of an option.
    pub fn with(&self, text: &str) -> Self {
        Self { text: text.to_owned(), ..self.clone() }
    }
}

/// A character of a word with its quoting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Glyph {
    /// Stands for itself.
    Quoted(char),
    /// From the text, outside quotes.
    Plain(char),
    /// From a variable outside quotes: words end at its spaces, and braces are not expanded.
    Expanded(char),
    /// Part of a glob whatever the quotes: from a loop over a glob.
    Glob(char),
    /// A part that is not known.
    Unknown,
    /// A process substitution.
    Process,
}

/// Appends the characters of unquoted text; a backslash quotes the next one.
pub(crate) fn plain(text: &str, glyphs: &mut Vec<Glyph>) {
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some('\n') | None => {}
                Some(quoted) => glyphs.push(Glyph::Quoted(quoted)),
            },
            c => glyphs.push(Glyph::Plain(c)),
        }
    }
}

/// Appends the characters of text in double quotes; a backslash quotes only `$`, a backquote, `"`, `\` and a line's end.
pub(crate) fn quoted(text: &str, glyphs: &mut Vec<Glyph>) {
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match (c, characters.peek()) {
            ('\\', Some('$' | '`' | '"' | '\\')) => glyphs.extend(characters.next().map(Glyph::Quoted)),
            ('\\', Some('\n')) => drop(characters.next()),
            _ => glyphs.push(Glyph::Quoted(c)),
        }
    }
}

/// Appends the characters of `$'…'`, whose inside is given.
pub(crate) fn ansi(text: &str, glyphs: &mut Vec<Glyph>) {
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let escaped = if c == '\\' { characters.next() } else { None };
        let mut number = |base: u32, most: usize, first: u32| {
            let (mut value, mut digits) = (first, 0);
            while let Some(digit) = characters.peek().and_then(|c| c.to_digit(base)).filter(|_| digits < most)
            {
                (value, digits) = (value.saturating_mul(base).saturating_add(digit), digits + 1);
                characters.next();
            }
            char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)
        };
        let meant = match escaped {
            None => c,
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('e' | 'E') => '\u{1b}',
            Some('x') => number(16, 2, 0),
            Some('u') => number(16, 4, 0),
            Some('U') => number(16, 8, 0),
            Some(digit @ '0'..='7') => number(8, 2, digit.to_digit(8).unwrap_or_default()),
            Some(other) => other,
        };
        glyphs.push(Glyph::Quoted(meant));
    }
}

/// Appends a variable's value, inside quotes or not.
pub(crate) fn value(word: &Word, is_quoted: bool, glyphs: &mut Vec<Glyph>) {
    if !word.is_known {
        glyphs.push(Glyph::Unknown);
    }
    // `a=$a$a` doubles a value each time.
    if glyphs.len().saturating_add(word.text.len()) > MOST_VALUE {
        return glyphs.push(Glyph::Unknown);
    }
    glyphs.extend(word.text.chars().map(|c| match c {
        '*' | '?' | '[' | ']' if word.is_pattern => Glyph::Glob(c),
        _ if is_quoted => Glyph::Quoted(c),
        _ => Glyph::Expanded(c),
    }));
}

/// Makes words of characters: braces are expanded, and variables are split at spaces.
pub(crate) fn words(glyphs: &[Glyph]) -> Vec<Word> {
    let mut expanded = Vec::new();
    braces(glyphs.to_vec(), 0, &mut expanded);
    let is_space = |glyph: &Glyph| matches!(glyph, Glyph::Expanded(c) if c.is_whitespace());
    let mut words = Vec::new();
    for glyphs in &expanded {
        let split = glyphs.split(is_space).filter(|part| !part.is_empty());
        let parts: Vec<Word> = split.map(word).collect();
        // Quotes around nothing make an empty word.
        if parts.is_empty() && !glyphs.iter().any(is_space) {
            words.push(Word::literal(""));
        }
        words.extend(parts);
    }
    words
}

/// Makes one word of characters, without splitting, as in an assignment.
pub(crate) fn word(glyphs: &[Glyph]) -> Word {
    let mut word = Word::literal("");
    let mut opened = false;
    for (at, glyph) in glyphs.iter().enumerate() {
        match glyph {
            Glyph::Unknown => word.is_known = false,
            Glyph::Process => (word.is_known, word.is_process) = (false, true),
            Glyph::Quoted(c) => word.text.push(*c),
            Glyph::Glob(c) => {
                word.is_pattern = true;
                word.text.push(*c);
            }
            // `~name` is another user's home.
            Glyph::Plain('~') if at == 0 && !matches!(glyphs.get(1), None | Some(Glyph::Plain('/'))) => {
                word.is_known = false;
            }
            Glyph::Plain(c) | Glyph::Expanded(c) => {
                opened |= *c == '[';
                word.is_pattern |= matches!(c, '*' | '?') || (*c == ']' && opened);
                word.text.push(*c);
            }
        }
    }
    word
}

/// Expands the first braces with a comma, and in the results the next ones.
fn braces(glyphs: Vec<Glyph>, depth: usize, words: &mut Vec<Vec<Glyph>>) {
    let Some((start, commas, end)) = first_braces(&glyphs).filter(|_| depth < MOST_BRACES) else {
        words.push(glyphs);
        return;
    };
    let mut from = start + 1;
    for to in commas.into_iter().chain([end]) {
        if words.len() >= MOST_WORDS {
            return;
        }
        let part = |range: std::ops::Range<usize>| glyphs.get(range).unwrap_or_default().iter().copied();
        let one = part(0..start).chain(part(from..to)).chain(part(end + 1..glyphs.len())).collect();
        braces(one, depth + 1, words);
        from = to + 1;
    }
}

/// The places of the first braces that hold a comma, and of their commas.
fn first_braces(glyphs: &[Glyph]) -> Option<(usize, Vec<usize>, usize)> {
    // Of each open brace, where it is and where its commas are.
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut found: Option<(usize, Vec<usize>, usize)> = None;
    for (at, glyph) in glyphs.iter().enumerate() {
        match glyph {
            Glyph::Plain('{') => open.push((at, Vec::new())),
            Glyph::Plain(',') => {
                open.iter_mut().next_back().into_iter().for_each(|(_, commas)| commas.push(at))
            }
            Glyph::Plain('}') => {
                if let Some((start, commas)) = open.pop().filter(|(_, commas)| !commas.is_empty())
                    && found.as_ref().is_none_or(|(first, ..)| start < *first)
                {
                    found = Some((start, commas, at));
                }
            }
            _ => {}
        }
    }
    found
}
