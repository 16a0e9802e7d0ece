//! A prompt as numbered lines, one per item: the form of goldens and logs. For reading, not for parsing.

use super::Prompt;
use super::item::{Item, ItemPart, Role, Shown};
use crate::message::Content;
use crate::text::one_line;
use std::fmt;

/// Bytes of a text that a line shows.
const SHOWN_BYTES: usize = 100;

impl fmt::Display for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} of {} tokens, {} tools", self.tokens, self.limit, self.tools.len())?;
        for section in &self.plan.sections {
            let mark = if section.cache_breakpoint { " |breakpoint" } else { "" };
            writeln!(f, "  {:?}/{} {}{mark}", section.channel, section.name, section.tokens)?;
        }
        for (n, item) in self.items.iter().enumerate() {
            writeln!(f, "{n:02} {item}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.role.name())?;
        for source in &self.sources {
            write!(f, " #{}{}", source.ord, source.shown.mark())?;
        }
        f.write_str(":")?;
        for part in &self.parts {
            match part {
                ItemPart::Content(Content::Text(text)) => write!(f, " {}", one_line(text, SHOWN_BYTES))?,
                ItemPart::Content(Content::Image(image)) => write!(f, " <{}>", image.mime_type)?,
                ItemPart::Content(Content::Resource { uri: name, text })
                | ItemPart::Content(Content::ContextFile { path: name, text }) => {
                    write!(f, " <{name}> {}", one_line(text, SHOWN_BYTES))?;
                }
                ItemPart::Content(Content::Meta(_)) => {}
                ItemPart::Content(Content::ResourceLink(link)) => {
                    write!(f, " (link) {}", one_line(&link.framed(), SHOWN_BYTES))?;
                }
                ItemPart::Content(Content::Attachment(attachment)) => {
                    write!(
                        f,
                        " (attached) <{}> {}",
                        attachment.name,
                        one_line(&attachment.text, SHOWN_BYTES)
                    )?;
                }
                ItemPart::Reasoning { text, .. } => write!(f, " (thinks) {}", one_line(text, SHOWN_BYTES))?,
                ItemPart::Raw(wire) => write!(f, " (block) {}", one_line(&wire.to_string(), SHOWN_BYTES))?,
            }
        }
        for call in &self.calls {
            write!(f, " →{} {}({})", call.id, call.name, one_line(&call.arguments, SHOWN_BYTES))?;
        }
        if let Some(id) = &self.call_id {
            write!(f, " ←{id}")?;
        }
        Ok(())
    }
}

impl Role {
    /// The role's name on a wire.
    pub fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

impl Shown {
    /// The name in dumps.
    pub fn name(self) -> &'static str {
        match self {
            Shown::Raw => "raw",
            Shown::Shortened => "shortened",
            Shown::Kept => "kept",
            Shown::Pinned => "pinned",
        }
    }

    fn mark(self) -> &'static str {
        match self {
            Shown::Raw => "",
            Shown::Shortened => "~",
            Shown::Kept => "=",
            Shown::Pinned => "!",
        }
    }
}
