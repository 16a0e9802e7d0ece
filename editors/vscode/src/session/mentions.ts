// What a mention in the prompt may mean: the selection and the problems of the editor, files that are open, then those of
// the folder by their names.

import * as vscode from "vscode";
import { counted } from "../panel/compaction-row.ts";
import { ranked, textOfLines } from "../shared/mention.ts";
import type { Mentionable, MentionItem } from "../shared/view.ts";
import type { Attachments } from "./attachments.ts";

/** So many are offered. */
const MOST_OFFERED = 12;
/** So many are looked at: a folder may hold more than anybody scrolls through. */
const MOST_FOUND = 500;
/** What is seldom meant, beside what the user's settings exclude. */
const EXCLUDED = "**/{.git,node_modules,target,dist,build,__pycache__}/**";

/** What a query may mean in a folder, the best first. */
export async function mentions(folder: vscode.Uri, query: string): Promise<MentionItem[]> {
  const open = vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .flatMap(({ input }) => (input instanceof vscode.TabInputText ? [input.uri] : []))
    .filter((uri) => uri.scheme === folder.scheme && uri.path.startsWith(`${folder.path}/`));
  // What is typed may be a piece of the path; each letter of it in either case, which the pattern itself cannot say.
  const pattern = new vscode.RelativePattern(folder, query === "" ? "**/*" : `**/*${anyCase(query.slice(query.lastIndexOf("/") + 1))}*`);
  const found = await vscode.workspace.findFiles(pattern, EXCLUDED, MOST_FOUND);
  const itemOf = (uri: vscode.Uri): MentionItem => ({
    of: { kind: "file", uri: uri.toString() },
    path: uri.path.slice(folder.path.length + 1),
  });
  const first = ranked(query, open.map(itemOf), MOST_OFFERED);
  const all = [...ofEditor(folder, query), ...first, ...ranked(query, found.map(itemOf), MOST_OFFERED)];
  return [...new Map(all.map((item) => [item.path, item])).values()].slice(0, MOST_OFFERED);
}

/** Attaches what was mentioned. */
export async function attachMention(attachments: Attachments, folder: vscode.Uri, of: Mentionable): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (of.kind === "file") await attachments.addFiles([vscode.Uri.parse(of.uri)]);
  else if (of.kind === "problems") attachments.addText(folder, "problems", textOfLines(problemsOf(folder)));
  else if (editor !== undefined) await attachments.addFrom(editor);
}

/** What there is of the editor beside files. */
function ofEditor(folder: vscode.Uri, query: string): MentionItem[] {
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
