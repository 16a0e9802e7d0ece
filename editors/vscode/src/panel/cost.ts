// Costs in words: of a turn, a compaction, a session. No editor and no webview here.

import type { Cost, Snapshot, Spending } from "@threadhold/client";

/** Below this, an amount is not told exactly. */
const LEAST = 0.0001;

/** An amount of US dollars: cents from a dollar on, hundredths of cents below. */
export function dollars(amount: number): string {
  if (amount > 0 && amount < LEAST) return "< $0.0001";
  return `$${amount.toLocaleString("en-US", digits(amount >= 1 || amount === 0 ? 2 : 4))}`;
}

function digits(count: number): Intl.NumberFormatOptions {
  return { minimumFractionDigits: count, maximumFractionDigits: count };
}

/** A cost as a figure; undefined where none is known. */
export function costOf({ dollars: amount, incomplete = 0 }: Cost): string | undefined {
  if (amount === undefined) return undefined;
  return incomplete > 0 ? `at least ${dollars(amount)}` : dollars(amount);
}

/** Where a cost is from, and what it does not have, in sentences. */
export function sourceOf({ reported, settings, table, incomplete = 0 }: Cost): string {
  const from = [
    ...(reported === true ? ["reported by the provider"] : []),
    ...(settings === true ? ["computed from the prices in your settings"] : []),
    ...(table === undefined ? [] : [`computed from the price list of ${table}`]),
  ].join(", ");
  const missing = incomplete === 1 ? "1 request" : `${incomplete} requests`;
  const source = from === "" ? "" : `${from.charAt(0).toUpperCase()}${from.slice(1)}.`;
  return incomplete === 0 ? source : `${source} The cost of ${missing} is not known in full.`.trim();
}

/** The cost of each turn that is over, by the id of its last answer with text. */
export function costsOf({ turns, messages }: Snapshot): Map<string, { cost: string; costFrom: string }> {
  const costs = new Map(turns.flatMap(({ id, spent }) => (spent === undefined ? [] : [[id, spent] as const])));
  const found = new Map<string, { cost: string; costFrom: string }>();
  if (costs.size === 0) return found;
  for (const { id, role, turnId, parts } of messages.toReversed()) {
    const spent = costs.get(turnId);
    if (spent === undefined || role !== "assistant" || parts.every(({ type }) => type !== "text")) continue;
    costs.delete(turnId);
    const cost = costOf(spent);
    if (cost !== undefined) found.set(id, { cost, costFrom: sourceOf(spent) });
  }
  return found;
}

/** What a session cost, in sentences; undefined where nothing is known. */
export function spendingOf({ total, answers, summaries, titles, beganLate }: Spending): string | undefined {
  const all = costOf(total);
  if (all === undefined) return undefined;
  const parts = [
    ["answers", answers],
    ["summaries", summaries],
    ["titles", titles],
  ] as const;
  const told = parts.flatMap(([name, cost]) => {
    const figure = costOf(cost);
    return figure === undefined ? [] : [`${name} ${figure}`];
  });
  const apart = told.length > 1 ? `: ${told.join(", ")}` : "";
  const late = beganLate === true ? " Earlier answers are not included." : "";
  return `This session cost ${all}${apart}. ${sourceOf(total)}${late}`;
}
