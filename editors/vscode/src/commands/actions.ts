// Carries out the user's actions in the panel. Errors are shown in the panel, in the words of whoever rejected the action.

import { type ErrorData, isProtocolError, type Session } from "@threadhold/client";
import * as vscode from "vscode";
import type { Changes } from "../changes/changes.ts";
import type { Proposals } from "../changes/proposals.ts";
import type { Tracker } from "../changes/tracker.ts";
import type { Views } from "../changes/views.ts";
import type { Highlighter } from "../highlight/highlighter.ts";
import { attachMention } from "../mentions/mentions.ts";
import { textIn } from "../panel/conversation.ts";
import type { Panel } from "../panel/panel.ts";
import type { Place } from "../panel/place.ts";
import type { BeforeImages } from "../rewind/before-images.ts";
import type { Restorer } from "../rewind/restorer.ts";
import type { Rewind } from "../rewind/rewind.ts";
import type { RulesPage } from "../rules/page.ts";
import type { Backend } from "../session/backend.ts";
import type { Chat } from "../session/chat.ts";
import type { Demonstration } from "../session/demonstration.ts";
import type { Sessions } from "../session/session-list.ts";
import * as steering from "../session/steering.ts";
import type { ToolServers } from "../session/tool-servers.ts";
import type { CodeColors, CodePiece } from "../shared/code.ts";
import { meansSession } from "../shared/envelope.ts";
import { targetOf } from "../shared/link.ts";
import { textOf } from "../shared/slash.ts";
import { errorText, escapeLinks, sentence } from "../shared/text.ts";
import { type Action, DISMISS } from "../shared/view.ts";
import { inFolder } from "../tools/own-tool.ts";
import { applyCode } from "./apply.ts";
import { insertAtCursor, insertIntoNewFile, type LastEditor } from "./insert.ts";
import { offerMentions, offerPrompts, offerTools } from "./offers.ts";
import { CHOOSE, send, sendPrompt } from "./prompts.ts";
import { runSlash } from "./slash.ts";

/** The parts of the extension that actions and commands use. */
export interface App {
  backend: Backend;
  chat: Chat;
  panel: Panel;
  sessions: Sessions;
  servers: ToolServers;
  rewind: Rewind;
  restorer: Restorer;
  tracker: Tracker;
  views: Views;
  /** Missing where no folder is open. */
  images: BeforeImages | undefined;
  changes: Changes | undefined;
  proposals: Proposals;
  last: LastEditor;
  rules: RulesPage;
  demonstration: Demonstration;
  highlighter: Highlighter;
  log: vscode.LogOutputChannel;
  showDiff: (callId: string) => Promise<void>;
}

const COMMANDS = {
  showLog: "threadhold.showLog",
  showTerminal: "threadhold.showTerminal",
  approvals: "threadhold.approvals",
  restart: "threadhold.restart",
  setKey: "threadhold.setKey",
  openFolder: "workbench.action.files.openFolder",
} as const;

/** Carries an action out that the user took in a place; whatever fails is said in the panel. */
export async function act(app: App, action: Action, place: Place = app.panel.active): Promise<void> {
  const sessionId = meansSession(action) ? app.chat.session?.id : undefined;
  try {
    await carryOut(app, action, place);
  } catch (error) {
    const text = errorText(error);
    app.log.error(`${action.type}: ${text}`);
    // Why there is no sidecar is said by its standing already.
    if (app.backend.standing.state === "none") return;
    const cannot = isProtocolError(error, "CannotUndo") ? cannotUndo(error.data) : undefined;
    sayOf(app, sessionId, cannot ?? { level: "error", text: sentence(text), actions: [DISMISS] });
  }
}

type Said = Exclude<Parameters<Panel["say"]>[0], undefined>;

/** Says something of a session above it; where another one is shown by now, beside the panel and without what could be done. */
export function sayOf({ chat, panel }: App, sessionId: string | undefined, notice: Said): void {
  if (sessionId === undefined || sessionId === chat.session?.id) return panel.say(notice);
  const { level, text } = notice;
  const tell = {
    error: vscode.window.showErrorMessage,
    warning: vscode.window.showWarningMessage,
    info: vscode.window.showInformationMessage,
  };
  void tell[level](escapeLinks(text));
}

/** Actions that a model would have to answer. */
const ASKS = new Set<Action["type"]>(["send", "sendPrompt", "edit", "retry", "regenerate", "continue", "acceptPlan"]);

const NOBODY = {
  level: "info",
  text: "This demo session has no model. Start a new session to ask something.",
  actions: [{ label: "New Session", action: { type: "newSession" } }, DISMISS],
} as const satisfies Said;

/** Shows a compaction in a session made for it. */
export async function showCompaction({ chat, demonstration, panel }: App): Promise<void> {
  if (await demonstration.show()) {
    panel.say({
      level: "info",
      text: "Demo: the conversation is recorded and its summary is scripted. The compaction itself is real.",
      detail: "On the card, open Original messages to read what was summarized, or choose Undo to revert the compaction.",
      actions: [DISMISS],
    });
    const compaction = chat.session?.view.snapshot.compactions.at(-1);
    if (compaction !== undefined) panel.reveal(compaction.id);
    return;
  }
  const open = "Open Folder…";
  const answer = await vscode.window.showInformationMessage(
    "Sessions belong to a folder. Open a folder, then run Show Compaction Demo again.",
    open,
  );
  if (answer === open) await vscode.commands.executeCommand(COMMANDS.openFolder);
}

async function carryOut(app: App, action: Action, place: Place): Promise<void> {
  const { chat, panel, sessions } = app;
  const session = chat.session;
  if (ASKS.has(action.type) && app.demonstration.is(session?.id)) {
    if ("text" in action) place.giveBack(action.text);
    else if (action.type === "sendPrompt") place.giveBack(textOf(action));
    return panel.say(NOBODY);
  }
  switch (action.type) {
    case "ready":
      place.begin();
      if (chat.folder !== undefined) await chat.ready();
      return;
    case "drawn":
      return place.drawn();
    case "send":
      return send({ ...app, place }, action.text, action.urgent);
    case "slash":
      try {
        const compact = (of: Session, more: { focus?: string }): Promise<void> => compacted(app, of, more);
        const rewind = (messageId: string): Promise<void> => carryOut(app, { type: "rewind", messageId }, place);
        return await runSlash({ chat, panel, compact, rewind }, action.name, action.rest);
      } catch (error) {
        place.giveBack(textOf(action));
        throw error;
      }
    case "newSession":
      sessions.close();
      await chat.show(undefined);
      return panel.focus();
    case "listSessions":
      return sessions.list(action.query, action.more);
    case "closeSessions":
      return sessions.close();
    case "openSession":
      sessions.close();
      await chat.show(action.sessionId);
      if (action.at === undefined) return panel.focus();
      if ((await chat.ready()).id !== action.sessionId) return;
      await chat.loadUntil(action.at.ord);
      return panel.reveal(action.at.messageId);
    case "markSession":
      return sessions.mark(action.sessionId, action.mark, action.on);
    case "listArchived":
      return sessions.listArchived(action.on);
    case "decideServer":
      return app.servers.decide(action.name, action.definition, action.decision);
    case "renameSession":
      return renameSession(app, action.sessionId);
    case "deleteSession":
      return deleteSession(app, action.sessionId);
    case "takeOver":
      return chat.takeOver();
    case "inspect":
      return chat.inspect(action.open);
    case "dismissWarning":
      panel.warning.dismiss();
      return chat.changed();
    case "dismissNotice":
      return panel.say(undefined);
    case "attach":
      await vscode.commands.executeCommand("threadhold.attachFiles");
      return;
    case "attachImage":
      chat.attachments.addPicture(action.mimeType, action.data, action.name);
      return chat.changed();
    case "attachUris":
      await chat.attachments.addFiles(action.uris.map((uri) => vscode.Uri.parse(uri)));
      return chat.changed();
    case "attachMention":
      if (chat.folder !== undefined) await attachMention(chat.attachments, chat.folder.uri, session, action.of);
      return chat.changed();
    case "mention":
      return offerMentions({ ...app, place }, action.query);
    case "toolName":
      return offerTools({ ...app, place }, action.query);
    case "prompts":
      return offerPrompts({ ...app, place });
    case "sendPrompt":
      return sendPrompt({ ...app, place }, action);
    case "removeAttachment":
      chat.attachments.remove(action.id);
      return chat.changed();
    case "selectMode":
      await vscode.commands.executeCommand("threadhold.selectMode");
      return;
    case "selectModel":
      await vscode.commands.executeCommand("threadhold.selectModel");
      return;
    case "open":
      return open(app, action.href);
    case "copy":
      await vscode.env.clipboard.writeText(action.text);
      return;
    case "apply":
      if (chat.folder !== undefined) await applyCode(action.text, action.path, chat.folder.uri, app);
      return;
    case "insert":
      return insertAtCursor(action.text, app.last);
    case "insertNew":
      return insertIntoNewFile(action.text, await app.highlighter.languageId(action.language));
    case "highlight":
      return place.color(action, await colorsOf(app, action));
    case "compact":
      await vscode.commands.executeCommand("threadhold.compact");
      return;
    case "command":
      if (action.command === "settings") await vscode.commands.executeCommand("workbench.action.openSettings", "threadhold.binary");
      else await vscode.commands.executeCommand(COMMANDS[action.command]);
      return;
    case "draft":
      return chat.keepDraft(action.text, action.sessionId);
    default:
      break;
  }
  if (session === undefined) return;
  switch (action.type) {
    case "cancel":
      await session.cancel({ cancelQueued: action.queued });
      return;
    case "decide":
      return steering.decide(session, action);
    case "continue":
      return steering.goOn(chat, session);
    case "acceptPlan":
      return chat.acceptPlan(session);
    case "retry":
    case "edit":
    case "regenerate":
    case "rewind":
      return takeAway(app, session, action, place);
    case "rewindWith":
      return app.rewind.go(action.restore, (notice) => sayOf(app, session.id, notice));
    case "rewindNot":
      return app.rewind.leave();
    case "undoRewind":
      return app.rewind.undo((notice) => sayOf(app, session.id, notice));
    case "rewindDiff":
      return app.rewind.showDiff(action.path);
    case "putBack":
      return app.restorer.putBack((notice) => sayOf(app, session.id, notice));
    case "keepChanges":
      return app.changes?.keep(action.paths);
    case "undoChanges":
      return app.changes?.undo(action.paths, (notice) => sayOf(app, session.id, notice));
    case "showChange": {
      const entry = (await app.tracker.fresh()).find(({ path }) => path === action.path);
      if (entry === undefined) throw new Error(`${action.path} is as it was before the agent changed it`);
      return app.views.show(entry);
    }
    case "viewChanges":
      return app.views.showAll(await app.tracker.fresh());
    case "forgetLimits":
      await session.request("session/configure", { forgetLearnedLimits: true });
      return chat.inspect(true);
    case "removeWaiting":
      await session.request("queue/remove", { itemId: action.itemId });
      return;
    case "rerun":
      return steering.rerun(chat, session, action.callId);
    case "abandon":
      return steering.abandon(session, action.callId);
    case "branch": {
      const { sessionId } = await session.request("session/fork", { upToMessageId: action.messageId });
      await chat.show(sessionId);
      return panel.say({ level: "info", text: "This session is a fork. The original session is unchanged.", actions: [DISMISS] });
    }
    case "showVersion":
      await session.request("session/restore", { revisionId: action.revisionId });
      return;
    case "undo":
      await session.request("context/undo", { compactionId: action.compactionId });
      // What was said of a try before holds no longer.
      return chat.session === session ? panel.say(undefined) : undefined;
    case "redo":
      return compacted(app, session, {
        redo: action.compactionId,
        keep: action.keep,
        ...(action.focus !== "" && { focus: action.focus }),
      });
    case "editSummary":
      await session.request("context/edit", { compactionId: action.compactionId, narrative: action.text });
      return;
    case "review":
      return chat.reviews.answer(action.compactionId, {
        decision: action.decision,
        ...(action.text !== undefined && { text: action.text }),
      });
    case "earlier":
      return chat.showEarlier(action.all);
    case "covered": {
      const { compactionId } = action;
      return place.tell(session.id, { type: "covered", compactionId, ...(await steering.originalsOf(session, action)) });
    }
    case "wholeResult": {
      const { callId } = action;
      return place.tell(session.id, { type: "wholeResult", callId, text: await steering.whole(session, callId) });
    }
    case "stopCall":
      return chat.running.get(action.callId)?.stop.abort();
    case "pin":
      await session.request("context/pin", { messageId: action.messageId });
      return;
    case "unpin":
      await session.request("context/unpin", { pinId: action.pinId });
      return;
    case "exclude":
      await session.request("context/exclude", { messageIds: action.messageIds });
      return;
    case "diff":
      return app.showDiff(action.callId);
  }
}

/** Colours of a piece of code; none where they cannot be made, such as by a grammar that is broken. */
async function colorsOf({ highlighter, log }: App, piece: CodePiece): Promise<CodeColors | undefined> {
  try {
    return await highlighter.colors(piece);
  } catch (error) {
    log.warn(`colors of ${piece.language}: ${errorText(error)}`);
    return undefined;
  }
}

/** Takes the conversation away from a message on, in one of the ways there are, after asking about the files. */
async function takeAway(
  app: App,
  session: Session,
  action: Extract<Action, { type: "retry" | "edit" | "regenerate" | "rewind" }>,
  place: Place,
): Promise<void> {
  const { rewind } = app;
  const { messages } = session.view.snapshot;
  if (action.type === "regenerate") {
    const newest = steering.newestRequest(session);
    const go = async (): Promise<string | undefined> => (await session.request("turn/regenerate", {})).revision;
    return newest === undefined ? void (await go()) : rewind.ask(session, { goal: "answerAgain", messageId: newest.id, go });
  }
  const { messageId } = action;
  const message = messages.find(({ id }) => id === messageId);
  switch (action.type) {
    case "retry": {
      const goal = message?.role === "user" ? "askAgain" : "answerAgain";
      return rewind.ask(session, { goal, messageId, go: () => steering.retry(session, messageId) });
    }
    case "edit": {
      const { text } = action;
      const leave = (): void => place.tell(session.id, { type: "editing", messageId, text });
      return rewind.ask(session, { goal: "askAgain", messageId, go: () => steering.retry(session, messageId, text), leave });
    }
    case "rewind": {
      const go = async (): Promise<string | undefined> => {
        const { revision } = await session.request("message/truncate", { messageId });
        place.tell(session.id, { type: "unsent", text: textIn(message?.parts ?? []).text });
        return revision;
      };
      return rewind.ask(session, { goal: "rewind", messageId, go });
    }
  }
}

/** Compacts, and says why nothing was done where nothing was. */
export async function compacted(app: App, session: Session, more: Parameters<typeof steering.compact>[1]): Promise<void> {
  const nothing = await steering.compact(session, more);
  if (nothing !== undefined) sayOf(app, session.id, { level: "info", text: nothing, actions: [DISMISS] });
}

export async function renameSession({ backend, chat, sessions }: App, sessionId: string): Promise<void> {
  const client = await backend.client();
  // One that is open stays open: something may go on in it.
  const open = client.sessions.get(sessionId);
  const known = sessions.shown?.items.find((item) => item.sessionId === sessionId)?.title ?? open?.view.snapshot.title ?? "";
  const title = await vscode.window.showInputBox({ title: "Rename Session", value: known, prompt: "New name for the session" });
  if (title === undefined || title.trim() === "" || title === known) return;
  const { folder } = chat;
  if (folder === undefined) return;
  // A session must be open to be changed.
  const session = open ?? (await backend.open({ workspaceFolder: folder.uri.fsPath, sessionId }));
  try {
    await session.request("session/configure", { title: title.trim() });
  } finally {
    if (open === undefined) await session.close();
  }
  await sessions.refresh();
}

export async function deleteSession({ backend, chat, sessions, images }: App, sessionId: string): Promise<void> {
  const title =
    sessions.shown?.items.find((item) => item.sessionId === sessionId)?.title ?? chat.session?.view.snapshot.title ?? "this session";
  const detail = "The session is deleted permanently, together with its versions from before edits, retries and rewinds. Forks are kept.";
  const answer = await vscode.window.showWarningMessage(`Delete “${title}”?`, { modal: true, detail }, "Delete");
  if (answer !== "Delete") return;
  const client = await backend.client();
  await client.request("session/delete", { sessionId });
  await images?.forget(sessionId);
  if (chat.session?.id === sessionId) await chat.show(undefined);
  await sessions.forget(sessionId);
}

/** Follows a link of the conversation: into the folder, or to a page after the editor's own question. */
async function open({ chat }: App, href: string): Promise<void> {
  const target = targetOf(href);
  if (target?.kind === "page") await vscode.env.openExternal(vscode.Uri.parse(target.address, true));
  const { folder } = chat;
  if (target?.kind !== "file" || folder === undefined) return;
  const { uri } = await inFolder(target.path, folder.uri);
  const line = target.line === undefined ? undefined : target.line - 1;
  await vscode.window.showTextDocument(uri, {
    preview: true,
    ...(line !== undefined && { selection: new vscode.Range(line, 0, line, 0) }),
  });
}

/** Why a compaction cannot be undone, and what can be done, without the ids that a person does not know. */
function cannotUndo({ needed, limit, ways }: Extract<ErrorData, { kind: "CannotUndo" }>): Said {
  const figure = (count: number): string => count.toLocaleString("en-US");
  const why = needed > 0 ? `: the prompt would need ${figure(needed)} tokens, but only ${figure(limit)} fit` : "";
  const words = ways.map((way) => {
    switch (way.way) {
      case "undoFirst":
        return "Undo the newer compaction first.";
      case "redo":
        return "Redo it with a focus, or restore some of its messages.";
      case "pin":
        return `Pin the messages you need: up to ${figure(way.mostTokens)} tokens fit.`;
      case "window":
        return `Choose a model with a context window of at least ${figure(way.tokens)} tokens, then undo.`;
      default:
        return "";
    }
  });
  const larger = ways.some(({ way }) => way === "window") ? [{ ...CHOOSE, label: "Choose Another Model…" }] : [];
  return {
    level: "warning",
    text: `This compaction cannot be undone${why}. Nothing was changed.`,
    detail: words.filter((word) => word !== "").join("\n"),
    actions: [...larger, DISMISS],
  };
}
