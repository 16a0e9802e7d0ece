// Metadata that is persisted with a turn, merged from several answers of the sidecar.

import type { SummaryMetadata, TurnMetadata } from "./protocol.js";

/** Metadata of one turn from several answers, oldest first: their summaries together, and their keys of others. */
export function joinedMetadata(...parts: readonly (TurnMetadata | undefined)[]): TurnMetadata {
  const all = parts.filter((part) => part !== undefined);
  const summaries = all.flatMap(summariesOf);
  const lists = all.flatMap(({ threadhold }) => (threadhold === undefined ? [] : [threadhold]));
  const { summary: _, summaries: __, threadhold: ___, ...others }: TurnMetadata = Object.assign({}, ...all);
  return {
    ...others,
    ...metadataOf(
      summaries,
      lists.map((list) => list.trim().slice(1, -1)).filter((list) => list !== ""),
    ),
  };
}

/** Metadata of these summaries, and of compactions that annotate no round, each in the form of `CompactionView.threadhold`. */
export function metadataOf(summaries: readonly SummaryMetadata[], beside: readonly string[]): TurnMetadata {
  const summary = summaries.at(-1);
  return {
    ...(summary && { summary, summaries: [...summaries] }),
    ...(beside.length > 0 && { threadhold: `[${beside.join(",")}]` }),
  };
}

function summariesOf({ summary, summaries }: TurnMetadata): SummaryMetadata[] {
  return summaries ?? (summary === undefined ? [] : [summary]);
}
