// Hunks between a file's baseline and its current text: where they are, how many lines each adds and removes, and both texts
// with one hunk kept or undone. Pure: no editor, no disk.

import { diffArrays } from "diff";
import { hashOf } from "../rewind/before-images.ts";

/** A run of lines that differ. Lines count from 0; a count of 0 is a place between two lines. */
export interface Hunk {
  /** SHA-256 of both texts, without the ends of lines: the same hunk elsewhere in the file has the same id. */
  id: string;
  baseFrom: number;
  baseCount: number;
  nowFrom: number;
  nowCount: number;
}

/** Edits from which on two texts count as wholly different: the time to find them grows with the square of their number. */
const MOST_EDITS = 2_000;

/** The lines of a text, each with its end. A text without any has none. */
export function linesOf(text: string): string[] {
  return text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? [];
}

/** The hunks from one text to another, in order. Ends of lines are compared as if they were alike. */
export function hunksOf(base: string, now: string): Hunk[] {
  const [old, lines] = [plainLines(base), plainLines(now)];
  const parts = diffArrays(old, lines, { maxEditLength: MOST_EDITS });
  if (parts === undefined) return [hunkAt(old, lines, { baseFrom: 0, baseCount: old.length, nowFrom: 0, nowCount: lines.length })];
  const hunks: Hunk[] = [];
  let [baseFrom, nowFrom, baseCount, nowCount] = [0, 0, 0, 0];
  const end = (): void => {
    if (baseCount + nowCount > 0) hunks.push(hunkAt(old, lines, { baseFrom, baseCount, nowFrom, nowCount }));
    baseFrom += baseCount;
    nowFrom += nowCount;
    baseCount = 0;
    nowCount = 0;
  };
  for (const { added, removed, count } of parts) {
    if (added) nowCount += count;
    else if (removed) baseCount += count;
    else {
      end();
      baseFrom += count;
      nowFrom += count;
    }
  }
  end();
  return hunks;
}

/** Lines that hunks add and remove. */
export function countsOf(hunks: readonly Hunk[]): { added: number; removed: number } {
  const sum = (count: (hunk: Hunk) => number): number => hunks.reduce((all, hunk) => all + count(hunk), 0);
  return { added: sum(({ nowCount }) => nowCount), removed: sum(({ baseCount }) => baseCount) };
}

/** The hunk with this id that is nearest to a line of the current text; undefined if there is none any more. */
export function nearest(hunks: readonly Hunk[], id: string, line: number): Hunk | undefined {
  const distance = ({ nowFrom }: Hunk): number => Math.abs(nowFrom - line);
  return hunks.filter((hunk) => hunk.id === id).sort((one, other) => distance(one) - distance(other))[0];
}

/** The hunk at a line of the current text; of deleted lines, that on either side of their place. */
export function hunkAtLine(hunks: readonly Hunk[], line: number): Hunk | undefined {
  return (
    hunks.find(({ nowFrom, nowCount }) => line >= nowFrom && line < nowFrom + nowCount) ??
    hunks.find(({ nowFrom, nowCount }) => nowCount === 0 && (line === nowFrom || line === nowFrom - 1))
  );
}

/** The hunk at a line of the baseline. */
export function hunkAtBaseLine(hunks: readonly Hunk[], line: number): Hunk | undefined {
  const turned = hunks.map((hunk) => ({ ...hunk, nowFrom: hunk.baseFrom, nowCount: hunk.baseCount }));
  const found = hunkAtLine(turned, line);
  return found === undefined ? undefined : hunks[turned.indexOf(found)];
}

/** The baseline once a hunk is kept. */
export function withKept(base: string, now: string, { baseFrom, baseCount, nowFrom, nowCount }: Hunk): string {
  const lines = linesOf(base);
  lines.splice(baseFrom, baseCount, ...linesOf(now).slice(nowFrom, nowFrom + nowCount));
  return lines.join("");
}

/** The text once a hunk is undone. */
export function withUndone(base: string, now: string, hunk: Hunk): string {
  const lines = linesOf(now);
  lines.splice(hunk.nowFrom, hunk.nowCount, undoneText(base, hunk));
  return lines.join("");
}

/** Text that replaces a hunk's lines once it is undone. */
export function undoneText(base: string, { baseFrom, baseCount }: Hunk): string {
  return linesOf(base)
    .slice(baseFrom, baseFrom + baseCount)
    .join("");
}

function hunkAt(old: readonly string[], lines: readonly string[], at: Omit<Hunk, "id">): Hunk {
  const removed = old.slice(at.baseFrom, at.baseFrom + at.baseCount);
  const added = lines.slice(at.nowFrom, at.nowFrom + at.nowCount);
  return { id: hashOf(Buffer.from(JSON.stringify([removed, added]))), ...at };
}

function plainLines(text: string): string[] {
  return linesOf(text).map((line) => line.replace(/\r\n?$/, "\n"));
}
