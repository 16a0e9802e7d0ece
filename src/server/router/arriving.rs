//! Requests on their way to their handlers: at once, or after a large one of the same session was read.

use super::Router;
use crate::server::client::Reply;
use crate::server::inbox::Event;
use crate::server::requests::Ask;
use crate::server::services::intake::{Asked, Next, Prepared, Read};
use session::input::ReplyTo;
use tokio::sync::oneshot;

/// Handles a request that arrived.
pub(super) fn asked(router: &mut Router, asked: Asked, reply: Reply) {
    router.replies.insert(asked.to, reply);
    if let Some((to, ask)) = router.intake.take((&mut router.replies, &router.counter), asked) {
        carry_out(router, to, ask);
    }
}

/// Handles a large request that was read.
pub(super) fn read(router: &mut Router, Read { to, session, done }: Read) {
    // First: those behind it follow even if it panics.
    drop(router.inbox.send(Event::Applied(session)));
    if !router.replies.is_waiting(to) {
        return;
    }
    let done = match done {
        Ok(Prepared::Ask(ask)) => return carry_out(router, to, ask),
        Ok(Prepared::Import(params, restored)) => router.requests().import_read(to, *params, *restored),
        Err(error) => Err(error),
    };
    if let Err(error) = done {
        router.answer(to, Err(error));
    }
}

/// Goes on with the requests behind a large one.
pub(super) fn applied(router: &mut Router, session: Option<String>) {
    let next = router.intake.next((&mut router.replies, &router.counter), session.as_deref());
    if let Next::More(next) = next {
        drop(router.inbox.send(Event::Applied(session)));
        if let Some((to, ask)) = next {
            carry_out(router, to, ask);
        }
    }
    if let Some(done) = router.intake.ended() {
        router.end(done);
    }
}

/// Handles the end of the process, behind the requests before it.
pub(super) fn ending(router: &mut Router, done: oneshot::Sender<()>) {
    if let Some(done) = router.intake.end(done) {
        router.end(done);
    }
}

fn carry_out(router: &mut Router, to: ReplyTo, ask: Box<Ask>) {
    if let Err(error) = router.requests().ask(to, *ask) {
        router.answer(to, Err(error));
    }
}
