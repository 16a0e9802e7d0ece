// Types of the threadhold protocol. Made by `threadhold schema --format typescript`; do not change by hand.
// Kinds of parts, events and operations that are not listed may come from a later version: ignore them.

/** The version of the protocol. */
export const PROTOCOL_VERSION = 1;

/** The types of `session/event`. */
export const EVENTS = [
  "snapshot",
  "streamStarted",
  "streamDelta",
  "streamFinished",
  "messageAdded",
  "messageUpdated",
  "messageRemoved",
  "messagesTruncated",
  "threadUpdated",
  "queueUpdated",
  "runtimeUpdated",
  "pauseRequired",
  "pauseCleared",
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
  /** Lists sessions, newest first, a page at a time. Level: core. */
  "session/list": { params: SessionListParams; result: SessionListResult };
  /** Gives what was said in a session, a page at a time from its end. Level: extras. */
  "session/messages": { params: SessionMessagesParams; result: SessionMessagesResult };
  /**
   * Asks for the events since one that the client has; answers a snapshot where they are gone. A session
   * that another process writes is followed. Level: core.
   */
  "session/subscribe": { params: SessionSubscribeParams; result: SessionSubscribeResult };
  /**
   * Takes a request of the user. With the driver `sidecar` the turn runs; with `editor` it is only
   * recorded. Level: core.
   */
  "turn/start": { params: TurnStartParams; result: TurnStartResult };
  /** Stops a turn. What was said so far stays; open calls are answered as cancelled. Level: core. */
  "turn/cancel": { params: TurnCancelParams; result: TurnCancelResult };
  /** Driver `editor`: says that the turn is over, and gets all its summaries. Level: core. */
  "turn/end": { params: TurnEndParams; result: TurnEndResult };
  /** Driver `editor`: records a model's answer with the results of its calls. Level: core. */
  "round/append": { params: RoundAppendParams; result: RoundAppendResult };
  /** Makes the messages to send to a model, and compacts where they would be too large. Level: core. */
  "prompt/render": { params: PromptRenderParams; result: PromptRenderResult };
  /** Decides about calls that wait for the user. Level: core. */
  "tool/decide": { params: ToolDecideParams; result: ToolDecideResult };
  /**
   * Shows what the prompt is made of, how near a compaction is, and who set each setting. Level: context.
   */
  "context/inspect": { params: ContextInspectParams; result: ContextInspectResult };
  /** Compacts now, again, or only says what that would do. Level: context. */
  "context/compact": { params: ContextCompactParams; result: ContextCompactResult };
  /** Takes a compaction out of force: the prompt is again what it would be without it. Level: context. */
  "context/undo": { params: ContextUndoParams; result: ContextUndoResult };
  /** Gives an accepted compaction another narrative. Level: context. */
  "context/edit": { params: ContextEditParams; result: ContextCompactResult };
  /** Leaves messages out of every prompt, until it is undone. Level: context. */
  "context/exclude": { params: ContextExcludeParams; result: ContextCompactResult };
  /** Has every prompt show a message or a text, byte for byte. Level: context. */
  "context/pin": { params: ContextPinParams; result: ContextPinResult };
  /** Takes a pin back. Level: context. */
  "context/unpin": { params: ContextUnpinParams; result: ContextPinResult };
  /**
   * Gives what a message said, byte for byte and in parts, also where a prompt shows it cut or not at all.
   * Level: context.
   */
  "context/recall": { params: ContextRecallParams; result: ContextRecallResult };
  /**
   * Finds messages by words, newest first and a page at a time, also those that a prompt does not show.
   * Level: context.
   */
  "context/search": { params: ContextSearchParams; result: ContextSearchResult };
  /**
   * Names what the tools did in all that the compaction in force keeps out of sight, also what its block
   * only counts. Level: context.
   */
  "context/ledger": { params: ContextLedgerParams; result: ContextLedgerResult };
  /** Cuts everything from a message on off, and has the model answer again. Level: edit. */
  "turn/retry": { params: TurnRetryParams; result: EditResult };
  /** Cuts the newest answer off, and has the model answer again. Level: edit. */
  "turn/regenerate": { params: TurnRegenerateParams; result: EditResult };
  /** Gives a message other words. Level: edit. */
  "message/update": { params: MessageUpdateParams; result: EditResult };
  /** Takes a message out, with what belongs to it. Level: edit. */
  "message/remove": { params: MessageRemoveParams; result: EditResult };
  /** Cuts everything from a message on off. Level: edit. */
  "message/truncate": { params: MessageTruncateParams; result: EditResult };
  /** Takes a command out of the queue. Level: edit. */
  "queue/remove": { params: QueueRemoveParams; result: QueueRemoveResult };
  /** Makes another session that goes on from here. Level: edit. */
  "session/fork": { params: SessionForkParams; result: SessionForkResult };
  /** Begins a new chat under the same id. Level: edit. */
  "session/reset": { params: SessionResetParams; result: SessionResetResult };
  /** Makes a session of a conversation that another program wrote, or of a trajectory. Level: extras. */
  "session/import": { params: SessionImportParams; result: SessionImportResult };
  /** Writes a session as a file's content. Level: extras. */
  "session/export": { params: SessionExportParams; result: SessionExportResult };
  /** Lists the trajectories of a folder, a page at a time. Level: extras. */
  "trajectory/list": { params: TrajectoryListParams; result: TrajectoryListResult };
  /** Keeps what the user typed and did not send. Level: extras. */
  "draft/set": { params: DraftSetParams; result: DraftResult };
  /** Forgets it. Level: extras. */
  "draft/clear": { params: DraftClearParams; result: DraftResult };
  /** Shows what sessions share under a name. Level: extras. */
  "scope/get": { params: ScopeGetParams; result: ScopeResult };
  /** Changes what sessions share under a name. Level: extras. */
  "scope/put": { params: ScopePutParams; result: ScopeResult };
  /** Remembers something for a folder, or changes what is remembered. Level: extras. */
  "memory/put": { params: MemoryPutParams; result: MemoryPutResult };
  /** Lists what is remembered, the most important first, a page at a time. Level: extras. */
  "memory/list": { params: MemoryListParams; result: MemoryListResult };
  /** Finds what is remembered by words. Level: extras. */
  "memory/search": { params: MemorySearchParams; result: MemoryListResult };
  /** Forgets something for good. Level: extras. */
  "memory/delete": { params: MemoryDeleteParams; result: MemoryDeleteResult };
  /** Runs stages one after the other in the background, each as a session of its own. Level: extras. */
  "loop/start": { params: LoopStartParams; result: LoopStartResult };
  /** Stops a loop and the stage that runs. Level: extras. */
  "loop/stop": { params: LoopStopParams; result: LoopStopResult };
  /**
   * Stores a request as a background session that waits; a process that serves its folder runs it, this one
   * or another. Level: extras.
   */
  "task/start": { params: TaskStartParams; result: TaskStartResult };
  /**
   * Lists the background sessions of a session, each with how it stands, whichever process runs it. Level:
   * extras.
   */
  "task/list": { params: TaskListParams; result: TaskListResult };
  /** Lists what was approved in a folder once and for all, and takes it back. Level: extras. */
  "tool/approvals": { params: ToolApprovalsParams; result: ToolApprovalsResult };
  /**
   * Brings the result of a call that was answered with `pending`, or that a restart left open. Level:
   * extras.
   */
  "tool/result": { params: ToolResultParams; result: ToolResultResult };
  /** Changes settings or the title of a session. Level: extras. */
  "session/configure": { params: SessionConfigureParams; result: SessionConfigureResult };
  /**
   * Makes this process the writer of a session that another one holds. What runs there is stopped, its
   * client is told by `sessionTakenOver` and follows. Level: extras.
   */
  "session/takeOver": { params: SessionTakeOverParams; result: SessionOpenResult };
  /** Closes a session; it stays on disk. Level: extras. */
  "session/close": { params: SessionCloseParams; result: SessionCloseResult };
  /** Deletes a session for good. Level: extras. */
  "session/delete": { params: SessionDeleteParams; result: SessionDeleteResult };
  /** Shows versions, stores, open sessions and what is under way. Level: extras. */
  "server/diagnostics": { params: ServerDiagnosticsParams; result: ServerDiagnosticsResult };
  /**
   * Gives a key for models that the sidecar asks itself. It is kept in memory, and nowhere else. Level:
   * core.
   */
  "model/key": { params: ModelKeyParams; result: ModelKeyResult };
}

/** Notifications of the client to the sidecar. */
export interface ClientNotifications {
  /** Streams an answer to `model/complete`. Level: core. */
  "model/delta": { params: ModelDeltaParams };
}

/** Requests of the sidecar to the client. */
export interface SidecarRequests {
  /**
   * Asks the client's model. The client streams with `model/delta` and then answers. A request that the
   * provider finds too large is an error with the data `{kind: "contextOverflow", limit?, needed?}`, in the
   * provider's tokens; its words are understood too. Level: core.
   */
  "model/complete": { params: ModelCompleteParams; result: ModelCompleteResult };
  /** Has a tool run. Level: core. */
  "tool/invoke": { params: ToolInvokeParams; result: ToolInvokeResult };
  /** Asks the user about calls. Without an answer the session pauses until `tool/decide`. Level: core. */
  "tool/requestPermission": { params: RequestPermissionParams; result: RequestPermissionResult | null };
  /**
   * Asks the user about a compaction before it holds, where the setting `compaction` is `ask`. Level:
   * context.
   */
  "compaction/review": { params: CompactionReviewParams; result: CompactionReviewResult | null };
  /** Has texts counted by the client's model. Level: extras. */
  "model/countTokens": { params: ModelCountTokensParams; result: ModelCountTokensResult };
}

/** Notifications of the sidecar to the client. */
export interface SidecarNotifications {
  /** Tells what happened in a session. Level: core. */
  "session/event": { params: SessionEvent };
  /**
   * Tells that the list of sessions changed; once it was asked for, also by other processes. A row may come
   * twice. Level: extras.
   */
  "sessions/changed": { params: SessionsChangedParams };
  /** Tells how a loop stands. Level: extras. */
  "loop/updated": { params: LoopUpdatedParams };
  /** Tells what a model used. Level: extras. */
  "model/usage": { params: ModelUsageParams };
}

/** Calls of a tool that a user approved once and for all. */
export interface Approved {
  /** The tool. */
  tool: string;
  /**
   * Which calls: `command=git *` are those whose argument `command` looks like `git *`, where `*` stands
   * for any characters but those with which a shell begins another command, and `\` takes the next one as
   * it is; `=` and arguments as JSON are those with these arguments exactly. All calls where it is missing.
   */
  pattern?: string;
}

/**
 * The arguments of a call: JSON text as the model wrote it, which may be broken. An object is taken too;
 * what the sidecar sends is always text.
 */
export type Arguments = string | { [key: string]: unknown };

/** Something that a session made. */
export interface Artifact {
  /** Its id. */
  id: string;
  /** Its name, for people. */
  name: string;
  /** What it is, in the client's words. */
  kind: string;
  /** Where its content is, such as a path or an address. */
  contentRef: string;
}

/**
 * What a model answered, as a client gives it within a round. A whole message of role `assistant` is one
 * too.
 */
export interface AssistantInput {
  /** The id that the editor uses for it. */
  externalId?: string;
  /** Text, thinking and tool calls in their order. `content` is taken as its name too. */
  parts: Content;
  /** When it was said, ISO-8601, UTC. */
  createdAt?: string;
  /** What the model's answer used. */
  usage?: Usage;
  /** Where the model's answer has its words from, each in the form of the provider's own wire. */
  citations?: unknown[];
  /** What the client keeps with the model's answer. No model sees it. */
  extra?: { [key: string]: unknown };
}

/**
 * What is so when a request is made, such as the open files or the date: background, captured with the
 * message that it first appears in and never changed there. What differs later travels with a later
 * message.
 */
export interface Attachment {
  /** What it is. Of several that wait under one name the newest is shown. */
  name: string;
  /** Its text. */
  text: string;
}

/** The word for what is found out. */
export type Auto =
  /** It is found out. */
  | "auto";

/** How a call ended. */
export type CallOutcome =
  /** It answered, and did not say that it failed. */
  | "ok"
  /** It said that it failed, or its exit code was not 0. */
  | "error"
  /** No result was recorded. */
  | "unknown";

/** The five channels through which anything reaches a model. */
export type Channel =
  /** System text and tools. */
  | "system"
  /** Memories. */
  | "memory"
  /** The block of a compaction. */
  | "summary"
  /** Messages of the past, and user messages kept of what was compacted. */
  | "history"
  /** The current request and its rounds. */
  | "input";

/** What a client can be asked for. It is never asked for anything else. */
export interface ClientCapabilities {
  /** `model/complete`. */
  modelComplete?: boolean;
  /** `model/countTokens`. */
  countTokens?: boolean;
  /** `tool/invoke`. */
  toolInvoke?: boolean;
  /** `tool/requestPermission`. */
  requestPermission?: boolean;
  /** `compaction/review`. */
  compactionReview?: boolean;
}

/** Who a client is. */
export interface ClientInfo {
  /** Its name. */
  name: string;
  /** Its version. */
  version?: string;
}

/** How a compaction was made. */
export type CompactionMode =
  /** Old tool results were shortened. No model is asked for that. */
  | "limitHistory"
  /** A model summed up the conversation as it was sent. */
  | "full"
  /** A model summed up a text made of the conversation. */
  | "simple"
  /** What was done and which names were used, without a model. */
  | "ledger"
  /** Whole old rounds were dropped, without a model. */
  | "dropped"
  /** The user left messages out. */
  | "excluded"
  /** The user changed the summary of an accepted one. */
  | "edited";

/** How far a compaction is. */
export type CompactionPhase =
  /** A prompt is too large, or somebody asked. */
  | "started"
  /** A model is asked for a summary. */
  | "summarizing"
  /** It is done, on disk, and the prompt obeys it. */
  | "accepted"
  /** A model's summary was refused. */
  | "refused"
  /** The next way is tried. */
  | "fellBack"
  /** The user is asked about it. */
  | "reviewing"
  /** It was cancelled; everything is as before. */
  | "cancelled"
  /** Nothing makes the prompt fit; everything is as before. */
  | "cannotFit"
  /** What it stands for was changed or cut off: the prompt obeys it no longer. */
  | "voided"
  /** The user took it out of force, or put another one in its place. */
  | "undone";

/** A compaction that was not made. */
export interface CompactionPreview {
  /** How it would be made if no model could be asked. */
  mode: CompactionMode;
  /** Whether a model would be asked for a summary, whose words would stand in the block too. */
  asksModel: boolean;
  /** The text that would stand in the prompt. */
  block: string;
  /** The first message that it would stand for. */
  coversFromOrd?: number;
  /** The last message that it would stand for. */
  coversToOrd?: number;
  /** Rounds that it would stand for. */
  numRounds: number;
  /** User messages of them that would stay, byte for byte, by id. */
  keptUserIds: string[];
  /** What else the prompt would not show as it was said. */
  cuts: Cut[];
  /** Tokens of the prompt now. */
  tokensBefore: number;
  /** Tokens of the same prompt afterwards. */
  tokensAfter: number;
  /** Who counted. */
  estimator: string;
}

/**
 * Parameters of `compaction/review`. The compaction does not hold yet; without an answer in time it will,
 * marked as unreviewed.
 */
export interface CompactionReviewParams {
  /** The session. */
  sessionId: string;
  /** What would hold. */
  compaction: CompactionView;
  /** Messages that no prompt would show any more, and that its block does not stand for. */
  dropped: DroppedMessage[];
}

/**
 * Result of `compaction/review`. A client that has no answer sends null: it holds, marked as unreviewed.
 */
export interface CompactionReviewResult {
  /** What the user says. */
  decision: ReviewDecision;
  /** The narrative's new words, with `edit`. Its size has the same limit as a model's. */
  text?: string;
}

/** Whether a compaction is obeyed. */
export type CompactionStatus =
  /** The prompt obeys it, unless a newer one is in force. */
  | "inForce"
  /** What it stands for is no longer in the session. */
  | "void"
  /** The user took it out of force. */
  | "undone"
  /** It was found in an import; the prompt starts from the originals. */
  | "recorded";

/** What started a compaction. */
export type CompactionTrigger =
  /** A prompt was over its limit. */
  | "budgetExceeded"
  /** A provider said that a prompt was too large. */
  | "providerOverflow"
  /** A prompt was near its limit when a turn began. */
  | "preTurnTokens"
  /** It was prepared beside a running turn, and then needed. */
  | "background"
  /** The next model's window was smaller. */
  | "modelChanged"
  /** So many user turns were shown. */
  | "userTurns"
  /** So many messages were shown. */
  | "messages"
  /** Nothing was said for so long. */
  | "idle"
  /** Somebody asked for it. */
  | "manual"
  /** A client's history brought a summary that says no more than a round and a text. */
  | "restored"
  /** The source of an import had compacted here. */
  | "recorded";

/** A compaction. */
export interface CompactionView {
  /** Its id. */
  id: string;
  /** Whether it is obeyed. */
  status: CompactionStatus;
  /** How it was made. */
  mode: CompactionMode;
  /** What was asked for. */
  modeRequested: SummaryMode;
  /** What started it. */
  trigger: CompactionTrigger;
  /** The round that carries it as its `summary`. */
  anchorRoundId: string;
  /** The first message that its block stands for. */
  coversFromOrd?: number;
  /** The last message that its block stands for. */
  coversToOrd?: number;
  /** Where its block stands. */
  placement: Placement;
  /** The exact text that stands in the prompt; may be empty where results were only shortened. */
  block: string;
  /** Tokens of the prompt before. */
  tokensBefore: number;
  /** Tokens of the same prompt afterwards. */
  tokensAfter: number;
  /** Who counted. */
  estimator: string;
  /** Rounds that its block stands for. */
  numRounds: number;
  /** What the summary was to keep in view. */
  focus?: string;
  /** Whether the user was asked about it and said nothing in time. Missing: no. */
  unreviewed?: boolean;
  /** The model that wrote the summary. */
  model?: string;
  /**
   * How often a model was asked once more for that summary, beside what `fallbacks` say: for another piece,
   * for a shorter one, or in the place of another model. Missing: not once.
   */
  askedAgain?: number;
  /** Messages that the user left out, by id. Newer compactions carry them on. */
  excludedIds?: string[];
  /** The compaction that this one was put in the place of; undoing this one brings it back. */
  replaces?: string;
  /** Ways that did not serve, in their order. */
  fallbacks: Fallback[];
  /** How far the deterministic steps went. */
  strength: Strength;
  /** When it was made, ISO-8601, UTC. */
  createdAt?: string;
  /** From the overflow to the acceptance, in milliseconds. */
  durationMs?: number;
  /** The turn that ran when it was made; its metadata belongs to that turn. */
  turnId?: string;
  /**
   * What a client persists of it among the `summaries` of its turn. Missing where it stands for nothing by
   * itself: it only shortened results, or dropped rounds. Then it annotates no round.
   */
  metadata?: SummaryMetadata;
  /**
   * What a client persists of it where it annotates no round: an entry of `threadhold` in the metadata of
   * its turn.
   */
  threadhold?: string;
}

/** Whether a session is being compacted. */
export interface Compression {
  /** Whether it is. */
  running: boolean;
  /** How far it is. */
  phase?: CompactionPhase;
  /** The kind of compaction that is tried. */
  mode?: CompactionMode;
  /** Why it was begun, for people. */
  reason?: string;
}

/** Who decides about a compaction that nobody asked for. */
export type Consent =
  /** Nobody: it is made. */
  | "auto"
  /** The user, by `compaction/review`; no answer in time accepts it. */
  | "ask"
  /** It is not made: at the hard limit the steps that need no model act. */
  | "off";

/** What a client gives as content: a text, or a list of parts. It is always given back as a list. */
export type Content = string | Part[];

/** Parameters of `context/compact`. */
export interface ContextCompactParams {
  /** The session. */
  sessionId: string;
  /** What the summary should not lose, in the user's words. */
  focus?: string;
  /**
   * The newest compaction in force, to be made again from the originals. It goes out of force when the new
   * one is made, and stays where none is.
   */
  redo?: string;
  /** Messages that the new one must not hide: they are pinned with it. */
  keep?: string[];
  /** Only says what would be done, without asking a model; nothing changes. Default: false. */
  preview?: boolean;
  /** Reports progress with `$/progress`. */
  workDoneToken?: ProgressToken;
}

/** Result of `context/compact`, `context/exclude` and `context/edit`. */
export interface ContextCompactResult {
  /** The compaction that was made. */
  compaction?: CompactionView;
  /** The metadata that is new: persist it with the turn and hand it back unchanged. */
  metadata?: TurnMetadata;
  /** What would be done, where only that was asked. */
  preview?: CompactionPreview;
  /** Why nothing was compacted. */
  reason?: string;
}

/** Parameters of `context/edit`. */
export interface ContextEditParams {
  /** The session. */
  sessionId: string;
  /** The newest compaction in force. */
  compactionId: string;
  /** What stands in the place of the model's words. Everything else of the block stays. */
  narrative: string;
}

/** Parameters of `context/exclude`. */
export interface ContextExcludeParams {
  /** The session. */
  sessionId: string;
  /** Messages that no prompt shows from now on; calls and their results go together. */
  messageIds: string[];
}

/** A file given as context. */
export interface ContextFile {
  /** Its path, as the editor names it. */
  path: string;
  /** Its text. */
  text: string;
}

/** Parameters of `context/inspect`. */
export interface ContextInspectParams {
  /** The session. */
  sessionId: string;
}

/** Result of `context/inspect`. */
export interface ContextInspectResult {
  /** The prompt's size in tokens. */
  tokens: number;
  /** The most it may weigh, in tokens. */
  limit: number;
  /** The model's window in tokens. */
  window: number;
  /**
   * Who counted: the vocabulary, `×` the factor of the model where one is known, behind `reported+` where
   * the last report of its provider is in it.
   */
  estimator: string;
  /** How well that is known. */
  estimate: Estimate;
  /** What it is made of, in order. */
  sections: SectionTokens[];
  /** New tokens that fit before the nearest compaction that sizes set off, as in `contextUpdated`. */
  tokensUntilCompaction: number;
  /** All compactions, oldest first. */
  compactions: CompactionView[];
  /** What became of the session's messages. */
  coverage: Coverage;
  /** What is not in the prompt as it was said. */
  cuts: Cut[];
  /** What the user pinned, in the order in which it was. */
  pins: Pin2[];
  /** What starts a compaction, and how near it is. */
  triggers: TriggerState[];
  /** What the model reported for its last answer. */
  usage?: Usage;
  /**
   * The most that the model's provider turned out to take, in tokens, where it found a prompt too large. It
   * binds `limit` until the model, its window or the chat is another one.
   */
  learnedLimit?: number;
  /** Each setting with its value and who set it. */
  settings: SettingInForce[];
}

/** Parameters of `context/ledger`. */
export interface ContextLedgerParams {
  /** The session. */
  sessionId: string;
  /**
   * Where the page begins: `nextCursor` of the one before. It holds while the same compaction is in force.
   */
  cursor?: string;
  /** The most entries to answer, from 1 to 1,000. Default: 200. */
  limit?: number;
}

/**
 * Result of `context/ledger`: all that the tools did in what the compaction in force covers or has dropped,
 * by name, also what its block only counts. It is read from the conversation itself, by code. A page fills
 * the lists in the order in which they stand here, each with the newest first; what looks like a secret is
 * masked. User messages that are not shown whole are among `cuts` of `context/inspect`.
 */
export interface ContextLedgerResult {
  /** The compaction in force; missing where there is none, and then all lists are empty. */
  compactionId?: string;
  /** The first message that it covers or has dropped. */
  fromOrd?: number;
  /** The last one. */
  toOrd?: number;
  /** Entries on all pages together. */
  entries: number;
  /** Files that were changed, read, or named in a command. */
  files: LedgerFile[];
  /** Commands that were run. */
  commands: LedgerCommand[];
  /** The last run of tests. */
  lastTest?: LedgerTest;
  /** Todos that are open, from the newest list, in its order. */
  todos: LedgerTodo[];
  /** What the user decided about calls. */
  decisions: LedgerDecision[];
  /** Notebook cells that were run. */
  cells: LedgerCell[];
  /** Calls of tools that change or run something, whose arguments could not be read. */
  unreadable: LedgerUnreadable[];
  /** Pictures that no kept message shows. */
  images: LedgerImage[];
  /** Where the next page begins; missing where this is the last. */
  nextCursor?: string;
}

/** Parameters of `context/pin`: a message or a text. */
export interface ContextPinParams {
  /** The session. */
  sessionId: string;
  /** The message. */
  messageId?: string;
  /** The text. */
  text?: string;
}

/** Result of `context/pin`. */
export interface ContextPinResult {
  /** The pin, new or known. */
  pinId: string;
  /** All pins. */
  pins: Pin2[];
}

/** Parameters of `context/recall`. */
export interface ContextRecallParams {
  /** The session. */
  sessionId: string;
  /** A message's id, or a tool call's id for its result. */
  ref: string;
  /**
   * Where to begin, in bytes of the message's text; an offset inside a character is that character's start.
   * Default: 0.
   */
  offset?: number;
  /**
   * The most to answer, in bytes, above 0; a single character that is longer comes whole. Default: 262,144.
   */
  limit?: number;
}

/**
 * Result of `context/recall`: a part of a message's text, byte for byte. The text of a user message or a
 * result is its parts, a line break between them, files behind their name, pictures named in their place;
 * that of a model's answer is what it said and thought, then a line for each call with its tool and its
 * arguments.
 */
export interface ContextRecallResult {
  /** What was asked for. */
  ref: string;
  /** The part. */
  text: string;
  /** Where it begins, in bytes. */
  offset: number;
  /** Bytes of the whole text. */
  totalBytes: number;
  /** Where the next part begins; missing where this is the last. */
  nextOffset?: number;
  /** SHA-256 of the whole text, lower-case hexadecimal. */
  sha256: string;
}

/** Parameters of `context/search`. */
export interface ContextSearchParams {
  /** The session. */
  sessionId: string;
  /**
   * Words that a message must hold, each of them, in any case, also as a part of something longer. There
   * are no operators. Of more than 32 different words the first 32 count.
   */
  query: string;
  /** Where the page begins: `nextCursor` of the one before. */
  cursor?: string;
  /** The most messages to answer, from 1 to 100. Default: 20. */
  limit?: number;
}

/** Result of `context/search`. */
export interface ContextSearchResult {
  /** What was found, the newest first. */
  hits: SearchHit[];
  /** Where the next page begins; missing where this is the last. */
  nextCursor?: string;
}

/** Parameters of `context/undo`. */
export interface ContextUndoParams {
  /** The session. */
  sessionId: string;
  /** The newest compaction in force. Default: that one. */
  compactionId?: string;
}

/** Result of `context/undo`. */
export interface ContextUndoResult {
  /** The compaction that the prompt obeys no longer. */
  compactionId: string;
  /** The one that it obeys now. */
  inForceId?: string;
  /** The turn whose metadata the compaction was part of. */
  turnId?: string;
  /** All of that turn's metadata as it is now: put it in the place of what was persisted. */
  metadata: TurnMetadata;
}

/** Parameters of `context/unpin`. */
export interface ContextUnpinParams {
  /** The session. */
  sessionId: string;
  /** The pin. */
  pinId: string;
}

/** A number, or that it is found out. */
export type CountOrAuto = Auto | number;

/** A number, at least 1, or whether there is one; `"off"` is taken as false. */
export type CountOrOff = boolean | number;

/**
 * Numbers of messages by what became of them in the prompt. Together they are all messages of the session.
 */
export interface Coverage {
  /** Shown whole. */
  raw: number;
  /** Shown in part. */
  shortened: number;
  /** The block of the compaction in force stands for them. */
  covered: number;
  /** Left out and reported. */
  dropped: number;
  /** Not for the model. */
  hidden: number;
}

/** Something that the session or the caller has and the prompt has not, or not whole. */
export interface Cut {
  /** The position of the message, if it is one. */
  ord?: number;
  /** Under which `context/recall` gives all of it, where it belongs to a session that is kept. */
  ref?: string;
  /** SHA-256 of what that gives, lower-case hexadecimal. */
  sha256?: string;
  /** Why. */
  reason: CutReason;
  /** Bytes of the original. */
  originalBytes: number;
  /** Bytes of it that the prompt still shows. */
  keptBytes: number;
}

/** Why something was cut. */
export type CutReason =
  /** A system message of the history; a prompt has one system message only. */
  | "systemInHistory"
  /** A tool result that answers no call of its round. */
  | "strayResult"
  /** A tool result, shortened to its beginning and its end. */
  | "shortened"
  /** A file's content that a newer result shows again. */
  | "repeated"
  /** A round that was dropped without a summary. */
  | "dropped"
  /** The user left it out. */
  | "excluded"
  /** A user message over the budget for user messages. */
  | "userMessage"
  /** A call without a result; a stand-in that says so answers it. */
  | "unansweredCall"
  /** A section of the caller over its own ceiling. */
  | "section"
  /**
   * Thinking of an answer: the model takes it back only behind the prompt that it followed, and this is
   * another one.
   */
  | "thinking";

/** The user's decision about one call. */
export interface Decision {
  /** The call. */
  toolCallId: string;
  /** What was decided. */
  decision: Verdict;
  /** The user's words, which the model is told. */
  note?: string;
  /**
   * With `approveAlways`: which later calls, by one argument: its name, `=`, and how it looks as in a
   * tool's rule that allows, such as `command=git *`.
   */
  pattern?: string;
}

/** A change of an answer that is being written. Operations that a receiver does not know are ignored. */
export type DeltaOp =
  /** Text goes on. */
  | {
      op: "appendContent";
      /** What is added. */
      text: string;
    }
  /** Thinking goes on. */
  | {
      op: "appendReasoning";
      /** What is added. */
      text: string;
    }
  /** These are the calls, in the place of those before. */
  | {
      op: "setToolCalls";
      /** All calls so far. */
      toolCalls: ToolCall[];
    }
  /** The arguments of a call go on. */
  | {
      op: "appendToolArguments";
      /** The call; it must have been set before. */
      callId: string;
      /** What is added. */
      text: string;
    }
  /**
   * What the provider says of its thinking so far: blocks in its own form, such as `{type, index, thinking,
   * signature}`. A block is the one before it with its type and index, else type and id, else type and
   * signature; else it is the first unsigned thinking without any of these whose text it repeats or goes on
   * with; else it is new. Its text takes the place of the text that it begins with, and stands behind any
   * other.
   */
  | {
      op: "setThinkingBlocks";
      /** Blocks, those that were set before or others. */
      blocks: { [key: string]: unknown }[];
    }
  /** Says where words of the answer are from. */
  | {
      op: "addCitation";
      /** In the form of the provider's own wire. */
      citation: unknown;
    }
  /** A block that the provider made by itself comes next, such as the result of a search. */
  | {
      op: "addServerContentBlock";
      /** In the form of the provider's own wire. */
      block: unknown;
    }
  /** Says what was used so far. A counter never goes back. */
  | {
      op: "setUsage";
      /** What the provider reports. */
      usage: Usage;
    }
  /**
   * Keeps something with the answer that no model sees. Objects are merged key by key, 64 levels deep; any
   * other value, null and lists too, takes the place of the one before.
   */
  | {
      op: "mergeExtra";
      /** What is to be kept. */
      extra: { [key: string]: unknown };
    };

/** Something that went otherwise than asked, and is no error. */
export interface Diagnostic {
  /** A word for programs, such as `ignoredPart`. */
  kind: string;
  /** What happened, for people. */
  message: string;
}

/** Parameters of `draft/clear`. */
export interface DraftClearParams {
  /** The session. */
  sessionId: string;
}

/** Result of `draft/set` and `draft/clear`: it is on disk. */
export type DraftResult = Record<string, never>;

/** Parameters of `draft/set`. */
export interface DraftSetParams {
  /** The session. */
  sessionId: string;
  /** What the user typed and did not send; it is kept across restarts. */
  text: string;
}

/** Who runs the loop of a session. A session keeps its driver for life. */
export type Driver =
  /** The sidecar: it asks the model and has the tools run. */
  | "sidecar"
  /** The editor: it asks the sidecar for prompts only. */
  | "editor";

/** A message that would be left out. */
export interface DroppedMessage {
  /** Its id. */
  messageId: string;
  /** Its place in the session. */
  ord: number;
  /** Its size in bytes. */
  bytes: number;
}

/** Result of a command that is carried out at once, or waits while something runs. */
export interface EditResult {
  /** The turn that runs now. */
  turnId?: string;
  /** The message that it is about. */
  messageId?: string;
  /** The session that keeps everything as it stood. */
  fork?: string;
  /** Where it has to wait: its id in the queue. */
  itemId?: string;
  /** Its place in the queue, from 1. */
  queuedPosition?: number;
}

/** A file that a tool changed. */
export interface Effect {
  /** Its path. */
  path: string;
  /** SHA-256 of its content after the change, lower-case hexadecimal. */
  sha256: string;
}

/** The state in which a tool ends a turn. */
export type EndsTurn =
  /** The work is done. */
  | "completed"
  /** The user has to say something. */
  | "waitingUserInput";

/** The `data` of an error: its kind, with what belongs to that kind. */
export type ErrorData =
  /** The body is no JSON. It is answered with the id null, and the stream goes on with the next message. */
  | {
      kind: "ParseError";
    }
  /** The body is JSON and no request. */
  | {
      kind: "InvalidRequest";
    }
  /** No method has this name. */
  | {
      kind: "MethodNotFound";
      /** What was asked for. */
      method: string;
    }
  /** A field is missing, of the wrong type, or not possible. */
  | {
      kind: "InvalidParams";
      /** Where, such as `history[2].rounds[0].assistant.parts`; empty for the whole. */
      field: string;
      /** What is wrong with it. */
      reason: string;
    }
  /** A defect of the sidecar. The session that it struck is closed; others go on. */
  | {
      kind: "InternalError";
    }
  /** `initialize` comes first. */
  | {
      kind: "NotInitialized";
    }
  /** The client took the request back. */
  | {
      kind: "Cancelled";
    }
  /** The client speaks a version of the protocol that is not known. */
  | {
      kind: "UnsupportedVersion";
      /** What it speaks. */
      asked: number;
      /** The versions that are known. */
      supported: number[];
    }
  /** There is no session of this id. */
  | {
      kind: "UnknownSession";
      /** The id. */
      sessionId: string;
    }
  /** A turn, a call or a stream of this id is not there, or no longer. */
  | {
      kind: "StaleReference";
      /** The field that names it. */
      field: string;
      /** The id. */
      id: string;
    }
  /** The session's state, or its driver, does not take this. */
  | {
      kind: "InvalidState";
      /** The state. */
      state: State;
      /** The methods that it takes. */
      accepts: string[];
    }
  /** Too many requests wait in the session. */
  | {
      kind: "QueueFull";
      /** The most that may wait. */
      limit: number;
    }
  /** The prompt is over its limit, and compaction is off or was not asked for. */
  | {
      kind: "BudgetExceeded";
      /** The most it may weigh, in tokens. */
      limit: number;
      /** What it would weigh, in tokens. */
      needed: number;
      /** What it is made of. */
      sections: SectionSize[];
    }
  /** Nothing makes the prompt fit. Nothing was sent, nothing was lost. */
  | {
      kind: "CannotFit";
      /** The model's window in tokens. */
      window: number;
      /** The most it may weigh, in tokens. */
      limit: number;
      /** The least it would weigh, in tokens. */
      needed: number;
      /** What cannot be given up, with its size. */
      sections: SectionSize[];
    }
  /** The model failed. */
  | {
      kind: "ProviderError";
      /** Who: the wire's name, or `editor` where the client asks it. */
      provider: string;
      /** The status of HTTP, where there is one. */
      status?: number;
      /**
       * Why, as a word for programs: the class of a provider's error (`rateLimited`, `quota`, `overloaded`,
       * `auth`, `network`, `refused`, `corruptStream`, `badRequest`, `contextOverflow`), `timeout`,
       * `length`, or `client` where the client's model failed.
       */
      cause: string;
      /** Milliseconds after which it is worth trying again. */
      retryAfterMs?: number;
      /** The beginning of what it said, without secrets. */
      excerpt?: string;
    }
  /**
   * Another process writes the session. It can be followed here: `session/subscribe`, or `session/open`
   * with `follow`; or taken over: `session/takeOver`. Nothing of what was asked is stored.
   */
  | {
      kind: "SessionHeldElsewhere";
      /** The session. */
      sessionId: string;
      /** That process. */
      pid: number;
      /** Since when, ISO-8601, UTC. */
      since: string;
    }
  /** The store cannot be read or written. What it has is untouched. */
  | {
      kind: "StorageError";
      /** Why. */
      cause: StorageCause;
      /** The file or folder. */
      path?: string;
    }
  /** The format is not known. */
  | {
      kind: "UnsupportedFormat";
      /** What was asked for. */
      format: string;
      /** What is known. */
      known: string[];
    }
  /** Something is over a fixed limit. */
  | {
      kind: "TooLarge";
      /** What, such as `body`. */
      what: string;
      /** The most that is taken, in bytes. */
      limit: number;
      /** Its size in bytes. */
      actual: number;
    }
  /**
   * A compaction cannot be undone as things are: a newer one hides it, or the prompt would not fit without
   * it. Nothing changed.
   */
  | {
      kind: "CannotUndo";
      /** The compaction. */
      compactionId: string;
      /** The most that a prompt may weigh, in tokens; 0 where size is not the reason. */
      limit: number;
      /** What it would weigh without the compaction, in tokens; 0 where size is not the reason. */
      needed: number;
      /** What it would be made of. */
      sections: SectionSize[];
      /** What can be done, the least change first. */
      ways: WayOn[];
    }
  /** Too many requests have no answer yet. Send it again when one of them has. */
  | {
      kind: "Overloaded";
      /** The most that there may be. */
      limit: number;
    };

/** How well tokens are known, beside what a provider says of them. */
export interface Estimate {
  /** What counts are taken times for this model, learned from its reports; 1 before. */
  factor: number;
  /** The share of the window that is kept back for the error; it follows the measured one. */
  margin: number;
  /** The last report of the model's provider, while the prompt begins with the one that it was about. */
  lastReport?: UsageReport;
}

/** The error that ended a turn. */
export interface EventError {
  /** Its number. */
  code: number;
  /** What happened, what was kept, what to do. */
  message: string;
  /** Its kind, with what belongs to that kind. */
  data: ErrorData;
}

/** What a session is written as. */
export type ExportFormat =
  /** Our own, a line for each message. */
  | "jsonl"
  /** One JSON object, with what another program that wrote it keeps there. */
  | "trajectory"
  /** Text for people. Nothing reads it back. */
  | "markdown";

/** A way of compacting that did not serve. */
export interface Fallback {
  /** The way. */
  mode: CompactionMode;
  /** Why, for people and logs. */
  reason: string;
  /** How often a model was asked for it, in vain. Missing where an older version made the compaction. */
  asked?: number;
}

/** A process that writes a session. */
export interface HeldBy {
  /** The process. */
  pid: number;
  /** Since when, ISO-8601, UTC. */
  since: string;
}

/** What a client puts into `initializationOptions.threadhold` of `initialize`. */
export interface InitializeOptions {
  /** The version of the protocol that the client speaks: 1. */
  protocolVersion: number;
  /** Where sessions are kept. Default: the platform's folder for data. */
  storage?: StorageOptions;
  /** Who the client is. */
  client?: ClientInfo;
  /** What the client can be asked for. Default: nothing. */
  capabilities?: ClientCapabilities;
  /** Settings of all sessions. */
  settings?: Settings;
}

/** The user's current request. */
export interface Input {
  /** The client's id of the request. */
  externalId?: string;
  /** What the user asks. */
  content: Content;
}

/** A key. It is never shown, logged or stored. */
export type Key = string;

/** A notebook's cell. */
export interface LedgerCell {
  /** The cell. */
  cell: string;
  /** The notebook, where the call named it. */
  notebook?: string;
  /** How its last run ended. */
  outcome: CallOutcome;
  /** The exit code that the tool stated. */
  exitCode?: number;
  /** What that put out: `text`, `image`, `file`. */
  output: string[];
  /** How often it ran. */
  times: number;
  /** The message with the last run, for `context/recall`. */
  messageId: string;
}

/** A command, once for each way in which it ended. */
export interface LedgerCommand {
  /** The command on one line, cut behind 400 bytes. */
  command: string;
  /** How it ended. */
  outcome: CallOutcome;
  /** The exit code that the tool stated. */
  exitCode?: number;
  /** How often it ran and ended so. */
  times: number;
  /** The message with the last such run, for `context/recall`. */
  messageId: string;
}

/** What the user decided about calls. */
export interface LedgerDecision {
  /** The tool and what it was to do it with. */
  call: string;
  /** Whether it was allowed. */
  approved: boolean;
  /** What the user said about it. */
  note?: string;
  /** How often. */
  times: number;
  /** The message with the last such call, for `context/recall`. */
  messageId: string;
}

/** A file. */
export interface LedgerFile {
  /** Its path as the calls named it. */
  path: string;
  /** How often it was changed; 0 for one that was only read or named. */
  changed: number;
  /**
   * SHA-256 of what it held after the last change, lower-case hexadecimal: where a tool reported it, or
   * wrote the file as a whole.
   */
  sha256?: string;
  /** The message with the last call about it, for `context/recall`. */
  messageId: string;
}

/** A picture. */
export interface LedgerImage {
  /** Such as `image/png`. */
  mediaType: string;
  /** SHA-256 of its data as it was given, lower-case hexadecimal. */
  sha256: string;
  /** The message that holds it, for `context/recall`. */
  messageId: string;
}

/** A run of tests. */
export interface LedgerTest {
  /** The command on one line, cut behind 400 bytes. */
  command: string;
  /** How it ended. */
  outcome: CallOutcome;
  /** The exit code that the tool stated. */
  exitCode?: number;
  /** The failing tests that its output names. */
  failing: string[];
  /** The last lines of an output that names none. */
  lastLines: string[];
  /** The message with the run, for `context/recall`. */
  messageId: string;
}

/** An open todo. */
export interface LedgerTodo {
  /** What is to do. */
  text: string;
  /** How it stands, in the words of the tool. */
  status: string;
}

/** Calls that could not be read. */
export interface LedgerUnreadable {
  /** The tool. */
  tool: string;
  /** How they ended. */
  outcome: CallOutcome;
  /** The exit code that the tool stated. */
  exitCode?: number;
  /** How many. */
  times: number;
  /** The message with the last of them, for `context/recall`. */
  messageId: string;
}

/** How far history is made shorter before a model is asked, each step with all before it. */
export type LimitHistory =
  /** Nothing is. */
  | "off"
  /** Repeated content is folded into its newest copy. */
  | "foldRepeats"
  /** Old tool results are shortened. */
  | "shortenResults"
  /** Whole old rounds are dropped. */
  | "limitHistory";

/** Parameters of `loop/start`. */
export interface LoopStartParams {
  /** The folder that the stages belong to, as a path or a `file:` address. */
  workspaceFolder: string;
  /** The stages in their order. Each run of one is a session of its own. */
  stages: Stage[];
  /**
   * The session that the stages run for; it is told of each end by a message of the kind
   * `process_completed`.
   */
  parentId?: string;
  /** The name of what the stages share. Default: the loop's id. */
  workScope?: string;
  /** When it is over. */
  until?: LoopUntil;
}

/** Result of `loop/start`. What becomes of it comes as `loop/updated`. */
export interface LoopStartResult {
  /** The loop. It lives as long as this process does; its sessions are kept. */
  loopId: string;
  /** The name of what the stages share. */
  workScope: string;
}

/** How a loop stands. */
export type LoopStatus =
  /** A stage runs. */
  | "running"
  /** A stage asks the user, and goes on when there is an answer. */
  | "waiting"
  /** It is over: a stage called the tool that ends it. */
  | "endedByTool"
  /** It is over: all that was to do is done. */
  | "todosDone"
  /** It is over: all stages ran as often as they may. */
  | "passesDone"
  /** It is over: somebody stopped it, or one of its stages. */
  | "cancelled"
  /** It is over: a stage could not go on. */
  | "failed";

/** Parameters of `loop/stop`. */
export interface LoopStopParams {
  /** The loop. */
  loopId: string;
}

/** Result of `loop/stop`: the stage that ran was stopped. */
export type LoopStopResult = Record<string, never>;

/**
 * When a loop is over. A stage that fails or is stopped ends it too; one that asks the user is waited for.
 */
export interface LoopUntil {
  /**
   * A tool that ends a turn and by which a stage ends the loop. Default: `agent_finish`; an empty name is
   * none.
   */
  tool?: string;
  /** Whether it is over when something was to do and all of it is done. Default: true. */
  todosDone?: boolean;
  /** How often all stages run at most. Default: 1. */
  passes?: number;
}

/** Parameters of `loop/updated`. */
export interface LoopUpdatedParams {
  /** The loop. */
  loopId: string;
  /** How it stands. */
  status: LoopStatus;
  /** The stage that runs or ran last, from 0. */
  stage: number;
  /** The pass that it belongs to, from 1. */
  pass: number;
  /** The session of that stage. */
  sessionId: string;
}

/** Something that is remembered. */
export interface Memory {
  /** Its id, one of its folder. */
  id: string;
  /** What it belongs to. Summaries of sessions are in `session_summary`. */
  area: string;
  /** What is remembered. */
  text: string;
  /** From 1 to 5, the most important. */
  importance: number;
  /** Words to find it by. */
  tags: string[];
  /** Whether prompts may show it. */
  active: boolean;
  /** What it was made of, such as a compaction's id. */
  source?: string;
  /** When it was made, ISO-8601, UTC. */
  createdAt: string;
  /** When it was last changed, ISO-8601, UTC. */
  updatedAt: string;
}

/** Parameters of `memory/delete`. */
export interface MemoryDeleteParams {
  /** Which one. */
  id: string;
  /** The folder. Default: the first one that is open. */
  workspaceFolder?: string;
}

/** Result of `memory/delete`. */
export interface MemoryDeleteResult {
  /** Whether there was one. */
  deleted: boolean;
}

/** Parameters of `memory/list`. */
export interface MemoryListParams {
  /** The folder. Default: the first one that is open. */
  workspaceFolder?: string;
  /** Of this area only. */
  area?: string;
  /** Active ones only, or only those that are not. Default: all. */
  active?: boolean;
  /** Where the page begins: `nextCursor` of the one before. */
  cursor?: string;
  /** The most memories to answer, from 1 to 500. Default: 50. */
  limit?: number;
}

/** Result of `memory/list` and `memory/search`. */
export interface MemoryListResult {
  /** The most important first, among equals the one that was changed last. */
  memories: Memory[];
  /** Where the next page begins; missing where this is the last. */
  nextCursor?: string;
}

/** Parameters of `memory/put`. What is not given stays as it is. */
export interface MemoryPutParams {
  /** The folder. Default: the first one that is open. */
  workspaceFolder?: string;
  /** Which one; it is made where there is none of this id. Default: a new one. */
  id?: string;
  /** What it belongs to. Default for a new one: `general`. */
  area?: string;
  /** What is to be remembered. A new one needs it. */
  text?: string;
  /** From 1 to 5, the most important. Default for a new one: 3. */
  importance?: number;
  /** Words to find it by. */
  tags?: string[];
  /** Whether prompts may show it. Default for a new one: true. */
  active?: boolean;
}

/** Result of `memory/put`. */
export interface MemoryPutResult {
  /** It as it is now. */
  memory: Memory;
}

/** Parameters of `memory/search`. */
export interface MemorySearchParams {
  /** Words that a memory must hold in its text, its area or its tags, as in `context/search`. */
  query: string;
  /** The folder. Default: the first one that is open. */
  workspaceFolder?: string;
  /** Of this area only. */
  area?: string;
  /** Active ones only, or only those that are not. Default: all. */
  active?: boolean;
  /** Where the page begins: `nextCursor` of the one before. */
  cursor?: string;
  /** The most memories to answer, from 1 to 500. Default: 50. */
  limit?: number;
}

/** A message of a session, as the sidecar shows it. */
export interface Message {
  /** Its id, made by the sidecar. */
  id: string;
  /** The id that the editor or the source uses for it. */
  externalId?: string;
  /** Its position in the session, from 0; never used again for another message. */
  ord: number;
  /** Its version; a change makes a new one. */
  rev: number;
  /** The turn it belongs to. */
  turnId: string;
  /** Who says it. */
  role: Role;
  /** What it says. A tool message holds exactly one `toolResult`. */
  parts: Part[];
  /** What a message of role `event` records, such as `system`. */
  kind?: string;
  /** Whether a model may ever see it. */
  visibleToModel?: boolean;
  /** When it was said, ISO-8601, UTC. */
  createdAt?: string;
  /**
   * How much of a large result the model sees; missing where it sees all of it. The parts here are whole.
   */
  shown?: Shown;
  /** Its size in tokens, with the overhead of a message, as a prompt shows it that nothing compacted. */
  tokens: number;
  /** What a model's answer used. */
  usage?: Usage;
  /** Where a model's answer has its words from, each in the form of the provider's own wire. */
  citations?: unknown[];
  /** What a client keeps with a model's answer. No model sees it. */
  extra?: { [key: string]: unknown };
}

/** A message as a client gives it. Every `Message` is one; ids and sizes of the sidecar are not read. */
export interface MessageInput {
  /** The id that the editor or the source uses for it. */
  externalId?: string;
  /** Who says it. */
  role: Role;
  /**
   * What it says. A tool message may hold several `toolResult` parts; each becomes a message of its own.
   */
  parts: Content;
  /** What a message of role `event` records. */
  kind?: string;
  /** Whether a model may ever see it. Default: true. */
  visibleToModel?: boolean;
  /** When it was said, ISO-8601, UTC. */
  createdAt?: string;
  /** What the model's answer used. */
  usage?: Usage;
  /** Where the model's answer has its words from, each in the form of the provider's own wire. */
  citations?: unknown[];
  /** What the client keeps with the model's answer. No model sees it. */
  extra?: { [key: string]: unknown };
}

/** Parameters of `message/remove`. One of `messageId` and `index` must be there. */
export interface MessageRemoveParams {
  /** The session. */
  sessionId: string;
  /**
   * The message. A request that begins a turn leaves with its turn, a model's message with the results of
   * its calls; a result alone cannot leave.
   */
  messageId?: string;
  /** Its place in the snapshot's `messages`, from 0. */
  index?: number;
  /**
   * A name for this command: sent again under the same name, it is answered again and not carried out
   * twice.
   */
  idempotencyKey?: string;
}

/** What became of a message in the prompt as it would be sent now. */
export type MessageStatus =
  /** It is shown whole. */
  | "raw"
  /** It is shown in part. */
  | "shortened"
  /** The block of the compaction in force stands for it. */
  | "covered"
  /** It is left out and reported. */
  | "dropped"
  /** It is not for the model. */
  | "hidden";

/** Parameters of `message/truncate`. One of `messageId` and `index` must be there. */
export interface MessageTruncateParams {
  /** The session. */
  sessionId: string;
  /**
   * The message; it and everything after it is cut off. A result goes with the message that called the
   * tool.
   */
  messageId?: string;
  /** Its place in the snapshot's `messages`, from 0. */
  index?: number;
  /**
   * A name for this command: sent again under the same name, it is answered again and not carried out
   * twice.
   */
  idempotencyKey?: string;
}

/** Parameters of `message/update`. One of `messageId` and `index` must be there. */
export interface MessageUpdateParams {
  /** The session. */
  sessionId: string;
  /** The message. */
  messageId?: string;
  /** Its place in the snapshot's `messages`, from 0. */
  index?: number;
  /** Its words from now on. A model's answer keeps its calls and loses its thinking. */
  content: Content;
  /** Whether what follows it is cut off and the model answers again. Default: false. */
  regenerate?: boolean;
  /**
   * A name for this command: sent again under the same name, it is answered again and not carried out
   * twice.
   */
  idempotencyKey?: string;
}

/** A model: who asks it, and what prompts depend on. */
export interface Model {
  /** Its name, handed back with `model/complete`. */
  name?: string;
  /** Who asks it, and how. Default: `editor`. */
  wire?: ModelWire;
  /**
   * Where it is asked: an http or https address without a user and a password, a query and a fragment. What
   * the wire puts behind it may stand there and is taken off. Default: the wire's own provider. Never from
   * a workspace's file.
   */
  baseUrl?: string;
  /**
   * The name of its key: one that the client gave with `model/key`, else an environment variable. Never a
   * key itself. Default: the wire's usual variable, such as `OPENAI_API_KEY`, where its own provider is
   * asked, and none elsewhere. Never from a workspace's file.
   */
  keyEnv?: string;
  /** Whether answers come over a WebSocket; `openai-responses` alone has one. Default: false. */
  webSocket?: boolean;
  /**
   * Its window in tokens. Default: that of the known model of this name, else 128,000. Over `ollama` 16,384
   * whatever its name is, for there a window is memory of the machine that serves it.
   */
  window?: number;
  /**
   * The most that it is to answer, in tokens; no more than its window. Default: what the model can and its
   * window has left. What a prompt may weigh does not follow it: room for the answer is kept back by
   * `reservedOutput`.
   */
  maxOutput?: number;
  /** The roles that it takes, such as `system`, `user`, `assistant`, `tool`. Default: all. */
  roles?: string[];
  /** Whether it can be told to use no tool. Default: true. */
  toolChoiceNone?: boolean;
  /** Whether its answers come with their usage. Default: false. */
  usage?: boolean;
  /** Whether the client counts its tokens (`model/countTokens`). Default: false. */
  countTokens?: boolean;
  /** Whether it takes pictures. Default: true. */
  images?: boolean;
}

/** Parameters of `model/complete`. */
export interface ModelCompleteParams {
  /** Names the request in `model/delta`. */
  requestId: string;
  /** The session. */
  sessionId: string;
  /** The turn that runs. */
  turnId?: string;
  /** What it is for. */
  purpose: ModelPurpose;
  /** The model's name, as the client gave it. */
  model?: string;
  /** What it reads, in this order. */
  messages: PromptMessage[];
  /** The tools that it is told of. */
  tools: Tool[];
  /** Whether it may use them. */
  toolChoice: ToolChoice;
  /** How it is to answer. */
  options: ModelOptions;
}

/** Result of `model/complete`. A client that streamed everything answers `{}`. */
export interface ModelCompleteResult {
  /** What the model said; may hold `toolCall` parts. Where it is missing, the deltas are what it said. */
  content?: Content;
  /** Its calls. Where neither these nor `toolCall` parts are there, the deltas' calls are its calls. */
  toolCalls?: ToolCall[];
  /** Why it ended. Default: `toolUse` where there are calls, else `end`. */
  stopReason?: StopReason;
  /** What it used. */
  usage?: Usage;
}

/** Parameters of `model/countTokens`. */
export interface ModelCountTokensParams {
  /** The texts. */
  texts: string[];
  /** The model's name, as the client gave it. */
  model?: string;
}

/** Result of `model/countTokens`. */
export interface ModelCountTokensResult {
  /** A count for each text, in their order. */
  tokens: number[];
}

/** Parameters of `model/delta`. */
export interface ModelDeltaParams {
  /** The request that is answered. */
  requestId: string;
  /** What was added, in order. */
  ops: DeltaOp[];
}

/** Parameters of `model/key`. */
export interface ModelKeyParams {
  /** Its name, as `model.keyEnv` names it, such as `OPENAI_API_KEY`. */
  name: string;
  /**
   * The key; it goes before an environment variable of that name. Without one, what was given is forgotten.
   */
  value?: Key;
}

/** Result of `model/key`. */
export type ModelKeyResult = Record<string, never>;

/** How a model is to answer. */
export interface ModelOptions {
  /** The temperature; the model's own where it is missing. */
  temperature?: number;
  /** The most that it may answer, in tokens; the model's own limit where it is missing. */
  maxOutputTokens?: number;
}

/** What a model is asked for. */
export type ModelPurpose =
  /** The next answer of a turn. */
  | "turn"
  /** A summary. It is not shown to the user. */
  | "summary"
  /** A name for the session, where the setting `titles` is `model`. */
  | "title";

/** Parameters of `model/usage`. */
export interface ModelUsageParams {
  /** The session. */
  sessionId: string;
  /** The turn that ran. */
  turnId?: string;
  /** What the model was asked for. */
  purpose: ModelPurpose;
  /** What it used. */
  usage: Usage;
  /** Who says so. */
  source: UsageSource;
  /** The sidecar's own estimate of the input, in tokens. */
  estimatedTokens: number;
  /** Who estimated. */
  estimator: string;
}

/** How a model's provider is spoken to. */
export type ModelWire =
  /** The client asks it (`model/complete`). */
  | "editor"
  /** Chat Completions: OpenAI, OpenRouter, DeepSeek, Copilot, vLLM, llama-server, LM Studio. */
  | "openai-chat"
  /** Responses of OpenAI. */
  | "openai-responses"
  /** Messages of Anthropic. */
  | "anthropic"
  /** The native chat of Ollama. */
  | "ollama"
  /** A fixture in place of a provider: `baseUrl` is its path, one that is built in where there is none. */
  | "scripted";

/** The state of a notebook. */
export interface Notebook {
  /** Its address. */
  uri: string;
  /** What it shows. */
  content: Content;
}

/** What happens to a section above its ceiling. */
export type OnOverflow =
  /** It stays whole. */
  | "keep"
  /** Its beginning and its end stay. */
  | "shrink"
  /** It is left out. */
  | "drop";

/** A session that is open. */
export interface OpenSession {
  /** The session. */
  sessionId: string;
  /** Its state. */
  state: State;
  /** Who runs its loop. */
  driver: Driver;
  /** Number of messages. */
  messages: number;
  /** Requests that wait in its queue. */
  queued: number;
}

/** How a session came to be. */
export type Origin =
  /** It began with nothing. */
  | "new"
  /** It keeps what an edit, a retry, a cut or a reset of its parent would have lost. */
  | "rewind"
  /** A user went on from somewhere in its parent (`session/fork`). */
  | "branch"
  /** It runs for its parent. */
  | "background";

/** A part of a message. A receiver ignores kinds that it does not know. */
export type Part =
  /** Plain text. */
  | {
      type: "text";
      /** The text, byte for byte. */
      text: string;
    }
  /** A picture. */
  | {
      type: "image";
      /** Such as `image/png`. */
      mediaType: string;
      /** Base64 data, or an address. */
      data: string;
    }
  /** Something with an address, given with its text. */
  | {
      type: "resource";
      /** Its address. */
      uri: string;
      /** Its text. */
      text: string;
    }
  /** A file that stands beside a message as context. */
  | {
      type: "contextFile";
      /** Its path, as the editor names it. */
      path: string;
      /** Its text. */
      text: string;
    }
  /**
   * What was so when a user's message was made, such as the open files or the date. A prompt shows it as
   * text.
   */
  | {
      type: "attachment";
      /** What it is. */
      name: string;
      /** Its text. */
      text: string;
    }
  /** A model's thinking. Only in assistant messages. */
  | {
      type: "reasoning";
      /** The thinking; may be empty where the provider gives a signature only. */
      text: string;
      /** The provider's signature, opaque. */
      signature?: string;
      /**
       * What else the provider's block holds, as it came: its type where it is not `thinking`, its index,
       * its id, data that only the provider can read. `madeBy` is the sidecar's own: the wire and the model
       * that the block is from, for no other one can use it.
       */
      block?: { [key: string]: unknown };
    }
  /** A model's request to run a tool. Only in assistant messages. */
  | {
      type: "toolCall";
      /** Unique in the session; the sidecar changes an id that was used before. */
      id: string;
      /** The tool's name. */
      name: string;
      /** The arguments, as JSON text. */
      arguments: Arguments;
      /** The id in its source, where the sidecar changed it. */
      sourceId?: string;
    }
  /** What a tool answered. Only in tool messages. */
  | {
      type: "toolResult";
      /** The call that it answers. */
      toolCallId: string;
      /** What the tool said. */
      content: Content;
      /** Whether the tool failed. */
      isError?: boolean;
      /** The exit code, where there is one. */
      exitCode?: number;
      /** Files that it changed. */
      effects?: Effect[];
    }
  /** A block that a provider made by itself, in the form of its own wire. Only in assistant messages. */
  | {
      type: "raw";
      /**
       * The block as the provider had it. `madeBy` is the sidecar's own: the wire and the model that it is
       * from.
       */
      wire: unknown;
    };

/** What a session waits for. */
export interface Pause {
  /** The calls that wait for a decision. */
  reasons: PauseReason[];
}

/** A call that waits for a decision of the user. */
export interface PauseReason {
  /** The call. */
  toolCallId: string;
  /** The tool's name. */
  name: string;
  /** The arguments, as JSON text. */
  arguments: Arguments;
  /** Why it must be decided, for the user. */
  reason: string;
}

/**
 * A call without a result: after a restart the client answers it with `tool/result`, runs it again, or
 * cancels the turn.
 */
export interface PendingCall {
  /** The call. */
  toolCallId: string;
  /** Its turn. */
  turnId: string;
  /** The tool's name. */
  name: string;
  /** The arguments, as JSON text. */
  arguments: Arguments;
}

/** Something that is never to be forgotten. */
export interface Pin {
  /** Its id. */
  id: string;
  /** Its words. */
  text: string;
}

/**
 * Something that every prompt shows, byte for byte, because the user wants it. A message that the prompt
 * shows whole in its place is not shown twice.
 */
export interface Pin2 {
  /** Its id. */
  pinId: string;
  /** The message, where it is one. The pin goes with it. */
  messageId?: string;
  /** The words, where it is no message. */
  text?: string;
  /** Its size in tokens. */
  tokens: number;
}

/** Where the block of a compaction stands in the prompt. */
export type Placement =
  /** A user message before the history that it does not stand for. */
  | "userAtBoundary"
  /** A system message there. */
  | "systemMessage"
  /** The end of the system message. */
  | "systemPromptTail";

/** A section of a prompt. */
export interface PlanSection {
  /** How it reaches the model. */
  channel: Channel;
  /** Its name, such as `system`, `keptUserMessages`, `history`. */
  name: string;
  /**
   * Its messages: the index of the first, and the index after the last. Both are equal for tools; sections
   * of the system text share one message.
   */
  messages: [number, number];
  /** Its size in tokens. */
  tokens: number;
  /** The lowest would go first. Missing where it is never given up. */
  priority?: number;
  /** Whether a provider's cache may keep the prompt up to its end. */
  cacheBreakpoint: boolean;
}

/** Why a prompt does not begin with the one before it. */
export type PrefixBreak =
  /** A compaction came into force. */
  | "compaction"
  /** One went out of force. */
  | "undo"
  /** One was made again, or came back. */
  | "redo"
  /** Something was pinned. */
  | "pin"
  /** Something is pinned no longer. */
  | "unpin"
  /** Messages were taken out of sight. */
  | "exclude"
  /** A message has other words. */
  | "edit"
  /** A message left. */
  | "remove"
  /** The end was cut off. */
  | "truncate"
  /** An answer is given again. */
  | "retry"
  /** A new chat began. */
  | "reset"
  /** The editor's history is another one. */
  | "history"
  /** Summaries that the editor kept came into force. */
  | "restore"
  /** A result came for a call that stood in a prompt without one. */
  | "lateResult"
  /** Another model is asked. */
  | "model"
  /** The tools are others. */
  | "tools"
  /** System text or sections are others. */
  | "system"
  /** The system text is made anew in each turn, by a setting. */
  | "perTurn"
  /** Completed turns are shown without their tool rounds, by a setting. */
  | "stripCompletedTurns"
  /**
   * Thinking that was shown before is left out, because the model takes it back only behind the prompt that
   * it followed. What changed before it is told beside this.
   */
  | "thinking"
  /** Nobody announced it: a defect. */
  | "unknown";

/** The name under which `$/progress` reports: what the client gave as `workDoneToken`. */
export type ProgressToken = number | string;

/** A message of a prompt. */
export interface PromptMessage {
  /** Its role. */
  role: PromptRole;
  /** What it says. In the system message each section is a part. */
  parts: Part[];
  /** Whether a provider's cache may keep the prompt up to the end of this message. */
  cacheBreakpoint?: boolean;
}

/** Parameters of `prompt/render`. Either `sessionId` or `history` must be there. */
export interface PromptRenderParams {
  /** The session. */
  sessionId?: string;
  /** The folder; where a history without a session is looked for, and kept. */
  workspaceFolder?: string;
  /** The client's own copy of the turns so far. It is matched with the session. */
  history?: Turn[];
  /** The current request. Missing where it is in the session already. */
  input?: Input;
  /** The rounds of the current turn, all of them or those that the session has not. */
  rounds?: Round[];
  /** Results of the rounds' calls that are not in their round. */
  toolResults?: ToolResult[];
  /** What earlier renders of the running turn answered as metadata, where the client kept it. */
  metadata?: TurnMetadata;
  /** The tools from now on. */
  tools?: Tool[];
  /** The caller's sections from now on. */
  sections?: Section[];
  /** Values that belong to the request. */
  variables?: Variable[];
  /** Notebooks as they stand. */
  notebook?: Notebook[];
  /**
   * What is so now. It is captured with the request where this render brings that for the first time; what
   * has changed since waits for the next request.
   */
  attachments?: Attachment[];
  /** The model that the prompt is for. */
  model?: Model;
  /** The most that the prompt may weigh, in tokens, below what the model allows. */
  budget?: number;
  /**
   * Tokens above which a result that comes with this request is shown by its head and its tail, in the
   * place of the setting of the same name. Never 0.
   */
  maxToolResultTokens?: number;
  /** When it compacts. Default: `auto`. */
  summarize?: RenderSummarize;
  /** Whether cache breakpoints are marked. Default: true. After a failed summary they never are. */
  cacheBreakpoints?: boolean;
  /** Reports progress with `$/progress` while a summary is made. */
  workDoneToken?: ProgressToken;
}

/** Result of `prompt/render`. */
export interface PromptRenderResult {
  /** The session that keeps what was rendered; nothing where the prompt was made for this answer alone. */
  sessionId?: string;
  /** What to send, in this order. Neighbours of one role are never joined here. */
  messages: PromptMessage[];
  /** The tools to send, sorted by name. */
  tools: Tool[];
  /** What the prompt is made of, in order. */
  plan: PlanSection[];
  /** Its size in tokens, tools included. */
  tokens: number;
  /** The most it was allowed to weigh, in tokens. */
  limit: number;
  /** The model's window in tokens. */
  window: number;
  /** Who counted. */
  estimator: string;
  /** What is not in it as it was said. */
  cuts: Cut[];
  /** What is new to persist with the turn and to hand back unchanged. */
  metadata: TurnMetadata;
  /** The compaction that the prompt obeys. */
  compactionId?: string;
  /** How that compaction was made. */
  mode?: CompactionMode;
  /** How far its deterministic steps went. */
  strength?: Strength;
  /** What went otherwise than asked. */
  diagnostics: Diagnostic[];
  /** The session that keeps what the client's history no longer has. */
  fork?: string;
}

/** The role of a message of a prompt. */
export type PromptRole =
  /** The one system message. */
  | "system"
  /** The user, memories, and the summary. */
  | "user"
  /** The model. */
  | "assistant"
  /** A tool: exactly one `toolResult`. */
  | "tool";

/** A command that waited and could not be carried out. */
export interface QueueFailure {
  /** Its id in the queue. */
  itemId: string;
  /** Why. */
  error: EventError;
}

/** A command that waits. */
export interface QueueItem {
  /** Its id. */
  itemId: string;
  /** Its method, such as `turn/start`. */
  method: string;
  /** Whether it goes before those that are not urgent. */
  priority: boolean;
  /** The turn that it will be. */
  turnId?: string;
  /** The message that it will be, or is about. */
  messageId?: string;
  /** The user's words. */
  content?: Part[];
}

/** Parameters of `queue/remove`. */
export interface QueueRemoveParams {
  /** The session. */
  sessionId: string;
  /** What waits. */
  itemId: string;
}

/** Result of `queue/remove`. */
export interface QueueRemoveResult {
  /** What waits no longer, with the user's words. */
  removed: QueueItem[];
}

/** When a render compacts. */
export type RenderSummarize =
  /** When the prompt is too large. */
  | "auto"
  /** In any case. */
  | "force"
  /** Never: a prompt that is too large is the error BudgetExceeded. */
  | "never";

/** Parameters of `tool/requestPermission`. */
export interface RequestPermissionParams {
  /** The session. */
  sessionId: string;
  /** The turn that waits. */
  turnId: string;
  /** The calls that wait for a decision. Nothing of their round runs before all are decided. */
  reasons: PauseReason[];
}

/**
 * Result of `tool/requestPermission`. A client that has no answer sends null: the pause stays until
 * `tool/decide`.
 */
export interface RequestPermissionResult {
  /** The decisions. */
  decisions: Decision[];
}

/** A summary that was not applied, and why. */
export interface RestoreEntry {
  /** The round that it names; empty where it names none. */
  toolCallRoundId: string;
  /** Why, for people and logs. */
  reason: string;
}

/** What opening a session did with what was there. Nothing fails in silence. */
export interface RestoreReport {
  /** Where the session came from. */
  source: RestoreSource;
  /** Compactions that the client's metadata brought back, by id. */
  restored: string[];
  /** Compactions that were there already. */
  already: string[];
  /** Summaries whose source has changed since. */
  stale: RestoreEntry[];
  /** Summaries of rounds that are not in the session. */
  orphans: RestoreEntry[];
  /** Summaries that were given more than once. */
  duplicates: RestoreEntry[];
  /** Entries that mark a failed summary, or that cannot be read. */
  failures: RestoreEntry[];
  /** The session that keeps what the client's history no longer has. */
  fork?: string;
  /** Messages that left the session for the fork. */
  truncatedMessages: number;
  /** Messages that the client's history brought. */
  appendedMessages: number;
  /** Rows of the store that cannot be read: where they stood, and why. The rest is here. */
  unreadable: string[];
  /** Everything else that a person may want to know. */
  diagnostics: Diagnostic[];
}

/** Where a session came from when it was opened. */
export type RestoreSource =
  /** There was nothing: it is new. */
  | "new"
  /** The sidecar's own store. */
  | "store"
  /** The client's history. */
  | "history"
  /** Both, matched. */
  | "both";

/** What is never covered, at the least. */
export type Retention = "rounds" | { userTurns: number } | { messages: number } | { tokenTail: number };

/** A call of a model that is made again. */
export interface Retrying {
  /** Which attempt comes next; the first one is 1. */
  attempt: number;
  /** After how long, in milliseconds. */
  delayMs: number;
  /** Why the one before came to nothing. */
  reason: string;
}

/** What a user says about a compaction. */
export type ReviewDecision =
  /** It holds as it is. */
  | "accept"
  /** It holds with `text` in the place of its narrative. */
  | "edit"
  /** It does not hold. Where the prompt does not fit, the steps that need no model make room. */
  | "refuse";

/** Who says something in a session. */
export type Role =
  /** The user. */
  | "user"
  /** The model. */
  | "assistant"
  /** A tool, answering one call. */
  | "tool"
  /** A record of the session that no model sees, such as a notice. */
  | "event";

/** A model's answer with the results of its tool calls, as a client gives it. */
export interface Round {
  /** The client's id of the round: a summary names it as its `toolCallRoundId`. */
  id?: string;
  /** What the model answered. */
  assistant: AssistantInput;
  /** The results of its calls. */
  results?: ToolResult[];
  /**
   * A summary that stands for this round and everything before it. Metadata of the turn that names the
   * round wins.
   */
  summary?: string;
}

/** Parameters of `round/append`. */
export interface RoundAppendParams {
  /** The session. */
  sessionId: string;
  /** The turn; the running one where it is missing. */
  turnId?: string;
  /** What the client's own loop produced. */
  round: Round;
}

/** Result of `round/append`. */
export interface RoundAppendResult {
  /** The sidecar's id of the round. */
  roundId: string;
  /** The assistant message, then its results. */
  messageIds: string[];
}

/** A round in a snapshot. */
export interface RoundView {
  /** The sidecar's id. */
  id: string;
  /** The client's id. */
  externalId?: string;
  /** The id of its assistant message. */
  assistant: string;
  /** The ids of its results, in the order of the calls. */
  results: string[];
  /** What stands in the prompt for this round and everything before it. */
  summary?: string;
}

/** What is shared. */
export interface Scope {
  /** Rises with every change; 0 before the first. */
  revision: number;
  /** What is to do, in order. */
  todos: Todo[];
  /** The plan, in words. */
  plan?: string;
  /** What is never to be forgotten. */
  pins: Pin[];
  /** What was made. */
  artifacts: Artifact[];
}

/** Parameters of `scope/get`. One of `sessionId` and `workScope` must be there. */
export interface ScopeGetParams {
  /** A session of the scope. One without a work scope has a scope of its own. */
  sessionId?: string;
  /** The scope's name. */
  workScope?: string;
  /** The folder that the scope belongs to; the client's first one where it is missing. */
  workspaceFolder?: string;
}

/**
 * Parameters of `scope/put`. One of `sessionId` and `workScope` must be there; what else is missing stays.
 */
export interface ScopePutParams {
  /** A session of the scope. One without a work scope has a scope of its own. */
  sessionId?: string;
  /** The scope's name. */
  workScope?: string;
  /** The folder that the scope belongs to; the client's first one where it is missing. */
  workspaceFolder?: string;
  /** All todos. */
  todos?: Todo[];
  /** The plan; an empty one is none. */
  plan?: string;
  /** All pins. */
  pins?: Pin[];
  /** Artifacts: one whose id is there takes its place, others are added. */
  artifacts?: Artifact[];
  /** Only where the scope has this revision; another one is the error StaleReference. */
  ifRevision?: number;
}

/** Result of `scope/get` and `scope/put`. */
export interface ScopeResult {
  /** The scope's name. */
  workScope: string;
  /** What is shared now. */
  scope: Scope;
}

/** A message that holds the words. */
export interface SearchHit {
  /** Its id, under which `context/recall` gives all of it. */
  ref: string;
  /** Its position. */
  ord: number;
  /** Who said it. */
  role: Role;
  /** Its turn. */
  turnId: string;
  /** The parts of its text that hold the words, byte for byte, with ` … ` between them. */
  excerpt: string;
  /** Where the first part begins, in bytes of the text. */
  offset: number;
  /** What became of it in the prompt. */
  status: MessageStatus;
  /** Bytes of its text. */
  bytes: number;
}

/** A section that the caller brings. */
export interface Section {
  /** Where it stands. Default: `system`. */
  channel?: SectionChannel;
  /** Its name in plans and reports. */
  name: string;
  /** Its text. */
  content: string;
  /**
   * Its place among what the plan says could be given up, the lowest first; without one it is not among
   * that. No section is given up by itself: where there is no room, history is compacted. `maxTokens`
   * bounds a section.
   */
  priority?: number;
  /** Its own ceiling in tokens. */
  maxTokens?: number;
  /** What happens above that ceiling. Default: `keep`. */
  onOverflow?: OnOverflow;
}

/** Where a caller's section stands. */
export type SectionChannel =
  /** In the system message. */
  | "system"
  /** A message of its own after it. */
  | "memory";

/** The size of a section that does not fit. */
export interface SectionSize {
  /** How it reaches the model, where that is known. */
  channel?: Channel;
  /** Its name. */
  name: string;
  /** Its size in tokens. */
  tokens: number;
}

/** The size of a section of a prompt. */
export interface SectionTokens {
  /** How it reaches the model. */
  channel: Channel;
  /** Its name. */
  name: string;
  /** Its size in tokens. */
  tokens: number;
}

/** What the sidecar answers as `capabilities.experimental.threadhold` of `initialize`. */
export interface ServerCapabilities {
  /** The version of the protocol that it speaks. */
  protocolVersion: number;
  /** The version of the program. */
  serverVersion: string;
  /**
   * The levels of the protocol that it has whole. Methods of other levels are among `methods` as far as
   * they go.
   */
  levels: string[];
  /** The methods and notifications of both sides, by name. */
  methods: string[];
  /** The types of `session/event`. */
  events: string[];
  /** The states of a session. */
  states: string[];
}

/** Parameters of `server/diagnostics`. */
export type ServerDiagnosticsParams = Record<string, never>;

/** Result of `server/diagnostics`. */
export interface ServerDiagnosticsResult {
  /** The version of the program. */
  serverVersion: string;
  /** The version of the protocol. */
  protocolVersion: number;
  /** The process. */
  pid: number;
  /** Who counts tokens. */
  estimator: string;
  /** The stores that are open. */
  storage: StorageInfo[];
  /** The sessions that are open. */
  sessions: OpenSession[];
  /** Requests of the client that have no answer yet. */
  requestsInFlight: number;
  /** The most that there may be. */
  requestLimit: number;
  /** Requests to the client that have no answer yet. */
  askedOfClient: number;
}

/** Parameters of `session/close`. */
export interface SessionCloseParams {
  /** The session. */
  sessionId: string;
}

/** Result of `session/close`: everything is on disk and another process may hold the session. */
export type SessionCloseResult = Record<string, never>;

/** Parameters of `session/configure`. */
export interface SessionConfigureParams {
  /** The session. */
  sessionId: string;
  /** Settings to change; those that are missing stay. */
  settings?: Settings;
  /** Its new title. */
  title?: string;
}

/** Result of `session/configure`. */
export interface SessionConfigureResult {
  /** The settings in force. */
  settings: Settings;
  /** Names that no setting has, of the kind `unknownSetting`. */
  diagnostics: Diagnostic[];
}

/** Parameters of `session/delete`. */
export interface SessionDeleteParams {
  /** The session. */
  sessionId: string;
}

/**
 * Result of `session/delete`: what is gone for good, of the session and of the copies that rewinds of it
 * left behind.
 */
export interface SessionDeleteResult {
  /** Messages. */
  deletedMessages: number;
  /** Compaction records. */
  deletedCompactions: number;
  /** Large results and pictures that nothing else refers to. */
  deletedBlobs: number;
  /** Their size in bytes. */
  deletedBlobBytes: number;
  /**
   * Whether no trace of them is left in the store's file, nor in the session's own in its workspace. Not so
   * while another process reads the store: the rows are gone then, and their bytes may last until the next
   * deletion. Nor where the session's own file could not be removed, which the log says; nor where a
   * session stays that was made of it (a branch, a copy that somebody went on in, one that runs in the
   * background) or that it was made of, for that may say the same words until it is deleted itself.
   */
  scrubbed: boolean;
}

/** Parameters of `session/event`. */
export type SessionEvent = {
  /** The session. */
  sessionId: string;
  /** Names the numbering; a new process is a new stream. */
  stream: string;
  /** One more than the number of the event before, in this session and stream. */
  seq: number;
} & (
  /**
   * The session as it stands; everything from before is out of date. It is no happening of its own: its
   * `seq`, and its snapshot's, is that of the last event that is in it, and the next event is that number
   * plus one. Take it whatever number and stream you have. It comes in the place of events that a client
   * did not read in time.
   */
  | {
      type: "snapshot";
      /** The session, whole. */
      snapshot: Snapshot;
    }
  /** An answer begins. */
  | {
      type: "streamStarted";
      /** The message that it will be. */
      messageId: string;
      /** Its turn. */
      turnId: string;
    }
  /** An answer goes on. */
  | {
      type: "streamDelta";
      /** The message that it will be. */
      messageId: string;
      /** What was added, in order. */
      ops: DeltaOp[];
    }
  /** An answer ended. Its message follows as `messageAdded`, with the same id. */
  | {
      type: "streamFinished";
      /** The message that it will be. */
      messageId: string;
      /** Why it ended; missing where it was cancelled or failed. */
      stopReason?: StopReason;
    }
  /** A message is in the session and on disk. */
  | {
      type: "messageAdded";
      /** The message. */
      message: Message;
    }
  /** A message has other words. */
  | {
      type: "messageUpdated";
      /** The message as it is from now on. */
      message: Message;
    }
  /** A message left the session. */
  | {
      type: "messageRemoved";
      /** The message. */
      messageId: string;
    }
  /** Messages left the session: a user cut them off, or the client's history no longer has them. */
  | {
      type: "messagesTruncated";
      /** The position of the first one that went. */
      fromOrd: number;
      /** The session that keeps them. */
      fork: string;
    }
  /** Title, draft, pins, settings or what is shared changed: all of it as it is from now on. */
  | {
      type: "threadUpdated";
      /** The title. */
      title?: string;
      /** Rises with every `session/reset`. */
      generation: number;
      /** The user's unsent text; missing where there is none. */
      draft?: string;
      /** What it shares. */
      scope: Scope;
      /** What the user pinned. */
      pins?: Pin2[];
      /** The settings in force. */
      settings?: Settings;
    }
  /** What waits changed. */
  | {
      type: "queueUpdated";
      /** All of it, in the order in which it is carried out. */
      queue: QueueItem[];
      /** What could not be carried out when its turn came. */
      failed?: QueueFailure;
    }
  /** The state changed. */
  | {
      type: "runtimeUpdated";
      /** The state. */
      state: State;
      /** The turn that it is about. */
      turnId?: string;
      /** How that turn stands. */
      status?: TurnStatus;
      /** Why the state is `error`. */
      error?: EventError;
      /** At a turn's end, all that is to be persisted with the turn and handed back unchanged. */
      metadata?: TurnMetadata;
      /** The model could not answer and is asked again; nothing of its answer was said before. */
      retrying?: Retrying;
    }
  /** Calls wait for a decision of the user. */
  | {
      type: "pauseRequired";
      /** The calls. */
      reasons: PauseReason[];
    }
  /** All of them are decided, or the turn was cancelled. */
  | {
      type: "pauseCleared";
    }
  /** A compaction goes on. */
  | {
      type: "compactionUpdated";
      /** The compaction that it is about, or that it is to be: the same from `started` on. */
      compactionId: string;
      /** How far it is. */
      phase: CompactionPhase;
      /** The way that is tried, or that served. */
      mode?: CompactionMode;
      /** What started it. */
      trigger?: CompactionTrigger;
      /** Why the way did not serve, for people. */
      reason?: string;
      /** Tokens of the prompt before, where they are known. */
      tokensBefore?: number;
      /** Tokens of the same prompt afterwards, once it is accepted. */
      tokensAfter?: number;
      /** The compaction, once it is accepted. */
      compaction?: CompactionView;
      /**
       * What is new to persist, once it is accepted. Of one that was undone: all that its turn still has,
       * to be put in the place of what was persisted with it.
       */
      metadata?: TurnMetadata;
    }
  /** The prompt's size changed. */
  | {
      type: "contextUpdated";
      /** Its size in tokens. */
      tokens: number;
      /** The most it may weigh, in tokens. */
      limit: number;
      /** New tokens that fit before the nearest compaction that sizes set off. */
      tokensUntilCompaction: number;
      /** What it is made of, in order. */
      sections: SectionTokens[];
      /** Who counted. */
      estimator: string;
    }
  /** A prompt goes out that does not begin with the one before it: a provider's cache serves less of it. */
  | {
      type: "prefixBroken";
      /** Why. */
      causes: PrefixBreak[];
      /** Tokens from the start on that are the same as before. */
      reusedTokens: number;
      /** Tokens that could have been the same, and are read anew. */
      lostTokens: number;
    }
  /** The client's history was matched with the session after it was opened. */
  | {
      type: "restoreReported";
      /** What was found, brought back, refused. */
      report: RestoreReport;
    }
  /**
   * Another process took the session over; what ran here is stopped. It is followed from now on: a snapshot
   * in a new stream comes next.
   */
  | {
      type: "sessionTakenOver";
    }
);

/** Parameters of `session/export`. */
export interface SessionExportParams {
  /** The session. */
  sessionId: string;
  /** What it is written as. */
  format: ExportFormat;
}

/** Result of `session/export`. */
export interface SessionExportResult {
  /** What it is written as. */
  format: ExportFormat;
  /** All of it. */
  data: string;
  /** Messages that are in it. */
  messages: number;
}

/** Parameters of `session/fork`: another session goes on from here, with ids of its own. */
export interface SessionForkParams {
  /** The session. */
  sessionId: string;
  /** The last message that goes along. Without it and `upToIndex` all do. */
  upToMessageId?: string;
  /** The same by its place in the snapshot's `messages`, from 0. */
  upToIndex?: number;
  /** Its title; this session's where it is missing. */
  title?: string;
  /**
   * A name for this command: sent again under the same name, it is answered again and not carried out
   * twice.
   */
  idempotencyKey?: string;
}

/** Result of `session/fork`. */
export interface SessionForkResult {
  /** The new session; `session/open` opens it. */
  sessionId: string;
}

/**
 * Parameters of `session/import`: a conversation from a file becomes a session. One of `data`, `path` and
 * `chatId` must be there.
 */
export interface SessionImportParams {
  /** The folder that the new session belongs to. */
  workspaceFolder: string;
  /**
   * Its id; with `chatId` that one, else one is made where it is missing. The session must have no
   * messages.
   */
  sessionId?: string;
  /** Its title; the source's where it is missing. */
  title?: string;
  /** The format, as `threadhold replay --help` names them; found out where it is missing. */
  format?: string;
  /** The conversation, as its program wrote it. */
  data?: string;
  /** A file that holds it: absolute, or as seen from the folder. */
  path?: string;
  /** A trajectory of the folder, as `trajectory/list` names it. */
  chatId?: string;
}

/** Result of `session/import`. */
export interface SessionImportResult {
  /** The session; `session/open` opens it. */
  sessionId: string;
  /** The format that it was read as. */
  format: string;
  /** Messages that were taken in. */
  messages: number;
  /** What could not be read: where, and why. */
  skipped: string[];
}

/** Parameters of `session/list`. */
export interface SessionListParams {
  /**
   * Only sessions of this folder. Default: all that are stored where those of the first folder of
   * `initialize` are, each with its own folder.
   */
  workspaceFolder?: string;
  /** Only sessions whose title, summary or first request has these words. */
  query?: string;
  /** Where the last page ended. */
  cursor?: string;
  /** The most that a page holds. Default: 50. */
  limit?: number;
}

/** Result of `session/list`. */
export interface SessionListResult {
  /** The newest first. */
  sessions: SessionSummary[];
  /** Asks for the next page; missing at the end. */
  nextCursor?: string;
}

/** Parameters of `session/messages`. */
export interface SessionMessagesParams {
  /** The session. */
  sessionId: string;
  /**
   * The folder that it is listed in; where it is missing, the session is looked for where it is open, else
   * in the client's first folder.
   */
  workspaceFolder?: string;
  /** Only messages whose `ord` is below this. Default: the newest. */
  before?: number;
  /** The most that the page holds. Default: 50. */
  limit?: number;
}

/** Result of `session/messages`. */
export interface SessionMessagesResult {
  /** In their order, as they are stored. Removed ones are left out. */
  messages: Message[];
  /** How many stand before them; it asks for the page before this one. 0 at the beginning. */
  before: number;
  /**
   * What of this page could not be read: which message, and why. It is left out, and stays as it is in the
   * store.
   */
  unreadable: string[];
}

/** Parameters of `session/open`. */
export interface SessionOpenParams {
  /** The folder that the session belongs to, as a path or a `file:` address. */
  workspaceFolder: string;
  /** The session to resume, or the id that a new one gets. Without it a new session gets a new id. */
  sessionId?: string;
  /** Who runs the loop. Default: `sidecar`. Not read where the session exists. */
  driver?: Driver;
  /** Its title. */
  title?: string;
  /** What it is for, in the client's words. */
  kind?: string;
  /**
   * The session that started it: it runs in the background, and its parent is told when it comes to rest by
   * a message of the kind `process_completed` that no model sees.
   */
  parentId?: string;
  /** The name of what it shares with other sessions. */
  workScope?: string;
  /** Settings of this session. */
  settings?: Settings;
  /** The tools that the model is told of. */
  tools?: Tool[];
  /** What stands before the messages, in this order. */
  sections?: Section[];
  /**
   * The client's own copy of the turns so far, with the metadata that it persisted. It is matched with the
   * store.
   */
  history?: Turn[];
  /**
   * Where another process writes the session: read and follow it here, instead of SessionHeldElsewhere.
   * What the other process commits comes as events, without deltas. Default: false.
   */
  follow?: boolean;
  /**
   * How many of the newest messages the snapshot holds. A long session is opened faster so: only what they
   * and the next prompt need is read. `session/messages` gives those before them. Default: all.
   */
  snapshotMessages?: number;
}

/** Result of `session/open`. It subscribes the client to the session's events. */
export interface SessionOpenResult {
  /** The session as it stands. */
  snapshot: Snapshot;
  /** What was found, brought back, refused. */
  restore: RestoreReport;
}

/** Parameters of `session/reset`: a new chat under the same id. What runs is stopped. */
export interface SessionResetParams {
  /** The session. */
  sessionId: string;
  /** Whether what waits goes on in the new chat. Default: false; it is given back then. */
  keepQueue?: boolean;
  /**
   * A name for this command: sent again under the same name, it is answered again and not carried out
   * twice.
   */
  idempotencyKey?: string;
}

/** Result of `session/reset`. */
export interface SessionResetResult {
  /** The session that keeps everything as it stood; missing where there was nothing. */
  fork?: string;
  /** What waits no longer, with the user's words. */
  removed: QueueItem[];
}

/** Parameters of `session/subscribe`. */
export interface SessionSubscribeParams {
  /** The session. */
  sessionId: string;
  /** The stream of the last event that the client has. */
  stream?: string;
  /** The number of that event. */
  sinceSeq?: number;
  /** How many of the newest messages a snapshot holds, as in `session/open`. Default: all. */
  snapshotMessages?: number;
}

/**
 * Result of `session/subscribe`: either the events since then, or a snapshot where they are no longer kept.
 */
export interface SessionSubscribeResult {
  /** The events since then, in order. */
  events?: SessionEvent[];
  /** The session as it stands. */
  snapshot?: Snapshot;
}

/** A session in a list. */
export interface SessionSummary {
  /** The session. */
  sessionId: string;
  /** The folder that it belongs to. */
  workspaceFolder: string;
  /** Who runs its loop. */
  driver: Driver;
  /** Its title. */
  title?: string;
  /** What it is for, in the client's words. */
  kind?: string;
  /** The session that it was started or forked from. */
  parentId?: string;
  /** How it came to be. */
  origin: Origin;
  /** What it shares under a name. */
  workScope?: string;
  /** Its state, where it is open in this process. */
  state?: State;
  /** Number of messages. */
  messages: number;
  /** Number of turns. */
  turns: number;
  /** The text of the compaction in force. */
  summary?: string;
  /** Messages that the compaction in force stands for. */
  summarizedCount: number;
  /** When it was made, ISO-8601, UTC. */
  createdAt: string;
  /** When something was last said in it, ISO-8601, UTC. */
  updatedAt: string;
}

/** Parameters of `session/takeOver`. The result is that of `session/open`. */
export interface SessionTakeOverParams {
  /** The session. It must be stored. */
  sessionId: string;
  /** The folder in whose store it is looked for. Default: wherever it was seen. */
  workspaceFolder?: string;
}

/** Parameters of `sessions/changed`. */
export interface SessionsChangedParams {
  /** Sessions that are new. */
  created: SessionSummary[];
  /** Sessions that look different in a list. */
  updated: SessionSummary[];
  /** Sessions that are gone, by id. */
  deleted: string[];
  /** Trajectories that others wrote or changed. No session needs to be there for one. */
  trajectories?: TrajectorySummary[];
  /** Trajectories that are gone, by their `chatId`. */
  trajectoriesGone?: string[];
}

/** A setting in force. */
export interface SettingInForce {
  /** Its name, such as `roundLimit` or `triggers.messages`. */
  name: string;
  /** Its value. */
  value: unknown;
  /** Who set it. */
  source: SettingSource;
  /** The file, the variable or the flag that it stands in. */
  place?: string;
}

/** Where the value of a setting comes from, weakest first. */
export type SettingSource =
  /** Nobody set it. */
  | "builtIn"
  /** The policy. */
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
 * Settings. Later ones win: the policy, the user's file, the workspace's file (which can only lower
 * `threshold` and `roundLimit`), the environment, `initialize`, `workspace/didChangeConfiguration`,
 * `session/open` and `session/configure`, flags of the command line, the request itself. Within one of
 * these a setting wins over another name of it. A name with a point may be an object or not: `{"triggers":
 * {"messages": 40}}` and `{"triggers.messages": 40}` are the same. A name that no setting has is reported,
 * and is no error. The names of a policy file are taken too, as are these names there.
 */
export interface Settings {
  /** The model. */
  model?: Model;
  /**
   * How sessions are compacted: the name of a built-in policy, or the path of a policy file (`threadhold
   * policy` prints one): absolute, or in a settings file as seen from there. What else is set wins over it.
   * Only such a file can say in which order sections stand and how far a shortened result is cut.
   */
  policy?: string;
  /**
   * The most that a prompt may weigh: a ratio of the window above 0 and up to 1, or a count of at least 100
   * tokens. `summarizeAgentConversationHistoryThreshold` is taken as its name too.
   */
  threshold?: number;
  /** Tokens kept back for the answer; a quarter of the window at most. Default: 4,096. */
  reservedOutput?: number;
  /** The longest summary that is accepted, in tokens; an eighth of the window at most. Default: 2,048. */
  maxSummaryTokens?: number;
  /**
   * Which kind of summary is asked for. `agentHistorySummarizationMode` is taken as its name too. Default:
   * `auto`.
   */
  summaryMode?: SummaryMode;
  /**
   * What happens to cache breakpoints in a request for a summary; true is taken as `keep`, false as
   * `strip`. Default: `keep`.
   */
  summaryBreakpoints?: SummaryBreakpoints;
  /**
   * Whether a prompt that is too large is compacted; true is taken as `auto`, false as `off`. `enabled` is
   * taken as its name too. Default: `auto`.
   */
  summarize?: Summarize;
  /**
   * Another name of `summarize`: false is `off`. `summarization.enabled` and
   * `summarizeAgentConversationHistory.enabled` are taken as its names too. Unlike where the name is from,
   * it is on unless somebody says no, for nothing is lost by it.
   */
  summaryEnabled?: boolean;
  /** Who decides about a compaction that nobody asked for. Default: `auto`. */
  compaction?: Consent;
  /** What starts a compaction. */
  triggers?: Triggers;
  /** What is never covered, at the least. Default: the newest round. */
  retention?: Retention;
  /** Where the block stands that stands for what was covered. Default: `userAtBoundary`. */
  placement?: Placement;
  /**
   * New tokens since the last compaction before a trigger starts another, but for an overflow. Default:
   * `auto`, as many as lie between the limit and the target.
   */
  minNewTokens?: CountOrAuto;
  /**
   * Failed summaries in a row after which no model is asked until something new is said, at least 1.
   * Default: 3.
   */
  mostFailures?: number;
  /**
   * The share of the limit that user messages of the covered span may take, byte for byte. Default: 0.2.
   */
  userMessageBudget?: number;
  /**
   * How far below the limit a compaction must come: this share of the room above what cannot be given up.
   * Default: 0.5.
   */
  targetRatio?: number;
  /**
   * The share of the limit at which a turn is asked to come to an end. True: 0.85 where the policy has
   * none.
   */
  budgetExit?: ShareOrOff;
  /** How far history is made shorter before a model is asked. Default: `shortenResults`. */
  limitHistory?: LimitHistory;
  /** The share of the free space for the newest rounds, unchanged. */
  rawTailShare?: number;
  /** The share of the free space for older rounds with shortened results. */
  shortTailShare?: number;
  /** The share of the free space for the ledger of what was done, at most. */
  ledgerShare?: number;
  /** The share of the free space for the index of identifiers, at most. */
  identifierShare?: number;
  /**
   * The model that writes summaries, where it is not the one that answers. `openai.summaryModel` is taken
   * as its name too, and the environment's OPENAI_SUMMARY_MODEL.
   */
  summaryModel?: string;
  /**
   * Where that model is asked: an http or https address without a user and a password, a query and a
   * fragment. `openai.summaryBaseURL` is taken as its name too, and the environment's OPENAI_SUMMARY_URL.
   */
  summaryBaseUrl?: string;
  /**
   * The name of that model's key, as `model.keyEnv` is one. Default: the main model's where both are asked
   * at one place, so no key goes elsewhere by itself.
   */
  summaryKeyEnv?: string;
  /** Another name of `triggers.messages`; 0 is off. */
  summaryThreshold?: number;
  /** Another name of `retention`: this many messages. */
  summaryKeepLast?: number;
  /**
   * Another name of `triggers.preTurnTokens`: a ratio up to 1, or a percentage above 1 and up to 100; 0 is
   * off.
   */
  autoSummarizeThreshold?: number;
  /** Another name of `triggers.userTurns`; 0 is off. */
  autoSummarizeTurnThreshold?: number;
  /**
   * Another name of `triggers.idleSeconds`, in minutes; 0 is off. `sessionTtlMinutes` is taken as its name
   * too.
   */
  idleCompactAfterMinutes?: number;
  /**
   * Who the model is: a section of the system text. What is set of it is taken at once, and breaks the
   * prefix.
   */
  identity?: string;
  /** What it does in this session: a section of the system text. */
  role?: string;
  /** How tools are used: a section of the system text. */
  toolRules?: string;
  /** Tools that are there for the asking: a section of the system text. */
  toolkitHints?: string;
  /** The project that is worked on: a section of the system text. */
  project?: string;
  /** Whether a section of the system text says how many rounds a turn may have. Default: false. */
  iterationBudget?: boolean;
  /** When texts that are read from elsewhere go into prompts. Default: `frozen`. */
  systemPrompt?: SystemPrompt;
  /** Which thinking of earlier answers prompts show. Default: `keep`. */
  thinkingInPrompt?: ThinkingInPrompt;
  /**
   * Instruction files of the workspace that stand in the system text, by their paths below the folder; an
   * empty list is none. Of a file that changes, the next request of the user tells. Default: `AGENTS.md`
   * where the sidecar runs the loop, none where the client does, for then it brings its own.
   */
  instructionFiles?: string[];
  /** Rounds of a turn before the user is asked whether to go on. Default: 64. */
  roundLimit?: number;
  /**
   * Tokens above which a tool's result is shown to the model by its head and its tail; a quarter of the
   * window at most, and never 0. It is kept whole, and `context/recall` gives the rest. Results that are
   * there stay as they are shown. Default: 16,000.
   */
  maxToolResultTokens?: number;
  /** Tools of the sidecar itself that the model is told of, by their names. Default: none. */
  ownTools?: string[];
  /**
   * Milliseconds without a delta before a call of a model counts as failed. A summary or a title may take
   * five times as long as a whole, and so may the first word of a model that is asked over its own wire,
   * which may think before it; signs of life without a word do not count for longer than 25 times as long.
   * Default: 60,000.
   */
  modelDeadlineMs?: number;
  /**
   * Milliseconds that a user has for `compaction/review`; then the compaction holds, marked as unreviewed.
   * Default: 120,000.
   */
  reviewDeadlineMs?: number;
  /** Milliseconds before a `tool/invoke` counts as failed. Default: 1,800,000. */
  toolDeadlineMs?: number;
  /**
   * Milliseconds for which what a model says is gathered before it is told as one event; 0 tells each piece
   * by itself. Default: 16.
   */
  deltaIntervalMs?: number;
  /** Who names a session that the client does not name. Default: `request`. */
  titles?: Titles;
  /**
   * Whether prompts show what the folder remembers: all of it under a budget, the most important again at
   * the end of the system text. Read when a session is made, compacted, reset or a compaction is undone.
   * Default: false.
   */
  coreMemories?: boolean;
  /** Tokens of that, above 0. Default: 500. */
  coreMemoryTokens?: number;
  /**
   * Whether what the folder remembers is searched for each request, and what bears on it stands with it.
   * For sessions whose loop the sidecar runs. Default: false.
   */
  knowledge?: boolean;
  /** Tokens of that, above 0. Default: 500. */
  knowledgeTokens?: number;
  /**
   * Whether the folder remembers the summaries of compactions, in the area `session_summary`. Default:
   * false.
   */
  sessionSummaryToMemory?: boolean;
  /**
   * Whether the session is also written into its workspace, as `.threadhold/trajectories/{sessionId}.json`,
   * at the end of each turn. What others change in that file is taken into the session when that is idle;
   * what the change takes away is kept in a fork. Default: `off`.
   */
  trajectory?: Trajectory;
  /**
   * What of a turn is kept when it is over, in sessions whose loop the sidecar runs. With the driver
   * `editor` all of it is kept whatever is set here: the editor brings the messages itself, and would bring
   * them again. Default: `full`.
   */
  transcript?: TranscriptKept;
  /** When the store lets a write count as done. Default: `full`. */
  synchronous?: Synchronous;
}

/** A share of the limit, above 0 and up to 1, or whether there is one; `"off"` is taken as false. */
export type ShareOrOff = boolean | number;

/**
 * How much of a large result a model sees: its head and its tail, with a line between them that says how
 * the rest is fetched.
 */
export interface Shown {
  /** Bytes of the head. */
  headBytes: number;
  /** Bytes of the tail. */
  tailBytes: number;
}

/** A session as it stands, whole. */
export interface Snapshot {
  /** The session. */
  sessionId: string;
  /** Names the numbering of its events; a new process is a new stream. */
  stream: string;
  /** The number of the last event that is in here. */
  seq: number;
  /** Its state. */
  state: State;
  /** Who runs its loop. */
  driver: Driver;
  /** Its title. */
  title?: string;
  /** Rises with every `session/reset`. */
  generation: number;
  /** The session that it was started by or went on from. */
  parentId?: string;
  /** How it came to be. */
  origin: Origin;
  /** What it shares with the sessions of its work scope; of its own where it has none. */
  scope: Scope;
  /** Its messages, in order. */
  messages: Message[];
  /**
   * How many stand before them, where only the newest were asked for (`snapshotMessages`). `turns` is empty
   * then, and `compactions` has the one in force only.
   */
  earlierMessages?: number;
  /** Its turns, in order. */
  turns: TurnView[];
  /** Commands that wait, in the order in which they are carried out. */
  queue: QueueItem[];
  /** Whether it is being compacted. */
  compression: Compression;
  /** The answer that is being written. */
  streaming?: Streaming;
  /** The user's unsent text. */
  draft?: string;
  /** What waits for a decision. */
  pause?: Pause;
  /** Calls without a result. */
  pendingCalls: PendingCall[];
  /** All compactions, oldest first. */
  compactions: CompactionView[];
  /** What the user pinned, in the order in which it was. */
  pins?: Pin2[];
  /** The text of the compaction in force. */
  summary?: string;
  /** Messages that the compaction in force stands for. */
  summarizedCount: number;
  /** The settings in force. */
  settings: Settings;
  /** What the model reported last. */
  usage?: Usage;
  /** Whether what is in its queue waits for a process that serves its folder, see `task/start`. */
  waits?: boolean;
  /**
   * The other process that writes the session, where it is only followed here. Commands are refused until
   * that process lets it go or is gone, or until `session/takeOver`; then it goes on here, in a new stream.
   */
  heldBy?: HeldBy;
}

/** A stage of a loop. */
export interface Stage {
  /** What is asked. */
  content: Content;
  /** The title of its sessions; made of what is asked where it is missing. */
  title?: string;
  /** The tools that its model is told of. */
  tools?: Tool[];
  /** What stands before its messages. */
  sections?: Section[];
  /** Settings of its sessions. */
  settings?: Settings;
}

/** The state of a session. */
export type State =
  /** Nothing runs. */
  | "idle"
  /** A model is asked, or a prompt is made for it. */
  | "generating"
  /** Tools run. */
  | "executingTools"
  /** A call waits for a decision of the user. */
  | "paused"
  /** A call waits for the editor's result, which may come much later. */
  | "waitingIde"
  /** The turn ended with a question to the user. */
  | "waitingUserInput"
  /** The turn ended and its work is done. */
  | "completed"
  /** The turn ended with an error. */
  | "error";

/** Why an answer ended. */
export type StopReason =
  /** It was finished. */
  | "end"
  /** It reached a length limit. */
  | "length"
  /** It waits for the results of its tool calls. */
  | "toolUse"
  /** The provider or the model would not answer. */
  | "refused"
  /** Somebody stopped it; what is there was shown. Only the sidecar says this. */
  | "cancelled"
  /**
   * The call broke off; what is there was shown. Only the sidecar says this: a client answers with an
   * error.
   */
  | "failed";

/** How sessions are kept. */
export type StorageBackend =
  /** A file for each workspace. */
  | "sqlite"
  /** A database on a server. */
  | "postgres"
  /** Not beyond the process. */
  | "memory";

/** Why a store cannot be used. */
export type StorageCause =
  /** The disk is full. */
  | "full"
  /** Another program keeps it locked. */
  | "locked"
  /** It is damaged. */
  | "corrupt"
  /** A newer version of the sidecar wrote it. */
  | "newerSchema"
  /** It must not be written. */
  | "readOnly"
  /** It cannot be reached, or failed in another way. */
  | "unavailable";

/** A store that is open. */
export interface StorageInfo {
  /** The folder whose sessions it keeps. */
  workspaceFolder: string;
  /** How. */
  backend: StorageBackend;
  /** Where. */
  location?: string;
  /** The version of its tables. */
  schemaVersion?: number;
  /** Why it cannot be used at the moment. */
  fault?: string;
}

/** Where sessions are kept. */
export interface StorageOptions {
  /** How. Default: `sqlite`. */
  backend?: StorageBackend;
  /** The folder that holds a file for each workspace. */
  path?: string;
  /** The address of a database, for backends that have one. */
  url?: string;
}

/** An answer that is being written. */
export interface Streaming {
  /** The message that it will be. */
  messageId: string;
  /** What is there of it: what was said in its order, then the calls. */
  parts: Part[];
  /** What it used so far. */
  usage?: Usage;
  /** Where it has its words from, each in the form of the provider's own wire. */
  citations?: unknown[];
  /** What a client keeps with it. */
  extra?: { [key: string]: unknown };
}

/** How far the deterministic steps of a compaction went. */
export type Strength =
  /** They did nothing. */
  | "absent"
  /** Repeated content was folded. */
  | "low"
  /** Old tool results were shortened. */
  | "medium"
  /** History was limited. */
  | "high";

/** Whether a prompt that is too large is compacted. */
export type Summarize =
  /** When it is too large. */
  | "auto"
  /** Never: every message verbatim, and an overflow is the error BudgetExceeded. */
  | "off";

/** What happens to cache breakpoints in a request for a summary. */
export type SummaryBreakpoints =
  /** They stay. */
  | "keep"
  /** They are left out. */
  | "strip";

/**
 * A summary that stands for a round and everything before it. Without `toolCallRoundId` and `text` it marks
 * a summary that failed.
 */
export interface SummaryMetadata {
  /** The round that it annotates. */
  toolCallRoundId?: string;
  /** The exact text that stands in the prompt. */
  text?: string;
  /** What the sidecar needs to render the same bytes again, as one JSON text: opaque. */
  threadhold?: string;
  [key: string]: unknown;
}

/** Which kind of summary is asked for. */
export type SummaryMode =
  /** Full, then simple. */
  | "auto"
  /** The model reads the conversation as it was sent. */
  | "full"
  /** The model reads a text made of it. */
  | "simple";

/** When the store lets a write count as done. */
export type Synchronous =
  /** When the disk has it: it survives a loss of power. */
  | "full"
  /** When the system has it: it survives a killed process; a loss of power may take the last writes. */
  | "normal";

/**
 * When texts that are read from elsewhere, such as memories and instruction files, go into a session's
 * prompts.
 */
export type SystemPrompt =
  /** Where the prompt's beginning changes anyway: at its start, at a compaction, at a reset. */
  | "frozen"
  /** With each turn; where they changed, the prefix breaks. */
  | "perTurn";

/** A background session, as it is stored. */
export interface Task {
  /** The session. */
  sessionId: string;
  /** Its title. */
  title?: string;
  /** How it stands. */
  state: TaskState;
  /** When it was made, ISO-8601, UTC. */
  createdAt: string;
}

/** Parameters of `task/list`. */
export interface TaskListParams {
  /** The folder that the session belongs to. */
  workspaceFolder: string;
  /** The session that they run for. */
  sessionId: string;
}

/** Result of `task/list`. */
export interface TaskListResult {
  /** All background sessions of that one in which something was asked, the oldest first. */
  tasks: Task[];
}

/** Parameters of `task/start`. */
export interface TaskStartParams {
  /** The folder that the task belongs to, as a path or a `file:` address. */
  workspaceFolder: string;
  /** The session that it runs for; it is told of the end by a message of the kind `process_completed`. */
  sessionId: string;
  /** What is asked. */
  content: Content;
  /**
   * Settings of the task's session. Without a model here the folder's holds, as it is when the task begins.
   */
  settings?: Settings;
}

/** Result of `task/start`: it is stored. */
export interface TaskStartResult {
  /** The task's session. */
  sessionId: string;
}

/** How a background session stands. */
export type TaskState =
  /** It waits for a process that serves its folder and can ask its model. */
  | "waiting"
  /** Its turn runs, or waits for a user. */
  | "running"
  /** The process that ran its turn is gone. It is not run again by itself. */
  | "interrupted"
  /** Its turn ended. */
  | "completed"
  /** Somebody stopped its turn. */
  | "cancelled"
  /** Its turn could not go on. */
  | "failed";

/**
 * Which thinking of earlier answers prompts show. It is decided for each answer when that comes, and all of
 * it is stored.
 */
export type ThinkingInPrompt =
  /** All of it. */
  | "keep"
  /** That of the turn that runs; at a turn's end the prefix breaks. */
  | "stripCompletedTurns"
  /** None. */
  | "strip";

/** Who names a session that the client does not name. */
export type Titles =
  /** Its first request does. */
  | "request"
  /** Its first request, until the model was asked after the first turn. */
  | "model";

/** Something to do. */
export interface Todo {
  /** What. */
  content: string;
  /** How far it is. */
  status: TodoStatus;
}

/** How far a todo is. */
export type TodoStatus =
  /** Nobody began. */
  | "pending"
  /** Somebody is at it. */
  | "inProgress"
  /** It is done. */
  | "completed";

/** A tool that the model is told of. */
export interface Tool {
  /** Its name. */
  name: string;
  /** What it does, for the model. */
  description?: string;
  /** JSON Schema of its arguments. Default: an object without properties. */
  inputSchema?: unknown;
  /**
   * What it does to the world; a compaction says afterwards what was read, changed and run. Where it is
   * missing, the tool's name is looked up in a table of known tools.
   */
  kind?: ToolKind;
  /** Text about its use for the system message. */
  guidelines?: string;
  /** Whether a call of it may run. Default: `allow`. */
  policy?: ToolPolicy;
  /**
   * What holds for calls whose arguments look a certain way. The strictest rule that matches takes the
   * place of `policy`, but where that is `deny`.
   */
  rules?: ToolRule[];
  /**
   * The state in which a successful call of it ends the turn. Default: `completed` for tools named
   * `task_done` and `agent_finish`, `waitingUserInput` for `ask_questions` and `wait_agents`, none for any
   * other.
   */
  endsTurn?: EndsTurn;
}

/** Parameters of `tool/approvals`. */
export interface ToolApprovalsParams {
  /** The folder; the client's first one where it is missing. */
  workspaceFolder?: string;
  /** Those that are taken back first. */
  revoke?: Approved[];
}

/** Result of `tool/approvals`. */
export interface ToolApprovalsResult {
  /** What is approved in this folder. */
  approved: Approved[];
}

/** A call of a tool. */
export interface ToolCall {
  /** Its id. */
  id: string;
  /** The tool's name. */
  name: string;
  /** The arguments, as JSON text. */
  arguments: Arguments;
}

/** Whether a model may use the tools that it is told of. */
export type ToolChoice =
  /** As it likes. */
  | "auto"
  /** Not at all. The tools are still sent, because a provider's cache depends on them. */
  | "none";

/** Parameters of `tool/decide`. */
export interface ToolDecideParams {
  /** The session. */
  sessionId: string;
  /** A decision for each call that waits, in one request or in several. */
  decisions: Decision[];
}

/** Result of `tool/decide`. */
export interface ToolDecideResult {
  /** The session's state afterwards. */
  state: State;
}

/** Parameters of `tool/invoke`. */
export interface ToolInvokeParams {
  /** The session. */
  sessionId: string;
  /** The turn that runs. */
  turnId: string;
  /** The call; a call is sent once, and never again by itself after a restart. */
  toolCallId: string;
  /** The tool's name. */
  name: string;
  /** The arguments, as JSON text. */
  arguments: Arguments;
}

/**
 * Result of `tool/invoke`: what the tool said, or `pending`. One of `content` and `pending` must be there.
 */
export interface ToolInvokeResult {
  /** What the tool said. */
  content?: Content;
  /** Whether the tool failed. Default: false. */
  isError?: boolean;
  /** The exit code, where there is one. */
  exitCode?: number;
  /** Files that it changed. */
  effects?: Effect[];
  /** The answer comes later, with `tool/result`. */
  pending?: boolean;
}

/** What a tool does to the world. */
export type ToolKind =
  /** Shows a file. */
  | "read"
  /** Changes a file. */
  | "write"
  /** Runs a command. */
  | "run"
  /** Looks for something. */
  | "search"
  /** Keeps the list of what is to do. */
  | "todo"
  /** Asks the user. */
  | "ask"
  /** Anything else. */
  | "other";

/** Whether a call of a tool may run. */
export type ToolPolicy =
  /** It runs. */
  | "allow"
  /** The user decides about each call. */
  | "ask"
  /** It never runs; the model is told so. */
  | "deny";

/** What a tool answered. */
export interface ToolResult {
  /** The call that it answers. */
  toolCallId: string;
  /** What the tool said. */
  content: Content;
  /** Whether the tool failed. Default: false. */
  isError?: boolean;
  /** The exit code, where there is one. */
  exitCode?: number;
  /** Files that it changed. */
  effects?: Effect[];
}

/** Parameters of `tool/result`. */
export interface ToolResultParams {
  /** The session. */
  sessionId: string;
  /** The call that it answers. */
  toolCallId: string;
  /** What the tool said. */
  content: Content;
  /** Whether the tool failed. Default: false. */
  isError?: boolean;
  /** The exit code, where there is one. */
  exitCode?: number;
  /** Files that it changed. */
  effects?: Effect[];
}

/** Result of `tool/result`. */
export interface ToolResultResult {
  /** The session's state afterwards. */
  state: State;
}

/** What holds for calls whose arguments look a certain way. */
export interface ToolRule {
  /**
   * The argument that is looked at. Where it is missing: what allows must hold for the values of all of
   * them together, one to a line; what asks or denies, for any of them.
   */
  argument?: string;
  /**
   * How it looks: `*` stands for any characters, `\` takes the next one as it is. In a rule that allows,
   * `*` does not stand for characters with which a shell begins another command.
   */
  pattern: string;
  /** What holds then. */
  policy: ToolPolicy;
}

/** Where a session is also written as a file that people and other programs may read and change. */
export type Trajectory =
  /** Nowhere. */
  | "off"
  /** Into `.threadhold/trajectories/{sessionId}.json` of its workspace. */
  | "workspace";

/** Parameters of `trajectory/list`. */
export interface TrajectoryListParams {
  /** The folder; the client's first one where it is missing. */
  workspaceFolder?: string;
  /** Where the page before ended. */
  cursor?: string;
  /** Files of a page. Default: 50; at most 500. */
  limit?: number;
}

/** Result of `trajectory/list`. From now on `sessions/changed` tells what others do to these files. */
export interface TrajectoryListResult {
  /** Files in the order of their names. */
  trajectories: TrajectorySummary[];
  /** Where the next page begins; missing on the last. */
  nextCursor?: string;
}

/** A file in the `.threadhold/trajectories` of a workspace. */
export interface TrajectorySummary {
  /**
   * Its name without `.json`: the session that it is of. `session/import` makes one of it where there is
   * none.
   */
  chatId: string;
  /** The folder that it lies in. */
  workspaceFolder: string;
  /** The title of the conversation. */
  title?: string;
  /** How often it was written. */
  version: number;
  /** Messages that can be read. */
  messages: number;
  /** Its size. */
  bytes: number;
  /** ISO-8601, as the file says it. */
  createdAt?: string;
  /** ISO-8601, as the file says it. */
  updatedAt?: string;
  /** Why it cannot be used; it is left as it is. */
  fault?: string;
}

/** What of a turn is kept when it is over. */
export type TranscriptKept =
  /** All of it. */
  | "full"
  /**
   * What its user said and the answer that it came to; a call that ended the turn belongs to that, such as
   * a question to the user. Other calls of tools, their results and answers that were broken off go when
   * the turn ends, from prompts too, and `context/recall` says that they are gone. In sessions whose loop
   * the editor runs nothing goes.
   */
  | "finalOnly";

/** What a trigger counts. */
export type TriggerMeasure =
  /** Tokens of the prompt. */
  | "tokens"
  /** Turns of the user that are shown. */
  | "turns"
  /** Messages that are shown. */
  | "messages"
  /** Seconds since something was said. */
  | "seconds";

/** Something that starts a compaction, and how near it is. */
export interface TriggerState {
  /** What. */
  trigger: CompactionTrigger;
  /** What is counted. */
  measure: TriggerMeasure;
  /** How much there is now. */
  now: number;
  /** How much it starts at; missing where it is switched off. */
  at?: number;
  /**
   * New tokens that must come before it starts anything, however much there is: too little was said since
   * the last compaction (see `minNewTokens`), or since one was refused, undone or came to nothing. Missing
   * where nothing holds it back.
   */
  heldBackTokens?: number;
}

/**
 * What starts a compaction. Each is set by itself: what is not given stays as it is. A prompt that is over
 * the limit and a word of the user always do.
 */
export interface Triggers {
  /** The provider said that a prompt was too large. */
  providerOverflow?: boolean;
  /** The share of the limit that a prompt has when a turn begins. True: 0.8 where the policy has none. */
  preTurnTokens?: ShareOrOff;
  /**
   * The share of the limit at which a summary is prepared beside the running turn. True: 0.75 where the
   * policy has none.
   */
  background?: ShareOrOff;
  /** The next model's window is smaller, and the prompt does not fit it. */
  modelChanged?: boolean;
  /** More requests of the user than this are shown. True: 32 where the policy has none. */
  userTurns?: CountOrOff;
  /** More messages than this are shown. True: 40 where the policy has none. */
  messages?: CountOrOff;
  /** Seconds without a word. True: 900 where the policy has none. */
  idleSeconds?: CountOrOff;
}

/** A turn of the past, as a client hands it over. */
export interface Turn {
  /**
   * The sidecar's id of the turn, where the client knows it. It is not read: turns are matched by
   * `externalId`.
   */
  id?: string;
  /** The client's id of the request. Turns are matched by it; without one by their position and content. */
  externalId?: string;
  /** What the user asked. */
  request?: Content;
  /** Values that belonged to the request, as they were given when it was rendered first. */
  variables?: Variable[];
  /** Notebooks as they stood then. */
  notebook?: Notebook[];
  /** What was attached to the request when it was rendered first. */
  attachments?: Attachment[];
  /** The rounds that followed. */
  rounds?: Round[];
  /** The final answer, where the client has no rounds; it is not read where there are some. */
  response?: Content;
  /** The whole turn in its order. Where it is given, `request`, `rounds` and `response` are not read. */
  messages?: MessageInput[];
  /** What the sidecar gave for the turn: hand it back unchanged. */
  metadata?: TurnMetadata;
}

/** Parameters of `turn/cancel`. */
export interface TurnCancelParams {
  /** The session. */
  sessionId: string;
  /** The turn, running or waiting; the running one where it is missing. */
  turnId?: string;
  /** Whether what waits is not done either. Default: false; then the next in the queue begins. */
  cancelQueued?: boolean;
}

/** Result of `turn/cancel`. */
export interface TurnCancelResult {
  /** The turn that was cancelled; missing where none ran. */
  turnId?: string;
  /** The session's state afterwards. */
  state: State;
  /** What waits no longer, with the user's words. */
  removed: QueueItem[];
}

/** Parameters of `turn/end`. */
export interface TurnEndParams {
  /** The session. */
  sessionId: string;
  /** The turn; the running one where it is missing. */
  turnId?: string;
  /** How it ended. Default: `completed`. */
  status?: TurnOutcome;
}

/** Result of `turn/end`. */
export interface TurnEndResult {
  /** The turn. */
  turnId: string;
  /** All that is to be persisted with the turn and handed back unchanged. */
  metadata: TurnMetadata;
}

/**
 * Metadata of a turn. Persist all of it, unknown keys too, and hand it back unchanged with the turn. It is
 * read leniently: what cannot be read is reported by the restore and is never an error.
 */
export interface TurnMetadata {
  /** The newest summary. */
  summary?: SummaryMetadata;
  /** All summaries of the turn, oldest first. They are read before `summary`. */
  summaries?: SummaryMetadata[];
  /**
   * What the sidecar needs of compactions that annotate no round, because they only shortened results or
   * dropped rounds, as one JSON list: opaque. Lists of several answers for one turn are joined into one.
   */
  threadhold?: string;
  [key: string]: unknown;
}

/** How a client says that a turn ended. */
export type TurnOutcome =
  /** The model had nothing more to do. */
  | "completed"
  /** Somebody stopped it. */
  | "cancelled"
  /** It could not go on. */
  | "failed";

/**
 * Parameters of `turn/regenerate`: what follows the newest request is cut off, and the model answers again.
 */
export interface TurnRegenerateParams {
  /** The session. */
  sessionId: string;
  /**
   * A name for this command: sent again under the same name, it is answered again and not carried out
   * twice.
   */
  idempotencyKey?: string;
}

/** Parameters of `turn/retry`. One of `fromMessageId` and `fromIndex` must be there. */
export interface TurnRetryParams {
  /** The session. */
  sessionId: string;
  /**
   * The message; it and everything after it is cut off. A result goes with the message that called the
   * tool.
   */
  fromMessageId?: string;
  /** The same by its place in the snapshot's `messages`, from 0. */
  fromIndex?: number;
  /**
   * The request's new words. Without them a request is asked again as it was; a model's answer is given
   * again.
   */
  content?: Content;
  /**
   * A name for this command: sent again under the same name, it is answered again and not carried out
   * twice.
   */
  idempotencyKey?: string;
}

/** Parameters of `turn/start`. */
export interface TurnStartParams {
  /** The session. */
  sessionId: string;
  /** What the user asks. */
  content: Content;
  /** The client's id of the request. */
  externalId?: string;
  /** Files that are given with the request. */
  contextFiles?: ContextFile[];
  /** What is so now, such as the open files: captured with the request and never changed there. */
  attachments?: Attachment[];
  /** The tools from now on. A changed list changes the start of the prompt. */
  tools?: Tool[];
  /** The caller's sections from now on. Changed ones change the start of the prompt. */
  sections?: Section[];
  /** The model from now on. */
  model?: Model;
  /**
   * Whether it goes before what waits, and into the turn that runs: an answer that is being given is broken
   * off (what was said stays), a round's calls are waited for. Default: false.
   */
  priority?: boolean;
  /**
   * A name for this request: sent again under the same name, it is answered again and not asked twice. The
   * last 1,000 of a session are remembered, also across restarts.
   */
  idempotencyKey?: string;
}

/** Result of `turn/start`. It comes as soon as the request is on disk; everything else comes as events. */
export interface TurnStartResult {
  /**
   * The turn. A request that waits and goes into a turn that runs belongs to that one: `messageAdded` says
   * so.
   */
  turnId: string;
  /** The user's message. */
  messageId: string;
  /** Where it has to wait: its id in the queue. */
  itemId?: string;
  /** Its place in the queue, from 1, where it has to wait. */
  queuedPosition?: number;
}

/** How a turn stands. */
export type TurnStatus =
  /** It runs, or the process that ran it is gone. */
  | "running"
  /** The model had nothing more to do. */
  | "completed"
  /** Somebody stopped it. */
  | "cancelled"
  /** It could not go on. */
  | "failed";

/** A turn in a snapshot. */
export interface TurnView {
  /** The sidecar's id. */
  id: string;
  /** The client's id of the request. */
  externalId?: string;
  /** How it stands. */
  status: TurnStatus;
  /** Its rounds, in order. */
  rounds: RoundView[];
  /** All that is to be persisted with the turn and handed back unchanged. */
  metadata?: TurnMetadata;
}

/** What a model used, in tokens, as its provider reported it. */
export interface Usage {
  /** Tokens read, those from a cache included. */
  inputTokens?: number;
  /** Tokens written, thinking included. */
  outputTokens?: number;
  /** Tokens of the input that came from a cache. */
  cachedInputTokens?: number;
  /** Tokens of the input that a cache took in, for the next request. */
  cacheWriteInputTokens?: number;
  /** Tokens of the output that are thinking. */
  reasoningTokens?: number;
}

/** What a provider reported of a prompt, beside our own count of it. */
export interface UsageReport {
  /** The model. */
  model: string;
  /** Tokens that it read, as reported. */
  reportedTokens: number;
  /** Tokens by our count, before anything learned. */
  countedTokens: number;
}

/** Who says what a model used. */
export type UsageSource =
  /** The model's provider, in the answer. */
  | "provider"
  /** The client counted the request, for its provider says nothing. */
  | "countTokens";

/** A named value that belongs to a request, such as a selection. */
export interface Variable {
  /** Its name. */
  name: string;
  /** Its value. */
  value: Content;
}

/** What a user can decide about a call. */
export type Verdict =
  /** It runs. */
  | "approve"
  /**
   * It runs, and so do later calls like it in this workspace, without a question: those that look like
   * `pattern`; where there is none, all calls of the tool, or for a tool of kind `run` those with the same
   * arguments.
   */
  | "approveAlways"
  /** It does not run; the model is told so. */
  | "reject";

/** Something that can be done in the place of an undo. */
export type WayOn =
  /** `context/undo` of this one first. */
  | {
      way: "undoFirst";
      /** The newer compaction. */
      compactionId: string;
    }
  /** `context/compact` with `redo`, and perhaps with `focus` and `keep`. */
  | {
      way: "redo";
      /** The compaction. */
      compactionId: string;
    }
  /** `context/pin` for messages that it hides. */
  | {
      way: "pin";
      /** Those that would fit together, the newest first, by id. */
      messageIds: string[];
      /** What new pins may weigh together, in tokens. */
      mostTokens: number;
    }
  /** A model with this window, and then the undo. */
  | {
      way: "window";
      /** The smallest window that serves, in tokens. */
      tokens: number;
    };
