//! Session titles: made of the first request, replaced by a model's if that is allowed, and never changed
//! once a client has set one.

pub(crate) mod titler;
mod words;

use crate::core::Core;
use crate::values::stored::TitleFrom;
use engine::id::Ordinal;
use engine::message::{Body, Content};
use words::asked;

/// Titles the session after its first request, unless it has a title.
pub(crate) fn name_after(core: &mut Core<'_>, request: Ordinal) {
    let message = core.transcript().message(request).cloned();
    if let Some(Body::User(content)) = message.as_ref().map(|message| &message.body) {
        name_by(core, content);
    }
}

/// Titles the session after the first request with text, unless it has a title: in a file, system texts and
/// messages of a program may come first.
pub(crate) fn name_after_taken(core: &mut Core<'_>) {
    let mut messages = core.transcript().messages().iter();
    let first = messages.find(|message| matches!(&message.body, Body::User(said) if asked(said).is_some()));
    if let Some(request) = first.map(|message| message.ord) {
        name_after(core, request);
    }
}

/// Titles the session after this content, unless it has a title.
pub(crate) fn name_by(core: &mut Core<'_>, content: &[Content]) {
    if core.head().title.is_some() {
        return;
    }
    if let Some(title) = asked(content) {
        take_title(core, title, TitleFrom::Request);
    }
}

fn take_title(core: &mut Core<'_>, title: String, from: TitleFrom) {
    core.set_title(Some(title), Some(from));
    core.write_head();
    core.emit_thread();
}
