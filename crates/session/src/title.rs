//! A session's title: made of its first request without a model, replaced by a model's where that is allowed, and never
//! changed again once a client has given one.

pub(crate) mod titler;
mod words;

use crate::core::Core;
use crate::values::stored::TitleFrom;
use engine::id::Ordinal;
use engine::message::{Body, Content};
use words::asked;

/// Names the session after its first request, unless it has a name.
pub(crate) fn name_after(core: &mut Core<'_>, request: Ordinal) {
    let message = core.transcript().message(request).cloned();
    if let Some(Body::User(content)) = message.as_ref().map(|message| &message.body) {
        name_by(core, content);
    }
}

/// Names the session after the first request that says something, unless it has a name: where it came from a file,
/// system texts and words of the program may stand before it.
pub(crate) fn name_after_taken(core: &mut Core<'_>) {
    let mut messages = core.transcript().messages().iter();
    let first = messages.find(|message| matches!(&message.body, Body::User(said) if asked(said).is_some()));
    if let Some(request) = first.map(|message| message.ord) {
        name_after(core, request);
    }
}

/// Names the session after what a user says, unless it has a name.
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
