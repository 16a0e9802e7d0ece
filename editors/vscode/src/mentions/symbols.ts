// Symbols of the workspace, such as functions and types, as the editor's languages know them.

import * as vscode from "vscode";
import type { MentionItem } from "../shared/mention.ts";

/** Characters from which on symbols are looked for: shorter names fit nearly all of them. */
const LEAST_QUERY = 2;
const MOST_SYMBOLS = 5;
/** Lines of a symbol whose extent is not known. */
const LINES = 40;

/** Symbols of the folder whose names contain the query, those that begin with it first. */
export async function symbols(folder: vscode.Uri, query: string): Promise<MentionItem[]> {
  if (query.length < LEAST_QUERY || query.includes("/")) return [];
  const found = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>(
    "vscode.executeWorkspaceSymbolProvider",
    query,
  );
  const wanted = query.toLowerCase();
  const items = (found ?? [])
    .filter(({ name, location }) => location.uri.path.startsWith(`${folder.path}/`) && name.toLowerCase().includes(wanted))
    .map(({ name, kind, location }): MentionItem => {
      const path = location.uri.path.slice(folder.path.length + 1);
      const { line } = location.range.start;
      const kindName = vscode.SymbolKind[kind]?.toLowerCase() ?? "symbol";
      // A name with spaces is no word of the prompt.
      const word = /\s/.test(name) ? `${path}:${line + 1}` : name;
      return { of: { kind: "symbol", uri: location.uri.toString(), line, name }, path: word, name, note: `${kindName} in ${path}` };
    });
  const rank = ({ name = "" }: MentionItem): number => (name.toLowerCase().startsWith(wanted) ? 0 : 1);
  return items.sort((a, b) => rank(a) - rank(b)).slice(0, MOST_SYMBOLS);
}

/** The text of a symbol with its lines. */
export async function symbolText(uri: vscode.Uri, line: number, name: string): Promise<{ label: string; text: string }> {
  const document = await vscode.workspace.openTextDocument(uri);
  const known = await vscode.commands.executeCommand<(vscode.DocumentSymbol | vscode.SymbolInformation)[] | undefined>(
    "vscode.executeDocumentSymbolProvider",
    uri,
  );
  const range = rangeIn(known ?? [], line, name) ?? new vscode.Range(line, 0, line + LINES, 0);
  const whole = document.validateRange(new vscode.Range(range.start.line, 0, range.end.line, Number.MAX_SAFE_INTEGER));
  const label = `${vscode.workspace.asRelativePath(uri)}:${whole.start.line + 1}-${whole.end.line + 1}`;
  return { label, text: document.getText(whole) };
}

/** The range of the innermost symbol of this name around a line. */
function rangeIn(
  symbols: readonly (vscode.DocumentSymbol | vscode.SymbolInformation)[],
  line: number,
  name: string,
): vscode.Range | undefined {
  for (const symbol of symbols) {
    const range = "location" in symbol ? symbol.location.range : symbol.range;
    if (line < range.start.line || line > range.end.line) continue;
    const inner = "children" in symbol ? rangeIn(symbol.children, line, name) : undefined;
    if (inner !== undefined || symbol.name === name) return inner ?? range;
  }
  return undefined;
}
