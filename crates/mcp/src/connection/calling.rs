//! Calls of a connection: their deadlines, their progress, and the questions that a server asks meanwhile.

use super::{CallError, Connection, QUIET};
use crate::calls::{Caller, Progress, RunningCall, Said, Sign};
use crate::content;
use crate::handler;
use engine::message::ToolResult;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientRequest,
    InputRequest, InputResponses, JsonObject, RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use serde_json::Value;
use std::task::{Context, Waker};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until, timeout};

/// The longest a call may take with progress, as a multiple of the time that it may take without.
const WITH_PROGRESS: u32 = 20;
/// Most requests of one call to a server of the newer revision, which asks the user between two of them.
const MOST_ROUNDS: usize = 10;
/// Most questions between two of them.
const MOST_QUESTIONS: usize = 10;
/// The time by which each of them waits longer, if the server asks nothing.
const BETWEEN_ROUNDS: Duration = Duration::from_millis(200);
/// The shortest time between two reports of a call's progress.
const BETWEEN_PROGRESS: Duration = Duration::from_millis(250);

impl Connection {
    /// Calls a tool by the server's own name. Dropped, the call is cancelled at the server.
    pub async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        silence: Duration,
        caller: Caller,
    ) -> Result<ToolResult, CallError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let hear = caller.hear.clone();
        let mut last = Instant::now() + silence * WITH_PROGRESS;
        let mut deadline = Instant::now() + silence;
        // The time since when the user is asked.
        let mut asked: Option<Instant> = None;
        let (running, closed) = (self.calls.begin(caller), self.closed());
        let mut said = running.said.clone();
        let mut told = Told::default();
        let call = self.answered(params, &running);
        tokio::pin!(call, closed);
        loop {
            tokio::select! {
                done = &mut call => return match done {
                    Ok(result) => Ok(content::result(result)),
                    Err(ServiceError::TransportClosed) => Err(CallError::Ended(self.end_reason().await)),
                    Err(error) => Err(self.refused(&error)),
                },
                () = &mut closed => {
                    // The answer may have come together with the end.
                    if let Ok(Ok(result)) = timeout(QUIET, &mut call).await {
                        return Ok(content::result(result));
                    }
                    return Err(CallError::Ended(self.end_reason().await));
                }
                Ok(()) = said.changed() => {
                    let now = Instant::now();
                    match (said.borrow_and_update().questions > 0, asked) {
                        (true, None) => asked = Some(now),
                        (false, Some(since)) => {
                            last += now - since;
                            asked = None;
                        }
                        _ => {}
                    }
                    deadline = (now + silence).min(last);
                    told.is_behind = said.borrow().signs > told.signs;
                }
                () = told.due(), if told.is_behind => {
                    let Said { progress, signs, .. } = said.borrow().clone();
                    told.now(signs);
                    if let Some(progress) = progress {
                        hear(Sign::Progress(self.shown(progress)));
                    }
                }
                () = sleep_until(deadline), if asked.is_none() => {
                    let progress = said.borrow().progress.clone();
                    let progress = progress.map_or_else(String::new, |progress| format!("; its last progress was {progress}"));
                    let time = if deadline < last { silence } else { silence * WITH_PROGRESS };
                    let late = format!("no result within {} s{progress}; the call was cancelled", time.as_secs_f32());
                    return Err(CallError::Late(self.tail.masked(&late)));
                }
            }
        }
    }

    /// Sends the request of a call until it has its result: servers of the newer revision ask by results that are none.
    async fn answered(
        &self,
        mut params: CallToolRequestParams,
        running: &RunningCall,
    ) -> Result<CallToolResult, ServiceError> {
        for round in 0..MOST_ROUNDS {
            let wanted = match self.requested(params.clone(), running).await? {
                ServerResult::CallToolResult(result) => return Ok(result),
                // A result that has no content.
                ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => {
                    return Ok(CallToolResult::default());
                }
                ServerResult::InputRequiredResult(wanted) => wanted,
                _ => return Err(ServiceError::UnexpectedResponse),
            };
            let requests = wanted.input_requests.unwrap_or_default();
            if requests.len() > MOST_QUESTIONS {
                return Err(ServiceError::UnexpectedResponse);
            }
            if requests.is_empty() {
                tokio::time::sleep(BETWEEN_ROUNDS * u32::try_from(round).unwrap_or(1)).await;
            }
            let mut responses = InputResponses::new();
            for (key, request) in requests {
                responses.insert(key, self.input(request, running).await.map_err(ServiceError::McpError)?);
            }
            params.input_responses = (!responses.is_empty()).then_some(responses);
            params.request_state = wanted.request_state;
        }
        Err(ServiceError::InputRequiredRoundsExceeded { max_rounds: MOST_ROUNDS })
    }

    /// The input that a server asks for within a call.
    async fn input(&self, request: InputRequest, running: &RunningCall) -> Result<Value, ErrorData> {
        match request {
            InputRequest::Elicitation(request) => {
                let answer = self.calls.ask(Some(running.number), request.params).await?;
                Ok(serde_json::to_value(answer).unwrap_or_default())
            }
            InputRequest::CreateMessage(_) => Err(handler::no_sampling()),
            _ => Err(handler::no_roots()),
        }
    }

    async fn requested(
        &self,
        params: CallToolRequestParams,
        running: &RunningCall,
    ) -> Result<ServerResult, ServiceError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = self.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
        running.sent(sent.progress_token.clone());
        let mut unanswered = Unanswered { peer: &self.peer, id: Some(sent.id.clone()) };
        let answer = sent.await_response().await;
        unanswered.id = None;
        answer
    }

    /// A progress without the server's secrets.
    fn shown(&self, progress: Progress) -> Progress {
        let message = progress.message.map(|message| self.tail.masked(&message));
        Progress { message, ..progress }
    }
}

/// A request without an answer. Dropped, it is cancelled at the server.
struct Unanswered<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.peer.clone();
        let cancelled = CancelledNotificationParam::new(Some(id), None);
        let mut sending = Box::pin(async move { drop(peer.notify_cancelled(cancelled).await) });
        // At once, so that it comes before the next request, unless other messages wait.
        let is_sent = sending.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        if let (false, Ok(runtime)) = (is_sent, Handle::try_current()) {
            runtime.spawn(sending);
        }
    }
}

/// When the caller was told of progress.
#[derive(Default)]
struct Told {
    last: Option<Instant>,
    /// The number of signs then.
    signs: u64,
    /// `true` if there is newer progress.
    is_behind: bool,
}

impl Told {
    /// Waits until the caller may be told again.
    async fn due(&self) {
        if let Some(last) = self.last {
            sleep_until(last + BETWEEN_PROGRESS).await;
        }
    }

    fn now(&mut self, signs: u64) {
        *self = Self { last: Some(Instant::now()), signs, is_behind: false };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn progress_is_told_four_times_in_a_second_at_most() {
        let mut told = Told::default();
        let begin = Instant::now();
        for report in 0..4 {
            told.due().await;
            assert!(begin.elapsed() >= report * BETWEEN_PROGRESS, "{report}");
            told.now(u64::from(report));
        }
    }
}
