//! Chat histories of Aider (`.aider.chat.history.md`): Markdown to which every run appends. A run begins with
//! `# aider chat started at <time>`; lines of the user begin with `#### `, lines of the program with `> `, and all
//! others are the model's. As in Aider itself, a quotation (`> `) in an answer counts as the program's.

use super::json::not_text;
use super::{Entry, Format, Import, ImportError, noise};
use engine::message::{Body, Content, Usage};

/// The beginning of a run's first line.
pub(super) const START: &str = "# aider chat started at ";
/// Commands whose text is sent to the model; all others are for the program.
const ASKING: [&str; 4] = ["/ask", "/code", "/architect", "/context"];

/// Reads every line.
pub(super) fn read(bytes: &[u8]) -> Result<Import, ImportError> {
    if let Some(error) = not_text(bytes) {
        return Err(error);
    }
    let mut import = Import::new(Format::Aider);
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let mut block = Block { speaker: Speaker::Model, lines: Vec::new() };
    for line in text.lines() {
        let (speaker, said) = match line {
            line if line.starts_with(START) => (Speaker::Start, line.trim_start_matches("# ")),
            "####" => (Speaker::User, ""),
            ">" => (Speaker::Program, ""),
            line => match (line.strip_prefix("#### "), line.strip_prefix("> ")) {
                // Two blanks at its end are Markdown's line break.
                (Some(said), _) => (Speaker::User, said.strip_suffix("  ").unwrap_or(said)),
                (None, Some(said)) => (Speaker::Program, said.strip_suffix("  ").unwrap_or(said)),
                (None, None) => (Speaker::Model, line),
            },
        };
        if block.speaker != speaker {
            block.end(&mut import);
            block.speaker = speaker;
        }
        block.lines.push(said);
    }
    block.end(&mut import);
    Ok(import)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    Start,
    User,
    Program,
    Model,
}

/// Successive lines of one speaker.
struct Block<'a> {
    speaker: Speaker,
    lines: Vec<&'a str>,
}

impl Block<'_> {
    /// Appends the block as a message, unless it is blank.
    fn end(&mut self, import: &mut Import) {
        let text = std::mem::take(&mut self.lines).join("\n");
        let text = text.trim_matches('\n');
        if text.trim().is_empty() {
            return;
        }
        match self.speaker {
            Speaker::User => {
                let command = text.split_whitespace().next().filter(|word| word.starts_with('/'));
                let is_for_program = command.is_some_and(|command| !ASKING.contains(&command));
                let content = vec![Content::Text(text.into())];
                let content = if is_for_program { noise::all_attached("command", content) } else { content };
                import.push_user(content, None, None);
            }
            Speaker::Model => drop(import.push(Body::assistant(text, Vec::new()), None, None)),
            Speaker::Start => drop(event(import, "session", text)),
            Speaker::Program => {
                received(import, text);
                event(import, "aider", text);
            }
        }
    }
}

fn event(import: &mut Import, kind: &str, text: &str) -> usize {
    import.push(Body::Event { kind: kind.to_owned(), text: text.into() }, None, None)
}

/// Sets the output tokens of the last answer from a line such as `Tokens: 2.1k sent, 300 received.` The tokens sent
/// are left out: they include the files of the chat, which the history does not hold.
fn received(import: &mut Import, text: &str) {
    let line = text.lines().find_map(|line| line.strip_prefix("Tokens: "));
    let count = line.and_then(|line| line.split(", ").find_map(|part| part.split_once(" received")));
    let Some(tokens) = count.and_then(|(count, _)| rounded(count)) else { return };
    if let Some(Entry::Message(message)) = import.entries.last_mut()
        && let Body::Assistant { beside, .. } = &mut message.body
    {
        beside.usage = Some(Usage { output_tokens: Some(tokens), ..Usage::default() });
    }
}

/// A count as the program prints it: `300`, `2.1k`, `12k`.
fn rounded(count: &str) -> Option<u32> {
    let Some(thousands) = count.strip_suffix('k') else { return count.parse().ok() };
    let (whole, tenths) = thousands.split_once('.').unwrap_or((thousands, "0"));
    let tenths: u32 = tenths.parse().ok().filter(|tenths| *tenths < 10)?;
    whole.parse::<u32>().ok()?.checked_mul(1000)?.checked_add(tenths * 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import;
    use engine::message::attachment::Attachment;

    #[test]
    fn speakers_are_told_apart_by_their_lines() {
        let source = "\n# aider chat started at 2025-01-02 03:04:05\n\n> Aider v0.1  \n> Model: m  \n\n\
            #### /add a.py  \n\n> Added a.py to the chat  \n\n#### make it shorter  \n####   \n#### and faster  \n\n\
            # Plan\nI cut it.\n\na.py\n```\n<<<<<<< SEARCH\nx = 1\n=======\n>>>>>>> REPLACE\n```\n\n\
            > Tokens: 12k sent, 1.2k cache hit, 2.3k received. Cost: $0.01 message, $0.02 session.  \n> Applied edit to a.py  \n";
        let read = import(source.as_bytes(), None).unwrap();
        assert_eq!((read.format, &read.skipped), (Format::Aider, &vec![]));
        let event = |kind: &str, text: &str| Body::Event { kind: kind.into(), text: text.into() };
        let mut answer = Body::assistant(
            "# Plan\nI cut it.\n\na.py\n```\n<<<<<<< SEARCH\nx = 1\n=======\n>>>>>>> REPLACE\n```",
            vec![],
        );
        if let Body::Assistant { beside, .. } = &mut answer {
            beside.usage = Some(Usage { output_tokens: Some(2_300), ..Usage::default() });
        }
        let expected = [
            event("session", "aider chat started at 2025-01-02 03:04:05"),
            event("aider", "Aider v0.1\nModel: m"),
            Body::User(vec![Content::Attachment(Attachment::new("command", "/add a.py"))]),
            event("aider", "Added a.py to the chat"),
            Body::User(vec![Content::Text("make it shorter\n\nand faster".into())]),
            answer,
            event(
                "aider",
                "Tokens: 12k sent, 1.2k cache hit, 2.3k received. Cost: $0.01 message, $0.02 session.\nApplied edit to a.py",
            ),
        ];
        let bodies: Vec<Body> = read
            .entries
            .into_iter()
            .filter_map(|entry| match entry {
                Entry::Message(message) => Some(message.body),
                Entry::Compaction(_) => None,
            })
            .collect();
        assert_eq!(bodies, expected);
    }

    #[test]
    fn printed_counts_are_read() {
        let counts = ["300", "2.1k", "12k", "k", "1.25k", "x"].map(rounded);
        assert_eq!(counts, [Some(300), Some(2_100), Some(12_000), None, None, None]);
    }
}
