// The rows of a conversation, made from what the client's view shows: messages, calls with their results, compactions
// where they happened. A row that says the same as before is the same object, so that only what changed is told to the
// webview. No editor and no webview here: a function of what it is given.

import {
  argumentsOf,
  type CompactionView,
  type Cut,
  type CutReason,
  type LastEnd,
  type Message,
  type Part,
  type PauseReason,
  type PendingCall,
  type Pin2,
  type Snapshot,
} from "@threadhold/client";
import { lastCharacters } from "../shared/terminal-text.ts";
import { sentence } from "../shared/text.ts";
import type { MessageVersions } from "../shared/versions.ts";
import type {
  AnswerRow,
  CallGroupRow,
  CallResult,
  CallRow,
  CallState,
  CompactionGroupRow,
  CompactionRow,
  NoticeRow,
  Picture,
  RewindRow,
  Row,
  Shown,
  Unnumbered,
  UserRow,
} from "../shared/view.ts";
import { grouped } from "./call-groups.ts";
import { type CallWords, callWords, MOST_ABOUT, phrasesFor } from "./call-words.ts";
import { stacked } from "./compaction-groups.ts";
import { compactionRow } from "./compaction-row.ts";
import { costsOf } from "./cost.ts";
import { providerNotes } from "./provider-notes.ts";

/** State beside the session's snapshot that rows depend on. */
export interface RowContext {
  /** Calls that run here, now. */
  running: { has(callId: string): boolean };
  /** How long calls took that ran here. */
  durations: ReadonlyMap<string, number>;
  /** Calls of which the editor can show what they would change. */
  hasDiff: (name: string) => boolean;
  /** Tools that run commands. */
  runsCommands: (name: string) => boolean;
  /** Why calls of a tool wait for the user, by the settings. */
  whyAsked: (name: string) => string;
  /** What a command does to files, in sentences; undefined until that is known. The same list each time. */
  effectsOf: (given: { [name: string]: unknown }) => readonly string[] | undefined;
  /** A compaction that goes on, or that the user is asked about. */
  compacting?: CompactionRow;
  /** A question before a part of the conversation is taken away. */
  rewind?: RewindRow;
  /** Messages that the prompt shortens or leaves out, from the last `context/inspect`. */
  cuts: readonly Cut[];
  /** All compactions, as far as they were asked for: of a session that is shown in part the one in force is known only. */
  compactions?: readonly CompactionView[];
  /** Versions of messages, by the message whose row shows them. */
  versions?: ReadonlyMap<string, MessageVersions>;
  /** How the last turn ended. */
  lastEnd?: LastEnd;
  /** Sentences behind the conversation. */
  notices: readonly NoticeRow[];
}

/** Characters of a result that a row holds; the rest is fetched when it is asked for. */
const RESULT_CHARACTERS = 4_000;

/** Characters of a call's arguments that its row holds while they are written: those that came last. */
const WRITING_CHARACTERS = 2_000;

/** Makes the rows of a session, again and again. */
export class Conversation {
  #known = new Map<string, Row>();
  #rev = 0;
  /** Facts behind the last full set of rows, reused while an answer is streamed. */
  #facts: Facts | undefined;
  /** How many rows stand before the answer that is being written. */
  #settled = 0;

  /** All rows, in order. */
  rows(snapshot: Snapshot, beside: RowContext): Row[] {
    const rows: Unnumbered<Row>[] = [];
    const facts = factsOf(snapshot, beside);
    const { earlierMessages = 0, messages } = snapshot;
    const [first] = messages;
    const cards = compactionsOf(snapshot, beside).filter(({ status }) => status !== "recorded");
    if (earlierMessages > 0) rows.push({ kind: "earlier", id: "earlier", messages: earlierMessages });
    // A card stands among the messages around it, and comes with them.
    while (earlierMessages > 0 && cards[0] !== undefined && first !== undefined && comesBefore(cards[0], first)) cards.shift();
    for (const message of messages) {
      while (cards[0] !== undefined && comesBefore(cards[0], message)) rows.push(this.#card(snapshot, cards.shift()));
      this.#ofMessage(message, facts, rows);
      if (message.id === beside.rewind?.messageId) rows.push(beside.rewind);
    }
    for (const card of cards) rows.push(this.#card(snapshot, card));
    if (beside.compacting !== undefined) rows.push(beside.compacting);
    this.#facts = facts;
    const known = new Map<string, Row>();
    const settled = stacked(grouped(this.#numbered(held(rows, facts), known))).map((row) =>
      "rev" in row ? row : this.#number(row, known),
    );
    this.#settled = settled.length;
    const last = this.#numbered(held(behind(snapshot, facts), facts), known);
    this.#known = known;
    return [...settled, ...last];
  }

  /**
   * The rows from the answer on that is being written, where nothing but it went on since all were made: a long session
   * is not gone through for each piece of an answer.
   */
  tail(snapshot: Pick<Snapshot, "streaming">): { at: number; rows: Row[] } {
    if (this.#facts === undefined) throw new Error("The rows before were not made yet.");
    return { at: this.#settled, rows: this.#numbered(held(behind(snapshot, this.#facts), this.#facts), this.#known) };
  }

  #card(snapshot: Snapshot, card: CompactionView | undefined): Unnumbered<Row> {
    // The caller took it from a list that was not empty.
    return compactionRow(card as CompactionView, snapshot);
  }

  #ofMessage(message: Message, facts: Facts, rows: Unnumbered<Row>[]): void {
    if (message.role === "user" && message.visibleToModel !== false) rows.push(userRow(message, facts));
    else if (message.role === "assistant") {
      const answer = answerRow(message, facts);
      if (answer !== undefined) rows.push(answer);
      for (const [at, text] of providerNotes(message).entries()) {
        rows.push({ kind: "notice", id: `notice ${message.id} ${at}`, level: "info", text, actions: [] });
      }
      for (const part of message.parts) if (part.type === "toolCall") rows.push(callRow(part, message.id, facts, false));
    } else if (message.role === "event" && SAID_TO_PEOPLE.has(message.kind ?? "")) {
      rows.push({ kind: "notice", id: `notice ${message.id}`, level: "info", text: textIn(message.parts).text, actions: [] });
    }
  }

  /** Gives each row that says something else than before a new number. */
  #numbered(rows: Unnumbered<Row>[], known: Map<string, Row>): Row[] {
    return rows.map((made) => this.#number(made, known));
  }

  #number(made: Unnumbered<Row>, known: Map<string, Row>): Row {
    const before = this.#known.get(made.id);
    const isKnown = before !== undefined && isSame(before, made);
    if (!isKnown) this.#rev += 1;
    const row = isKnown ? before : ({ ...made, rev: this.#rev } as Row);
    known.set(row.id, row);
    return row;
  }
}

/** Rows behind all messages: the answer being streamed, its calls, and notices. */
function behind({ streaming }: Pick<Snapshot, "streaming">, facts: Facts): Unnumbered<Row>[] {
  const rows: Unnumbered<Row>[] = [];
  if (streaming !== undefined) {
    const { messageId, parts } = streaming;
    const { text, reasoning } = textIn(parts);
    if (text !== "" || reasoning !== "") {
      rows.push({ kind: "answer", id: `answer ${messageId}`, messageId, text, reasoning, streaming: true, shown: "whole" });
    }
    for (const part of parts) if (part.type === "toolCall") rows.push(callRow(part, messageId, facts, true));
  }
  return [...rows, ...facts.beside.notices];
}

/** True if a row says what it said before. What is made of a message is made once, so it is compared by itself. */
function isSame(before: Row, made: Unnumbered<Row>): boolean {
  if (made.kind === "compaction" || made.kind === "rewind" || made.kind === "notice")
    return JSON.stringify({ ...before, rev: 0 }) === JSON.stringify({ ...made, rev: 0 });
  if (made.kind === "calls") {
    const { calls } = before as CallGroupRow;
    return calls.length === made.calls.length && made.calls.every((call, at) => call === calls[at]);
  }
  if (made.kind === "compactions") {
    const { cards } = before as CompactionGroupRow;
    return cards.length === made.cards.length && made.cards.every((card, at) => card === cards[at]);
  }
  const fields = Object.entries(made);
  const old = before as unknown as Record<string, unknown>;
  // A call that is being written may be another object each time, and its words with it.
  const isEqual = (name: string, value: unknown): boolean =>
    old[name] === value || (name === "phrases" && JSON.stringify(old[name]) === JSON.stringify(value));
  return fields.length === Object.keys(before).length - 1 && fields.every(([name, value]) => isEqual(name, value));
}

/** Rows of a session that another window writes say so: nothing is offered there. */
function held(rows: Unnumbered<Row>[], facts: Facts): Unnumbered<Row>[] {
  return facts.held ? rows.map((row) => ({ ...row, held: true })) : rows;
}

/** Messages of the role `event` that are for people to read. */
const SAID_TO_PEOPLE = new Set(["question", "roundLimit", "report"]);

interface Facts {
  results: Map<string, Message>;
  asked: Map<string, PauseReason>;
  paused: boolean;
  /** Calls that wait for this window to run them, where it does not run them already. */
  open: Set<string>;
  /** Another window writes the session. */
  held: boolean;
  pins: Map<string, Pin2>;
  excluded: Set<string>;
  covered: CompactionView | undefined;
  cuts: Map<number, Shown>;
  /** Answers with which a turn ended that was stopped. */
  stopped: Map<string, NonNullable<AnswerRow["stopped"]>>;
  /** Costs of turns, by their last answers. */
  costs: ReturnType<typeof costsOf>;
  beside: RowContext;
}

function factsOf(snapshot: Snapshot, beside: RowContext): Facts {
  const results = new Map<string, Message>();
  for (const message of snapshot.messages) {
    const [part] = message.parts;
    if (part?.type === "toolResult") results.set(part.toolCallId, message);
  }
  const covered = snapshot.compactions.findLast(({ status }) => status === "inForce");
  return {
    results,
    asked: new Map((snapshot.pause?.reasons ?? []).map((reason) => [reason.toolCallId, reason])),
    paused: snapshot.pause !== undefined,
    open: new Set(openCalls(snapshot).map(({ toolCallId }) => toolCallId)),
    held: snapshot.heldBy !== undefined,
    pins: new Map((snapshot.pins ?? []).flatMap((pin) => (pin.messageId === undefined ? [] : [[pin.messageId, pin]]))),
    excluded: new Set(covered?.excludedIds ?? []),
    covered,
    cuts: new Map(beside.cuts.flatMap(({ ord, reason }) => (ord === undefined || CUT[reason] === undefined ? [] : [[ord, CUT[reason]]]))),
    stopped: stoppedIn(snapshot, beside.lastEnd),
    costs: costsOf(snapshot),
    beside,
  };
}

/** All compactions that are known; each as it was told last. */
function compactionsOf({ compactions, earlierMessages }: Snapshot, beside: RowContext): CompactionView[] {
  if (earlierMessages === undefined) return [...compactions];
  const known = new Set(compactions.map(({ id }) => id));
  return [...(beside.compactions ?? []).filter(({ id }) => !known.has(id)), ...compactions];
}

function stoppedIn({ turns, messages }: Snapshot, lastEnd: LastEnd | undefined): Facts["stopped"] {
  // Whoever closes a window does not stop the answer in it.
  const ends = new Map(turns.map(({ id, status, interrupted }) => [id, interrupted === true ? "failed" : status]));
  if (lastEnd?.turnId !== undefined) ends.set(lastEnd.turnId, lastEnd.status);
  const stopped: Facts["stopped"] = new Map();
  for (const [at, { id, role, turnId, parts }] of messages.entries()) {
    const status = ends.get(turnId);
    const isEnd = role === "assistant" && messages[at + 1]?.turnId !== turnId && parts.every(({ type }) => type !== "toolCall");
    if (isEnd && (status === "cancelled" || status === "failed")) stopped.set(id, status);
  }
  return stopped;
}

/** True if a compaction happened before a message was said. */
function comesBefore({ createdAt, coversToOrd }: CompactionView, message: Message): boolean {
  // What has no date was imported, and said before anything that has one.
  if (createdAt !== undefined) return message.createdAt !== undefined && createdAt < message.createdAt;
  return coversToOrd !== undefined && message.ord > coversToOrd;
}

/** The state shown on a row, by the reason of its cut. */
const CUT: Partial<Record<CutReason, Shown>> = {
  shortened: "shortened",
  repeated: "shortened",
  userMessage: "shortened",
  dropped: "dropped",
  excluded: "excluded",
};

function shownOf({ id, ord, role, shown }: Message, { covered, cuts, excluded, pins }: Facts): Shown {
  if (excluded.has(id)) return "excluded";
  const { coversFromOrd = 0, coversToOrd } = covered ?? {};
  // User messages of the covered span stay, byte for byte, up to their budget; so does what is pinned.
  const isKept = role === "user" || pins.has(id);
  if (coversToOrd !== undefined && ord >= coversFromOrd && ord <= coversToOrd && !isKept) {
    return covered?.mode === "dropped" ? "dropped" : "covered";
  }
  return cuts.get(ord) ?? (shown === undefined ? "whole" : "shortened");
}

function pinOf({ id }: Message, { pins }: Facts): { pinId?: string } {
  const pin = pins.get(id);
  return pin === undefined ? {} : { pinId: pin.pinId };
}

function versionsOf({ id }: Message, { beside }: Facts): { versions?: MessageVersions } {
  const versions = beside.versions?.get(id);
  return versions === undefined ? {} : { versions };
}

function userRow(message: Message, facts: Facts): Unnumbered<UserRow> {
  const { id } = message;
  const { text, images, files } = contentOf(message);
  return {
    kind: "user",
    id: `user ${id}`,
    messageId: id,
    text,
    images,
    files,
    shown: shownOf(message, facts),
    ...pinOf(message, facts),
    ...versionsOf(message, facts),
  };
}

function answerRow(message: Message, facts: Facts): Unnumbered<AnswerRow> | undefined {
  const { text, reasoning } = contentOf(message);
  if (text === "" && reasoning === "") return undefined;
  const stopped = facts.stopped.get(message.id);
  return {
    kind: "answer",
    id: `answer ${message.id}`,
    messageId: message.id,
    text,
    reasoning,
    streaming: false,
    shown: shownOf(message, facts),
    ...pinOf(message, facts),
    ...versionsOf(message, facts),
    ...(stopped !== undefined && { stopped }),
    ...facts.costs.get(message.id),
  };
}

function callRow(call: Extract<Part, { type: "toolCall" }>, messageId: string, facts: Facts, writing: boolean): Unnumbered<CallRow> {
  const { beside } = facts;
  const asked = facts.asked.get(call.id);
  const answered = facts.results.get(call.id);
  const part = answered?.parts[0];
  // What it runs with is shown, where that is not what the model gave.
  const ranWith = part?.type === "toolResult" ? part.arguments : undefined;
  const theirs = asked?.arguments ?? ranWith ?? call.arguments;
  const given = typeof theirs === "string" ? theirs : JSON.stringify(theirs);
  const durationMs = beside.durations.get(call.id);
  // What is written goes to the webview again and again; it is told of its end, and not all of it each time.
  const state = writing ? "writing" : stateOf(call.id, part, facts);
  const isCommand = beside.runsCommands(call.name);
  const effects = isCommand && state === "asked" ? beside.effectsOf(argumentsOf({ arguments: given }) ?? {}) : undefined;
  const isLong = writing && given.length > WRITING_CHARACTERS;
  const result = resultIn(answered, part, isCommand);
  const note = state === "rejected" ? result?.text.slice(REJECTED.length).trim() : "";
  // One that is long is not read as JSON for each piece that comes.
  const said = isLong ? callWords(call.name, given.slice(0, MOST_ABOUT + 1)) : wordsOf(call, given);
  return {
    kind: "call",
    id: `call ${call.id}`,
    callId: call.id,
    messageId,
    name: call.name,
    icon: said.icon,
    phrases: phrasesFor(said, state, result?.exitCode),
    about: said.about,
    arguments: isLong ? given.slice(-WRITING_CHARACTERS) : given,
    state,
    hasDiff: beside.hasDiff(call.name),
    isCommand,
    shown: answered === undefined ? "whole" : shownOf(answered, facts),
    ...(isLong && { characters: given.length }),
    // Which setting has the tool ask is known here alone.
    ...(asked !== undefined && { reason: asked.cause === "tool" ? beside.whyAsked(call.name) : sentence(asked.reason) }),
    ...(asked?.pattern !== undefined && { pattern: asked.pattern }),
    ...(effects !== undefined && effects.length > 0 && { effects }),
    ...(result !== undefined && { result }),
    ...(note !== undefined && note !== "" && { note }),
    ...(durationMs !== undefined && { durationMs }),
  };
}

/** How the sidecar's own results for calls that did not run begin. */
const REJECTED = "[rejected by the user]";
const CANCELLED = "[cancelled";

/** Calls that a window is to run: not those of another window, nor the tools of the sidecar itself. */
export function openCalls({ state, heldBy, pendingCalls }: Snapshot): PendingCall[] {
  return state === "waitingIde" && heldBy === undefined ? pendingCalls : [];
}

function stateOf(callId: string, part: Part | undefined, { asked, paused, open, beside }: Facts): CallState {
  if (part?.type === "toolResult") {
    const { text } = textIn(listOf(part.content));
    if (text.startsWith(REJECTED)) return "rejected";
    if (text.startsWith(CANCELLED)) return "cancelled";
    return part.isError === true || (part.exitCode !== undefined && part.exitCode !== 0) ? "failed" : "done";
  }
  if (asked.has(callId)) return "asked";
  if (beside.running.has(callId)) return "running";
  if (paused) return "waiting";
  return open.has(callId) ? "open" : "running";
}

/** Content derived from a message's parts. Cached per message, because every change goes through the whole session. */
interface MessageContent {
  text: string;
  reasoning: string;
  images: Picture[];
  files: string[];
}

const contents = new WeakMap<Message, MessageContent>();

function contentOf(message: Message): MessageContent {
  let content = contents.get(message);
  if (content === undefined) {
    const { parts } = message;
    content = {
      ...textIn(parts),
      images: picturesIn(parts),
      files: parts.flatMap((part) => (part.type === "contextFile" ? [part.path] : part.type === "resource" ? [part.uri] : [])),
    };
    contents.set(message, content);
  }
  return content;
}

const results = new WeakMap<Message, CallResult>();

/** The result of a call, made once for each message. */
function resultIn(message: Message | undefined, part: Part | undefined, isCommand: boolean): CallResult | undefined {
  if (message === undefined || part?.type !== "toolResult") return undefined;
  // Also of a command that another program ran.
  const isOutput = isCommand || part.exitCode !== undefined;
  const known = results.get(message);
  if (known !== undefined && (known.isOutput === true) === isOutput) return known;
  const made = resultOf(message, part, isOutput);
  results.set(message, made);
  return made;
}

function resultOf({ id }: Message, part: Extract<Part, { type: "toolResult" }>, isOutput: boolean): CallResult {
  const parts = listOf(part.content);
  const { text } = textIn(parts);
  return {
    messageId: id,
    text: isOutput ? lastCharacters(text, RESULT_CHARACTERS) : text.slice(0, RESULT_CHARACTERS),
    characters: text.length,
    images: picturesIn(parts),
    changed: (part.effects ?? []).map(({ path }) => path),
    ...(isOutput && { isOutput }),
    ...(part.exitCode !== undefined && { exitCode: part.exitCode }),
  };
}

const words = new WeakMap<Part, { given: string; words: CallWords }>();

/** The words for a call, made once for its arguments. */
function wordsOf(call: Extract<Part, { type: "toolCall" }>, given: string): CallWords {
  const known = words.get(call);
  if (known?.given === given) return known.words;
  const made = callWords(call.name, given);
  words.set(call, { given, words: made });
  return made;
}

export function listOf(content: string | readonly Part[]): readonly Part[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** The text and the reasoning of parts, each joined by blank lines. */
export function textIn(parts: readonly Part[]): { text: string; reasoning: string } {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const thoughts = parts.flatMap((part) => (part.type === "reasoning" ? [part.text] : []));
  return { text: texts.join("\n\n"), reasoning: thoughts.join("\n\n") };
}

function picturesIn(parts: readonly Part[]): Picture[] {
  return parts.flatMap((part) => {
    if (part.type !== "image") return [];
    // Nothing is fetched from elsewhere: an address is named and not shown.
    return /^https?:/.test(part.data) ? [] : [{ mimeType: part.mimeType, source: `data:${part.mimeType};base64,${part.data}` }];
  });
}
