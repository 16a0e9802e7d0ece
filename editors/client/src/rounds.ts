// Turns and rounds of a snapshot, which follow from events of turns and from its messages: those of a round have its id.
// Everything else of a view is `view.ts`'s.

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
 * known all the same. Summaries are the view's.
 */
export class Rounds {
  #newest: Newest | undefined;

  constructor(private readonly of: Snapshot) {
    this.#findNewest();
  }

  /** A turn began, or runs again. */
  started({ turnId: id, externalId }: { turnId: string; externalId?: string }): void {
    // A snapshot of the newest messages alone has no turns.
    if (this.of.earlierMessages !== undefined) return;
    // Only the newest runs again.
    const known = this.of.turns.at(-1);
    if (known?.id === id) {
      known.status = "running";
      for (const field of ["interrupted", "usage", "cost", "spent", "durationMs"] as const) delete known[field];
      return;
    }
    const turn: TurnView = { id, status: "running", rounds: [] };
    set(turn, "externalId", externalId);
    this.of.turns.push(turn);
  }

  /** A message was added at the end. */
  added(message: Message): void {
    this.#take(message, this.find(message.turnId)?.rounds);
  }

  /** A message has other words, an id of the editor's, or another round. */
  changed(old: Message, message: Message): void {
    const turn = this.find(message.turnId);
    if (turn !== undefined) {
      if (turn.externalId === old.externalId) set(turn, "externalId", message.externalId);
      this.#again(turn);
    }
    this.#findNewest();
  }

  /** A message is gone. */
  removed(message: Message): void {
    const turn = this.find(message.turnId);
    if (turn !== undefined) {
      if (turn.externalId === message.externalId) delete turn.externalId;
      this.#again(turn);
    }
    this.#dropEmpty();
    this.#findNewest();
  }

  /** The messages from this position on are gone. */
  truncated(): void {
    this.#dropEmpty();
    const last = this.of.turns.at(-1);
    if (last !== undefined) this.#again(last);
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

  /** The turn of this id. */
  find(id: string): TurnView | undefined {
    // The newest is meant, nearly always.
    for (let at = this.of.turns.length - 1; at >= 0; at--) {
      if (this.of.turns[at]?.id === id) return this.of.turns[at];
    }
    return undefined;
  }

  /** Takes a message into the rounds of its turn. */
  #take(message: Message, rounds: RoundView[] | undefined): void {
    if (message.role === "assistant") {
      this.#newest = undefined;
      if (message.roundId === undefined) return;
      const shown = rounds && roundOf(message, message.roundId);
      if (shown) rounds?.push(shown);
      this.#newest = newest(message, shown);
      return;
    }
    if (message.role === "tool" && this.#newest) answer(this.#newest, message);
  }

  /** Makes the rounds of a turn again from what is left of it, without their summaries. */
  #again(turn: TurnView): void {
    let last: Newest | undefined;
    turn.rounds = [];
    for (const message of this.of.messages) {
      if (message.turnId !== turn.id) continue;
      if (message.role === "tool" && last) answer(last, message);
      if (message.role !== "assistant") continue;
      last = undefined;
      if (message.roundId === undefined) continue;
      const shown = roundOf(message, message.roundId);
      turn.rounds.push(shown);
      last = newest(message, shown);
    }
  }

  #dropEmpty(): void {
    const said = new Set(this.of.messages.map((message) => message.turnId));
    this.of.turns = this.of.turns.filter((turn) => said.has(turn.id));
  }

  #findNewest(): void {
    this.#newest = undefined;
    const { messages, turns } = this.of;
    let from = messages.length - 1;
    while (from >= 0 && messages[from]?.role !== "assistant") from--;
    const opening = messages[from];
    if (opening?.roundId === undefined) return;
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
