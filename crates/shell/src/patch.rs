//! Patches in the format of `apply_patch`: the files that their headers name.

use crate::sink::Sink;
use crate::word::Word;
use crate::{Kind, Reason};

/// Adds the effects of a patch; `false` if the text is none.
pub(crate) fn read(patch: &str, sink: &mut Sink) -> bool {
    let mut updated: Option<Word> = None;
    let mut is_patch = false;
    for line in patch.lines() {
        let Some((header, path)) =
            line.trim_start().strip_prefix("*** ").and_then(|rest| rest.split_once(": "))
        else {
            continue;
        };
        let path = Word::literal(path.trim());
        if header != "Move to"
            && let Some(updated) = updated.take()
        {
            sink.effect(Kind::Write, &updated);
        }
        match header {
            "Add File" => sink.effect(Kind::Create, &path),
            "Delete File" => sink.effect(Kind::Delete, &path),
            "Update File" => updated = Some(path),
            "Move to" => {
                if let Some(from) = updated.take() {
                    sink.copy_or_move(&from, &path, Some(false), true);
                }
            }
            _ => continue,
        }
        is_patch = true;
    }
    if let Some(updated) = updated {
        sink.effect(Kind::Write, &updated);
    }
    is_patch
}

/// Adds the effects of `apply_patch` with its arguments or its standard input.
pub(crate) fn applied(words: &[Word], input: Option<&Word>, sink: &mut Sink) {
    let patch = words.iter().find(|word| word.text.contains("*** ")).or(input);
    match patch {
        // A part that is not known may hold headers too.
        Some(patch) => {
            let is_patch = read(&patch.text, sink);
            if !is_patch || !patch.is_known {
                sink.unclear(Reason::Dynamic);
            }
        }
        None => sink.unclear(Reason::Dynamic),
    }
}
