//! Volatile context: an attachment is stored with the request in which it first appears, and stays there byte
//! for byte. Later changes wait for the next request, across restarts, and are sent once.

use crate::core::Core;
use crate::values::input::Render;
use engine::message::attachment::{self, Attachment};
use engine::message::{Body, Content};

/// Keeps attachments for the next request.
pub(crate) fn attach_later(core: &mut Core<'_>, given: Vec<Attachment>) {
    if given.is_empty() {
        return;
    }
    core.waiting_mut().put(given);
    // A notice does not count as use of the session.
    if core.is_stored() {
        core.write_head_as_it_was_used();
    }
}

/// A request's content with the attachments that it had when first sent, those that wait, and those given
/// with it; the later of one name wins.
pub(crate) fn attached(core: &mut Core<'_>, content: Vec<Content>, given: Vec<Attachment>) -> Vec<Content> {
    let (mut content, mut all) = attachment::apart(content);
    let waited = core.waiting_mut().take();
    if !waited.is_empty() {
        core.write_head_as_it_was_used();
    }
    attachment::put(&mut all, waited);
    attachment::put(&mut all, given);
    content.extend(all.into_iter().map(Content::Attachment));
    content
}

/// Adds the given and the waiting attachments to the request that a render brings, and keeps them in the
/// render too: whether the request is new is not known yet.
pub(crate) fn attach_to_render(core: &Core<'_>, render: &mut Render) {
    let mut all = core.head().carried.attachments.all().to_vec();
    attachment::put(&mut all, std::mem::take(&mut render.attachments));
    let request = render.current.as_mut().and_then(|turn| turn.messages.first_mut());
    if let Some(Body::User(parts)) = request.map(|request| &mut request.body) {
        let (said, given) = attachment::apart(std::mem::take(parts));
        attachment::put(&mut all, given);
        *parts = said.into_iter().chain(all.iter().cloned().map(Content::Attachment)).collect();
    }
    render.attachments = all;
}

/// Keeps for the next request those attachments that the transcript does not show: a request that was known
/// already stays as it was.
pub(crate) fn attach_rest(core: &mut Core<'_>, given: Vec<Attachment>) {
    let messages = core.transcript().messages();
    let told = |attachment: &Attachment| {
        let mut newest_first = messages.iter().rev().map(|message| &message.body);
        newest_first.find_map(|body| body.attachments().find(|known| known.name == attachment.name))
            == Some(attachment)
    };
    let rest: Vec<Attachment> = given.into_iter().filter(|attachment| !told(attachment)).collect();
    if core.waiting_mut().replace(rest) {
        core.write_head();
    }
}
