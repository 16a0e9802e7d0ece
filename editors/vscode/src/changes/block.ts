// Tells whether a block of code is a whole file, by how much of the file it has. Pure: no editor, no disk.

import { hunksOf, linesOf } from "./hunks.ts";

/** Lines that stand for code that was left out, such as `// ... existing code ...`. */
const LEFT_OUT =
  /^\s*(?:\/\/|#|--|\/\*|<!--|;|%|\*)\s*(?:\.\.\.|…|(?:the )?(?:rest|remainder) of )|^\s*(?:\.\.\.|…)\s*$|(?:\.\.\.|…)\s*(?:existing|rest|other|remaining|unchanged)\b/i;
/** Share of a file's lines from which on a block is all of it. */
const MOST = 0.6;
/** Share of a file's lines below which a short block is a part of it. */
const LEAST = 0.25;

/** A block is a whole file, a part of one, or it cannot be told. */
export type BlockKind = "whole" | "part" | "unclear";

/** What a block is to a file with this text; an empty file is replaced by anything. */
export function kindOfBlock(block: string, file: string): BlockKind {
  const [lines, said] = [linesOf(file), linesOf(block)];
  if (said.some((line) => LEFT_OUT.test(line))) return "part";
  const filled = lines.filter((line) => line.trim() !== "").length;
  if (filled === 0) return "whole";
  const removed = hunksOf(file, block).reduce((sum, { baseFrom, baseCount }) => {
    return sum + lines.slice(baseFrom, baseFrom + baseCount).filter((line) => line.trim() !== "").length;
  }, 0);
  const kept = (filled - removed) / filled;
  // Most of the file is in it: what is not, is taken out on purpose.
  if (kept >= MOST) return "whole";
  // Far shorter than the file, and little of that in it.
  return kept < LEAST && said.length < lines.length / 2 ? "part" : "unclear";
}
