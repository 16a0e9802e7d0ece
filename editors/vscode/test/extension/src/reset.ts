// Brings the window of one test to where another one can begin: nothing is open, nothing runs, a new session is shown.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as vscode from "vscode";

/** Commands that put away what a test may have left. */
const TIDY = [
  "threadhold.cancel",
  "threadhold.newSession",
  "notifications.clearAll",
  "workbench.action.terminal.killAll",
  "workbench.action.closePanel",
  "workbench.action.closeSidebar",
  "workbench.action.closeAuxiliaryBar",
  // What is folded out in a page would still be.
  "workbench.action.webview.reloadWebviewAction",
];

/** What the next test wants. */
export interface Reset {
  /** Settings that change, by their names; null for those that are taken away. */
  settings: Record<string, unknown>;
  /** Files of the folder, by their paths. */
  files: Record<string, string>;
}

/** Does it, as a file says, and removes that file at last. */
export async function reset(path: string): Promise<void> {
  const { settings, files } = JSON.parse(readFileSync(path, "utf8")) as Reset;
  for (const document of vscode.workspace.textDocuments.filter(({ isDirty }) => isDirty)) {
    await vscode.window.showTextDocument(document);
    await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
  }
  await vscode.window.tabGroups.close(vscode.window.tabGroups.all);
  await vscode.commands.executeCommand("workbench.action.closeQuickOpen");
  for (const [name, value] of Object.entries(settings)) {
    await vscode.workspace.getConfiguration().update(name, value ?? undefined, vscode.ConfigurationTarget.Global);
  }
  // Some of its settings are taken when the sidecar starts.
  if (Object.keys(settings).some((name) => name.startsWith("threadhold."))) await vscode.commands.executeCommand("threadhold.restart");
  for (const command of TIDY) await vscode.commands.executeCommand(command);
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  // The editor holds documents for minutes after they were closed, and may not notice that their files are others.
  for (const document of vscode.workspace.textDocuments.filter((document) => !isAsOnDisk(document))) {
    await vscode.window.showTextDocument(document);
    await vscode.commands.executeCommand("workbench.action.files.revert");
  }
  await vscode.window.tabGroups.close(vscode.window.tabGroups.all);
  rmSync(path);
}

function isAsOnDisk(document: vscode.TextDocument): boolean {
  const { scheme, fsPath } = document.uri;
  if (scheme !== "file" && scheme !== "vscode-remote") return true;
  return !existsSync(fsPath) || readFileSync(fsPath, "utf8") === document.getText();
}
