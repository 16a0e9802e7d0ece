//! The router: one task that owns every component and gets every event through one inbox, in order. It hands
//! an event to its component and acts on what comes back; it decides nothing about a prompt. A panic ends
//! only its session, and requests are answered. Its methods are here and in the files below.

mod agents;
mod arriving;
mod lifecycle;
mod parked;
mod requests;
mod servers;
mod sessions;

use super::client::Client;
use super::client::replies::{NOBODY, Replies};
use super::clock::Clock;
use super::config::{Config, FileChanged, Which};
use super::dump::Dump;
use super::folder::spelled;
use super::follow::{FollowContext, FollowEvent, Follows};
use super::host::HostEvent;
use super::host::queued::Queued;
use super::host::sessions::Sessions;
use super::inbox::{Event, Hello, HistoryFound, mailbox};
use super::mailbox::Mailbox;
use super::outside::Flags;
use super::services::agents::Agents;
use super::services::intake::Intake;
use super::services::leases::Leases;
use super::services::loops::{Loops, Step};
use super::services::models::{self, ModelEvent, ModelEventKind, Models};
use super::services::shared::SharedState;
use super::services::tasks::Tasks;
use super::services::trajectories::{self, Changed, FileEvent, Newer, Settled, Trajectories};
use super::services::{mcp::McpServers, transfer, worktrees::Worktrees};
use super::stores::Stores;
use super::wire::Json;
use crate::convert;
use crate::tokenizer::counted::Counted;
use agents::AgentHandler;
use engine::id::SessionId;
use engine::tokens::TokenCount;
use protocol::error::{ErrorData, ProtocolError};
use protocol::methods::{self, Named};
use protocol::model::{ModelDeltaParams, UsageSource};
use requests::RequestHandler;
use rpc::message::Answer;
use rpc::outgoing::Outgoing;
use servers::ServerHandler;
use session::input::{Command, Input, ReplyTo};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::MissedTickBehavior;
use tower_lsp::jsonrpc::Id;

/// Interval of the watchdog, while any request waits.
const BETWEEN_WATCHES: Duration = Duration::from_secs(1);

/// The state of the server.
pub(super) struct Router {
    client: Client,
    /// Requests of the client that wait.
    replies: Replies,
    sessions: Sessions,
    /// Sessions that another process writes and that are shown here.
    follows: Follows,
    /// Leases of the sessions that are written here.
    leases: Leases,
    config: Config,
    stores: Stores,
    shared: SharedState,
    models: Models,
    servers: McpServers,
    trajectories: Trajectories,
    loops: Loops,
    tasks: Tasks,
    agents: Agents,
    worktrees: Worktrees,
    clock: Clock,
    intake: Intake,
    counter: Arc<Counted>,
    /// Dumps of requests to models.
    dump: Dump,
    /// For events of sessions.
    hosts: Mailbox<HostEvent>,
    /// For renders that name no session.
    found: Mailbox<HistoryFound>,
    inbox: mpsc::UnboundedSender<Event>,
    /// Notified once everything is saved.
    ending: Option<oneshot::Sender<()>>,
    /// `true` while waiting items are handed to a session: the process does not end in between.
    is_handing_over: bool,
    /// The session touched last, which a panic ends.
    at_work: Option<SessionId>,
}

impl Router {
    /// An empty router; `inbox` is the sender of its events.
    pub fn new(
        outgoing: Outgoing,
        inbox: mpsc::UnboundedSender<Event>,
        counter: Box<dyn TokenCount + Send + Sync>,
    ) -> Self {
        Self {
            client: Client::new(outgoing, mailbox(&inbox, |_| Event::Drained)),
            replies: Replies::default(),
            sessions: Sessions::default(),
            follows: Follows::new(mailbox(&inbox, |event| Event::Follow(Box::new(event)))),
            leases: Leases::new(mailbox(&inbox, Event::Leases)),
            config: Config::new(mailbox(&inbox, |file| Event::File(Box::new(file)))),
            stores: Stores::new(mailbox(&inbox, Event::Storage)),
            shared: SharedState::new(mailbox(&inbox, |event| Event::Shared(Box::new(event)))),
            models: Models::new(mailbox(&inbox, |event| Event::Model(Box::new(event)))),
            servers: McpServers::new(mailbox(&inbox, Event::Servers)),
            trajectories: Trajectories::new(mailbox(&inbox, |event| Event::Trajectory(Box::new(event)))),
            loops: Loops::default(),
            tasks: Tasks::new(mailbox(&inbox, Event::Tasks)),
            agents: Agents::new(mailbox(&inbox, |event| Event::Agents(Box::new(event)))),
            worktrees: Worktrees::default(),
            clock: Clock::new(mailbox(&inbox, Event::Expired)),
            intake: Intake::new(mailbox(&inbox, |read| Event::Read(Box::new(read)))),
            counter: Arc::new(Counted::new(counter)),
            dump: Dump::default(),
            hosts: mailbox(&inbox, Event::Host),
            found: mailbox(&inbox, |found| Event::Found(Box::new(found))),
            inbox,
            ending: None,
            is_handing_over: false,
            at_work: None,
        }
    }

    /// Takes the settings from outside: the environment and the command line.
    pub fn take_outside(&mut self, flags: &Flags, runs_tasks: bool, dump: Option<PathBuf>) {
        self.config.take_outside(flags);
        self.models.list_into(self.config.listed(), mailbox(&self.inbox, |()| Event::Listed));
        self.tasks.set_serves(runs_tasks);
        self.dump = Dump::into_folder(dump);
    }

    /// Runs until no sender of events is left.
    pub async fn run(mut self, mut events: mpsc::UnboundedReceiver<Event>) {
        let mut watch = tokio::time::interval(BETWEEN_WATCHES);
        watch.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                event = events.recv() => match event {
                    Some(event) => self.guarded(event),
                    None => return,
                },
                // Without waiting requests, the process is not woken up.
                _ = watch.tick(), if !self.replies.is_empty() => self.guarded(Event::Watch),
            }
        }
    }

    /// Handles an event. A panic ends only its session, and the request is answered.
    fn guarded(&mut self, event: Event) {
        let asked = match &event {
            Event::Asked(asked, _) => Some(asked.to),
            Event::Back(to, _) => Some(*to),
            _ => None,
        };
        self.at_work = None;
        let taken = catch_unwind(AssertUnwindSafe(|| {
            self.take(event);
            self.close_freed();
        }));
        if taken.is_ok() {
            return;
        }
        self.is_handing_over = false;
        if let Some(id) = self.at_work.take() {
            self.close_panicked(&id);
        }
        if let Some(to) = asked {
            let message = "internal error; the request was aborted and acknowledged changes are stored";
            self.answer(to, Err(ProtocolError::new(ErrorData::InternalError {}, message)));
        }
        self.end_if_saved();
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Hello(hello) => self.hello(*hello),
            Event::Configured(settings) => {
                let changes = self.config.configured(&mut self.client, &self.sessions, settings);
                self.settings_changed(changes);
            }
            Event::Asked(asked, reply) => arriving::asked(self, asked, reply),
            Event::Read(read) => arriving::read(self, *read),
            Event::Applied(session) => arriving::applied(self, session),
            Event::Back(to, event) => {
                self.replies.came_back(to);
                self.take(*event);
            }
            Event::Ready(to, value) => self.answer(to, value),
            Event::Watch => self.check_requests(),
            Event::Abandoned(to) => {
                self.servers.forget(to);
                self.abandoned(to);
            }
            Event::Delta(delta) => self.delta(&delta),
            Event::Answered(answer) => self.answered(*answer),
            Event::Drained => self.client.drained().into_iter().for_each(|id| self.catch_up(&id)),
            Event::Model(event) => self.model(*event),
            Event::Host(event) => self.host(event),
            Event::Expired(expired) => {
                let id = expired.session.clone();
                let host = self.sessions.host_mut(&id);
                if let Some(input) = host.and_then(|host| host.expired(expired)) {
                    self.run_input(&id, input);
                }
            }
            Event::File(changed) => self.file_changed(*changed),
            Event::Shared(event) => {
                // Sessions get the new value first, then the request is answered.
                let done = self.shared.done(*event, &self.sessions, &mut self.client);
                for (id, input) in done.inputs {
                    self.run_input(&id, input);
                }
                if let Some((to, value)) = done.answer {
                    self.answer(to, value);
                }
            }
            Event::Servers(event) => ServerHandler { router: self }.event(event),
            Event::Agents(event) => self.delegation().event(*event),
            Event::Tasks(event) => arriving::tasks(self, event),
            Event::Trajectory(event) => self.trajectory(*event),
            Event::Follow(event) => match *event {
                FollowEvent::Look => self.look(),
                FollowEvent::StoreAnswer(told) => {
                    let (follows, mut context) = self.following();
                    follows.told(&mut context, told);
                }
            },
            Event::Leases(looked) => {
                for ((id, fence), error) in self.leases.looked(looked) {
                    self.lost_while_idle(&id, fence, &error);
                }
            }
            Event::Storage(params) => self.client.notify(methods::StorageUpdated::NAME, &params),
            Event::Listed => {
                let changes = self.config.limits_listed(&self.sessions);
                self.settings_changed(changes);
            }
            Event::Found(found) => self.requests().history_found(*found),
            Event::Ending(done) => arriving::ending(self, done),
            Event::Saved(done) => self.servers.end(move || _ = done.send(())),
        }
    }

    /// The follows, and the components that they need.
    fn following(&mut self) -> (&mut Follows, FollowContext<'_>) {
        let context = FollowContext {
            client: &mut self.client,
            replies: &mut self.replies,
            stores: &mut self.stores,
            layers: self.config.layers(),
            counter: &*self.counter,
            sessions: &self.sessions,
            has_tasks: self.tasks.need_looks() || self.agents.need_looks(),
        };
        (&mut self.follows, context)
    }

    fn delegation(&mut self) -> AgentHandler<'_> {
        AgentHandler { router: self }
    }

    fn requests(&mut self) -> RequestHandler<'_> {
        RequestHandler { router: self }
    }

    /// Answers a request, if it still waits.
    fn answer(&mut self, to: ReplyTo, value: Result<Json, ProtocolError>) {
        self.replies.answer(&mut self.client, to, value);
    }

    /// Handles `initialize`: settings of all sessions, and their stores.
    fn hello(&mut self, hello: Hello) {
        let Hello { options, storage, settings, folders } = hello;
        let capabilities = options.capabilities.unwrap_or_default();
        self.servers.set_asks(capabilities.elicit);
        self.config.set_client(capabilities);
        let folders: Vec<String> = folders.iter().map(|folder| spelled(folder)).collect();
        let changes = self.config.read_users_file(&mut self.client, &self.sessions);
        self.settings_changed(changes);
        folders.iter().for_each(|folder| self.enter_folder(folder));
        let home = folders.into_iter().next().unwrap_or_default();
        let synchronous = self.config.initialize(&mut self.client, settings, home.clone());
        self.stores.configure(storage, synchronous, home);
    }

    /// Applies a named folder's settings, and looks for its tasks from now on.
    fn enter_folder(&mut self, folder: &str) {
        self.stores.know(folder);
        if self.tasks.serve(folder) {
            self.follows.start_looking();
        }
        let changes = self.config.enter_folder(&mut self.client, &self.sessions, folder);
        self.settings_changed(changes);
    }

    fn file_changed(&mut self, FileChanged { which, found }: FileChanged) {
        let Which::Instructions(folder, name) = which else {
            let changes = self.config.file_is(&mut self.client, &self.sessions, which, found);
            return self.settings_changed(changes);
        };
        for (id, room) in self.config.instructed(&self.sessions, &folder, &name) {
            let said = (&mut self.client, &*self.counter as &dyn TokenCount);
            if let Some(file) = self.config.instruction(said, (&folder, &name), &found, room) {
                self.run_input(&id, Input::Instructions(vec![file]));
            }
        }
    }

    /// Handles a streamed piece from the client's model.
    fn delta(&mut self, delta: &ModelDeltaParams) {
        let number = delta.request_id.parse::<i64>().ok();
        let Some((session, call)) = number.and_then(|number| self.client.model_call(number)) else {
            return tracing::info!(request = number, "a delta came for no request and was dropped");
        };
        for delta in delta.ops.iter().filter_map(convert::delta) {
            self.run_input(&session, Input::ModelDelta(call, delta));
        }
    }

    /// Handles the client's response to a request of ours.
    fn answered(&mut self, answer: Answer) {
        let number = match &answer.id {
            Id::Number(number) => Some(*number),
            Id::String(text) => text.parse().ok(),
            Id::Null => None,
        };
        let request = number.and_then(|number| Some((number, self.client.answered(number)?)));
        let Some((number, request)) = request else {
            return tracing::info!(id = number, "an answer came late, or twice, and was dropped");
        };
        let Some(host) = self.sessions.host_mut(&request.session) else { return };
        let said = (&self.client, &mut self.clock, self.counter.name());
        if let Some(input) = host.answered(said, number, request.kind, answer.outcome) {
            self.run_input(&request.session, input);
        }
    }

    /// Handles an event of a model that is called from this process.
    fn model(&mut self, event: ModelEvent) {
        let ModelEvent { session: id, call, what } = event;
        let replied = match what {
            ModelEventKind::Progress(said) => return self.run_input(&id, models::input(call, said)),
            ModelEventKind::Replied(replied) => replied,
        };
        let Some(host) = self.sessions.host_mut(&id) else { return };
        if !host.model_replied(call) {
            return tracing::info!(session = %id, "an answer came late and was dropped");
        }
        if let Err(failure) = &replied.answer {
            tracing::warn!(session = %id, class = failure.cause.word, "a model did not answer: {}", failure.why);
        }
        if let Some(usage) = replied.usage {
            self.client.usage(&id, replied.used, usage, UsageSource::Provider, self.counter.name());
        }
        self.run_input(&id, Input::ModelDone(call, replied.answer));
    }

    /// Performs the steps of a loop.
    fn run_loop(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Notify(params) => self.client.notify(methods::LoopUpdated::NAME, &params),
                Step::Hand(id, item) => self.hand(&id, item),
                Step::CloseAtRest(id) => {
                    let host = self.sessions.host(&id);
                    if host.is_some_and(|host| !host.is_offloaded() && host.session().is_at_rest()) {
                        self.hand(&id, Queued::Close(NOBODY));
                    }
                }
            }
        }
    }

    /// Handles an event of a session file.
    fn trajectory(&mut self, event: FileEvent) {
        match event {
            FileEvent::Written(id, written) => {
                self.at_work = Some(id.clone());
                match self.sessions.host_mut(&id) {
                    Some(host) => {
                        trajectories::written(&mut self.client, host, written);
                        self.settle_file(&id);
                    }
                    None => trajectories::not_written_last(&mut self.client, &id, written),
                }
            }
            FileEvent::News(news) => {
                self.trajectories.tell(&mut self.client, &news);
                let id = SessionId::new(&news.id);
                let Some(host) = self.sessions.host_mut(&id) else { return };
                if trajectories::take_news(&mut self.client, host, news) {
                    self.settle_file(&id);
                }
            }
            FileEvent::Missing(folder, id) => {
                let Some(host) = self.sessions.host_mut(&id) else { return };
                if trajectories::is_missing(host, &folder) {
                    self.settle_file(&id);
                }
            }
            FileEvent::Removed(removal) => {
                self.trajectories.removed((&mut self.client, &mut self.replies), removal);
            }
            FileEvent::Read(to, params, read) => self.requests().file_read(to, *params, *read),
        }
    }

    /// Brings a session's file up to date.
    fn settle_file(&mut self, id: &SessionId) {
        let Some(host) = self.sessions.host_mut(id) else { return };
        match self.trajectories.settle(&mut self.client, host) {
            Settled::Done => {}
            Settled::NeedsRest => host.want_rest(),
            Settled::Changed(changed) => self.take_changed(id, *changed),
        }
    }

    /// Takes in another's change of a session's file. The session is at rest.
    fn take_changed(&mut self, id: &SessionId, mut changed: Changed) {
        let Some(host) = self.sessions.host_mut(id) else { return };
        let (session, file) = host.file();
        let skipped = changed.theirs.skipped.len();
        let mut revision = None;
        match trajectories::compare(session, file, &mut changed.theirs) {
            Newer::Ours => {}
            Newer::Theirs(known) => {
                let given = transfer::take_in(&changed.theirs, known);
                tracing::info!(session = %id, "its file was changed by somebody else, which is taken in");
                self.run_input(id, Input::Command(NOBODY, Command::TakeIn(Box::new(given))));
                revision = self.sessions.host(id).and_then(|host| host.revision_made());
            }
            Newer::Both => self.fork_diverged(id, &changed),
        }
        if skipped > 0 {
            self.client.warn(format!(
                "the file of session \"{id}\": {skipped} of its messages or parts could not be read; they stay in the file, \
                 under \"unreadable\""
            ));
        }
        if let Some(revision) = revision {
            self.client.warn(format!(
                "session \"{id}\" was updated from its changed file; revision \"{revision}\" has it as it was before"
            ));
        }
        self.trajectories.accept(&mut self.client, id, changed);
        if let Some(host) = self.sessions.host_mut(id) {
            host.file().1.try_again();
        }
        self.settle_file(id);
    }

    /// Looks for writes of other processes, and does what else is due.
    fn look(&mut self) {
        if self.ending.is_some() {
            return;
        }
        let due = self.follows.tick();
        if due.tasks {
            self.tasks.look(&mut self.stores, &self.sessions);
            self.delegation().look_at_all();
        }
        if due.slow {
            let held =
                self.sessions.hosts().filter_map(|host| Some((host.session().id().clone(), host.fence()?)));
            self.leases.look(&mut self.stores, held);
            self.trajectories.check(&mut self.client, self.sessions.hosts());
            let (follows, context) = self.following();
            follows.rest_if_done(&context);
        }
        if due.tries {
            self.store_what_is_left();
        }
        let (follows, mut context) = self.following();
        follows.look(&mut context, due.slow);
    }
}

#[cfg(test)]
mod tests;
