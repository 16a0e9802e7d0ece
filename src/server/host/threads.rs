//! Threads of their own for work that would keep the router from other sessions.

use std::sync::mpsc;
use std::thread::Builder;

/// Runs this on a thread of its own. Where the system gives none, it runs here: others wait longer then.
pub(super) fn spawn_or_run(name: &str, work: impl FnOnce() + Send + 'static) {
    let (thread, inbox) = mpsc::channel();
    let worker = move || inbox.into_iter().for_each(|work: Box<dyn FnOnce() + Send>| work());
    let work: Box<dyn FnOnce() + Send> = Box::new(work);
    match Builder::new().name(name.to_owned()).spawn(worker) {
        Ok(_) => drop(thread.send(work)),
        Err(_) => work(),
    }
}
