// A session as a client shows it: a snapshot that goes on with each event, so that it is at every moment what the sidecar
// would answer to `session/subscribe`. No stream, no timer but the one that gathers changes: it runs in a webview too. How
// a session is kept up with the sidecar is `session.ts`'s, what follows from messages alone is `rounds.ts`'s.

import { type Disposable, Emitter } from "./emitter.js";
import { fold, UnknownCall } from "./fold.js";
import { metadataOf } from "./metadata.js";
import type {
  CompactionTrigger,
  CompactionView,
  EventError,
  Message,
  QueueFailure,
  Retrying,
  SessionEvent,
  SessionMessagesResult,
  Snapshot,
  TurnMetadata,
  TurnStatus,
} from "./protocol.js";
import { Rounds, set } from "./rounds.js";

type EventOf<Type extends SessionEvent["type"]> = Extract<SessionEvent, { type: Type }>;

/** Result of applying an event. */
export type Taken =
  /** The view has it. */
  | "taken"
  /** The view had it already. */
  | "old"
  /** One before it is missing, or another stream began: ask `session/subscribe`. */
  | "missed";

/** Size of the prompt, from the last `contextUpdated`. */
export type ContextSize = Omit<EventOf<"contextUpdated">, "type" | "sessionId" | "stream" | "seq">;

/** How the last turn ended. */
export interface LastEnd {
  /** The turn. */
  turnId?: string;
  /** How. */
  status: TurnStatus;
  /** Why it failed. */
  error?: EventError;
  /** All its summaries: persist them with the turn. */
  metadata?: TurnMetadata;
}

/** A compaction that goes on. How far it is stands in `snapshot.compression`. */
export interface Compacting {
  /** Id of the compaction. */
  compactionId: string;
  /** Trigger, if known. */
  trigger?: CompactionTrigger;
  /** Why it was begun, for people. */
  reason?: string;
  /** Tokens of the prompt before, where they are known. */
  tokensBefore?: number;
}

/** Fields that can change: those of a snapshot and the view's own. */
export type ViewField = keyof Snapshot | "context" | "lastEnd" | "retrying" | "compacting" | "queueFailure";

/** Changes since the listener's last call. */
export interface Change {
  /** Everything may have changed: draw all of it. */
  whole: boolean;
  /** Fields that changed. `messages` is among them where some of `messages` were added, changed or removed. */
  fields: ReadonlySet<ViewField>;
  /** The ids of messages that were added, changed or removed. */
  messages: ReadonlySet<string>;
}

/** Has something done a little later, once: `requestAnimationFrame` of a webview is one. */
export type Schedule = (run: () => void) => unknown;

/** About as long as a screen shows a picture. */
const FRAME_MS = 16;

/** How a view is made. */
export interface ViewOptions {
  /** When listeners of changes are told; however much changes before that, once. Default: a frame later. */
  schedule?: Schedule;
  /** Receives errors of listeners. Default: ignored. */
  onFault?: (error: unknown) => void;
}

/** A session as it stands. Every event costs what it brings, however long the session is. */
export class SessionView {
  /** The last failure of a queued item. */
  queueFailure: QueueFailure | undefined;
  /** Size of the prompt; undefined until first reported. */
  context: ContextSize | undefined;
  /** How the last turn ended; missing until one did. */
  lastEnd: LastEnd | undefined;
  /** The model could not answer and is asked again. */
  retrying: Retrying | undefined;
  /** The compaction that goes on. */
  compacting: Compacting | undefined;

  #snapshot: Snapshot;
  #rounds: Rounds;
  #isExact = true;
  /** Rounds were dropped without a block, and no event says how many messages that hides. */
  #hidesMore = false;
  readonly #schedule: Schedule;
  readonly #changes: Emitter<Change>;
  #changed: { whole: boolean; fields: Set<ViewField>; messages: Set<string> } | undefined;

  constructor(snapshot: Snapshot, { schedule, onFault = () => {} }: ViewOptions = {}) {
    this.#schedule = schedule ?? ((run) => setTimeout(run, FRAME_MS));
    this.#changes = new Emitter(onFault);
    this.#snapshot = snapshot;
    this.#rounds = new Rounds(snapshot);
    this.#begin();
  }

  /** The session as it stands. It goes on changing: copy what has to stay, and change nothing of it. */
  get snapshot(): Readonly<Snapshot> {
    return this.#snapshot;
  }

  /**
   * True if the view is what the sidecar would answer. A few rare changes come with no event, such as how many
   * messages a compaction hides that dropped rounds: then the snapshot has to be asked for.
   */
  get isExact(): boolean {
    return this.#isExact;
  }

  /** Has a listener told what changed, once for all that happens until it is drawn. */
  onChange(listener: (change: Change) => void): Disposable {
    return this.#changes.on(listener);
  }

  /** Shows another snapshot, whatever was shown before. It belongs to the view from now on. */
  show(snapshot: Snapshot): void {
    this.#snapshot = snapshot;
    this.#begin();
    this.#tell("whole");
  }

  /** Takes older messages in: the answer to `session/messages` with `before: snapshot.earlierMessages`. */
  prepend({ messages, before }: SessionMessagesResult): void {
    if (this.#snapshot.earlierMessages === undefined) return;
    const first = this.#snapshot.earlierMessages;
    const older = messages.filter(({ ord }) => ord < first);
    this.#snapshot.messages.unshift(...older);
    this.#snapshot.earlierMessages = Math.min(first, before);
    this.#tell("earlierMessages", ...older);
  }

  /** Takes an event in. */
  take(event: SessionEvent): Taken {
    if (event.type === "snapshot") {
      this.show(event.snapshot);
      return "taken";
    }
    const { stream, seq } = this.#snapshot;
    if (event.stream !== stream || event.seq > seq + 1) return "missed";
    if (event.seq <= seq) return "old";
    this.#snapshot.seq = event.seq;
    this.#go(event);
    return "taken";
  }

  #begin(): void {
    const { compactions, summarizedCount } = this.#snapshot;
    this.#rounds = new Rounds(this.#snapshot);
    this.#isExact = true;
    this.#hidesMore = summarizedCount !== coveredBy(inForce(compactions));
    this.compacting = undefined;
    this.retrying = undefined;
  }

  /** Notes that something changed, and has listeners told in a while. */
  #tell(field: ViewField | "whole", ...messages: Message[]): void {
    const isFirst = this.#changed === undefined;
    this.#changed ??= { whole: false, fields: new Set(), messages: new Set() };
    const changed = this.#changed;
    if (field === "whole") changed.whole = true;
    else changed.fields.add(field);
    if (messages.length > 0) changed.fields.add("messages");
    for (const { id } of messages) changed.messages.add(id);
    if (isFirst) this.#schedule(() => this.#draw());
  }

  #draw(): void {
    const changed = this.#changed;
    this.#changed = undefined;
    if (changed) this.#changes.tell(changed);
  }

  #go(event: Exclude<SessionEvent, { type: "snapshot" }>): void {
    const now = this.#snapshot;
    switch (event.type) {
      case "turnStarted":
        this.#rounds.started(event);
        return this.#tell("turns");
      case "turnCompleted":
        return this.#completed(event);
      case "streamStarted":
        now.streaming = { messageId: event.messageId, parts: [] };
        this.retrying = undefined;
        this.#tell("retrying");
        return this.#tell("streaming");
      case "streamDelta":
        return this.#stream(event);
      case "streamReset":
        if (now.streaming?.messageId === event.messageId) now.streaming = { messageId: event.messageId, parts: [] };
        return this.#tell("streaming");
      case "streamFinished":
        delete now.streaming;
        return this.#tell("streaming");
      case "messageAdded":
        return this.#added(event.message);
      case "messageUpdated":
        return this.#updated(event.message);
      case "messageRemoved":
        return this.#removed(event.messageId);
      case "messagesTruncated":
        return this.#truncated(event.fromOrd);
      case "threadUpdated":
        return this.#thread(event);
      case "queueUpdated":
        now.queue = event.queue;
        this.queueFailure = event.failed;
        this.#tell("queueFailure");
        return this.#tell("queue");
      case "runtimeUpdated":
        return this.#runtime(event);
      case "pauseRequired":
        now.pause = { reasons: event.reasons };
        return this.#tell("pause");
      case "pauseCleared":
        delete now.pause;
        return this.#tell("pause");
      case "agentUpdated": {
        const { agent } = event;
        const agents = now.agents ?? [];
        const at = agents.findIndex(({ sessionId }) => sessionId === agent.sessionId);
        now.agents = at < 0 ? [...agents, agent] : agents.with(at, agent);
        return this.#tell("agents");
      }
      case "compactionUpdated":
        return this.#compaction(event);
      case "contextUpdated": {
        const { tokens, limit, tokensUntilCompaction, sections, estimator } = event;
        this.context = { tokens, limit, tokensUntilCompaction, sections, estimator };
        return this.#tell("context");
      }
      case "prefixBroken":
        // Summaries of a history that came with a render are told by nothing else.
        this.#sure(!event.causes.includes("restore"));
        return;
      default:
        // `restoreReported` goes to whoever opened the session, and a snapshot follows `sessionTakenOver`. Others are of a later version.
        return;
    }
  }

  #sure(isSure: boolean): void {
    this.#isExact &&= isSure;
  }

  #stream({ messageId, ops }: EventOf<"streamDelta">): void {
    const { streaming } = this.#snapshot;
    if (streaming?.messageId !== messageId) return;
    for (const op of ops) {
      try {
        fold(streaming, op);
      } catch (error) {
        // Arguments of a call that was never set: the draft is as it was, here as in the sidecar.
        if (!(error instanceof UnknownCall)) throw error;
      }
    }
    this.#tell("streaming");
    this.#answers();
  }

  /** The model answers: it is not asked again any more. */
  #answers(): void {
    if (this.retrying === undefined) return;
    this.retrying = undefined;
    this.#tell("retrying");
  }

  #completed({ turnId, outcome, interrupted, usage, cost, spent, durationMs }: EventOf<"turnCompleted">): void {
    const turn = this.#rounds.find(turnId);
    if (turn === undefined) return;
    turn.status = outcome;
    set(turn, "interrupted", interrupted);
    set(turn, "usage", usage);
    set(turn, "cost", cost);
    set(turn, "spent", spent);
    set(turn, "durationMs", durationMs);
    this.#tell("turns");
  }

  #added(message: Message): void {
    this.#snapshot.messages.push(message);
    this.#rounds.added(message);
    this.#calls();
    this.#tell("turns", message);
  }

  #updated(message: Message): void {
    const { messages } = this.#snapshot;
    const at = messages.findLastIndex(({ id }) => id === message.id);
    const old = messages[at];
    if (old === undefined) return;
    messages[at] = message;
    this.#rounds.changed(old, message);
    if (old.rev !== message.rev) this.#edited(message.id);
    this.#summarize();
    this.#calls();
    this.#tell("turns", message);
  }

  #removed(messageId: string): void {
    const { messages } = this.#snapshot;
    const at = messages.findLastIndex(({ id }) => id === messageId);
    const [gone] = at < 0 ? [] : messages.splice(at, 1);
    if (gone === undefined) return;
    this.#rounds.removed(gone);
    this.#edited(messageId);
    this.#summarize();
    this.#calls();
    this.#tell("turns", gone);
  }

  /** Nobody is told what a pin weighs now, and what was kept of a compaction that the user undid. */
  #edited(messageId: string): void {
    const { pins = [], compactions } = this.#snapshot;
    this.#sure(pins.every((pin) => pin.messageId !== messageId));
    this.#sure(compactions.every(({ status }) => status !== "undone"));
  }

  #truncated(fromOrd: number): void {
    const now = this.#snapshot;
    const gone = now.messages.filter(({ ord }) => ord >= fromOrd);
    now.messages = now.messages.filter(({ ord }) => ord < fromOrd);
    if (now.earlierMessages !== undefined) now.earlierMessages = Math.min(now.earlierMessages, fromOrd);
    this.#rounds.truncated();
    this.#summarize();
    this.#calls();
    this.#tell("turns", ...gone);
  }

  #thread({ title, generation, draft, scope, pins, settings }: EventOf<"threadUpdated">): void {
    const now = this.#snapshot;
    set(now, "title", title);
    set(now, "draft", draft);
    set(now, "pins", pins);
    now.generation = generation;
    now.scope = scope;
    if (settings) now.settings = settings;
    for (const field of ["title", "generation", "draft", "scope", "pins", "settings"] as const) this.#tell(field);
  }

  #runtime({ state, turnId, status, error, metadata, retrying }: EventOf<"runtimeUpdated">): void {
    const now = this.#snapshot;
    now.state = state;
    this.retrying = retrying;
    if (state !== "idle") delete now.waits;
    if (status !== undefined) {
      this.lastEnd = {
        status,
        ...(turnId === undefined ? {} : { turnId }),
        ...(error && { error }),
        ...(metadata && { metadata }),
      };
      this.#tell("lastEnd");
    }
    this.#calls();
    for (const field of ["state", "retrying", "waits"] as const) this.#tell(field);
  }

  /** Calls wait while tools run, and only then. */
  #calls(): void {
    const runs = this.#snapshot.state === "executingTools" || this.#snapshot.state === "waitingIde";
    if (!runs && this.#snapshot.pendingCalls.length === 0) return;
    this.#snapshot.pendingCalls = runs ? this.#rounds.pending() : [];
    this.#tell("pendingCalls");
  }

  #compaction(event: EventOf<"compactionUpdated">): void {
    const now = this.#snapshot;
    const { compactionId, phase, mode, trigger, reason, tokensBefore, compaction } = event;
    if (phase === "started") {
      this.compacting = {
        compactionId,
        ...(trigger && { trigger }),
        ...(reason === undefined ? {} : { reason }),
        ...(tokensBefore === undefined ? {} : { tokensBefore }),
      };
    } else if (phase === "summarizing" || phase === "reviewing") {
      now.compression = { running: true, phase, ...(mode && { mode }) };
      set(now.compression, "reason", this.compacting?.reason);
    } else if (ENDS.has(phase)) {
      now.compression = { running: false };
      this.compacting = undefined;
    }
    this.#tell("compacting");
    this.#tell("compression");
    if (compaction) this.#recorded(compaction);
  }

  /** A record is new, or has another status. */
  #recorded(record: CompactionView): void {
    const now = this.#snapshot;
    const isPart = now.earlierMessages !== undefined;
    const at = now.compactions.findIndex(({ id }) => id === record.id);
    // Of a part only the record in force is known; which one is when it goes, is not.
    if (isPart) this.#sure(record.status === "inForce" || at < 0);
    // One before it, too, may be told again.
    const isNewest = now.compactions.every(({ createdAt = "" }) => createdAt <= (record.createdAt ?? ""));
    if (isPart && record.status === "inForce") {
      if (isNewest) now.compactions = [record];
    } else if (at >= 0) now.compactions[at] = record;
    else if (!isPart) now.compactions.push(record);
    const known = inForce(now.compactions);
    this.#hidesMore ||= record.mode === "dropped" && record.status === "inForce";
    this.#sure(!this.#hidesMore);
    set(now, "summary", known?.block || undefined);
    now.summarizedCount = coveredBy(known);
    this.#summarize();
    for (const field of ["compactions", "summary", "summarizedCount", "turns"] as const) this.#tell(field);
  }

  /** The summaries of turns and of rounds: those of the records in force. */
  #summarize(): void {
    const { turns, compactions } = this.#snapshot;
    const all = compactions.filter(({ status }) => status === "inForce");
    for (const turn of turns) {
      const made = all.filter(({ turnId }) => turnId === turn.id);
      const summaries = made.map(({ metadata }) => metadata).filter((metadata) => metadata !== undefined);
      const beside = made.map(({ threadhold }) => threadhold).filter((threadhold) => threadhold !== undefined);
      set(turn, "metadata", made.length === 0 ? undefined : metadataOf(summaries, beside));
      for (const round of turn.rounds) {
        set(round, "summary", all.findLast(({ metadata }) => metadata?.toolCallRoundId === round.id)?.block);
      }
    }
  }
}

/** Phases with which a compaction that goes on ends. */
const ENDS: ReadonlySet<string> = new Set(["accepted", "refused", "cancelled", "cannotFit"]);

function inForce(compactions: readonly CompactionView[]): CompactionView | undefined {
  return compactions.findLast(({ status }) => status === "inForce");
}

function coveredBy(record: CompactionView | undefined): number {
  return record?.coversToOrd === undefined ? 0 : record.coversToOrd + 1;
}
