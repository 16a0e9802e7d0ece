//! The table of methods: name, sender, parameters and result of each. The response to `initialize`, the schema, the
//! handbook and the TypeScript types are generated from it. Handlers are in the sidecar.

use crate::check::fault;
use crate::context::ledger::{ContextLedgerParams, ContextLedgerResult};
use crate::context::memory::{
    MemoryDeleteParams, MemoryDeleteResult, MemoryListParams, MemoryListResult, MemoryPutParams,
    MemoryPutResult, MemorySearchParams,
};
use crate::context::recall::{
    ContextRecallParams, ContextRecallResult, ContextSearchParams, ContextSearchResult,
};
use crate::context::review::{CompactionReviewParams, CompactionReviewResult};
use crate::context::{
    ContextCompactParams, ContextCompactResult, ContextEditParams, ContextExcludeParams,
    ContextInspectParams, ContextInspectResult, ContextPinParams, ContextPinResult, ContextUndoParams,
    ContextUndoResult, ContextUnpinParams,
};
use crate::error::ProtocolError;
use crate::event::{SessionEvent, SessionsChangedParams};
use crate::model::{
    ModelCompleteParams, ModelCompleteResult, ModelCountTokensParams, ModelCountTokensResult,
    ModelDeltaParams, ModelKeyParams, ModelKeyResult, ModelUsageParams,
};
use crate::prompt::{PromptRenderParams, PromptRenderResult};
use crate::server::{ServerDiagnosticsParams, ServerDiagnosticsResult};
use crate::session::edit::{
    DraftClearParams, DraftResult, DraftSetParams, EditResult, MessageRemoveParams, MessageTruncateParams,
    MessageUpdateParams, QueueRemoveParams, QueueRemoveResult, SessionForkParams, SessionForkResult,
    SessionResetParams, SessionResetResult, TurnRegenerateParams, TurnRetryParams,
};
use crate::session::scope::{
    ScopeGetParams, ScopePutParams, ScopeResult, ToolApprovalsParams, ToolApprovalsResult,
};
use crate::session::stages::{
    LoopStartParams, LoopStartResult, LoopStopParams, LoopStopResult, LoopUpdatedParams,
};
use crate::session::task::{TaskListParams, TaskListResult, TaskStartParams, TaskStartResult};
use crate::session::transfer::{
    SessionExportParams, SessionExportResult, SessionImportParams, SessionImportResult, TrajectoryListParams,
    TrajectoryListResult,
};
use crate::session::{
    SessionCloseParams, SessionCloseResult, SessionConfigureParams, SessionConfigureResult,
    SessionDeleteParams, SessionDeleteResult, SessionListParams, SessionListResult, SessionMessagesParams,
    SessionMessagesResult, SessionOpenParams, SessionOpenResult, SessionSubscribeParams,
    SessionSubscribeResult, SessionTakeOverParams,
};
use crate::tool::{
    RequestPermissionParams, RequestPermissionResult, ToolDecideParams, ToolDecideResult, ToolInvokeParams,
    ToolInvokeResult, ToolResultParams, ToolResultResult,
};
use crate::turn::{
    RoundAppendParams, RoundAppendResult, TurnCancelParams, TurnCancelResult, TurnEndParams, TurnEndResult,
    TurnStartParams, TurnStartResult,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The sender of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Sent by the client.
    ToSidecar,
    /// Sent by the sidecar.
    ToClient,
}

/// The kind of client that needs a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every client; a small one needs no other level.
    Core,
    /// Clients that show what the prompt consists of.
    Context,
    /// Clients in which users edit the conversation.
    Edit,
    /// Optional for every client.
    Extras,
}

impl Level {
    /// Returns the name used in documents and in `ServerCapabilities::levels`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Context => "context",
            Self::Edit => "edit",
            Self::Extras => "extras",
        }
    }
}

/// The properties that requests and notifications share.
pub trait Named {
    /// The name on the wire, such as `session/open`.
    const NAME: &'static str;
    /// The sender.
    const DIRECTION: Direction;
    /// The kind of client that needs it.
    const LEVEL: Level;
    /// The effect, in a sentence or two, for the generated documents.
    const DOES: &'static str;
    /// The parameters.
    type Params: Serialize + DeserializeOwned + JsonSchema;
}

/// A request. It gets exactly one response.
pub trait Method: Named {
    /// The result.
    type Result: Serialize + DeserializeOwned + JsonSchema;
}

/// A notification. It gets no response.
pub trait NotificationMethod: Named {}

/// An entry of [`METHODS`].
#[derive(Debug, Clone, Copy)]
pub struct MethodInfo {
    /// The name on the wire, such as `session/open`.
    pub name: &'static str,
    /// The sender.
    pub direction: Direction,
    /// The kind of client that needs it.
    pub level: Level,
    /// The effect, in a sentence or two, for the generated documents.
    pub does: &'static str,
    /// Generates the schema of the parameters.
    pub params: fn(&mut SchemaGenerator) -> Schema,
    /// Generates the schema of the result; `None` for a notification.
    pub result: Option<fn(&mut SchemaGenerator) -> Schema>,
}

macro_rules! methods {
    ($($marker:ident = $name:literal, $direction:ident, $level:ident, $does:literal,
        $params:ty $(=> $result:ty)?;)*) => {
        $(
            #[doc = concat!("`", $name, "`: ", $does)]
            #[derive(Debug, Clone, Copy)]
            pub enum $marker {}

            impl Named for $marker {
                const NAME: &'static str = $name;
                const DIRECTION: Direction = Direction::$direction;
                const LEVEL: Level = Level::$level;
                const DOES: &'static str = $does;
                type Params = $params;
            }

            methods!(@kind $marker $($result)?);
        )*

        /// All methods and notifications: the client's first, each level in the order in which a client needs it.
        pub const METHODS: &[MethodInfo] = &[$(MethodInfo {
            name: $marker::NAME,
            direction: $marker::DIRECTION,
            level: $marker::LEVEL,
            does: $marker::DOES,
            params: |generator| generator.subschema_for::<$params>(),
            result: methods!(@result $($result)?),
        }),*];
    };
    (@kind $marker:ident $result:ty) => {
        impl Method for $marker {
            type Result = $result;
        }
    };
    (@kind $marker:ident) => {
        impl NotificationMethod for $marker {}
    };
    (@result $result:ty) => {
        Some(|generator| generator.subschema_for::<$result>())
    };
    (@result) => {
        None
    };
}

methods! {
    SessionOpen = "session/open", ToSidecar, Core,
        "Creates a session, resumes one, or restores one from the client's history; subscribes to its events.",
        SessionOpenParams => SessionOpenResult;
    SessionList = "session/list", ToSidecar, Core,
        "Lists sessions, newest first, a page at a time.",
        SessionListParams => SessionListResult;
    SessionMessages = "session/messages", ToSidecar, Extras,
        "Gives what was said in a session, a page at a time from its end.",
        SessionMessagesParams => SessionMessagesResult;
    SessionSubscribe = "session/subscribe", ToSidecar, Core,
        "Asks for the events since one that the client has; answers a snapshot where they are gone. A session that another process writes is followed.",
        SessionSubscribeParams => SessionSubscribeResult;
    TurnStart = "turn/start", ToSidecar, Core,
        "Takes a request of the user. With the driver `sidecar` the turn runs; with `editor` it is only recorded.",
        TurnStartParams => TurnStartResult;
    TurnCancel = "turn/cancel", ToSidecar, Core,
        "Stops a turn. What was said so far stays; open calls are answered as cancelled.",
        TurnCancelParams => TurnCancelResult;
    TurnEnd = "turn/end", ToSidecar, Core,
        "Driver `editor`: says that the turn is over, and gets all its summaries.",
        TurnEndParams => TurnEndResult;
    RoundAppend = "round/append", ToSidecar, Core,
        "Driver `editor`: records a model's answer with the results of its calls.",
        RoundAppendParams => RoundAppendResult;
    PromptRender = "prompt/render", ToSidecar, Core,
        "Makes the messages to send to a model, and compacts where they would be too large.",
        PromptRenderParams => PromptRenderResult;
    ToolDecide = "tool/decide", ToSidecar, Core,
        "Decides about calls that wait for the user.",
        ToolDecideParams => ToolDecideResult;
    ContextInspect = "context/inspect", ToSidecar, Context,
        "Shows what the prompt is made of, how near a compaction is, and who set each setting.",
        ContextInspectParams => ContextInspectResult;
    ContextCompact = "context/compact", ToSidecar, Context,
        "Compacts now, again, or only says what that would do.",
        ContextCompactParams => ContextCompactResult;
    ContextUndo = "context/undo", ToSidecar, Context,
        "Takes a compaction out of force: the prompt is again what it would be without it.",
        ContextUndoParams => ContextUndoResult;
    ContextEdit = "context/edit", ToSidecar, Context,
        "Gives an accepted compaction another narrative.",
        ContextEditParams => ContextCompactResult;
    ContextExclude = "context/exclude", ToSidecar, Context,
        "Leaves messages out of every prompt, until it is undone.",
        ContextExcludeParams => ContextCompactResult;
    ContextPin = "context/pin", ToSidecar, Context,
        "Has every prompt show a message or a text, byte for byte.",
        ContextPinParams => ContextPinResult;
    ContextUnpin = "context/unpin", ToSidecar, Context,
        "Takes a pin back.",
        ContextUnpinParams => ContextPinResult;
    ContextRecall = "context/recall", ToSidecar, Context,
        "Gives what a message said, byte for byte and in parts, also where a prompt shows it cut or not at all.",
        ContextRecallParams => ContextRecallResult;
    ContextSearch = "context/search", ToSidecar, Context,
        "Finds messages by words, newest first and a page at a time, also those that a prompt does not show.",
        ContextSearchParams => ContextSearchResult;
    ContextLedger = "context/ledger", ToSidecar, Context,
        "Names what the tools did in all that the compaction in force keeps out of sight, also what its block only counts.",
        ContextLedgerParams => ContextLedgerResult;
    TurnRetry = "turn/retry", ToSidecar, Edit,
        "Cuts everything from a message on off, and has the model answer again.",
        TurnRetryParams => EditResult;
    TurnRegenerate = "turn/regenerate", ToSidecar, Edit,
        "Cuts the newest answer off, and has the model answer again.",
        TurnRegenerateParams => EditResult;
    MessageUpdate = "message/update", ToSidecar, Edit,
        "Gives a message other words.",
        MessageUpdateParams => EditResult;
    MessageRemove = "message/remove", ToSidecar, Edit,
        "Takes a message out, with what belongs to it.",
        MessageRemoveParams => EditResult;
    MessageTruncate = "message/truncate", ToSidecar, Edit,
        "Cuts everything from a message on off.",
        MessageTruncateParams => EditResult;
    QueueRemove = "queue/remove", ToSidecar, Edit,
        "Takes a command out of the queue.",
        QueueRemoveParams => QueueRemoveResult;
    SessionFork = "session/fork", ToSidecar, Edit,
        "Makes another session that goes on from here.",
        SessionForkParams => SessionForkResult;
    SessionReset = "session/reset", ToSidecar, Edit,
        "Begins a new chat under the same id.",
        SessionResetParams => SessionResetResult;
    SessionImport = "session/import", ToSidecar, Extras,
        "Makes a session of a conversation that another program wrote, or of a trajectory.",
        SessionImportParams => SessionImportResult;
    SessionExport = "session/export", ToSidecar, Extras,
        "Writes a session as a file's content.",
        SessionExportParams => SessionExportResult;
    TrajectoryList = "trajectory/list", ToSidecar, Extras,
        "Lists the trajectories of a folder, a page at a time.",
        TrajectoryListParams => TrajectoryListResult;
    DraftSet = "draft/set", ToSidecar, Extras,
        "Keeps what the user typed and did not send.",
        DraftSetParams => DraftResult;
    DraftClear = "draft/clear", ToSidecar, Extras,
        "Forgets it.",
        DraftClearParams => DraftResult;
    ScopeGet = "scope/get", ToSidecar, Extras,
        "Shows what sessions share under a name.",
        ScopeGetParams => ScopeResult;
    ScopePut = "scope/put", ToSidecar, Extras,
        "Changes what sessions share under a name.",
        ScopePutParams => ScopeResult;
    MemoryPut = "memory/put", ToSidecar, Extras,
        "Remembers something for a folder, or changes what is remembered.",
        MemoryPutParams => MemoryPutResult;
    MemoryList = "memory/list", ToSidecar, Extras,
        "Lists what is remembered, the most important first, a page at a time.",
        MemoryListParams => MemoryListResult;
    MemorySearch = "memory/search", ToSidecar, Extras,
        "Finds what is remembered by words.",
        MemorySearchParams => MemoryListResult;
    MemoryDelete = "memory/delete", ToSidecar, Extras,
        "Forgets something for good.",
        MemoryDeleteParams => MemoryDeleteResult;
    LoopStart = "loop/start", ToSidecar, Extras,
        "Runs stages one after the other in the background, each as a session of its own.",
        LoopStartParams => LoopStartResult;
    LoopStop = "loop/stop", ToSidecar, Extras,
        "Stops a loop and the stage that runs.",
        LoopStopParams => LoopStopResult;
    TaskStart = "task/start", ToSidecar, Extras,
        "Stores a request as a background session that waits; a process that serves its folder runs it, this one or another.",
        TaskStartParams => TaskStartResult;
    TaskList = "task/list", ToSidecar, Extras,
        "Lists the background sessions of a session, each with how it stands, whichever process runs it.",
        TaskListParams => TaskListResult;
    ToolApprovals = "tool/approvals", ToSidecar, Extras,
        "Lists what was approved in a folder once and for all, and takes it back.",
        ToolApprovalsParams => ToolApprovalsResult;
    ToolResult = "tool/result", ToSidecar, Extras,
        "Brings the result of a call that was answered with `pending`, or that a restart left open.",
        ToolResultParams => ToolResultResult;
    SessionConfigure = "session/configure", ToSidecar, Extras,
        "Changes settings or the title of a session.",
        SessionConfigureParams => SessionConfigureResult;
    SessionTakeOver = "session/takeOver", ToSidecar, Extras,
        "Makes this process the writer of a session that another one holds. What runs there is stopped, its client is told by \
         `sessionTakenOver` and follows.",
        SessionTakeOverParams => SessionOpenResult;
    SessionClose = "session/close", ToSidecar, Extras,
        "Closes a session; it stays on disk.",
        SessionCloseParams => SessionCloseResult;
    SessionDelete = "session/delete", ToSidecar, Extras,
        "Deletes a session for good.",
        SessionDeleteParams => SessionDeleteResult;
    ServerDiagnostics = "server/diagnostics", ToSidecar, Extras,
        "Shows versions, stores, open sessions and what is under way.",
        ServerDiagnosticsParams => ServerDiagnosticsResult;
    ModelKey = "model/key", ToSidecar, Core,
        "Gives a key for models that the sidecar asks itself. It is kept in memory, and nowhere else.",
        ModelKeyParams => ModelKeyResult;
    ModelDelta = "model/delta", ToSidecar, Core,
        "Streams an answer to `model/complete`.",
        ModelDeltaParams;
    ModelComplete = "model/complete", ToClient, Core,
        "Asks the client's model. The client streams with `model/delta` and then answers. A request that the provider \
         finds too large is an error with the data `{kind: \"contextOverflow\", limit?, needed?}`, in the provider's tokens; \
         its words are understood too.",
        ModelCompleteParams => ModelCompleteResult;
    ToolInvoke = "tool/invoke", ToClient, Core,
        "Has a tool run.",
        ToolInvokeParams => ToolInvokeResult;
    RequestPermission = "tool/requestPermission", ToClient, Core,
        "Asks the user about calls. Without an answer the session pauses until `tool/decide`.",
        RequestPermissionParams => Option<RequestPermissionResult>;
    CompactionReview = "compaction/review", ToClient, Context,
        "Asks the user about a compaction before it holds, where the setting `compaction` is `ask`.",
        CompactionReviewParams => Option<CompactionReviewResult>;
    ModelCountTokens = "model/countTokens", ToClient, Extras,
        "Has texts counted by the client's model.",
        ModelCountTokensParams => ModelCountTokensResult;
    SessionEventSent = "session/event", ToClient, Core,
        "Tells what happened in a session.",
        SessionEvent;
    SessionsChanged = "sessions/changed", ToClient, Extras,
        "Tells that the list of sessions changed; once it was asked for, also by other processes. A row may come twice.",
        SessionsChangedParams;
    LoopUpdated = "loop/updated", ToClient, Extras,
        "Tells how a loop stands.",
        LoopUpdatedParams;
    ModelUsage = "model/usage", ToClient, Extras,
        "Tells what a model used.",
        ModelUsageParams;
}

/// Reads the parameters of a method; absent ones count as an empty object. Fails with `InvalidParams`, which names the
/// field, also for parameters given as a list.
pub fn read_params<M: Named>(params: Value) -> Result<M::Params, ProtocolError> {
    match params {
        Value::Null => read(Value::Object(Map::new())),
        Value::Array(_) => Err(ProtocolError::invalid("", "must be an object, and is a list")),
        params => read(params),
    }
}

/// Reads the result of a method. Fails with `InvalidParams`, which names the field.
pub fn read_result<M: Method>(result: Value) -> Result<M::Result, ProtocolError> {
    read(result)
}

/// Reads any value of the protocol. Fails with `InvalidParams`, which names the field.
pub fn read<T: DeserializeOwned + JsonSchema>(value: Value) -> Result<T, ProtocolError> {
    T::deserialize(&value).map_err(|error| {
        let root = SchemaGenerator::default().into_root_schema_for::<T>();
        match fault(root.as_value(), &value) {
            Some(fault) => ProtocolError::invalid(fault.field, fault.reason),
            None => ProtocolError::invalid("", error.to_string()),
        }
    })
}
