//! Sessions at work: items reach a session in order, and its effects are performed one at a time.

use super::servers::ServerHandler;
use super::{Router, parked};
use crate::server::client::Used;
use crate::server::client::replies::NOBODY;
use crate::server::given::own_settings;
use crate::server::host::queued::{Opens, Queued};
use crate::server::host::{
    Advance, CatchUp, Committed, HostEvent, HostEventKind, NotStored, Opening, SessionHost, Stepped, delete,
};
use crate::server::services::models::Call;
use crate::server::services::shared::{Place, Then};
use crate::server::settings::with_own;
use crate::server::stores;
use crate::server::wire::{answer, event as wire_event, listed, notice, refused, to_value};
use engine::id::SessionId;
use engine::message::PROCESS_COMPLETED;
use engine::search::SearchPage;
use protocol::error::{ErrorData, ProtocolError};
use protocol::event::SessionsChangedParams;
use protocol::session::SessionConfigureParams;
use session::effect::{Answer, AskModel, Effect, InvokeTool};
use session::event::{Event, EventBody};
use session::input::{Command, Configure, Input, ReplyTo, ToolOutcome};
use std::collections::VecDeque;
use store::error::StoreError;

impl Router {
    /// Runs an item, or queues it until the session can take it.
    pub(super) fn hand(&mut self, id: &SessionId, item: Queued) {
        self.replies.set_session(item.to(), Some(id.clone()));
        if let (Some(known), Some(named)) = (self.sessions.folder(id), item.folder())
            && known != named
        {
            let error = StoreError::OtherWorkspace { session: id.clone() };
            return self.answer(item.to(), Err(stores::error(&error)));
        }
        if let Some(opening) = self.sessions.opening_mut(id) {
            return opening.push(item);
        }
        if let Some(host) = self.sessions.host_mut(id) {
            if host.is_leaving() {
                host.push_after(item);
            } else {
                self.run_queued(id, item);
            }
            return;
        }
        match item {
            // A deletion needs the stores, not a follower.
            Queued::Delete(to) => {
                let left = self.stores.candidates(id).into();
                self.delete_next(id, to, left);
            }
            item if self.follows.has(id) => {
                let (follows, mut context) = self.following();
                if let Some(item) = follows.hand(&mut context, id, item) {
                    self.open(id, Opening::of(item));
                }
            }
            Queued::Configure(to, _) | Queued::Close(to) => {
                self.answer(to, Err(refused::not_open(id)));
            }
            item => self.open(id, Opening::of(item)),
        }
    }

    /// Runs an item in an open session, behind others that wait for it.
    fn run_queued(&mut self, id: &SessionId, item: Queued) {
        if item.to() != NOBODY {
            self.tasks.keep(id);
        }
        let Some(host) = self.sessions.host_mut(id) else { return };
        let Some(item) = host.wait_in_line(item) else { return };
        let Some(item) = (ServerHandler { router: self }).first(id, item) else { return };
        let Some(host) = self.sessions.host_mut(id) else { return };
        match item {
            Queued::Task => {
                self.tasks.take(id);
                self.run_command(NOBODY, id, Command::RunTask);
            }
            Queued::Command(to, command) => self.run_command(to, id, *command),
            Queued::Open(to, opens) => {
                let Opens { command, settings, .. } = *opens;
                // Settings given with another open hold from then on.
                if let Some(settings) = settings
                    && let Ok(own) = to_value(&settings)
                    && let Ok(settings) = self.config.effective(&host.session().head().workspace, &settings)
                {
                    let configure = Command::Configure(Box::new(Configure {
                        settings,
                        own,
                        title: None,
                        forget_limits: false,
                    }));
                    self.run_input(id, Input::Command(NOBODY, configure));
                }
                self.run_command(to, id, command);
            }
            Queued::TakeOver(to, folder) => {
                if !host.confirm(&mut self.replies, to, folder) {
                    self.answer_takeover(id, to);
                }
            }
            Queued::Configure(to, params) => match self.configure(to, id, *params) {
                Ok(configure) => self.run_command(to, id, Command::Configure(Box::new(configure))),
                Err(error) => self.answer(to, Err(error)),
            },
            Queued::Export(to, format) => {
                if host.wait_for_whole(Queued::Export(to, format)).is_some() {
                    self.requests().export(to, id, format);
                }
            }
            Queued::Close(to) => {
                // Running work is stopped, writes are stored, the lease is released.
                host.begin_close(to);
                self.store_rest(id);
                self.run_input(id, Input::Ending);
            }
            Queued::Delete(to) => match host.begin_delete(to) {
                Some(store) => {
                    self.delegation().cancel_agents(id);
                    delete::submit(&mut self.replies, &self.hosts, id, to, (&store, None), VecDeque::new());
                }
                // The session exists for one answer only, and no store has it.
                None => self.answer(to, Err(delete::nothing(id))),
            },
        }
    }

    fn configure(
        &mut self,
        to: ReplyTo,
        id: &SessionId,
        params: SessionConfigureParams,
    ) -> Result<Configure, ProtocolError> {
        let given = self.requests().given(to, params.settings.as_ref())?;
        let head = self.sessions.host(id).map(|host| host.session().head());
        let mut own = head.map(|head| head.settings.clone()).unwrap_or_default();
        let folder = head.map_or(self.stores.home(), |head| &head.workspace);
        if let Some(settings) = &given {
            own = with_own(&own_settings(&own), settings)?;
        }
        let settings = self.config.effective(folder, &own_settings(&own))?;
        self.config.follow_policy(settings.policy_file.as_deref());
        let forget_limits = params.forget_learned_limits.unwrap_or_default();
        Ok(Configure { settings, own, title: params.title, forget_limits })
    }

    /// Runs an input, and performs its effects once its writes are stored.
    pub(super) fn run_input(&mut self, id: &SessionId, input: Input) {
        self.at_work = Some(id.clone());
        let Some(host) = self.sessions.host_mut(id) else { return };
        match host.step(input) {
            Stepped::Taken => self.pump(id),
            Stepped::Parked => {}
            Stepped::Panicked => return self.close_panicked(id),
        }
        if let Some(host) = self.sessions.host_mut(id) {
            host.ask_rest();
        }
    }

    /// Runs a command in an open session.
    pub(super) fn run_command(&mut self, to: ReplyTo, id: &SessionId, command: Command) {
        match self.other_turn(to, id) {
            Some(error) => self.answer(to, Err(error)),
            None => self.run_input(id, Input::Command(to, command)),
        }
    }

    /// The error for a named turn that is not the newest one: nothing can be done about others.
    fn other_turn(&self, to: ReplyTo, id: &SessionId) -> Option<ProtocolError> {
        let turn = self.replies.turn(to)?;
        let turns = self.sessions.host(id)?.session().transcript().turns();
        let newest = turns.last().map_or("none", |newest| newest.id.as_str());
        if newest == turn {
            return None;
        }
        let data = ErrorData::StaleReference { field: "turnId".into(), id: turn.to_owned() };
        let message = format!("turn {turn:?} is not the newest turn ({newest}); nothing was done");
        Some(ProtocolError::new(data, message))
    }

    /// Performs a session's steps until one must be stored first.
    pub(super) fn pump(&mut self, id: &SessionId) {
        self.at_work = Some(id.clone());
        while let Some(host) = self.sessions.host_mut(id) {
            match host.advance() {
                Advance::Wait => return,
                Advance::Nothing => break,
                Advance::Perform(effects) => {
                    effects.into_iter().for_each(|effect| self.perform(id, effect));
                }
            }
        }
        self.catch_up(id);
        // The request for the rest may have waited for these steps.
        if let Some(host) = self.sessions.host_mut(id) {
            host.ask_rest();
        }
        self.settle_file(id);
        self.close_if_done(id);
        self.end_if_saved();
    }

    /// Performs an effect of a stored step.
    fn perform(&mut self, id: &SessionId, effect: Effect) {
        let Some(host) = self.sessions.host_mut(id) else { return };
        let Some(effect) = host.perform(&mut self.client, &mut self.clock, effect) else { return };
        match effect {
            Effect::Emit(event) => self.emit(id, &event),
            Effect::Reply(to, answer) => {
                if let Ok(Answer::Rendered(rendered)) = &*answer {
                    self.dump.prompt(id, &rendered.prompt);
                }
                let (form, layers) = (self.replies.form(to), self.config.layers());
                let value = answer::answer(host.session(), layers, host.is_stored(), form, *answer);
                if to == NOBODY {
                    let failure = value.as_ref().err().map(ToString::to_string);
                    self.delegation().stored(id, failure);
                }
                self.answer(to, value);
            }
            Effect::AskModel(ask) => self.ask_model(id, *ask),
            Effect::Search(to, query) => {
                let pending = host.pending(&mut self.replies, to);
                host.search(pending, query, move |found| HostEventKind::Searched(to, found));
            }
            Effect::CallServer(call) => ServerHandler { router: self }.call(id, call),
            Effect::RunTool(call) => match host.looks_for(&call) {
                Some(query) => {
                    let pending = host.pending(&mut self.replies, NOBODY);
                    host.search(pending, query, move |found| HostEventKind::SearchedForTool(call, found));
                }
                None => self.run_tool(id, &call, None),
            },
            Effect::Made(made) if host.is_stored() => {
                let created = vec![listed::made(&made)];
                let changed = SessionsChangedParams { created, ..SessionsChangedParams::default() };
                self.client.sessions_changed(changed);
            }
            effect if host.is_stored() => {
                let (place, at) = (Place::of(host.session().head()), (&mut self.stores, &mut self.replies));
                let (done, what) = match effect {
                    Effect::Remember(always) => (
                        self.shared.change_approvals(at, place.workspace, None, move |store, workspace| {
                            store.approve(workspace, &always)
                        }),
                        "an approval could not be stored".to_owned(),
                    ),
                    Effect::Memorize(memorize) => (
                        self.shared.memorize(at, place.workspace, *memorize),
                        "a summary could not be stored as a memory".to_owned(),
                    ),
                    Effect::ChangeScope(patch) => (
                        self.shared.scope(at, place, Some((patch, None)), Then::Nothing),
                        format!("the scope of session \"{id}\" could not be changed"),
                    ),
                    _ => return,
                };
                if let Err(error) = done {
                    self.client.log(format!("{what}: {error}"));
                }
            }
            _ => {}
        }
    }

    fn ask_model(&mut self, id: &SessionId, ask: AskModel) {
        let Some(host) = self.sessions.host_mut(id) else { return };
        let purpose = ask.purpose;
        self.dump.request(id, purpose, &ask.request, ask.tokens);
        let used = Used { turn: ask.turn.clone(), purpose, tokens: ask.tokens };
        match ask.model.endpoint.clone() {
            Some(endpoint) => {
                let AskModel { call, model, count_up_to, request, .. } = ask;
                let call_of = Call { call, model, used, count_up_to, request };
                let made = self.models.ask(host.session(), &endpoint, call_of);
                host.model_asked(call, made);
            }
            None => {
                let counts = self.config.layers().client.count_tokens;
                host.ask_model(&mut self.client, ask, used, counts);
            }
        }
    }

    /// Runs a tool of ours. Its changes are stored before its result counts.
    fn run_tool(&mut self, id: &SessionId, call: &InvokeTool, found: Option<&SearchPage>) {
        if self.delegation().delegate(id, call) {
            return;
        }
        let Some(host) = self.sessions.host(id) else { return };
        let (outcome, patch) = host.run_tool(call, found);
        let Some(patch) = patch else { return host.tool_ran(call, outcome) };
        let then = Then::Tool(id.clone(), call.call.clone(), outcome);
        let (place, at) = (Place::of(host.session().head()), (&mut self.stores, &mut self.replies));
        if let Err(error) = self.shared.scope(at, place, Some((patch, None)), then) {
            host.tool_ran(call, ToolOutcome::Failed(error.message));
        }
    }

    fn emit(&mut self, id: &SessionId, event: &Event) {
        let Some(host) = self.sessions.host_mut(id) else { return };
        if let EventBody::CompactionUpdated(update) = &event.body {
            // Without the reason: it may be the client's own words, which may hold a key. The event has it.
            tracing::info!(
                session = %id, phase = ?update.phase, mode = ?update.mode, trigger = ?update.trigger, "compaction"
            );
        }
        host.emit(&mut self.client, event);
        if let EventBody::RuntimeUpdated { ended: Some(end), state, turn } = &event.body {
            let told = notice::of_open(host.session(), end.status, *state, turn.as_ref());
            self.notify(told);
            self.tasks.parent_told(id);
            if let Some(host) = self.sessions.host(id) {
                let steps = self.loops.turn_ended(host.session(), end, *state);
                self.run_loop(steps);
            }
        }
        self.delegation().follow(id, &event.body);
        let Some(host) = self.sessions.host_mut(id) else { return };
        host.file().1.note(&event.body);
        let is_listed = match &event.body {
            EventBody::RuntimeUpdated { ended, state, .. } => {
                host.pauses_or_goes_on(*state) || ended.is_some()
            }
            EventBody::MessagesTruncated { revision, .. } => revision.is_some(),
            EventBody::ThreadUpdated { .. } => true,
            _ => false,
        };
        if is_listed && host.is_stored() {
            let updated = vec![listed::summary(host.session())];
            let changed = SessionsChangedParams { updated, ..SessionsChangedParams::default() };
            self.client.sessions_changed(changed);
        }
        if let EventBody::CompactionUpdated(update) = &event.body
            && let Some(message) = wire_event::progress(update)
        {
            self.replies.progress(&self.client, id, message);
        }
    }

    /// Sends a notice to the parent of a background session, which is opened for that if necessary.
    pub(super) fn notify(&mut self, told: Option<(SessionId, String)>) {
        let Some((parent, text)) = told else { return };
        let stays_open = self.sessions.host(&parent).is_some_and(|host| !host.is_leaving())
            || self.sessions.opening(&parent).is_some_and(|opening| !opening.ends());
        let command = Command::Notice { kind: PROCESS_COMPLETED, text };
        self.hand(&parent, Queued::Command(NOBODY, Box::new(command)));
        if !stays_open {
            // Opened for this alone.
            self.hand(&parent, Queued::Close(NOBODY));
        }
    }

    /// Handles an event of a session.
    pub(super) fn host(&mut self, event: HostEvent) {
        let HostEvent { session: id, what } = event;
        match what {
            HostEventKind::Loaded(loaded) => self.loaded(&id, *loaded),
            HostEventKind::Rest(came) => parked::rest_came(self, &id, *came),
            HostEventKind::StepDone(stepped) => parked::step_done(self, &id, *stepped),
            HostEventKind::Committed(done) => self.committed(&id, done),
            HostEventKind::Deleted(gone) => self.deleted(&id, *gone),
            HostEventKind::RevisionLoaded(to, command) => self.hand(&id, Queued::Command(to, command)),
            HostEventKind::ParentFound(to, start) => self.requests().begin_loop(to, *start),
            HostEventKind::Confirmed(confirmed) => self.confirmed(&id, *confirmed),
            HostEventKind::AskAgain(call) => {
                if let Some(host) = self.sessions.host_mut(&id) {
                    host.ask_again(&mut self.client, call);
                }
            }
            HostEventKind::Said(call, said) => ServerHandler { router: self }.said(&id, call, said),
            HostEventKind::Withdrawn(number) => {
                if let Some(host) = self.sessions.host_mut(&id) {
                    host.cancel_question(&mut self.client, &mut self.clock, number);
                }
            }
            HostEventKind::Ran(call, outcome) => {
                if let Some(host) = self.sessions.host_mut(&id) {
                    host.tool_ended(&mut self.client, &call);
                }
                self.run_input(&id, Input::ToolDone(call, outcome));
            }
            HostEventKind::SearchedForTool(call, Ok(found)) => self.run_tool(&id, &call, Some(&found)),
            HostEventKind::SearchedForTool(call, Err(error)) => {
                let failed = ToolOutcome::Failed(error.to_string());
                self.run_input(&id, Input::ToolDone(call.call, failed));
            }
            HostEventKind::Searched(to, found) => {
                let found = found.map_err(|error| stores::error(&error));
                let value = match self.sessions.host(&id) {
                    Some(host) => answer::searched(host.session(), found),
                    None => {
                        let message =
                            format!("session \"{id}\" was closed before the search ended; open it again");
                        Err(refused::unknown_session(&id, message))
                    }
                };
                self.answer(to, value);
            }
        }
    }

    /// Handles the outcome of the oldest write. If it failed, effects that continue the work are dropped, and
    /// waiting requests get the error.
    fn committed(&mut self, id: &SessionId, done: Result<(), StoreError>) {
        self.at_work = Some(id.clone());
        let Some(host) = self.sessions.host_mut(id) else { return self.end_if_saved() };
        let not_stored = match host.committed(done) {
            Committed::Done(effects) => {
                effects.into_iter().for_each(|effect| self.perform(id, effect));
                self.pump(id);
                if let Some(host) = self.sessions.host_mut(id) {
                    host.ask_rest();
                }
                return;
            }
            Committed::Lost(error) => return self.lost(id, &error),
            Committed::StillLeft => return self.pump(id),
            Committed::NotStored(not_stored) => *not_stored,
        };
        let (is_final, input) = (not_stored.is_final(), not_stored.input());
        let NotStored { effects, failure, error, .. } = not_stored;
        for effect in effects {
            match effect {
                Effect::Reply(to, _) | Effect::Search(to, _) => {
                    if to == NOBODY {
                        self.delegation().stored(id, Some(failure.to_string()));
                    }
                    self.answer(to, Err(failure.clone()));
                }
                Effect::Emit(_)
                | Effect::CancelModel(_)
                | Effect::CancelTool(_)
                | Effect::CancelReview
                | Effect::Stop(_)
                | Effect::Trace(_) => self.perform(id, effect),
                Effect::Write(_)
                | Effect::Journal(_)
                | Effect::Made(_)
                | Effect::AskModel(_)
                | Effect::InvokeTool(_)
                | Effect::RunTool(_)
                | Effect::CallServer(_)
                | Effect::Remember(_)
                | Effect::ChangeScope(_)
                | Effect::Memorize(_)
                | Effect::AskPermission(_)
                | Effect::AskReview(_)
                | Effect::Start(..) => {}
            }
        }
        if is_final {
            let message = format!("session \"{id}\" was closed and its stored data is unchanged: {error}");
            self.client.log(message);
            return self.close_with_error(id, &failure);
        }
        self.run_input(id, input);
    }

    /// Retries failed writes of sessions that have nothing else on its way.
    pub(super) fn store_what_is_left(&mut self) {
        let left = self.sessions.hosts().filter(|host| host.has_writes_left());
        let ids: Vec<SessionId> = left.map(|host| host.session().id().clone()).collect();
        ids.iter().for_each(|id| self.store_rest(id));
    }

    /// Retries failed writes without waiting for the next ones.
    pub(super) fn store_rest(&mut self, id: &SessionId) {
        if self.sessions.host_mut(id).is_some_and(SessionHost::retry_writes) {
            self.pump(id);
        }
    }

    /// Sends the snapshot that replaces held-back events, if one is due and the client reads.
    pub(super) fn catch_up(&mut self, id: &SessionId) {
        if !self.client.takes_snapshot(id) {
            return;
        }
        let snapshot = match self.sessions.host_mut(id) {
            Some(host) => match host.catch_up() {
                CatchUp::Snapshot(snapshot) => Some(*snapshot),
                CatchUp::First(input) => return self.run_input(id, input),
                CatchUp::NotYet => return,
                CatchUp::NeedsRest => return host.want_rest(),
            },
            // Opening it again sends a snapshot.
            None => self.follows.snapshot(id),
        };
        self.client.caught_up(id, snapshot);
    }
}
