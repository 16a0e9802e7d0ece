// Compactions that stand one behind the other, as one row and the newest card: those before it are history.

import type { CompactionGroupRow, CompactionRow, Row } from "../shared/view.ts";

/** So many make a group; fewer are as short by themselves. */
const FEWEST = 2;

const HISTORY: ReadonlySet<CompactionRow["phase"]> = new Set<CompactionRow["phase"]>(["older", "undone", "void"]);

/** A group before it has its number. */
export type CompactionGroup = Omit<CompactionGroupRow, "rev">;

/** The rows, with the cards of each stack that are history in one of them. */
export function stacked<Of extends Row | { kind: "calls" }>(rows: readonly Of[]): (Of | CompactionGroup)[] {
  const out: (Of | CompactionGroup)[] = [];
  for (let at = 0; at < rows.length; ) {
    const cards = historyAt(rows, at);
    const [first] = cards;
    // A card behind them says what holds now.
    const isStack = first !== undefined && cards.length >= FEWEST && rows[at + cards.length]?.kind === "compaction";
    if (isStack) out.push(groupOf(first, cards));
    else out.push(...rows.slice(at, at + Math.max(1, cards.length)));
    at += Math.max(1, cards.length);
  }
  return out;
}

/** Cards from a place on that are history, but for one that is the last of its stack. */
function historyAt(rows: readonly (Row | { kind: "calls" })[], from: number): CompactionRow[] {
  const cards: CompactionRow[] = [];
  for (let at = from; at < rows.length; at += 1) {
    const row = rows[at];
    if (row?.kind !== "compaction" || !HISTORY.has(row.phase) || rows[at + 1]?.kind !== "compaction") break;
    cards.push(row);
  }
  return cards;
}

function groupOf(first: CompactionRow, cards: CompactionRow[]): CompactionGroup {
  const undone = cards.filter(({ phase }) => phase === "undone").length;
  return {
    kind: "compactions",
    id: `compactions ${first.compactionId}`,
    title: `${cards.length} earlier compactions${undone === 0 ? "" : `, ${undone} undone`}`,
    cards,
    ...(first.held === true && { held: true }),
  };
}
