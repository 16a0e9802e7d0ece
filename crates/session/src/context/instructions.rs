//! Instruction files of the workspace. Their text at the start of a chat is in its system text and stays there byte
//! for byte, across restarts; a changed file is reported once, with the next request. Files are read elsewhere.

use crate::context::attach::attach_later;
use crate::core::Core;
use crate::values::stored::Instructions;
use engine::message::Text;
use engine::message::attachment::Attachment;

/// Prefix of the names of attachments about changed files.
const SECTION: &str = "instructions";

impl Instructions {
    /// The text that the model knows.
    fn known(&self) -> &Text {
        self.newer.as_ref().unwrap_or(&self.text)
    }
}

/// Takes in files that were read. Before the first turn their text is fixed; later, changes wait to be reported.
pub(crate) fn take_instructions(core: &mut Core<'_>, files: Vec<(String, Option<Text>)>) {
    let is_new = core.transcript().turns().is_empty();
    let before = core.head().prefix.instructions.clone();
    let mut told = Vec::new();
    for (name, text) in files {
        let text = text.unwrap_or_else(|| "".into());
        let known = &mut core.prefix_mut().instructions;
        match known.iter_mut().find(|file| file.name == name) {
            Some(file) if is_new => (file.text, file.newer) = (text, None),
            Some(file) if *file.known() == text => {}
            Some(file) => {
                told.push(change(&name, file.known(), &text));
                file.newer = Some(text);
            }
            None if text.is_empty() => {}
            None if is_new => known.push(Instructions { name, text, newer: None }),
            None => {
                told.push(change(&name, &"".into(), &text));
                known.push(Instructions { name, text: "".into(), newer: Some(text) });
            }
        }
    }
    if core.head().prefix.instructions == before {
        return;
    }
    if is_new {
        core.freeze();
    }
    // Both in one transaction: a change is not reported again after a restart.
    attach_later(core, told);
    if is_new && core.is_stored() {
        core.write_head_as_it_was_used();
    }
}

/// Puts the current text of the files into the prefix, when it changes anyway. Returns `true` if that is
/// another text.
pub(crate) fn renew_instructions(core: &mut Core<'_>) -> bool {
    let files = &mut core.prefix_mut().instructions;
    if files.iter().all(|file| file.newer.is_none()) {
        return false;
    }
    for file in files.iter_mut() {
        if let Some(newer) = file.newer.take() {
            file.text = newer;
        }
    }
    files.retain(|file| !file.text.is_empty());
    core.waiting_mut().drop_named(SECTION);
    true
}

fn change(name: &str, before: &Text, now: &Text) -> Attachment {
    let text = match (before.is_empty(), now.is_empty()) {
        (_, true) => format!("The instruction file {name} is gone; what it said holds no longer."),
        (true, false) => format!("The instruction file {name} is new; it reads:\n{}", now.trim_end()),
        (false, false) => format!("The instruction file {name} changed; it reads now:\n{}", now.trim_end()),
    };
    Attachment::new(&format!("{SECTION} {name}"), &text)
}
