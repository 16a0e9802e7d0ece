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
  "messagesTruncated",
  "threadUpdated",
  "runtimeUpdated",
  "pauseRequired",
  "pauseCleared",
  "compactionUpdated",
  "contextUpdated",
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
  /** Compacts now. Level: context. */
  "context/compact": { params: ContextCompactParams; result: ContextCompactResult };
  /**
   * Brings the result of a call that was answered with `pending`, or that a restart left open. Level:
   * extras.
   */
  "tool/result": { params: ToolResultParams; result: ToolResultResult };
  /** Changes settings or the title of a session. Level: extras. */
  "session/configure": { params: SessionConfigureParams; result: SessionConfigureResult };
  /** Closes a session; it stays on disk. Level: extras. */
  "session/close": { params: SessionCloseParams; result: SessionCloseResult };
  /** Deletes a session for good. Level: extras. */
  "session/delete": { params: SessionDeleteParams; result: SessionDeleteResult };
  /** Shows versions, stores, open sessions and what is under way. Level: extras. */
  "server/diagnostics": { params: ServerDiagnosticsParams; result: ServerDiagnosticsResult };
}

/** Notifications of the client to the sidecar. */
export interface ClientNotifications {
  /** Streams an answer to `model/complete`. Level: core. */
  "model/delta": { params: ModelDeltaParams };
}

/** Requests of the sidecar to the client. */
export interface SidecarRequests {
  /** Asks the client's model. The client streams with `model/delta` and then answers. Level: core. */
  "model/complete": { params: ModelCompleteParams; result: ModelCompleteResult };
  /** Has a tool run. Level: core. */
  "tool/invoke": { params: ToolInvokeParams; result: ToolInvokeResult };
  /** Asks the user about calls. Without an answer the session pauses until `tool/decide`. Level: core. */
  "tool/requestPermission": { params: RequestPermissionParams; result: RequestPermissionResult | null };
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
  /** Tells what a model used. Level: extras. */
  "model/usage": { params: ModelUsageParams };
}

/**
 * The arguments of a call: JSON text as the model wrote it, which may be broken. An object is taken too;
 * what the sidecar sends is always text.
 */
export type Arguments = string | { [key: string]: unknown };

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
}

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
  /** `compaction/review`, which no session of this version sends. */
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
  /** Old tool results were shortened; no model was asked. */
  | "limitHistory"
  /** A model summed up the conversation as it was sent. */
  | "full"
  /** A model summed up a text made of the conversation. */
  | "simple"
  /** What was done and which names were used, without a model. */
  | "ledger"
  /** Whole old rounds were dropped, without a model. */
  | "dropped";

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
  /** It was cancelled; everything is as before. */
  | "cancelled"
  /** Nothing makes the prompt fit; everything is as before. */
  | "cannotFit";

/** Whether a compaction is obeyed. */
export type CompactionStatus =
  /** The prompt obeys it, unless a newer one is in force. */
  | "inForce"
  /** What it stands for is no longer in the session. */
  | "void"
  /** It was found in an import; the prompt starts from the originals. */
  | "recorded";

/** What started a compaction. */
export type CompactionTrigger =
  /** A prompt was over its limit. */
  | "budgetExceeded"
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
  /** The model that wrote the summary. */
  model?: string;
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
  /** What a client persists of it. */
  metadata: SummaryMetadata;
}

/** Whether a session is being compacted. */
export interface Compression {
  /** Whether it is. */
  running: boolean;
  /** How far it is. */
  phase?: CompactionPhase;
  /** The kind of compaction that is tried. */
  mode?: CompactionMode;
}

/** What a client gives as content: a text, or a list of parts. It is always given back as a list. */
export type Content = string | Part[];

/** Parameters of `context/compact`. */
export interface ContextCompactParams {
  /** The session. */
  sessionId: string;
  /** What the summary should not lose, in the user's words. */
  focus?: string;
  /** Reports progress with `$/progress`. */
  workDoneToken?: ProgressToken;
}

/** Result of `context/compact`. */
export interface ContextCompactResult {
  /** The compaction that was made. */
  compaction?: CompactionView;
  /** The metadata that is new: persist it with the turn and hand it back unchanged. */
  metadata?: TurnMetadata;
  /** Why nothing was compacted. */
  reason?: string;
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
  /** Who counted. */
  estimator: string;
  /** What it is made of, in order. */
  sections: SectionTokens[];
  /** New tokens that fit before a compaction is needed. */
  tokensUntilCompaction: number;
  /** All compactions, oldest first. */
  compactions: CompactionView[];
  /** What became of the session's messages. */
  coverage: Coverage;
  /** Each setting with its value and who set it. */
  settings: SettingInForce[];
}

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
  /** A user message over the budget for user messages. */
  | "userMessage"
  /** A call without a result; a stand-in that says so answers it. */
  | "unansweredCall"
  /** A section of the caller over its own ceiling. */
  | "section";

/** The user's decision about one call. */
export interface Decision {
  /** The call. */
  toolCallId: string;
  /** What was decided. */
  decision: Verdict;
  /** The user's words, which the model is told. */
  note?: string;
}

/**
 * A change of an answer that is being written. Operations that a receiver does not know are ignored;
 * reserved for later versions are setThinkingBlocks, addCitation, addServerContentBlock, setUsage and
 * mergeExtra.
 */
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
    };

/** Something that went otherwise than asked, and is no error. */
export interface Diagnostic {
  /** A word for programs, such as `ignoredPart`. */
  kind: string;
  /** What happened, for people. */
  message: string;
}

/** Who runs the loop of a session. A session keeps its driver for life. */
export type Driver =
  /** The sidecar: it asks the model and has the tools run. */
  | "sidecar"
  /** The editor: it asks the sidecar for prompts only. */
  | "editor";

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
      /** Who. */
      provider: string;
      /** The status of HTTP, where there is one. */
      status?: number;
      /** Why, as a word for programs, such as `timeout`, `refused`, `client`. */
      cause: string;
      /** Milliseconds after which it is worth trying again. */
      retryAfterMs?: number;
      /** The beginning of what it said, without secrets. */
      excerpt?: string;
    }
  /**
   * Another process writes the session. It can be followed here: `session/subscribe`, or `session/open`
   * with `follow`.
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
  /** Too many requests have no answer yet. Send it again when one of them has. */
  | {
      kind: "Overloaded";
      /** The most that there may be. */
      limit: number;
    };

/** The error that ended a turn. */
export interface EventError {
  /** Its number. */
  code: number;
  /** What happened, what was kept, what to do. */
  message: string;
  /** Its kind, with what belongs to that kind. */
  data: ErrorData;
}

/** A way of compacting that did not serve. */
export interface Fallback {
  /** The way. */
  mode: CompactionMode;
  /** Why, for people and logs. */
  reason: string;
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
  /** Its size in tokens, with the overhead of a message. */
  tokens: number;
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
}

/** The client's model, as far as prompts depend on it. */
export interface Model {
  /** Its name, handed back with `model/complete`. */
  name?: string;
  /** Its window in tokens. */
  window: number;
  /** The most that it answers, in tokens. */
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
  | "summary";

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
  /** A model's thinking. Only in assistant messages. */
  | {
      type: "reasoning";
      /** The thinking; may be empty where the provider gives a signature only. */
      text: string;
      /** The provider's signature, opaque. */
      signature?: string;
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
  /** A part in the form of the provider's own wire. */
  | {
      type: "raw";
      /** The part as the provider had it. */
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
  /** The model that the prompt is for. */
  model?: Model;
  /** The most that the prompt may weigh, in tokens, below what the model allows. */
  budget?: number;
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
  /** The summaries that are new: persist them with the turn and hand them back unchanged. */
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

/** A request that waits. */
export interface QueueItem {
  /** Its id. */
  itemId: string;
  /** The turn that it will be. */
  turnId: string;
  /** What the user asks. */
  content: Part[];
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

/** A section that the caller brings. */
export interface Section {
  /** Where it stands. Default: `system`. */
  channel?: SectionChannel;
  /** Its name in plans and reports. */
  name: string;
  /** Its text. */
  content: string;
  /** The lowest goes first. Without one it is never given up. */
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
}

/** Parameters of `session/delete`. */
export interface SessionDeleteParams {
  /** The session. */
  sessionId: string;
}

/** Result of `session/delete`: what is gone for good. */
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
   * Whether no trace of them is left in the file. Not so while another process reads it: the rows are gone
   * then, and their bytes may last until the next deletion.
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
  /** Messages left the session, because the client's history no longer has them. */
  | {
      type: "messagesTruncated";
      /** The position of the first one that went. */
      fromOrd: number;
      /** The session that keeps them. */
      fork: string;
    }
  /** Title or settings changed. */
  | {
      type: "threadUpdated";
      /** The title. */
      title?: string;
      /** The settings in force. */
      settings?: Settings;
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
      /** At a turn's end, all its summaries: persist them with the turn and hand them back unchanged. */
      metadata?: TurnMetadata;
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
      /** How far it is. */
      phase: CompactionPhase;
      /** The way that is tried, or that served. */
      mode?: CompactionMode;
      /** What started it. */
      trigger?: CompactionTrigger;
      /** Why the way did not serve, for people. */
      reason?: string;
      /** The compaction, once it is accepted. */
      compaction?: CompactionView;
      /** What is new to persist, once it is accepted. */
      metadata?: TurnMetadata;
    }
  /** The prompt's size changed. */
  | {
      type: "contextUpdated";
      /** Its size in tokens. */
      tokens: number;
      /** The most it may weigh, in tokens. */
      limit: number;
      /** New tokens that fit before a compaction is needed. */
      tokensUntilCompaction: number;
      /** What it is made of, in order. */
      sections: SectionTokens[];
    }
  /** The client's history was matched with the session after it was opened. */
  | {
      type: "restoreReported";
      /** What was found, brought back, refused. */
      report: RestoreReport;
    }
  /** Another process holds the session now; this one can only read it. */
  | {
      type: "sessionTakenOver";
    }
);

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
  /** The session that started it. */
  parentId?: string;
  /** What background sessions share. */
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
}

/** Result of `session/open`. It subscribes the client to the session's events. */
export interface SessionOpenResult {
  /** The session as it stands. */
  snapshot: Snapshot;
  /** What was found, brought back, refused. */
  restore: RestoreReport;
}

/** Parameters of `session/subscribe`. */
export interface SessionSubscribeParams {
  /** The session. */
  sessionId: string;
  /** The stream of the last event that the client has. */
  stream?: string;
  /** The number of that event. */
  sinceSeq?: number;
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

/** Parameters of `sessions/changed`. */
export interface SessionsChangedParams {
  /** Sessions that are new. */
  created: SessionSummary[];
  /** Sessions that look different in a list. */
  updated: SessionSummary[];
  /** Sessions that are gone, by id. */
  deleted: string[];
}

/** A setting in force. */
export interface SettingInForce {
  /** Its name. */
  name: string;
  /** Its value. */
  value: unknown;
  /** Who set it. */
  source: SettingSource;
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
 * Settings. Later ones win: built-in, `initialize`, `workspace/didChangeConfiguration`, `session/open`,
 * `session/configure`, the request itself.
 */
export interface Settings {
  /** The model. */
  model?: Model;
  /** How sessions are compacted: the name of a built-in policy. */
  policy?: string;
  /**
   * Where compaction starts: a ratio of the window above 0 and up to 1, or a count of at least 100 tokens.
   */
  threshold?: number;
  /** Tokens kept back for the answer; a quarter of the window at most. Default: 4,096. */
  reservedOutput?: number;
  /** The longest summary that is accepted, in tokens; an eighth of the window at most. Default: 2,048. */
  maxSummaryTokens?: number;
  /** Which kind of summary is asked for. Default: `auto`. */
  summaryMode?: SummaryMode;
  /** What happens to cache breakpoints in a request for a summary. Default: `keep`. */
  summaryBreakpoints?: SummaryBreakpoints;
  /** Whether a prompt that is too large is compacted. Default: `auto`. */
  summarize?: Summarize;
  /** Another name of `summarize`: false is `off`. `summarization.enabled` is taken as its name too. */
  summaryEnabled?: boolean;
  /** Rounds of a turn before the user is asked whether to go on. Default: 64. */
  roundLimit?: number;
  /** Milliseconds without a delta before a `model/complete` counts as failed. Default: 60,000. */
  modelDeadlineMs?: number;
  /** Milliseconds before a `tool/invoke` counts as failed. Default: 1,800,000. */
  toolDeadlineMs?: number;
  /** When the store lets a write count as done. Default: `full`. */
  synchronous?: Synchronous;
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
  /** Its messages, in order. */
  messages: Message[];
  /** Its turns, in order. */
  turns: TurnView[];
  /** Requests that wait. */
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
  /** The text of the compaction in force. */
  summary?: string;
  /** Messages that the compaction in force stands for. */
  summarizedCount: number;
  /** The settings in force. */
  settings: Settings;
  /** What the model reported last. */
  usage?: Usage;
  /**
   * The other process that writes the session, where it is only followed here. Commands are refused until
   * that process lets it go or is gone; then the next one goes on with it here, in a new stream.
   */
  heldBy?: HeldBy;
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
  /** What is there of it. */
  parts: Part[];
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
  /** The exact text that stands in the prompt; may be empty where results were only shortened. */
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
  /** The state in which a successful call of it ends the turn. */
  endsTurn?: EndsTurn;
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
  /** The turn; the running one where it is missing. */
  turnId?: string;
}

/** Result of `turn/cancel`. */
export interface TurnCancelResult {
  /** The turn that was cancelled; missing where none ran. */
  turnId?: string;
  /** The session's state afterwards. */
  state: State;
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
  /** All summaries of the turn: persist it with the turn and hand it back unchanged. */
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
  /** The tools from now on. A changed list changes the start of the prompt. */
  tools?: Tool[];
  /** The caller's sections from now on. Changed ones change the start of the prompt. */
  sections?: Section[];
  /** The model from now on. */
  model?: Model;
}

/** Result of `turn/start`. It comes as soon as the request is on disk; everything else comes as events. */
export interface TurnStartResult {
  /** The turn. */
  turnId: string;
  /** The user's message. */
  messageId: string;
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
  /** All summaries of the turn: persist it with the turn and hand it back unchanged. */
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
  /** It does not run; the model is told so. */
  | "reject";
