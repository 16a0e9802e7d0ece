// Shows the parts that an import skipped in a read-only document, which cannot be changed and never asks to be saved.

import * as vscode from "vscode";
import { type LeftOut, leftOutText } from "./skipped-text.ts";

export type { LeftOut };

const SCHEME = "threadhold-import";
/** Its path is what the tab is called. */
const URI = vscode.Uri.from({ scheme: SCHEME, path: "/Parts skipped by the import" });

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
