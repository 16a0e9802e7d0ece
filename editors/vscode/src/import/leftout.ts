// What an import left out, as a text to read: no file, so nothing of it can be changed or asks to be saved. What is left out
// and why is the sidecar's word.

import * as vscode from "vscode";
import { leftOutText, type LeftOut } from "./lines.ts";

export type { LeftOut };

const SCHEME = "threadhold-import";
/** Its path is what the tab is called. */
const URI = vscode.Uri.from({ scheme: SCHEME, path: "/What the import left out" });

let shown: { text: string; changed: vscode.EventEmitter<vscode.Uri> } | undefined;

/** Shows it, in the place of what an earlier import left out. */
export async function showLeftOut(context: vscode.ExtensionContext, skipped: LeftOut[]): Promise<void> {
  if (shown === undefined) {
    const changed = new vscode.EventEmitter<vscode.Uri>();
    const provider = { onDidChange: changed.event, provideTextDocumentContent: (): string => shown?.text ?? "" };
    context.subscriptions.push(changed, vscode.workspace.registerTextDocumentContentProvider(SCHEME, provider));
    shown = { text: "", changed };
  }
  shown.text = leftOutText(skipped);
  shown.changed.fire(URI);
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(URI), { preview: true });
}
