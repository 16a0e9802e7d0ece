//! The table of methods: name, sender, parameters and result of each. The response to `initialize`, the schema, the
//! handbook and the TypeScript types are generated from it. Handlers are in the sidecar.

use crate::check::fault;
use crate::command::worktree::{
    WorktreeChangesParams, WorktreeChangesResult, WorktreeSnapshotParams, WorktreeSnapshotResult,
};
use crate::command::{CommandEffectsParams, CommandEffectsResult};
use crate::context::ledger::{ContextLedgerParams, ContextLedgerResult, SessionLedgerParams};
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
    ModelCheckParams, ModelCheckResult, ModelCompleteParams, ModelCompleteResult, ModelCountTokensParams,
    ModelCountTokensResult, ModelDeltaParams, ModelKeyParams, ModelKeyResult, ModelListParams,
    ModelListResult, ModelUsageParams,
};
use crate::prompt::{PromptRenderParams, PromptRenderResult};
use crate::server::{ServerDiagnosticsParams, ServerDiagnosticsResult, StorageUpdatedParams};
use crate::session::edit::{
    DraftClearParams, DraftResult, DraftSetParams, EditResult, MessageRemoveParams, MessageTruncateParams,
    MessageUpdateParams, QueueRemoveParams, QueueRemoveResult, SessionForkParams, SessionForkResult,
    SessionHistoryParams, SessionHistoryResult, SessionResetParams, SessionResetResult, SessionRestoreParams,
    TurnRegenerateParams, TurnRetryParams,
};
use crate::session::scope::{
    ScopeGetParams, ScopePutParams, ScopeResult, ToolApprovalsParams, ToolApprovalsResult,
};
use crate::session::search::{SessionSearchParams, SessionSearchResult};
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
use crate::tool::server::{
    McpAllowParams, McpContentParams, McpContentResult, McpContentsParams, McpContentsResult,
    McpElicitParams, McpElicitResult, McpListParams, McpListResult,
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
        "Lists sessions in pages, newest first.",
        SessionListParams => SessionListResult;
    SessionSearch = "session/search", ToSidecar, Extras,
        "Finds sessions by words in all that was said in them, the most recently used first.",
        SessionSearchParams => SessionSearchResult;
    SessionMessages = "session/messages", ToSidecar, Extras,
        "Returns the messages of a session in pages, from its end.",
        SessionMessagesParams => SessionMessagesResult;
    SessionLedger = "session/ledger", ToSidecar, Extras,
        "Lists what the tools did in a session, whole: files, commands, tests. The session need not be open.",
        SessionLedgerParams => ContextLedgerResult;
    SessionSubscribe = "session/subscribe", ToSidecar, Core,
        "Returns the events after the last one that the client has, or a snapshot if they are no longer available. A session that another process writes is followed.",
        SessionSubscribeParams => SessionSubscribeResult;
    TurnStart = "turn/start", ToSidecar, Core,
        "Accepts a request of the user. With the driver `sidecar` the turn runs; with `editor` it is only recorded.",
        TurnStartParams => TurnStartResult;
    TurnCancel = "turn/cancel", ToSidecar, Core,
        "Cancels a turn. Its output so far is kept; open calls are answered as cancelled.",
        TurnCancelParams => TurnCancelResult;
    TurnEnd = "turn/end", ToSidecar, Core,
        "Driver `editor`: ends the turn and returns all its summaries.",
        TurnEndParams => TurnEndResult;
    RoundAppend = "round/append", ToSidecar, Core,
        "Driver `editor`: records a model's answer with the results of its tool calls.",
        RoundAppendParams => RoundAppendResult;
    PromptRender = "prompt/render", ToSidecar, Core,
        "Renders the messages to send to a model, and compacts if they would be too large.",
        PromptRenderParams => PromptRenderResult;
    ToolDecide = "tool/decide", ToSidecar, Core,
        "Approves or rejects tool calls that wait for the user.",
        ToolDecideParams => ToolDecideResult;
    ContextInspect = "context/inspect", ToSidecar, Context,
        "Returns the sections of the prompt, the distance to the next compaction, and the origin of each setting.",
        ContextInspectParams => ContextInspectResult;
    ContextCompact = "context/compact", ToSidecar, Context,
        "Compacts now, redoes the compaction in force, or previews either.",
        ContextCompactParams => ContextCompactResult;
    ContextUndo = "context/undo", ToSidecar, Context,
        "Undoes a compaction: the prompt is again what it would be without it.",
        ContextUndoParams => ContextUndoResult;
    ContextEdit = "context/edit", ToSidecar, Context,
        "Replaces the narrative of an accepted compaction.",
        ContextEditParams => ContextCompactResult;
    ContextExclude = "context/exclude", ToSidecar, Context,
        "Excludes messages from every prompt until that is undone.",
        ContextExcludeParams => ContextCompactResult;
    ContextPin = "context/pin", ToSidecar, Context,
        "Pins a message or a text: every prompt shows it byte for byte.",
        ContextPinParams => ContextPinResult;
    ContextUnpin = "context/unpin", ToSidecar, Context,
        "Removes a pin.",
        ContextUnpinParams => ContextPinResult;
    ContextRecall = "context/recall", ToSidecar, Context,
        "Returns the content of a message byte for byte, in parts, even if prompts shorten or omit it.",
        ContextRecallParams => ContextRecallResult;
    ContextSearch = "context/search", ToSidecar, Context,
        "Finds messages by words in pages, newest first, including those that prompts omit.",
        ContextSearchParams => ContextSearchResult;
    ContextLedger = "context/ledger", ToSidecar, Context,
        "Lists what the tools did in the messages that the compaction in force hides, including what its block only counts.",
        ContextLedgerParams => ContextLedgerResult;
    TurnRetry = "turn/retry", ToSidecar, Edit,
        "Removes a message and everything after it, then has the model answer again.",
        TurnRetryParams => EditResult;
    TurnRegenerate = "turn/regenerate", ToSidecar, Edit,
        "Removes the newest answer, then has the model answer again.",
        TurnRegenerateParams => EditResult;
    MessageUpdate = "message/update", ToSidecar, Edit,
        "Replaces the content of a message.",
        MessageUpdateParams => EditResult;
    MessageRemove = "message/remove", ToSidecar, Edit,
        "Removes a message with those that belong to it, such as the results of its calls.",
        MessageRemoveParams => EditResult;
    MessageTruncate = "message/truncate", ToSidecar, Edit,
        "Removes a message and everything after it.",
        MessageTruncateParams => EditResult;
    QueueRemove = "queue/remove", ToSidecar, Edit,
        "Removes a command from the queue.",
        QueueRemoveParams => QueueRemoveResult;
    SessionFork = "session/fork", ToSidecar, Edit,
        "Copies a session, whole or up to a message, into a new one.",
        SessionForkParams => SessionForkResult;
    SessionReset = "session/reset", ToSidecar, Edit,
        "Starts a new chat under the same id.",
        SessionResetParams => SessionResetResult;
    SessionHistory = "session/history", ToSidecar, Edit,
        "Lists the revisions of a session in pages, newest first.",
        SessionHistoryParams => SessionHistoryResult;
    SessionRestore = "session/restore", ToSidecar, Edit,
        "Restores a revision of a session. What stood there before becomes a revision itself.",
        SessionRestoreParams => EditResult;
    SessionImport = "session/import", ToSidecar, Extras,
        "Creates a session from a conversation of another program or from a trajectory.",
        SessionImportParams => SessionImportResult;
    SessionExport = "session/export", ToSidecar, Extras,
        "Returns a session as the content of a file.",
        SessionExportParams => SessionExportResult;
    TrajectoryList = "trajectory/list", ToSidecar, Extras,
        "Lists the trajectories of a folder in pages.",
        TrajectoryListParams => TrajectoryListResult;
    DraftSet = "draft/set", ToSidecar, Extras,
        "Stores the text that the user typed and did not send.",
        DraftSetParams => DraftResult;
    DraftClear = "draft/clear", ToSidecar, Extras,
        "Deletes the text that the user typed and did not send.",
        DraftClearParams => DraftResult;
    ScopeGet = "scope/get", ToSidecar, Extras,
        "Returns what sessions share under the name of a scope.",
        ScopeGetParams => ScopeResult;
    ScopePut = "scope/put", ToSidecar, Extras,
        "Changes what sessions share under the name of a scope.",
        ScopePutParams => ScopeResult;
    MemoryPut = "memory/put", ToSidecar, Extras,
        "Creates or changes a memory of a folder.",
        MemoryPutParams => MemoryPutResult;
    MemoryList = "memory/list", ToSidecar, Extras,
        "Lists the memories of a folder in pages, most important first.",
        MemoryListParams => MemoryListResult;
    MemorySearch = "memory/search", ToSidecar, Extras,
        "Finds memories of a folder by words.",
        MemorySearchParams => MemoryListResult;
    MemoryDelete = "memory/delete", ToSidecar, Extras,
        "Deletes a memory permanently.",
        MemoryDeleteParams => MemoryDeleteResult;
    LoopStart = "loop/start", ToSidecar, Extras,
        "Runs stages in sequence in the background, each as its own session.",
        LoopStartParams => LoopStartResult;
    LoopStop = "loop/stop", ToSidecar, Extras,
        "Stops a loop and its running stage.",
        LoopStopParams => LoopStopResult;
    TaskStart = "task/start", ToSidecar, Extras,
        "Stores a request as a waiting background session; this or another process that serves its folder runs it.",
        TaskStartParams => TaskStartResult;
    TaskList = "task/list", ToSidecar, Extras,
        "Lists the background sessions of a session with their states, whichever process runs them.",
        TaskListParams => TaskListResult;
    CommandEffects = "command/effects", ToSidecar, Extras,
        "Reads which files a shell command reads, writes, deletes and moves, from its text alone.",
        CommandEffectsParams => CommandEffectsResult;
    McpList = "mcp/list", ToSidecar, Extras,
        "Lists the servers of the Model Context Protocol whose tools are offered, with their states. Starts none.",
        McpListParams => McpListResult;
    McpAllow = "mcp/allow", ToSidecar, Extras,
        "Allows or denies a server that a file of the workspace defines, and remembers it for exactly that definition.",
        McpAllowParams => McpListResult;
    McpContents = "mcp/contents", ToSidecar, Extras,
        "Lists prompts and resources of a session's servers, which a user can put into a message.",
        McpContentsParams => McpContentsResult;
    McpContent = "mcp/content", ToSidecar, Extras,
        "Reads a prompt or a resource of a session's server, as content for a message.",
        McpContentParams => McpContentResult;
    WorktreeSnapshot = "worktree/snapshot", ToSidecar, Extras,
        "Stores the files of a folder as they are now, for comparison with a later snapshot.",
        WorktreeSnapshotParams => WorktreeSnapshotResult;
    WorktreeChanges = "worktree/changes", ToSidecar, Extras,
        "Returns in pages which files differ between two snapshots, with their contents before.",
        WorktreeChangesParams => WorktreeChangesResult;
    ToolApprovals = "tool/approvals", ToSidecar, Extras,
        "Revokes and adds permanent approvals and rejections of a folder, or approvals of a session, and lists them.",
        ToolApprovalsParams => ToolApprovalsResult;
    ToolResult = "tool/result", ToSidecar, Extras,
        "Delivers the result of a tool call that was answered with `pending`, or that a restart left open.",
        ToolResultParams => ToolResultResult;
    SessionConfigure = "session/configure", ToSidecar, Extras,
        "Changes settings or the title of a session.",
        SessionConfigureParams => SessionConfigureResult;
    SessionTakeOver = "session/takeOver", ToSidecar, Extras,
        "Makes this process the writer of a session that another one holds. Work there is stopped; its client gets \
         `sessionTakenOver` and follows.",
        SessionTakeOverParams => SessionOpenResult;
    SessionClose = "session/close", ToSidecar, Extras,
        "Closes a session; its stored data is kept.",
        SessionCloseParams => SessionCloseResult;
    SessionDelete = "session/delete", ToSidecar, Extras,
        "Deletes a session permanently.",
        SessionDeleteParams => SessionDeleteResult;
    ServerDiagnostics = "server/diagnostics", ToSidecar, Extras,
        "Returns versions, stores, open sessions and work in progress.",
        ServerDiagnosticsParams => ServerDiagnosticsResult;
    ModelKey = "model/key", ToSidecar, Core,
        "Sets or removes a key for models that the sidecar calls itself. It is kept only in memory.",
        ModelKeyParams => ModelKeyResult;
    ModelCheck = "model/check", ToSidecar, Extras,
        "Asks a model one small question, without a session, and explains why it cannot answer if it cannot.",
        ModelCheckParams => ModelCheckResult;
    ModelList = "model/list", ToSidecar, Extras,
        "Asks a provider which models it lists, and explains why there is no list if there is none. Nothing is stored.",
        ModelListParams => ModelListResult;
    ModelDelta = "model/delta", ToSidecar, Core,
        "Streams an answer to `model/complete`.",
        ModelDeltaParams;
    ModelComplete = "model/complete", ToClient, Core,
        "Calls the client's model. The client streams with `model/delta` and then answers. A request that the provider \
         rejects as too large is an error with the data `{kind: \"contextOverflow\", limit?, needed?}`, in the provider's \
         tokens; the provider's own message is recognized too. After an error with the data `{kind, retryAfterMs?}`, whose \
         kind is `network`, `overloaded` or `rateLimited`, the client is asked again under another `requestId`, up to four \
         times, as for models that the sidecar calls itself.",
        ModelCompleteParams => ModelCompleteResult;
    ToolInvoke = "tool/invoke", ToClient, Core,
        "Runs a tool in the client.",
        ToolInvokeParams => ToolInvokeResult;
    RequestPermission = "tool/requestPermission", ToClient, Core,
        "Asks the user to approve tool calls. Without an answer the session pauses until `tool/decide`.",
        RequestPermissionParams => Option<RequestPermissionResult>;
    McpElicit = "mcp/elicit", ToClient, Extras,
        "Asks the user what a server wants to know within a call. It is withdrawn with the call.",
        McpElicitParams => Option<McpElicitResult>;
    CompactionReview = "compaction/review", ToClient, Context,
        "Asks the user to review a compaction before it takes effect, if the setting `compaction` is `ask`.",
        CompactionReviewParams => Option<CompactionReviewResult>;
    ModelCountTokens = "model/countTokens", ToClient, Extras,
        "Counts the tokens of texts with the client's model.",
        ModelCountTokensParams => ModelCountTokensResult;
    SessionEventSent = "session/event", ToClient, Core,
        "Reports an event of a session.",
        SessionEvent;
    SessionsChanged = "sessions/changed", ToClient, Extras,
        "Reports changes of the list of sessions; once the client has requested the list, also those by other processes. A row may be sent twice.",
        SessionsChangedParams;
    LoopUpdated = "loop/updated", ToClient, Extras,
        "Reports the state of a loop.",
        LoopUpdatedParams;
    StorageUpdated = "storage/updated", ToClient, Extras,
        "Reports that changes wait for a database that cannot be reached, and how that ended.",
        StorageUpdatedParams;
    ModelUsage = "model/usage", ToClient, Extras,
        "Reports the tokens that a model used.",
        ModelUsageParams;
}

/// Reads the parameters of a method; absent ones count as an empty object. Fails with `InvalidParams`, which names the
/// field, also for positional parameters, which JSON-RPC would allow.
pub fn read_params<M: Named>(params: Value) -> Result<M::Params, ProtocolError> {
    match params {
        Value::Null => read(Value::Object(Map::new())),
        Value::Array(_) => Err(ProtocolError::invalid("", "must be an object, not a list")),
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
        // Serde's error names no path, and may quote content: the schema is walked for the field and a reason.
        let root = SchemaGenerator::default().into_root_schema_for::<T>();
        match fault(root.as_value(), &value) {
            Some(fault) => ProtocolError::invalid(fault.field, fault.reason),
            None => ProtocolError::invalid("", error.to_string()),
        }
    })
}
