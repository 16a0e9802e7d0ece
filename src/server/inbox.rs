//! Every event that reaches the router: one closed list, by sender. `router` handles them.

use super::client::Reply;
use super::clock::Expired;
use super::config::FileChanged;
use super::follow::FollowEvent;
use super::host::HostEvent;
use super::mailbox::{Mail, Mailbox};
use super::services::agents::AgentEvent;
use super::services::intake::{Asked, Read};
use super::services::leases::LeaseCheck;
use super::services::mcp::McpEvent;
use super::services::models::ModelEvent;
use super::services::shared::SharedEvent;
use super::services::tasks::TaskEvent;
use super::services::trajectories::FileEvent;
use super::wire::Json;
use crate::server::stores::Storage;
use engine::id::SessionId;
use protocol::error::ProtocolError;
use protocol::model::ModelDeltaParams;
use protocol::prompt::PromptRenderParams;
use protocol::server::{InitializeOptions, StorageUpdatedParams};
use rpc::message::Answer;
use serde_json::Value;
use session::input::ReplyTo;
use store::error::StoreError;
use tokio::sync::{mpsc, oneshot};

/// An event for the router.
pub(super) enum Event {
    /// `initialize` arrived.
    Hello(Box<Hello>),
    /// The client's configuration changed.
    Configured(Value),
    /// A request of the client.
    Asked(Asked, Reply),
    /// A large request was read.
    Read(Box<Read>),
    /// The large request of a session was applied: those behind it follow.
    Applied(Option<String>),
    /// The job of this request ended with an event.
    Back(ReplyTo, Box<Event>),
    /// The job of this request ended with its answer.
    Ready(ReplyTo, Result<Json, ProtocolError>),
    /// The watchdog checks that each request waits for something.
    Watch,
    /// The handler of a request was dropped: the client cancelled it.
    Abandoned(ReplyTo),
    /// A streamed piece of an answer of the client's model.
    Delta(ModelDeltaParams),
    /// The client answered a request of ours.
    Answered(Box<Answer>),
    /// The client has read what waited for it.
    Drained,
    /// An event of a model that is called from this process.
    Model(Box<ModelEvent>),
    /// A provider listed other limits of a model than before.
    Listed,
    /// An event for one session.
    Host(HostEvent),
    /// A deadline passed.
    Expired(Expired),
    /// A server of the Model Context Protocol is settled, or was waited for.
    Servers(McpEvent),
    /// A watched file changed.
    File(Box<FileChanged>),
    /// A scope, approvals or memories were read or changed.
    Shared(Box<SharedEvent>),
    /// A store answered about the agents of a session.
    Agents(Box<AgentEvent>),
    /// A store answered about tasks.
    Tasks(TaskEvent),
    /// An event of a session file.
    Trajectory(Box<FileEvent>),
    /// An event for followed sessions.
    Follow(Box<FollowEvent>),
    /// A store checked which leases of open sessions are still ours.
    Leases(LeaseCheck),
    /// Changes wait for a store that cannot be reached, or no longer.
    Storage(StorageUpdatedParams),
    /// A store looked for the session of a history.
    Found(Box<HistoryFound>),
    /// The process is about to end: save, then signal.
    Ending(oneshot::Sender<()>),
    /// All stores are closed: signal the end.
    Saved(oneshot::Sender<()>),
}

/// A store's answer to a render that names no session.
pub(super) struct HistoryFound {
    /// The request.
    pub to: ReplyTo,
    /// The request's parameters.
    pub params: PromptRenderParams,
    /// The session that has this history.
    pub found: Result<Option<SessionId>, StoreError>,
}

/// The parts of `initialize` that the router needs.
pub(super) struct Hello {
    /// Our part of `initialize`.
    pub options: InitializeOptions,
    /// Where sessions are stored.
    pub storage: Storage,
    /// Settings as written: an invalid one must not cost the others.
    pub settings: Value,
    /// The folders that are open, as the client names them.
    pub folders: Vec<String>,
}

/// The mailbox of a component; `event` wraps its events for the router.
pub(super) fn mailbox<E: 'static>(inbox: &mpsc::UnboundedSender<Event>, event: fn(E) -> Event) -> Mailbox<E> {
    let inbox = inbox.clone();
    Mailbox::new(move |mail| {
        drop(inbox.send(match mail {
            Mail::Event(what) => event(what),
            Mail::Back(to, what) => Event::Back(to, Box::new(event(what))),
            Mail::Answer(to, value) => Event::Back(to, Box::new(Event::Ready(to, value))),
        }));
    })
}
