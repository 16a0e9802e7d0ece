// Colours of code blocks. The host computes them, piece by piece, by the editor's own grammars; here each piece replaces as
// much plain text. One piece is asked for at a time, so that neither a long block nor many of them keep the panel from
// drawing.

import type { CodeColors, CodePiece } from "../../shared/code.ts";

/** Lines and characters of a piece. */
const MOST_LINES = 150;
const MOST_CHARACTERS = 12_000;
/** Blocks beyond this many characters stay plain from there on. */
const MOST_BLOCK = 400_000;
/** Characters of code whose colours are kept for when its row is drawn again. */
const MOST_KEPT = 2_000_000;
/** Blocks of which they are kept. */
const MOST_BLOCKS = 500;

/** What is coloured of a block so far. It outlives the element that shows it. */
interface Coloured {
  /** Id of the block at the host. */
  block: string;
  language: string;
  /** The text from the start that has colours. */
  text: string;
  pieces: { text: string; colors: CodeColors }[];
  owner: CodeText;
  /** There are no colours for the rest. */
  isPlain: boolean;
  /** The host forgot it once. */
  isAgain: boolean;
}

/** Asks for colours, and keeps them. */
export class CodeColoring {
  readonly #post: (piece: CodePiece) => void;
  readonly #waiting = new Set<CodeText>();
  /** By the element, which the document holds. */
  readonly #shown = new WeakMap<Element, CodeText>();
  #known: Coloured[] = [];
  /** Taken by blocks that are about to be put into the document. */
  readonly #taken = new Set<Coloured>();
  #asked: { of: Coloured; piece: CodePiece } | undefined;
  #next = 0;
  #isScheduled = false;

  constructor(post: (piece: CodePiece) => void) {
    this.#post = post;
  }

  /** Has a block coloured whose text is in `element`; more may come if it is open. */
  begin(element: HTMLElement, language: string, isOpen: boolean): CodeText {
    const code = new CodeText(this, element, language, isOpen);
    this.#shown.set(element, code);
    if (language !== "") this.#find(code);
    return code;
  }

  /** Colours that were asked for; none where there are none. */
  take(block: string, at: number, colors: CodeColors | undefined): void {
    const asked = this.#asked;
    if (asked?.piece.block !== block || asked.piece.at !== at) return;
    this.#asked = undefined;
    const { of, piece } = asked;
    if (colors === undefined) this.#without(of, at);
    else {
      of.text += piece.text;
      of.pieces.push({ text: piece.text, colors });
      of.owner.paint(of.pieces);
    }
    this.want(of.owner);
  }

  /** Other colours hold: everything that is shown is coloured anew. */
  restart(): void {
    this.#known = [];
    this.#asked = undefined;
    this.#waiting.clear();
    for (const element of document.querySelectorAll(".code code")) {
      const code = this.#shown.get(element);
      if (code === undefined || code.language === "") continue;
      code.clear();
      this.#find(code);
    }
  }

  /** A block has more text, or is at its end. */
  want(code: CodeText): void {
    this.#waiting.add(code);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Once what is drawn now is in the document.
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#taken.clear();
      this.#ask();
    });
  }

  #ask(): void {
    for (const code of this.#waiting) {
      if (this.#asked !== undefined) return;
      this.#waiting.delete(code);
      const of = code.coloured;
      // What is no longer shown asks again when it is.
      if (of === undefined || of.owner !== code || of.isPlain || !code.element.isConnected) continue;
      const text = nextPiece(code, of.text.length);
      if (text === "") continue;
      const piece = { block: of.block, language: of.language, at: of.text.length, text };
      this.#asked = { of, piece };
      this.#post(piece);
    }
  }

  /** The host has no colours, or no longer knows the block, which then begins once more. */
  #without(of: Coloured, at: number): void {
    of.isPlain = at === 0 || of.isAgain;
    if (of.isPlain) return;
    Object.assign(of, { block: this.#id(), text: "", pieces: [], isAgain: true });
  }

  /** Shows the colours that are known of this text, and asks for the rest. */
  #find(code: CodeText): void {
    const { language, text } = code;
    const alike = this.#known.filter((of) => of.language === language && text.startsWith(of.text));
    const best = alike.sort((one, other) => other.text.length - one.text.length)[0];
    code.paint(best?.pieces ?? []);
    const of = best !== undefined && this.#isFree(best, code) ? best : this.#make(code);
    of.owner = code;
    code.coloured = of;
    this.#taken.add(of);
    this.want(code);
  }

  /** True if a block may go on with what another one began: that is no longer shown, or everything is coloured. */
  #isFree(of: Coloured, { text }: CodeText): boolean {
    return of.text === text || (!this.#taken.has(of) && !of.owner.element.isConnected);
  }

  #make(code: CodeText): Coloured {
    const of = { block: this.#id(), language: code.language, text: "", pieces: [], owner: code, isPlain: false, isAgain: false };
    this.#known.push(of);
    let kept = this.#known.reduce((sum, { text }) => sum + text.length, 0);
    while (kept > MOST_KEPT || this.#known.length > MOST_BLOCKS) kept -= this.#known.shift()?.text.length ?? kept;
    return of;
  }

  #id(): string {
    this.#next += 1;
    return String(this.#next);
  }
}

/** The next lines to be coloured; empty where none is whole yet. */
function nextPiece({ text, isOpen }: CodeText, at: number): string {
  if (at >= MOST_BLOCK) return "";
  let end = at;
  for (let line = 0; line < MOST_LINES && end - at < MOST_CHARACTERS; line += 1) {
    const found = text.indexOf("\n", end);
    if (found < 0) return text.slice(at, isOpen ? end : undefined);
    end = found + 1;
  }
  return text.slice(at, end);
}

/** The text of a block in its element: coloured as far as that is known, plain behind. */
export class CodeText {
  readonly element: HTMLElement;
  readonly language: string;
  coloured: Coloured | undefined;
  readonly #coloring: CodeColoring;
  readonly #rest: Text;
  #text: string;
  #isOpen: boolean;
  /** Characters that are painted. */
  #painted = 0;

  constructor(coloring: CodeColoring, element: HTMLElement, language: string, isOpen: boolean) {
    this.#coloring = coloring;
    this.element = element;
    this.language = language;
    this.#isOpen = isOpen;
    this.#text = element.textContent ?? "";
    this.#rest = document.createTextNode(this.#text);
    element.replaceChildren(this.#rest);
  }

  get text(): string {
    return this.#text;
  }

  /** More may come behind the text. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  append(text: string): void {
    this.#text += text;
    this.#rest.appendData(text);
    if (this.coloured !== undefined && text.includes("\n")) this.#coloring.want(this);
  }

  /** Nothing comes any more. */
  end(): void {
    this.#isOpen = false;
    if (this.coloured !== undefined) this.#coloring.want(this);
  }

  /** Paints those of the pieces, from the first on, that are not painted yet. */
  paint(pieces: Coloured["pieces"]): void {
    let at = 0;
    for (const { text, colors } of pieces) {
      at += text.length;
      const left = at - this.#painted;
      if (left <= 0) continue;
      this.#rest.before(fragmentOf(text, colors, text.length - left));
      this.#rest.deleteData(0, left);
      this.#painted = at;
    }
  }

  clear(): void {
    this.coloured = undefined;
    this.#painted = 0;
    this.#rest.data = this.#text;
    this.element.replaceChildren(this.#rest);
  }
}

/** A text with its colours, from a place on. */
function fragmentOf(text: string, { runs, styles }: CodeColors, from: number): DocumentFragment {
  const fragment = document.createDocumentFragment();
  let at = 0;
  for (let run = 0; run < runs.length; run += 2) {
    const [length = 0, place = -1] = [runs[run], runs[run + 1]];
    const piece = text.slice(Math.max(from, at), at + length);
    at += length;
    if (piece === "") continue;
    const style = styles[place];
    if (style === undefined || piece.trim() === "") {
      fragment.append(piece);
      continue;
    }
    const span = document.createElement("span");
    span.textContent = piece;
    // By the object model: the page's policy takes no style attributes.
    if (style.color !== undefined) span.style.color = style.color;
    if (style.italic === true) span.style.fontStyle = "italic";
    if (style.bold === true) span.style.fontWeight = "bold";
    if (style.underline === true) span.style.textDecoration = "underline";
    fragment.append(span);
  }
  return fragment;
}
