// The piece of a text to show where words were found in it: around the first of them, in one line.

import type { Snippet } from "./view.ts";

/** Characters before the first word that was found. */
const BEFORE = 30;
/** Characters of a snippet. */
const LENGTH = 160;

/** The piece of the text around the first of the words of a query; its beginning where none is found as it is written. */
export function snippetOf(text: string, query: string): Snippet {
  const line = text.replace(/\s+/gu, " ").trim();
  const words = [...new Set(query.split(/\s+/u).filter((word) => word !== ""))];
  const found = marksOf(line, words);
  const start = startOf(line, found[0]?.[0] ?? 0);
  const shown = line.slice(start, endOf(line, start + LENGTH));
  const [before, after] = [start > 0 ? "…" : "", start + shown.length < line.length ? "…" : ""];
  return { text: before + shown + after, marks: marksOf(shown, words).map(([from, to]) => [from + before.length, to + before.length]) };
}

/** Where a snippet begins that shows this place: at the beginning of a word. */
function startOf(line: string, place: number): number {
  if (place <= BEFORE) return 0;
  const blank = line.indexOf(" ", place - BEFORE);
  return endOf(line, blank === -1 || blank >= place ? place - BEFORE : blank + 1);
}

/** The place, or the one behind it where it is in the middle of a character. */
function endOf(line: string, place: number): number {
  const unit = line.charCodeAt(place);
  return unit >= 0xdc00 && unit <= 0xdfff ? place + 1 : place;
}

function marksOf(text: string, words: readonly string[]): [number, number][] {
  const some = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).sort((a, b) => b.length - a.length);
  if (some.length === 0) return [];
  return [...text.matchAll(new RegExp(some.join("|"), "giu"))].map(({ index, 0: word }) => [index, index + word.length]);
}
