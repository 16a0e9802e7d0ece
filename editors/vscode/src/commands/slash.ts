// Runs a command that was typed into the prompt.

import type { Session } from "@threadhold/client";
import * as vscode from "vscode";
import type { Panel } from "../panel/panel.ts";
import type { Chat } from "../session/chat.ts";
import { newestRequest } from "../session/steering.ts";
import type { SlashName } from "../shared/slash.ts";
import { DISMISS } from "../shared/view.ts";

/** What the commands act on, and what they do that other actions do, too. */
interface SlashContext {
  chat: Pick<Chat, "ready">;
  panel: Pick<Panel, "say">;
  compact(session: Session, more: { focus?: string }): Promise<void>;
  rewind(messageId: string): Promise<void>;
}

/** Those that are commands of the editor. */
const OF_EDITOR: Partial<Record<SlashName, string>> = {
  find: "threadhold.find",
  help: "threadhold.openWalkthrough",
  mode: "threadhold.selectMode",
  model: "threadhold.selectModel",
  new: "threadhold.newSession",
  sessions: "threadhold.sessions",
  undo: "threadhold.undoCompaction",
};

/** Runs a command; `rest` is what was typed behind its name. */
export async function runSlash(context: SlashContext, name: SlashName, rest: string): Promise<void> {
  const command = OF_EDITOR[name];
  if (command !== undefined) return void (await vscode.commands.executeCommand(command));
  const session = await context.chat.ready();
  switch (name) {
    case "compact":
      return context.compact(session, rest === "" ? {} : { focus: rest });
    case "pin":
      if (rest === "") return void (await vscode.commands.executeCommand("threadhold.pinText"));
      return void (await session.request("context/pin", { text: rest }));
    case "rewind": {
      const last = newestRequest(session);
      if (last === undefined) throw new Error("There is no message to rewind to.");
      return context.rewind(last.id);
    }
    default:
      // The panel shows the cost itself, once there is any.
      return context.panel.say({ level: "info", text: "Nothing was asked in this session yet.", actions: [DISMISS] });
  }
}
