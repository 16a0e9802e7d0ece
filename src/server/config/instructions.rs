//! Instruction files of a session: their names, and how much of each is in its prompt.

use crate::server::client::Client;
use crate::server::watch::{Found, Look};
use engine::message::Text;
use engine::text::head;
use engine::tokens::TokenCount;
use session::Session;
use session::stored::Driver;
use std::path::{Path, PathBuf};

/// Most bytes of an instruction file that are read: it is in each prompt.
const MOST: u64 = 32 << 10;
/// The default instruction file, on which all agents agree. Others are usually links to it, or repeat it.
const USUAL: &str = "AGENTS.md";

/// Names of a session's instruction files; none in a folder that the user does not trust.
pub(super) fn names(session: &Session) -> Vec<String> {
    if !session.settings().is_trusted {
        return Vec::new();
    }
    let usual = match session.head().driver {
        Driver::Sidecar => vec![USUAL.to_owned()],
        // The editor brings its own.
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

/// Room for all instruction files of a session: an eighth of its window, so that a prompt never overflows
/// because of them.
pub(super) fn room(session: &Session) -> Room {
    let bytes = usize::try_from(MOST).unwrap_or(usize::MAX);
    Room { bytes, tokens: session.settings().model.window / 8 }
}

/// The beginning of a text that fits into the room.
fn of_tokens<'a>(counter: &dyn TokenCount, text: &'a str, most: Room) -> &'a str {
    let text = head(text, most.bytes);
    // A token has at least one byte.
    if text.len() <= most.tokens as usize || counter.count(text) <= most.tokens {
        return text;
    }
    // A longer beginning has no fewer tokens, but for a few where it ends inside a word. The result need not
    // be exact.
    let (mut fits, mut too_long) = (most.tokens as usize, text.len());
    while fits + 1 < too_long && too_long - fits > text.len() / 128 {
        let middle = fits.midpoint(too_long);
        if counter.count(head(text, middle)) <= most.tokens { fits = middle } else { too_long = middle }
    }
    head(text, fits)
}

/// Rules for reading such a file; `None` if the folder is not a local path.
pub(super) fn look(folder: &str, name: &str) -> Option<Look> {
    let base = PathBuf::from(folder);
    let file = base.join(name);
    base.is_absolute().then_some(Look { file, base, may_leave: false, most: MOST })
}

impl Room {
    /// The room left beside this text.
    pub fn beside(self, counter: &dyn TokenCount, text: &str) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(text.len()),
            tokens: self.tokens.saturating_sub(counter.count(text)),
        }
    }
}

/// The text of an instruction file, cut to the room; `Some(None)` if it is missing or empty, `None` if it is
/// unreadable.
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
            client.warn(format!("the instruction file {} was ignored: {why}", place.display()));
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
