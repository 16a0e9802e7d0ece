// Types of the threadhold protocol. Made by `threadhold schema --format typescript`; do not change by hand.
// Kinds of parts, events and operations that are not listed may come from a later version: ignore them.

/** The version of the protocol. */
export const PROTOCOL_VERSION = 1;

/** The types of `session/event`. */
export const EVENTS = [
  "snapshot",
  "turnStarted",
  "turnCompleted",
  "streamStarted",
  "streamDelta",
  "streamReset",
  "streamFinished",
  "messageAdded",
  "messageUpdated",
  "messageRemoved",
  "messagesTruncated",
  "threadUpdated",
  "queueUpdated",
  "runtimeUpdated",
  "toolProgress",
  "pauseRequired",
  "pauseCleared",
  "agentUpdated",
  "compactionUpdated",
  "contextUpdated",
  "prefixBroken",
  "restoreReported",
  "sessionTakenOver",
] as const;

/** The number of each kind of error. */
export const ERROR_CODES = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  NotInitialized: -32002,
  Cancelled: -32800,
  UnsupportedVersion: -33001,
  UnknownSession: -33002,
  StaleReference: -33003,
  InvalidState: -33004,
  QueueFull: -33005,
  BudgetExceeded: -33006,
  CannotFit: -33007,
  ProviderError: -33008,
  SessionHeldElsewhere: -33009,
  StorageError: -33010,
  UnsupportedFormat: -33011,
  TooLarge: -33012,
  CannotUndo: -33014,
  Overloaded: -33013,
} as const;

/** Requests of the client to the sidecar. */
export interface ClientRequests {
  /**
   * Creates a session, resumes one, or restores one from the client's history; subscribes to its events.
   * Level: core.
   */
  "session/open": { params: SessionOpenParams; result: SessionOpenResult };
  /** Lists sessions in pages, newest first. Level: core. */
  "session/list": { params: SessionListParams; result: SessionListResult };
  /** Finds sessions by words in all that was said in them, the most recently used first. Level: extras. */
  "session/search": { params: SessionSearchParams; result: SessionSearchResult };
  /** Returns the messages of a session in pages, from its end. Level: extras. */
  "session/messages": { params: SessionMessagesParams; result: SessionMessagesResult };
  /**
   * Lists what the tools did in a session, whole: files, commands, tests. The session need not be open.
   * Level: extras.
   */
  "session/ledger": { params: SessionLedgerParams; result: ContextLedgerResult };
  /**
   * Returns the events after the last one that the client has, or a snapshot if they are no longer
   * available. A session that another process writes is followed. Level: core.
   */
  "session/subscribe": { params: SessionSubscribeParams; result: SessionSubscribeResult };
  /**
   * Accepts a request of the user. With the driver `sidecar` the turn runs; with `editor` it is only
   * recorded. Level: core.
   */
  "turn/start": { params: TurnStartParams; result: TurnStartResult };
  /** Cancels a turn. Its output so far is kept; open calls are answered as cancelled. Level: core. */
  "turn/cancel": { params: TurnCancelParams; result: TurnCancelResult };
  /** Driver `editor`: ends the turn and returns all its summaries. Level: core. */
  "turn/end": { params: TurnEndParams; result: TurnEndResult };
  /** Driver `editor`: records a model's answer with the results of its tool calls. Level: core. */
  "round/append": { params: RoundAppendParams; result: RoundAppendResult };
  /** Renders the messages to send to a model, and compacts if they would be too large. Level: core. */
  "prompt/render": { params: PromptRenderParams; result: PromptRenderResult };
  /** Approves or rejects tool calls that wait for the user. Level: core. */
  "tool/decide": { params: ToolDecideParams; result: ToolDecideResult };
  /**
   * Returns the sections of the prompt, the distance to the next compaction, and the origin of each
   * setting. Level: context.
   */
  "context/inspect": { params: ContextInspectParams; result: ContextInspectResult };
  /** Compacts now, redoes the compaction in force, or previews either. Level: context. */
  "context/compact": { params: ContextCompactParams; result: ContextCompactResult };
  /** Undoes a compaction: the prompt is again what it would be without it. Level: context. */
  "context/undo": { params: ContextUndoParams; result: ContextUndoResult };
  /** Replaces the narrative of an accepted compaction. Level: context. */
  "context/edit": { params: ContextEditParams; result: ContextCompactResult };
  /** Excludes messages from every prompt until that is undone. Level: context. */
  "context/exclude": { params: ContextExcludeParams; result: ContextCompactResult };
  /** Pins a message or a text: every prompt shows it byte for byte. Level: context. */
  "context/pin": { params: ContextPinParams; result: ContextPinResult };
  /** Removes a pin. Level: context. */
  "context/unpin": { params: ContextUnpinParams; result: ContextPinResult };
  /**
   * Returns the content of a message byte for byte, in parts, even if prompts shorten or omit it. Level:
   * context.
   */
  "context/recall": { params: ContextRecallParams; result: ContextRecallResult };
  /** Finds messages by words in pages, newest first, including those that prompts omit. Level: context. */
  "context/search": { params: ContextSearchParams; result: ContextSearchResult };
  /**
   * Lists what the tools did in the messages that the compaction in force hides, including what its block
   * only counts. Level: context.
   */
  "context/ledger": { params: ContextLedgerParams; result: ContextLedgerResult };
  /** Removes a message and everything after it, then has the model answer again. Level: edit. */
  "turn/retry": { params: TurnRetryParams; result: EditResult };
  /** Removes the newest answer, then has the model answer again. Level: edit. */
  "turn/regenerate": { params: TurnRegenerateParams; result: EditResult };
  /** Replaces the content of a message. Level: edit. */
  "message/update": { params: MessageUpdateParams; result: EditResult };
  /** Removes a message with those that belong to it, such as the results of its calls. Level: edit. */
  "message/remove": { params: MessageRemoveParams; result: EditResult };
  /** Removes a message and everything after it. Level: edit. */
  "message/truncate": { params: MessageTruncateParams; result: EditResult };
  /** Removes a command from the queue. Level: edit. */
  "queue/remove": { params: QueueRemoveParams; result: QueueRemoveResult };
  /** Copies a session, whole or up to a message, into a new one. Level: edit. */
  "session/fork": { params: SessionForkParams; result: SessionForkResult };
  /** Starts a new chat under the same id. Level: edit. */
  "session/reset": { params: SessionResetParams; result: SessionResetResult };
  /** Lists the revisions of a session in pages, newest first. Level: edit. */
  "session/history": { params: SessionHistoryParams; result: SessionHistoryResult };
  /** Restores a revision of a session. What stood there before becomes a revision itself. Level: edit. */
  "session/restore": { params: SessionRestoreParams; result: EditResult };
  /** Creates a session from a conversation of another program or from a trajectory. Level: extras. */
  "session/import": { params: SessionImportParams; result: SessionImportResult };
  /** Returns a session as the content of a file. Level: extras. */
  "session/export": { params: SessionExportParams; result: SessionExportResult };
  /** Lists the trajectories of a folder in pages. Level: extras. */
  "trajectory/list": { params: TrajectoryListParams; result: TrajectoryListResult };
  /** Stores the text that the user typed and did not send. Level: extras. */
  "draft/set": { params: DraftSetParams; result: DraftResult };
  /** Deletes the text that the user typed and did not send. Level: extras. */
  "draft/clear": { params: DraftClearParams; result: DraftResult };
  /** Returns what sessions share under the name of a scope. Level: extras. */
  "scope/get": { params: ScopeGetParams; result: ScopeResult };
  /** Changes what sessions share under the name of a scope. Level: extras. */
  "scope/put": { params: ScopePutParams; result: ScopeResult };
  /** Creates or changes a memory of a folder. Level: extras. */
  "memory/put": { params: MemoryPutParams; result: MemoryPutResult };
  /** Lists the memories of a folder in pages, most important first. Level: extras. */
  "memory/list": { params: MemoryListParams; result: MemoryListResult };
  /** Finds memories of a folder by words. Level: extras. */
  "memory/search": { params: MemorySearchParams; result: MemoryListResult };
  /** Deletes a memory permanently. Level: extras. */
  "memory/delete": { params: MemoryDeleteParams; result: MemoryDeleteResult };
  /** Runs stages in sequence in the background, each as its own session. Level: extras. */
  "loop/start": { params: LoopStartParams; result: LoopStartResult };
  /** Stops a loop and its running stage. Level: extras. */
  "loop/stop": { params: LoopStopParams; result: LoopStopResult };
  /**
   * Stores a request as a waiting background session; this or another process that serves its folder runs
   * it. Level: extras.
   */
  "task/start": { params: TaskStartParams; result: TaskStartResult };
  /**
   * Lists the background sessions of a session with their states, whichever process runs them. Level:
   * extras.
   */
  "task/list": { params: TaskListParams; result: TaskListResult };
  /**
   * Reads which files a shell command reads, writes, deletes and moves, from its text alone. Level: extras.
   */
  "command/effects": { params: CommandEffectsParams; result: CommandEffectsResult };
  /**
   * Lists the servers of the Model Context Protocol whose tools are offered, with their states. Starts
   * none. Level: extras.
   */
  "mcp/list": { params: McpListParams; result: McpListResult };
  /**
   * Allows or denies a server that a file of the workspace defines, and remembers it for exactly that
   * definition. Level: extras.
   */
  "mcp/allow": { params: McpAllowParams; result: McpListResult };
  /**
   * Lists prompts and resources of a session's servers, which a user can put into a message. Level: extras.
   */
  "mcp/contents": { params: McpContentsParams; result: McpContentsResult };
  /** Reads a prompt or a resource of a session's server, as content for a message. Level: extras. */
  "mcp/content": { params: McpContentParams; result: McpContentResult };
  /** Stores the files of a folder as they are now, for comparison with a later snapshot. Level: extras. */
  "worktree/snapshot": { params: WorktreeSnapshotParams; result: WorktreeSnapshotResult };
  /**
   * Returns in pages which files differ between two snapshots, with their contents before. Level: extras.
   */
  "worktree/changes": { params: WorktreeChangesParams; result: WorktreeChangesResult };
  /**
   * Revokes and adds permanent approvals and rejections of a folder, or approvals of a session, and lists
   * them. Level: extras.
   */
  "tool/approvals": { params: ToolApprovalsParams; result: ToolApprovalsResult };
  /**
   * Delivers the result of a tool call that was answered with `pending`, or that a restart left open.
   * Level: extras.
   */
  "tool/result": { params: ToolResultParams; result: ToolResultResult };
  /** Changes settings or the title of a session. Level: extras. */
  "session/configure": { params: SessionConfigureParams; result: SessionConfigureResult };
  /**
   * Makes this process the writer of a session that another one holds. Work there is stopped; its client
   * gets `sessionTakenOver` and follows. Level: extras.
   */
  "session/takeOver": { params: SessionTakeOverParams; result: SessionOpenResult };
  /** Closes a session; its stored data is kept. Level: extras. */
  "session/close": { params: SessionCloseParams; result: SessionCloseResult };
  /** Deletes a session permanently. Level: extras. */
  "session/delete": { params: SessionDeleteParams; result: SessionDeleteResult };
  /** Returns versions, stores, open sessions and work in progress. Level: extras. */
  "server/diagnostics": { params: ServerDiagnosticsParams; result: ServerDiagnosticsResult };
  /**
   * Sets or removes a key for models that the sidecar calls itself. It is kept only in memory. Level: core.
   */
  "model/key": { params: ModelKeyParams; result: ModelKeyResult };
  /**
   * Asks a model one small question, without a session, and explains why it cannot answer if it cannot.
   * Level: extras.
   */
  "model/check": { params: ModelCheckParams; result: ModelCheckResult };
  /**
   * Asks a provider which models it lists, and explains why there is no list if there is none. Nothing is
   * stored. Level: extras.
   */
  "model/list": { params: ModelListParams; result: ModelListResult };
}

/** Notifications of the client to the sidecar. */
export interface ClientNotifications {
  /** Streams an answer to `model/complete`. Level: core. */
  "model/delta": { params: ModelDeltaParams };
}

/** Requests of the sidecar to the client. */
export interface SidecarRequests {
  /**
   * Calls the client's model. The client streams with `model/delta` and then answers. A request that the
   * provider rejects as too large is an error with the data `{kind: "contextOverflow", limit?, needed?}`,
   * in the provider's tokens; the provider's own message is recognized too. After an error with the data
   * `{kind, retryAfterMs?}`, whose kind is `network`, `overloaded` or `rateLimited`, the client is asked
   * again under another `requestId`, up to four times, as for models that the sidecar calls itself. Level:
   * core.
   */
  "model/complete": { params: ModelCompleteParams; result: ModelCompleteResult };
  /** Runs a tool in the client. Level: core. */
  "tool/invoke": { params: ToolInvokeParams; result: ToolInvokeResult };
  /**
   * Asks the user to approve tool calls. Without an answer the session pauses until `tool/decide`. Level:
   * core.
   */
  "tool/requestPermission": { params: RequestPermissionParams; result: RequestPermissionResult | null };
  /**
   * Asks the user what a server wants to know within a call. It is withdrawn with the call. Level: extras.
   */
  "mcp/elicit": { params: McpElicitParams; result: McpElicitResult | null };
  /**
   * Asks the user to review a compaction before it takes effect, if the setting `compaction` is `ask`.
   * Level: context.
   */
  "compaction/review": { params: CompactionReviewParams; result: CompactionReviewResult | null };
  /** Counts the tokens of texts with the client's model. Level: extras. */
  "model/countTokens": { params: ModelCountTokensParams; result: ModelCountTokensResult };
}

/** Notifications of the sidecar to the client. */
export interface SidecarNotifications {
  /** Reports an event of a session. Level: core. */
  "session/event": { params: SessionEvent };
  /**
   * Reports changes of the list of sessions; once the client has requested the list, also those by other
   * processes. A row may be sent twice. Level: extras.
   */
  "sessions/changed": { params: SessionsChangedParams };
  /** Reports the state of a loop. Level: extras. */
  "loop/updated": { params: LoopUpdatedParams };
  /** Reports that changes wait for a database that cannot be reached, and how that ended. Level: extras. */
  "storage/updated": { params: StorageUpdatedParams };
  /** Reports the tokens that a model used. Level: extras. */
  "model/usage": { params: ModelUsageParams };
}

/**
 * A session that runs in the background for another one: an agent that a model started, a task, a stage, or
 * one that a client opened with a `parentId`.
 */
export interface Agent {
  /** Id of the session. */
  sessionId: string;
  /** Name, which is the title of the session; absent if it has none. */
  name?: string;
  /** Purpose of the session: `agent` for one that a model started. */
  kind?: string;
  /** State of the session. */
  state: State;
  /** Status of its newest turn; absent before the first. */
  status?: TurnStatus;
}

/** A kind of agent that a model can start by name. */
export interface AgentPreset {
  /** Name of the preset, not empty. */
  name: string;
  /** What such an agent is for, for the model that starts it. */
  description?: string;
  /** Model of the agent. Default: that of the session that starts it. */
  model?: Model;
  /**
   * Section of the agent's system text: its task in general. Default: that of the session that starts it.
   */
  role?: string;
  /** Tools that the agent may use, of those of the session that starts it. Default: all. */
  tools?: string[];
}

/**
 * The arguments of a call: JSON text as the model wrote it, which may be broken. An object is taken too;
 * what the sidecar sends is always text.
 */
export type Arguments = string | { [key: string]: unknown };

/** A result of a session, such as a report. */
export interface Artifact {
  /** Id of the artifact. */
  id: string;
  /** Name, for people. */
  name: string;
  /** Kind of the artifact, in the client's words. */
  kind: string;
  /** Place of the content, such as a path or a URL. */
  contentRef: string;
}

/** The background session that asks for something, for a client that shows several. */
export interface AskingAgent {
  /** Name, which is the title of the session; absent if it has none. */
  name?: string;
  /** Id of the session that it runs for. */
  parentId: string;
}

/**
 * A model's answer within a round, as a client gives it. A whole message of role `assistant` is accepted
 * too.
 */
export interface AssistantInput {
  /** Id that the editor uses for the answer. */
  externalId?: string;
  /** Text, thinking and tool calls in their order. `content` is accepted as its name too. */
  parts: Content;
  /** Time of the answer, ISO-8601, UTC. */
  createdAt?: string;
  /** Tokens that the model used for this answer. */
  usage?: Usage;
  /** Sources of the answer, each in the form of the provider's wire. */
  citations?: unknown[];
  /** Data that the client keeps with the answer. No model sees it. */
  extra?: { [key: string]: unknown };
  /** Data that a client attached. No model sees it. */
  _meta?: { [key: string]: unknown };
}

/**
 * Background of a request, such as the open files or the date. Captured with the message in which it first
 * appears and never changed there; later changes come with a later message.
 */
export interface Attachment {
  /** Name of the attachment. Of several pending ones with one name, only the newest is shown. */
  name: string;
  /** Text of the attachment. */
  text: string;
}

/** The word for a value that is determined automatically. */
export type Auto =
  /** Determined automatically. */
  | "auto";

/** The time for which a provider keeps a cached prefix. */
export type CacheTtl =
  /** Five minutes. */
  | "5m"
  /** An hour; writes cost more. */
  | "1h";

/** The outcome of a call. */
export type CallOutcome =
  /** A result without a failure. */
  | "ok"
  /** A failure, or an exit code other than 0. */
  | "error"
  /** No result was recorded. */
  | "unknown";

/** The five channels through which content reaches a model. */
export type Channel =
  /** System text and tools. */
  | "system"
  /** Memories. */
  | "memory"
  /** The block of a compaction. */
  | "summary"
  /** Past messages, and user messages kept from a compacted span. */
  | "history"
  /** The current request and its rounds. */
  | "input";

/** The requests that a client answers. The sidecar sends no others. */
export interface ClientCapabilities {
  /** `true` if the client answers `model/complete`. */
  modelComplete?: boolean;
  /** `true` if the client answers `model/countTokens`. */
  countTokens?: boolean;
  /** `true` if the client answers `tool/invoke`. */
  toolInvoke?: boolean;
  /** `true` if the client answers `tool/requestPermission`. */
  requestPermission?: boolean;
  /** `true` if the client answers `compaction/review`. */
  compactionReview?: boolean;
  /** `true` if the client answers `mcp/elicit`. Without it, servers are told that nobody can be asked. */
  elicit?: boolean;
}

/** The name and version of a client. */
export interface ClientInfo {
  /** Name of the client. */
  name: string;
  /** Version of the client. */
  version?: string;
}

/** An effect of a command on a file. */
export interface CommandEffect {
  /** Kind of the effect. */
  kind: CommandEffectKind;
  /** Path, joined to `cwd`; a leading `~` is the user's home. */
  path: string;
  /** Former path of a moved file. */
  from?: string;
  /** Path that is meant instead if `path` is an existing folder. */
  ifFolder?: string;
  /** `true` if the shell expands `path` or `from` as a glob. */
  pattern?: boolean;
  /** `false` if the effect depends on a condition. */
  certain: boolean;
}

/** Kind of an effect on a file. */
export type CommandEffectKind =
  /** The content is read. */
  | "read"
  /** A file is made that was not there before. */
  | "create"
  /** The content is written; the file may be new. */
  | "write"
  /** A file, or a folder with its content, is removed. */
  | "delete"
  /** A file or folder gets another path. */
  | "move"
  /** A folder is made. */
  | "makeFolder";

/** Parameters of `command/effects`. */
export interface CommandEffectsParams {
  /** Command as a shell gets it, at most 64 kB. */
  command: string;
  /** Folder where it runs. Without one, paths in the result are relative to that folder. */
  cwd?: string;
  /**
   * Name or path of the shell. Without one, cmd.exe and PowerShell are recognized by the text; their
   * commands are not read.
   */
  shell?: string;
}

/**
 * Result of `command/effects`. Nothing is run, and no file is looked at. The text of a command can hide
 * what it does, so the result may add a warning, but must not allow a command.
 */
export interface CommandEffectsResult {
  /** Effects on files, in the order of the text, each once. */
  effects: CommandEffect[];
  /** Parts whose effects cannot be told, each once; syntax errors are among them. */
  unknown: CommandUnknown[];
  /** Programs that it runs, without their folders, each once. */
  programs: string[];
}

/** Part of a command whose effects cannot be told from its text. */
export interface CommandUnknown {
  /** The part on one line, cut; the beginning of the command if it was not read. */
  part: string;
  /** Reason why its effects are unknown. */
  reason: CommandUnknownReason;
}

/** Reason why the effects of a part of a command are unknown. */
export type CommandUnknownReason =
  /** The program may change files that its arguments do not name. */
  | "program"
  /** A git command that may change any file of the worktree. */
  | "worktree"
  /** A path comes from a variable, a substitution or an unknown folder. */
  | "path"
  /** The program's name, or the text that it runs, comes from a variable or a substitution. */
  | "dynamic"
  /** There is a syntax error near the part. */
  | "syntax"
  /** The part is written for a shell that is not read, such as cmd.exe or PowerShell. */
  | "shell"
  /** The command is too long, too deeply nested or too repetitive to be read whole. */
  | "limit";

/** Method of a compaction. */
export type CompactionMode =
  /** Old tool results were shortened. No model is asked for that. */
  | "limitHistory"
  /** A model summarized the conversation as it was sent. */
  | "full"
  /** A model summarized a text made of the conversation. */
  | "simple"
  /** A list of tool effects and names was made, without a model. */
  | "ledger"
  /** Whole old rounds were dropped, without a model. */
  | "dropped"
  /** The user excluded messages. */
  | "excluded"
  /** The user edited the summary of an accepted compaction. */
  | "edited"
  /** The program that an imported session comes from made the summary. */
  | "recorded";

/** The phase of a compaction. */
export type CompactionPhase =
  /** A prompt is too large, or a compaction was requested. */
  | "started"
  /** A model is writing a summary. */
  | "summarizing"
  /** The compaction is stored and in force. */
  | "accepted"
  /** A model's summary was rejected. */
  | "refused"
  /** A fallback mode is tried next. */
  | "fellBack"
  /** The user is reviewing the compaction. */
  | "reviewing"
  /** The compaction was cancelled; nothing changed. */
  | "cancelled"
  /** No compaction makes the prompt fit; nothing changed. */
  | "cannotFit"
  /** Messages that the compaction replaces were changed or truncated: it is no longer in force. */
  | "voided"
  /** The user undid the compaction, or replaced it by another one. */
  | "undone";

/** The expected outcome of a compaction. */
export interface CompactionPreview {
  /** Mode of the compaction if no model could be asked. */
  mode: CompactionMode;
  /** `true` if a model would be asked for a summary, which the block would then contain too. */
  asksModel: boolean;
  /** Text that would stand in the prompt. */
  block: string;
  /** Position of the first message that the block would stand for. */
  coversFromOrd?: number;
  /** Position of the last message that the block would stand for. */
  coversToOrd?: number;
  /** Number of rounds that the block would stand for. */
  numRounds: number;
  /** Ids of the user messages among them that would stay, byte for byte. */
  keptUserIds: string[];
  /** Other things that the prompt would not show verbatim. */
  cuts: Cut[];
  /** Size of the prompt now, in tokens. */
  tokensBefore: number;
  /** Size of the same prompt afterwards, in tokens. */
  tokensAfter: number;
  /** Token counter. */
  estimator: string;
}

/**
 * Parameters of `compaction/review`. The compaction is not in force yet; without an answer in time it is
 * accepted, marked as unreviewed.
 */
export interface CompactionReviewParams {
  /** Id of the session. */
  sessionId: string;
  /** The proposed compaction. */
  compaction: CompactionView;
  /** Messages that no prompt would show any more and that the block does not stand for. */
  dropped: DroppedMessage[];
}

/** Result of `compaction/review`. Null, for no answer, accepts the compaction, marked as unreviewed. */
export interface CompactionReviewResult {
  /** The user's decision. */
  decision: ReviewDecision;
  /** New narrative, required with `edit`. Its size has the same limit as a model's. */
  text?: string;
}

/** Validity of a compaction. */
export type CompactionStatus =
  /** Prompts apply it, unless a newer one is in force. */
  | "inForce"
  /** The covered messages are no longer in the session. */
  | "void"
  /** The user took it out of force. */
  | "undone"
  /** Found in an import; prompts show the original messages. */
  | "recorded";

/** Trigger of a compaction. */
export type CompactionTrigger =
  /** A prompt was over its limit. */
  | "budgetExceeded"
  /** A provider rejected a prompt as too large. */
  | "providerOverflow"
  /** A prompt was near its limit when a turn began. */
  | "preTurnTokens"
  /** A summary prepared beside a running turn was needed. */
  | "background"
  /** The next model's window was smaller. */
  | "modelChanged"
  /** The limit of shown user turns was exceeded. */
  | "userTurns"
  /** The limit of shown messages was exceeded. */
  | "messages"
  /** The session was idle for the configured time. */
  | "idle"
  /** The compaction was requested. */
  | "manual"
  /** A client's history had a summary with only a round and a text. */
  | "restored"
  /** The source of an import had compacted at this point. */
  | "recorded";

/** The status of a compaction: the statuses of the Agent Client Protocol's `compaction_update`. */
export type CompactionUpdateStatus =
  /** The compaction goes on. */
  | "inProgress"
  /** The compaction was made. */
  | "completed"
  /** Nothing was compacted: no summary was usable, or none makes the prompt fit. */
  | "failed"
  /** The compaction was stopped. */
  | "cancelled";

/** A compaction. */
export interface CompactionView {
  /** Id of the compaction. */
  id: string;
  /** Status of the compaction. */
  status: CompactionStatus;
  /** Mode in which it was made. */
  mode: CompactionMode;
  /** Kind of summary that was requested. */
  modeRequested: SummaryMode;
  /** Cause of the compaction. */
  trigger: CompactionTrigger;
  /** Id of the round that has the compaction as its `summary`. */
  anchorRoundId: string;
  /** Position of the first message that the block stands for. */
  coversFromOrd?: number;
  /** Position of the last message that the block stands for. */
  coversToOrd?: number;
  /** Place of the block in the prompt. */
  placement: Placement;
  /** Exact text in the prompt; may be empty if results were only shortened. */
  block: string;
  /** Size of the prompt before the compaction, in tokens. */
  tokensBefore: number;
  /** Size of the same prompt afterwards, in tokens. */
  tokensAfter: number;
  /** Token counter. */
  estimator: string;
  /** Number of rounds that the block stands for. */
  numRounds: number;
  /** User's words about what the summary must keep. */
  focus?: string;
  /** `true` if the user was asked to review it and did not answer in time. Default: false. */
  unreviewed?: boolean;
  /** Name of the model that wrote the summary; absent if none did. */
  model?: string;
  /**
   * Number of further requests to a model for this summary, not counted in `fallbacks`: for another piece,
   * a shorter summary, or by another model. Default: 0.
   */
  askedAgain?: number;
  /**
   * Cost of all requests for it, those at failed modes too; absent if none is known or none was made. Each
   * later prompt is smaller by `tokensBefore` less `tokensAfter`.
   */
  spent?: Cost;
  /**
   * `true` if the model that wrote the summary saw parts of the covered messages cut, such as long results.
   * Default: false.
   */
  inputTruncated?: boolean;
  /** Ids of messages that the user excluded. Newer compactions carry them over. */
  excludedIds?: string[];
  /** Id of the compaction that this one replaced; undoing this one brings it back. */
  replaces?: string;
  /** Modes that failed, in the order in which they were tried. */
  fallbacks: Fallback[];
  /** Extent of the deterministic steps. */
  strength: Strength;
  /** Time of the compaction, ISO-8601, UTC. */
  createdAt?: string;
  /** Time from the overflow to the acceptance, in milliseconds. */
  durationMs?: number;
  /** Id of the turn that ran when it was made, to whose metadata it belongs. */
  turnId?: string;
  /**
   * Entry to persist in `summaries` of its turn's metadata. Absent if it annotates no round, because it
   * only shortened results or dropped rounds.
   */
  metadata?: SummaryMetadata;
  /** Entry to persist in the list `threadhold` of its turn's metadata, if it annotates no round. */
  threadhold?: string;
}

/** The compaction in progress, if any. */
export interface Compression {
  /** `true` while a compaction is in progress. */
  running: boolean;
  /** Phase of the compaction. */
  phase?: CompactionPhase;
  /** Mode that is tried. */
  mode?: CompactionMode;
  /** Reason why the compaction started, for people. */
  reason?: string;
}

/** Consent needed for a compaction that was not requested. */
export type Consent =
  /** None: the compaction is made. */
  | "auto"
  /** The user, by `compaction/review`; no answer in time accepts it. */
  | "ask"
  /** No such compaction is made; at the hard limit the steps without a model run. */
  | "off";

/** What a client gives as content: a text, or a list of parts. It is always given back as a list. */
export type Content = string | Part[];

/** Parameters of `context/compact`. */
export interface ContextCompactParams {
  /** Id of the session. */
  sessionId: string;
  /** User's words about what the summary must keep. */
  focus?: string;
  /**
   * Id of the newest compaction in force, to be made again from the originals. It stays in force if no new
   * one is made.
   */
  redo?: string;
  /** Ids of messages that the new compaction must not hide; they are pinned. */
  keep?: string[];
  /** `true` only reports the outcome: no model is asked and nothing changes. Default: false. */
  preview?: boolean;
  /** Token for `$/progress` reports. */
  workDoneToken?: ProgressToken;
}

/** Result of `context/compact`, `context/exclude` and `context/edit`. */
export interface ContextCompactResult {
  /** The new compaction; absent if none was made. */
  compaction?: CompactionView;
  /** New metadata: persist it with the turn and hand it back unchanged. */
  metadata?: TurnMetadata;
  /** Expected outcome, if `preview` was requested. */
  preview?: CompactionPreview;
  /** Reason why nothing was compacted. */
  reason?: string;
}

/** Parameters of `context/edit`. */
export interface ContextEditParams {
  /** Id of the session. */
  sessionId: string;
  /** Id of the newest compaction in force. */
  compactionId: string;
  /**
   * Text that replaces the model's words; the rest stays. Fails with `BudgetExceeded` beyond
   * `maxSummaryTokens`.
   */
  narrative: string;
}

/** Parameters of `context/exclude`. */
export interface ContextExcludeParams {
  /** Id of the session. */
  sessionId: string;
  /** Ids of messages to hide from every prompt. A call and its results are hidden together. */
  messageIds: string[];
}

/** A file given as context. */
export interface ContextFile {
  /** Path of the file, as the editor names it. A `file:` URI is accepted too and becomes its path. */
  path: string;
  /** Text of the file. */
  text: string;
}

/** Parameters of `context/inspect`. */
export interface ContextInspectParams {
  /** Id of the session. */
  sessionId: string;
  /**
   * Number of newest compactions in the result. A long session has thousands, each with its text. Default:
   * all.
   */
  compactions?: number;
}

/** Result of `context/inspect`. */
export interface ContextInspectResult {
  /** Size of the prompt, in tokens. */
  tokens: number;
  /** Largest size of a prompt, in tokens. */
  limit: number;
  /** Window of the model, in tokens. */
  window: number;
  /** Source of the window. Absent if the settings state it, or if nothing is known of the model. */
  windowSource?: WindowSource;
  /**
   * Token counter: the vocabulary (`o200k`), then a factor learned for the model, if any (`o200k×1.20
   * name`), all behind `reported+` if the count builds on the provider's last report.
   */
  estimator: string;
  /** Accuracy of the counts. */
  estimate: Estimate;
  /** Sections of the prompt, in order. */
  sections: SectionTokens[];
  /** New tokens that fit before the nearest compaction triggered by size, as in `contextUpdated`. */
  tokensUntilCompaction: number;
  /** The requested compactions, oldest first. */
  compactions: CompactionView[];
  /** Number of compactions before these; absent if there are none. */
  earlierCompactions?: number;
  /** Numbers of messages by how the prompt shows them. */
  coverage: Coverage;
  /** Everything that the prompt does not show verbatim. */
  cuts: Cut[];
  /** Pins of the user, in the order in which they were added. */
  pins: Pin2[];
  /** Triggers of compactions. */
  triggers: TriggerState[];
  /** Tokens that the model reported for its last answer. */
  usage?: Usage;
  /** Cost of the session's requests to models; absent if none is known. */
  spent?: Spending;
  /**
   * Limit of a prompt that was learned when the provider rejected one as too large; it lowers `limit`.
   * Dropped once a larger prompt was accepted, with another model, window or chat, and by
   * `forgetLearnedLimits` of `session/configure`.
   */
  learnedLimit?: LearnedLimit;
  /** Largest answer to this prompt, in tokens, learned and dropped in the same ways. */
  learnedAnswerLimit?: number;
  /** All settings, each with its value and source. */
  settings: SettingInForce[];
}

/** Parameters of `context/ledger`. */
export interface ContextLedgerParams {
  /** Id of the session. */
  sessionId: string;
  /** `nextCursor` of the previous page. Fails with `InvalidParams` once another compaction is in force. */
  cursor?: string;
  /** Largest number of entries on the page, at most 1,000. Default: 200. */
  limit?: number;
}

/**
 * Result of `context/ledger`: everything that the tools did in the messages that the compaction in force
 * covers or drops, by name, including what its block only counts. Code reads it from the conversation; no
 * model is involved. A page fills the lists in the order of these fields, each with the newest first. Text
 * that looks like a secret is masked. User messages that are not shown whole are in `cuts` of
 * `context/inspect`. `session/ledger` returns the same of all messages, without `compactionId`.
 */
export interface ContextLedgerResult {
  /** Id of the compaction in force; absent if there is none, and then all lists are empty. */
  compactionId?: string;
  /** Position of the first message that the compaction covers, or drops if it drops any. */
  fromOrd?: number;
  /** Position of the last such message. */
  toOrd?: number;
  /** Number of entries on all pages. */
  entries: number;
  /** Files changed, read, or named in a command. */
  files: LedgerFile[];
  /** Commands run. */
  commands: LedgerCommand[];
  /** Commands that may have changed files which their text does not tell. */
  unclear: LedgerUnclear[];
  /** Last test run; absent if there is none or it is on another page. */
  lastTest?: LedgerTest;
  /**
   * Newest failure of a command that has not ended well since; absent if there is none or it is on another
   * page.
   */
  lastFailure?: LedgerFailure;
  /** Open todos of the newest todo list, in its order. */
  todos: LedgerTodo[];
  /** User's decisions about calls. */
  decisions: LedgerDecision[];
  /** Notebook cells run. */
  cells: LedgerCell[];
  /** Calls of tools that change or run something, if their arguments could not be read. */
  unreadable: LedgerUnreadable[];
  /** Pictures that no kept message shows. */
  images: LedgerImage[];
  /** `cursor` of the next page; absent on the last page. */
  nextCursor?: string;
}

/**
 * Parameters of `context/pin`. Requires exactly one of `messageId` and `text`. Pins may take half of the
 * room beside tools, system text and memories; beyond that it fails with `BudgetExceeded`.
 */
export interface ContextPinParams {
  /** Id of the session. */
  sessionId: string;
  /** Id of the message to pin. */
  messageId?: string;
  /** Text to pin. */
  text?: string;
}

/** Result of `context/pin` and `context/unpin`. */
export interface ContextPinResult {
  /** Id of the pin. Pinning something twice returns the first pin. */
  pinId: string;
  /** All pins. */
  pins: Pin2[];
}

/** Parameters of `context/recall`. */
export interface ContextRecallParams {
  /** Id of the session. */
  sessionId: string;
  /**
   * Id of a message, id of a tool call for its result, or `section:` and a section's name. Else
   * `StaleReference`.
   */
  ref: string;
  /** Start in bytes of the text, rounded down to the start of a character. Default: 0. */
  offset?: number;
  /**
   * Largest number of bytes to return, above 0. A single longer character is returned whole. Default:
   * 262,144.
   */
  limit?: number;
}

/**
 * Result of `context/recall`: a part of a message's text, byte for byte. The text of a user message or a
 * result is that of its parts, separated by line breaks, with files after their name and pictures named in
 * their place. The text of a model's answer is its text and thinking, then a line for each call with its
 * tool and arguments.
 */
export interface ContextRecallResult {
  /** The requested reference. */
  ref: string;
  /** Text of the part. */
  text: string;
  /** Start of the part, in bytes. */
  offset: number;
  /** Size of the whole text, in bytes. */
  totalBytes: number;
  /** `offset` of the next part; absent in the last part. */
  nextOffset?: number;
  /** SHA-256 of the whole text, in lower-case hexadecimal. */
  sha256: string;
}

/** Parameters of `context/search`. */
export interface ContextSearchParams {
  /** Id of the session. */
  sessionId: string;
  /**
   * Words to look for, in any case. Any of them may be missing; rare words, and several of them close
   * together, rank first (BM25). A name matches by its parts, too: `pendingMessages` finds
   * `updatePendingMessages`. If no word occurs anywhere, messages that contain all words inside longer
   * words are returned, the newest first. There are no operators. Only the first 32 different words count;
   * a query without words finds nothing.
   */
  query: string;
  /** `nextCursor` of the previous page. */
  cursor?: string;
  /** Largest number of hits on the page, at most 100. Default: 20. */
  limit?: number;
}

/** Result of `context/search`. */
export interface ContextSearchResult {
  /**
   * Parts of messages found, the best first and of equals the newest. Repeated text is one hit. At most 256
   * are ranked. Messages that a harness wrote in the user's name are not searched.
   */
  hits: SearchHit[];
  /** `cursor` of the next page; absent on the last page. */
  nextCursor?: string;
}

/** Parameters of `context/undo`. */
export interface ContextUndoParams {
  /** Id of the session. */
  sessionId: string;
  /**
   * Newest compaction in force, the default. Fails with `CannotUndo` if the prompt would not fit without
   * it.
   */
  compactionId?: string;
}

/** Result of `context/undo`. */
export interface ContextUndoResult {
  /** Id of the compaction that is out of force now. */
  compactionId: string;
  /** Id of the compaction that is in force now; absent if there is none. */
  inForceId?: string;
  /** Id of the turn whose metadata the compaction was part of. */
  turnId?: string;
  /** All metadata of that turn, which replaces the persisted one. */
  metadata: TurnMetadata;
}

/** Parameters of `context/unpin`. */
export interface ContextUnpinParams {
  /** Id of the session. */
  sessionId: string;
  /** Id of the pin. Fails with `StaleReference` if there is no such pin. */
  pinId: string;
}

/** The cost of requests to models, and where the figure is from. */
export interface Cost {
  /** US dollars, as far as they are known; absent if nothing is. */
  dollars?: number;
  /** `true` if all or some of it is what providers reported. Default: false. */
  reported?: boolean;
  /** `true` if all or some of it is computed from the price in the settings. Default: false. */
  settings?: boolean;
  /**
   * Date of the price table from which all or some of it is computed, such as `2026-11-22`; of several
   * tables, the oldest. Absent if none is.
   */
  table?: string;
  /**
   * Number of requests whose cost is unknown, or known only in part because they broke off: `dollars` is
   * too low by that. Default: 0.
   */
  incomplete?: number;
}

/** A number, or `auto`. */
export type CountOrAuto = Auto | number;

/** A number, at least 1, or a switch. `"off"` is accepted as false. */
export type CountOrOff = boolean | number;

/** Numbers of messages by how the prompt shows them. Their sum is the number of messages of the session. */
export interface Coverage {
  /** Shown whole. */
  raw: number;
  /** Shown in part. */
  shortened: number;
  /** Replaced by the block of the compaction in force. */
  covered: number;
  /** Left out and reported. */
  dropped: number;
  /** Not for the model. */
  hidden: number;
}

/** Content of the session or the client that the prompt does not show, or not whole. */
export interface Cut {
  /** Position of the message; absent if it is not a message. */
  ord?: number;
  /** Reference for `context/recall`, if a stored session has the content. */
  ref?: string;
  /** SHA-256 of what `context/recall` returns for it, in lower-case hexadecimal. */
  sha256?: string;
  /** Reason of the cut. */
  reason: CutReason;
  /** Size of the original, in bytes. */
  originalBytes: number;
  /** Size of what the prompt still shows of it, in bytes. */
  keptBytes: number;
}

/** The reason for a cut. */
export type CutReason =
  /** A system message within the history; a prompt has only one system message. */
  | "systemInHistory"
  /** A tool result that answers no call of its round. */
  | "strayResult"
  /** A tool result, shortened to its head and tail. */
  | "shortened"
  /** Content that another message of the prompt shows. */
  | "repeated"
  /** A message dropped without a summary. */
  | "dropped"
  /** A message left out by the user. */
  | "excluded"
  /** A user message over the budget for user messages. */
  | "userMessage"
  /** A call without a result; a placeholder answers it. */
  | "unansweredCall"
  /** A caller's section over its own limit. */
  | "section"
  /** Thinking that its model accepts only after the prompt it followed, which this one is not. */
  | "thinking";

/** The user's decision about a call. */
export interface Decision {
  /** Id of the call. Fails with `StaleReference` if it does not wait for a decision. */
  toolCallId: string;
  /** The decision. */
  decision: Verdict;
  /** User's words, which the model receives with a rejection. */
  note?: string;
  /**
   * Arguments with which an allowed call runs instead of the model's, as JSON text of an object. The model
   * is told with the result.
   */
  arguments?: Arguments;
  /**
   * Later calls that `allowForSession`, `allowAlways` or `rejectAlways` covers, by one argument: its name,
   * `=`, and a pattern as in a rule, such as `command=git *`; or its name, `^=`, and beginnings of
   * commands, such as `command^=cargo test; wc`.
   */
  pattern?: string;
}

/** A change of an answer in progress. Ignore unknown operations. */
export type DeltaOp =
  /** Appends text. */
  | {
      op: "appendContent";
      /** Text to append. */
      text: string;
    }
  /** Appends thinking. */
  | {
      op: "appendReasoning";
      /** Thinking to append. */
      text: string;
    }
  /** Replaces the tool calls. */
  | {
      op: "setToolCalls";
      /** All calls so far. */
      toolCalls: ToolCall[];
    }
  /** Appends to the arguments of a call. */
  | {
      op: "appendToolArguments";
      /** Id of the call, which an earlier `setToolCalls` must have set. */
      callId: string;
      /** JSON text to append. */
      text: string;
    }
  /**
   * Adds or updates the provider's blocks of thinking, in its own form, such as `{type, index, thinking,
   * signature}`. A block updates the earlier one with its type and index, else with its type and id, else
   * with its type and signature; else the first unsigned thinking without any of these whose text it
   * repeats or continues; else it is new. Text that begins with the earlier text replaces it; any other
   * text is appended.
   */
  | {
      op: "setThinkingBlocks";
      /** Blocks of thinking, known or new. */
      blocks: { [key: string]: unknown }[];
    }
  /** Adds a source of the answer. */
  | {
      op: "addCitation";
      /** Citation in the form of the provider's wire. */
      citation: unknown;
    }
  /** Appends a block that the provider made itself, such as a search result. */
  | {
      op: "addServerContentBlock";
      /** Block in the form of the provider's wire. */
      block: unknown;
    }
  /** Reports the tokens used so far. A counter never decreases. */
  | {
      op: "setUsage";
      /** Counters as the provider reports them. */
      usage: Usage;
    }
  /**
   * Keeps data with the answer that no model sees. Objects are merged key by key, 64 levels deep; any other
   * value, including null and lists, replaces the earlier one.
   */
  | {
      op: "mergeExtra";
      /** Data to keep. */
      extra: { [key: string]: unknown };
    };

/** A deviation from the request that is not an error. */
export interface Diagnostic {
  /** Identifier for programs, such as `ignoredPart`. */
  kind: string;
  /** Explanation for people. */
  message: string;
}

/** Parameters of `draft/clear`. */
export interface DraftClearParams {
  /** Id of the session. */
  sessionId: string;
}

/** Result of `draft/set` and `draft/clear`, sent once the change is on disk. */
export type DraftResult = Record<string, never>;

/** Parameters of `draft/set`. */
export interface DraftSetParams {
  /** Id of the session. */
  sessionId: string;
  /** User's unsent text, kept across restarts. An empty text clears the draft. */
  text: string;
}

/** The side that runs the loop of a session. Fixed for the session's life. */
export type Driver =
  /** The sidecar: it sends requests to the model and has the tools run. */
  | "sidecar"
  /** The editor: it requests only prompts from the sidecar. */
  | "editor";

/** A message that a compaction would drop. */
export interface DroppedMessage {
  /** Id of the message. */
  messageId: string;
  /** Position of the message in the session. */
  ord: number;
  /** Size of the message, in bytes. */
  bytes: number;
}

/** Result of a command that is carried out at once, or queued while a turn runs. */
export interface EditResult {
  /** Id of the turn that runs now; absent if none was started. */
  turnId?: string;
  /** Id of the message that the command concerns. */
  messageId?: string;
  /**
   * Id of the revision that keeps the previous state; absent if the command is queued or cut nothing off.
   */
  revision?: string;
  /** Id in the queue; absent if the command is not queued. */
  itemId?: string;
  /** Position in the queue, from 1; absent if the command is not queued. */
  queuedPosition?: number;
}

/** A file that a tool changed. */
export interface Effect {
  /** Path of the file. A `file:` URI is accepted too and becomes its path. */
  path: string;
  /** SHA-256 of the content after the change, in lower-case hexadecimal. */
  sha256: string;
}

/** The effort of a model's answers, in the words of the providers. */
export type Effort =
  /** No thinking. */
  | "none"
  /** As little as possible. */
  | "minimal"
  /** Little. */
  | "low"
  /** Some. */
  | "medium"
  /** Much. */
  | "high"
  /** More than `high`. */
  | "xhigh"
  /** As much as the model can. */
  | "max";

/** The state in which a tool ends a turn. */
export type EndsTurn =
  /** The work is done. */
  | "completed"
  /** The user must reply. */
  | "waitingUserInput";

/** The `data` of an error: its kind and the fields of that kind. */
export type ErrorData =
  /**
   * The body is not JSON. The response has the id of the request if it can be read, else null; the stream
   * continues with the next message.
   */
  | {
      kind: "ParseError";
    }
  /** The body is JSON but not a request. */
  | {
      kind: "InvalidRequest";
    }
  /** No method has this name. */
  | {
      kind: "MethodNotFound";
      /** Requested method. */
      method: string;
    }
  /** A field is missing, of the wrong type, or has an impossible value. */
  | {
      kind: "InvalidParams";
      /**
       * Path of the field, such as `history[2].rounds[0].assistant.parts`; empty for the parameters as a
       * whole.
       */
      field: string;
      /** Reason why it cannot be used. */
      reason: string;
    }
  /** A defect of the sidecar. The affected session is closed; others continue. */
  | {
      kind: "InternalError";
    }
  /** A request arrived before `initialize`. */
  | {
      kind: "NotInitialized";
    }
  /** The client cancelled the request. */
  | {
      kind: "Cancelled";
    }
  /** The client's protocol version is not supported. */
  | {
      kind: "UnsupportedVersion";
      /** Version of the client. */
      asked: number;
      /** Supported versions. */
      supported: number[];
    }
  /** No session has this id, or the command needs an open session and this one is not open here. */
  | {
      kind: "UnknownSession";
      /** Id of the session. */
      sessionId: string;
    }
  /**
   * A turn, call, message or other object of this id does not exist, or no longer; or a revision is not
   * current.
   */
  | {
      kind: "StaleReference";
      /** Field that names it. */
      field: string;
      /** Id in that field. */
      id: string;
    }
  /** The command is not accepted in the session's state, or by its driver. */
  | {
      kind: "InvalidState";
      /** State of the session. */
      state: State;
      /** Methods that are accepted now. */
      accepts: string[];
    }
  /** The session's queue is full. */
  | {
      kind: "QueueFull";
      /** Largest number of queued items. */
      limit: number;
    }
  /** The prompt exceeds its limit and may not be compacted; or pins or a narrative exceed theirs. */
  | {
      kind: "BudgetExceeded";
      /** Largest size, in tokens. */
      limit: number;
      /** Required size, in tokens. */
      needed: number;
      /** Sections of the content, with their sizes. */
      sections: SectionSize[];
    }
  /** No compaction makes the prompt fit. Nothing was sent and nothing is lost. */
  | {
      kind: "CannotFit";
      /** Window of the model, in tokens. */
      window: number;
      /** Largest size of a prompt, in tokens. */
      limit: number;
      /** Smallest size that the prompt can have, in tokens. */
      needed: number;
      /** Sections that cannot be given up, with their sizes. */
      sections: SectionSize[];
    }
  /** The model failed. */
  | {
      kind: "ProviderError";
      /** Name of the wire, or `editor` if the client asks the model. */
      provider: string;
      /** HTTP status, if there is one. */
      status?: number;
      /**
       * Cause for programs: the class of a provider's error (`rateLimited`, `quota`, `overloaded`, `auth`,
       * `network`, `refused`, `corruptStream`, `badRequest`, `contextOverflow`), `timeout`, `length`, or
       * `client` if the client's model failed and its error states no class as `kind`.
       */
      cause: string;
      /** Milliseconds after which a retry is worthwhile, if the provider stated them. */
      retryAfterMs?: number;
      /** Beginning of the provider's message, without secrets. */
      excerpt?: string;
    }
  /**
   * Another process writes the session. Follow it with `session/subscribe`, or `session/open` with
   * `follow`; or take it over with `session/takeOver`. Nothing of the request was stored.
   */
  | {
      kind: "SessionHeldElsewhere";
      /** Id of the session. */
      sessionId: string;
      /** Id of that process. */
      pid: number;
      /** Time since when it writes the session, ISO-8601, UTC. */
      since: string;
      /** User of that process, if the store is shared between machines. */
      user?: string;
      /** Machine of that process, if the store is shared between machines. */
      host?: string;
    }
  /** The store cannot be read or written. Its content is unchanged. */
  | {
      kind: "StorageError";
      /** Cause of the failure. */
      cause: StorageCause;
      /** File or folder of the failure, if known. */
      path?: string;
    }
  /** The format of an import or the kind of store is not supported. */
  | {
      kind: "UnsupportedFormat";
      /** Requested format. */
      format: string;
      /** Supported formats. */
      known: string[];
    }
  /** Something exceeds a fixed limit. */
  | {
      kind: "TooLarge";
      /** Name of it: `body` or `export`. */
      what: string;
      /** Largest size, in bytes. */
      limit: number;
      /** Actual size, in bytes. */
      actual: number;
    }
  /**
   * The compaction cannot be undone now: a newer one hides it, or the prompt would not fit without it.
   * Nothing changed.
   */
  | {
      kind: "CannotUndo";
      /** Id of the compaction. */
      compactionId: string;
      /** Largest size of a prompt, in tokens; 0 if size is not the reason. */
      limit: number;
      /** Size of the prompt without the compaction, in tokens; 0 if size is not the reason. */
      needed: number;
      /** Sections of that prompt, with their sizes. */
      sections: SectionSize[];
      /** Alternatives, the smallest change first. */
      ways: WayOn[];
    }
  /** Too many requests have no response yet. Retry once one of them has. */
  | {
      kind: "Overloaded";
      /** Largest number of requests without a response. */
      limit: number;
    };

/** The accuracy of token counts, beside the provider's reports. */
export interface Estimate {
  /**
   * Factor of counts for this model: learned from its reports, before that known from its name, otherwise
   * 1.
   */
  factor: number;
  /** Share of the window kept back for the error of the estimate; follows the measured error. */
  margin: number;
  /** Last report of the model's provider; absent once the prompt no longer begins with the reported one. */
  lastReport?: UsageReport;
}

/** An error that ended a turn or a queued item. */
export interface EventError {
  /** Error code. */
  code: number;
  /** Message for people: what happened, what was kept, what to do. */
  message: string;
  /** Error data, with the error's kind. */
  data: ErrorData;
}

/** The format of an export. */
export type ExportFormat =
  /** JSON lines, one per message. `session/import` reads them. */
  | "jsonl"
  /** One JSON object, with the keys that other programs keep in it. */
  | "trajectory"
  /** Markdown for people. Cannot be imported. */
  | "markdown";

/** A mode of compaction that was tried and failed. */
export interface Fallback {
  /** The mode. */
  mode: CompactionMode;
  /** Reason of the failure, for people and logs. */
  reason: string;
  /** Number of failed requests to a model; absent if an older version made the compaction. */
  asked?: number;
}

/** The words of `Fallbacks`. */
export type FallbackWord =
  /** The provider chooses the models. */
  | "default";

/**
 * The models that a provider asks instead where one refuses to answer: `default`, or their names in order.
 */
export type Fallbacks = FallbackWord | string[];

/** A session that was found. */
export interface FoundSession {
  /** The session, as in a list. */
  session: SessionSummary;
  /**
   * At most three messages, the best first. Empty if title, summary or first request alone contain the
   * words.
   */
  hits: SessionHit[];
}

/** The value of an extra header: a text that is no secret, or the name of a key. */
export type HeaderValue = string | { keyEnv: string };

/** A process that writes a session. */
export interface HeldBy {
  /** Id of the process. */
  pid: number;
  /** Time at which it began to write the session, ISO-8601, UTC. */
  since: string;
  /** User of the process, if the store is shared between machines. */
  user?: string;
  /** Machine of the process, if the store is shared between machines. The id is one of that machine. */
  host?: string;
}

/** A client's `initializationOptions.threadhold` of `initialize`. */
export interface InitializeOptions {
  /** Protocol version that the client speaks: 1. Any other fails with `UnsupportedVersion`. */
  protocolVersion: number;
  /** Place where sessions are stored. Default: the platform's data folder. */
  storage?: StorageOptions;
  /** Name and version of the client. */
  client?: ClientInfo;
  /** Requests that the client answers. Default: none. */
  capabilities?: ClientCapabilities;
  /** Settings of all sessions. Invalid values are left out and logged. */
  settings?: Settings;
}

/** The user's current request. */
export interface Input {
  /** Client's id of the request. */
  externalId?: string;
  /** Content of the request. */
  content: Content;
  /** Data that a client attached to the request. No model sees it. */
  _meta?: { [key: string]: unknown };
}

/** A model's key. Never shown, logged or stored. */
export type Key = string;

/** A limit of prompts that was learned from a provider's rejection. */
export interface LearnedLimit {
  /** Largest prompt, in tokens. */
  tokens: number;
  /** Source of the figure. */
  source: LimitSource;
  /** Prompts that must be accepted before the limit is dropped, if none of them is larger. */
  promptsLeft: number;
}

/** A notebook cell in the ledger. */
export interface LedgerCell {
  /** Name of the cell. */
  cell: string;
  /** Name of the notebook, if the call had it. */
  notebook?: string;
  /** Outcome of the last run. */
  outcome: CallOutcome;
  /** Exit code that the tool stated. */
  exitCode?: number;
  /** Kinds of output of the last run: `text`, `image`, `file`. */
  output: string[];
  /** Number of runs. */
  times: number;
  /** Id of the message with the last run, for `context/recall`. */
  messageId: string;
}

/** A command in the ledger. */
export interface LedgerCommand {
  /** Command on one line, cut after 400 bytes. */
  command: string;
  /** Outcome of the last run. */
  outcome: CallOutcome;
  /** Exit code that the tool stated. */
  exitCode?: number;
  /** Number of runs, whatever their outcomes. */
  times: number;
  /** Id of the message with the last run, for `context/recall`. */
  messageId: string;
}

/** A user's decision about calls. */
export interface LedgerDecision {
  /** Tool, with the subject of the call. */
  call: string;
  /** `true` if the calls were approved. */
  approved: boolean;
  /** User's words about the decision. */
  note?: string;
  /** Number of such decisions. */
  times: number;
  /** Id of the message with the last such call, for `context/recall`. */
  messageId: string;
}

/** A failed run of a command in the ledger. */
export interface LedgerFailure {
  /** Command on one line, cut after 400 bytes. */
  command: string;
  /** Outcome of the run. */
  outcome: CallOutcome;
  /** Exit code that the tool stated. */
  exitCode?: number;
  /** First lines of the failure's message, at most six. */
  message: string[];
  /** `true` if files were changed after the run. */
  isOutdated: boolean;
  /** Id of the message with the run, for `context/recall`. */
  messageId: string;
}

/** A file in the ledger. */
export interface LedgerFile {
  /** Path, relative to the session's folder if the file is in it, else as the calls first named it. */
  path: string;
  /** State after all calls that are known to have had their effect. */
  state: LedgerFileState;
  /** Path before the file was renamed; the first one of several. */
  renamedFrom?: string;
  /** Later effect that is not certain, because its command failed or depends on a condition. */
  perhaps?: LedgerPerhaps;
  /** Number of changes; 0 if the file was only read or named. */
  changed: number;
  /**
   * SHA-256 of the content after the last change, in lower-case hexadecimal; absent unless a tool reported
   * it or wrote the whole file.
   */
  sha256?: string;
  /** Id of the message with the last call that concerns the file, for `context/recall`. */
  messageId: string;
}

/** The state of a file in the ledger. */
export type LedgerFileState =
  /** Read, or named in a command. */
  | "unchanged"
  /** Made by a call. */
  | "created"
  /** Written or renamed. */
  | "changed"
  /** Not there any more. */
  | "deleted";

/** A picture in the ledger. */
export interface LedgerImage {
  /** MIME type, such as `image/png`. */
  mimeType: string;
  /** SHA-256 of the data as given, in lower-case hexadecimal. */
  sha256: string;
  /** Id of the message that holds the picture, for `context/recall`. */
  messageId: string;
}

/** An effect on a file that is not certain. */
export type LedgerPerhaps =
  /** The content may be another. */
  | {
      effect: "changed";
    }
  /** The file may not be there any more. */
  | {
      effect: "deleted";
    }
  /** The file may have another path. */
  | {
      effect: "renamedTo";
      /** That path. */
      path: string;
    }
  /** The file may have come from another path. */
  | {
      effect: "renamedFrom";
      /** That path. */
      path: string;
    };

/** A test run in the ledger. */
export interface LedgerTest {
  /** Command on one line, cut after 400 bytes. */
  command: string;
  /** Outcome of the run. */
  outcome: CallOutcome;
  /** Exit code that the tool stated. */
  exitCode?: number;
  /** Names of the failing tests in the output. */
  failing: string[];
  /** Last lines of the output, if it names no failing test. */
  lastLines: string[];
  /** `true` if files were changed after the run. */
  isOutdated: boolean;
  /** Id of the message with the run, for `context/recall`. */
  messageId: string;
}

/** An open todo in the ledger. */
export interface LedgerTodo {
  /** Text of the todo. */
  text: string;
  /** Status, in the tool's words. */
  status: string;
}

/**
 * Part of a command that may have changed files which its text does not tell, such as a script or `git
 * stash pop`.
 */
export interface LedgerUnclear {
  /** Part on one line, cut. */
  part: string;
  /** Id of the message with the last command that has it, for `context/recall`. */
  messageId: string;
}

/** Calls of a tool whose arguments could not be read. */
export interface LedgerUnreadable {
  /** Name of the tool. */
  tool: string;
  /** Outcome of these calls. */
  outcome: CallOutcome;
  /** Exit code that the tool stated. */
  exitCode?: number;
  /** Number of these calls. */
  times: number;
  /** Id of the message with the last of them, for `context/recall`. */
  messageId: string;
}

/** Stages of shortening history before a model is asked. Each includes those before it. */
export type LimitHistory =
  /** History stays as it is. */
  | "off"
  /** Repeated content is folded into its newest copy. */
  | "foldRepeats"
  /** Old tool results are shortened. */
  | "shortenResults"
  /** Whole old rounds are dropped. */
  | "limitHistory";

/** The source of a limit that was learned from a provider's refusal. */
export type LimitSource =
  /** The provider stated how large a prompt may be. */
  | "stated"
  /**
   * The provider stated how large prompt and answer may be together; the room for the answer is taken off.
   */
  | "statedWithAnswer"
  /** The provider stated no number: a little less than the prompt that it did not take. */
  | "guessed";

/** A model in its provider's list. */
export interface ListedModel {
  /** Name of the model, for the setting `model.name`. */
  name: string;
  /** Name for people, if the provider lists another one. */
  label?: string;
  /** Context window, in tokens; absent if it is neither listed nor known for the name. */
  window?: number;
  /** Source of the window. */
  windowSource?: WindowSource;
}

/** Parameters of `loop/start`. */
export interface LoopStartParams {
  /** Folder of the stages, as a path or a `file:` URL. */
  workspaceFolder: string;
  /** Stages in order, at least one. Each run of a stage is a session of its own. */
  stages: Stage[];
  /**
   * Session that the stages run for. It gets a message of kind `process_completed` whenever one comes to
   * rest.
   */
  parentId?: string;
  /** Name of the scope that the stages share. Default: the loop's id. */
  workScope?: string;
  /** Conditions that end the loop. Default: the default of each. */
  until?: LoopUntil;
}

/** Result of `loop/start`. Progress follows as `loop/updated`. */
export interface LoopStartResult {
  /** Id of the loop, which lasts as long as this process. Its sessions are kept. */
  loopId: string;
  /** Name of the scope that the stages share. */
  workScope: string;
}

/** The status of a loop. */
export type LoopStatus =
  /** A stage runs. */
  | "running"
  /** A stage asks the user and continues with the answer. */
  | "waiting"
  /** Ended: a stage called the tool named in `until`. */
  | "endedByTool"
  /** Ended: all todos are completed. */
  | "todosDone"
  /** Ended: all passes are done. */
  | "passesDone"
  /** Ended: the loop or one of its stages was cancelled. */
  | "cancelled"
  /** Ended: a stage failed. */
  | "failed";

/** Parameters of `loop/stop`. */
export interface LoopStopParams {
  /** Id of the loop. Fails with `StaleReference` if it does not run here. */
  loopId: string;
}

/** Result of `loop/stop`: the running stage is cancelled. */
export type LoopStopResult = Record<string, never>;

/**
 * The conditions that end a loop. A stage that fails or is cancelled ends it too; one that asks the user
 * pauses it.
 */
export interface LoopUntil {
  /** Tool that ends a turn and with it the loop. Default: `agent_finish`; an empty name stands for none. */
  tool?: string;
  /** `true` ends the loop when there are todos and all are completed. Default: true. */
  todosDone?: boolean;
  /** Largest number of passes over all stages. Default: 1. */
  passes?: number;
}

/** Parameters of `loop/updated`. */
export interface LoopUpdatedParams {
  /** Id of the loop. */
  loopId: string;
  /** Status of the loop. */
  status: LoopStatus;
  /** Index of the stage that runs or ran last, from 0. */
  stage: number;
  /** Number of its pass, from 1. */
  pass: number;
  /** Id of the stage's session. */
  sessionId: string;
}

/**
 * A server whose deviations from plain Chat Completions others share: gateways, and the same models at
 * other hosts.
 */
export type Manners =
  /** Takes the newer name of the answer limit, `reasoning_effort` and a cache key. */
  | "openai"
  /** Takes cache marks and `reasoning`, and gets its `reasoning_details` back. */
  | "openrouter"
  /** Takes ids of calls of nine letters and digits only. */
  | "mistral"
  /** Takes `thinking`, and wants the thinking of answers with calls back as `reasoning_content`. */
  | "deepseek";

/** Servers of the Model Context Protocol. */
export interface Mcp {
  /**
   * Servers whose tools are offered to the model in sessions whose loop the sidecar runs, by name. Started
   * when such a session begins a turn. Ignored in a workspace's file. Default: none.
   */
  servers?: { [key: string]: unknown };
  /**
   * Use of the servers that files of the workspace define: `.threadhold/config.toml` (`mcp.servers`),
   * `.mcp.json` and `.vscode/mcp.json`. With `ask`, each is started only after the user allowed exactly
   * that definition (`mcp/allow`); `off` does not read them. Ignored in a workspace's file. Default: off.
   */
  workspaceFiles?: WorkspaceServers;
}

/** Parameters of `mcp/allow`. */
export interface McpAllowParams {
  /** Folder whose files define the server. Default: the client's first folder. */
  workspaceFolder?: string;
  /** Name of the server. */
  name: string;
  /**
   * Hash of the definition that the user was shown, from `mcp/list`. Fails with `StaleReference` if the
   * files define the server differently now.
   */
  definition: string;
  /** The user's decision. */
  decision: McpDecision;
}

/** An argument of a prompt. */
export interface McpArgument {
  /** Name of the argument. */
  name: string;
  /** Description by the server. */
  description?: string;
  /** `true` if the prompt needs it. */
  required: boolean;
}

/** Parameters of `mcp/content`. One of `prompt` and `uri` is required. */
export interface McpContentParams {
  /** Open session that has the server. */
  sessionId: string;
  /** Name of the server. */
  server: string;
  /** Prompt to read. */
  prompt?: string;
  /** Arguments of the prompt. Default: none. */
  arguments?: { [key: string]: unknown };
  /** URI of the resource to read. */
  uri?: string;
}

/** Result of `mcp/content`. */
export interface McpContentResult {
  /**
   * Content for a message of the user, bounded as results of tools are. Nothing is sent to a model before
   * it is part of a request such as `turn/start`.
   */
  content: Content;
}

/** Parameters of `mcp/contents`. */
export interface McpContentsParams {
  /** Open session whose servers are asked. Those that do not run are started. */
  sessionId: string;
}

/** Result of `mcp/contents`. A server that does not run has none; `mcp/list` says why. */
export interface McpContentsResult {
  /** Prompts of the servers, by server and name; at most 200 of a server. */
  prompts: McpPrompt[];
  /** Resources of the servers, by server and URI; at most 200 of a server. */
  resources: McpResource[];
}

/** The user's decision about a server that a file of the workspace defines. */
export type McpDecision =
  /** Starts it whenever a session needs it. */
  | "allow"
  /** Never starts it. */
  | "deny"
  /** Takes an earlier decision back. */
  | "forget";

/** The user's decision about a server's question. */
export type McpElicitAction =
  /** Answers. */
  | "accept"
  /** Does not answer. */
  | "decline"
  /** Left the question without a decision. */
  | "cancel";

/** Parameters of `mcp/elicit`. */
export interface McpElicitParams {
  /** Id of the session. */
  sessionId: string;
  /** Id of the call that the server runs. */
  toolCallId: string;
  /** Name of the server. */
  server: string;
  /** Server's words, at most 4 KiB. */
  message: string;
  /**
   * JSON Schema of the answer: an object whose properties are strings, numbers, integers, booleans, one of
   * several strings (`enum`, `oneOf`), or several of them (an array). At most 40 properties and 32 KiB.
   */
  schema: unknown;
  /** Background session whose call it is; absent for any other session. */
  agent?: AskingAgent;
}

/** Result of `mcp/elicit`. Null, for no answer, declines. */
export interface McpElicitResult {
  /** User's decision. */
  action: McpElicitAction;
  /** Answer, with `accept`. One that does not match the schema declines. */
  content?: { [key: string]: unknown };
}

/** Parameters of `mcp/list`. */
export interface McpListParams {
  /** Folder whose servers are listed: those of the settings. Default: the client's first folder. */
  workspaceFolder?: string;
  /**
   * Open session whose servers are listed, with those that it was opened with. Goes before
   * `workspaceFolder`.
   */
  sessionId?: string;
}

/** Result of `mcp/list` and `mcp/allow`. */
export interface McpListResult {
  /** The servers, by name. */
  servers: McpServerStatus[];
}

/** A prompt of a server: a message that it writes from arguments. */
export interface McpPrompt {
  /** Name of the server. */
  server: string;
  /** Name of the prompt. */
  name: string;
  /** Description by the server. */
  description?: string;
  /** Arguments, in the server's order. */
  arguments: McpArgument[];
}

/** A resource of a server. */
export interface McpResource {
  /** Name of the server. */
  server: string;
  /** URI of the resource. */
  uri: string;
  /** Name of the resource. */
  name: string;
  /** Description by the server. */
  description?: string;
  /** MIME type of the content. */
  mimeType?: string;
}

/** A server: a command that the sidecar starts, or an address. One of `command` and `url` is required. */
export interface McpServer {
  /** Program to start: a path, or a name in `PATH`. No shell reads it. */
  command?: string;
  /** Arguments of the program. Default: none. */
  args?: string[];
  /**
   * Environment variables of the program, beside a few that every program needs. A secret is given as the
   * name of a key, as in `keyEnv` of a model: `{"TOKEN": {"keyEnv": "GITHUB_TOKEN"}}`. Default: none.
   */
  env?: { [key: string]: unknown };
  /**
   * Working directory of the program, absolute or below the folder of the session. Default: that folder.
   */
  cwd?: string;
  /** Address of a server over streamable HTTP: http or https, without user, password and fragment. */
  url?: string;
  /**
   * Headers of each request to the address. A secret is given as the name of a key, as in `env`. Default:
   * none.
   */
  headers?: { [key: string]: unknown };
  /** `false` if its tools are not offered. Default: true. */
  enabled?: boolean;
  /**
   * Seconds without an answer or progress after which a call fails, from 1 to 3,600. With progress a call
   * may take twenty times as long. Default: 60.
   */
  timeoutSeconds?: number;
  /**
   * `true` lets tools run without asking of which the server says that they only read (`readOnlyHint:
   * true`, without `destructiveHint: true`) and reach nothing outside of it (`openWorldHint: false`).
   * Default: false, each call asks.
   */
  trust?: boolean;
}

/** A server as it is now. */
export interface McpServerStatus {
  /** Name of the server. */
  name: string;
  /** State of the server. */
  state: McpState;
  /** Reason of the state `failed`, or why an `off` server is not started. */
  reason?: string;
  /** Program with its arguments, or the address; without environment and headers. */
  target: string;
  /** Working directory of the program. */
  cwd?: string;
  /** Names of the environment variables or headers that it is given, without their values. */
  variables?: string[];
  /** Names of the user's keys or environment variables whose values it is given. */
  keys?: string[];
  /**
   * File of the workspace that defines the server, below its folder. Absent for a server of the settings or
   * of the client, which needs no consent.
   */
  file?: string;
  /** Hash of the whole definition, for `mcp/allow`. Only with `file`. */
  definition?: string;
  /** Revision of the protocol that the server speaks, once known. */
  revision?: string;
  /** Tools as last listed, by name. */
  tools: McpTool[];
  /** Size of the definitions of all these tools in prompts, in tokens. */
  tokens: number;
  /** Tools that the server lists and models are not offered, each with the reason. */
  leftOut?: string[];
}

/** State of a server. */
export type McpState =
  /** Not started: no session has needed it yet, or it is disabled. */
  | "off"
  /** Being started. */
  | "connecting"
  /** Connected; its tools are listed. */
  | "ready"
  /** Not startable, or ended. The next turn or call starts it again. */
  | "failed"
  /** Defined by a file of the workspace and not started before the user allows it with `mcp/allow`. */
  | "waiting"
  /** Defined by a file of the workspace and denied by the user. */
  | "denied";

/** A tool of a server. */
export interface McpTool {
  /** Name for models: the server's name, `__`, and the tool's own name, shortened if it is too long. */
  name: string;
  /** Description by the server. */
  description: string;
  /** Size of the definition in prompts, in tokens. */
  tokens: number;
  /** `true` if calls run without asking the user. */
  runsUnasked: boolean;
}

/** A memory of a folder. */
export interface Memory {
  /** Id, unique in the folder. */
  id: string;
  /** Area of the memory, such as `session_summary` for summaries of sessions. */
  area: string;
  /** Text of the memory. */
  text: string;
  /** Importance from 1 to 5, the highest. */
  importance: number;
  /** Words that `memory/search` finds it by. */
  tags: string[];
  /** `true` if prompts may show it. */
  active: boolean;
  /** Origin of the memory, such as a compaction's id. */
  source?: string;
  /** Time of creation, ISO-8601, UTC. */
  createdAt: string;
  /** Time of the last change, ISO-8601, UTC. */
  updatedAt: string;
}

/** Parameters of `memory/delete`. */
export interface MemoryDeleteParams {
  /** Id of the memory. */
  id: string;
  /**
   * Folder of the memory. Default: the client's first folder, otherwise that of the first opened session.
   */
  workspaceFolder?: string;
}

/** Result of `memory/delete`. */
export interface MemoryDeleteResult {
  /** `true` if there was such a memory. */
  deleted: boolean;
}

/** Parameters of `memory/list`. */
export interface MemoryListParams {
  /**
   * Folder of the memories. Default: the client's first folder, otherwise that of the first opened session.
   */
  workspaceFolder?: string;
  /** Lists only memories of this area. */
  area?: string;
  /** Lists only active memories, or with false only inactive ones. Default: all. */
  active?: boolean;
  /** `nextCursor` of the previous page. */
  cursor?: string;
  /** Largest number of memories on the page, at most 500. Default: 50. */
  limit?: number;
}

/** Result of `memory/list` and `memory/search`. */
export interface MemoryListResult {
  /** Memories by importance, the highest first, then by the last change, the newest first. */
  memories: Memory[];
  /** `cursor` of the next page; absent on the last page. */
  nextCursor?: string;
}

/** Parameters of `memory/put`. Absent fields of an existing memory stay unchanged. */
export interface MemoryPutParams {
  /**
   * Folder of the memory. Default: the client's first folder, otherwise that of the first opened session.
   */
  workspaceFolder?: string;
  /** Id of the memory, which is created if it does not exist. Default: a new id. */
  id?: string;
  /** Area of the memory. Default for a new one: `general`. */
  area?: string;
  /** Text of the memory. Fails with `InvalidParams` if a new one has none. */
  text?: string;
  /** Importance from 1 to 5, the highest. Default for a new one: 3. */
  importance?: number;
  /** Words that `memory/search` finds it by. */
  tags?: string[];
  /** `true` if prompts may show it. Default for a new one: true. */
  active?: boolean;
}

/** Result of `memory/put`. */
export interface MemoryPutResult {
  /** The memory after the change. */
  memory: Memory;
}

/** Parameters of `memory/search`. */
export interface MemorySearchParams {
  /** Words that a memory's text, area and tags must contain, each of them, in any case. */
  query: string;
  /**
   * Folder of the memories. Default: the client's first folder, otherwise that of the first opened session.
   */
  workspaceFolder?: string;
  /** Searches only memories of this area. */
  area?: string;
  /** Searches only active memories, or with false only inactive ones. Default: all. */
  active?: boolean;
  /** `nextCursor` of the previous page. */
  cursor?: string;
  /** Largest number of memories on the page, at most 500. Default: 50. */
  limit?: number;
}

/** A message of a session, as the sidecar sends it. */
export interface Message {
  /** Id, assigned by the sidecar and unique in the session. */
  id: string;
  /** Id that the editor or the source of an import uses. */
  externalId?: string;
  /**
   * Position in the session, from 0. Removed messages keep theirs; positions freed by a cut are assigned
   * again.
   */
  ord: number;
  /** Version of the message, which grows with each change. */
  rev: number;
  /** Id of the turn. */
  turnId: string;
  /**
   * Id of the round, of an answer and of the results of its calls. Absent in `session/messages`, and of a
   * result whose answer is before the first of the newest messages that a snapshot was limited to.
   */
  roundId?: string;
  /** Author of the message. */
  role: Role;
  /** Content. A tool message holds exactly one `toolResult`. */
  parts: Part[];
  /** Subject of a message of role `event`, such as `system`; absent for other roles. */
  kind?: string;
  /** `true` if a model may see the message. Default: true. */
  visibleToModel?: boolean;
  /** Time of the message, ISO-8601, UTC. */
  createdAt?: string;
  /**
   * Excerpt that the model sees of a large result in `parts`; absent if it sees all of it. Both sizes are 0
   * for an answer whose thinking prompts leave out, and for a request with files or attachments that an
   * earlier one has unchanged: where a prompt shows those above, it shows a reference to them.
   */
  shown?: Shown;
  /** Size in an uncompacted prompt, in tokens, with the overhead of a message. */
  tokens: number;
  /** Tokens that the model used for this answer. */
  usage?: Usage;
  /** Sources of the answer, each in the form of the provider's wire. */
  citations?: unknown[];
  /** Data that a client keeps with the answer. No model sees it. */
  extra?: { [key: string]: unknown };
  /** Data that a client attached. No model sees it. */
  _meta?: { [key: string]: unknown };
}

/**
 * A message as a client gives it. Every `Message` is accepted; ids and sizes of the sidecar are ignored.
 */
export interface MessageInput {
  /** Id that the editor or the source of an import uses. */
  externalId?: string;
  /** Author of the message. */
  role: Role;
  /**
   * Content, also under the name `content`. Each `toolResult` of a tool message becomes a message of its
   * own.
   */
  parts: Content;
  /** Subject of a message of role `event`. */
  kind?: string;
  /** `true` if a model may see the message. Default: true. */
  visibleToModel?: boolean;
  /** Time of the message, ISO-8601, UTC. */
  createdAt?: string;
  /** Tokens that the model used for this answer. */
  usage?: Usage;
  /** Sources of the answer, each in the form of the provider's wire. */
  citations?: unknown[];
  /** Data that the client keeps with the answer. No model sees it. */
  extra?: { [key: string]: unknown };
  /** Data that a client attached. No model sees it. */
  _meta?: { [key: string]: unknown };
}

/** Parameters of `message/remove`. One of `messageId` and `index` is required. */
export interface MessageRemoveParams {
  /** Id of the session. */
  sessionId: string;
  /**
   * Id of the message. The request that begins a turn is removed with its turn, a model's message with the
   * results of its calls. A result by itself fails with `InvalidParams`.
   */
  messageId?: string;
  /** Index of the message in the snapshot's `messages`, from 0. Ignored if `messageId` is given. */
  index?: number;
  /** Key of this command: a repeat with the same key gets the first response and has no effect. */
  idempotencyKey?: string;
}

/** The status of a message in the prompt as it would be sent now. */
export type MessageStatus =
  /** The message is shown whole. */
  | "raw"
  /** The message is shown in part. */
  | "shortened"
  /** The block of the compaction in force replaces the message. */
  | "covered"
  /** The message is left out and reported. */
  | "dropped"
  /** The message is not for the model. */
  | "hidden";

/** Parameters of `message/truncate`. One of `messageId` and `index` is required. */
export interface MessageTruncateParams {
  /** Id of the session. */
  sessionId: string;
  /** Id of the first message to cut off. A result is cut off with the message that called the tool. */
  messageId?: string;
  /** Index of the message in the snapshot's `messages`, from 0. Ignored if `messageId` is given. */
  index?: number;
  /** Key of this command: a repeat with the same key gets the first response and has no effect. */
  idempotencyKey?: string;
}

/** Parameters of `message/update`. One of `messageId` and `index` is required. */
export interface MessageUpdateParams {
  /** Id of the session. */
  sessionId: string;
  /** Id of the message. */
  messageId?: string;
  /** Index of the message in the snapshot's `messages`, from 0. Ignored if `messageId` is given. */
  index?: number;
  /** New content. A model's answer keeps its calls and loses its thinking. */
  content: Content;
  /** `true` cuts off everything after the message and has the model answer again. Default: false. */
  regenerate?: boolean;
  /** Key of this command: a repeat with the same key gets the first response and has no effect. */
  idempotencyKey?: string;
}

/** A model: where it is asked, and its properties that prompts depend on. */
export interface Model {
  /** Name of the model, repeated in `model/complete`. Required unless `wire` is `editor` or `scripted`. */
  name?: string;
  /** API through which the model is asked. Default: `editor`. */
  wire?: ModelWire;
  /**
   * Base URL of the provider: http or https, without user, password, query and fragment. A trailing path
   * that the wire itself appends is removed. Ignored in a workspace's file. Default: the wire's own
   * provider.
   */
  baseUrl?: string;
  /**
   * Name of the model's key, never a key itself: one that the client gave with `model/key`, otherwise an
   * environment variable. Ignored in a workspace's file. Default: the wire's usual variable, such as
   * `OPENAI_API_KEY`, for the wire's own provider; none for any other.
   */
  keyEnv?: string;
  /**
   * `true` if answers come over a WebSocket, which only `openai-responses` has. It stays open between
   * requests, which then send only what is new. Default: false.
   */
  webSocket?: boolean;
  /**
   * Size of the window, in tokens. Default: that of the known model of this name, otherwise 128,000. With
   * `ollama` 16,384 for any name, because the window takes memory of the machine that serves it.
   */
  window?: number;
  /**
   * Largest answer, in tokens, at most the window. Default: what the model can answer and the window has
   * left. It does not change the size of prompts: `reservedOutput` keeps room for the answer.
   */
  maxOutput?: number;
  /** Roles that the model accepts, such as `system`, `user`, `assistant`, `tool`. Default: all. */
  roles?: string[];
  /** `true` if the model can be told not to use its tools. Default: true. */
  toolChoiceNone?: boolean;
  /** `true` if answers come with their usage. Default: false. */
  usage?: boolean;
  /**
   * With a wire: `true` if the provider is to count the first prompt before it is sent, if that may be too
   * large. For the wires `anthropic`, `openai-responses` and `gemini`. Of a model of the client: `true` if
   * the client counts requests (`model/countTokens`); ignored if `usage` is true. Default: false.
   */
  countTokens?: boolean;
  /** `true` if the model accepts pictures. Default: as known for the model of this name, otherwise true. */
  images?: boolean;
  /**
   * Prices of the model. They go before those that are known for its name; what a provider reports goes
   * before both. Ignored in a workspace's file. Default: as known for a model of this name at this address.
   */
  price?: ModelPrice;
  /**
   * Effort of the answers of turns. `anthropic` takes `low` to `max`, `gemini` `minimal` to `xhigh`,
   * `ollama` `none`, `low`, `medium` and `high`; over the other wires each word is sent, and the model
   * decides. Summaries and titles keep their low effort. Needs `wire`. Default: the model's own.
   */
  effort?: Effort;
  /**
   * Thinking of all requests to the model: `off`, `adaptive`, or a number of tokens, at least 1,024 over
   * `anthropic`. Known models that cannot stop thinking are not told `off`: they think as usual, or between
   * calls of tools only. `openai-responses` and `ollama` take no number, `openai-chat` takes `off` and
   * `adaptive` at OpenAI, Azure, DeepSeek and Moonshot, and all of them at OpenRouter. Except over
   * `anthropic` only `adaptive` can stand beside `effort`. Needs `wire`. Default: the model's own.
   */
  thinking?: Thinking;
  /** Time for which `anthropic` keeps cached prefixes; writes for an hour cost more. Default: `5m`. */
  cacheTtl?: CacheTtl;
  /**
   * Models that `anthropic` asks instead where the model refuses to answer: `default`, or their names in
   * order. The answer tells which of them gave it. Default: none.
   */
  fallbacks?: Fallbacks;
  /**
   * Size of a prompt, in the provider's tokens, from which `anthropic` (at least 50,000) or
   * `openai-responses` compacts it. The compaction is stored with the answer and shown as the provider's;
   * the budget of the session holds all the same. Default: never.
   */
  providerCompaction?: number;
  /**
   * `true` if the provider's list of models is asked for the window of the model, at most once a day and
   * beside its calls; it is then used where no `window` is set. Needs `wire`. Default: true at the own
   * addresses of `anthropic` and `gemini` and at OpenRouter, otherwise false.
   */
  lookUpLimits?: boolean;
  /**
   * Server whose manners the address has over `openai-chat`: `openai`, `openrouter`, `mistral` or
   * `deepseek`. They decide about names of fields, cache marks, and how thinking is set and sent back.
   * Needs `wire`. Default: those known for the host.
   */
  manners?: Manners;
  /**
   * Fields merged into the body of each request: objects deeply, `null` removes a field, any other value
   * replaces it. Fields that carry the conversation cannot be set: `messages`, `input`, `contents`,
   * `system`, `instructions`, `systemInstruction`, `tools`, `model` and `stream`. Needs `wire`. Ignored in
   * a workspace's file. Default: none.
   */
  extraBody?: { [key: string]: unknown };
  /**
   * Headers of each request. A header that carries a key is given as the name of the key, as in `keyEnv`:
   * `{"api-key": {"keyEnv": "AZURE_API_KEY"}}`. Needs `wire`. Ignored in a workspace's file. Default: none.
   */
  extraHeaders?: { [key: string]: unknown };
  /**
   * Parameters added to the URL of each request, such as `api-version`, never a key. Needs `wire`. Ignored
   * in a workspace's file. Default: none.
   */
  query?: { [key: string]: unknown };
}

/** Parameters of `model/check`. */
export interface ModelCheckParams {
  /** The model to ask, with its wire. Its key is one of `model/key` or of the environment. */
  model: Model;
}

/** Result of `model/check`. */
export interface ModelCheckResult {
  /** Why the model did not answer; absent if it did. */
  problem?: ModelProblem;
  /** Input tokens of the request, as the provider counted them. */
  inputTokens?: number;
}

/** Parameters of `model/complete`. */
export interface ModelCompleteParams {
  /** Id of the request, which `model/delta` repeats. */
  requestId: string;
  /** Id of the session. */
  sessionId: string;
  /** Id of the running turn; absent if the request belongs to none. */
  turnId?: string;
  /** Purpose of the request. */
  purpose: ModelPurpose;
  /** Name of the model, as the client gave it; absent if it gave none. */
  model?: string;
  /** Messages to send, in this order. */
  messages: PromptMessage[];
  /** Tools to offer to the model. */
  tools: Tool[];
  /** Permission to call the tools. */
  toolChoice: ToolChoice;
  /** Options of the request. */
  options: ModelOptions;
}

/** Result of `model/complete`. A client that streamed everything answers `{}`. */
export interface ModelCompleteResult {
  /** The model's answer; may hold `toolCall` parts. Default: the streamed content. */
  content?: Content;
  /**
   * Tool calls beside `toolCall` parts of `content`. Default: the streamed calls, unless `content` has such
   * parts.
   */
  toolCalls?: ToolCall[];
  /** Reason why the answer ended. Default: `toolUse` if it has calls, otherwise `end`. */
  stopReason?: StopReason;
  /** Tokens that the model used. */
  usage?: Usage;
}

/** Parameters of `model/countTokens`. */
export interface ModelCountTokensParams {
  /** Texts to count. */
  texts: string[];
  /** Name of the model, as the client gave it; absent if it gave none. */
  model?: string;
}

/** Result of `model/countTokens`. */
export interface ModelCountTokensResult {
  /** Tokens of each text, in the order of `texts`. */
  tokens: number[];
}

/** Parameters of `model/delta`. */
export interface ModelDeltaParams {
  /** `requestId` of the `model/complete` that is being answered. */
  requestId: string;
  /** Additions to the answer, in order. */
  ops: DeltaOp[];
}

/** Parameters of `model/key`. */
export interface ModelKeyParams {
  /**
   * Name of the key, as in the setting `model.keyEnv`, such as `OPENAI_API_KEY`: letters, digits and
   * underscores.
   */
  name: string;
  /** The key; it precedes an environment variable of that name. If absent, the sidecar forgets the key. */
  value?: Key;
}

/** Result of `model/key`. */
export type ModelKeyResult = Record<string, never>;

/** Parameters of `model/list`. */
export interface ModelListParams {
  /**
   * The provider to ask: the wire of a model, with its address, key, headers and query where it needs them.
   * A name is not needed. The wires `editor` and `scripted` have no list.
   */
  model: Model;
}

/** Result of `model/list`. */
export interface ModelListResult {
  /**
   * The models, at most 10,000 of 20 pages: newest first where the provider tells their age, otherwise in
   * its order, and those whose window is unknown last. Empty if there is a problem.
   */
  models: ListedModel[];
  /** Why there is no list; absent if there is one. */
  problem?: ModelProblem;
}

/** Options of a request to a model. */
export interface ModelOptions {
  /** Sampling temperature. Default: the model's own. */
  temperature?: number;
  /** Longest answer, in tokens. Default: the model's own limit. */
  maxOutputTokens?: number;
}

/** Prices of a model, in US dollars for a million tokens. */
export interface ModelPrice {
  /** Input that the cache does not concern. */
  input: number;
  /** Output, thinking included. */
  output: number;
  /** Input read from the cache. Default: `input`. */
  cacheRead?: number;
  /** Input written to the cache. Default: `input`. */
  cacheWrite?: number;
}

/** Why a model did not answer, or a provider did not list its models. */
export interface ModelProblem {
  /**
   * Class of the error, such as `auth`, `quota`, `rateLimited`, `network`, `badRequest`; of a list also
   * `unsupported` and `empty`.
   */
  class: string;
  /** The error, with the provider's own words. */
  message: string;
  /** What a person can do about it. */
  advice: string;
}

/** The purpose of a request to a model. */
export type ModelPurpose =
  /** The next answer of a turn. */
  | "turn"
  /** A summary, which is not shown to the user. */
  | "summary"
  /** A title for the session, if the setting `titles` is `model`. */
  | "title";

/** Parameters of `model/usage`. */
export interface ModelUsageParams {
  /** Id of the session. */
  sessionId: string;
  /** Id of the turn; absent if the request belonged to none. */
  turnId?: string;
  /** Purpose of the request. */
  purpose: ModelPurpose;
  /** Tokens that the model used. */
  usage: Usage;
  /** Origin of `usage`. */
  source: UsageSource;
  /** Sidecar's own estimate of the input, in tokens. */
  estimatedTokens: number;
  /** Token counter behind the estimate. */
  estimator: string;
}

/** The API through which a model is asked. */
export type ModelWire =
  /** The client asks the model (`model/complete`). */
  | "editor"
  /** Chat Completions: OpenAI, OpenRouter, DeepSeek, Copilot, vLLM, llama-server, LM Studio. */
  | "openai-chat"
  /** Responses API of OpenAI. */
  | "openai-responses"
  /** Messages API of Anthropic. */
  | "anthropic"
  /** `generateContent` API of Gemini, at Google's own address or at Vertex AI. */
  | "gemini"
  /** Native chat API of Ollama. */
  | "ollama"
  /** A fixture instead of a provider: `baseUrl` is its path; the default is a built-in one. */
  | "scripted";

/** The state of a notebook. */
export interface Notebook {
  /** URI of the notebook. */
  uri: string;
  /** Content of the notebook. */
  content: Content;
}

/** The handling of a section above its limit. */
export type OnOverflow =
  /** The section stays whole. */
  | "keep"
  /** The section is shortened to its head and tail. */
  | "shrink"
  /** The section is left out. */
  | "drop";

/** An open session. */
export interface OpenSession {
  /** Id of the session. */
  sessionId: string;
  /** State of the session. */
  state: State;
  /** Side that runs the loop. */
  driver: Driver;
  /** Number of messages. */
  messages: number;
  /** Number of queued items. Always 0 in this version: see `queue` of the snapshot. */
  queued: number;
}

/** The origin of a session. */
export type Origin =
  /** Created empty. */
  | "new"
  /**
   * Made by a rewind, in a store of an earlier version. Holds the part of its parent that the rewind
   * removed.
   */
  | "rewind"
  /**
   * Keeps its parent as it was before a rewind. `session/history` of the parent lists it, no other list
   * does.
   */
  | "revision"
  /** Forked by a user from a point in its parent (`session/fork`). */
  | "branch"
  /** Runs in the background for its parent. */
  | "background";

/** A part of a message. Ignore parts of an unknown kind. */
export type Part =
  /** Plain text. */
  | {
      type: "text";
      /** Text, byte for byte. */
      text: string;
      /** Data that a client attached. No model sees it. */
      _meta?: { [key: string]: unknown };
    }
  /** A picture. */
  | {
      type: "image";
      /** MIME type, such as `image/png`. */
      mimeType: string;
      /** Base64 data, or a URL. */
      data: string;
      /** Data that a client attached. No model sees it. */
      _meta?: { [key: string]: unknown };
    }
  /** The text of a resource with a URI. */
  | {
      type: "resource";
      /** URI of the resource. */
      uri: string;
      /** Text of the resource. */
      text: string;
      /** Data that a client attached. No model sees it. */
      _meta?: { [key: string]: unknown };
    }
  /** A reference to a resource, without its content. Prompts show it as a line of text. */
  | {
      type: "resourceLink";
      /** URI of the resource. */
      uri: string;
      /** Name of the resource. */
      name: string;
      /** Title for people. Default: the name. */
      title?: string;
      /** Content of the resource in a few words. */
      description?: string;
      /** MIME type of the content. */
      mimeType?: string;
      /** Size of the content, in bytes. */
      size?: number;
      /** Data that a client attached. No model sees it. */
      _meta?: { [key: string]: unknown };
    }
  /** A file given with a message as context. */
  | {
      type: "contextFile";
      /** Path of the file, as the editor names it. A `file:` URI is accepted too and becomes its path. */
      path: string;
      /** Text of the file. */
      text: string;
      /** Data that a client attached. No model sees it. */
      _meta?: { [key: string]: unknown };
    }
  /**
   * Background captured with a user's message, such as the open files or the date. Prompts show it as text.
   */
  | {
      type: "attachment";
      /** Name of the attachment. */
      name: string;
      /** Text of the attachment. */
      text: string;
    }
  /** A model's thinking. Only in assistant messages. */
  | {
      type: "reasoning";
      /** Text of the thinking; may be empty if the provider gives only a signature. */
      text: string;
      /** Provider's signature, opaque. */
      signature?: string;
      /**
       * Rest of the provider's block as received: its type if that is not `thinking`, its index, its id,
       * data that only the provider can read. The sidecar adds `madeBy`: the wire and model of the block,
       * since no other can use it.
       */
      block?: { [key: string]: unknown };
    }
  /** A model's request to run a tool. Only in assistant messages. */
  | {
      type: "toolCall";
      /** Id, unique in the session. The sidecar replaces an id that was used before. */
      id: string;
      /** Name of the tool. */
      name: string;
      /** Arguments as JSON text. */
      arguments: Arguments;
      /** Original id, if the sidecar replaced it. */
      sourceId?: string;
      /** Data that a client attached. No model sees it. */
      _meta?: { [key: string]: unknown };
    }
  /** The result of a tool call. Only in tool messages. */
  | {
      type: "toolResult";
      /** Id of the call. */
      toolCallId: string;
      /** Content of the result. */
      content: Content;
      /** `true` if the tool failed. Default: false. */
      isError?: boolean;
      /** Exit code, if the tool has one. */
      exitCode?: number;
      /** Files that the tool changed. */
      effects?: Effect[];
      /** Arguments with which the call ran, where the user changed those of the model. */
      arguments?: Arguments;
      /** Data that a client attached. No model sees it. */
      _meta?: { [key: string]: unknown };
    }
  /**
   * A block that the provider made itself, such as a search result, in its wire's form. Only in assistant
   * messages.
   */
  | {
      type: "raw";
      /** Block as the provider sent it. The sidecar adds `madeBy`: the wire and model of the block. */
      wire: unknown;
    };

/** The calls that a session waits for. */
export interface Pause {
  /** Calls that wait for a decision. */
  reasons: PauseReason[];
}

/** Why the user must decide about a call. */
export type PauseCause =
  /** The tool is set to ask. */
  | "tool"
  /** A rule of the tool asks about such arguments. */
  | "rule"
  /** The workspace is not trusted. */
  | "untrusted"
  /** The arguments are not JSON. */
  | "notJson";

/** A call that waits for the user's decision. */
export interface PauseReason {
  /** Id of the call. */
  toolCallId: string;
  /** Name of the tool. */
  name: string;
  /** Arguments as JSON text. */
  arguments: Arguments;
  /** Why the call must be decided, for programs. */
  cause: PauseCause;
  /** The same for the user. Its words may change. */
  reason: string;
  /**
   * Pattern for `allowAlways` that covers this command and others that begin as its commands do, such as
   * `command^=cargo test; tail`. Absent if no safe one does.
   */
  pattern?: string;
}

/**
 * A call without a result. After a restart the client runs it again, sends `tool/result`, or cancels the
 * turn.
 */
export interface PendingCall {
  /** Id of the call. */
  toolCallId: string;
  /** Id of the turn. */
  turnId: string;
  /** Name of the tool. */
  name: string;
  /** Arguments as JSON text. */
  arguments: Arguments;
}

/**
 * A pinned text. Unlike the pins of `context/pin`, it is shown with the requests of each session that
 * shares the scope.
 */
export interface Pin {
  /** Id of the pin. */
  id: string;
  /** Text of the pin. */
  text: string;
}

/**
 * A message or text that every prompt shows, byte for byte. A message that the prompt shows whole anyway is
 * not repeated.
 */
export interface Pin2 {
  /** Id of the pin. */
  pinId: string;
  /** Id of the pinned message; absent for a text. If the message is removed, so is the pin. */
  messageId?: string;
  /** The pinned text; absent for a message. */
  text?: string;
  /** Size of the pin, in tokens. */
  tokens: number;
}

/** Placement of a compaction's block in the prompt. */
export type Placement =
  /** A user message before the history that is not covered. */
  | "userAtBoundary"
  /** A system message at that position. */
  | "systemMessage"
  /** The end of the system message. */
  | "systemPromptTail";

/** A section of a prompt. */
export interface PlanSection {
  /** Channel of the section. */
  channel: Channel;
  /** Name, such as `system`, `keptUserMessages` or `history`. */
  name: string;
  /**
   * Index of its first message and index after its last one. Both are equal for tools; sections of the
   * system text share one message.
   */
  messages: [number, number];
  /** Size of the section, in tokens. */
  tokens: number;
  /** Order in which sections could be given up, the lowest first; absent if it is never given up. */
  priority?: number;
  /** `true` if a provider's cache may keep the prompt up to the end of this section. */
  cacheBreakpoint: boolean;
}

/** The reason why a prompt does not begin with the previous one. */
export type PrefixBreak =
  /** A compaction came into force. */
  | "compaction"
  /** A compaction was undone. */
  | "undo"
  /** A compaction was redone. */
  | "redo"
  /** A pin was added. */
  | "pin"
  /** A pin was removed. */
  | "unpin"
  /** Messages were excluded. */
  | "exclude"
  /** A message was edited. */
  | "edit"
  /** A message was removed. */
  | "remove"
  /** The transcript was truncated. */
  | "truncate"
  /** An answer is generated again. */
  | "retry"
  /** The session was reset. */
  | "reset"
  /** The editor's history differs. */
  | "history"
  /** Summaries stored by the editor came into force, or a revision was restored. */
  | "restore"
  /** A result arrived for a call that an earlier prompt showed without one. */
  | "lateResult"
  /** The model changed. */
  | "model"
  /** The tools changed. */
  | "tools"
  /** System text or sections changed. */
  | "system"
  /** The system text is rebuilt for each turn, by a setting. */
  | "perTurn"
  /** Completed turns are shown without their tool rounds, by a setting. */
  | "stripCompletedTurns"
  /**
   * Thinking shown before is left out, because the model accepts it only after the prompt it followed. The
   * earlier change is reported beside this one.
   */
  | "thinking"
  /** No cause was announced: a bug. */
  | "unknown";

/** The token under which `$/progress` reports, given by the client as `workDoneToken`. */
export type ProgressToken = number | string;

/** A message of a prompt. */
export interface PromptMessage {
  /** Role of the message. */
  role: PromptRole;
  /** Content. In the system message each section is a part. */
  parts: Part[];
  /** `true` if a provider's cache may keep the prompt up to the end of this message. Default: false. */
  cacheBreakpoint?: boolean;
}

/** Parameters of `prompt/render`. Without `sessionId`, `history` or `input` is required. */
export interface PromptRenderParams {
  /**
   * Id of the session. Default: the one with a turn of `history`, or none: the prompt is for this response
   * only.
   */
  sessionId?: string;
  /**
   * Folder in which that session is looked for and a new `sessionId` is stored. Default: the client's first
   * folder.
   */
  workspaceFolder?: string;
  /** Client's own copy of the turns so far, to be matched with the session. */
  history?: Turn[];
  /** Current request; absent if it is in the session already. */
  input?: Input;
  /** Rounds of the current turn: all, or those that the session does not have. Requires `input`. */
  rounds?: Round[];
  /** Results of calls in `rounds` that are not in their round. Requires `input`. */
  toolResults?: ToolResult[];
  /**
   * Metadata from earlier renders of the running turn, if the client kept it. Ignored without `input`, and
   * reported.
   */
  metadata?: TurnMetadata;
  /** Tools from now on. Default: unchanged. */
  tools?: Tool[];
  /** Client's sections from now on. Default: unchanged. */
  sections?: Section[];
  /** Named values of the request. Ignored without `input`, and reported. */
  variables?: Variable[];
  /** State of the notebooks. Ignored without `input`, and reported. */
  notebook?: Notebook[];
  /**
   * Background of the request, captured with it by the first render that brings it. Later changes wait for
   * the next request.
   */
  attachments?: Attachment[];
  /** Model that the prompt is for. Default: the session's. */
  model?: Model;
  /** Largest size of the prompt, in tokens, below what the model allows. */
  budget?: number;
  /**
   * Size in tokens above which results that come with this request are shown by head and tail only, instead
   * of the setting of this name. Never 0.
   */
  maxToolResultTokens?: number;
  /** Condition under which the render compacts. Default: `auto`. */
  summarize?: RenderSummarize;
  /** `true` marks cache breakpoints, except after a failed summary. Default: true. */
  cacheBreakpoints?: boolean;
  /** Token for `$/progress` reports while a summary is made. */
  workDoneToken?: ProgressToken;
}

/** Result of `prompt/render`. */
export interface PromptRenderResult {
  /**
   * Id of the session that keeps the rendered turns; absent if the prompt was made for this response only.
   */
  sessionId?: string;
  /** Messages to send, in this order. Neighbours of one role are never joined. */
  messages: PromptMessage[];
  /** Tools to send, sorted by name. */
  tools: Tool[];
  /** Sections of the prompt, in order. */
  plan: PlanSection[];
  /** Size of the prompt, in tokens, including tools. */
  tokens: number;
  /** Largest size that was allowed, in tokens. */
  limit: number;
  /** Window of the model, in tokens. */
  window: number;
  /** Token counter. */
  estimator: string;
  /** Everything that the prompt does not show verbatim. */
  cuts: Cut[];
  /** New metadata: persist it with the turn and hand it back unchanged. */
  metadata: TurnMetadata;
  /** Id of the compaction that the prompt follows; absent if there is none. */
  compactionId?: string;
  /** Mode of that compaction. */
  mode?: CompactionMode;
  /** Extent of its deterministic steps. */
  strength?: Strength;
  /** Deviations from the request that are not errors. */
  diagnostics: Diagnostic[];
  /** Id of the revision that keeps what the client's history no longer has. */
  revision?: string;
}

/** The role of a message of a prompt. */
export type PromptRole =
  /** System text, and a summary placed directly after it. */
  | "system"
  /** The user, memories and the summary. */
  | "user"
  /** The model. */
  | "assistant"
  /** A tool: exactly one `toolResult`. */
  | "tool";

/** A queued item that could not be carried out. */
export interface QueueFailure {
  /** Id of the item. */
  itemId: string;
  /** Error of the item. */
  error: EventError;
}

/** A queued command. */
export interface QueueItem {
  /** Id of the item, for `queue/remove`. */
  itemId: string;
  /** Method of the command, such as `turn/start`. */
  method: string;
  /** `true` if the item goes before those without priority. */
  priority: boolean;
  /** Id of the turn that the request will start. */
  turnId?: string;
  /** Id of the message that the request will become, or that the command concerns. */
  messageId?: string;
  /** User's content; absent if the command has none. */
  content?: Part[];
}

/** Parameters of `queue/remove`. */
export interface QueueRemoveParams {
  /** Id of the session. */
  sessionId: string;
  /** Id of the queued item. Fails with `StaleReference` if it is not in the queue. */
  itemId: string;
}

/** Result of `queue/remove`. */
export interface QueueRemoveResult {
  /** Items removed from the queue, with the user's content. */
  removed: QueueItem[];
}

/** The condition under which a render compacts. */
export type RenderSummarize =
  /** If the prompt is too large. */
  | "auto"
  /** Always. */
  | "force"
  /** Never: a prompt that is too large fails with `BudgetExceeded`. */
  | "never";

/** Parameters of `tool/requestPermission`. */
export interface RequestPermissionParams {
  /** Id of the session. */
  sessionId: string;
  /** Id of the turn that waits. */
  turnId: string;
  /** Calls that wait for a decision. No call of their round runs before all are decided. */
  reasons: PauseReason[];
  /** Background session whose calls they are; absent for any other session. */
  agent?: AskingAgent;
}

/**
 * Result of `tool/requestPermission`. Null, for no answer, keeps the session paused until `tool/decide`.
 */
export interface RequestPermissionResult {
  /** Decisions about the calls. */
  decisions: Decision[];
}

/** A summary that was not applied. */
export interface RestoreEntry {
  /** Id of the round that the summary names; empty if it names none. */
  toolCallRoundId: string;
  /** Reason, for people and logs. */
  reason: string;
}

/** The outcome of opening a session: what was restored, and everything that could not be. */
export interface RestoreReport {
  /** Origin of the session's content. */
  source: RestoreSource;
  /** Ids of compactions restored from the client's metadata. */
  restored: string[];
  /** Ids of compactions that the session already had. */
  already: string[];
  /** Summaries whose source has changed since. */
  stale: RestoreEntry[];
  /** Summaries of rounds that are not in the session. */
  orphans: RestoreEntry[];
  /** Summaries given more than once, or covered by a newer one. */
  duplicates: RestoreEntry[];
  /**
   * Entries that mark a failed summary or cannot be read. One whose `threadhold` alone cannot be read is
   * restored from its round and text, and is in `restored` too.
   */
  failures: RestoreEntry[];
  /** Id of the revision that keeps what the client's history no longer has. */
  revision?: string;
  /** Number of messages that only the revision keeps. */
  truncatedMessages: number;
  /** Number of messages added from the client's history. */
  appendedMessages: number;
  /**
   * Rows of the store that cannot be read, each with its place and the reason. The rest is in the session,
   * with a note in the place of each unreadable message.
   */
  unreadable: string[];
  /** Other remarks for people. */
  diagnostics: Diagnostic[];
}

/** The origin of an opened session's content. */
export type RestoreSource =
  /** None: the session is new. */
  | "new"
  /** The sidecar's store. */
  | "store"
  /** The client's history. */
  | "history"
  /** Both, matched with each other. */
  | "both";

/** The minimum of history that a compaction never covers. */
export type Retention = "rounds" | { userTurns: number } | { messages: number } | { tokenTail: number };

/** A retry of a model request. */
export interface Retrying {
  /** Number of the next attempt; the first attempt is 1. */
  attempt: number;
  /** Delay before the attempt, in milliseconds. */
  delayMs: number;
  /** Reason why the last attempt failed. */
  reason: string;
}

/** A user's decision about a compaction. */
export type ReviewDecision =
  /** Accepts it unchanged. */
  | "accept"
  /** Accepts it with `text` instead of its narrative. */
  | "edit"
  /** Rejects it. If the prompt does not fit, the steps that need no model make room. */
  | "refuse";

/**
 * A revision: a session as it was before a rewind. `session/messages` returns its messages; it cannot be
 * opened.
 */
export interface Revision {
  /** Id of the revision. */
  revisionId: string;
  /** Cause of the rewind. */
  cause: RevisionCause;
  /** Time of the rewind, ISO-8601, UTC. */
  createdAt: string;
  /** Number of messages. */
  messages: number;
  /** Beginning of the first text that the rewind removed or replaced; absent if that was no text. */
  text?: string;
}

/** The cause of a rewind, which leaves a revision of the session behind. */
export type RevisionCause =
  /** A message was edited. */
  | "edit"
  /** A message was removed. */
  | "remove"
  /** A request was sent again, or an answer was generated again. */
  | "retry"
  /** The end of the session was cut off. */
  | "truncate"
  /** A new chat was started under the same id. */
  | "reset"
  /** The editor's history differed. */
  | "history"
  /** The session's file in the workspace was changed by another program. */
  | "file"
  /** An earlier revision was restored. */
  | "restore";

/** The author of a message in a session. */
export type Role =
  /** The user. */
  | "user"
  /** The model. */
  | "assistant"
  /** A tool, answering one call. */
  | "tool"
  /** A record of the session that no model sees, such as a notice. */
  | "event";

/** A model's answer with the results of its tool calls, as a client reports it. */
export interface Round {
  /**
   * Client's id of the round; a summary refers to it as its `toolCallRoundId`. Default:
   * `assistant.externalId`.
   */
  id?: string;
  /** The model's answer. */
  assistant: AssistantInput;
  /** Results of the answer's tool calls. */
  results?: ToolResult[];
  /**
   * Summary that stands for this round and all before it. Ignored if the turn's metadata has one for the
   * round.
   */
  summary?: string;
}

/** Parameters of `round/append`. */
export interface RoundAppendParams {
  /** Id of the session. */
  sessionId: string;
  /** Id of the newest turn, which is the default. Any other fails with `StaleReference`. */
  turnId?: string;
  /** Round that the client's loop produced. */
  round: Round;
}

/** Result of `round/append`. */
export interface RoundAppendResult {
  /** Sidecar's id of the round. */
  roundId: string;
  /** Ids of the assistant message and then of its results. */
  messageIds: string[];
  /** What was repaired in the round. Absent if nothing was. */
  diagnostics?: Diagnostic[];
}

/** A round in a snapshot. */
export interface RoundView {
  /** Sidecar's id of the round. */
  id: string;
  /** Client's id of the round. */
  externalId?: string;
  /** Id of the assistant message. */
  assistant: string;
  /** Ids of the results, in the order of the calls. */
  results: string[];
  /** Text that stands in the prompt for this round and everything before it. */
  summary?: string;
}

/** The state that sessions share. */
export interface Scope {
  /** Revision number, which grows with each change; 0 before the first. */
  revision: number;
  /** Todos, in order. */
  todos: Todo[];
  /** Plan, as text; absent if there is none. */
  plan?: string;
  /** Pinned texts. */
  pins: Pin[];
  /** Artifacts of the sessions. */
  artifacts: Artifact[];
}

/** Parameters of `scope/get`. One of `sessionId` and `workScope` is required. */
export interface ScopeGetParams {
  /**
   * Session of the scope; one without a work scope has its own. Fails with `UnknownSession` if it is not
   * open here.
   */
  sessionId?: string;
  /** Name of the scope. Ignored if `sessionId` is given. */
  workScope?: string;
  /** Folder of the scope. Ignored if `sessionId` is given. Default: the client's first folder. */
  workspaceFolder?: string;
}

/**
 * Parameters of `scope/put`. One of `sessionId` and `workScope` is required; other absent fields stay
 * unchanged.
 */
export interface ScopePutParams {
  /**
   * Session of the scope; one without a work scope has its own. Fails with `UnknownSession` if it is not
   * open here.
   */
  sessionId?: string;
  /** Name of the scope. Ignored if `sessionId` is given. */
  workScope?: string;
  /** Folder of the scope. Ignored if `sessionId` is given. Default: the client's first folder. */
  workspaceFolder?: string;
  /** All todos. */
  todos?: Todo[];
  /** Plan; an empty text removes it. */
  plan?: string;
  /** All pins. */
  pins?: Pin[];
  /** Artifacts to add, or to replace by id. */
  artifacts?: Artifact[];
  /** Revision that the scope must have. Fails with `StaleReference` if it has another. */
  ifRevision?: number;
}

/** Result of `scope/get` and `scope/put`. */
export interface ScopeResult {
  /** Name of the scope. */
  workScope: string;
  /** Content of the scope. */
  scope: Scope;
}

/** A message that contains the words. */
export interface SearchHit {
  /** Id of the message; `context/recall` returns its whole text. */
  ref: string;
  /** Position of the message. */
  ord: number;
  /** Author of the message. */
  role: Role;
  /** Id of the turn. */
  turnId: string;
  /**
   * The part of the text that matched with what is next to it, at most 2700 bytes, byte for byte; in the
   * arguments of a call, JSON escapes are resolved. A message may be found in several parts, each a hit of
   * its own.
   */
  excerpt: string;
  /** Start of the excerpt, in bytes of the text. */
  offset: number;
  /** Status of the message in the prompt. */
  status: MessageStatus;
  /** Size of the text, in bytes. */
  bytes: number;
}

/** A section of the prompt that the client provides. */
export interface Section {
  /** Place of the section. Default: `system`. */
  channel?: SectionChannel;
  /** Name in plans and reports. Must not be empty. */
  name: string;
  /** Text of the section. */
  content: string;
  /**
   * Order in which the plan lists sections that could be given up, the lowest first. No section is given up
   * automatically: history is compacted instead, and only `maxTokens` bounds a section. Default: never.
   */
  priority?: number;
  /** Largest size of the section, in tokens. Default: unlimited. */
  maxTokens?: number;
  /** Treatment of a section larger than `maxTokens`. Default: `keep`. */
  onOverflow?: OnOverflow;
}

/** The position of a caller's section. */
export type SectionChannel =
  /** In the system message. */
  | "system"
  /** As a separate message after it. */
  | "memory";

/** The size of a section. */
export interface SectionSize {
  /** Channel of the section, if known. */
  channel?: Channel;
  /** Name of the section. */
  name: string;
  /** Size of the section, in tokens. */
  tokens: number;
}

/** The size of a section of a prompt. */
export interface SectionTokens {
  /** Channel of the section. */
  channel: Channel;
  /** Name of the section. */
  name: string;
  /** Size of the section, in tokens. */
  tokens: number;
}

/** The sidecar's `capabilities.experimental.threadhold` of `initialize`. */
export interface ServerCapabilities {
  /** Version of the protocol. */
  protocolVersion: number;
  /** Version of the program. */
  serverVersion: string;
  /** Levels of the protocol that are fully supported. `methods` may list methods of other levels. */
  levels: string[];
  /** Names of the supported methods and notifications, in both directions. */
  methods: string[];
  /** Types of `session/event`. */
  events: string[];
  /** States of a session. */
  states: string[];
}

/** Parameters of `server/diagnostics`. */
export type ServerDiagnosticsParams = Record<string, never>;

/** Result of `server/diagnostics`. */
export interface ServerDiagnosticsResult {
  /** Version of the program. */
  serverVersion: string;
  /** Version of the protocol. */
  protocolVersion: number;
  /** Process id of the sidecar. */
  pid: number;
  /** Token counter. */
  estimator: string;
  /** Open stores. */
  storage: StorageInfo[];
  /** Open sessions. */
  sessions: OpenSession[];
  /** Number of the client's requests without a response. */
  requestsInFlight: number;
  /** Largest number of such requests; one more fails with `Overloaded`. */
  requestLimit: number;
  /** Number of the sidecar's requests to the client without a response. */
  askedOfClient: number;
}

/** Parameters of `session/close`. */
export interface SessionCloseParams {
  /** Id of the session. Fails with `UnknownSession` if it is not open here. */
  sessionId: string;
}

/** Result of `session/close`: everything is on disk, and another process may open the session. */
export type SessionCloseResult = Record<string, never>;

/** Parameters of `session/configure`. */
export interface SessionConfigureParams {
  /** Id of the session. Fails with `UnknownSession` if it is not open here. */
  sessionId: string;
  /** Settings to change; absent ones stay. */
  settings?: Settings;
  /** New title. Default: unchanged. */
  title?: string;
  /**
   * `true` drops the limits that were learned from the provider's rejections, as `context/inspect` shows
   * them. The next rejection teaches anew. Default: `false`.
   */
  forgetLearnedLimits?: boolean;
}

/** Result of `session/configure`. */
export interface SessionConfigureResult {
  /** Settings in force. */
  settings: Settings;
  /** Unknown setting names, each as a diagnostic of kind `unknownSetting`. */
  diagnostics: Diagnostic[];
}

/** Parameters of `session/delete`. */
export interface SessionDeleteParams {
  /** Id of the session, open or not. Fails with `UnknownSession` if no store has it, and for a revision. */
  sessionId: string;
}

/** Result of `session/delete`: counts of what was deleted, including all revisions of the session. */
export interface SessionDeleteResult {
  /** Number of deleted messages. */
  deletedMessages: number;
  /** Number of deleted revisions. */
  deletedRevisions: number;
  /** Number of deleted compaction records. */
  deletedCompactions: number;
  /** Number of deleted large results and pictures; those still in use elsewhere stay. */
  deletedBlobs: number;
  /** Size of these results and pictures, in bytes. */
  deletedBlobBytes: number;
  /**
   * `true` if no trace of them is left in the store's file or the session's own file in its workspace.
   * False while another process reads the store, and for a large store: the rows are deleted, and their
   * bytes are overwritten when the store is next idle and nobody else reads it. False if the session's own
   * file could not be removed (the log has the reason). False if a related session stays that may hold the
   * same text until it is deleted itself: the one that this was made of, a fork, or one that runs in the
   * background.
   */
  scrubbed: boolean;
  /**
   * Ids of the session's forks (`session/fork`). They stay, with everything that they share with the
   * session.
   */
  forks: string[];
}

/** Parameters of `session/event`. */
export type SessionEvent = {
  /** Id of the session. */
  sessionId: string;
  /** Id of the numbering; a new process starts a new stream. */
  stream: string;
  /** Number of the event: one more than that of the event before it in this session and stream. */
  seq: number;
} & (
  /**
   * The whole session. Replaces everything received before and is applied whatever `seq` and `stream` the
   * client has. It does not take a number: its `seq`, and that of its snapshot, is that of the last event
   * that it includes. Sent instead of events that the client did not read in time.
   */
  | {
      type: "snapshot";
      /** The session. */
      snapshot: Snapshot;
    }
  /** A turn began, and its first message follows. Of a known turn: it runs again. */
  | {
      type: "turnStarted";
      /** Id of the turn. */
      turnId: string;
      /** Client's id of the request. */
      externalId?: string;
    }
  /** A turn is over. A later one for the same turn replaces it. */
  | {
      type: "turnCompleted";
      /** Id of the turn. */
      turnId: string;
      /** Outcome of the turn. */
      outcome: TurnOutcome;
      /**
       * `true` if the turn was open when its process ended or its session was opened again. Default: false.
       */
      interrupted?: boolean;
      /** Tokens that the model used for the turn's answers, added up; absent if no answer reports them. */
      usage?: Usage;
      /** Cost of the turn's answers in US dollars: `dollars` of `spent`. */
      cost?: number;
      /**
       * Cost of the turn's answers, failed attempts included, and where the figure is from; absent if none
       * is known.
       */
      spent?: Cost;
      /** Ids of the compactions made while the turn ran, oldest first. */
      compactions: string[];
      /**
       * Time from the start of the turn, or of its newest run after a retry, to its end, in milliseconds;
       * absent if it did not run here.
       */
      durationMs?: number;
    }
  /** An answer begins. */
  | {
      type: "streamStarted";
      /** Id of the message that the answer becomes. */
      messageId: string;
      /** Id of the turn. */
      turnId: string;
    }
  /** An answer in progress changed. */
  | {
      type: "streamDelta";
      /** Id of the message that the answer becomes. */
      messageId: string;
      /** Changes, in order. */
      ops: DeltaOp[];
    }
  /**
   * An answer in progress broke off and begins anew: what was sent of it so far is void, and deltas of the
   * same message follow. Sent with the first of them, so that what was shown stays until there is something
   * else.
   */
  | {
      type: "streamReset";
      /** Id of the message that the answer becomes. */
      messageId: string;
    }
  /** An answer ended. Its message follows as `messageAdded`, with the same id. */
  | {
      type: "streamFinished";
      /** Id of the message that the answer becomes. */
      messageId: string;
      /** Reason why the answer ended, such as `cancelled` or `failed`. */
      stopReason?: StopReason;
    }
  /** A message was added to the session and is on disk. */
  | {
      type: "messageAdded";
      /** The message. */
      message: Message;
    }
  /** A message has new content. */
  | {
      type: "messageUpdated";
      /** The message from now on. */
      message: Message;
    }
  /** A message was removed. */
  | {
      type: "messageRemoved";
      /** Id of the message. */
      messageId: string;
    }
  /** The end of the session was cut off, by a user or because the client's history no longer has it. */
  | {
      type: "messagesTruncated";
      /** Position of the first message that was cut off. */
      fromOrd: number;
      /** Id of the revision that keeps the messages. */
      revision: string;
    }
  /** Title, draft, pins, settings or the shared scope changed. Every field has its current value. */
  | {
      type: "threadUpdated";
      /** Title; absent if there is none. */
      title?: string;
      /** Counter that grows with each `session/reset`. */
      generation: number;
      /** User's unsent text; absent if there is none. */
      draft?: string;
      /** State shared with other sessions. */
      scope: Scope;
      /** Pins of the user. */
      pins?: Pin2[];
      /** Settings in force. */
      settings?: Settings;
    }
  /** The queue changed. */
  | {
      type: "queueUpdated";
      /** The whole queue, in the order in which it is carried out. */
      queue: QueueItem[];
      /** Item that could not be carried out when its turn came. */
      failed?: QueueFailure;
    }
  /** The state changed, a turn ended, or a model is asked again. */
  | {
      type: "runtimeUpdated";
      /** State of the session. */
      state: State;
      /** Id of the turn that runs or ended. */
      turnId?: string;
      /** Status with which the turn ended; absent while it runs. */
      status?: TurnStatus;
      /** Error with which the turn ended. */
      error?: EventError;
      /** At a turn's end, all of its metadata: persist it with the turn and hand it back unchanged. */
      metadata?: TurnMetadata;
      /**
       * Retry of a model request that failed. If a part of its answer was sent, `streamReset` follows once
       * the retry has another one.
       */
      retrying?: Retrying;
    }
  /**
   * A running call of a server's tool made progress. At most four in a second for each call; none is part
   * of a snapshot.
   */
  | {
      type: "toolProgress";
      /** Id of the call. */
      toolCallId: string;
      /** Part that is done, in units of the server. */
      progress: number;
      /** Whole in the same units, if the server knows it. */
      total?: number;
      /** Words of the server, at most 200 bytes on one line. */
      message?: string;
    }
  /** Tool calls wait for the user's decision. */
  | {
      type: "pauseRequired";
      /** Calls that wait. */
      reasons: PauseReason[];
      /** Background session whose calls they are; absent for any other session. */
      agent?: AskingAgent;
    }
  /** All waiting calls were decided, or the turn was cancelled. */
  | {
      type: "pauseCleared";
    }
  /** A session that runs in the background for this one was added or changed. */
  | {
      type: "agentUpdated";
      /** The session as it is now. */
      agent: Agent;
    }
  /** A compaction entered another phase. */
  | {
      type: "compactionUpdated";
      /** Id of the compaction, the same from `started` on. */
      compactionId: string;
      /**
       * Status of the compaction. One that is `completed` stays so, even if its `phase` later is `undone`
       * or `voided`.
       */
      status: CompactionUpdateStatus;
      /** Phase of the compaction. */
      phase: CompactionPhase;
      /** Mode that is tried, or that succeeded. */
      mode?: CompactionMode;
      /** Cause of the compaction. */
      trigger?: CompactionTrigger;
      /** Explanation for people, such as why a mode failed. */
      reason?: string;
      /** Size of the prompt before the compaction, in tokens, if known. */
      tokensBefore?: number;
      /** Size of the same prompt afterwards, in tokens, once the compaction is accepted. */
      tokensAfter?: number;
      /** The compaction, once it is accepted. */
      compaction?: CompactionView;
      /**
       * New metadata to persist, once the compaction is accepted. After an undo: all metadata that the
       * compaction's turn still has, which replaces the persisted one.
       */
      metadata?: TurnMetadata;
    }
  /** The prompt's size changed. */
  | {
      type: "contextUpdated";
      /** Size of the prompt, in tokens. */
      tokens: number;
      /** Largest size of a prompt, in tokens. */
      limit: number;
      /** New tokens that fit before the nearest compaction triggered by size. */
      tokensUntilCompaction: number;
      /** Sections of the prompt, in order. */
      sections: SectionTokens[];
      /** Token counter. */
      estimator: string;
    }
  /**
   * A prompt is sent that does not begin with the previous one, so a provider's cache serves less of it.
   */
  | {
      type: "prefixBroken";
      /** Causes of the break. */
      causes: PrefixBreak[];
      /** Tokens at the beginning that are the same as before. */
      reusedTokens: number;
      /** Tokens that could have been the same and are read anew. */
      lostTokens: number;
    }
  /** The client's history was matched with the session after it was opened. */
  | {
      type: "restoreReported";
      /** Result of the restore. */
      report: RestoreReport;
    }
  /**
   * Another process took the session over. The work in progress here was stopped, and this client follows
   * the session: a snapshot in a new stream comes next.
   */
  | {
      type: "sessionTakenOver";
    }
);

/** Parameters of `session/export`. */
export interface SessionExportParams {
  /** Id of the session. */
  sessionId: string;
  /** Format of the export. An unknown one is the error `UnsupportedFormat`. */
  format: ExportFormat;
}

/** Result of `session/export`. */
export interface SessionExportResult {
  /** Format of the export. */
  format: ExportFormat;
  /** Whole content. An export over 60 MiB fails with `TooLarge`. */
  data: string;
  /** Number of exported messages. */
  messages: number;
}

/** Parameters of `session/fork`, which creates another session with ids of its own. */
export interface SessionForkParams {
  /** Id of the session. */
  sessionId: string;
  /** Id of the last message to copy. Without it and `upToIndex` all are copied. */
  upToMessageId?: string;
  /** Index of that message in the snapshot's `messages`, from 0. Ignored if `upToMessageId` is given. */
  upToIndex?: number;
  /** Title of the new session. Default: that of this session. */
  title?: string;
  /** Key of this command: a repeat with the same key gets the first response and has no effect. */
  idempotencyKey?: string;
}

/** Result of `session/fork`. */
export interface SessionForkResult {
  /** Id of the new session, for `session/open`. */
  sessionId: string;
}

/** Parameters of `session/history`. */
export interface SessionHistoryParams {
  /** Id of the session, open or not. Fails with `UnknownSession` if the store does not have it. */
  sessionId: string;
  /**
   * Folder whose store has the session. Default: the store where it was last open, else that of the
   * client's first folder.
   */
  workspaceFolder?: string;
  /** `nextCursor` of the previous page. */
  cursor?: string;
  /** Largest number of revisions on the page, at most 500. Default: 50. */
  limit?: number;
}

/** Result of `session/history`. */
export interface SessionHistoryResult {
  /** Revisions, the newest first. */
  revisions: Revision[];
  /** `cursor` of the next page; absent on the last page. */
  nextCursor?: string;
}

/** A message of a session that contains words of the query. */
export interface SessionHit {
  /** Id of the message. */
  ref: string;
  /** Position of the message. */
  ord: number;
  /** Author of the message. */
  role: Role;
  /** Id of the turn. */
  turnId: string;
  /** The part of the text that matched with what is next to it, at most 2700 bytes, byte for byte. */
  excerpt: string;
  /** Start of the excerpt, in bytes of the text. */
  offset: number;
}

/**
 * Parameters of `session/import`, which makes a session of a conversation. Exactly one of `data`, `path`
 * and `chatId` is required.
 */
export interface SessionImportParams {
  /** Folder of the new session. */
  workspaceFolder: string;
  /** Id of the session, which must have no messages. Default: `chatId` if given, otherwise a new id. */
  sessionId?: string;
  /** Title of the session. Default: the source's. */
  title?: string;
  /**
   * Format, as `threadhold replay --help` names it. Default: detected, or the error `UnsupportedFormat`.
   */
  format?: string;
  /** Content of the conversation, as its program wrote it. */
  data?: string;
  /**
   * Path of a file that holds the conversation: absolute, relative to the folder, or a `file:` URI. At most
   * 256 MiB.
   */
  path?: string;
  /** `chatId` of a trajectory in the folder, as `trajectory/list` returns it. */
  chatId?: string;
}

/** Result of `session/import`. */
export interface SessionImportResult {
  /** Id of the session, for `session/open`. */
  sessionId: string;
  /** Format that was read. */
  format: string;
  /** Number of imported messages. */
  messages: number;
  /** Parts that could not be read, each with its place and the reason. */
  skipped: string[];
  /** What was repaired in the messages. Absent if nothing was. */
  diagnostics?: Diagnostic[];
}

/** Parameters of `session/ledger`. */
export interface SessionLedgerParams {
  /** Id of the session. */
  sessionId: string;
  /**
   * Folder whose store has the session; ignored while the session is open. Default: the folder where it was
   * last open, or the client's first folder.
   */
  workspaceFolder?: string;
  /** `nextCursor` of the previous page. Later pages leave out what was said since the first one. */
  cursor?: string;
  /** Largest number of entries on the page, at most 1,000. Default: 200. */
  limit?: number;
}

/** Parameters of `session/list`. */
export interface SessionListParams {
  /**
   * Lists only sessions of this folder. Default: all sessions in the store of the client's first folder,
   * each with its own folder.
   */
  workspaceFolder?: string;
  /** Text that the title, the summary or the first request must contain, in any case. */
  query?: string;
  /** `nextCursor` of the previous page. */
  cursor?: string;
  /** Largest number of sessions on the page, at most 500. Default: 50. */
  limit?: number;
}

/** Result of `session/list`. */
export interface SessionListResult {
  /** Sessions, the most recently used first. */
  sessions: SessionSummary[];
  /** `cursor` of the next page; absent on the last page. */
  nextCursor?: string;
}

/** Parameters of `session/messages`. */
export interface SessionMessagesParams {
  /** Id of the session. */
  sessionId: string;
  /**
   * Folder whose store has the session; ignored while the session is open. Default: the folder where it was
   * last open, or the client's first folder.
   */
  workspaceFolder?: string;
  /** Returns only messages whose `ord` is below this. Default: the newest. */
  before?: number;
  /** Largest number of messages on the page, at most 500. Default: 50. */
  limit?: number;
}

/** Result of `session/messages`. */
export interface SessionMessagesResult {
  /** Messages in order, as stored. Removed ones are left out. */
  messages: Message[];
  /** Value of `before` that requests the preceding page; 0 at the beginning of the session. */
  before: number;
  /** Messages of this page that cannot be read, each with the reason. They stay in the store unchanged. */
  unreadable: string[];
}

/** Parameters of `session/open`. */
export interface SessionOpenParams {
  /** Folder of the session, as a path or a `file:` URL. */
  workspaceFolder: string;
  /**
   * Session to resume or create: 1 to 128 letters, digits and `-_.~:`. Default: a new session with a new
   * id.
   */
  sessionId?: string;
  /** Side that runs the loop. Default: `sidecar`. Ignored if the session exists. */
  driver?: Driver;
  /** Title from now on. Default: unchanged. */
  title?: string;
  /** Purpose of the session, in the client's words. Ignored if the session exists. */
  kind?: string;
  /**
   * Id of the session that starts this one to run in the background. Whenever this one comes to rest, the
   * parent gets a message of kind `process_completed`, which no model sees. Ignored if the session exists.
   */
  parentId?: string;
  /** Name of the scope that the session shares with others. Ignored if the session exists. */
  workScope?: string;
  /** Settings of this session. */
  settings?: Settings;
  /** Tools to offer to the model. Default: unchanged; none in a new session. */
  tools?: Tool[];
  /**
   * Servers of the Model Context Protocol for this session, by name, beside those of `mcp.servers`; one of
   * the same name replaces it. Held while the session is open here and not stored, so that values may be
   * secrets. Sessions with the driver `editor` use none. Default: unchanged; none in a session that is not
   * open.
   */
  mcpServers?: { [key: string]: unknown };
  /** Sections before the messages, in this order. Default: unchanged; none in a new session. */
  sections?: Section[];
  /**
   * Client's own copy of the turns so far, with its persisted metadata. The sidecar matches it with the
   * store.
   */
  history?: Turn[];
  /**
   * If another process writes the session: `true` follows it, false fails with `SessionHeldElsewhere`. A
   * follower gets the other process's commits as events, without deltas. Default: false.
   */
  follow?: boolean;
  /**
   * Number of newest messages in the snapshot; `session/messages` returns earlier ones. A limit makes
   * opening a long session faster, because only what these messages and the next prompt need is read.
   * Default: all.
   */
  snapshotMessages?: number;
}

/** Result of `session/open`, which also subscribes the client to the session's events. */
export interface SessionOpenResult {
  /** The session. */
  snapshot: Snapshot;
  /** Report of what was found, restored and rejected. */
  restore: RestoreReport;
}

/**
 * Parameters of `session/reset`, which starts a new chat under the same id. A running turn is cancelled.
 */
export interface SessionResetParams {
  /** Id of the session. */
  sessionId: string;
  /**
   * `true` carries the queue over into the new chat. Default: false; the queue is returned in `removed`.
   */
  keepQueue?: boolean;
  /** Key of this command: a repeat with the same key gets the first response and has no effect. */
  idempotencyKey?: string;
}

/** Result of `session/reset`. */
export interface SessionResetResult {
  /** Id of the revision that keeps the previous state; absent if the session was empty. */
  revision?: string;
  /** Items removed from the queue, with the user's content. */
  removed: QueueItem[];
}

/**
 * Parameters of `session/restore`, which restores messages, turns and summaries of a revision. Title,
 * settings, pins, the draft and the queue stay as they are. Fails with `InvalidState` while a turn runs. In
 * the result `revision` is the revision that keeps the present state; absent if both are equal.
 */
export interface SessionRestoreParams {
  /** Id of the session. */
  sessionId: string;
  /** Id of the revision. Fails with `StaleReference` if it is not one of this session. */
  revisionId: string;
  /** Key of this command: a repeat with the same key gets the first response and has no effect. */
  idempotencyKey?: string;
}

/** Parameters of `session/search`. */
export interface SessionSearchParams {
  /**
   * Searches only sessions of this folder. Default: all sessions in the store of the client's first folder.
   */
  workspaceFolder?: string;
  /**
   * Words to look for, in any case. A session is found if its title, its summary, its first request and its
   * messages contain them all, each anywhere. A name matches by its parts, too: `pendingMessages` finds
   * `updatePendingMessages`. A query without words finds nothing.
   */
  query: string;
  /** `nextCursor` of the previous page. */
  cursor?: string;
  /** Largest number of sessions on the page, at most 100. Default: 20. */
  limit?: number;
}

/** Result of `session/search`. */
export interface SessionSearchResult {
  /**
   * Sessions that were found, the most recently used first. A page may have fewer than asked for, even
   * none, and still have a successor: the number of messages that one request searches is bounded.
   */
  sessions: FoundSession[];
  /** `cursor` of the next page; absent once all sessions were searched. */
  nextCursor?: string;
}

/** Parameters of `session/subscribe`. */
export interface SessionSubscribeParams {
  /** Id of the session. */
  sessionId: string;
  /** Stream of the last event that the client has. */
  stream?: string;
  /** Number of that event. Without `stream` and `sinceSeq` the result is a snapshot. */
  sinceSeq?: number;
  /** Number of newest messages in a snapshot, as in `session/open`. Default: all. */
  snapshotMessages?: number;
}

/** Result of `session/subscribe`: the events since then, or a snapshot if they are no longer available. */
export interface SessionSubscribeResult {
  /** Events since then, in order; absent if `snapshot` is given. */
  events?: SessionEvent[];
  /** The session; absent if `events` is given. */
  snapshot?: Snapshot;
}

/** A session in a list. */
export interface SessionSummary {
  /** Id of the session. */
  sessionId: string;
  /** Folder of the session, as a path, or as the URI that it was given by if that is no `file:` URI. */
  workspaceFolder: string;
  /** URI of the folder. */
  workspaceUri?: string;
  /** Side that runs the loop. */
  driver: Driver;
  /** Title; in `session/list` the beginning of the first request if there is none. */
  title?: string;
  /** Purpose of the session, in the client's words. */
  kind?: string;
  /** Id of the session that started this one or that it was forked from. */
  parentId?: string;
  /** Origin of the session. */
  origin: Origin;
  /** Name of the scope that the session shares with others. */
  workScope?: string;
  /**
   * State. In `session/list` a turn at work is `generating` in each of its rounds; if its process is gone,
   * it is the state that opening the session finds. Absent for a session that was last used before states
   * were stored.
   */
  state?: State;
  /** Number of messages. */
  messages: number;
  /** Number of turns. */
  turns: number;
  /** Text of the compaction in force. */
  summary?: string;
  /** Number of messages at the beginning of the session that the compaction in force covers or drops. */
  summarizedCount: number;
  /** Time of creation, ISO-8601, UTC. */
  createdAt: string;
  /** Time of the last message, ISO-8601, UTC. */
  updatedAt: string;
}

/** Parameters of `session/takeOver`. The result is that of `session/open`. */
export interface SessionTakeOverParams {
  /** Id of the session. It must be stored. */
  sessionId: string;
  /**
   * Folder whose store has the session. Default: all stores in use, beginning with the one where it was
   * last open.
   */
  workspaceFolder?: string;
}

/** Parameters of `sessions/changed`. */
export interface SessionsChangedParams {
  /** New sessions. */
  created: SessionSummary[];
  /** Sessions whose row in a list changed. */
  updated: SessionSummary[];
  /** Ids of deleted sessions. */
  deleted: string[];
  /** Trajectory files that others wrote or changed. Their sessions need not exist. */
  trajectories?: TrajectorySummary[];
  /** `chatId` of each deleted trajectory file. */
  trajectoriesGone?: string[];
}

/** A setting in force. */
export interface SettingInForce {
  /** Name of the setting, such as `roundLimit` or `triggers.messages`. */
  name: string;
  /** Value of the setting. */
  value: unknown;
  /** Place that the value comes from. */
  source: SettingSource;
  /** File, variable or flag that sets the value; absent for other places. */
  place?: string;
}

/** The place that a setting's value comes from, weakest first. */
export type SettingSource =
  /** Built in: not set anywhere. */
  | "builtIn"
  /** The policy of compaction. */
  | "policy"
  /** The user's file. */
  | "userFile"
  /** The workspace's file. */
  | "workspaceFile"
  /** The environment. */
  | "environment"
  /** `initialize`. */
  | "initialize"
  /** `workspace/didChangeConfiguration`. */
  | "didChangeConfiguration"
  /** `session/open` or `session/configure`. */
  | "session"
  /** A flag of the command line. */
  | "flag"
  /** The request itself. */
  | "request";

/**
 * Settings. Later places win: the policy, the user's file, the workspace's file (which can only lower
 * `threshold` and `roundLimit`), the environment, `initialize`, `workspace/didChangeConfiguration`,
 * `session/open` and `session/configure`, flags of the command line, the request itself. Within one place a
 * setting wins over another name of it. Names with a point may be written as objects: `{"triggers":
 * {"messages": 40}}` and `{"triggers.messages": 40}` are the same. An unknown name is reported and is not
 * an error. Names of policy files are accepted here, and these names there.
 */
export interface Settings {
  /** Model that answers. */
  model?: Model;
  /**
   * Name of a built-in policy of compaction, or path of a policy file (`threadhold policy` prints one):
   * absolute, or relative to the settings file that names it. Any setting that is set by itself wins over
   * it. Only a policy file can set the order of sections and the size of a shortened result. Default:
   * `default`.
   */
  policy?: string;
  /**
   * Largest size of a prompt: a ratio of the window above 0 and up to 1, or a number of tokens. The window,
   * less what is kept back for the answer, limits it too. Either must leave at least 500 tokens.
   * `summarizeAgentConversationHistoryThreshold` is accepted as its name too. Default: none.
   */
  threshold?: number;
  /** Tokens kept back for the answer, at most a quarter of the window. Default: 4,096. */
  reservedOutput?: number;
  /**
   * Longest summary that is accepted, in tokens, at most a sixteenth of the window, or 2,048 and an eighth
   * if that is more. Default: 4,096.
   */
  maxSummaryTokens?: number;
  /**
   * Kind of summary to request. `agentHistorySummarizationMode` is accepted as its name too. Default:
   * `auto`.
   */
  summaryMode?: SummaryMode;
  /**
   * Treatment of cache breakpoints in a request for a summary. True is accepted as `keep`, false as
   * `strip`. Default: `keep`.
   */
  summaryBreakpoints?: SummaryBreakpoints;
  /**
   * Condition under which a prompt is compacted. True is accepted as `auto`, false as `off`; `enabled` is
   * accepted as its name too. Default: `auto`.
   */
  summarize?: Summarize;
  /**
   * Another name of `summarize`: true is `auto`, false is `off`. `summarization.enabled` and
   * `summarizeAgentConversationHistory.enabled` are accepted as its names too. On unless set to false,
   * unlike in the program that the names come from, because a compaction loses nothing.
   */
  summaryEnabled?: boolean;
  /** Party that decides about a compaction that nobody requested. Default: `auto`. */
  compaction?: Consent;
  /** Triggers of compactions. */
  triggers?: Triggers;
  /** Minimum of history that a compaction never covers. Default: the newest round. */
  retention?: Retention;
  /** Place in the prompt of the block that replaces covered messages. Default: `userAtBoundary`. */
  placement?: Placement;
  /**
   * New tokens required since the last compaction before a trigger starts another, unless the prompt is
   * over the limit. Default: `auto`, the distance between the limit and the target.
   */
  minNewTokens?: CountOrAuto;
  /**
   * Failed summaries in a row after which no model is asked until `minNewTokens` are new; at least 1.
   * Default: 3.
   */
  mostFailures?: number;
  /** Share of the limit for user messages of the covered span, which stay byte for byte. Default: 0.2. */
  userMessageBudget?: number;
  /**
   * Share of the room beside what must stay that a prompt may fill after a compaction. A large newest round
   * takes up to a quarter of it. Default: 0.5.
   */
  targetRatio?: number;
  /**
   * Share of the limit at which a turn is asked to finish. Default: false. True is 0.85 if the policy has
   * none.
   */
  budgetExit?: ShareOrOff;
  /** Extent to which history is shortened before a model is asked. Default: `foldRepeats`. */
  limitHistory?: LimitHistory;
  /** Share of the free space for the newest rounds, unchanged. Default: 0.15. */
  rawTailShare?: number;
  /** Share of the free space for older rounds with shortened results. Default: 0. */
  shortTailShare?: number;
  /**
   * Largest share of the free space for the ledger. In a small prompt changed files get up to a fifth of
   * the space, at most 800 tokens; 0 is no ledger. Default: 0.05.
   */
  ledgerShare?: number;
  /**
   * Largest share of the free space for excerpts of covered messages. Default: 1, all that the other shares
   * leave.
   */
  excerptShare?: number;
  /** Share of the free space for the index of identifiers, which excerpts leave to it. Default: 0.06. */
  identifierShare?: number;
  /**
   * Name of the model that writes summaries. `openai.summaryModel` and the variable `OPENAI_SUMMARY_MODEL`
   * are accepted too. Default: the model that answers.
   */
  summaryModel?: string;
  /**
   * Base URL of that model's provider: http or https, without user, password, query and fragment.
   * `openai.summaryBaseURL` and the variable `OPENAI_SUMMARY_URL` are accepted too. Default: the main
   * model's.
   */
  summaryBaseUrl?: string;
  /**
   * Name of that model's key, as in `model.keyEnv`. Default: the main model's if both have the same
   * provider, so that no key is sent elsewhere unasked.
   */
  summaryKeyEnv?: string;
  /**
   * Prices of that model, as in `model.price`. No effect without `summaryModel`, `summaryBaseUrl` or
   * `summaryKeyEnv`. Default: the main model's if it is the same model at the same provider, otherwise as
   * known for its name.
   */
  summaryPrice?: ModelPrice;
  /** Another name of `triggers.messages`; 0 is off. */
  summaryThreshold?: number;
  /** Another name of `retention` with this many messages. */
  summaryKeepLast?: number;
  /**
   * Another name of `triggers.preTurnTokens`: a ratio up to 1, or a percentage above 1 and up to 100; 0 is
   * off.
   */
  autoSummarizeThreshold?: number;
  /** Another name of `triggers.userTurns`; 0 is off. */
  autoSummarizeTurnThreshold?: number;
  /** `triggers.idleSeconds` in minutes; 0 is off. `sessionTtlMinutes` is accepted as its name too. */
  idleCompactAfterMinutes?: number;
  /**
   * Section of the system text: identity of the model. A change is applied at once and breaks the prefix.
   */
  identity?: string;
  /** Section of the system text: task of the model in this session. */
  role?: string;
  /** Section of the system text: rules for using tools. */
  toolRules?: string;
  /** Section of the system text: further tools available on request. */
  toolkitHints?: string;
  /** Section of the system text: the project in progress. */
  project?: string;
  /**
   * Section of the system text with the number of rounds that a turn may have: `true` always, `false`
   * never. By default it is written once `roundLimit` is set, and says the limit in force at each turn.
   */
  iterationBudget?: boolean;
  /** Moment at which texts read from elsewhere enter prompts. Default: `frozen`. */
  systemPrompt?: SystemPrompt;
  /** Thinking of earlier answers that prompts show. Default: `keep`. */
  thinkingInPrompt?: ThinkingInPrompt;
  /**
   * Instruction files of the workspace in the system text, at most 16 paths below the folder; an empty list
   * is none. A changed file is sent with the user's next request. Default: `AGENTS.md` if the sidecar runs
   * the loop; none if the client does, because it provides its own.
   */
  instructionFiles?: string[];
  /**
   * `false` if the user does not trust the folder: its settings file and instruction files are not read,
   * and each call of a client's tool waits for the user, whatever the tool declares or was approved for
   * good before; an approval counts once. Default: true.
   */
  workspaceTrusted?: boolean;
  /** Rounds of a turn before the user is asked whether to continue, at least 1. Default: 64. */
  roundLimit?: number;
  /**
   * Size in tokens above which the model sees only head and tail of a tool's result, at most a quarter of
   * the window and never 0. The whole result is stored, and `context/recall` returns it. Earlier results
   * stay as shown. Default: 16,000.
   */
  maxToolResultTokens?: number;
  /**
   * Levels of agents that may stand below a session that a user opened: 1 lets such a session start agents
   * that start none, 0 switches `start_agent` off. Default: 2.
   */
  agentDepth?: number;
  /** Agents of one session that may be at work at the same time, at least 1. Default: 8. */
  mostAgents?: number;
  /**
   * Tokens that the agents of one session may use together, as the providers report them. Checked when an
   * agent starts and after each of its rounds. Default: 2,000,000.
   */
  agentTokens?: number;
  /** Presets that `start_agent` offers to the model. Default: none. */
  agentPresets?: AgentPreset[];
  /** Names of the sidecar's own tools to offer to the model, such as `recall` and `todo`. Default: none. */
  ownTools?: string[];
  /**
   * Milliseconds without a delta after which a model request fails. A summary or a title as a whole may
   * take five times as long, and so may the first delta of a model that the sidecar asks itself, which may
   * think first; signs of life without content extend this to at most 25 times. Default: 60,000.
   */
  modelDeadlineMs?: number;
  /**
   * Milliseconds that the user has for `compaction/review`; then the compaction is accepted, marked as
   * unreviewed. Default: 120,000.
   */
  reviewDeadlineMs?: number;
  /**
   * Milliseconds after which the call of a tool fails, whether the client runs it (`tool/invoke`) or a
   * server of the Model Context Protocol. Default: 1,800,000.
   */
  toolDeadlineMs?: number;
  /**
   * Milliseconds for which a model's output is gathered into one event; 0 sends each piece. Default: 16.
   */
  deltaIntervalMs?: number;
  /** Source of the title of a session that the client does not name. Default: `request`. */
  titles?: Titles;
  /**
   * `true` shows the folder's memories in prompts: all within a budget, the most important again at the end
   * of the system text. Read when a session is made, compacted or reset, or a compaction undone. Default:
   * false.
   */
  coreMemories?: boolean;
  /** Budget of `coreMemories`, in tokens, above 0. Default: 500. */
  coreMemoryTokens?: number;
  /**
   * `true` searches the folder's memories for each request and shows the matching ones with it, in sessions
   * whose loop the sidecar runs. Default: false.
   */
  knowledge?: boolean;
  /** Budget of `knowledge`, in tokens, above 0. Default: 500. */
  knowledgeTokens?: number;
  /**
   * `true` stores summaries of compactions as memories of the folder, area `session_summary`. Default:
   * false.
   */
  sessionSummaryToMemory?: boolean;
  /**
   * File in the workspace, `.threadhold/trajectories/{sessionId}.json`, that the session is also written to
   * at the end of each turn. Changes of that file by others are taken into the session when it is idle; a
   * revision keeps what such a change removes. Default: `off`.
   */
  trajectory?: Trajectory;
  /**
   * Parts of a turn that are kept once it is over, if the sidecar runs the loop. With the driver `editor`
   * everything is kept, because the editor would send removed messages again. Default: `full`.
   */
  transcript?: TranscriptKept;
  /** Servers of the Model Context Protocol. */
  mcp?: Mcp;
  /** Moment at which the store acknowledges a write. Default: `full`. */
  synchronous?: Synchronous;
}

/** A share of the limit, above 0 and up to 1, or a switch. `"off"` is accepted as false. */
export type ShareOrOff = boolean | number;

/**
 * The excerpt of a large result that a model sees: head and tail, with a line between them that says how to
 * fetch the rest.
 */
export interface Shown {
  /** Size of the head, in bytes. */
  headBytes: number;
  /** Size of the tail, in bytes. */
  tailBytes: number;
}

/** The whole state of a session. */
export interface Snapshot {
  /** Id of the session. */
  sessionId: string;
  /** Id of the numbering of its events; a new process starts a new stream. */
  stream: string;
  /** Number of the last event that the snapshot includes. */
  seq: number;
  /** State of the session. */
  state: State;
  /** Side that runs the loop. */
  driver: Driver;
  /** Title; absent if there is none. */
  title?: string;
  /** Counter that grows with each `session/reset`. */
  generation: number;
  /** Id of the session that started this one or that it was forked from. */
  parentId?: string;
  /** Origin of the session. */
  origin: Origin;
  /** State that the session shares under its work scope, or its own if it has none. */
  scope: Scope;
  /** Messages, in order. */
  messages: Message[];
  /**
   * Number of messages before the first of `messages`, including removed ones, if only the newest were
   * requested (`snapshotMessages`). `turns` is then empty, and `compactions` holds only the one in force.
   */
  earlierMessages?: number;
  /** Turns, in order. */
  turns: TurnView[];
  /** Queued commands, in the order in which they are carried out. */
  queue: QueueItem[];
  /** Compaction in progress. */
  compression: Compression;
  /** Answer in progress; absent if there is none. */
  streaming?: Streaming;
  /** User's unsent text; absent if there is none. */
  draft?: string;
  /** Calls that wait for the user's decision; absent if there are none. */
  pause?: Pause;
  /** Calls without a result. */
  pendingCalls: PendingCall[];
  /** All compactions, oldest first. */
  compactions: CompactionView[];
  /** Pins of the user, in the order in which they were added. */
  pins?: Pin2[];
  /** Text of the compaction in force. */
  summary?: string;
  /** Number of messages at the beginning of the session that the compaction in force covers or drops. */
  summarizedCount: number;
  /** Settings in force. */
  settings: Settings;
  /** Always absent in this version; `context/inspect` has the usage of the last answer. */
  usage?: Usage;
  /** Sessions that run in the background for this one, oldest first. */
  agents?: Agent[];
  /** `true` if the queue waits for a process that serves the folder, see `task/start`. Default: false. */
  waits?: boolean;
  /**
   * Other process that writes the session, if it is only followed here. Commands fail with
   * `SessionHeldElsewhere` until that process releases the session or ends, or until `session/takeOver`;
   * then it continues here, in a new stream.
   */
  heldBy?: HeldBy;
}

/**
 * The cost of a session's requests to models. Money that was spent stays spent, whatever is removed from
 * the session; a fork begins at nothing, and agents have their own. Requests without a word of answer and
 * without reported usage are taken to be free.
 */
export interface Spending {
  /** All requests. */
  total: Cost;
  /** Requests for answers. */
  answers: Cost;
  /** Requests for summaries, used or not. */
  summaries: Cost;
  /** Requests for titles. */
  titles: Cost;
  /**
   * `true` if the session had answers before its costs were counted, which the sums do not have: imported
   * ones, or those of an older version. Default: false.
   */
  beganLate?: boolean;
}

/** A stage of a loop. */
export interface Stage {
  /** Request of the stage. Must not be empty. */
  content: Content;
  /** Title of the stage's sessions. Default: made from `content`. */
  title?: string;
  /** Tools to offer to the model. */
  tools?: Tool[];
  /** Sections before the messages, in this order. */
  sections?: Section[];
  /** Settings of the stage's sessions. */
  settings?: Settings;
}

/** Calls of a tool that a user always allows, or always rejects. */
export interface StandingDecision {
  /** Name of the tool. */
  tool: string;
  /**
   * Calls that are meant; absent for all calls. `command=git *` matches calls whose argument `command`
   * matches `git *`, where `*` stands for any characters, in an approval except those with which a shell
   * begins another command, and `\` escapes the next one. `command^=cargo test` matches command lines by
   * words: an approval if every command of the line begins as some approval says, a rejection if any does.
   * `=` and arguments as JSON match calls with exactly these arguments.
   */
  pattern?: string;
  /** `true` if these calls are rejected. Ignored when they are revoked. Default: false. */
  rejected?: boolean;
}

/** The state of a session. */
export type State =
  /** No turn is running. */
  | "idle"
  /** A model is generating, its prompt is being prepared, or the editor's loop runs its turn. */
  | "generating"
  /** Tools are running. */
  | "executingTools"
  /** A call waits for the user's decision. */
  | "paused"
  /** A call waits for the editor's result, which may come much later. */
  | "waitingIde"
  /**
   * The turn ended with a question to the user, or waits for agents; a user's message comes first in both.
   */
  | "waitingUserInput"
  /** The turn ended with its work done. */
  | "completed"
  /** The turn ended with an error. */
  | "error";

/** The reason for an answer's end. */
export type StopReason =
  /** The answer is complete. */
  | "end"
  /** The answer reached a length limit. */
  | "length"
  /** The provider paused the answer, and continues it when it gets it back unchanged. */
  | "paused"
  /** The model waits for the results of its tool calls. */
  | "toolUse"
  /** The provider or the model refused to answer. */
  | "refused"
  /** The answer was cancelled; the partial text was shown. Set only by the sidecar. */
  | "cancelled"
  /**
   * The request failed midway; the partial text was shown. Set only by the sidecar: a client returns an
   * error.
   */
  | "failed";

/** The kind of store. */
export type StorageBackend =
  /** An SQLite file. */
  | "sqlite"
  /** A PostgreSQL database, version 15 or newer, which several machines can use. */
  | "postgres"
  /** Memory only; sessions end with the process. */
  | "memory";

/** The reason why a store cannot be used. */
export type StorageCause =
  /** The disk is full. */
  | "full"
  /** Another program keeps the store locked. */
  | "locked"
  /** The store is damaged. */
  | "corrupt"
  /** A newer version of the sidecar wrote the store. */
  | "newerSchema"
  /** The store is read-only. */
  | "readOnly"
  /** The store cannot be reached, or failed otherwise. */
  | "unavailable";

/** An open store. */
export interface StorageInfo {
  /** Folder whose sessions the store holds; empty if the client gave one path for all folders. */
  workspaceFolder: string;
  /** Kind of store. */
  backend: StorageBackend;
  /** Path of the store; absent if it has none. */
  location?: string;
  /** Version of the store's tables. */
  schemaVersion?: number;
  /** Reason why the store cannot be used at the moment; absent if it can. */
  fault?: string;
}

/** How a sidecar learns what others write to the database. */
export type StorageNotifications =
  /** By `LISTEN`, unless the server has none or a pooler is noticed. */
  | "auto"
  /**
   * By looking, four times a second while a session is open or a list is shown: for a pooler in transaction
   * mode.
   */
  | "off";

/**
 * The place where sessions are stored. What a client leaves out comes from the environment
 * (`THREADHOLD_STORAGE_BACKEND`, `THREADHOLD_STORAGE_URL` and so on), then from the table `storage` of the
 * user's settings file; a workspace's file cannot name it. Options that cannot be used fail with
 * `InvalidParams`. A server that cannot be reached does not: requests that need it fail with
 * `StorageError`.
 */
export interface StorageOptions {
  /** Kind of store. Default: `sqlite` with a `path`, `postgres` with a `url`, else `sqlite`. */
  backend?: StorageBackend;
  /**
   * Folder of one store for all workspaces. A session's id is unique in it: a request reaches sessions of
   * the folder that it names, otherwise those of the folders that the client named before. Default: a store
   * for each workspace in the platform's data folder.
   */
  path?: string;
  /**
   * URL of a PostgreSQL database, `postgres://user@host/database`, without a password. TLS is demanded
   * unless the server is on this machine or `sslmode` says otherwise. Only the URL in the environment may
   * have a password.
   */
  url?: string;
  /**
   * Name of the key that is the password, never the password itself: one that the client gave with
   * `model/key`, otherwise an environment variable. Default: `PGPASSWORD`.
   */
  passwordEnv?: string;
  /** Tenant whose sessions are read and written in that database: 1 to 64 letters, digits, `_` and `-`. */
  tenant?: string;
  /**
   * Naming of a folder's sessions in that database, where other machines have the folder under another
   * path. Default: `path`.
   */
  workspaceBy?: WorkspaceBy;
  /**
   * Name under which the sessions of the client's folder are stored in that database, in place of its path.
   */
  workspaceKey?: string;
  /** Name of this machine, as others see it where a session is open. Default: the system's. */
  hostName?: string;
  /** Use of the database's notifications about changes by other machines. Default: `auto`. */
  notifications?: StorageNotifications;
}

/** The state of a store that could not be reached. */
export type StorageState =
  /**
   * Changes wait in memory and are tried again. Their requests are answered and their events sent once they
   * are stored; other requests that need the store fail with `StorageError`.
   */
  | "waiting"
  /** All changes that waited are stored, or failed for another reason, and the store takes more. */
  | "ready"
  /**
   * The store was away for too long: what waited failed with `StorageError`. It stays in memory and is
   * tried again with the session's next change.
   */
  | "failed";

/** Parameters of `storage/updated`. */
export interface StorageUpdatedParams {
  /** Folder whose sessions the store holds; empty if one store holds those of all folders. */
  workspaceFolder: string;
  /** State of the store. */
  state: StorageState;
  /** Reason why the store cannot be reached; absent if it can. */
  fault?: string;
}

/** An answer in progress. */
export interface Streaming {
  /** Id of the message that the answer becomes. */
  messageId: string;
  /** Parts so far: text and thinking in their order, then the calls. */
  parts: Part[];
  /** Tokens used so far. */
  usage?: Usage;
  /** Sources of the answer, each in the form of the provider's wire. */
  citations?: unknown[];
  /** Data that a client keeps with the answer. */
  extra?: { [key: string]: unknown };
}

/** Last deterministic step that a compaction applied. */
export type Strength =
  /** No step was applied. */
  | "absent"
  /** Repeated content was folded. */
  | "low"
  /** Old tool results were shortened. */
  | "medium"
  /** History was limited. */
  | "high";

/** The condition under which a prompt is compacted. */
export type Summarize =
  /** If it is too large. */
  | "auto"
  /** Never: every message is shown verbatim, and an overflow fails with `BudgetExceeded`. */
  | "off";

/** The treatment of cache breakpoints in a request for a summary. */
export type SummaryBreakpoints =
  /** Breakpoints are kept. */
  | "keep"
  /** Breakpoints are left out. */
  | "strip";

/**
 * A summary that stands for a round and everything before it. Without `toolCallRoundId` and `text` it marks
 * a failed summary.
 */
export interface SummaryMetadata {
  /** Id of the round that the summary annotates. */
  toolCallRoundId?: string;
  /** Exact text in the prompt. */
  text?: string;
  /** Opaque data from which the sidecar renders the same bytes again: JSON as text. */
  threadhold?: string;
  [key: string]: unknown;
}

/** Kind of summary that is asked for. */
export type SummaryMode =
  /** Full, then simple. */
  | "auto"
  /** The model reads the conversation as it was sent. */
  | "full"
  /** The model reads a text made of the conversation. */
  | "simple";

/** The moment at which the store acknowledges a write. */
export type Synchronous =
  /** Once the disk has it: the write survives a loss of power. */
  | "full"
  /**
   * Once the operating system has it: the write survives a killed process; a loss of power may lose the
   * last writes.
   */
  | "normal";

/**
 * The times at which texts read from elsewhere, such as memories and instruction files, are refreshed in a
 * session's prompts.
 */
export type SystemPrompt =
  /** When the start of the prompt changes anyway: at the session's start, at a compaction, at a reset. */
  | "frozen"
  /** At each turn; if they changed, the prefix breaks. */
  | "perTurn";

/** A stored background session. */
export interface Task {
  /** Id of the session. */
  sessionId: string;
  /** Title; absent if there is none. */
  title?: string;
  /** State of the task. */
  state: TaskState;
  /** Time of creation, ISO-8601, UTC. */
  createdAt: string;
}

/** Parameters of `task/list`. */
export interface TaskListParams {
  /** Folder of the session. */
  workspaceFolder: string;
  /** Id of the session that the tasks run for. */
  sessionId: string;
}

/** Result of `task/list`. */
export interface TaskListResult {
  /** Background sessions of the session that have a request, oldest first. */
  tasks: Task[];
}

/** Parameters of `task/start`. */
export interface TaskStartParams {
  /** Folder of the task, as a path or a `file:` URL. */
  workspaceFolder: string;
  /** Id of the session that the task runs for. At the end it gets a message of kind `process_completed`. */
  sessionId: string;
  /** Request of the task. */
  content: Content;
  /** Settings of the task's session. Default model: the folder's, as set when the task begins. */
  settings?: Settings;
}

/** Result of `task/start`, sent once the task is stored. */
export interface TaskStartResult {
  /** Id of the task's session. */
  sessionId: string;
}

/** The state of a background session. */
export type TaskState =
  /** Waits for a process that serves the folder and can ask the task's model. */
  | "waiting"
  /** A turn runs, or waits for a user. */
  | "running"
  /** The process that ran the turn has ended. The task is not restarted by itself. */
  | "interrupted"
  /** The turn ended. */
  | "completed"
  /** The turn was cancelled. */
  | "cancelled"
  /** The turn failed. */
  | "failed";

/** A model's thinking before its answers: `off`, `adaptive`, or a number of tokens, at least 1. */
export type Thinking = ThinkingWord | number;

/**
 * Thinking of earlier answers that prompts show. Decided for each answer when it is appended; all thinking
 * is stored.
 */
export type ThinkingInPrompt =
  /** All of it. */
  | "keep"
  /** Only that of the running turn; the prefix breaks at a turn's end. */
  | "stripCompletedTurns"
  /** None. */
  | "strip";

/** The words of `Thinking`. */
export type ThinkingWord =
  /** No thinking, where the model allows that. */
  | "off"
  /** As much as the model decides. */
  | "adaptive";

/** The source of a session's title if the client sets none. */
export type Titles =
  /** The first request. */
  | "request"
  /** The first request, then the model, asked after the first turn. */
  | "model";

/** A todo. */
export interface Todo {
  /**
   * Number of the todo in its scope, by which single todos are changed. Given by the sidecar; a todo that
   * is put without one keeps the number of a known todo of the same text.
   */
  id?: number;
  /** Text of the todo. */
  content: string;
  /** Progress of the todo. */
  status: TodoStatus;
}

/** The progress of a todo. */
export type TodoStatus =
  /** Not started. */
  | "pending"
  /** In progress. */
  | "inProgress"
  /** Done. */
  | "completed";

/** A tool that is offered to the model. */
export interface Tool {
  /** Name, unique in the list. Must not be empty. */
  name: string;
  /** Description for the model. */
  description?: string;
  /** JSON Schema of the arguments. Default: an object without properties. */
  inputSchema?: unknown;
  /**
   * Effect of the tool, from which a compaction lists files read and changed and commands run. Default:
   * that of the known tool of this name.
   */
  kind?: ToolKind;
  /** Text for the system message about the use of the tool. */
  guidelines?: string;
  /** Permission to run calls of the tool. Default: `allow`. */
  policy?: ToolPolicy;
  /**
   * Rules for calls with certain arguments. The strictest matching rule replaces `policy`, unless that is
   * `deny`.
   */
  rules?: ToolRule[];
  /**
   * State in which a successful call ends the turn. Default: `completed` for tools named `task_done` and
   * `agent_finish`, `waitingUserInput` for `ask_questions` and `wait_agents`; any other does not end it.
   */
  endsTurn?: EndsTurn;
}

/** Parameters of `tool/approvals`. */
export interface ToolApprovalsParams {
  /** Folder of the decisions. Default: the client's first folder. */
  workspaceFolder?: string;
  /**
   * Session whose own approvals are meant, those of `allowForSession`, instead of the folder's. It must be
   * open here.
   */
  sessionId?: string;
  /** Approvals and rejections to revoke before the list is made. */
  revoke?: StandingDecision[];
  /**
   * Approvals and rejections to add after that. Each replaces one of the same calls. A session has no
   * rejections of its own.
   */
  add?: StandingDecision[];
}

/** Result of `tool/approvals`. */
export interface ToolApprovalsResult {
  /** Permanent approvals and rejections of the folder, or the approvals of the session. */
  decisions: StandingDecision[];
}

/** A model's call of a tool. */
export interface ToolCall {
  /** Id of the call. Must not be empty. */
  id: string;
  /** Name of the tool. */
  name: string;
  /** Arguments as JSON text. */
  arguments: Arguments;
}

/** The permission to call tools. */
export type ToolChoice =
  /** The model decides. */
  | "auto"
  /** No calls. The tools are still sent, because a provider's cache depends on them. */
  | "none";

/** Parameters of `tool/decide`. */
export interface ToolDecideParams {
  /** Id of the session. */
  sessionId: string;
  /** Decisions about waiting calls, all in one request or in several. */
  decisions: Decision[];
}

/** Result of `tool/decide`. */
export interface ToolDecideResult {
  /** State of the session afterwards. */
  state: State;
}

/** Parameters of `tool/invoke`. */
export interface ToolInvokeParams {
  /** Id of the session. */
  sessionId: string;
  /** Id of the running turn. */
  turnId: string;
  /** Id of the call. A call is sent once and not repeated after a restart. */
  toolCallId: string;
  /** Name of the tool. */
  name: string;
  /** Arguments as JSON text. */
  arguments: Arguments;
}

/** Result of `tool/invoke`: the tool's result, or `pending`. One of `content` and `pending` is required. */
export interface ToolInvokeResult {
  /** Content of the result. */
  content?: Content;
  /** `true` if the tool failed. Default: false. */
  isError?: boolean;
  /** Exit code, if the tool has one. */
  exitCode?: number;
  /** Files that the tool changed. */
  effects?: Effect[];
  /** Data that a client attached. No model sees it. */
  _meta?: { [key: string]: unknown };
  /** `true` if the result follows later with `tool/result`. Default: false. */
  pending?: boolean;
}

/** The effect of a tool. */
export type ToolKind =
  /** Shows a file. */
  | "read"
  /** Changes a file, or makes one. */
  | "edit"
  /** Deletes a file. */
  | "delete"
  /** Moves or renames a file. */
  | "move"
  /** Searches for something. */
  | "search"
  /** Runs a command. */
  | "execute"
  /** Thinks, and does nothing else. */
  | "think"
  /** Fetches something from outside. */
  | "fetch"
  /** Maintains the todo list. */
  | "todo"
  /** Asks the user. */
  | "ask"
  /** Anything else. */
  | "other";

/** The decision on a tool call, ordered by strictness. */
export type ToolPolicy =
  /** The call runs. */
  | "allow"
  /** The user decides about each call. */
  | "ask"
  /** The call never runs; its result tells the model so. */
  | "deny";

/** The result of a tool call. */
export interface ToolResult {
  /** Id of the call. */
  toolCallId: string;
  /** Content of the result. */
  content: Content;
  /** `true` if the tool failed. Default: false. */
  isError?: boolean;
  /** Exit code, if the tool has one. */
  exitCode?: number;
  /** Files that the tool changed. */
  effects?: Effect[];
  /** Data that a client attached. No model sees it. */
  _meta?: { [key: string]: unknown };
}

/** Parameters of `tool/result`. */
export interface ToolResultParams {
  /** Id of the session. */
  sessionId: string;
  /** Id of the call. */
  toolCallId: string;
  /** Content of the result. */
  content: Content;
  /** `true` if the tool failed. Default: false. */
  isError?: boolean;
  /** Exit code, if the tool has one. */
  exitCode?: number;
  /** Files that the tool changed. */
  effects?: Effect[];
  /** Data that a client attached. No model sees it. */
  _meta?: { [key: string]: unknown };
}

/** Result of `tool/result`. */
export interface ToolResultResult {
  /** State of the session afterwards. */
  state: State;
}

/** A rule for calls of a tool whose arguments match a pattern. */
export interface ToolRule {
  /**
   * Name of the argument to match. Default: all arguments, joined line by line; a rule that asks or denies
   * also matches any single line.
   */
  argument?: string;
  /**
   * Pattern: `*` stands for any characters, `\` escapes the next one. In a rule that allows, `*` does not
   * stand for characters with which a shell begins another command. Must not be empty.
   */
  pattern: string;
  /** Permission for matching calls. */
  policy: ToolPolicy;
}

/** The export of a session to a file that people and other programs may read and change. */
export type Trajectory =
  /** No file. */
  | "off"
  /** A file `.threadhold/trajectories/{sessionId}.json` in the session's workspace. */
  | "workspace";

/** Parameters of `trajectory/list`. */
export interface TrajectoryListParams {
  /** Folder of the workspace. Default: the client's first folder. */
  workspaceFolder?: string;
  /** `nextCursor` of the previous page. */
  cursor?: string;
  /** Largest number of files on the page, at most 500. Default: 50. */
  limit?: number;
}

/** Result of `trajectory/list`. From now on `sessions/changed` reports changes of these files by others. */
export interface TrajectoryListResult {
  /** Files, in the order of their names. */
  trajectories: TrajectorySummary[];
  /** `cursor` of the next page; absent on the last page. */
  nextCursor?: string;
}

/** A file in a workspace's `.threadhold/trajectories`. */
export interface TrajectorySummary {
  /**
   * Name of the file without `.json`: the session's id. `session/import` makes a session of it if there is
   * none.
   */
  chatId: string;
  /** Folder of the workspace. */
  workspaceFolder: string;
  /** The title of the conversation. */
  title?: string;
  /** Version of the file, which grows by one with each write. */
  version: number;
  /** Number of readable messages. */
  messages: number;
  /** Size of the file, in bytes. */
  bytes: number;
  /** Time of creation, ISO-8601, as the file has it. */
  createdAt?: string;
  /** Time of the last change, ISO-8601, as the file has it. */
  updatedAt?: string;
  /** Reason why the file cannot be used; absent if it can. Such a file is left alone. */
  fault?: string;
}

/** The part of a turn that is kept when it is over. */
export type TranscriptKept =
  /** Everything. */
  | "full"
  /**
   * The user messages and the final answer, with a call that ended the turn, such as a question to the
   * user. Other tool calls, their results and interrupted answers are deleted when the turn ends, from
   * prompts too, and `context/recall` reports them as deleted. Sessions whose loop the editor runs keep
   * everything.
   */
  | "finalOnly";

/** The unit of a trigger. */
export type TriggerMeasure =
  /** Tokens of the prompt. */
  | "tokens"
  /** User turns shown. */
  | "turns"
  /** Messages shown. */
  | "messages"
  /** Seconds since the last message. */
  | "seconds";

/** A trigger of compactions, and how near it is. */
export interface TriggerState {
  /** Name of the trigger. */
  trigger: CompactionTrigger;
  /** Unit of `now` and `at`. */
  measure: TriggerMeasure;
  /** Current value. */
  now: number;
  /** Value at which the trigger fires; absent if it is off. */
  at?: number;
  /**
   * New tokens required before the trigger may fire, whatever `now` is: since the last compaction (see
   * `minNewTokens`), or since one was refused, undone or failed. Absent if none are.
   */
  heldBackTokens?: number;
}

/**
 * The triggers of compactions, each set by itself; absent ones stay unchanged. A prompt over the limit and
 * a user's request always start one.
 */
export interface Triggers {
  /** `true` if a prompt that the provider rejects as too large starts a compaction. Default: true. */
  providerOverflow?: boolean;
  /**
   * Share of the limit at which a turn begins with a compaction. Default: 0.8; true is 0.8 if the policy
   * has none.
   */
  preTurnTokens?: ShareOrOff;
  /**
   * Share of the limit at which a summary is prepared beside the turn. Default: 0.75; true is 0.75 if the
   * policy has none.
   */
  background?: ShareOrOff;
  /**
   * `true` if a prompt that does not fit the next model's smaller window starts a compaction. Default:
   * true.
   */
  modelChanged?: boolean;
  /**
   * Shown user requests above which a compaction starts, and again after as many more. Default: false; true
   * is 32 if the policy has none.
   */
  userTurns?: CountOrOff;
  /**
   * Shown messages above which a compaction starts, and again after as many more. Default: false; true is
   * 40 if the policy has none.
   */
  messages?: CountOrOff;
  /** Idle seconds after which a compaction starts. Default: false; true is 900 if the policy has none. */
  idleSeconds?: CountOrOff;
}

/** A past turn in a client's history. */
export interface Turn {
  /** Sidecar's id of the turn. Ignored: turns are matched by `externalId`. */
  id?: string;
  /** Client's id of the request. Turns are matched by it, or by position and content if it is absent. */
  externalId?: string;
  /** The user's request. */
  request?: Content;
  /** Named values of the request, as given when it was first rendered. */
  variables?: Variable[];
  /** State of the notebooks when the request was first rendered. */
  notebook?: Notebook[];
  /** Attachments of the request, as given when it was first rendered. */
  attachments?: Attachment[];
  /** Rounds of the turn, in order. */
  rounds?: Round[];
  /** Final answer, for a client without rounds. Ignored if `rounds` is not empty. */
  response?: Content;
  /** The whole turn in order. If given, `request`, `rounds` and `response` are ignored. */
  messages?: MessageInput[];
  /** Metadata that the sidecar returned for the turn, unchanged. */
  metadata?: TurnMetadata;
  /** Data that a client attached to the request. No model sees it. */
  _meta?: { [key: string]: unknown };
}

/** Parameters of `turn/cancel`. */
export interface TurnCancelParams {
  /** Id of the session. */
  sessionId: string;
  /** Running or queued turn. Default: the running one. Fails with `StaleReference` if it is neither. */
  turnId?: string;
  /** `true` also empties the queue. Default: false; the next queued item starts. */
  cancelQueued?: boolean;
}

/** Result of `turn/cancel`. */
export interface TurnCancelResult {
  /** Id of the cancelled turn; absent if none was running. */
  turnId?: string;
  /** State of the session afterwards. */
  state: State;
  /** Items removed from the queue, with the user's content. */
  removed: QueueItem[];
}

/** Parameters of `turn/end`. */
export interface TurnEndParams {
  /** Id of the session. */
  sessionId: string;
  /** Id of the newest turn, which is the default. Any other fails with `StaleReference`. */
  turnId?: string;
  /** Outcome of the turn. Default: `completed`. */
  status?: TurnOutcome;
}

/** Result of `turn/end`. */
export interface TurnEndResult {
  /** Id of the turn. */
  turnId: string;
  /** All metadata of the turn: persist it with the turn and hand it back unchanged. */
  metadata: TurnMetadata;
}

/**
 * Metadata of a turn. Persist all of it with the turn, unknown keys included, and hand it back unchanged.
 * Reading is lenient: unreadable values are reported by the restore and never fail a request.
 */
export interface TurnMetadata {
  /** Newest summary of the turn. */
  summary?: SummaryMetadata;
  /** All summaries of the turn, oldest first. `summary` is read only if this is absent or empty. */
  summaries?: SummaryMetadata[];
  /**
   * Opaque data of compactions that annotate no round, because they only shortened results or dropped
   * rounds: a JSON list as text. Join the lists of several answers for one turn into one.
   */
  threadhold?: string;
  [key: string]: unknown;
}

/** The outcome of a turn, as a client reports it. */
export type TurnOutcome =
  /** The model had nothing more to do. */
  | "completed"
  /** The turn was stopped. */
  | "cancelled"
  /** An error ended the turn. */
  | "failed";

/**
 * Parameters of `turn/regenerate`: everything after the newest request is cut off, and the model answers
 * again.
 */
export interface TurnRegenerateParams {
  /** Id of the session. */
  sessionId: string;
  /** Key of this command: a repeat with the same key gets the first response and has no effect. */
  idempotencyKey?: string;
}

/** Parameters of `turn/retry`. One of `fromMessageId` and `fromIndex` is required. */
export interface TurnRetryParams {
  /** Id of the session. */
  sessionId: string;
  /** Id of the first message to cut off. A result is cut off with the message that called the tool. */
  fromMessageId?: string;
  /** Index of the message in the snapshot's `messages`, from 0. Ignored if `fromMessageId` is given. */
  fromIndex?: number;
  /** New content of the request. Default: the same request, or for a model's answer another answer. */
  content?: Content;
  /** Key of this command: a repeat with the same key gets the first response and has no effect. */
  idempotencyKey?: string;
}

/** Parameters of `turn/start`. */
export interface TurnStartParams {
  /** Id of the session. */
  sessionId: string;
  /** The user's request. Fails with `InvalidParams` if it is empty. */
  content: Content;
  /** Client's id of the request. */
  externalId?: string;
  /** Files given with the request as context. */
  contextFiles?: ContextFile[];
  /** Background of the request, such as the open files. Stored with the request and never changed there. */
  attachments?: Attachment[];
  /** Tools from now on. A changed list changes the beginning of the prompt. Default: unchanged. */
  tools?: Tool[];
  /**
   * Client's sections from now on. A changed list changes the beginning of the prompt. Default: unchanged.
   */
  sections?: Section[];
  /** Model from now on. Default: unchanged. */
  model?: Model;
  /**
   * `true` puts the request before the queue and into the running turn: an answer in progress is
   * interrupted and its text kept; the calls of a round are awaited. Default: false.
   */
  priority?: boolean;
  /**
   * Key of this request: a repeat with the same key gets the first response and has no effect. A session
   * remembers its last 1,000 keys, also across restarts.
   */
  idempotencyKey?: string;
  /** Data that a client attached. No model sees it. */
  _meta?: { [key: string]: unknown };
}

/** Result of `turn/start`, sent as soon as the request is on disk; everything else follows as events. */
export interface TurnStartResult {
  /**
   * Id of the turn. A queued request that enters the running turn belongs to that turn; its `messageAdded`
   * names it.
   */
  turnId: string;
  /** Id of the user's message. */
  messageId: string;
  /** Id in the queue; absent if the request is not queued. */
  itemId?: string;
  /** Position in the queue, from 1; absent if the request is not queued. */
  queuedPosition?: number;
}

/** The status of a turn. */
export type TurnStatus =
  /** The turn is running, or its process ended before it did. */
  | "running"
  /** The model had nothing more to do. */
  | "completed"
  /** The turn was cancelled. */
  | "cancelled"
  /** The turn failed. */
  | "failed";

/** A turn in a snapshot. */
export interface TurnView {
  /** Sidecar's id of the turn. */
  id: string;
  /** Client's id of the request. */
  externalId?: string;
  /** Status of the turn. */
  status: TurnStatus;
  /** Rounds, in order. */
  rounds: RoundView[];
  /** All metadata of the turn: persist it with the turn and hand it back unchanged. */
  metadata?: TurnMetadata;
  /** `true` if the turn was open when its process ended or its session was opened again. Default: false. */
  interrupted?: boolean;
  /** Tokens that the model used for the turn's answers, as `turnCompleted` has them. */
  usage?: Usage;
  /** Cost of the turn's answers, as `turnCompleted` has it. */
  cost?: number;
  /** Cost of the turn's answers, and where the figure is from, as `turnCompleted` has it. */
  spent?: Cost;
  /**
   * Time from the start of the turn, or of its newest run after a retry, to its end, in milliseconds;
   * absent while it runs, and if it did not run here.
   */
  durationMs?: number;
}

/** Token usage of a model request, as its provider reported it. */
export interface Usage {
  /** Input tokens, those read from and written to a cache included. */
  inputTokens?: number;
  /** Output tokens, thinking included. */
  outputTokens?: number;
  /** Input tokens read from a cache. */
  cachedInputTokens?: number;
  /** Input tokens written to a cache for later requests. */
  cacheWriteInputTokens?: number;
  /** Output tokens spent on thinking. */
  reasoningTokens?: number;
}

/** A provider's report of a prompt's size, with the sidecar's count of the same prompt. */
export interface UsageReport {
  /** Name of the model. */
  model: string;
  /** Input tokens that the provider reported. */
  reportedTokens: number;
  /** Tokens that the sidecar counted, without the learned factor. */
  countedTokens: number;
}

/** The origin of a usage report. */
export type UsageSource =
  /** The model's provider reported it with the answer. */
  | "provider"
  /** The client counted the request, because its provider reports no usage. */
  | "countTokens";

/** A named value of a request, such as a selection. */
export interface Variable {
  /** Name of the value. */
  name: string;
  /** Content of the value. */
  value: Content;
}

/** The decision about a call. */
export type Verdict =
  /** Runs the call. */
  | "allowOnce"
  /**
   * Runs the call, and similar calls of this session without asking, those of `allowAlways`, until the
   * session is closed. Not stored; `tool/approvals` lists them if it names the session.
   */
  | "allowForSession"
  /**
   * Runs the call, and from now on similar calls in this workspace without asking: those that match
   * `pattern`; without one all calls of the tool, or for a tool of kind `execute` those with the same
   * arguments.
   */
  | "allowAlways"
  /** Does not run the call; the model is informed. */
  | "rejectOnce"
  /**
   * Does not run the call, nor from now on similar calls in this workspace, without asking. Replaces an
   * approval of the same calls; `tool/approvals` revokes it.
   */
  | "rejectAlways";

/** An alternative to an undo. */
export type WayOn =
  /** Undo this newer compaction first (`context/undo`). */
  | {
      way: "undoFirst";
      /** Id of the newer compaction. */
      compactionId: string;
    }
  /** Compact again (`context/compact` with `redo`, perhaps with `focus` and `keep`). */
  | {
      way: "redo";
      /** Id of the compaction. */
      compactionId: string;
    }
  /** Pin messages that the compaction hides (`context/pin`). */
  | {
      way: "pin";
      /** Ids of messages that would fit together, the newest first. */
      messageIds: string[];
      /** Largest size of new pins together, in tokens. */
      mostTokens: number;
    }
  /** Use a model with this window, then undo. */
  | {
      way: "window";
      /** Smallest sufficient window, in tokens. */
      tokens: number;
    };

/** Source of a model's window, where no setting states it. */
export type WindowSource =
  /** The table of known models in the program. */
  | "table"
  /** The provider's list of models. */
  | "provider";

/** The name of a folder in a database that several machines use. */
export type WorkspaceBy =
  /** Its path. */
  | "path"
  /**
   * The address of its repository's remote `origin`, without user and password; the path if there is none,
   * or if another folder that this process serves has the same.
   */
  | "remote";

/** Use of the servers that files of a workspace define. */
export type WorkspaceServers =
  /** Not read. */
  | "off"
  /** Used once the user allowed the definition. */
  | "ask";

/** The change of one file. */
export interface WorktreeChange {
  /** Path from the folder on, with slashes. */
  path: string;
  /** Whether the file was there before and after. */
  kind: WorktreeChangeKind;
  /**
   * The contents before, in base64. Absent if nothing was there, if it was a link or larger than 5 MB, and
   * if the user's repository no longer has them.
   */
  before?: string;
  /** `true` if the file before may be executed. */
  executable?: boolean;
  /**
   * SHA-256 of the contents after, in hexadecimal. Absent if nothing is there, if it is a link or larger
   * than 5 MB.
   */
  after?: string;
}

/** Whether a file was there before and after a change. */
export type WorktreeChangeKind =
  /** It is new. */
  | "created"
  /** It was there and is there. */
  | "modified"
  /** It is gone. */
  | "deleted";

/** Parameters of `worktree/changes`. */
export interface WorktreeChangesParams {
  /** Folder of the snapshots. */
  workspaceFolder: string;
  /** The earlier snapshot. */
  from: string;
  /** The later snapshot. */
  to: string;
  /** `next` of the page before. */
  after?: string;
}

/** Result of `worktree/changes`: up to 1,000 changes, or about 8 MB of earlier contents. */
export interface WorktreeChangesResult {
  /** Changes in the order of their paths. */
  changes: WorktreeChange[];
  /** Where the next page begins; absent on the last one. */
  next?: string;
}

/** Parameters of `worktree/snapshot`. */
export interface WorktreeSnapshotParams {
  /** Folder whose files are stored, without those that git ignores. */
  workspaceFolder: string;
}

/** Result of `worktree/snapshot`. */
export interface WorktreeSnapshotResult {
  /**
   * Name of the snapshot. It is known until the sidecar ends, or until 64 newer ones of the folder were
   * taken. Absent if none can be taken.
   */
  snapshotId?: string;
  /**
   * Reason why none can be taken, as a phrase for the user: git is missing, the folder is a home folder or
   * too large.
   */
  unavailable?: string;
}
