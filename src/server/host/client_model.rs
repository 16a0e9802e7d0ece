//! A call to the client's model: asked again after a delay if its failure is one that passes, as calls from this process
//! are.

use super::event::{HostEvent, HostEventKind};
use crate::server::client::{Client, RequestKind, Used};
use crate::server::mailbox::Mailbox;
use engine::id::SessionId;
use engine::prompt::request::Failure;
use models::retry;
use protocol::methods::{self, Named};
use protocol::model::ModelCompleteParams;
use session::input::{ModelCallId, Retry};
use std::time::Duration;
use tokio::task::AbortHandle;

/// A call that has no answer yet.
pub(super) struct ClientModelCall {
    call: ModelCallId,
    used: Used,
    params: ModelCompleteParams,
    /// The number of the newest attempt, counted from 1.
    attempt: u32,
    at: At,
}

/// Where the newest attempt is.
enum At {
    /// With the client, under this number.
    Client(i64),
    /// It failed; this task waits for the time of the next one.
    Waits(AbortHandle),
}

impl ClientModelCall {
    /// Sends the first attempt; `params` needs no id of the request.
    pub fn begin(
        client: &mut Client,
        session: &SessionId,
        call: ModelCallId,
        used: Used,
        mut params: ModelCompleteParams,
    ) -> Self {
        let at = At::Client(send(client, session, call, &used, &mut params));
        Self { call, used, params, attempt: 1, at }
    }

    /// Sends the next attempt.
    pub fn again(&mut self, client: &mut Client, session: &SessionId) {
        self.at = At::Client(send(client, session, self.call, &self.used, &mut self.params));
    }

    /// Takes the failure of the newest attempt. `None` if there is no next one.
    pub fn failed(
        &mut self,
        session: &SessionId,
        failure: &Failure,
        mailbox: &Mailbox<HostEvent>,
    ) -> Option<Retry> {
        let cause = &failure.cause;
        let delay_ms = retry::delay_after(cause, self.attempt, retry::chance())?;
        self.attempt += 1;
        let (call, session, mailbox) = (self.call, session.clone(), mailbox.clone());
        let wait = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            mailbox.send(HostEvent { session, what: HostEventKind::AskAgain(call) });
        });
        self.at = At::Waits(wait.abort_handle());
        Some(Retry { attempt: self.attempt, delay_ms, reason: failure.why.clone() })
    }

    /// The number of the request that is with the client, if one is.
    pub fn number(&self) -> Option<i64> {
        match self.at {
            At::Client(number) => Some(number),
            At::Waits(_) => None,
        }
    }
}

/// Sends an attempt under a number of its own, and returns that.
fn send(
    client: &mut Client,
    session: &SessionId,
    call: ModelCallId,
    used: &Used,
    params: &mut ModelCompleteParams,
) -> i64 {
    let number = client.register(session, RequestKind::Model(call, used.clone()));
    params.request_id = number.to_string();
    client.request(number, methods::ModelComplete::NAME, params);
    number
}

impl Drop for ClientModelCall {
    fn drop(&mut self) {
        if let At::Waits(wait) = &self.at {
            wait.abort();
        }
    }
}
