//! Colours and weights of text in a terminal, as escape sequences.

/// The look of a piece of text. The colours are the terminal's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Paint {
    #[default]
    Plain,
    Dim,
    Bold,
    Italic,
    BoldItalic,
    Struck,
    Underlined,
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
}

impl Paint {
    /// Parameters of the sequence that begins it; empty for plain text.
    const fn begins(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Dim => "2",
            Self::Bold => "1",
            Self::Italic => "3",
            Self::BoldItalic => "1;3",
            Self::Struck => "9",
            Self::Underlined => "4",
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Blue => "34",
            Self::Magenta => "35",
            Self::Cyan => "36",
        }
    }

    /// A text with this look. Whoever calls it has removed control characters.
    pub fn on(self, text: &str) -> String {
        match self.begins() {
            "" => text.to_owned(),
            _ if text.is_empty() => String::new(),
            begins => format!("\u{1b}[{begins}m{text}\u{1b}[0m"),
        }
    }
}
