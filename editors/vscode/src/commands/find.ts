// Finds messages in the session that is shown, also those that no prompt shows any more and those that are not loaded yet.

import type { MessageStatus, SearchHit, Session } from "@threadhold/client";
import * as vscode from "vscode";
import { authorOf, errorText } from "../shared/text.ts";
import type { App } from "./actions.ts";

const ASK_DELAY_MS = 150;
const MOST_FOUND = 50;

/** How the prompt shows a message that it does not show in full. */
const SHOWN: Partial<Record<MessageStatus, string>> = {
  covered: "summarized",
  shortened: "shortened in the prompt",
  dropped: "not in the prompt",
};

type Found = vscode.QuickPickItem & { hit: SearchHit };

/** Lets the user look for words, and shows what is chosen. */
export async function find({ chat, panel, log }: App): Promise<void> {
  const session = await chat.ready();
  const hit = await choose(session, log);
  if (hit === undefined || chat.session !== session) return;
  await chat.loadUntil(hit.ord);
  await panel.open();
  panel.reveal(hit.ref);
}

function choose(session: Session, log: vscode.LogOutputChannel): Promise<SearchHit | undefined> {
  const list = vscode.window.createQuickPick<Found>();
  list.title = "Find in Session";
  list.placeholder = "Words to find in messages";
  let unasked: ReturnType<typeof setTimeout> | undefined;
  const ask = async (query: string): Promise<void> => {
    list.busy = true;
    try {
      const { hits } = query.trim() === "" ? { hits: [] } : await session.request("context/search", { query, limit: MOST_FOUND });
      // A later question has the newer answer.
      if (query === list.value) list.items = hits.map(itemOf);
    } catch (error) {
      log.error(`find: ${String(error)}`);
      list.title = `Find in Session: ${errorText(error)}`;
    } finally {
      list.busy = false;
    }
  };
  return new Promise((resolve) => {
    list.onDidChangeValue((query) => {
      clearTimeout(unasked);
      unasked = setTimeout(() => void ask(query), ASK_DELAY_MS);
    });
    list.onDidAccept(() => {
      const [chosen] = list.selectedItems;
      if (chosen === undefined) return;
      resolve(chosen.hit);
      list.hide();
    });
    list.onDidHide(() => {
      clearTimeout(unasked);
      resolve(undefined);
      list.dispose();
    });
    list.show();
  });
}

function itemOf(hit: SearchHit): Found {
  const shown = SHOWN[hit.status];
  return {
    hit,
    label: authorOf(hit.role),
    description: `message ${hit.ord + 1}${shown === undefined ? "" : `, ${shown}`}`,
    detail: hit.excerpt.replace(/\s+/g, " ").slice(0, 300),
    // The sidecar found it; the list's own search would find less.
    alwaysShow: true,
  };
}
