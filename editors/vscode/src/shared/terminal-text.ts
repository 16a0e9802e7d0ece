// What a command printed, as text to read outside of a terminal. No editor, no document.

/** Colours, styles, and moves of the cursor: they hold no words. Others are left, to be marked. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: sequences of a terminal begin with one.
const SEQUENCES = /\u001b\[[0-9;:?]*[A-HJKSTfhlmnsu]/g;

/**
 * The lines of an output, without sequences that only say how it looks. What a terminal would overwrite is a line of its
 * own: it was printed, and the model reads it.
 */
export function terminalText(printed: string): string {
  return printed.replaceAll(SEQUENCES, "").replaceAll(/\r+\n/g, "\n").replaceAll(/\r+/g, "\n").replace(/\n+$/, "");
}

/** The end of a text: at most so many lines and characters, whole lines where one fits. */
export function endOf(text: string, lines: number, characters: number): string {
  const last = text.split("\n").slice(-lines).join("\n");
  if (last.length <= characters) return last;
  const cut = lastCharacters(last, characters);
  const line = cut.indexOf("\n");
  return line < 0 ? cut : cut.slice(line + 1);
}

/** So many characters at the end of a text, or one less: none is cut in half. */
export function lastCharacters(text: string, most: number): string {
  return text.slice(-most).replace(text.length > most ? /^[\uDC00-\uDFFF]/ : /$^/, "");
}
