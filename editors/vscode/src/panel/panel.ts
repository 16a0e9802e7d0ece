// The panel's webview: its page with a strict content security policy, and sending it updates as fast as it draws them;
// changes in between are sent together.

import { randomBytes } from "node:crypto";
import type { Session } from "@threadhold/client";
import * as vscode from "vscode";
import type { Tracker } from "../changes/tracker.ts";
import { configuration } from "../configuration.ts";
import type { Models } from "../models/models.ts";
import type { Rewind } from "../rewind/rewind.ts";
import type { Backend } from "../session/backend.ts";
import type { Changed, Chat } from "../session/chat.ts";
import type { Sessions } from "../session/session-list.ts";
import type { CodeColors, CodePiece } from "../shared/code.ts";
import { HostChannel, type PageMessage } from "../shared/envelope.ts";
import { textOf } from "../shared/slash.ts";
import type { MessageVersions } from "../shared/versions.ts";
import type { Action, Frame, NoticeRow, ServerConsent, ToPanel } from "../shared/view.ts";
import { ownTool } from "../tools/toolbox.ts";
import { WHY } from "./compaction-row.ts";
import type { RowContext } from "./conversation.ts";
import { activityOf, EMPTY, endNoticesOf, isBusy, meterOf, planNoticeOf, todosOf, Warning, waitingOf } from "./frame.ts";
import { PanelUpdates } from "./updates.ts";

export class Panel implements vscode.WebviewViewProvider {
  readonly #extension: vscode.Uri;
  readonly #backend: Backend;
  readonly #chat: Chat;
  readonly #models: Models;
  readonly #act: (action: Action) => void;
  readonly #telling = new PanelUpdates();
  readonly #end = new HostChannel();
  readonly #warning = new Warning();
  /** Versions of messages, by the message whose row shows them. */
  versionsOf: () => ReadonlyMap<string, MessageVersions> = () => new Map();
  /** The tool server that waits for consent. */
  serverAsked: () => ServerConsent | undefined = () => undefined;
  #sessions: Sessions | undefined;
  #rewind: Rewind | undefined;
  #tracker: Tracker | undefined;
  #view: vscode.WebviewView | undefined;
  /** The webview is still drawing the last update. */
  #drawing = false;
  #behind: "nothing" | "streaming" | "all" = "nothing";
  /** Calls that printed something since the last update. */
  readonly #printed = new Set<string>();
  #notice: NoticeRow | undefined;
  /** The session that the webview is told of. */
  #session: Session | undefined;
  /** The webview still needs the session's draft. */
  #owesDraft = true;
  /** A message or a compaction that is to be shown, and its session. */
  #revealed: { session: Session | undefined; of: string } | undefined;
  #wantsFocus = false;

  constructor(extension: vscode.Uri, backend: Backend, chat: Chat, models: Models, act: (action: Action) => void) {
    this.#extension = extension;
    this.#backend = backend;
    this.#chat = chat;
    this.#models = models;
    this.#act = act;
  }

  /** Opens the panel, wherever the user put it, and makes it the active view. */
  async open(): Promise<void> {
    await vscode.commands.executeCommand("threadhold.panel.focus");
  }

  /** Where the list of sessions comes from. */
  set sessions(sessions: Sessions) {
    this.#sessions = sessions;
  }

  /** Where the question comes from that stands before a part of the conversation is taken away. */
  set rewind(rewind: Rewind) {
    this.#rewind = rewind;
  }

  /** Where the changed files come from. */
  set tracker(tracker: Tracker) {
    this.#tracker = tracker;
  }

  /** True if the user sees it, and the window has the focus. */
  get isSeen(): boolean {
    return this.#view?.visible === true && vscode.window.state.focused;
  }

  /** Shows at the panel's icon how many decisions wait. */
  count(decisions: number): void {
    const tooltip = decisions === 1 ? "1 call waits for your decision" : `${decisions} calls wait for your decision`;
    if (this.#view !== undefined) this.#view.badge = decisions === 0 ? undefined : { value: decisions, tooltip };
  }

  get warning(): Warning {
    return this.#warning;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.#view = view;
    // What is posted before a page says that it is there would wait for it, and be drawn beside what it asks for.
    this.#end.close();
    const { webview } = view;
    webview.options = { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(this.#extension, "dist")] };
    webview.html = page(webview, this.#extension);
    webview.onDidReceiveMessage((done: PageMessage) => {
      if (this.#view === view) this.#hear(done);
    });
    view.onDidDispose(() => {
      if (this.#view !== view) return;
      this.#view = undefined;
      this.#end.close();
    });
  }

  /** Has an action carried out that is meant for what is shown. */
  #hear(done: PageMessage): void {
    const { about, action } = done;
    if (action.type === "ready") this.#end.open(about.page);
    if (this.#end.accepts(done, this.#chat.shownId)) this.#act(action);
    // What the user typed is theirs, whatever is shown by now.
    else if (action.type === "send" || action.type === "edit") this.giveBack(action.text);
    else if (action.type === "slash" || action.type === "sendPrompt") this.giveBack(textOf(action));
  }

  /** Gives the prompt the focus, as soon as there is one. */
  focus(): void {
    this.#post([{ type: "focus" }]);
    this.#wantsFocus = !this.#end.isHeard;
  }

  /** Puts words into the prompt that could not be sent. */
  giveBack(text: string): void {
    this.#post([{ type: "unsent", text }]);
  }

  /** The webview begins: it has nothing. */
  begin(): void {
    this.#forget();
    this.update({ session: false, streamingOnly: false });
    // Behind the frame, which says whether the prompt can be typed into already.
    if (this.#wantsFocus) this.focus();
  }

  /** The webview drew what it was told. */
  drawn(): void {
    this.#drawing = false;
    if (this.#behind !== "nothing" || this.#printed.size > 0) this.#tell();
  }

  /** Something changed. */
  update({ session: isOther, streamingOnly }: Changed): void {
    const { session } = this.#chat;
    // It may be shown before it is told.
    if (isOther || session !== this.#session) this.#show(session);
    if (this.#behind !== "all") this.#behind = streamingOnly ? "streaming" : "all";
    if (!this.#drawing) this.#tell();
  }

  /** A call of a command printed something. */
  printed(callId: string): void {
    this.#printed.add(callId);
    if (!this.#drawing) this.#tell();
  }

  /** Another session is shown, or the same one through another sidecar. */
  #show(session: Session | undefined): void {
    this.#warning.reset();
    // What was said before there was a session is still true.
    if (this.#session !== undefined) this.#notice = undefined;
    this.#session = session;
    this.#end.show(session?.id);
    this.#forget();
  }

  /** Says something above the conversation; nothing takes it away. */
  say(notice: Omit<NoticeRow, "kind" | "id" | "rev"> | undefined): void {
    this.#notice = notice === undefined ? undefined : { kind: "notice", id: "said", rev: 0, ...notice };
    this.update({ session: false, streamingOnly: false });
  }

  /** Shows a message or a compaction of the session that is shown, as soon as it is drawn. */
  reveal(id: string): void {
    this.#revealed = { session: this.#chat.session, of: id };
    this.update({ session: false, streamingOnly: false });
  }

  /** Tells something of a session beside its rows; nothing where another one is shown by now. */
  tell(sessionId: string, message: ToPanel): void {
    if (sessionId === this.#session?.id) this.#post([message]);
  }

  /** Offers what something may become that is being typed into the prompt. */
  offer(message: Extract<ToPanel, { type: "mentions" | "tools" | "prompts" }>): void {
    this.#post([message]);
  }

  /** Gives colours of a piece of code that the webview asked for. */
  color(piece: CodePiece, colors: CodeColors | undefined): void {
    this.#post([{ type: "colors", block: piece.block, at: piece.at, ...(colors !== undefined && { colors }) }]);
  }

  /** Other colours hold from now on. */
  recolor(): void {
    this.#post([{ type: "recolor" }]);
  }

  /** The one way to the webview. */
  #post(messages: ToPanel[]): void {
    const told = this.#end.seal(messages);
    if (told !== undefined) void this.#view?.webview.postMessage(told);
  }

  #forget(): void {
    this.#telling.forget();
    this.#drawing = false;
    this.#behind = "all";
    this.#owesDraft = true;
    for (const callId of this.#chat.running.keys()) this.#printed.add(callId);
  }

  #tell(): void {
    if (!this.#end.isHeard) return;
    const session = this.#session;
    const behind = this.#behind;
    const streaming = behind === "streaming" ? session?.view.snapshot : undefined;
    this.#behind = "nothing";
    const told = behind === "nothing" ? [] : streaming === undefined ? this.#changedRows() : this.#telling.grown(streaming);
    // While words follow words, nothing around them changes.
    if (behind !== "nothing" && told[0]?.type !== "append")
      told.push(...this.#telling.frame(this.#wholeFrame(), this.#chat.attachments.pictures));
    // While the sidecar restarts, no session is shown, and the prompt stays with the one that was.
    if (this.#owesDraft && session !== undefined) {
      told.unshift({ type: "draft", text: session.view.snapshot.draft ?? "", sessionId: session.id });
      this.#owesDraft = false;
    }
    if (this.#revealed !== undefined && this.#revealed.session === session) told.push({ type: "reveal", of: this.#revealed.of });
    this.#revealed = undefined;
    told.push(...this.#outputs());
    if (told.length === 0) return;
    this.#drawing = true;
    this.#post(told);
  }

  /** What calls of the session printed that still run. */
  #outputs(): ToPanel[] {
    const told: ToPanel[] = [];
    for (const callId of this.#printed) {
      const text = this.#chat.outputs.of(callId);
      if (text !== undefined && this.#chat.running.get(callId)?.sessionId === this.#session?.id)
        told.push({ type: "output", callId, text });
    }
    this.#printed.clear();
    return told;
  }

  #changedRows(): ToPanel[] {
    const view = this.#session?.view;
    if (view === undefined) return this.#telling.nothing();
    const { snapshot, compacting } = view;
    const review = this.#chat.reviews.shown;
    const plan = this.#chat.modes.isPlanning(snapshot.sessionId) ? planNoticeOf(snapshot) : undefined;
    const beside: RowContext = {
      running: this.#chat.running,
      durations: this.#chat.durations,
      hasDiff: (name) => ownTool(name)?.preview !== undefined,
      runsCommands: (name) => ownTool(name)?.kind === "execute",
      effectsOf: (given) => this.#chat.effectsOf(given),
      cuts: this.#chat.inspected?.cuts ?? [],
      versions: this.versionsOf(),
      compactions: this.#chat.inspected?.compactions ?? [],
      ...(view.lastEnd !== undefined && { lastEnd: view.lastEnd }),
      notices: [...endNoticesOf(view, this.#chat.isInterrupted), ...(plan === undefined ? [] : [plan])],
    };
    const rewind = this.#rewind?.row;
    if (rewind !== undefined) beside.rewind = rewind;
    if (review !== undefined) beside.compacting = review;
    else if (compacting !== undefined || snapshot.compression.running) {
      const id = compacting?.compactionId ?? "next";
      const why = compacting?.trigger === undefined ? "" : WHY[compacting.trigger];
      beside.compacting = {
        kind: "compaction",
        id: `compaction ${id}`,
        rev: 0,
        compactionId: id,
        phase: "running",
        title: "Compacting",
        why,
        how: "A model is writing a summary. The answer continues afterwards.",
        block: "",
        narrative: "",
        ledger: "",
        unreviewed: false,
        excluded: 0,
        fallbacks: [],
        newest: false,
        ...(compacting?.tokensBefore !== undefined && { tokensBefore: compacting.tokensBefore }),
      };
    }
    return this.#telling.rows(snapshot, beside);
  }

  #wholeFrame(): Frame {
    const { inspected, size } = this.#chat;
    const session = this.#session;
    const view = session?.view;
    const server = this.serverAsked();
    const model = this.#models.chosen;
    // A choice of a model is what it waited for.
    if (this.#notice?.until === "model" && model !== undefined) this.#notice = undefined;
    const around = {
      ...(server !== undefined && { server }),
      sidecar: this.#chat.folder === undefined ? NO_FOLDER : this.#backend.standing,
      ...(model !== undefined && { model: model.label }),
      mode: this.#chat.modes.of(session?.id),
      attachments: this.#chat.attachments.shown,
      ...(this.#notice !== undefined && { notice: this.#notice }),
      ...(this.#sessions?.shown !== undefined && { sessions: this.#sessions.shown }),
    };
    if (view === undefined) return { ...EMPTY, ...around };
    const { snapshot } = view;
    const changes = this.#tracker?.summary;
    const todos = todosOf(snapshot);
    // Nobody knows the window yet.
    const isUnknown = size === undefined || (model === undefined && snapshot.messages.length === 0);
    const meter = isUnknown ? undefined : meterOf(size, snapshot, this.#chat.wantsDetails ? inspected : undefined);
    this.#warning.take(meter, configuration().warnBeforeCompaction);
    return {
      ...around,
      sessionId: snapshot.sessionId,
      title: snapshot.title ?? (snapshot.messages.length === 0 ? "New session" : "Untitled session"),
      state: snapshot.state,
      activity: session?.freshness === "offline" ? "Restarting the sidecar" : activityOf(view),
      busy: isBusy(snapshot),
      queue: waitingOf(snapshot),
      // Who writes it elsewhere decides.
      asked: (snapshot.heldBy === undefined ? (snapshot.pause?.reasons ?? []) : []).map(({ toolCallId }) => toolCallId),
      ...(snapshot.heldBy !== undefined && { heldBy: { pid: snapshot.heldBy.pid } }),
      ...(meter !== undefined && { meter }),
      ...(changes !== undefined && { changes }),
      ...(todos !== undefined && { todos }),
      ...(this.#warning.text !== undefined && !snapshot.compression.running && { warning: this.#warning.text }),
    };
  }
}

const NO_FOLDER: Frame["sidecar"] = {
  state: "none",
  title: "No folder is open",
  text: "Sessions belong to a folder on disk. Open a folder to see its sessions.",
  actions: [{ label: "Open Folder…", action: { type: "command", command: "openFolder" } }],
};

/** The page. Its policy lets in this extension's own script and style, and pictures that are data. */
function page(webview: vscode.Webview, extension: vscode.Uri): string {
  const nonce = randomBytes(18).toString("base64url");
  const own = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(extension, "dist", name)).toString();
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${webview.cspSource}; img-src data:; base-uri 'none'; form-action 'none';`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${own("panel.css")}">
<title>Agent</title>
</head>
<body>
<script nonce="${nonce}" src="${own("panel.js")}"></script>
</body>
</html>`;
}
