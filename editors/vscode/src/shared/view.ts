// Rows, frame and messages between the extension host, which has all state, and the webview, which has only its scroll
// position. Types and constants only; imports no editor, no document, no protocol of the sidecar.

import type { CodeColors, CodePiece } from "./code.ts";
import type { Mentionable, MentionItem } from "./mention.ts";
import type { Meter } from "./meter.ts";
import type { Mode } from "./mode.ts";
import type { PromptItem, SlashName, ToolItem } from "./slash.ts";
import type { MessageVersions } from "./versions.ts";

/** Something of the conversation that stands in a row of its own. `id` stays, `rev` changes with what it says. */
export type Row = EarlierRow | UserRow | AnswerRow | CallRow | CallGroupRow | CompactionRow | CompactionGroupRow | RewindRow | NoticeRow;

/** A row before it has its number. */
export type Unnumbered<Of> = Of extends unknown ? Omit<Of, "rev"> : never;

interface Drawn {
  id: string;
  rev: number;
  /** Another window writes the session; read-only here. */
  held?: boolean;
}

/** Placeholder for messages that are not loaded yet; loads some when it scrolls into view. */
export interface EarlierRow extends Drawn {
  kind: "earlier";
  /** How many messages that are. */
  messages: number;
}

/** A message of the user. */
export interface UserRow extends Drawn {
  kind: "user";
  messageId: string;
  versions?: MessageVersions;
  text: string;
  images: Picture[];
  files: string[];
  pinId?: string;
  /** How much of it the prompt shows. */
  shown: Shown;
}

/** An answer of the model with its reasoning. Its tool calls are rows of their own. */
export interface AnswerRow extends Drawn {
  kind: "answer";
  messageId: string;
  versions?: MessageVersions;
  text: string;
  reasoning: string;
  streaming: boolean;
  stopped?: "cancelled" | "failed" | "length" | "refused";
  /** What its turn cost, such as `$0.0123`, and where that is from; on the last answer of a turn that is over. */
  cost?: string;
  costFrom?: string;
  pinId?: string;
  shown: Shown;
}

/** A call of a tool, with its result. */
export interface CallRow extends Drawn {
  kind: "call";
  callId: string;
  messageId: string;
  /** Name of the tool. */
  name: string;
  icon: ToolIcon;
  /** What it does or did, such as `Ran cargo test`. Truncated, so approvals must not rely on it. */
  phrases: readonly Phrase[];
  /** The main argument in one line, such as a path or command. Truncated, too. */
  about: string;
  arguments: string;
  /** How many characters of arguments were written so far, where these are only the last of them. */
  characters?: number;
  state: CallState;
  /** Why it is asked about. */
  reason?: string;
  /** What always allowing commands that begin as this one covers, as the sidecar proposes it. */
  pattern?: string;
  result?: CallResult;
  /** What the user said when they rejected it, or that such calls always are. */
  note?: string;
  durationMs?: number;
  /** True if the editor can show what it would change. */
  hasDiff: boolean;
  /** It runs a command. Always allowing or rejecting it is about exactly this command. */
  isCommand: boolean;
  /** What the command does to files, while it needs approval. The text of a command can hide more. */
  effects?: readonly string[];
  shown: Shown;
}

/** Picture of what a tool does. */
export type ToolIcon = "file" | "list" | "search" | "edit" | "write" | "terminal" | "tool";

/** A piece of a sentence. */
export interface Phrase {
  text: string;
  /** Drawn as code, such as a command. */
  isCode?: boolean;
}

/** A run of calls that only looked at things, in one row. */
export interface CallGroupRow extends Drawn {
  kind: "calls";
  /** What was looked at, such as `Read 12 files, searched 3 times`. */
  title: string;
  /** Some of them run. */
  running: boolean;
  failed: number;
  /** How many of their results the prompt does not show whole. */
  shortened: number;
  calls: CallRow[];
}

/** A part of a tool's result, and how much there is of it. */
export interface CallResult {
  messageId: string;
  /** Its beginning; of what a command printed, its end. */
  text: string;
  /** It is what a command printed. */
  isOutput?: boolean;
  characters: number;
  images: Picture[];
  exitCode?: number;
  changed: string[];
}

/** How a call stands. */
export type CallState = "writing" | "asked" | "waiting" | "running" | "done" | "failed" | "rejected" | "cancelled" | "open";

/** A compaction, as a card where it happened. */
export interface CompactionRow extends Drawn {
  kind: "compaction";
  compactionId: string;
  phase: "running" | "reviewing" | "inForce" | "older" | "undone" | "void";
  /** Title of the card, such as `Compacted 4 rounds`. */
  title: string;
  /** Why it was begun. */
  why: string;
  /** How it is made or was made, for people. */
  how: string;
  tokensBefore?: number;
  tokensAfter?: number;
  rounds?: number;
  /** How many messages it stands for; missing where not all of them are here, and none where it stands for none. */
  messages?: number;
  block: string;
  narrative: string;
  /** The rest of the block: actions and names, listed without a model. */
  ledger: string;
  focus?: string;
  model?: string;
  unreviewed: boolean;
  excluded: number;
  estimator?: string;
  /** Methods that failed before, in order. */
  fallbacks: string[];
  /** It can be undone, redone or edited: it is the newest one in force. */
  newest: boolean;
  durationMs?: number;
  /** What its requests cost, such as `$0.0123`. */
  cost?: string;
  /** Messages that would no longer be seen, while it is reviewed. */
  dropped?: number;
}

/** Compactions in one row that a newer one stands behind. */
export interface CompactionGroupRow extends Drawn {
  kind: "compactions";
  title: string;
  cards: CompactionRow[];
}

/** A question before a part of the conversation is taken away: what becomes of the files that changed in it. */
export interface RewindRow extends Drawn {
  kind: "rewind";
  messageId: string;
  /** Action on the conversation once the files are settled. */
  goal: RewindGoal;
  files: RewindFile[];
  lost: RewindLost[];
}

/** Files that the agent changed and the user has neither kept nor undone. */
export interface ChangedFiles {
  files: number;
  /** Lines. */
  added: number;
  removed: number;
  /** The first of them by path. */
  items: ChangedItem[];
}

/** A file that the agent changed. */
export interface ChangedItem {
  path: string;
  kind: "edited" | "created" | "deleted";
  /** Lines; missing where it is no text. */
  added?: number;
  removed?: number;
  /** Whose changes an undo of the file would lose. */
  others?: Others;
  /** Why it cannot be undone. */
  lost?: string;
}

/** Whose changes would be lost: made after the agent's, between them, not saved yet, or perhaps there. */
export type Others = "since" | "between" | "unsaved" | "unknown";

export type RewindGoal = "rewind" | "askAgain" | "answerAgain";

/** A file that can be restored. */
export interface RewindFile {
  path: string;
  /** Its earlier text is written, or written into a file that is gone by now, or the file that the agent made is deleted. */
  how: "restore" | "create" | "delete";
  /** Whose changes would be lost. */
  others?: Others;
}

/** Something that cannot be restored, and why. */
export interface RewindLost {
  what: string;
  why: string;
}

/** A sentence of the session or of the extension, with what can be done about it. */
export interface NoticeRow extends Drawn {
  kind: "notice";
  level: "info" | "warning" | "error";
  text: string;
  detail?: string;
  actions: Button[];
  /** It holds until a model is chosen. */
  until?: "model";
}

export interface Button {
  label: string;
  action: Action;
}

/** Takes a notice away. */
export const DISMISS = { label: "Dismiss", action: { type: "dismissNotice" } } as const satisfies Button;

export type Shown = "whole" | "shortened" | "covered" | "excluded" | "dropped";

export interface Picture {
  mimeType: string;
  /** An address that the webview may show, of the data itself. */
  source: string;
}

/** Everything around the rows. It is small, and always given whole. */
export interface Frame {
  /** State of the sidecar, with what to do if it is not running. */
  sidecar: Standing;
  title: string;
  sessionId?: string;
  state: string;
  /** A word on what goes on, such as "Thinking" or "Running read_file"; empty at rest. */
  activity: string;
  busy: boolean;
  /** The other process that writes the session. */
  heldBy?: { pid: number };
  /** Label of the model of the next request; missing where none is chosen. */
  model?: string;
  mode: Mode;
  meter?: Meter;
  queue: Waiting[];
  attachments: Attached[];
  /** Calls that wait for a decision. */
  asked: string[];
  warning?: string;
  sessions?: SessionList;
  notice?: NoticeRow;
  server?: ServerConsent;
  changes?: ChangedFiles;
  todos?: TodoItem[];
}

/** A step of what the agent wants to do. */
export interface TodoItem {
  text: string;
  status: "pending" | "inProgress" | "completed";
}

/** A tool server that a file of the folder defines, and that waits for the user. */
export interface ServerConsent {
  name: string;
  /** Hash of what is shown here. */
  definition: string;
  file: string;
  /** What would run, and what it would be given. */
  details: string[];
}

/** A database that cannot be reached: what is said waits for it, or could not wait any longer. */
export interface LateStorage {
  state: "waiting" | "failed";
  fault?: string;
}

export type Standing =
  | { state: "starting" }
  | { state: "ready"; storage?: LateStorage }
  | { state: "none"; title: string; text: string; actions: Button[] };

export interface Waiting {
  itemId: string;
  text: string;
  priority: boolean;
}

export interface Attached {
  id: string;
  label: string;
  kind: "file" | "image" | "selection" | "resource";
}

export interface SessionList {
  query: string;
  items: SessionItem[];
  more: boolean;
  loading: boolean;
  /** Whether archived sessions are listed; missing where there are none. */
  archived?: "shown" | "hidden";
}

/** A pinned session stands first; an archived one is listed only where it is asked for, or found. */
export type SessionMark = "pinned" | "archived";

export interface SessionItem {
  sessionId: string;
  title: string;
  updatedAt: string;
  messages: number;
  summarized: number;
  state?: string;
  /** Where it came from, where that is another session. */
  origin?: string;
  current: boolean;
  mark?: SessionMark;
  /** Messages that contain what was searched for. */
  hits?: HitItem[];
}

/** A message of a session that a search found. */
export interface HitItem {
  messageId: string;
  ord: number;
  /** Who said it. */
  who: string;
  snippet: Snippet;
}

/** A piece of text in which words were found. */
export interface Snippet {
  text: string;
  /** Beginning and end of each word in the text, in order. */
  marks: [number, number][];
}

/** A message as it was said, for what a compaction covers. */
export interface Original {
  messageId: string;
  role: string;
  label: string;
  text: string;
}

/** From the host to the webview. */
export type ToPanel =
  | { type: "frame"; frame: Frame }
  /** Data of an attached image. Large, so it is sent once, before the first frame that lists it. */
  | { type: "picture"; id: string; source: string }
  /** Takes rows out and puts others in. */
  | { type: "rows"; at: number; remove: number; rows: Row[] }
  /** The answer that is being written goes on. */
  | { type: "append"; id: string; text: string; reasoning: string }
  /** The files that the mention with this query may mean. */
  | { type: "mentions"; query: string; items: MentionItem[] }
  /** The tools that the name with this query may mean. */
  | { type: "tools"; query: string; items: ToolItem[] }
  /** The prompts of the workspace and of tool servers. */
  | { type: "prompts"; items: PromptItem[] }
  /** The unsent draft of a session that begins to be shown, and the requests that were sent last: what is in them is no draft. */
  | { type: "draft"; text: string; sent: string[] }
  /** What is being typed where the panel is shown, too. */
  | { type: "typed"; text: string; sessionId: string }
  /** Words that could not be sent. */
  | { type: "unsent"; text: string }
  /** Those before what was told of it; `before` asks for still earlier ones, where there are some. */
  | { type: "covered"; compactionId: string; originals: Original[]; before?: number }
  | { type: "wholeResult"; callId: string; text: string }
  /** The end of what a call printed that still runs. */
  | { type: "output"; callId: string; text: string }
  /** Colours of a piece of code that were asked for; none if there are none. */
  | { type: "colors"; block: string; at: number; colors?: CodeColors }
  /** Another theme is in use. */
  | { type: "recolor" }
  /** A message is edited again, with these words. */
  | { type: "editing"; messageId: string; text: string }
  /** Shows the row of a message or a compaction, and gives it the focus. */
  | { type: "reveal"; of: string }
  | { type: "focus" };

/** From the webview to the host: what the user did. */
export type Action =
  | { type: "ready" }
  /** The frame that the host sent last was drawn: more may come. */
  | { type: "drawn" }
  /** The page got the focus or lost it. */
  | { type: "focused"; on: boolean }
  | { type: "send"; text: string; urgent: boolean }
  | { type: "cancel"; queued: boolean }
  | { type: "draft"; text: string; sessionId: string }
  | {
      type: "decide";
      callIds: string[];
      decision: "allowOnce" | "allowForSession" | "allowAlways" | "rejectOnce" | "rejectAlways";
      note?: string;
      /** The arguments with which it is to run instead, as JSON. */
      arguments?: string;
      /** Which later calls are meant, exactly as the card showed it. */
      pattern?: string;
    }
  | { type: "retry"; messageId: string }
  /** What was mentioned is to go along. */
  | { type: "attachMention"; of: Mentionable }
  /** A mention is being typed; `query` is what is there of its name. */
  | { type: "mention"; query: string }
  /** The name of a tool is being typed. */
  | { type: "toolName"; query: string }
  /** A command is being typed, which may be a prompt. */
  | { type: "prompts" }
  /** A prompt of the workspace or of a tool server is sent, with what is behind its name. */
  | { type: "sendPrompt"; name: string; rest: string; urgent: boolean }
  /** A command that was typed into the prompt, with what is behind its name. */
  | { type: "slash"; name: SlashName; rest: string }
  /** The newest answer, which was interrupted, goes on. */
  | { type: "continue" }
  /** The newest answer is a plan, which is to be implemented. */
  | { type: "acceptPlan" }
  /** The newest answer is given again. */
  | { type: "regenerate" }
  | { type: "edit"; messageId: string; text: string }
  /** Everything from a message on is to be cut off, its words put back into the prompt. */
  | { type: "rewind"; messageId: string }
  /** The question about files is answered: these are restored. */
  | { type: "rewindWith"; restore: string[] }
  | { type: "rewindNot" }
  /** Brings back what the last rewind took away. */
  | { type: "undoRewind" }
  | { type: "rewindDiff"; path: string }
  /** Undoes the last restore of files. */
  | { type: "putBack" }
  /** Keeps or undoes the agent's changes in these files; in all of them without any. */
  | { type: "keepChanges"; paths?: string[] }
  | { type: "undoChanges"; paths?: string[] }
  | { type: "showChange"; path: string }
  | { type: "viewChanges" }
  | { type: "removeWaiting"; itemId: string }
  | { type: "abandon"; callId: string }
  | { type: "rerun"; callId: string }
  | { type: "newSession" }
  | { type: "listSessions"; query: string; more: boolean }
  | { type: "closeSessions" }
  /** `at`: the message to show in it. */
  | { type: "openSession"; sessionId: string; at?: { messageId: string; ord: number } }
  | { type: "markSession"; sessionId: string; mark: SessionMark; on: boolean }
  | { type: "listArchived"; on: boolean }
  | { type: "decideServer"; name: string; definition: string; decision: "allow" | "deny" }
  | { type: "renameSession"; sessionId: string }
  | { type: "deleteSession"; sessionId: string }
  | { type: "branch"; messageId: string }
  | { type: "takeOver" }
  | { type: "compact" }
  /** Another version of a message is shown, with the conversation that was behind it. */
  | { type: "showVersion"; revisionId: string }
  | { type: "undo"; compactionId: string }
  | { type: "redo"; compactionId: string; focus: string; keep: string[] }
  | { type: "editSummary"; compactionId: string; text: string }
  | { type: "review"; compactionId: string; decision: "accept" | "edit" | "refuse"; text?: string }
  | { type: "earlier"; all: boolean }
  | { type: "covered"; compactionId: string; before?: number }
  | { type: "wholeResult"; callId: string }
  /** A call that runs here is stopped; the turn goes on. */
  | { type: "stopCall"; callId: string }
  | { type: "pin"; messageId: string }
  | { type: "unpin"; pinId: string }
  | { type: "exclude"; messageIds: string[] }
  | { type: "inspect"; open: boolean }
  | { type: "forgetLimits" }
  | { type: "dismissWarning" }
  | { type: "dismissNotice" }
  | { type: "attach" }
  | { type: "attachImage"; mimeType: string; data: string; name: string }
  | { type: "attachUris"; uris: string[] }
  | { type: "removeAttachment"; id: string }
  | { type: "selectMode" }
  | { type: "selectModel" }
  | { type: "diff"; callId: string }
  | { type: "open"; href: string }
  | { type: "copy"; text: string }
  /** Code of an answer is to be proposed as a change of the file at `path`, else of the one in the editor. */
  | { type: "apply"; text: string; path?: string }
  /** Puts code of an answer into the editor, at the cursor. */
  | { type: "insert"; text: string }
  /** Opens it as a file of its own. */
  | { type: "insertNew"; text: string; language: string }
  /** Colours of a piece of code are wanted. */
  | ({ type: "highlight" } & CodePiece)
  | { type: "command"; command: "showLog" | "showTerminal" | "restart" | "settings" | "setKey" | "openFolder" | "approvals" };
