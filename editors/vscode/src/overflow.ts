// How an error of a model of the editor is known as a prompt that is too large: by its words, for the editor has no code
// for it and each vendor has words of its own.

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

/** Whether these words say that the prompt does not fit. */
export function isOverflow(words: string): boolean {
  return !USED_UP.test(words) && TOO_LARGE.some((expression) => expression.test(words));
}
