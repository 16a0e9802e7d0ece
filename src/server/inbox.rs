//! Everything that reaches the owner loop: one closed list. What is done about it stands in `main_loop` and beside it.

use super::files::Which;
use super::follow::{Confirmed, Looked, Told};
use super::memory::Changed;
use super::part::Came;
use super::perform::Used;
use super::queued::Gone;
use super::shared::{Loaded, ScopeDone};
use super::tasks::Ended;
use super::trajectories;
use super::watch::Found;
use crate::server::message::Answer;
use engine::id::{CallId, SessionId};
use engine::message::Usage;
use engine::prompt::request::{Answer as Answered, Failure};
use engine::search;
use models::Said;
use protocol::error::ProtocolError;
use protocol::methods::{self, Method, Named};
use protocol::model::ModelDeltaParams;
use protocol::prompt::PromptRenderParams;
use protocol::server::InitializeOptions;
use serde_json::Value;
use session::effect::InvokeTool;
use session::input::{ModelCallId, ReplyTo, Timer, ToolOutcome};
use session::stored::Always;
use store::error::StoreError;
use store::task::Waiting;
use tokio::sync::oneshot;

/// Where an answer goes: to the handler that awaits it.
pub(super) type Reply = oneshot::Sender<Result<Value, ProtocolError>>;

/// Something that happened.
pub(super) enum Event {
    /// The client said hello.
    Hello(Box<Hello>),
    /// The client's configuration changed.
    Configured(Value),
    /// A file that matters changed.
    File(Which, Found),
    /// The client asks for something.
    Asked(ReplyTo, Box<Ask>, Reply),
    /// A job that a request waited for came back with this.
    Back(ReplyTo, Box<Event>),
    /// It is time to look whether each request waits for something.
    Watch,
    /// Its handler is gone: the client cancelled the request.
    Abandoned(ReplyTo),
    /// The client's model said a little more.
    Delta(ModelDeltaParams),
    /// The client answered something that we asked.
    Answered(Box<Answer>),
    /// A model that we ask ourselves said a little more.
    Said(SessionId, ModelCallId, Said),
    /// A model that we ask ourselves is done.
    Replied(SessionId, ModelCallId, Box<Replied>),
    /// The store has a session, or has none of that id.
    Loaded(SessionId, Box<Result<Loaded, StoreError>>),
    /// The store has the rest of a session, or said that something is new to it.
    Came(Box<Came>),
    /// A scope was read or changed.
    Scope(Box<ScopeDone>),
    /// What is approved in a workspace was read or changed, perhaps for somebody who waits.
    Approvals(String, Option<ReplyTo>, Result<Vec<Always>, StoreError>),
    /// What a folder remembers was changed, or was not.
    Memories(Box<Changed>),
    /// The store searched a session for a client.
    Searched(SessionId, ReplyTo, Result<search::Found, StoreError>),
    /// The store searched a session for a call of a tool of ours.
    Looked(SessionId, InvokeTool, Result<search::Found, StoreError>),
    /// A tool of ours ran.
    Ran(SessionId, CallId, ToolOutcome),
    /// The store looked for the session of a history.
    Found(ReplyTo, Box<PromptRenderParams>, Result<Option<SessionId>, StoreError>),
    /// The store took a batch, or did not.
    Committed(SessionId, Result<(), StoreError>),
    /// The store destroyed a session, or did not.
    Deleted(Box<Gone>),
    /// The store did something whose answer is ready.
    Ready(ReplyTo, Result<Value, ProtocolError>),
    /// Something became of a trajectory.
    Trajectory(Box<trajectories::Told>),
    /// A deadline passed. The number tells a timer from an older one of the same name.
    Expired(SessionId, Timer, u64),
    /// It is time to look whether other processes wrote something.
    Look,
    /// A store said what is new.
    Told(Box<Told>),
    /// A store said which of the sessions here it still holds for us.
    Leases(Box<Looked>),
    /// A store said whether it still holds a session for us that is to be taken over.
    Confirmed(Box<Confirmed>),
    /// A store said which tasks of a folder wait.
    TasksWait(String, Result<Vec<Waiting>, StoreError>),
    /// A store said which tasks of a session ended.
    TasksEnded(SessionId, Result<Ended, StoreError>),
    /// The client has read what waited for it.
    Drained,
    /// The process is about to end: save, then say so.
    Ending(oneshot::Sender<()>),
    /// All stores are closed: whoever ends the process is told.
    Saved(oneshot::Sender<()>),
}

/// How a call of a model that we ask ourselves ended.
pub(super) struct Replied {
    /// What its use is told with.
    pub used: Used,
    /// What it used, as far as its provider said so.
    pub usage: Option<Usage>,
    /// Its answer, or why there is none.
    pub answer: Result<Answered, Failure>,
}

/// What the client says of itself.
pub(super) struct Hello {
    /// Our part of `initialize`.
    pub options: InitializeOptions,
    /// Settings as it wrote them: one that cannot be used must not cost the others.
    pub settings: Value,
    /// The folders that are open, as the client names them.
    pub folders: Vec<String>,
}

/// A method that the owner loop answers.
pub(super) trait Asks: Method {
    /// Its parameters as something that happened.
    fn ask(params: Self::Params) -> Ask;
}

/// Something that brings requests to the owner loop.
pub(super) trait Routes: Sized {
    /// Takes this method in.
    fn route<M: Asks + 'static>(self) -> Self;
}

macro_rules! asks {
    ($($(#[$doc:meta])* $group:ident { $($method:ident => $ask:ident,)* })*) => {
        /// What a client can ask for, by the file that carries it out.
        #[allow(clippy::large_enum_variant, reason = "it is boxed where it travels")]
        pub(super) enum Ask {
            $($(#[$doc])* $group($group),)*
        }

        $($(#[$doc])*
        #[allow(clippy::large_enum_variant, reason = "it is boxed where it travels")]
        pub(super) enum $group {
            $($ask(<methods::$method as Named>::Params),)*
        }

        $(impl Asks for methods::$method {
            fn ask(params: Self::Params) -> Ask { Ask::$group($group::$ask(params)) }
        })*)*

        /// Gives a way to each of these methods, so that none is answered and cannot be reached.
        pub(super) fn all_routed<R: Routes>(routes: R) -> R {
            routes$($(.route::<methods::$method>())*)*
        }
    };
}

asks! {
    /// Sessions and turns: `asking`.
    Session {
        SessionOpen => Open,
        SessionList => List,
        SessionMessages => Messages,
        SessionSubscribe => Subscribe,
        SessionTakeOver => TakeOver,
        SessionClose => Close,
        SessionDelete => Delete,
        SessionConfigure => Configure,
        TurnStart => StartTurn,
        TurnEnd => EndTurn,
        RoundAppend => AppendRound,
        PromptRender => Render,
        ToolDecide => Decide,
        ToolResult => ToolResult,
        ServerDiagnostics => Diagnostics,
    }
    /// What changes a session's past, its queue or its draft: `editing`.
    Edit {
        TurnCancel => CancelTurn,
        TurnRetry => Retry,
        TurnRegenerate => Regenerate,
        MessageUpdate => Update,
        MessageRemove => Remove,
        MessageTruncate => Truncate,
        QueueRemove => Dequeue,
        SessionFork => Fork,
        SessionReset => Reset,
        DraftSet => SetDraft,
        DraftClear => ClearDraft,
    }
    /// What a session's prompt is made of: `context`.
    Context {
        ContextInspect => Inspect,
        ContextCompact => Compact,
        ContextUndo => Undo,
        ContextEdit => Edit,
        ContextExclude => Exclude,
        ContextPin => Pin,
        ContextUnpin => Unpin,
        ContextRecall => Recall,
        ContextSearch => Search,
        ContextLedger => Ledger,
    }
    /// What sessions share: `shared`.
    Sharing {
        ScopeGet => GetScope,
        ScopePut => PutScope,
        ToolApprovals => Approvals,
        ModelKey => Key,
    }
    /// What a folder remembers: `memory`.
    Remembering {
        MemoryPut => Put,
        MemoryList => List,
        MemorySearch => Search,
        MemoryDelete => Delete,
    }
    /// Sessions as files: `transfer`.
    Transfer {
        SessionImport => Import,
        SessionExport => Export,
        TrajectoryList => Trajectories,
    }
    /// Loops: `loops`.
    Looping {
        LoopStart => Start,
        LoopStop => Stop,
    }
    /// Tasks: `tasks`.
    Tasking {
        TaskStart => Start,
        TaskList => List,
    }
}
