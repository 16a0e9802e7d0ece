//! Calls that run at a server. What it says and asks meanwhile reaches the call that it is about.

use crate::question::{Question, form, reply};
use rmcp::ErrorData;
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ProgressNotificationParam, ProgressToken,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{oneshot, watch};

/// Most bytes of the words about a progress.
const MOST_WORDS: usize = 200;

/// Most questions of a call that wait for the user.
const MOST_QUESTIONS: u32 = 10;

/// Progress of a call, as its server says.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The part that is done, in units of the server.
    pub done: f64,
    /// The whole in the same units, if the server knows it.
    pub total: Option<f64>,
    /// Words of the server, on one line and cut.
    pub message: Option<String>,
}

impl std::fmt::Display for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.done)?;
        if let Some(total) = self.total {
            write!(f, " of {total}")?;
        }
        match &self.message {
            Some(message) => write!(f, " ({message})"),
            None => Ok(()),
        }
    }
}

impl From<ProgressNotificationParam> for Progress {
    fn from(given: ProgressNotificationParam) -> Self {
        let message = given.message.map(|message| engine::text::one_line(&message, MOST_WORDS));
        Self { done: given.progress, total: given.total, message: message.filter(|words| !words.is_empty()) }
    }
}

/// A message of a server to a call that runs.
#[derive(Debug)]
pub enum Sign {
    /// Progress; at most four reports in a second.
    Progress(Progress),
    /// A question to the user. Dropped, it is declined.
    Question(Question),
}

/// Whoever makes a call.
#[derive(Clone)]
pub struct Caller {
    /// Name of the session. Questions that name no call reach the newest call of the only session that has one.
    pub session: String,
    /// Takes the server's signs, from any thread.
    pub hear: Arc<dyn Fn(Sign) + Send + Sync>,
}

/// The state of a call, as its server tells it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Said {
    /// The number of its signs of progress.
    pub signs: u64,
    /// The newest progress.
    pub progress: Option<Progress>,
    /// The number of its questions that have no answer.
    pub questions: u32,
}

/// The running calls of a connection.
#[derive(Clone)]
pub(crate) struct RunningCalls {
    /// `true` if the user can be asked.
    pub asks: bool,
    calls: Arc<Mutex<Calls>>,
}

#[derive(Default)]
struct Calls {
    last: u64,
    running: BTreeMap<u64, Call>,
}

struct Call {
    /// The token of its newest request.
    token: Option<ProgressToken>,
    said: watch::Sender<Said>,
    caller: Caller,
}

/// A call that runs until this is dropped.
pub(crate) struct RunningCall {
    calls: RunningCalls,
    pub number: u64,
    /// The call as its server tells it.
    pub said: watch::Receiver<Said>,
}

impl RunningCalls {
    /// No calls.
    pub fn new(asks: bool) -> Self {
        Self { asks, calls: Arc::default() }
    }

    /// Adds a call.
    pub fn begin(&self, caller: Caller) -> RunningCall {
        let (sender, said) = watch::channel(Said::default());
        let mut calls = self.lock();
        calls.last += 1;
        let number = calls.last;
        calls.running.insert(number, Call { token: None, said: sender, caller });
        RunningCall { calls: self.clone(), number, said }
    }

    /// Takes a sign of progress. One of a call that is over is dropped.
    pub fn progressed(&self, given: ProgressNotificationParam) {
        let calls = self.lock();
        let is_its = |call: &&Call| call.token.as_ref() == Some(&given.progress_token);
        let Some(call) = calls.running.values().find(is_its) else { return };
        call.said.send_modify(|said| {
            said.signs += 1;
            said.progress = Some(given.into());
        });
    }

    /// Asks the user of a call; without one, of the only session that has calls. Declined if nobody can be asked.
    pub async fn ask(
        &self,
        call: Option<u64>,
        params: ElicitRequestParams,
    ) -> Result<ElicitResult, ErrorData> {
        let (message, schema) = form(params)?;
        let declined = || Ok(ElicitResult::new(ElicitationAction::Decline));
        // Servers may ask although they were told that nobody can be asked.
        if !self.asks {
            return declined();
        }
        let Some((caller, said)) = self.whom(call) else { return declined() };
        if said.borrow().questions >= MOST_QUESTIONS {
            return declined();
        }
        let (sender, answer) = oneshot::channel();
        // A call whose user thinks is not late.
        let _waits = Waits::begin(said);
        (caller.hear)(Sign::Question(Question { message, schema, reply: sender }));
        match answer.await {
            Ok(answer) => Ok(reply(answer)),
            Err(_) => declined(),
        }
    }

    fn whom(&self, call: Option<u64>) -> Option<(Caller, watch::Sender<Said>)> {
        let calls = self.lock();
        let found = match call {
            Some(number) => calls.running.get(&number)?,
            None => {
                let newest = calls.running.values().next_back()?;
                let is_its = |call: &Call| call.caller.session == newest.caller.session;
                Some(newest).filter(|_| calls.running.values().all(is_its))?
            }
        };
        Some((found.caller.clone(), found.said.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningCall {
    /// Notes the token of a request for this call.
    pub fn sent(&self, token: ProgressToken) {
        if let Some(call) = self.calls.lock().running.get_mut(&self.number) {
            call.token = Some(token);
        }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.calls.lock().running.remove(&self.number);
    }
}

/// A question that waits for its answer.
struct Waits(watch::Sender<Said>);

impl Waits {
    fn begin(said: watch::Sender<Said>) -> Self {
        said.send_modify(|said| said.questions += 1);
        Self(said)
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.send_modify(|said| said.questions -= 1);
    }
}
