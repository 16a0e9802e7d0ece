//! Effects become deeds: writes go to the store, and what follows them in their step is done once they are there;
//! events, answers and requests go to the client. And the way back: what the client answered becomes an input.

use super::inbox::Event;
use super::live::Live;
use super::main_loop::{MainLoop, Slot};
use super::message::Answer;
use super::models::Call;
use super::{failure, listed, review, wire_event, wire_session};
use crate::convert::{self, Reading};
use engine::compact::record::Trigger;
use engine::id::{CallId, SessionId, TurnId};
use engine::prompt::request::Failure;
use protocol::event::SessionsChangedParams;
use protocol::methods::{self, Named, read_result};
use protocol::model::{
    ModelCompleteParams, ModelCountTokensParams, ModelDeltaParams, ModelPurpose, ModelUsageParams, Usage,
    UsageSource,
};
use protocol::tool::{RequestPermissionParams, ToolInvokeParams};
use serde_json::json;
use session::effect::{Answer as Said, AskModel, Effect, InvokeTool, Made, Reason};
use session::event::{EventBody, Phase};
use session::input::{Input, ModelCallId, Timer, ToolOutcome};
use std::time::Duration;

/// Something that was asked of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    /// The session that wants it.
    pub session: SessionId,
    /// What it is.
    pub what: What,
}

/// See [`Asked`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// `model/complete`, with the turn, the purpose and our own count of the request.
    Model(ModelCallId, Used),
    /// `model/countTokens`.
    Count(Used),
    /// `tool/invoke`.
    Tool(CallId),
    /// `tool/requestPermission`.
    Permission,
    /// `compaction/review`.
    Review,
}

/// A request whose use is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Used {
    /// The turn that it is for.
    turn: Option<TurnId>,
    /// Why the model was asked.
    pub purpose: ModelPurpose,
    /// Our own count of it, in tokens.
    tokens: u32,
}

impl MainLoop {
    /// Does what follows a step that is stored.
    pub(super) fn perform(&mut self, id: &SessionId, effect: Effect) {
        match effect {
            // Steps are taken apart before they get here.
            Effect::Write(_) => {}
            Effect::Made(made) => self.tell_made(id, &made),
            Effect::Emit(event) => self.emit(id, event),
            Effect::Reply(to, answer) => {
                let Some(Slot::Live(live)) = self.sessions.get(id) else { return };
                let asked = self.waiting.get(&to).map(|waiting| waiting.asked.clone()).unwrap_or_default();
                if let Ok(Said::Rendered(rendered)) = &*answer {
                    self.dump.prompt(id, &rendered.prompt);
                }
                let is_kept = live.store.is_some();
                let value = wire_session::answer(&live.session, &self.layers, is_kept, asked, *answer);
                self.answer(to, value);
            }
            Effect::AskModel(ask) => self.ask_model(id, *ask),
            Effect::CancelModel(call) => {
                if let Some(task) = self.live(id).and_then(|live| live.remotes.remove(&call)) {
                    task.abort();
                }
                let number = self.live(id).and_then(|live| live.models.remove(&call));
                self.cancel(number);
            }
            Effect::InvokeTool(call) => self.invoke(id, call),
            Effect::RunTool(call) => self.run_tool(id, call),
            Effect::Remember(always) => self.remember(id, always),
            Effect::Memorize(memorize) => self.memorize(id, *memorize),
            Effect::ChangeScope(patch) => self.change_own_scope(id, patch),
            Effect::CancelTool(call) => {
                let number = self.live(id).and_then(|live| live.tools.remove(&call));
                self.cancel(number);
            }
            Effect::Search(to, query) => {
                let answered = id.clone();
                self.search(id, to, query, move |found| Event::Searched(answered, to, found));
            }
            Effect::AskPermission(reasons) => self.ask_permission(id, &reasons),
            Effect::AskReview(ask) => self.ask_review(id, &ask),
            Effect::CancelReview => {
                let number = self.live(id).and_then(|live| live.review.take());
                self.cancel(number);
            }
            Effect::Start(timer, ms) => self.start_timer(id, timer, ms),
            Effect::Stop(timer) => {
                if let Some(Slot::Live(live)) = self.sessions.get_mut(id)
                    && let Some((_, running)) = live.timers.remove(&timer)
                {
                    running.abort();
                }
            }
            Effect::Trace(what) => tracing::info!(session = %id, "{what}"),
        }
    }

    fn emit(&mut self, id: &SessionId, event: session::event::Event) {
        let Some(Slot::Live(live)) = self.sessions.get(id) else { return };
        if let EventBody::CompactionUpdated(update) = &event.body {
            // Not the reason: it may be the client's own words, and those may hold a key. The event has it.
            tracing::info!(
                session = %id, phase = ?update.phase, mode = ?update.mode, trigger = ?update.trigger, "compaction"
            );
        }
        if live.store.is_some() && !self.delivery.keeps_back(id, &self.outgoing, &self.inbox) {
            let params = wire_event::event(&live.session, &event);
            self.outgoing.notification(methods::SessionEventSent::NAME, &params);
        }
        if matches!(event.body, EventBody::PauseCleared) {
            // Decided, or nothing is left to decide: whoever still shows the question can take it away.
            let number = self.live(id).and_then(|live| live.permission.take());
            self.cancel(number);
        }
        if let EventBody::RuntimeUpdated { ended: Some(end), state, turn } = &event.body {
            self.tell_parent(id, end.status, *state, turn.as_ref());
            self.stage_ended(id, end, *state);
        }
        self.file_is_behind(id, &event.body);
        self.tell_list(id, &event.body);
        self.tell_progress(id, &event.body);
    }

    /// What an event changes in the list of sessions.
    fn tell_list(&mut self, id: &SessionId, body: &EventBody) {
        // First: a summary copies the block, and most events are deltas.
        let is_told = matches!(
            body,
            EventBody::MessagesTruncated { fork: Some(_), .. }
                | EventBody::ThreadUpdated { .. }
                | EventBody::RuntimeUpdated { ended: Some(_), .. }
        );
        if !is_told {
            return;
        }
        let Some(Slot::Live(live)) = self.sessions.get(id).filter(|slot| slot.is_stored()) else { return };
        let updated = vec![listed::summary(&live.session)];
        self.tell_sessions(SessionsChangedParams { updated, ..SessionsChangedParams::default() });
    }

    /// There is another session, which this one made of itself.
    fn tell_made(&mut self, id: &SessionId, made: &Made) {
        if self.sessions.get(id).is_some_and(Slot::is_stored) {
            let created = vec![listed::made(made)];
            self.tell_sessions(SessionsChangedParams { created, ..SessionsChangedParams::default() });
        }
    }

    /// A compaction as progress of the request that waits for it.
    fn tell_progress(&mut self, id: &SessionId, body: &EventBody) {
        let EventBody::CompactionUpdated(update) = body else { return };
        let message = match update.phase {
            Phase::Started if update.trigger == Trigger::Manual => "compacting the conversation",
            Phase::Started => "the conversation is too long, making room",
            Phase::Summarizing => "summing up the conversation",
            Phase::FellBack => "the summary failed, trying another way",
            Phase::Reviewing => "waiting for a look at the summary",
            Phase::Accepted
            | Phase::Refused
            | Phase::Cancelled
            | Phase::CannotFit
            | Phase::Voided
            | Phase::Undone => return,
        };
        let told = self.waiting.values_mut().filter(|waiting| waiting.session.as_ref() == Some(id));
        let mut values = Vec::new();
        for (token, begun) in told.filter_map(|waiting| waiting.progress.as_mut()) {
            let value = match std::mem::replace(begun, true) {
                false => {
                    json!({ "kind": "begin", "title": "threadhold", "message": message, "cancellable": true })
                }
                true => json!({ "kind": "report", "message": message }),
            };
            values.push((token.clone(), value));
        }
        values.into_iter().for_each(|(token, value)| self.progress(&token, value));
    }

    /// A number for a request of ours.
    pub(super) fn ask_client(&mut self, session: &SessionId, what: What) -> i64 {
        self.last_asked += 1;
        self.asked.insert(self.last_asked, Asked { session: session.clone(), what });
        self.last_asked
    }

    fn ask_model(&mut self, id: &SessionId, ask: AskModel) {
        let AskModel { call, turn, purpose, model, tokens, request } = ask;
        let purpose = ModelPurpose::from(purpose);
        self.dump.request(id, purpose, &request, tokens);
        let used = Used { turn: turn.clone(), purpose, tokens };
        if let Some(endpoint) = model.endpoint.clone() {
            return self.ask_remote(id, &endpoint, Call { call, model, used, request });
        }
        if self.layers.client.count_tokens && model.counts_tokens {
            let texts = request.items.iter().flat_map(|item| item.texts()).map(|text| text.to_string());
            let params = ModelCountTokensParams { texts: texts.collect(), model: model.name.clone() };
            let number = self.ask_client(id, What::Count(used.clone()));
            self.outgoing.request(number, methods::ModelCountTokens::NAME, &params);
        }
        let number = self.ask_client(id, What::Model(call, used));
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
        live.models.insert(call, number);
        let params = ModelCompleteParams {
            request_id: number.to_string(),
            session_id: id.as_str().to_owned(),
            turn_id: turn.map(|turn| turn.as_str().to_owned()),
            ..convert::complete_params(&request, purpose, model.name.as_deref())
        };
        let params = ModelCompleteParams { messages: convert::fit(params.messages, &model), ..params };
        self.outgoing.request(number, methods::ModelComplete::NAME, &params);
    }

    fn invoke(&mut self, id: &SessionId, call: InvokeTool) {
        let number = self.ask_client(id, What::Tool(call.call.clone()));
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
        live.tools.insert(call.call.clone(), number);
        let params = ToolInvokeParams {
            session_id: id.as_str().to_owned(),
            turn_id: call.turn.as_str().to_owned(),
            tool_call_id: call.call.as_str().to_owned(),
            name: call.name.to_string(),
            arguments: protocol::message::Arguments(call.arguments.to_string()),
        };
        self.outgoing.request(number, methods::ToolInvoke::NAME, &params);
    }

    fn ask_permission(&mut self, id: &SessionId, reasons: &[Reason]) {
        let number = self.ask_client(id, What::Permission);
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
        live.permission = Some(number);
        let turn = live.session.transcript().turns().last();
        let params = RequestPermissionParams {
            session_id: id.as_str().to_owned(),
            turn_id: turn.map(|turn| turn.id.as_str().to_owned()).unwrap_or_default(),
            reasons: wire_session::reasons(reasons),
        };
        self.outgoing.request(number, methods::RequestPermission::NAME, &params);
    }

    pub(super) fn live(&mut self, id: &SessionId) -> Option<&mut Live> {
        match self.sessions.get_mut(id) {
            Some(Slot::Live(live)) => Some(live),
            Some(Slot::Opening(_)) | None => None,
        }
    }

    /// Tells the client that an answer is not wanted any more. One that comes all the same is dropped.
    fn cancel(&mut self, number: Option<i64>) {
        if let Some(number) = number {
            self.asked.remove(&number);
            self.outgoing.cancel(number);
        }
    }

    /// What a model used, beside our own count of it.
    pub(super) fn tell_usage(&self, id: &SessionId, used: Used, usage: Usage, source: UsageSource) {
        let params = ModelUsageParams {
            session_id: id.as_str().to_owned(),
            turn_id: used.turn.map(|turn| turn.as_str().to_owned()),
            purpose: used.purpose,
            usage,
            source,
            estimated_tokens: used.tokens,
            estimator: self.counter.name().to_owned(),
        };
        self.outgoing.notification(methods::ModelUsage::NAME, &params);
    }

    fn start_timer(&mut self, id: &SessionId, timer: Timer, ms: u64) {
        self.timers += 1;
        let number = self.timers;
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
        let (inbox, session, name) = (self.inbox.clone(), id.clone(), timer.clone());
        let task = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            drop(inbox.send(Event::Expired(session, name, number)));
        });
        if let Some((_, before)) = live.timers.insert(timer, (number, task.abort_handle())) {
            before.abort();
        }
    }

    /// A deadline passed, unless it was moved or is not wanted any more.
    pub fn expired(&mut self, id: &SessionId, timer: Timer, number: u64) {
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
        if live.timers.get(&timer).is_some_and(|(current, _)| *current == number) {
            live.timers.remove(&timer);
            self.run_input(id, Input::Expired(timer));
        }
    }

    /// The client's model said a little more.
    pub fn delta(&mut self, delta: ModelDeltaParams) {
        let number = delta.request_id.parse::<i64>().ok();
        let asked = number.and_then(|number| self.asked.get(&number)).cloned();
        let Some(Asked { session, what: What::Model(call, ..) }) = asked else {
            return tracing::info!(request = number, "a delta came for no request and was dropped");
        };
        for delta in delta.ops.iter().filter_map(convert::delta) {
            self.run_input(&session, Input::ModelDelta(call, delta));
        }
    }

    /// The client answered something that we asked.
    pub fn answered(&mut self, answer: Answer) {
        let number = match &answer.id {
            tower_lsp::jsonrpc::Id::Number(number) => Some(*number),
            tower_lsp::jsonrpc::Id::String(text) => text.parse().ok(),
            tower_lsp::jsonrpc::Id::Null => None,
        };
        let Some(Asked { session, what }) = number.and_then(|number| self.asked.remove(&number)) else {
            return tracing::info!(id = number, "an answer came late, or twice, and was dropped");
        };
        let Some(Slot::Live(live)) = self.sessions.get_mut(&session) else { return };
        // The number of this answer's request.
        live.permission.take_if(|asked| Some(*asked) == number);
        live.review.take_if(|asked| Some(*asked) == number);
        match what {
            What::Count(used) => {
                let counted = answer.outcome.ok().map(read_result::<methods::ModelCountTokens>);
                if let Some(Ok(counted)) = counted {
                    let tokens = counted.tokens.iter().fold(0u32, |sum, tokens| sum.saturating_add(*tokens));
                    let usage = Usage { input_tokens: Some(tokens), ..Usage::default() };
                    self.tell_usage(&session, used, usage, UsageSource::CountTokens);
                }
            }
            What::Model(call, used) => {
                live.models.remove(&call);
                let unread = |error: String| format!("the answer to model/complete cannot be read: {error}");
                let outcome = answer.outcome.map_err(|error| failure::of(&error)).and_then(|value| {
                    let read = read_result::<methods::ModelComplete>(value);
                    read.map_err(|error| Failure::from(unread(error.to_string())))
                });
                if let Ok(Some(usage)) = outcome.as_ref().map(|result| result.usage) {
                    self.tell_usage(&session, used, usage, UsageSource::Provider);
                }
                let said = outcome.and_then(|result| {
                    let said = Reading::new().answer(&result);
                    said.map_err(|error| Failure::from(unread(error.to_string())))
                });
                self.run_input(&session, Input::ModelDone(call, said));
            }
            What::Tool(call) => {
                live.tools.remove(&call);
                let outcome = match answer.outcome {
                    Err(error) => ToolOutcome::Failed(error.message.into_owned()),
                    Ok(value) => match read_result::<methods::ToolInvoke>(value) {
                        Ok(result) => match Reading::new().invoked(call.as_str(), &result) {
                            Ok(Some(result)) => ToolOutcome::Answered(result),
                            Ok(None) => ToolOutcome::Pending,
                            Err(error) => ToolOutcome::Failed(error.to_string()),
                        },
                        Err(error) => ToolOutcome::Failed(error.to_string()),
                    },
                };
                self.run_input(&session, Input::ToolDone(call, outcome));
            }
            What::Review => self.run_input(&session, Input::Reviewed(review::answer(answer.outcome))),
            What::Permission => {
                let decisions = answer
                    .outcome
                    .ok()
                    .and_then(|value| read_result::<methods::RequestPermission>(value).ok().flatten());
                // No answer: the pause stays until somebody decides.
                match decisions.map(|decisions| wire_session::decisions(&decisions.decisions)) {
                    Some(Ok(decisions)) => self.run_input(&session, Input::Permitted(decisions)),
                    Some(Err(error)) => tracing::warn!(%session, %error, "a decision could not be used"),
                    None => {}
                }
            }
        }
    }

    /// Lets a session go that was only there for one answer, or that is to be closed.
    pub fn let_go_if_done(&mut self, id: &SessionId) {
        self.leave_task(id);
        let Some(Slot::Live(live)) = self.sessions.get(id) else { return };
        let is_passing = live.store.is_none() || live.is_closing;
        if is_passing && live.is_settled() && self.awaits(id).is_empty() {
            self.let_go(id);
        }
    }
}
