// The files that a mention in the prompt may mean: those that are open first, then those of the folder by their names.

import * as vscode from "vscode";
import { ranked } from "../shared/mention.ts";
import type { MentionItem } from "../shared/view.ts";

/** So many are offered. */
const MOST_OFFERED = 12;
/** So many are looked at: a folder may hold more than anybody scrolls through. */
const MOST_FOUND = 500;
/** What is seldom meant, beside what the user's settings exclude. */
const EXCLUDED = "**/{.git,node_modules,target,dist,build,__pycache__}/**";

/** The files of a folder that a query may mean, the best first. */
export async function mentions(folder: vscode.Uri, query: string): Promise<MentionItem[]> {
  const open = vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .flatMap(({ input }) => (input instanceof vscode.TabInputText ? [input.uri] : []))
    .filter((uri) => uri.scheme === folder.scheme && uri.path.startsWith(`${folder.path}/`));
  // What is typed may be a piece of the path; each letter of it in either case, which the pattern itself cannot say.
  const pattern = new vscode.RelativePattern(folder, query === "" ? "**/*" : `**/*${anyCase(query.slice(query.lastIndexOf("/") + 1))}*`);
  const found = await vscode.workspace.findFiles(pattern, EXCLUDED, MOST_FOUND);
  const itemOf = (uri: vscode.Uri): MentionItem => ({ uri: uri.toString(), path: uri.path.slice(folder.path.length + 1) });
  const first = ranked(query, open.map(itemOf), MOST_OFFERED);
  const all = [...first, ...ranked(query, found.map(itemOf), MOST_OFFERED)];
  return [...new Map(all.map((item) => [item.uri, item])).values()].slice(0, MOST_OFFERED);
}

function anyCase(text: string): string {
  return [...text]
    .map((character) => {
      const [lower, upper] = [character.toLowerCase(), character.toUpperCase()];
      if (lower !== upper && lower.length === 1 && upper.length === 1) return `[${lower}${upper}]`;
      return /[*?[\]{}!,]/.test(character) ? "?" : character;
    })
    .join("");
}
