// Everything around the rows of a conversation, made from what the client's view shows. A function of what it is given.

import type { ContextInspectResult, ContextSize, SessionView, Snapshot } from "@threadhold/client";
import type { Button, Frame, Meter, NoticeRow, Waiting } from "./view.ts";
import { saidIn } from "./conversation.ts";
import { sentence } from "./words.ts";

/** What a session does, in a word or two; empty at rest. */
export function activityOf(view: SessionView): string {
  const { state, compression, streaming, pendingCalls } = view.snapshot;
  if (view.retrying !== undefined) return `Trying again: ${view.retrying.reason}`;
  if (compression.running) return compression.phase === "reviewing" ? "Asks you" : "Compacting";
  switch (state) {
    case "generating":
      return streaming === undefined ? "Thinking" : "Answering";
    case "executingTools":
    case "waitingIde":
      return pendingCalls.length === 0 ? "Running tools" : `Running ${pendingCalls.map(({ name }) => name).join(", ")}`;
    case "paused":
      return "Waits for you";
    case "waitingUserInput":
      return "Asks you";
    default:
      return "";
  }
}

const BUSY: ReadonlySet<Snapshot["state"]> = new Set<Snapshot["state"]>(["generating", "executingTools", "paused", "waitingIde"]);

export function isBusy({ state }: Snapshot): boolean {
  return BUSY.has(state);
}

export function waitingOf({ queue }: Snapshot): Waiting[] {
  return queue.map(({ itemId, method, priority, content }) => {
    const said = saidIn(content ?? []).text;
    return { itemId, priority, text: said === "" ? method : said };
  });
}

type Ended = Pick<SessionView, "lastEnd"> & { snapshot: Readonly<Snapshot> };

const ASK_AGAIN: Button = { label: "Ask again", action: { type: "regenerate" } };

/** What stands behind the conversation: how the last turn ended without an answer, and what to do. */
export function endNoticesOf({ snapshot, lastEnd }: Ended, isInterrupted: boolean): NoticeRow[] {
  const notice = { kind: "notice", id: "notice end", rev: 0 } as const;
  const { state, messages, driver, heldBy, queue } = snapshot;
  if (isInterrupted) {
    const text = "The sidecar ended while this was answered, and was started again. All that was said before is kept.";
    return [{ ...notice, level: "warning", text, actions: [ASK_AGAIN] }];
  }
  if (state === "error") {
    const { message = "The last turn ended with an error", data } = lastEnd?.error ?? {};
    const wantsKey = data?.kind === "ProviderError" && data.cause === "auth";
    const actions: Button[] = [
      { label: "Try again", action: { type: "regenerate" } },
      ...(wantsKey ? [{ label: "Set its key…", action: { type: "command", command: "setKey" } } as const] : []),
      { label: "Choose another model…", action: { type: "selectModel" } },
    ];
    // Whoever writes it elsewhere has it answered.
    return [{ ...notice, level: "error", text: sentence(message), actions: heldBy === undefined ? actions : [] }];
  }
  const last = messages.findLast(({ role }) => role !== "event");
  const isOpen = last?.role === "user" || last?.role === "tool";
  if (state !== "idle" || !isOpen || driver !== "sidecar" || heldBy !== undefined || queue.length > 0) return [];
  return [{ ...notice, level: "info", text: "This ended before an answer came. All that was said is kept.", actions: [ASK_AGAIN] }];
}

/** How full the prompt is, of the newest that was told and, where it was asked for, of all that is known. */
export function meterOf(size: ContextSize, snapshot: Snapshot, inspected: ContextInspectResult | undefined): Meter {
  const { tokens, limit, tokensUntilCompaction, sections, estimator } = size;
  const at = (tokens + tokensUntilCompaction) / limit;
  const inForce = snapshot.compactions.findLast(({ status }) => status === "inForce");
  const usage = inspected?.usage?.inputTokens;
  return {
    tokens,
    limit,
    untilCompaction: tokensUntilCompaction,
    estimator,
    sections: sections.map((section) => ({ ...section, name: inWords(section.name) })),
    pins: (snapshot.pins ?? []).map((pin) => ({
      pinId: pin.pinId,
      label: (pin.text ?? saidIn(snapshot.messages.find(({ id }) => id === pin.messageId)?.parts ?? []).text).slice(0, 200),
      tokens: pin.tokens,
    })),
    excluded: inForce?.excludedIds?.length ?? 0,
    detailed: inspected !== undefined,
    triggers: (inspected?.triggers ?? []).flatMap(({ trigger, measure, now, at }) =>
      at === undefined ? [] : [{ name: TRIGGERS[trigger] ?? trigger, now: measured(now, measure), at: measured(at, measure) }],
    ),
    ...(tokensUntilCompaction > 0 && at > 0 && at <= 1 && { thresholdAt: at }),
    ...(inspected !== undefined && { window: inspected.window }),
    ...(usage !== undefined && { usage: `The provider last reported ${inTokens(usage)}.` }),
  };
}

const SECTIONS: Record<string, string> = {
  toolGuidelines: "how tools are used",
  instructionFiles: "instruction files",
  coreMemories: "memories",
  compaction: "summary of old rounds",
  keptUserMessages: "your earlier words",
  history: "conversation",
  currentMessage: "your request",
  currentRounds: "rounds of this turn",
};

/** A section as people call it; one of a later version by its own name. */
function inWords(name: string): string {
  return SECTIONS[name] ?? name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}

const TRIGGERS: Record<string, string> = {
  budgetExceeded: "the prompt has more tokens than fit",
  providerOverflow: "the provider finds it too large",
  preTurnTokens: "a turn begins with this many tokens",
  background: "a summary is prepared beside the turn",
  modelChanged: "the next model's window is smaller",
  userTurns: "so many turns are shown",
  messages: "so many messages are shown",
  idle: "nothing was said for so long",
};

/** What is counted, is said by the name of what it sets off; a table is narrow. */
function measured(count: number, measure: string): string {
  return `${count.toLocaleString("en-US")}${measure === "seconds" ? " s" : ""}`;
}

function inTokens(count: number): string {
  return `${count.toLocaleString("en-US")} tokens`;
}

/** The share of the limit from which on a compaction counts as near. */
const NEAR = 0.1;

/** Warns once before a compaction, and again only after the prompt was well below. */
export class Warning {
  #text: string | undefined;
  #armed = true;

  get text(): string | undefined {
    return this.#text;
  }

  /** Takes the newest size in. */
  take(meter: Meter | undefined, isOn: boolean): void {
    if (meter === undefined) return;
    const left = meter.untilCompaction / Math.max(1, meter.limit);
    if (left > 2 * NEAR) {
      this.#armed = true;
      this.#text = undefined;
    }
    if (!isOn || !this.#armed || left > NEAR || meter.untilCompaction <= 0) return;
    this.#armed = false;
    this.#text = `About ${inTokens(meter.untilCompaction)} until old rounds are summed up. You can do it now with a focus, or pin what must stay.`;
  }

  dismiss(): void {
    this.#text = undefined;
  }

  /** Another session, or a compaction: everything is new. */
  reset(): void {
    this.#text = undefined;
    this.#armed = true;
  }
}

/** The panel before there is a session. */
export const EMPTY: Omit<Frame, "sidecar" | "model" | "attachments"> = {
  title: "New session",
  state: "idle",
  activity: "",
  busy: false,
  queue: [],
  asked: [],
};
