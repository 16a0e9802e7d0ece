//! Instruction files of a session: which they are, and how much of one stands in its prompt.

use crate::server::client::Client;
use crate::server::watch::{Found, Look};
use engine::message::Text;
use engine::text::head;
use engine::tokens::TokenCount;
use session::Session;
use session::stored::Driver;
use std::path::{Path, PathBuf};

/// Bytes of an instruction file that are read at most: it stands in each prompt.
const MOST: u64 = 32 << 10;
/// The instruction file that is read where nobody says which: the one that all agents agree on. Others of a workspace
/// are as a rule links to it, or say the same again.
const USUAL: &str = "AGENTS.md";

/// The instruction files of a session.
pub(super) fn names(session: &Session) -> Vec<String> {
    let usual = match session.head().driver {
        Driver::Sidecar => vec![USUAL.to_owned()],
        // It brings its own.
        Driver::Editor => Vec::new(),
    };
    session.settings().instruction_files.clone().unwrap_or(usual)
}

/// Room for instruction files in a session's prompt.
#[derive(Clone, Copy)]
pub(in crate::server) struct Room {
    bytes: usize,
    tokens: u32,
}

/// All the room of a session's instruction files: an eighth of its window, so that they are never what does not fit.
pub(super) fn room(session: &Session) -> Room {
    let bytes = usize::try_from(MOST).unwrap_or(usize::MAX);
    Room { bytes, tokens: session.settings().model.window / 8 }
}

/// The beginning of a text, of at most so many tokens.
fn of_tokens<'a>(counter: &dyn TokenCount, text: &'a str, most: Room) -> &'a str {
    let text = head(text, most.bytes);
    // A token has a byte at the least.
    if text.len() <= most.tokens as usize || counter.count(text) <= most.tokens {
        return text;
    }
    // A longer beginning has no fewer tokens, but for a few where it ends inside a word. To the last byte it need not be.
    let (mut fits, mut too_long) = (most.tokens as usize, text.len());
    while fits + 1 < too_long && too_long - fits > text.len() / 128 {
        let middle = fits.midpoint(too_long);
        if counter.count(head(text, middle)) <= most.tokens { fits = middle } else { too_long = middle }
    }
    head(text, fits)
}

/// How such a file is looked at. What is at another place than this machine's files has none.
pub(super) fn look(folder: &str, name: &str) -> Option<Look> {
    let base = PathBuf::from(folder);
    let file = base.join(name);
    base.is_absolute().then_some(Look { file, base, may_leave: false, most: MOST })
}

impl Room {
    /// The room beside this text.
    pub fn beside(self, counter: &dyn TokenCount, text: &str) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(text.len()),
            tokens: self.tokens.saturating_sub(counter.count(text)),
        }
    }
}

/// The text of an instruction file as far as there is room, where it can be read; nothing in it where there is none.
pub(super) fn text(
    (client, counter): (&mut Client, &dyn TokenCount),
    folder: &str,
    name: &str,
    found: &Found,
    most: Room,
) -> Option<Option<Text>> {
    let place = Path::new(folder).join(name);
    match found {
        Found::Missing => Some(None),
        Found::Unusable(why) => {
            client.warn(format!("the instruction file {} is left out: {why}", place.display()));
            None
        }
        Found::Text { text, .. } if text.trim().is_empty() => Some(None),
        Found::Text { text, bytes } => {
            let kept = of_tokens(counter, text, most);
            if kept.len() as u64 == *bytes {
                return Some(Some(text.as_str().into()));
            }
            let kept_bytes = kept.len();
            client.warn(format!(
                "the instruction file {} has {bytes} bytes; the first {kept_bytes} are shown",
                place.display()
            ));
            Some(Some(format!("{kept}\n[{kept_bytes} of {bytes} bytes; the rest is left out]").into()))
        }
    }
}
