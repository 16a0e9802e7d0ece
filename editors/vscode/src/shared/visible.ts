// Text that somebody is to judge, such as a command before it runs. Characters that cannot be seen, or that move what can
// be, are named by their code points. No editor, no document.

/** A piece of a text: as it is, or in the place of characters that cannot be seen. */
export interface Piece {
  text: string;
  isUnseen: boolean;
}

/** Lines that push the rest out of sight, one wide gap, and characters of which nothing or only a space is seen. */
const UNSEEN = /(\n(?:[ \t]{0,80}\n){8,})|([ \t]{80,})|((?:(?![\n\t ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u{2800}\u{1D159}])+)/gu;

/** A text in pieces; without those that are unseen, it is the same text but for what they name. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  const add = (text: string, isUnseen: boolean): void => void (text !== "" && found.push({ text, isUnseen }));
  let from = 0;
  for (const match of text.matchAll(UNSEEN)) {
    const [whole, lines, gap, characters = ""] = match;
    add(text.slice(from, match.index), false);
    if (lines !== undefined) {
      add("\n", false);
      add(`${(lines.split("\n").length - 2).toLocaleString("en-US")} empty lines`, true);
      add("\n", false);
    } else if (gap !== undefined) add(`${gap.length.toLocaleString("en-US")} spaces`, true);
    else add(codePoints(characters), true);
    from = match.index + whole.length;
  }
  add(text.slice(from), false);
  return found;
}

/** The text with what cannot be seen named in brackets. */
export function visible(text: string): string {
  return pieces(text)
    .map(({ text, isUnseen }) => (isUnseen ? `[${text}]` : text))
    .join("");
}

/** The same in one line, of at most so many characters. */
export function visibleLine(text: string, most: number): string {
  // What is cut off need not be looked at; half of a character would be named.
  const line = visible(text.slice(0, most + 1).replace(text.length > most ? /[\uD800-\uDBFF]$/ : /$^/, ""))
    .trim()
    .replaceAll(/\s*\n\s*/g, " ⏎ ");
  return text.length > most || line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** Each by its number; the same one again by how often. */
function codePoints(text: string): string {
  const runs: { name: string; times: number }[] = [];
  for (const character of text) {
    const name = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
    const last = runs.at(-1);
    if (last?.name === name) last.times += 1;
    else runs.push({ name, times: 1 });
  }
  return runs.map(({ name, times }) => (times === 1 ? name : `${name}×${times}`)).join(" ");
}
