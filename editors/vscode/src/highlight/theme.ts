// Colours of a theme for the scopes of grammars.

import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import stripJsonComments from "strip-json-comments";
import type { IRawTheme } from "vscode-textmate";

/** A rule for colours, as a theme's file and the user's settings write it. */
export type ThemeRule = IRawTheme["settings"][number];

interface ThemeFile {
  include?: string;
  tokenColors?: ThemeRule[];
  colors?: Record<string, string>;
}

/** Themes that include each other in a circle end here. */
const MOST_INCLUDES = 8;

/** Rules of a theme with those of the themes that it includes, and its foreground. */
export async function readTheme(file: string, depth = 0): Promise<ThemeRule[]> {
  const { include, tokenColors, colors } = JSON.parse(
    stripJsonComments(await readFile(file, "utf8"), { trailingCommas: true }),
  ) as ThemeFile;
  const included = include === undefined || depth >= MOST_INCLUDES ? [] : await readTheme(join(dirname(file), include), depth + 1);
  const foreground = colors?.["editor.foreground"];
  const own = Array.isArray(tokenColors) ? tokenColors : [];
  return [...included, ...(foreground === undefined ? [] : [{ settings: { foreground } }]), ...own];
}
