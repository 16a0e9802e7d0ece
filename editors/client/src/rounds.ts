// Turns and rounds of a snapshot, which follow from its messages: an assistant message and the results of its calls are a
// round. The rules are the sidecar's (src/engine/transcript.rs). Everything else of a view is `view.ts`'s.

import type { Message, Part, PendingCall, RoundView, Snapshot, TurnView } from "./protocol.js";

type Call = Extract<Part, { type: "toolCall" }>;

/** A round for which results may still come. */
interface Newest {
  turnId: string;
  /** As the snapshot shows it; missing where it shows no turns. */
  shown: RoundView | undefined;
  /** Its calls, in their order, each with the message that answers it. */
  calls: { call: Call; answer?: string }[];
}

/**
 * The turns of a snapshot, kept up with its messages. A snapshot of the newest messages alone has no turns; its calls are
 * known all the same. What is not sure is said: then the snapshot must be asked for. Summaries are the view's.
 */
export class Rounds {
  #newest: Newest | undefined;
  /** Where rounds began, with their numbers, which are in their ids: also those that were removed meanwhile. */
  #begun: { ord: number; number: number; isSure: boolean }[] = [];
  /** Positions of messages that were removed before: nobody says whether they were rounds. */
  #holes: number[] = [];
  /** The position of the next message. */
  #end = 0;

  constructor(private readonly of: Snapshot) {
    this.#count();
    this.#findNewest();
  }

  /** A message was added at the end. False: not sure. */
  added(message: Message): boolean {
    while (this.#end < message.ord) this.#holes.push(this.#end++);
    this.#end = message.ord + 1;
    const isWhole = this.of.earlierMessages === undefined;
    // It belongs to the newest turn, or begins another one.
    const last = this.of.turns.at(-1);
    const known = last?.id === message.turnId ? last : undefined;
    const turn = isWhole ? (known ?? this.#begin(message)) : undefined;
    // Nobody is told how a turn ended that another one follows.
    const isTold = turn === known || this.of.turns.at(-2)?.status !== "running";
    const isNamed = this.#take(message, turn?.rounds);
    return isTold && isNamed;
  }

  /** A message has other words, or an id of the editor's. False: not sure. */
  changed(old: Message, message: Message): boolean {
    const turn = this.#find(message.turnId);
    if (turn !== undefined && turn.externalId === old.externalId && message.role === "user") {
      set(turn, "externalId", message.externalId);
    }
    const isSure = turn === undefined || this.#again(turn, old.rev === message.rev ? undefined : message);
    this.#findNewest();
    return isSure;
  }

  /** A message is gone. */
  removed(message: Message): void {
    const turn = this.#find(message.turnId);
    if (turn !== undefined) {
      if (message.role === "user" && turn.externalId === message.externalId) delete turn.externalId;
      this.#again(turn);
    }
    this.#dropEmpty();
    this.#findNewest();
  }

  /** The messages from this position on are gone. */
  truncated(fromOrd: number): void {
    this.#dropEmpty();
    const last = this.of.turns.at(-1);
    if (last !== undefined) this.#again(last);
    this.#begun = this.#begun.filter(({ ord }) => ord < fromOrd);
    this.#holes = this.#holes.filter((ord) => ord < fromOrd);
    this.#end = fromOrd;
    this.#findNewest();
  }

  /** Calls of the newest round without a result, in the order in which a snapshot has them. */
  pending(): PendingCall[] {
    const turnId = this.of.messages.at(-1)?.turnId;
    const open = this.#newest?.calls.filter(({ answer }) => answer === undefined) ?? [];
    const calls = open.map(({ call }) => call).sort((one, other) => (one.id < other.id ? -1 : 1));
    if (turnId === undefined) return [];
    return calls.map(({ id, name, arguments: given }) => ({ toolCallId: id, turnId, name, arguments: given }));
  }

  #find(id: string): TurnView | undefined {
    // The newest is meant, nearly always.
    for (let at = this.of.turns.length - 1; at >= 0; at--) {
      if (this.of.turns[at]?.id === id) return this.of.turns[at];
    }
    return undefined;
  }

  #begin({ turnId: id, externalId, role }: Message): TurnView {
    // A notice may be the first thing that is said; nothing runs because of it.
    const turn: TurnView = { id, status: role === "event" ? "cancelled" : "running", rounds: [] };
    set(turn, "externalId", externalId);
    this.of.turns.push(turn);
    return turn;
  }

  /** Takes a message into the rounds of its turn. False where a round cannot be named. */
  #take(message: Message, rounds: RoundView[] | undefined): boolean {
    if (message.role === "assistant") {
      this.#newest = undefined;
      if (!isRound(message)) return true;
      const { number, isSure } = this.#next;
      const isNamed = isSure || message.externalId !== undefined;
      const shown = rounds && roundOf(message, nameOf(this.of.sessionId, message, number));
      this.#begun.push({ ord: message.ord, number, isSure });
      if (shown) rounds?.push(shown);
      this.#newest = newest(message, shown);
      return shown === undefined || isNamed;
    }
    if (message.role === "tool" && this.#newest) answer(this.#newest, message);
    return true;
  }

  /** Makes the rounds of a turn again from what is left of it, without their summaries. `revised` has a new id where it is a round. */
  #again(turn: TurnView, revised?: Message): boolean {
    const known = new Map(turn.rounds.map((round) => [round.assistant, round]));
    let isSure = true;
    let last: Newest | undefined;
    turn.rounds = [];
    for (const message of this.of.messages) {
      if (message.turnId !== turn.id) continue;
      if (message.role === "tool" && last) answer(last, message);
      if (message.role !== "assistant") continue;
      last = undefined;
      if (!isRound(message)) continue;
      const was = known.get(message.id);
      const number = was && numberOf(this.of.sessionId, was.id);
      const isNew = was === undefined || message === revised;
      if (isNew && number === undefined && message.externalId === undefined) isSure = false;
      const id = isNew ? nameOf(this.of.sessionId, message, number ?? this.#next.number) : was.id;
      const shown = roundOf(message, id);
      turn.rounds.push(shown);
      last = newest(message, shown);
    }
    return isSure;
  }

  #dropEmpty(): void {
    const said = new Set(this.of.messages.map((message) => message.turnId));
    this.of.turns = this.of.turns.filter((turn) => said.has(turn.id));
  }

  /** The number of the next round, and whether it can be told. */
  get #next(): { number: number; isSure: boolean } {
    const { ord, number, isSure } = this.#begun.at(-1) ?? { ord: -1, number: -1, isSure: true };
    return { number: number + 1, isSure: isSure && (this.#holes.at(-1) ?? -1) <= ord };
  }

  #count(): void {
    const { messages, turns, sessionId } = this.of;
    for (const { ord } of messages) {
      while (this.#end < ord) this.#holes.push(this.#end++);
      this.#end = ord + 1;
    }
    const ords = new Map(messages.map(({ id, ord }) => [id, ord]));
    const holes = [...this.#holes];
    this.#holes = [];
    for (const round of turns.flatMap((turn) => turn.rounds)) {
      const ord = ords.get(round.assistant) ?? -1;
      while ((holes[0] ?? ord) < ord) this.#holes.push(holes.shift() ?? ord);
      // An editor's round has the editor's id, and counts too.
      const number = numberOf(sessionId, round.id);
      this.#begun.push({ ord, ...(number === undefined ? this.#next : { number, isSure: true }) });
    }
    this.#holes.push(...holes);
  }

  #findNewest(): void {
    this.#newest = undefined;
    const { messages, turns } = this.of;
    let from = messages.length - 1;
    while (from >= 0 && messages[from]?.role !== "assistant") from--;
    const opening = messages[from];
    if (opening === undefined || !isRound(opening)) return;
    const turn = turns.find(({ id }) => id === opening.turnId);
    const found = newest(
      opening,
      turn?.rounds.find(({ assistant }) => assistant === opening.id),
    );
    for (const message of messages.slice(from + 1)) if (message.role === "tool") answer(found, message);
    this.#newest = found;
  }
}

/** Sets an optional field, or takes it out. */
export function set<Of extends object, Key extends keyof Of>(of: Of, key: Key, value: Of[Key] | undefined): void {
  if (value === undefined) delete of[key];
  else of[key] = value;
}

function newest(message: Message, shown: RoundView | undefined): Newest {
  const calls = message.parts.filter((part) => part.type === "toolCall").map((call) => ({ call }));
  return { turnId: message.turnId, shown, calls };
}

/** A result is that of the first open call that it names: by the source's id, for our own says which is meant anyway. */
function answer({ turnId, shown, calls }: Newest, message: Message): void {
  const [result] = message.parts;
  if (message.turnId !== turnId || message.visibleToModel === false || result?.type !== "toolResult") return;
  const open = calls.filter(({ answer }) => answer === undefined);
  const known =
    open.find(({ call }) => (call.sourceId ?? call.id) === result.toolCallId) ?? open.find(({ call }) => call.id === result.toolCallId);
  if (known === undefined) return;
  known.answer = message.id;
  if (shown) shown.results = calls.flatMap(({ answer }) => answer ?? []);
}

function roundOf({ id: assistant, externalId }: Message, id: string): RoundView {
  const round: RoundView = { id, assistant, results: [] };
  set(round, "externalId", externalId);
  return round;
}

function nameOf(sessionId: string, { externalId, rev }: Message, number: number): string {
  return externalId ?? `${sessionId}/r${number}${rev === 0 ? "" : `.${rev}`}`;
}

/** The number in a round's id that the sidecar made. */
function numberOf(sessionId: string, id: string): number | undefined {
  const start = `${sessionId}/r`;
  const number = id.startsWith(start) ? /^\d+(?=\.|$)/.exec(id.slice(start.length)) : null;
  return number === null ? undefined : Number(number[0]);
}

/** True if a message says anything: thinking alone is no answer. */
function isRound({ parts, visibleToModel }: Message): boolean {
  const says = (part: Part) => (part.type === "text" ? part.text.trim() !== "" : part.type !== "reasoning");
  return visibleToModel !== false && parts.some(says);
}
