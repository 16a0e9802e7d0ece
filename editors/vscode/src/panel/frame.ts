// The frame around the rows of a conversation: activity, notices, meter. Pure functions of the client's view.

import type { ContextInspectResult, ContextSize, SessionView, Snapshot } from "@threadhold/client";
import type { Meter } from "../shared/meter.ts";
import { sentence } from "../shared/text.ts";
import type { Button, Frame, NoticeRow, TodoItem, Waiting } from "../shared/view.ts";
import { textIn } from "./conversation.ts";
import { spendingOf } from "./cost.ts";

/** Current activity in a word or two; empty when idle. */
export function activityOf(view: SessionView): string {
  const { state, compression, streaming, pendingCalls } = view.snapshot;
  if (view.retrying !== undefined) return `Retrying: ${view.retrying.reason}`;
  if (compression.running) return compression.phase === "reviewing" ? "Waiting for your review" : "Compacting";
  switch (state) {
    case "generating":
      return streaming === undefined ? "Thinking" : "Answering";
    case "executingTools":
    case "waitingIde":
      return pendingCalls.length === 0 ? "Running tools" : `Running ${pendingCalls.map(({ name }) => name).join(", ")}`;
    case "paused":
      return "Waiting for approval";
    case "waitingUserInput":
      return "Waiting for your answer";
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
    const said = textIn(content ?? []).text;
    return { itemId, priority, text: said === "" ? method : said };
  });
}

/** Texts of the newest request and of those that wait behind it. */
export function sentLast({ messages, queue }: Pick<Snapshot, "messages" | "queue">): string[] {
  const newest = messages.findLast(({ role }) => role === "user")?.parts ?? [];
  return [newest, ...queue.map(({ content }) => content ?? [])].map((parts) => textIn(parts).text).filter((text) => text !== "");
}

type Ended = Pick<SessionView, "lastEnd"> & { snapshot: Readonly<Snapshot> };

const CONTINUE: Button = { label: "Continue", action: { type: "continue" } };
const ASK_AGAIN: Button = { label: "Ask Again", action: { type: "regenerate" } };

/** Notices after the conversation if the last turn ended without an answer. */
export function endNoticesOf({ snapshot, lastEnd }: Ended, isInterrupted: boolean): NoticeRow[] {
  const notice = { kind: "notice", id: "notice end", rev: 0 } as const;
  const { state, messages, driver, heldBy, queue } = snapshot;
  if (isInterrupted) {
    const text = "The sidecar restarted during this answer. The conversation up to here is kept.";
    return [{ ...notice, level: "warning", text, actions: [CONTINUE, ASK_AGAIN] }];
  }
  if (isCutOff(snapshot)) {
    const text =
      "The answer was interrupted: its window was closed, its process ended, or the session was taken over. The conversation up to here is kept.";
    return [{ ...notice, level: "warning", text, actions: [CONTINUE, ASK_AGAIN] }];
  }
  if (state === "error") {
    const { message = "The last turn failed", data } = lastEnd?.error ?? {};
    const wantsKey = data?.kind === "ProviderError" && data.cause === "auth";
    const actions: Button[] = [
      { label: "Try Again", action: { type: "regenerate" } },
      ...(wantsKey ? [{ label: "Set API Key…", action: { type: "command", command: "setKey" } } as const] : []),
      { label: "Choose Another Model…", action: { type: "selectModel" } },
    ];
    // Whoever writes it elsewhere has it answered.
    return [{ ...notice, level: "error", text: sentence(message), actions: heldBy === undefined ? actions : [] }];
  }
  const last = messages.findLast(({ role }) => role !== "event");
  const isOpen = last?.role === "user" || last?.role === "tool";
  if (state !== "idle" || !isOpen || driver !== "sidecar" || heldBy !== undefined || queue.length > 0) return [];
  return [{ ...notice, level: "info", text: "The turn ended without an answer. The conversation is kept.", actions: [ASK_AGAIN] }];
}

/** What the user can do about the plan that the newest answer is, if the model was asked for one. */
export function planNoticeOf({ state, messages, driver, heldBy, queue }: Snapshot): NoticeRow | undefined {
  const last = messages.findLast(({ role }) => role !== "event");
  const isAnswer = last?.role === "assistant" && textIn(last.parts).text !== "";
  if (state !== "idle" || !isAnswer || driver !== "sidecar" || heldBy !== undefined || queue.length > 0) return undefined;
  const text = "Accept the plan to have it implemented, or describe what to change.";
  const actions: Button[] = [{ label: "Accept Plan", action: { type: "acceptPlan" } }];
  return { kind: "notice", id: "notice plan", rev: 0, level: "info", text, actions };
}

/** The agent's todos; undefined where there are none, and once all are completed and nothing goes on. */
export function todosOf(snapshot: Snapshot): TodoItem[] | undefined {
  const { todos } = snapshot.scope;
  if (todos.every(({ status }) => status === "completed") && (todos.length === 0 || !isBusy(snapshot))) return undefined;
  return todos.map(({ content, status }) => ({ text: content, status }));
}

/** True if the newest turn was cut off by the end of its window or of the sidecar, and nothing goes on here or elsewhere. */
function isCutOff({ state, turns, driver, heldBy, queue }: Snapshot): boolean {
  const rests = state === "idle" || state === "error";
  return rests && turns.at(-1)?.interrupted === true && driver === "sidecar" && heldBy === undefined && queue.length === 0;
}

/** How full the prompt is, of the newest that was told and, where it was asked for, of all that is known. */
export function meterOf(size: ContextSize, snapshot: Snapshot, inspected: ContextInspectResult | undefined): Meter {
  const { tokens, limit, tokensUntilCompaction, sections, estimator } = size;
  const at = (tokens + tokensUntilCompaction) / limit;
  const inForce = snapshot.compactions.findLast(({ status }) => status === "inForce");
  const usage = inspected?.usage?.inputTokens;
  const learned = inspected === undefined ? undefined : learnedOf(inspected);
  const hasInstructions = sections.some(({ name, tokens }) => name === "instructionFiles" && tokens > 0);
  const instructions = hasInstructions && inspected !== undefined ? instructionsOf(inspected) : undefined;
  const spent = inspected?.spent === undefined ? undefined : spendingOf(inspected.spent);
  return {
    tokens,
    limit,
    untilCompaction: tokensUntilCompaction,
    estimator,
    sections: sections.map((section) => ({ ...section, name: inWords(section.name) })),
    pins: (snapshot.pins ?? []).map((pin) => ({
      pinId: pin.pinId,
      label: (pin.text ?? textIn(snapshot.messages.find(({ id }) => id === pin.messageId)?.parts ?? []).text).slice(0, 200),
      tokens: pin.tokens,
    })),
    excluded: inForce?.excludedIds?.length ?? 0,
    detailed: inspected !== undefined,
    triggers: (inspected?.triggers ?? []).flatMap(({ trigger, measure, now, at }) =>
      at === undefined ? [] : [{ name: TRIGGERS[trigger] ?? trigger, now: measured(now, measure), at: measured(at, measure) }],
    ),
    ...(tokensUntilCompaction > 0 && at > 0 && at <= 1 && { thresholdAt: at }),
    ...(inspected !== undefined && { window: inspected.window, margin: inspected.estimate.margin }),
    ...(inspected?.windowSource !== undefined && { windowFrom: WINDOW_FROM[inspected.windowSource] }),
    ...(usage !== undefined && { usage: `The provider last reported ${inTokens(usage)}.` }),
    ...(spent !== undefined && { spent }),
    ...(learned !== undefined && { learned }),
    ...(instructions !== undefined && { instructions }),
  };
}

/** The instruction files that are looked for. */
function instructionsOf({ settings }: ContextInspectResult): string {
  const value = settings.find(({ name }) => name === "instructionFiles")?.value;
  return Array.isArray(value) ? value.join(", ") : "AGENTS.md";
}

/** What was learned from the provider's rejections, with its source. */
function learnedOf({ learnedLimit, learnedAnswerLimit }: ContextInspectResult): string | undefined {
  const said: string[] = [];
  if (learnedLimit !== undefined) {
    const { tokens, source, promptsLeft } = learnedLimit;
    const requests = promptsLeft === 1 ? "1 more request" : `${promptsLeft} more requests`;
    said.push(
      `${LEARNED[source] ?? LEARNED.stated} Prompts have at most ${inTokens(tokens)}, for ${requests} or until a larger one is accepted.`,
    );
  }
  if (learnedAnswerLimit !== undefined) {
    said.push(`The provider rejected the length of an answer. Answers have at most ${inTokens(learnedAnswerLimit)}.`);
  }
  return said.length === 0 ? undefined : said.join(" ");
}

const WINDOW_FROM = {
  table: "This is known for a model of this name.",
  provider: "The provider's list of models states this.",
};

const LEARNED = {
  stated: "The provider rejected a prompt and stated its limit.",
  statedWithAnswer: "The provider rejected a prompt and stated a limit for prompt and answer together.",
  guessed: "The provider rejected a prompt without stating a limit, so this one is a guess.",
};

const SECTIONS: Record<string, string> = {
  toolGuidelines: "tool guidelines",
  instructionFiles: "instruction files",
  coreMemories: "memories",
  compaction: "summary of earlier rounds",
  keptUserMessages: "your earlier messages",
  history: "conversation",
  currentMessage: "current request",
  currentRounds: "current turn",
};

/** A section as people call it; one of a later version by its own name. */
function inWords(name: string): string {
  return SECTIONS[name] ?? name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}

const TRIGGERS: Record<string, string> = {
  budgetExceeded: "prompt exceeds its token limit",
  providerOverflow: "provider rejects the prompt as too large",
  preTurnTokens: "prompt size at the start of a turn",
  background: "summary prepared during a turn",
  modelChanged: "next model has a smaller context window",
  userTurns: "turns in the prompt",
  messages: "messages in the prompt",
  idle: "idle time",
};

/** A figure of a trigger. Its unit is in the trigger's name, except for seconds. */
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
    this.#text = `About ${inTokens(meter.untilCompaction)} until the next compaction. Compact now to choose a focus, or pin messages that must stay.`;
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
export const EMPTY: Omit<Frame, "sidecar" | "model" | "mode" | "attachments"> = {
  title: "New session",
  state: "idle",
  activity: "",
  busy: false,
  queue: [],
  asked: [],
};
