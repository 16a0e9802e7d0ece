// Previous versions of a session: what edits, retries and rewinds replaced.

import type { Revision, RevisionCause, Session } from "@threadhold/client";
import * as vscode from "vscode";
import { escapeIcons } from "../shared/text.ts";

/** What each version is from before of. */
const BEFORE: Record<RevisionCause, string> = {
  edit: "Before an edit",
  remove: "Before a message was removed",
  retry: "Before a request was sent again",
  truncate: "Before a rewind",
  reset: "Before a new chat",
  history: "Before the editor's history changed",
  file: "Before another program changed the session's file",
  restore: "Before a version was restored",
};

/** Lists the versions of the session, and restores the chosen one. */
export async function restoreVersion(session: Session): Promise<void> {
  const versions = await versionsOf(session);
  if (versions.length === 0) return void vscode.window.showInformationMessage("This session has no previous version.");
  const items = versions.map(({ revisionId, cause, createdAt, messages, text }) => ({
    label: BEFORE[cause] ?? "Previous version",
    description: `${time(createdAt)} · ${messages.toLocaleString("en-US")} messages`,
    detail: text === undefined ? "" : escapeIcons(text),
    revisionId,
  }));
  const chosen = await vscode.window.showQuickPick(items, {
    title: "Restore Previous Version",
    placeHolder: "The conversation as it is now becomes a version itself; files stay as they are",
    matchOnDetail: true,
  });
  if (chosen !== undefined) await session.request("session/restore", { revisionId: chosen.revisionId });
}

/** All versions, newest first. */
async function versionsOf(session: Session): Promise<Revision[]> {
  const all: Revision[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await session.request("session/history", { limit: 500, ...(cursor !== undefined && { cursor }) });
    all.push(...page.revisions);
    cursor = page.nextCursor;
    if (cursor === undefined) return all;
  }
}

const time = (at: string): string => new Date(at).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" });
