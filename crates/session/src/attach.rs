//! Volatile context (source: 000): what is so now is captured with the request that it first appears in, and stays there
//! byte for byte. What changes later waits for the next request, across restarts, and is told once.

use super::Step;
use super::input::Render;
use engine::message::attachment::{self, Attachment};
use engine::message::{Body, Content};

impl Step<'_> {
    /// Something is so from now on; the next request tells it.
    pub(super) fn attach_later(&mut self, given: Vec<Attachment>) {
        if given.is_empty() {
            return;
        }
        attachment::put(&mut self.session.head.carried.attachments, given);
        // A notice is no use of the session.
        if self.session.is_stored {
            self.write_head_as_it_was_used();
        }
    }

    /// The content of a request with what was so when it was said the first time, all that waits, and what was given
    /// with it. The later of one name is the newer.
    pub(super) fn attached(&mut self, content: Vec<Content>, given: Vec<Attachment>) -> Vec<Content> {
        let (mut content, mut all) = attachment::apart(content);
        let waited = std::mem::take(&mut self.session.head.carried.attachments);
        if !waited.is_empty() {
            self.write_head_as_it_was_used();
        }
        attachment::put(&mut all, waited);
        attachment::put(&mut all, given);
        content.extend(all.into_iter().map(Content::Attachment));
        content
    }

    /// A render says what is so now. The request that it brings has it, and all that waits; whether it is new is not
    /// known yet.
    pub(super) fn attach_to_render(&mut self, render: &mut Render) {
        let mut all = self.session.head.carried.attachments.clone();
        attachment::put(&mut all, std::mem::take(&mut render.attachments));
        let request = render.current.as_mut().and_then(|turn| turn.messages.first_mut());
        if let Some(Body::User(parts)) = request.map(|request| &mut request.body) {
            let (said, given) = attachment::apart(std::mem::take(parts));
            attachment::put(&mut all, given);
            *parts = said.into_iter().chain(all.iter().cloned().map(Content::Attachment)).collect();
        }
        render.attachments = all;
    }

    /// The render's request was taken in, or was here before and stays as it was: what it does not tell waits for the
    /// next one.
    pub(super) fn attach_rest(&mut self, given: Vec<Attachment>) {
        let messages = self.session.transcript.messages();
        let told = |attachment: &Attachment| {
            let mut newest_first = messages.iter().rev().map(|message| &message.body);
            newest_first.find_map(|body| body.attachments().find(|known| known.name == attachment.name))
                == Some(attachment)
        };
        let rest: Vec<Attachment> = given.into_iter().filter(|attachment| !told(attachment)).collect();
        if self.session.head.carried.attachments != rest {
            self.session.head.carried.attachments = rest;
            self.write_head();
        }
    }
}
