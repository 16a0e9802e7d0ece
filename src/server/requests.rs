//! The client's requests: one closed list, by subject. Parameters become commands, queries and jobs in the
//! files below and nowhere deeper; a session never sees wire types.

pub(super) mod context;
pub(super) mod counting;
pub(super) mod editing;
pub(super) mod memory;
pub(super) mod render;
pub(super) mod session;

use crate::convert::Reading;
use ::session::input::GivenPrefix;
use protocol::error::ProtocolError;
use protocol::methods::{self, Method, Named};
use protocol::prompt::Section;
use protocol::tool::Tool;

/// A method that the router answers.
pub(super) trait Asks: Method {
    /// Wraps the parameters of a request.
    fn ask(params: Self::Params) -> Ask;
}

/// A registry of methods.
pub(super) trait Routes: Sized {
    /// Registers this method.
    fn route<M: Asks + 'static>(self) -> Self;
}

macro_rules! asks {
    ($($(#[$doc:meta])* $group:ident { $($method:ident => $ask:ident,)* })*) => {
        /// Every request of a client, by subject.
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

        /// Registers each of these methods, so that none is handled but unreachable.
        pub(super) fn all_routed<R: Routes>(routes: R) -> R {
            routes$($(.route::<methods::$method>())*)*
        }
    };
}

asks! {
    /// Sessions and turns.
    Session {
        SessionOpen => Open,
        SessionList => List,
        SessionSearch => Search,
        SessionMessages => Messages,
        SessionLedger => Ledger,
        SessionHistory => History,
        SessionRestore => Restore,
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
    /// Changes of a session's past, its queue or its draft.
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
    /// The parts of a session's prompt.
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
    /// Scopes and approvals.
    Sharing {
        ScopeGet => GetScope,
        ScopePut => PutScope,
        ToolApprovals => Approvals,
    }
    /// Servers of the Model Context Protocol.
    Serving {
        McpList => List,
        McpAllow => Allow,
        McpContents => Contents,
        McpContent => Content,
    }
    /// Keys, checks and lists of models.
    Modelling {
        ModelKey => Key,
        ModelCheck => Check,
        ModelList => List,
    }
    /// Memories of a folder.
    Remembering {
        MemoryPut => Put,
        MemoryList => List,
        MemorySearch => Search,
        MemoryDelete => Delete,
    }
    /// Shell commands, and what they change.
    Shell {
        CommandEffects => Effects,
        WorktreeSnapshot => Snapshot,
        WorktreeChanges => Changes,
    }
    /// Sessions as files.
    Transfer {
        SessionImport => Import,
        SessionExport => Export,
        TrajectoryList => Trajectories,
    }
    /// Loops.
    Looping {
        LoopStart => Start,
        LoopStop => Stop,
    }
    /// Tasks.
    Tasking {
        TaskStart => Start,
        TaskList => List,
    }
}

/// The size of a page: `asked`, or `usual` if it is missing, but never more than `most`.
pub(super) fn page_limit(asked: Option<u32>, usual: u32, most: u32) -> Result<u32, ProtocolError> {
    match asked {
        Some(0) => Err(ProtocolError::invalid("limit", "must be at least 1")),
        asked => Ok(asked.unwrap_or(usual).min(most)),
    }
}

/// Parses the given parts of a prompt's prefix.
pub(super) fn prefix(
    sections: Option<&[Section]>,
    tools: Option<&[Tool]>,
) -> Result<GivenPrefix, ProtocolError> {
    let mut reading = Reading::new();
    Ok(GivenPrefix {
        sections: sections
            .map(|sections| reading.field("sections", |reading| reading.sections(sections)))
            .transpose()?,
        tools: tools.map(|tools| reading.field("tools", |reading| reading.tools(tools))).transpose()?,
    })
}
