//! Simpler methods: their part of the messages before a compaction, in at most as many tokens.

use super::exam::{Exam, Measured, Sized};
use engine::text::{head, tail};

/// Number of files that [`last_files`] holds.
const FILES: usize = 5;
/// Least bytes of a message that counts as a file's content; shorter ones are acknowledgements.
const LEAST_CONTENT: usize = 400;
/// Least tokens of a part of a message.
const LEAST_PART: u32 = 20;

/// A text and its tokens.
pub(super) type Held = (String, u32);

/// The newest messages unchanged, and the end of the first that does not fit.
pub(super) fn raw_tail(exam: &Exam, at: usize, tokens: u32) -> Held {
    newest(exam, at, tokens, |message| &message.whole)
}

/// The newest messages, with results cut to their two ends.
pub(super) fn short_tail(exam: &Exam, at: usize, tokens: u32) -> Held {
    newest(exam, at, tokens, |message| &message.short)
}

/// The five files that calls read or wrote last, as last shown, in half of the tokens; the newest messages in the rest.
pub(super) fn last_files(exam: &Exam, at: usize, tokens: u32) -> Held {
    let mut kept: Vec<&str> = Vec::new();
    let (mut texts, mut used) = (Vec::new(), 0);
    for message in exam.messages.iter().take(at).rev() {
        if kept.len() == FILES {
            break;
        }
        let is_content = message.whole.text.len() >= LEAST_CONTENT;
        let Some(file) = message.files.first().filter(|file| is_content && !kept.contains(&file.as_str()))
        else {
            continue;
        };
        let room = (tokens / 2).saturating_sub(used);
        let share = room / u32::try_from(FILES - kept.len()).unwrap_or(1);
        let whole = &message.whole;
        let bytes = bytes_of(whole, share);
        texts.push(format!("{file}\n{}", head(&whole.text, bytes)));
        used += whole.tokens.min(share);
        kept.push(file);
    }
    let (newest, rest) = raw_tail(exam, at, tokens.saturating_sub(used));
    texts.push(newest);
    (texts.join("\n"), used + rest)
}

fn newest(exam: &Exam, at: usize, tokens: u32, of: impl Fn(&Measured) -> &Sized) -> Held {
    let (mut kept, mut used) = (Vec::new(), 0);
    for message in exam.messages.iter().take(at).rev().map(of) {
        let room = tokens - used;
        if message.tokens > room {
            if room >= LEAST_PART {
                kept.push(tail(&message.text, bytes_of(message, room)));
                used = tokens;
            }
            break;
        }
        used += message.tokens;
        kept.push(&message.text);
    }
    kept.reverse();
    (kept.join("\n"), used)
}

/// The bytes of a text that make so many tokens, in proportion.
fn bytes_of(text: &Sized, tokens: u32) -> usize {
    let share = f64::from(tokens) / f64::from(text.tokens.max(1));
    (text.text.len() as f64 * share.min(1.0)) as usize
}
