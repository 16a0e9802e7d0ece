// Recognizes the error of an editor's model for a prompt that is too large. The editor has no error code for it and every
// vendor words it differently, so it goes by the words.

const TOO_LARGE = [
  /context[ _](length|window|size)/i,
  /\b(prompt|input|context|messages?|request)\b.{0,60}\btoo (long|large|many tokens)/i,
  /too many (input )?tokens/i,
  /maximum.{0,60}\btokens/i,
  /\btoken limit/i,
  /exceed.{0,60}\b(context|tokens?)\b/i,
];

/** A limit that waiting lifts, and a smaller prompt does not. */
const USED_UP = /quota|rate.?limit|usage|per (second|minute|hour|day|month)|billing/i;

/** True if these words say that the prompt does not fit. */
export function isOverflow(words: string): boolean {
  return !USED_UP.test(words) && TOO_LARGE.some((expression) => expression.test(words));
}
