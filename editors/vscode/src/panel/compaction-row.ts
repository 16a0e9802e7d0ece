// Compaction cards: why the compaction started, how it was made, and its state.

import type { CompactionMode, CompactionTrigger, CompactionView, Message, Snapshot } from "@threadhold/client";
import type { CompactionRow, Unnumbered } from "../shared/view.ts";
import { costOf } from "./cost.ts";

/** Why, for people. */
export const WHY: Record<CompactionTrigger, string> = {
  budgetExceeded: "The prompt exceeded its token limit.",
  providerOverflow: "The provider rejected the prompt as too large.",
  preTurnTokens: "The prompt was near its token limit when a turn started.",
  background: "Prepared in the background during a turn.",
  modelChanged: "The next model has a smaller context window.",
  userTurns: "The prompt reached its limit of turns.",
  messages: "The prompt reached its limit of messages.",
  idle: "The session was idle.",
  manual: "Requested by you.",
  restored: "Restored from the editor's chat history.",
  recorded: "Recorded in the imported conversation.",
};

const HOW: Record<CompactionMode, string> = {
  limitHistory: "Old tool results were shortened.",
  full: "A model summarized the conversation.",
  simple: "A model summarized the conversation.",
  ledger: "The summary lists the actions and names.",
  dropped: "Old rounds were left out.",
  excluded: "You excluded messages.",
  edited: "You edited the summary.",
  recorded: "The program that the chat comes from made the summary.",
};

/** Methods that can fail and be followed by another one, for people. */
const METHOD: Partial<Record<CompactionMode, string>> = {
  limitHistory: "Shortening old tool results",
  full: "Summarizing the conversation as it was sent",
  simple: "Summarizing a transcript",
  ledger: "Listing actions and names",
  dropped: "Leaving out old rounds",
};

/** Ways of compacting by themselves that ask no model. */
const WITHOUT_MODEL: ReadonlySet<CompactionMode> = new Set(["limitHistory", "ledger", "dropped"]);

/** How it was made, and what models were asked for it. */
function howOf({ mode, askedAgain = 0, fallbacks }: CompactionView): string {
  const how = [HOW[mode] ?? ""];
  if (askedAgain > 0) how.push(`The model was asked ${times(askedAgain + 1)}.`);
  const inVain = fallbacks.filter((fallback) => (fallback.asked ?? 0) > 0);
  const count = inVain.reduce((sum, fallback) => sum + (fallback.asked ?? 0), 0);
  // A compaction of an older version does not say whether a model was asked.
  const isKnown = fallbacks.every((fallback) => fallback.asked !== undefined || (fallback.mode !== "full" && fallback.mode !== "simple"));
  if (count > 0) {
    const reasons = [...new Set(inVain.map(({ reason }) => reason))].join("; ");
    how.push(count === 1 ? `A request for a summary failed: ${reasons}.` : `Requests for a summary failed ${times(count)}: ${reasons}.`);
  } else if (isKnown && WITHOUT_MODEL.has(mode)) {
    how.push("No model was used.");
  }
  return how.filter((sentence) => sentence !== "").join(" ");
}

function times(count: number): string {
  return count === 1 ? "once" : `${count.toLocaleString("en-US")} times`;
}

/** Title of the card, such as `Compacted 4 rounds`. */
function titleOf({ mode, numRounds, excludedIds = [] }: CompactionView): string {
  switch (mode) {
    case "limitHistory":
      return "Shortened old results";
    case "dropped":
      return `Left out ${counted(numRounds, "round")}`;
    case "excluded":
      return `Excluded ${counted(excludedIds.length, "message")}`;
    case "edited":
      return "Edited summary";
    default:
      return `Compacted ${counted(numRounds, "round")}`;
  }
}

export function counted(count: number, what: string): string {
  return `${count.toLocaleString("en-US")} ${what}${count === 1 ? "" : "s"}`;
}

/** The card of a compaction of the session. */
export function compactionRow(view: CompactionView, snapshot: Snapshot): Unnumbered<CompactionRow> {
  const inForce = snapshot.compactions.findLast(({ status }) => status === "inForce");
  const isNewest = inForce?.id === view.id;
  return {
    ...detailsOf(view),
    phase:
      // One that was made again or edited is as old as any other that a newer one stands for.
      view.status === "undone"
        ? isReplaced(view, snapshot)
          ? "older"
          : "undone"
        : view.status !== "inForce"
          ? "void"
          : isNewest
            ? "inForce"
            : "older",
    newest: isNewest,
    ...countedIn(view, snapshot),
  };
}

/** True if the one that was put in its place is in force, or has such a one in its place. */
function isReplaced({ id }: CompactionView, snapshot: Snapshot): boolean {
  return snapshot.compactions.some((newer) => {
    if (newer.replaces !== id) return false;
    return newer.status === "inForce" || (newer.status === "undone" && isReplaced(newer, snapshot));
  });
}

/** The card of one that waits for the user's word. */
export function reviewRow(view: CompactionView, dropped: number, snapshot: Snapshot): Unnumbered<CompactionRow> {
  return { ...detailsOf(view), phase: "reviewing", newest: true, dropped, ...countedIn(view, snapshot) };
}

/** True if a compaction stands for a message of its span. The user's own stay beside its block. */
export function isCovered({ role }: Message): boolean {
  return role === "assistant" || role === "tool";
}

/** How many messages a compaction stands for, where all of them are here. */
function countedIn(view: CompactionView, { messages, earlierMessages = 0 }: Snapshot): { messages?: number } {
  const { coversFromOrd: from = 0, coversToOrd: to = -1, excludedIds = [] } = view;
  if (earlierMessages > from && (to >= from || excludedIds.length > 0)) return {};
  const left = new Set(excludedIds);
  return {
    messages: messages.filter((message) => left.has(message.id) || (message.ord >= from && message.ord <= to && isCovered(message))).length,
  };
}

function detailsOf(view: CompactionView): Omit<Unnumbered<CompactionRow>, "phase" | "newest"> {
  const { narrative, ledger } = split(view.block);
  const cost = view.spent === undefined ? undefined : costOf(view.spent);
  return {
    kind: "compaction",
    id: `compaction ${view.id}`,
    compactionId: view.id,
    title: titleOf(view),
    why: WHY[view.trigger] ?? "",
    how: howOf(view),
    tokensBefore: view.tokensBefore,
    tokensAfter: view.tokensAfter,
    rounds: view.numRounds,
    block: view.block,
    narrative,
    ledger,
    unreviewed: view.unreviewed ?? false,
    excluded: view.excludedIds?.length ?? 0,
    estimator: view.estimator,
    fallbacks: view.fallbacks.map(({ mode, reason }) => `${METHOD[mode] ?? mode}: ${reason}`),
    ...(view.focus !== undefined && { focus: view.focus }),
    ...(view.model !== undefined && { model: view.model }),
    ...(view.durationMs !== undefined && { durationMs: view.durationMs }),
    ...(cost !== undefined && { cost }),
  };
}

/** The model's words and the code's, of a block: the code's begin with the first heading of the first level. */
function split(block: string): { narrative: string; ledger: string } {
  const inner = block.replace(/^<[^>]+>\n/, "").replace(/\n?<\/[^>]+>\s*$/, "");
  // The first paragraph tells the model what the block is.
  const body = inner.slice(Math.max(0, inner.indexOf("\n\n"))).trim();
  const at = body.search(/^# /m);
  return at < 0 ? { narrative: body, ledger: "" } : { narrative: body.slice(0, at).trim(), ledger: body.slice(at).trim() };
}
