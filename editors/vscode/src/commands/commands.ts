// Commands of the palette and the menus.

import * as vscode from "vscode";
import { configuration } from "../configuration.ts";
import { importChats } from "../import/import.ts";
import { checkModel } from "../models/check.ts";
import type { Keys } from "../models/keys.ts";
import type { Models } from "../models/models.ts";
import { keyed, keyLabel, labelOf, type Route, routesOf } from "../models/routes.ts";
import { setUpModel } from "../models/set-up.ts";
import { knownSessions } from "../session/session-list.ts";
import { preview } from "../session/steering.ts";
import { MODES, nameOf } from "../shared/mode.ts";
import { errorText, escapeLinks, sentence } from "../shared/text.ts";
import { DISMISS } from "../shared/view.ts";
import { chooseTools } from "../tools/choose-tools.ts";
import { showTerminal } from "../tools/terminal.ts";
import { type App, act, compacted, deleteSession, renameSession, showCompaction } from "./actions.ts";
import { changeCommands } from "./changes.ts";
import { find } from "./find.ts";
import { restoreVersion } from "./versions.ts";

/** How long the status bar says what was done. */
const TOLD_MS = 5_000;

/** Registers all of them. */
export function registerCommands(context: vscode.ExtensionContext, app: App, models: Models, keys: Keys): void {
  const { chat, panel, backend, log } = app;
  const show = async (): Promise<void> => {
    await panel.open();
    panel.focus();
  };
  const commands: Record<string, (...given: never[]) => unknown> = {
    ...changeCommands(app),
    focus: show,
    openInEditor: () => panel.openInEditor(),
    newSession: async () => {
      // The prompt has the focus once it is the new session's: what is typed before is the other's.
      await panel.open();
      await act(app, { type: "newSession" });
    },
    sessions: async () => {
      await panel.open();
      await act(app, { type: "listSessions", query: "", more: false });
    },
    // For links that know a session, which may be older than it is; the palette has the list.
    showSession: async (sessionId: string) => {
      await show();
      const { folder } = chat;
      const isThere = folder !== undefined && (await knownSessions(await backend.client(), folder.uri.fsPath)).has(sessionId);
      if (isThere) await act(app, { type: "openSession", sessionId });
      else
        panel.say({
          level: "info",
          text: "The linked session is not in this folder. It was deleted, or sessions are now stored elsewhere.",
          actions: [DISMISS],
        });
    },
    renameSession: async () => renameSession(app, (await chat.ready()).id),
    deleteSession: async () => deleteSession(app, (await chat.ready()).id),
    restoreVersion: async () => restoreVersion(await chat.ready()),
    branchSession: async () => {
      const session = await chat.ready();
      const { sessionId } = await session.request("session/fork", {});
      await chat.show(sessionId);
    },
    exportSession: () => exportSession(app),
    importChats: () => importChats(app, context),
    cancel: () => act(app, { type: "cancel", queued: false }),
    compact: () => compactNow(app),
    showCompaction: async () => {
      await show();
      await showCompaction(app);
    },
    undoCompaction: async () => {
      const session = await chat.ready();
      const newest = session.view.snapshot.compactions.findLast(({ status }) => status === "inForce");
      if (newest === undefined) return void vscode.window.showInformationMessage("There is no compaction to undo.");
      return act(app, { type: "undo", compactionId: newest.id });
    },
    pinText: async () => {
      // The one that is shown now: another may be while this is typed.
      const session = await chat.ready();
      const text = await vscode.window.showInputBox({
        title: "Pin Text to Prompt",
        prompt: "Text to include unchanged in every prompt of this session",
      });
      if (text !== undefined && text.trim() !== "") await session.request("context/pin", { text });
    },
    pinSelection: async () => {
      const editor = vscode.window.activeTextEditor;
      if (editor === undefined || editor.selection.isEmpty) return;
      const path = vscode.workspace.asRelativePath(editor.document.uri);
      const text = `${path}:${editor.selection.start.line + 1}\n${editor.document.getText(editor.selection)}`;
      await (await chat.ready()).request("context/pin", { text });
      vscode.window.setStatusBarMessage(`Pinned the selection from ${path} to every prompt of this session`, TOLD_MS);
    },
    attachFiles: async () => {
      const { folder } = chat;
      const uris = await vscode.window.showOpenDialog({
        canSelectMany: true,
        openLabel: "Attach",
        ...(folder !== undefined && { defaultUri: folder.uri }),
      });
      if (uris !== undefined) await act(app, { type: "attachUris", uris: uris.map(String) });
    },
    attachFile: async (uri?: vscode.Uri) => {
      await show();
      const editor = vscode.window.activeTextEditor;
      if (uri === undefined || uri.toString() === editor?.document.uri.toString()) {
        if (editor !== undefined) await chat.attachments.addFrom(editor);
      } else await chat.attachments.addFiles([uri]);
      chat.changed();
    },
    selectMode: () => chooseMode(app),
    selectModel: () => models.choose(),
    setKey: async () => {
      const route = await chooseRoute();
      const key = route === undefined ? undefined : await keys.ask(route);
      if (route === undefined || key === undefined) return;
      const client = await backend.client();
      await client.request("model/key", key);
      await followKeys(app, models);
      await checkModel(client, route.model, `The API key works: ${route.label} answered.`);
    },
    setUpModel: async () => {
      const model = await setUpModel(() => backend.client(), keys);
      if (model === undefined) return;
      await followKeys(app, models);
      await checkModel(await backend.client(), keyed(model, keys.names), `${labelOf(model)} is set up: it answered.`);
    },
    deleteKey: async () => {
      const name = await keys.forget();
      if (name === undefined) return;
      await (await backend.client()).request("model/key", { name });
      await followKeys(app, models);
    },
    chooseTools: () => chooseTools(),
    find: () => find(app),
    approvals: () => app.rules.open(),
    showLog: () => log.show(),
    showTerminal: () => {
      if (!showTerminal()) void vscode.window.showInformationMessage("No command ran since the agent's terminal was closed.");
    },
    diagnostics: async () => {
      const found = await (await backend.client()).request("server/diagnostics", {});
      const document = await vscode.workspace.openTextDocument({ language: "json", content: JSON.stringify(found, null, 2) });
      await vscode.window.showTextDocument(document);
    },
    restart: () => backend.restart(),
    openWalkthrough: () => vscode.commands.executeCommand("workbench.action.openWalkthrough", `${context.extension.id}#start`),
  };
  for (const [name, run] of Object.entries(commands)) {
    const guarded = async (...given: unknown[]): Promise<void> => {
      try {
        await (run as (...given: unknown[]) => unknown)(...given);
      } catch (error) {
        const text = errorText(error);
        log.error(`${name}: ${text}`);
        void vscode.window.showErrorMessage(escapeLinks(sentence(text)));
      }
    };
    context.subscriptions.push(vscode.commands.registerCommand(`threadhold.${name}`, guarded));
  }
}

/** Lets the user choose what the agent may do in the session that is shown. */
async function chooseMode({ chat }: App): Promise<void> {
  // The one that is shown now: another may be while this is chosen.
  const { shownId } = chat;
  const current = chat.modes.of(shownId);
  const items = MODES.map(({ mode, name, about }) => ({ label: name, detail: about, picked: mode === current, mode }));
  items.sort((one, other) => Number(other.picked) - Number(one.picked));
  const chosen = await vscode.window.showQuickPick(items, { title: "Choose Mode", placeHolder: `Now: ${nameOf(current)}` });
  if (chosen === undefined) return;
  await chat.modes.set(shownId, chosen.mode);
  chat.changed();
}

/** The model whose key is set: asked only where there are several; where there is none, what is missing is said. */
async function chooseRoute(): Promise<Route | undefined> {
  const { configuredModel, settings } = configuration();
  const [first, ...others] = routesOf(configuredModel, settings);
  if (first === undefined) {
    const describe = "Set Up Model…";
    const text = "No configured model needs an API key. Set up a model first.";
    if ((await vscode.window.showWarningMessage(text, describe)) === describe) {
      await vscode.commands.executeCommand("threadhold.setUpModel");
    }
    return undefined;
  }
  if (others.length === 0) return first;
  const items = [first, ...others].map((route) => {
    const isMade = keyLabel(route.keyName) !== route.keyName;
    return { label: route.label, description: route.host, ...(!isMade && { detail: route.keyName }), route };
  });
  return (await vscode.window.showQuickPick(items, { title: "Set API Key", placeHolder: "Choose the model that the key is for" }))?.route;
}

/** Has the model of the next request, and the session that is shown, name the keys that are kept now. */
async function followKeys({ backend, chat }: App, models: Models): Promise<void> {
  await models.refresh();
  await backend.configure();
  await chat.followModel();
}

/** Compacts with a focus, after saying what that would do. */
async function compactNow(app: App): Promise<void> {
  const session = await app.chat.ready();
  const focus = await vscode.window.showInputBox({
    title: "Compact Conversation",
    prompt: await preview(session),
    placeHolder: "What must the summary keep? (optional)",
    ignoreFocusOut: true,
  });
  if (focus !== undefined) await compacted(app, session, focus.trim() === "" ? {} : { focus: focus.trim() });
}

const FORMATS = [
  { label: "Markdown", detail: "Readable document", format: "markdown", ending: "md" },
  { label: "HTML", detail: "Page for any browser", format: "markdown", ending: "html" },
  { label: "JSON Lines", detail: "One line per message; can be imported again", format: "jsonl", ending: "jsonl" },
  { label: "Trajectory", detail: "A single JSON object; can be imported again", format: "trajectory", ending: "json" },
] as const;

async function exportSession({ chat }: App): Promise<void> {
  const session = await chat.ready();
  const chosen = await vscode.window.showQuickPick(FORMATS, { title: "Export Session As" });
  if (chosen === undefined) return;
  const { data } = await session.request("session/export", { format: chosen.format });
  const name = `${session.view.snapshot.title ?? session.id}`.replace(/[^\p{L}\p{N}-]+/gu, "-").slice(0, 60);
  const { folder } = chat;
  const uri = await vscode.window.showSaveDialog({
    ...(folder !== undefined && { defaultUri: vscode.Uri.joinPath(folder.uri, `${name}.${chosen.ending}`) }),
  });
  if (uri === undefined) return;
  const text = chosen.ending === "html" ? await pageOf(session.view.snapshot.title ?? "Session", data) : data;
  await vscode.workspace.fs.writeFile(uri, Buffer.from(text, "utf8"));
  await vscode.window.showTextDocument(uri);
}

/** A page with this Markdown. What a model or a file said may hold scripts, which a page that is passed on must not run. */
async function pageOf(title: string, markdown: string): Promise<string> {
  const body = await vscode.commands.executeCommand<string>("markdown.api.render", markdown);
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
  const escaped = title.replace(/[&<>]/gu, (sign) => `&#${sign.codePointAt(0)};`);
  return `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${escaped}</title>
<style>body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem; font-family: sans-serif; line-height: 1.5 } pre { overflow-x: auto }</style>
${body}
</html>
`;
}
