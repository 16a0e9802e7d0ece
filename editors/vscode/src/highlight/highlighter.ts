// Colours of code by the grammars and the theme that are installed. A block comes in pieces of whole lines, each of which
// goes on where the one before ended, so that a long block costs each line once. No editor here.

import { readFile } from "node:fs/promises";
import { createJavaScriptRegexEngine } from "@shikijs/engine-javascript";
import {
  type IGrammar,
  INITIAL,
  type IOnigLib,
  type ITokenizeLineResult2,
  parseRawGrammar,
  Registry,
  type StateStack,
} from "vscode-textmate";
import type { CodeColors, CodePiece, TextStyle } from "../shared/code.ts";
import type { Contributions } from "./contributions.ts";
import { readTheme, type ThemeRule } from "./theme.ts";

/** Blocks whose state is kept for their next piece. */
const MOST_BLOCKS = 64;
/** Longer lines, such as those of minified code, stay plain. */
const MOST_LINE = 2_000;
/** Time for a line: a grammar may take exponential time. */
const LINE_MS = 500;
/** Time after which others have their turn. */
const TURN_MS = 25;

// Bits of a token's metadata, as vscode-textmate documents them.
const FONT_MASK = 0b1111;
const FONT_OFFSET = 11;
const FOREGROUND_MASK = 0b1_1111_1111;
const FOREGROUND_OFFSET = 15;
const [ITALIC, BOLD, UNDERLINE] = [1, 2, 4];
/** The colour of text that no rule is about. */
const DEFAULT_FOREGROUND = 1;

/** What colours are made from. */
export interface HighlightSource {
  contributions(): Contributions;
  /** The file of the theme in use, and the user's own rules for it. */
  theme(): { file: string | undefined; rules: readonly ThemeRule[] };
}

interface Block {
  /** Characters that were coloured. */
  at: number;
  grammar: IGrammar;
  state: StateStack;
}

export class Highlighter {
  readonly #source: HighlightSource;
  #made: Promise<{ registry: Registry; contributions: Contributions }> | undefined;
  readonly #grammars = new Map<string, Promise<IGrammar | undefined>>();
  readonly #blocks = new Map<string, Block>();

  constructor(source: HighlightSource) {
    this.#source = source;
  }

  /** Another theme is in use, or other extensions are installed. */
  forget(): void {
    this.#made = undefined;
    this.#grammars.clear();
    this.#blocks.clear();
  }

  /** Colours of a piece of a block; undefined where there are none, or where the piece before is not known any more. */
  async colors({ block, language, at, text }: CodePiece): Promise<CodeColors | undefined> {
    const grammar = at === 0 ? await this.#grammar(language) : undefined;
    const known = at === 0 ? grammar && { at, grammar, state: INITIAL } : this.#blocks.get(block);
    if (known === undefined || known.at !== at) return undefined;
    const { registry } = await this.#all();
    const map = registry.getColorMap();
    const styles: TextStyle[] = [];
    const places = new Map<string, number>();
    const runs: number[] = [];
    let { state } = known;
    let since = performance.now();
    for (const line of text.split(/(?<=\n)/)) {
      const read = line.endsWith("\n") ? line.slice(0, -1) : line;
      if (performance.now() - since > TURN_MS) {
        await new Promise((resolve) => setImmediate(resolve));
        since = performance.now();
      }
      const done = read.length > MOST_LINE ? undefined : tokensOf(known.grammar, read, state);
      if (done === undefined) {
        runs.push(line.length, -1);
        continue;
      }
      const { tokens } = done;
      state = done.ruleStack;
      for (let token = 0; token < tokens.length; token += 2) {
        const [start = 0, metadata = 0] = [tokens[token], tokens[token + 1]];
        const length = (tokens[token + 2] ?? line.length) - start;
        const style = styleOf(metadata, map);
        const key = JSON.stringify(style);
        let place = style === undefined ? -1 : places.get(key);
        if (place === undefined && style !== undefined) {
          place = styles.push(style) - 1;
          places.set(key, place);
        }
        if (runs.at(-1) === place) runs[runs.length - 2] = (runs.at(-2) ?? 0) + length;
        else if (length > 0) runs.push(length, place ?? -1);
      }
    }
    this.#blocks.delete(block);
    this.#blocks.set(block, { ...known, at: at + text.length, state });
    const [oldest] = this.#blocks.keys();
    if (this.#blocks.size > MOST_BLOCKS && oldest !== undefined) this.#blocks.delete(oldest);
    return { runs, styles };
  }

  /** The editor's id of a language as people write it. */
  async languageId(name: string): Promise<string | undefined> {
    const { contributions } = await this.#all();
    return contributions.language(name)?.id;
  }

  #grammar(language: string): Promise<IGrammar | undefined> {
    const known = this.#grammars.get(language) ?? this.#load(language);
    this.#grammars.set(language, known);
    return known;
  }

  async #load(language: string): Promise<IGrammar | undefined> {
    const { registry, contributions } = await this.#all();
    const scope = contributions.language(language)?.scope;
    return scope === undefined ? undefined : ((await registry.loadGrammar(scope)) ?? undefined);
  }

  #all(): Promise<{ registry: Registry; contributions: Contributions }> {
    this.#made ??= this.#make();
    return this.#made;
  }

  async #make(): Promise<{ registry: Registry; contributions: Contributions }> {
    const contributions = this.#source.contributions();
    const { file, rules } = this.#source.theme();
    const settings = [...(file === undefined ? [] : await readTheme(file)), ...rules];
    // Grammars are written for another engine; a pattern that this one does not know is left out, and not the language.
    const engine = createJavaScriptRegexEngine({ forgiving: true });
    const onigLib: IOnigLib = {
      createOnigScanner: (sources) => engine.createScanner(sources),
      createOnigString: (text) => engine.createString(text),
    };
    const registry = new Registry({
      onigLib: Promise.resolve(onigLib),
      theme: { settings },
      loadGrammar: async (scope) => {
        const path = contributions.fileOf(scope);
        return path === undefined ? undefined : parseRawGrammar(await readFile(path, "utf8"), path);
      },
      getInjections: (scope) => contributions.injectionsOf(scope),
    });
    return { registry, contributions };
  }
}

function tokensOf(grammar: IGrammar, line: string, state: StateStack): ITokenizeLineResult2 | undefined {
  // The first lines of a language also make its expressions, which are kept: the second time is that of the line.
  for (let time = 0; time < 2; time += 1) {
    const done = grammar.tokenizeLine2(line, state, LINE_MS);
    if (!done.stoppedEarly) return done;
  }
  return undefined;
}

function styleOf(metadata: number, map: readonly string[]): TextStyle | undefined {
  const foreground = (metadata >>> FOREGROUND_OFFSET) & FOREGROUND_MASK;
  const font = (metadata >>> FONT_OFFSET) & FONT_MASK;
  const color = foreground <= DEFAULT_FOREGROUND ? undefined : map[foreground];
  const style: TextStyle = {
    ...(color !== undefined && { color }),
    ...((font & ITALIC) !== 0 && { italic: true }),
    ...((font & BOLD) !== 0 && { bold: true }),
    ...((font & UNDERLINE) !== 0 && { underline: true }),
  };
  return Object.keys(style).length === 0 ? undefined : style;
}
