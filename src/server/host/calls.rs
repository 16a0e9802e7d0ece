//! Pending requests of a session to models, to the client's tools and to its user, and how their responses
//! become inputs.

use super::client_model::ClientModelCall;
use super::event::{HostEvent, HostEventKind};
use crate::convert::{self, Reading};
use crate::server::client::{Client, RequestKind, Used};
use crate::server::mailbox::Mailbox;
use crate::server::wire::{agent, answer as wire_answer, decided, failure, review};
use engine::id::CallId;
use engine::prompt::request::Failure;
use mcp::{Question, Reply};
use protocol::check;
use protocol::message::Arguments;
use protocol::methods::{self, Named, read_result};
use protocol::model::{ModelCompleteParams, ModelCountTokensParams, ModelPurpose, Usage, UsageSource};
use protocol::tool::server::{McpElicitAction, McpElicitParams, McpElicitResult};
use protocol::tool::{RequestPermissionParams, ToolInvokeParams};
use serde_json::Value;
use session::Session;
use session::effect::{AskModel, AskReview, AskedCall, InvokeTool};
use session::input::{Input, ModelCallId, ToolOutcome};
use std::collections::BTreeMap;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tower_lsp::jsonrpc::Error;

/// The pending calls of one session, which end with it.
pub(super) struct Calls {
    mailbox: Mailbox<HostEvent>,
    /// Calls to the client's model.
    models: BTreeMap<ModelCallId, ClientModelCall>,
    /// Tasks of calls to models from this process.
    remotes: BTreeMap<ModelCallId, AbortHandle>,
    /// Request numbers of tool calls.
    tools: BTreeMap<CallId, i64>,
    /// Tasks of calls to tools of servers.
    servers: BTreeMap<CallId, AbortHandle>,
    /// Questions of servers, by the numbers of their requests.
    questions: BTreeMap<i64, Asking>,
    /// Number of the permission request.
    permission: Option<i64>,
    /// Number of the request to review a compaction.
    review: Option<i64>,
}

/// A question of a server.
struct Asking {
    call: CallId,
    schema: Value,
    /// Dropped, the question is declined.
    reply: oneshot::Sender<Reply>,
}

/// Parameters of a request to the client's model, beside its effect.
pub(super) struct Asked {
    pub purpose: ModelPurpose,
    pub used: Used,
    /// `true` if the client counts tokens.
    pub counts: bool,
}

impl Calls {
    pub fn new(mailbox: Mailbox<HostEvent>) -> Self {
        let (models, remotes, tools, servers, questions) = Default::default();
        Self { mailbox, models, remotes, tools, servers, questions, permission: None, review: None }
    }

    /// Asks the client's model.
    pub fn ask_model(&mut self, client: &mut Client, session: &Session, ask: AskModel, asked: Asked) {
        let AskModel { call, turn, model, request, .. } = ask;
        let Asked { purpose, used, counts } = asked;
        if counts && model.counts_tokens {
            let texts = request.items.iter().flat_map(|item| item.texts()).map(|text| text.to_string());
            let params = ModelCountTokensParams { texts: texts.collect(), model: model.name.clone() };
            let number = client.register(session.id(), RequestKind::Count(used.clone()));
            client.request(number, methods::ModelCountTokens::NAME, &params);
        }
        let params = ModelCompleteParams {
            session_id: session.id().as_str().to_owned(),
            turn_id: turn.map(|turn| turn.as_str().to_owned()),
            ..convert::complete_params(&request, purpose, model.name.as_deref())
        };
        let params = ModelCompleteParams { messages: convert::fit(params.messages, &model), ..params };
        self.models.insert(call, ClientModelCall::begin(client, session.id(), call, used, params));
    }

    /// Asks it again, if the answer is still wanted.
    pub fn ask_again(&mut self, client: &mut Client, session: &Session, call: ModelCallId) {
        if let Some(asked) = self.models.get_mut(&call) {
            asked.again(client, session.id());
        }
    }

    /// Notes a call to a model from this process.
    pub fn insert_remote(&mut self, call: ModelCallId, task: AbortHandle) {
        self.remotes.insert(call, task);
    }

    /// Ends such a call. Returns `false` if its answer is no longer wanted.
    pub fn end_remote(&mut self, call: ModelCallId) -> bool {
        self.remotes.remove(&call).is_some()
    }

    /// Cancels a model call.
    pub fn cancel_model(&mut self, client: &mut Client, call: ModelCallId) {
        if let Some(task) = self.remotes.remove(&call) {
            task.abort();
        }
        if let Some(number) = self.models.remove(&call).and_then(|asked| asked.number()) {
            client.cancel(number);
        }
    }

    /// Asks the client to run a tool.
    pub fn invoke(&mut self, client: &mut Client, session: &Session, call: InvokeTool) {
        let number = client.register(session.id(), RequestKind::Tool(call.call.clone()));
        self.tools.insert(call.call.clone(), number);
        let params = ToolInvokeParams {
            session_id: session.id().as_str().to_owned(),
            turn_id: call.turn.as_str().to_owned(),
            tool_call_id: call.call.as_str().to_owned(),
            name: call.name.to_string(),
            arguments: Arguments(call.arguments.to_string()),
        };
        client.request(number, methods::ToolInvoke::NAME, &params);
    }

    /// Notes a call to a tool of a server; dropping its task cancels it there.
    pub fn insert_server(&mut self, call: CallId, task: AbortHandle) {
        self.servers.insert(call, task);
    }

    /// Forgets a call of ours or of a server that has its result.
    pub fn end_server(&mut self, client: &mut Client, call: &CallId) {
        self.servers.remove(call);
        self.withdraw(client, |asking| asking.call == *call);
    }

    /// Asks the user what a server wants to know within a call that runs.
    pub fn elicit(
        &mut self,
        client: &mut Client,
        session: &Session,
        call: CallId,
        server: String,
        question: Question,
    ) {
        if !self.servers.contains_key(&call) {
            return;
        }
        let number = client.register(session.id(), RequestKind::Elicit);
        let Question { message, schema, reply } = question;
        let params = McpElicitParams {
            session_id: session.id().as_str().to_owned(),
            tool_call_id: call.as_str().to_owned(),
            server,
            message,
            schema: schema.clone(),
            agent: agent::asking(session),
        };
        let (sender, given) = oneshot::channel();
        self.questions.insert(number, Asking { call, schema, reply: sender });
        let (mailbox, session) = (self.mailbox.clone(), session.id().clone());
        tokio::spawn(async move {
            let mut reply = reply;
            let given = tokio::select! {
                given = given => given.ok(),
                () = reply.closed() => {
                    return mailbox.send(HostEvent { session, what: HostEventKind::Withdrawn(number) });
                }
            };
            if let Some(given) = given {
                // The server may have stopped waiting.
                drop(reply.send(given));
            }
        });
        client.request(number, methods::McpElicit::NAME, &params);
    }

    /// Withdraws a question that its server no longer asks.
    pub fn cancel_question(&mut self, client: &mut Client, number: i64) {
        if self.questions.remove(&number).is_some() {
            client.cancel(number);
        }
    }

    /// The call within which a server asks this question.
    pub fn asking_call(&self, number: i64) -> Option<CallId> {
        self.questions.get(&number).map(|asking| asking.call.clone())
    }

    /// `true` if the user is asked within this call.
    pub fn is_asked_in(&self, call: &CallId) -> bool {
        self.questions.values().any(|asking| asking.call == *call)
    }

    fn withdraw(&mut self, client: &mut Client, is_meant: impl Fn(&Asking) -> bool) {
        for (number, _) in self.questions.extract_if(.., |_, asking| is_meant(asking)) {
            client.cancel(number);
        }
    }

    /// Cancels a tool call.
    pub fn cancel_tool(&mut self, client: &mut Client, call: &CallId) {
        if let Some(task) = self.servers.remove(call) {
            task.abort();
        }
        self.withdraw(client, |asking| asking.call == *call);
        if let Some(number) = self.tools.remove(call) {
            client.cancel(number);
        }
    }

    /// Asks the user whether calls may run.
    pub fn ask_permission(&mut self, client: &mut Client, session: &Session, calls: &[AskedCall]) {
        let number = client.register(session.id(), RequestKind::Permission);
        self.permission = Some(number);
        let turn = session.transcript().turns().last();
        let params = RequestPermissionParams {
            session_id: session.id().as_str().to_owned(),
            turn_id: turn.map(|turn| turn.id.as_str().to_owned()).unwrap_or_default(),
            reasons: wire_answer::asked(calls),
            agent: agent::asking(session),
        };
        client.request(number, methods::RequestPermission::NAME, &params);
    }

    /// Withdraws the question: it is decided, or nothing is left to decide.
    pub fn cancel_permission(&mut self, client: &mut Client) {
        if let Some(number) = self.permission.take() {
            client.cancel(number);
        }
    }

    /// Asks the user to review a compaction.
    pub fn ask_review(&mut self, client: &mut Client, session: &Session, ask: &AskReview) {
        let number = client.register(session.id(), RequestKind::Review);
        self.review = Some(number);
        client.request(number, methods::CompactionReview::NAME, &review::question(session, ask));
    }

    /// Withdraws that request.
    pub fn cancel_review(&mut self, client: &mut Client) {
        if let Some(number) = self.review.take() {
            client.cancel(number);
        }
    }

    /// Cancels all requests to the client, when the session ends.
    pub fn cancel_all(&self, client: &mut Client) {
        let models = self.models.values().filter_map(ClientModelCall::number);
        let others =
            self.tools.values().chain(&self.permission).chain(&self.review).chain(self.questions.keys());
        for number in models.chain(others.copied()) {
            client.cancel(number);
        }
    }

    /// Converts the client's response to an input; `None` if it needs none.
    pub fn answered(
        &mut self,
        (client, session, estimator): (&Client, &Session, &str),
        number: i64,
        what: RequestKind,
        outcome: Result<Value, Error>,
    ) -> Option<Input> {
        self.permission.take_if(|asked| *asked == number);
        self.review.take_if(|asked| *asked == number);
        match what {
            RequestKind::Count(used) => {
                let counted = outcome.ok().map(read_result::<methods::ModelCountTokens>);
                if let Some(Ok(counted)) = counted {
                    let tokens = counted.tokens.iter().fold(0u32, |sum, tokens| sum.saturating_add(*tokens));
                    let usage = Usage { input_tokens: Some(tokens), ..Usage::default() };
                    client.usage(session.id(), used, usage, UsageSource::CountTokens, estimator);
                }
                None
            }
            RequestKind::Model(call, used) => {
                let unread = |error: String| format!("the answer to model/complete cannot be read: {error}");
                let outcome = outcome.map_err(|error| failure::of(&error)).and_then(|value| {
                    let read = read_result::<methods::ModelComplete>(value);
                    read.map_err(|error| Failure::from(unread(error.to_string())))
                });
                if let Ok(Some(usage)) = outcome.as_ref().map(|result| result.usage) {
                    client.usage(session.id(), used, usage, UsageSource::Provider, estimator);
                }
                if let Err(failure) = &outcome
                    && let Some(asked) = self.models.get_mut(&call)
                    && let Some(retry) = asked.failed(session.id(), failure, &self.mailbox)
                {
                    return Some(Input::ModelRetries(call, retry));
                }
                self.models.remove(&call);
                let said = outcome.and_then(|result| {
                    let said = convert::answer(&result);
                    said.map_err(|error| Failure::from(unread(error.to_string())))
                });
                Some(Input::ModelDone(call, said))
            }
            RequestKind::Tool(call) => {
                self.tools.remove(&call);
                let outcome = tool_outcome(&call, outcome);
                Some(Input::ToolDone(call, outcome))
            }
            RequestKind::Elicit => {
                let Asking { schema, reply, .. } = self.questions.remove(&number)?;
                let given = outcome.ok().and_then(|value| read_result::<methods::McpElicit>(value).ok());
                // Nobody waits for it if the call ended meanwhile.
                drop(reply.send(elicited(session, &schema, given.flatten())));
                None
            }
            RequestKind::Review => Some(Input::Reviewed(review::answer(outcome))),
            RequestKind::Permission => {
                let decisions = outcome
                    .ok()
                    .and_then(|value| read_result::<methods::RequestPermission>(value).ok().flatten());
                // No answer: the pause stays until somebody decides.
                match decided::decisions(&decisions?.decisions) {
                    Ok(decisions) => Some(Input::Permitted(decisions)),
                    Err(error) => {
                        tracing::warn!(session = %session.id(), %error, "a decision could not be used");
                        None
                    }
                }
            }
        }
    }
}

/// The user's reply to a question, if it fits.
fn elicited(session: &Session, schema: &Value, given: Option<McpElicitResult>) -> Reply {
    match given {
        Some(McpElicitResult { action: McpElicitAction::Accept, content }) => {
            let content = content.unwrap_or_default();
            match check::fault(schema, &Value::Object(content.clone())) {
                None => Reply::Accepted(content),
                Some(fault) => {
                    let (field, reason) = (fault.field, fault.reason);
                    tracing::warn!(session = %session.id(), "an answer for a server does not fit: {field} {reason}");
                    Reply::Declined
                }
            }
        }
        Some(McpElicitResult { action: McpElicitAction::Cancel, .. }) => Reply::Cancelled,
        Some(McpElicitResult { action: McpElicitAction::Decline, .. }) | None => Reply::Declined,
    }
}

fn tool_outcome(call: &CallId, outcome: Result<Value, Error>) -> ToolOutcome {
    let value = match outcome {
        Ok(value) => value,
        Err(error) => return ToolOutcome::Failed(error.message.into_owned()),
    };
    match read_result::<methods::ToolInvoke>(value) {
        Ok(result) => match Reading::new().invoked(call.as_str(), &result) {
            Ok(Some(result)) => ToolOutcome::Answered(result),
            Ok(None) => ToolOutcome::Pending,
            Err(error) => ToolOutcome::Failed(error.to_string()),
        },
        Err(error) => ToolOutcome::Failed(error.to_string()),
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        self.remotes.values().chain(self.servers.values()).for_each(AbortHandle::abort);
    }
}
