// What a mention in the prompt may mean: what the editor has just one of, such as the selection; files that are open, then
// files and folders by their names, then resources of tool servers, then symbols.

import * as vscode from "vscode";
import { counted } from "../panel/compaction-row.ts";
import type { Attachments } from "../session/attachments.ts";
import type { Mentionable, MentionItem } from "../shared/mention.ts";
import { ranked, textOfLines } from "../shared/mention.ts";
import { changedFiles, gitChanges } from "./git-changes.ts";
import { attachResource } from "./resources.ts";
import type { OfferingSession } from "./server-offers.ts";
import { symbols, symbolText } from "./symbols.ts";
import { terminalSelection } from "./terminal-selection.ts";

/** So many are offered. */
const MOST_OFFERED = 12;
/** Of these, so many folders. */
const MOST_FOLDERS = 3;
/** So many are looked at: a folder may hold more than anybody scrolls through. */
const MOST_FOUND = 500;
/** What is seldom meant, beside what the user's settings exclude. */
const EXCLUDED = "**/{.git,node_modules,target,dist,build,__pycache__}/**";

/**
 * What a query may mean in a folder, the best first; `offer` is given all that is known, again when more is. `resources`
 * looks for what tool servers have.
 */
export async function mentions(
  folder: vscode.Uri,
  resources: () => Promise<MentionItem[]>,
  query: string,
  offer: (items: MentionItem[]) => void,
): Promise<void> {
  const open = vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .flatMap(({ input }) => (input instanceof vscode.TabInputText ? [input.uri] : []))
    .filter((uri) => uri.scheme === folder.scheme && uri.path.startsWith(`${folder.path}/`));
  // What is typed may be a piece of the path; each letter of it in either case, which the pattern itself cannot say.
  const piece = anyCase(nameIn(query));
  const find = (pattern: string, most: number) => vscode.workspace.findFiles(new vscode.RelativePattern(folder, pattern), EXCLUDED, most);
  const [found, within] = await Promise.all([
    find(query === "" ? "**/*" : `**/*${piece}*`, MOST_FOUND),
    // A folder has no address of its own here: it is known by its files.
    query === "" ? [] : find(`**/*${piece}*/**`, MOST_FOUND),
  ]);
  const pathOf = (uri: vscode.Uri): string => uri.path.slice(folder.path.length + 1);
  const itemOf = (uri: vscode.Uri): MentionItem => ({ of: { kind: "file", uri: uri.toString() }, path: pathOf(uri) });
  const isMeant = (path: string): boolean => nameIn(path).toLowerCase().includes(nameIn(query).toLowerCase());
  const paths = foldersIn([...found, ...within].map(pathOf)).filter(isMeant);
  const folders = paths.map((path): MentionItem => ({ of: { kind: "folder", uri: vscode.Uri.joinPath(folder, path).toString() }, path }));
  const first = ranked(query, open.map(itemOf), MOST_OFFERED);
  const all = [
    ...(await ofEditor(folder, query)),
    ...ranked(query, folders, MOST_FOLDERS),
    ...first,
    ...ranked(query, found.map(itemOf), MOST_OFFERED),
  ];
  const unique = [...new Map(all.map((item) => [item.path, item])).values()].slice(0, MOST_OFFERED);
  offer(unique);
  // Servers and languages may take long, and files are meant more often.
  const later: MentionItem[][] = [[], []];
  const add = async (at: number, found: Promise<MentionItem[]>): Promise<void> => {
    later[at] = await found;
    const more = later.flat();
    if (later[at].length > 0) offer([...unique.slice(0, MOST_OFFERED - more.length), ...more]);
  };
  await Promise.all([add(0, resources()), add(1, symbols(folder, query))]);
}

/** The folders of paths, each with a slash at its end. */
function foldersIn(paths: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const path of paths) for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) folders.add(path.slice(0, at + 1));
  return [...folders];
}

/** The last name of a path, also of a folder. */
function nameIn(path: string): string {
  return path.replace(/\/$/, "").replace(/^.*\//, "");
}

/** Attaches what was mentioned. */
export async function attachMention(
  attachments: Attachments,
  folder: vscode.Uri,
  session: OfferingSession | undefined,
  of: Mentionable,
): Promise<unknown> {
  switch (of.kind) {
    case "resource":
      return session && attachResource(attachments, session, of);
    case "file":
      return attachments.addFiles([vscode.Uri.parse(of.uri)]);
    case "folder": {
      const uri = vscode.Uri.parse(of.uri);
      return attachments.addText(uri, `${vscode.workspace.asRelativePath(uri)}/`, await listing(uri));
    }
    case "symbol": {
      const uri = vscode.Uri.parse(of.uri);
      const { label, text } = await symbolText(uri, of.line, of.name);
      return attachments.addText(uri, label, text);
    }
    case "problems":
      return attachments.addText(folder, "problems", textOfLines(problemsOf(folder)));
    case "changes":
      return attachments.addText(folder, "git changes", await gitChanges(folder));
    case "terminal":
      return attachments.addText(folder, "terminal selection", await terminalSelection());
    case "selection": {
      const editor = vscode.window.activeTextEditor;
      return editor === undefined ? undefined : attachments.addFrom(editor);
    }
  }
}

/** The paths of a folder's files, a line each. */
async function listing(uri: vscode.Uri): Promise<string> {
  const found = await vscode.workspace.findFiles(new vscode.RelativePattern(uri, "**/*"), EXCLUDED, MOST_FOUND);
  const paths = found.map(({ path }) => path.slice(uri.path.replace(/\/$/, "").length + 1)).sort();
  return textOfLines(paths.length === MOST_FOUND ? [...paths, "…"] : paths);
}

/** What there is of the editor beside files. */
async function ofEditor(folder: vscode.Uri, query: string): Promise<MentionItem[]> {
  const items: MentionItem[] = [];
  const editor = vscode.window.activeTextEditor;
  if (editor !== undefined && !editor.selection.isEmpty) {
    const lines = `lines ${editor.selection.start.line + 1}–${editor.selection.end.line + 1}`;
    items.push({
      of: { kind: "selection" },
      path: "selection",
      note: `${lines} of ${vscode.workspace.asRelativePath(editor.document.uri)}`,
    });
  }
  const count = problemsOf(folder).length;
  if (count > 0) items.push({ of: { kind: "problems" }, path: "problems", note: counted(count, "problem") });
  const changed = await changedFiles(folder);
  if (changed > 0) items.push({ of: { kind: "changes" }, path: "changes", note: `git changes of ${counted(changed, "file")}` });
  if (vscode.window.activeTerminal !== undefined) {
    items.push({ of: { kind: "terminal" }, path: "terminal", note: `selection in ${vscode.window.activeTerminal.name}` });
  }
  return items.filter(({ path }) => path.startsWith(query.toLowerCase()));
}

const SEVERITIES = ["error", "warning", "information", "hint"];

/** The problems that the editor lists for the files of a folder, a line each. */
function problemsOf(folder: vscode.Uri): string[] {
  return vscode.languages
    .getDiagnostics()
    .filter(([uri]) => uri.scheme === folder.scheme && uri.path.startsWith(`${folder.path}/`))
    .flatMap(([uri, problems]) => {
      const path = uri.path.slice(folder.path.length + 1);
      return problems.map(({ range: { start }, severity, message, source }) => {
        const from = source === undefined ? "" : ` (${source})`;
        return `${path}:${start.line + 1}:${start.character + 1}: ${SEVERITIES[severity] ?? "problem"}: ${message}${from}`;
      });
    });
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
