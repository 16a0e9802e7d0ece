//! Everything that reaches the router: one closed list, by who sent it. What is done about it stands in `router`.

use super::client::Reply;
use super::clock::Expired;
use super::config::FileChanged;
use super::follow::FollowEvent;
use super::host::HostEvent;
use super::mailbox::{Mail, Mailbox};
use super::requests::Ask;
use super::services::leases::Looked;
use super::services::models::ModelEvent;
use super::services::shared::SharedEvent;
use super::services::tasks::TaskEvent;
use super::services::trajectories::FileEvent;
use engine::id::SessionId;
use protocol::error::ProtocolError;
use protocol::model::ModelDeltaParams;
use protocol::prompt::PromptRenderParams;
use protocol::server::InitializeOptions;
use rpc::message::Answer;
use serde_json::Value;
use session::input::ReplyTo;
use store::error::StoreError;
use tokio::sync::{mpsc, oneshot};

/// Something that happened.
pub(super) enum Event {
    /// The client said hello.
    Hello(Box<Hello>),
    /// The client's configuration changed.
    Configured(Value),
    /// The client asks for something.
    Asked(ReplyTo, Box<Ask>, Reply),
    /// A job that a request waited for came back with this.
    Back(ReplyTo, Box<Event>),
    /// A job did something whose answer is ready.
    Ready(ReplyTo, Result<Value, ProtocolError>),
    /// The watchdog looks whether each request waits for something.
    Watch,
    /// The handler of a request is gone: the client cancelled it.
    Abandoned(ReplyTo),
    /// The client's model said a little more.
    Delta(ModelDeltaParams),
    /// The client answered something that we asked.
    Answered(Box<Answer>),
    /// The client has read what waited for it.
    Drained,
    /// A model that we ask ourselves said something.
    Model(Box<ModelEvent>),
    /// Something came back for a session.
    Host(HostEvent),
    /// A deadline passed.
    Expired(Expired),
    /// A file that matters changed.
    File(Box<FileChanged>),
    /// A scope, approvals or memories were read or changed.
    Shared(Box<SharedEvent>),
    /// A store said something of tasks.
    Tasks(TaskEvent),
    /// Something became of a trajectory.
    Trajectory(Box<FileEvent>),
    /// Something that matters to sessions that are followed.
    Follow(Box<FollowEvent>),
    /// A store said which of the sessions here it still holds for us.
    Leases(Looked),
    /// The store looked for the session of a history.
    Found(Box<HistoryFound>),
    /// The process is about to end: save, then say so.
    Ending(oneshot::Sender<()>),
    /// All stores are closed: whoever ends the process is told.
    Saved(oneshot::Sender<()>),
}

/// A store's answer to a render that names no session.
pub(super) struct HistoryFound {
    /// The request.
    pub to: ReplyTo,
    /// Its parameters.
    pub params: PromptRenderParams,
    /// The session that has this history.
    pub found: Result<Option<SessionId>, StoreError>,
}

/// `initialize`, as far as it matters here.
pub(super) struct Hello {
    /// Our part of `initialize`.
    pub options: InitializeOptions,
    /// Settings as it wrote them: one that cannot be used must not cost the others.
    pub settings: Value,
    /// The folders that are open, as the client names them.
    pub folders: Vec<String>,
}

/// The mailbox of a component, whose events are this to the router.
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
