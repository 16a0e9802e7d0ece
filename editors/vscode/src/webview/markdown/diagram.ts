// Diagrams in finished answers, drawn by a library that is loaded with the first of them. A drawing is shown as a picture of
// its own: the page's policy does not hold in it, and nothing in it can be clicked, run or fetched.

import { el, iconButton } from "../dom.ts";
import { loadScript } from "../lazy.ts";

/** What the library's bundle puts into the page. */
declare global {
  var threadholdDiagrams: { draw(source: string, colors: DiagramColors): Promise<string> } | undefined;
}

/** What a diagram takes over from the theme. */
export interface DiagramColors {
  isDark: boolean;
  font: string;
  background: string;
  /** Of boxes. */
  surface: string;
  text: string;
  line: string;
  border: string;
}

/** Longer ones stay as they were written, and those of more statements: the library takes time for each, and can't be stopped. */
const MOST_CHARACTERS = 8_000;
const MOST_STATEMENTS = 150;
/** Pixels of each side of a picture. */
const MOST_PIXELS = 8_000;
/** Pictures that are kept for when their row is drawn again. */
const MOST_KEPT = 50;
/** A wide picture is made smaller down to this part of its width, where words can still be read; beyond, it scrolls. */
const SMALLEST = 0.6;

/** Kinds that are drawn, by the word that they begin with. Others may take time that has nothing to do with their length. */
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/^(graph|flowchart)$/, "Flowchart"],
  [/^sequenceDiagram$/, "Sequence diagram"],
  [/^classDiagram(-v2)?$/, "Class diagram"],
  [/^stateDiagram(-v2)?$/, "State diagram"],
  [/^erDiagram$/, "Entity relationship diagram"],
  [/^gantt$/, "Gantt chart"],
  [/^pie$/, "Pie chart"],
  [/^mindmap$/, "Mind map"],
  [/^gitGraph$/, "Git graph"],
  [/^timeline$/, "Timeline"],
  [/^journey$/, "User journey"],
  [/^quadrantChart$/, "Quadrant chart"],
  [/^requirementDiagram$/, "Requirement diagram"],
];

interface Picture {
  source: string;
  width: number;
  height: number;
}

/** By colours and source; nothing where that cannot be drawn. */
const pictures = new Map<string, Picture | undefined>();
/** How those that are shown are drawn in other colours. */
const redraws = new WeakMap<Element, () => void>();
let queue: Promise<unknown> = Promise.resolve();
let observer: MutationObserver | undefined;

/** Draws the diagrams in an answer; what cannot be drawn stays a block of code. `open` has those whose source is shown. */
export function drawDiagrams(answer: ParentNode, open: Set<string>, messageId: string): void {
  for (const [at, code] of answer.querySelectorAll("code.language-mermaid").entries()) {
    const frame = code.closest<HTMLElement>(".code");
    const source = code.textContent ?? "";
    const kind = kindOf(source);
    if (frame !== null && kind !== undefined) drawInto(frame, source, kind, open, `${messageId}/diagram ${at}`);
  }
}

/** What a source is a diagram of; undefined where it is not to be drawn. */
function kindOf(source: string): string | undefined {
  if (source.length > MOST_CHARACTERS || source.split(/[\n;&]/).length > MOST_STATEMENTS) return undefined;
  // Behind settings and comments.
  const [word = ""] = /[\w-]+/.exec(source.replace(/^\s*---\n.*?\n---\s*\n/s, "").replace(/%%.*/g, "")) ?? [];
  return KINDS.find(([begins]) => begins.test(word))?.[1];
}

function drawInto(frame: HTMLElement, source: string, kind: string, open: Set<string>, key: string): void {
  const image = el("img");
  image.alt = kind;
  const block = frame.querySelector("pre");
  const diagram = el("div", { class: "diagram", tabIndex: 0 }, image);
  const toggle = iconButton("Show Source", "code", () => {
    if (!open.delete(key)) open.add(key);
    choose();
  });
  const choose = (): void => {
    const isSource = open.has(key);
    diagram.hidden = isSource;
    if (block !== null) block.hidden = !isSource;
    toggle.title = isSource ? "Show Diagram" : "Show Source";
    toggle.ariaLabel = toggle.title;
  };
  const show = (picture: Picture | undefined): void => {
    if (picture === undefined) return;
    image.src = picture.source;
    image.width = picture.width;
    image.height = picture.height;
    image.style.minWidth = `${Math.round(picture.width * SMALLEST)}px`;
    if (diagram.isConnected || diagram.parentNode !== null) return;
    frame.querySelector(".code-head button")?.before(toggle);
    block?.before(diagram);
    redraws.set(diagram, draw);
    choose();
  };
  const draw = (): void => {
    const colors = colorsNow();
    const known = JSON.stringify([colors, source]);
    if (pictures.has(known)) show(pictures.get(known));
    else queue = queue.then(() => pictureOf(known, source, colors, frame)).then(show);
  };
  draw();
}

/** The picture of a source, unless its place is gone by now. */
async function pictureOf(known: string, source: string, colors: DiagramColors, frame: HTMLElement): Promise<Picture | undefined> {
  // What the user does comes between two of them.
  await new Promise((resolve) => setTimeout(resolve));
  if (pictures.has(known) || !frame.isConnected) return pictures.get(known);
  let picture: Picture | undefined;
  try {
    await loadScript("diagrams.js");
    picture = await pictureIn((await globalThis.threadholdDiagrams?.draw(source, colors)) ?? "");
  } catch {
    picture = undefined;
  }
  observe();
  pictures.set(known, picture);
  const [oldest] = pictures.keys();
  if (pictures.size > MOST_KEPT && oldest !== undefined) pictures.delete(oldest);
  return picture;
}

/** A drawing as a picture, if it is one that a browser can show. */
async function pictureIn(svg: string): Promise<Picture | undefined> {
  const box = /^<svg[^>]*\sviewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"/.exec(svg);
  const [width, height] = [Number(box?.[1]), Number(box?.[2])];
  if (!(width > 0 && height > 0 && width <= MOST_PIXELS && height <= MOST_PIXELS)) return undefined;
  // It was written as HTML is, and is read as XML.
  const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg.replaceAll("&nbsp;", "&#160;"))}`;
  const trial = new Image();
  trial.src = source;
  await trial.decode();
  return { source, width: Math.ceil(width), height: Math.ceil(height) };
}

/** Draws all that is shown again once the theme is another. */
function observe(): void {
  if (observer !== undefined) return;
  let before = JSON.stringify(colorsNow());
  observer = new MutationObserver(() => {
    const now = JSON.stringify(colorsNow());
    if (now === before) return;
    before = now;
    for (const diagram of document.querySelectorAll(".diagram")) redraws.get(diagram)?.();
  });
  // The editor puts its colours into the one and the kind of theme into the other.
  for (const element of [document.documentElement, document.body]) observer.observe(element, { attributeFilter: ["style", "class"] });
}

function colorsNow(): DiagramColors {
  const style = getComputedStyle(document.body);
  const color = (...names: string[]): string => names.map((name) => style.getPropertyValue(`--vscode-${name}`).trim()).find(Boolean) ?? "";
  const isDark = document.body.matches(".vscode-dark, .vscode-high-contrast:not(.vscode-high-contrast-light)");
  const text = color("editor-foreground", "foreground") || (isDark ? "#cccccc" : "#333333");
  const background = color("editor-background") || (isDark ? "#1f1f1f" : "#ffffff");
  return {
    isDark,
    font: style.fontFamily,
    background,
    surface: color("editorWidget-background") || background,
    text,
    line: color("contrastBorder") || text,
    border: color("contrastBorder", "descriptionForeground") || text,
  };
}
