//! Requests on their way to their handlers: at once, or after a large one of the same session was read.

use super::Router;
use super::servers::ServerHandler;
use crate::server::client::Reply;
use crate::server::client::replies::NOBODY;
use crate::server::host::queued::Queued;
use crate::server::inbox::Event;
use crate::server::requests::Ask;
use crate::server::services::intake::{Asked, Next, Prepared, Read};
use crate::server::services::tasks::TaskEvent;
use engine::message::PROCESS_COMPLETED;
use session::input::Command;
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
        ServerHandler { router }.release_all();
        router.end(done);
    }
}

/// Handles the end of the process, behind the requests before it.
pub(super) fn ending(router: &mut Router, done: oneshot::Sender<()>) {
    router.stores.stop_waiting();
    if let Some(done) = router.intake.end(done) {
        ServerHandler { router }.release_all();
        router.end(done);
    }
}

fn carry_out(router: &mut Router, to: ReplyTo, ask: Box<Ask>) {
    if let Err(error) = router.requests().ask(to, *ask) {
        router.answer(to, Err(error));
    }
}

/// Handles a store's answer about tasks.
pub(super) fn tasks(router: &mut Router, event: TaskEvent) {
    match event {
        TaskEvent::Waiting(folder, found) => {
            let at = (&router.config, &router.sessions);
            for session in router.tasks.waiting(at, &folder, found) {
                if router.ending.is_none() {
                    let store = router.stores.name(&folder);
                    router.stores.remember(&session, store);
                    router.hand(&session, Queued::Task);
                }
            }
        }
        TaskEvent::Ended(id, found) => {
            let is_here =
                router.sessions.host(&id).is_some_and(|host| host.is_stored() && !host.is_leaving());
            for (task, text) in router.tasks.ended(&id, found, is_here) {
                if router.tasks.tell_parent_once(task) {
                    let notice = Command::Notice { kind: PROCESS_COMPLETED, text };
                    router.hand(&id, Queued::Command(NOBODY, Box::new(notice)));
                }
            }
        }
    }
}
