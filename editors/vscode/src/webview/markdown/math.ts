// Math in answers, drawn as MathML by a library that is loaded with the first of it.

import { loadScript } from "../lazy.ts";

/** What the library's bundle puts into the page. */
declare global {
  var threadholdMath: { draw(source: string, into: HTMLElement, isBlock: boolean): void } | undefined;
}

/** Longer ones stay as they were written. */
const MOST_CHARACTERS = 5_000;

/** Draws the math in a text that Markdown made; what cannot be read stays as it was written. */
export function drawMath(text: ParentNode): void {
  const sources = [...text.querySelectorAll<HTMLElement>("code.math")].filter(({ textContent }) => textContent.length <= MOST_CHARACTERS);
  if (sources.length === 0) return;
  const drawAll = (): void => {
    for (const source of sources) drawOne(source);
  };
  if (globalThis.threadholdMath !== undefined) drawAll();
  else loadScript("math.js").then(drawAll, () => undefined);
}

function drawOne(source: HTMLElement): void {
  const made = document.createElement("span");
  made.className = source.className;
  try {
    globalThis.threadholdMath?.draw(source.textContent ?? "", made, source.classList.contains("block"));
  } catch {
    return;
  }
  if (made.firstChild !== null) source.replaceWith(made);
}
