// Links in an answer of the editor's own chat that still work after a restart. A button is bound to the window that showed
// it; a link carries everything it needs.

import type { Session } from "@threadhold/client";
import * as vscode from "vscode";

const SHOW = "threadhold.showSession";

/** A line that says what a compaction came to, and shows it in the panel. */
export function compactionLink(session: Session, compactionId: string): vscode.MarkdownString {
  const made = session.view.snapshot.compactions.find(({ id }) => id === compactionId);
  const figure = (count: number): string => count.toLocaleString("en-US");
  const size = made === undefined ? "" : `: ${figure(made.tokensBefore)} → ${figure(made.tokensAfter)} tokens`;
  const link = new vscode.MarkdownString(`\n\n[Compacted${size}](command:${SHOW}?${encodeURIComponent(JSON.stringify([session.id]))})`);
  // No other command may be run by the words of an answer.
  link.isTrusted = { enabledCommands: [SHOW] };
  return link;
}
