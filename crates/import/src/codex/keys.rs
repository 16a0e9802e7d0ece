//! The user's input line, reconstructed from single key events.

#[derive(Default)]
pub(super) struct Line {
    before: String,
    /// Characters after the cursor, in reverse order.
    after: Vec<char>,
    /// The last key whose effect the log does not state.
    unknown: Option<String>,
}

/// A submitted line.
pub(super) struct Typed {
    pub(super) text: String,
    /// The last key whose effect is unknown, if any.
    pub(super) unknown: Option<String>,
}

impl Line {
    /// Applies a key event in the program's debug format: `KeyEvent { code: Char('h'), modifiers:
    /// KeyModifiers(0x0), kind: Press, … }`. Returns the line when it is submitted.
    pub(super) fn key(&mut self, event: &str) -> Option<Typed> {
        let (code, rest) =
            event.strip_prefix("KeyEvent { code: ")?.split_once(", modifiers: KeyModifiers(")?;
        let (modifiers, rest) = rest.split_once(')')?;
        if rest.contains("kind: Release") {
            return None;
        }
        let has = |name: &str| modifiers.split(" | ").any(|modifier| modifier == name);
        let is_plain = !has("CONTROL") && !has("ALT") && !has("SUPER");
        match code {
            "Enter" if is_plain && !has("SHIFT") => return self.sent(),
            "Enter" => self.before.push('\n'),
            "Backspace" if is_plain => drop(self.before.pop()),
            "Delete" if is_plain => drop(self.after.pop()),
            "Left" if is_plain => self.after.extend(self.before.pop()),
            "Right" if is_plain => self.before.extend(self.after.pop()),
            "Backspace" | "Delete" | "Left" | "Right" | "Up" | "Down" | "Home" | "End" | "Tab" => {
                self.unknown = Some(code.to_owned());
            }
            _ => match (character(code), modifiers) {
                (Some(typed), _) if is_plain => self.before.push(typed),
                (Some('j'), "CONTROL") => self.before.push('\n'),
                (Some('c'), "CONTROL") => *self = Self::default(),
                (Some(_), _) => self.unknown = Some(format!("{modifiers} {code}")),
                (None, _) => {}
            },
        }
        None
    }

    /// Inserts pasted text.
    pub(super) fn paste(&mut self, text: &str) {
        self.before.push_str(text);
    }

    fn sent(&mut self) -> Option<Typed> {
        let Self { mut before, after, unknown } = std::mem::take(self);
        before.extend(after.iter().rev());
        let text = before.trim().to_owned();
        (!text.is_empty()).then_some(Typed { text, unknown })
    }
}

/// The character of a key such as `Char('a')`, `Char('\'')` or `Char('\u{301}')`.
fn character(code: &str) -> Option<char> {
    let inner = code.strip_prefix("Char('")?.strip_suffix("')")?;
    let mut characters = inner.chars();
    let (first, second) = (characters.next()?, characters.next());
    match (first, second) {
        (only, None) => Some(only),
        ('\\', Some('n')) => Some('\n'),
        ('\\', Some('r')) => Some('\r'),
        ('\\', Some('t')) => Some('\t'),
        ('\\', Some('0')) => Some('\0'),
        ('\\', Some('u')) => {
            let digits = characters.as_str().strip_prefix('{')?.strip_suffix('}')?;
            char::from_u32(u32::from_str_radix(digits, 16).ok()?)
        }
        ('\\', Some(escaped)) => Some(escaped),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(line: &mut Line, code: &str, modifiers: &str) -> Option<Typed> {
        line.key(&format!(
            "KeyEvent {{ code: {code}, modifiers: KeyModifiers({modifiers}), kind: Press, state: KeyEventState(0x0) }}"
        ))
    }

    /// Plain keys: `<` and `>` move, `#` deletes the character before the cursor, `!` the one after it.
    fn typed(keys: &str) -> Option<String> {
        let mut line = Line::default();
        for typed in keys.chars() {
            let code = match typed {
                '<' => "Left".to_owned(),
                '>' => "Right".to_owned(),
                '#' => "Backspace".to_owned(),
                '!' => "Delete".to_owned(),
                other => format!("Char({other:?})"),
            };
            assert!(key(&mut line, &code, "0x0").is_none());
        }
        key(&mut line, "Enter", "0x0").map(|typed| typed.text)
    }

    #[test]
    fn line_follows_its_keys() {
        let cases = [
            ("hello", Some("hello")),
            ("a llon###ong story #", Some("a long story")),
            ("helo<l>", Some("hello")),
            ("held<<lp!!", Some("help")),
            ("##<< it's \\ é ,", Some("it's \\ é ,")),
            ("  #", None),
        ];
        for (keys, expected) in cases {
            assert_eq!(typed(keys).as_deref(), expected, "{keys}");
        }
    }

    #[test]
    fn key_with_unknown_effect_is_reported() {
        let mut line = Line::default();
        for (code, modifiers) in [
            ("Char('X')", "CONTROL"),
            ("Char('a')", "0x0"),
            ("Char('c')", "CONTROL"),
            ("Char('O')", "SHIFT"),
            ("Enter", "SHIFT"),
            ("Char('\\u{301}')", "0x0"),
            ("Esc", "0x0"),
            ("Up", "0x0"),
        ] {
            assert!(key(&mut line, code, modifiers).is_none());
        }
        line.paste(" and\nmore");
        let sent = key(&mut line, "Enter", "0x0").unwrap();
        assert_eq!((sent.text.as_str(), sent.unknown.as_deref()), ("O\n\u{301} and\nmore", Some("Up")));
        for broken in
            ["", "KeyEvent", "KeyEvent { code: Char(''), modifiers: KeyModifiers(0x0)", "KeyEvent { code: "]
        {
            assert!(line.key(broken).is_none());
        }
        assert!(key(&mut line, "Enter", "0x0").is_none());
    }
}
