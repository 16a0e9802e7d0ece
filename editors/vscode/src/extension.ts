// The extension's beginning and end: makes the parts, joins them, and ends the sidecar with the window.

import type { Client, Handlers, Part } from "@threadhold/client";
import { argumentsOf } from "@threadhold/client";
import * as vscode from "vscode";
import { Changes } from "./changes/changes.ts";
import { Lenses } from "./changes/lenses.ts";
import { Proposals } from "./changes/proposals.ts";
import { Tracker } from "./changes/tracker.ts";
import { Views } from "./changes/views.ts";
import { type App, act } from "./commands/actions.ts";
import { registerCommands } from "./commands/commands.ts";
import { LastEditor } from "./commands/insert.ts";
import { configuration } from "./configuration.ts";
import { elicit } from "./elicit/ask.ts";
import { installedHighlighter } from "./highlight/installed.ts";
import { Keys } from "./models/keys.ts";
import { Models } from "./models/models.ts";
import { Notifications } from "./panel/notifications.ts";
import { Panel, TAB } from "./panel/panel.ts";
import { Status } from "./panel/status.ts";
import { Participant } from "./participant/participant.ts";
import { BeforeImages, sessionOf } from "./rewind/before-images.ts";
import { Keeping } from "./rewind/keeping.ts";
import { Restorer } from "./rewind/restorer.ts";
import { Rewind } from "./rewind/rewind.ts";
import { RulesPage } from "./rules/page.ts";
import { Attachments } from "./session/attachments.ts";
import { Backend } from "./session/backend.ts";
import { Chat } from "./session/chat.ts";
import { Demonstration } from "./session/demonstration.ts";
import { Sessions } from "./session/session-list.ts";
import { SessionMarks } from "./session/session-marks.ts";
import { ShownVersions } from "./session/shown-versions.ts";
import { SERVER_FILES, ToolServers } from "./session/tool-servers.ts";
import { Diffs } from "./tools/edit.ts";
import { isAnythingLeft, stopAll } from "./tools/run.ts";
import { ownTool } from "./tools/toolbox.ts";

let backend: Backend | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("threadhold", { log: true });
  const keys = new Keys(context);
  const models = new Models(log, keys);
  const diffs = new Diffs();
  const handlers: Handlers = {
    modelComplete: (request, stream, signal) => models.complete(request, stream, signal),
    countTokens: (request, signal) => models.count(request, signal),
    toolInvoke: (call, signal) => chat.invoke(call, signal),
    compactionReview: (request, signal) => chat.reviews.ask(request, signal),
    elicit,
  };
  backend = new Backend(context, log, keys, models, handlers);
  const { storageUri } = context;
  const home = storageUri === undefined ? undefined : vscode.Uri.joinPath(storageUri, "before-images").fsPath;
  const images = home === undefined ? undefined : new BeforeImages(home, () => configuration().rewindBytes);
  const client = async (): Promise<Client> => {
    if (backend === undefined) throw new Error("the extension has ended");
    return backend.client();
  };
  const keeping =
    images &&
    new Keeping(
      images,
      client,
      () => configuration().rewindsCommands,
      isAnythingLeft,
      (text) => log.warn(text),
    );
  const chat = new Chat(backend, models, new Attachments(), context.workspaceState, keeping);
  const panel = new Panel(context.extensionUri, backend, chat, models, (action, place) => void act(app, action, place));
  chat.outputs.onPrinted = (callId) => panel.printed(callId);
  const sessions = new Sessions(backend, chat, new SessionMarks(context.workspaceState), () => chat.changed());
  panel.sessions = sessions;
  const servers = new ToolServers({
    client,
    folder: () => chat.folder?.uri.fsPath,
    changed: () => panel.update({ session: false, streamingOnly: false }),
  });
  panel.serverAsked = () => servers.asked;
  const restorer = new Restorer();
  const tracker = new Tracker(chat, images, (text) => log.warn(text));
  const changes = images && new Changes(chat, images, tracker, restorer);
  const views = new Views(tracker);
  const proposals = new Proposals();
  const last = new LastEditor();
  const rules = new RulesPage(context.extensionUri, chat, client);
  panel.tracker = tracker;
  const rewind = new Rewind(chat, images, diffs, restorer, async (before, files) => changes?.rewound(before, files));
  panel.rewind = rewind;
  const versions = new ShownVersions(chat, backend, (text) => log.warn(text));
  panel.versionsOf = () => versions.of;
  const demonstration = new Demonstration(context, backend, chat);
  chat.openOverrides = (sessionId) => demonstration.openOverrides(sessionId);
  const showDiff = async (callId: string): Promise<void> => {
    const { folder } = chat;
    const reason = chat.session?.view.snapshot.pause?.reasons.find(({ toolCallId }) => toolCallId === callId);
    if (reason === undefined) return showEnded(callId);
    const given = argumentsOf(reason);
    if (given === undefined || folder === undefined) return;
    const change = await ownTool(reason.name)?.preview?.(given, folder.uri);
    if (change !== undefined) await diffs.show(callId, change);
  };
  /** Shows what an edit changed that has ended. */
  const showEnded = async (callId: string): Promise<void> => {
    const { folder, session } = chat;
    const isIt = (part: Part): boolean => part.type === "toolCall" && part.id === callId;
    const turnId = session?.view.snapshot.messages.findLast(({ parts }) => parts.some(isIt))?.turnId;
    if (folder === undefined || images === undefined || turnId === undefined) return;
    const [image] = await images.of([{ turnId, toolCallId: callId }]);
    if (image === undefined) throw new Error("the contents of this file before the edit are not kept");
    await views.showEdit(image, await images.ofSession(sessionOf(image)), images, folder.uri);
  };
  const { highlighter, watch } = installedHighlighter(() => panel.recolor());
  const parts = {
    backend,
    chat,
    panel,
    sessions,
    servers,
    rewind,
    restorer,
    tracker,
    views,
    images,
    changes,
    proposals,
    last,
    rules,
    demonstration,
  };
  const app: App = { ...parts, highlighter, log, showDiff };
  const status = new Status(backend, chat, models);
  const notifications = new Notifications({
    isSeen: (session) => panel.isSeen && chat.session === session,
    wanted: () => configuration().notify,
    show: (sessionId) => void vscode.commands.executeCommand("threadhold.showSession", sessionId),
    count: (decisions) => panel.count(decisions),
  });
  const asked = new Set<string>();
  const lookForServers = (): void => void servers.refresh().catch((error: unknown) => log.warn(String(error)));
  const redraw = (): void => {
    status.update();
    panel.update({ session: false, streamingOnly: false });
  };
  const participant = new Participant(backend, chat, models, log);
  chat.isAnswering = (sessionId) => participant.isAnswering(sessionId);
  context.subscriptions.push(
    ...participant.register(vscode.Uri.joinPath(context.extensionUri, "media", "icon.svg")),
    log,
    watch,
    models,
    diffs,
    tracker,
    views,
    proposals,
    last,
    rules,
    new Lenses(tracker),
    backend,
    chat,
    status,
    vscode.window.registerWebviewPanelSerializer(TAB, panel),
    vscode.window.registerWebviewViewProvider("threadhold.panel", panel, { webviewOptions: { retainContextWhenHidden: true } }),
    models.onChange(() => {
      redraw();
      void backend
        ?.configure()
        .then(() => chat.followModel())
        .catch((error: unknown) => log.error(String(error)));
    }),
    backend.onChange(redraw),
    tracker.onChange(() => panel.update({ session: false, streamingOnly: false })),
    backend.onSessions(() => void sessions.refresh().catch((error: unknown) => log.error(String(error)))),
    backend.onReplace(() => void chat.reopen().catch((error: unknown) => log.error(String(error)))),
    chat.onChange((changed) => {
      panel.update(changed);
      if (changed.streamingOnly) return;
      status.update();
      void versions.find();
      if (chat.session !== undefined) notifications.look(chat.session);
      if (changed.session) lookForServers();
      void showNewDiffs();
    }),
    chat.onBackground((session) => notifications.look(session)),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("threadhold")) void backend?.configure().catch((error: unknown) => log.error(String(error)));
      // What a sidecar is started with.
      if (["binary", "storage", "log"].some((name) => change.affectsConfiguration(`threadhold.${name}`))) void restart();
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(redraw),
    ...watched(chat.folder, () => chat.session !== undefined && lookForServers()),
  );
  registerCommands(context, app, models, keys);
  void models.refresh();

  /** Opens the diff of each edit that begins to wait, and closes those that wait no longer. */
  async function showNewDiffs(): Promise<void> {
    const reasons = chat.session?.view.snapshot.pause?.reasons ?? [];
    const waiting = new Set(reasons.map(({ toolCallId }) => toolCallId));
    for (const callId of asked) {
      if (waiting.has(callId)) continue;
      asked.delete(callId);
      await diffs.close(callId);
    }
    for (const { toolCallId, name } of reasons) {
      if (asked.has(toolCallId) || ownTool(name)?.preview === undefined) continue;
      asked.add(toolCallId);
      // An edit that cannot be made is decided about all the same; its result says why.
      if (configuration().showDiff) await showDiff(toolCallId).catch((error: unknown) => log.warn(String(error)));
    }
  }

  async function restart(): Promise<void> {
    await backend?.restart().catch((error: unknown) => log.error(String(error)));
  }
}

export async function deactivate(): Promise<void> {
  stopAll();
  await backend?.end();
}

/** Tells when a file changed that may define tool servers. */
function watched(folder: vscode.WorkspaceFolder | undefined, changed: () => void): vscode.Disposable[] {
  if (folder === undefined) return [];
  const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(folder, SERVER_FILES));
  return [watcher, watcher.onDidCreate(changed), watcher.onDidChange(changed), watcher.onDidDelete(changed)];
}
