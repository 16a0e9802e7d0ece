// The panel in its two places, the view and an editor tab: what they show, and which of them the user is in.

import type { Session } from "@threadhold/client";
import * as vscode from "vscode";
import type { Tracker } from "../changes/tracker.ts";
import { configuration } from "../configuration.ts";
import type { Models } from "../models/models.ts";
import type { Rewind } from "../rewind/rewind.ts";
import type { Backend } from "../session/backend.ts";
import type { Changed, Chat } from "../session/chat.ts";
import type { Sessions } from "../session/session-list.ts";
import type { MessageVersions } from "../shared/versions.ts";
import type { Action, Frame, NoticeRow, ServerConsent, ToPanel } from "../shared/view.ts";
import { ownTool, whyAsked } from "../tools/toolbox.ts";
import { WHY } from "./compaction-row.ts";
import type { RowContext } from "./conversation.ts";
import { activityOf, EMPTY, endNoticesOf, isBusy, meterOf, planNoticeOf, todosOf, Warning, waitingOf } from "./frame.ts";
import { iconOf, optionsOf, pageOf } from "./html.ts";
import { Place } from "./place.ts";
import type { PanelUpdates } from "./updates.ts";

/** Type of the editor tab. */
export const TAB = "threadhold.editor";

/** Actions that the webview does by itself: the user may be elsewhere. */
const BY_ITSELF: ReadonlySet<Action["type"]> = new Set(["ready", "drawn", "highlight"]);

/** Context of the key bindings that hold in the panel. The editor itself knows no focus of a webview in a view. */
const FOCUSED = "threadhold.panelFocused";

export class Panel implements vscode.WebviewViewProvider, vscode.WebviewPanelSerializer {
  readonly #extension: vscode.Uri;
  readonly #backend: Backend;
  readonly #chat: Chat;
  readonly #models: Models;
  readonly #act: (action: Action, place: Place) => void;
  readonly #inView: Place;
  readonly #inTab: Place;
  readonly #warning = new Warning();
  /** Versions of messages, by the message whose row shows them. */
  versionsOf: () => ReadonlyMap<string, MessageVersions> = () => new Map();
  /** The tool server that waits for consent. */
  serverAsked: () => ServerConsent | undefined = () => undefined;
  #sessions: Sessions | undefined;
  #rewind: Rewind | undefined;
  #tracker: Tracker | undefined;
  #view: vscode.WebviewView | undefined;
  #tab: vscode.WebviewPanel | undefined;
  /** Those that have the focus: of one that loses it, that is told later than of one that gets it. */
  readonly #focused = new Set<Place>();
  /** The user was in the tab last. */
  #isTabLast = false;
  #notice: NoticeRow | undefined;
  /** The session that the places are told of. */
  #session: Session | undefined;

  constructor(extension: vscode.Uri, backend: Backend, chat: Chat, models: Models, act: (action: Action, place: Place) => void) {
    this.#extension = extension;
    this.#backend = backend;
    this.#chat = chat;
    this.#models = models;
    this.#act = act;
    const content = {
      chat,
      session: () => this.#session,
      frame: () => this.#wholeFrame(),
      rows: (updates: PanelUpdates) => this.#changedRows(updates),
      act: (action: Action, place: Place) => this.#hear(action, place),
    };
    this.#inView = new Place(content);
    this.#inTab = new Place(content);
  }

  /** Opens the panel where the user was in it last, and makes it active. */
  async open(): Promise<void> {
    if (this.#isTabLast) this.#tab?.reveal();
    else await vscode.commands.executeCommand("threadhold.panel.focus");
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
    return (this.#view?.visible === true || this.#tab?.visible === true) && vscode.window.state.focused;
  }

  /** Shows at the panel's icon how many decisions wait. */
  count(decisions: number): void {
    const tooltip = decisions === 1 ? "1 call waits for your decision" : `${decisions} calls wait for your decision`;
    if (this.#view !== undefined) this.#view.badge = decisions === 0 ? undefined : { value: decisions, tooltip };
  }

  get warning(): Warning {
    return this.#warning;
  }

  /** The place that the user was in last, as far as it is open. */
  get active(): Place {
    return this.#isTabLast ? this.#inTab : this.#inView;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.#view = view;
    this.#prepare();
    view.webview.options = optionsOf(this.#extension);
    this.#inView.attach(view.webview, pageOf(view.webview, this.#extension, "panel", "Agent"));
    view.onDidChangeVisibility(() => {
      if (view.visible) this.#isTabLast = false;
    });
    view.onDidDispose(() => {
      if (this.#view === view) this.#view = undefined;
      this.#inView.detach(view.webview);
      this.#setFocused(this.#inView, false);
    });
  }

  /** Shows the same session in an editor tab. */
  openInEditor(): void {
    if (this.#tab !== undefined) return this.#tab.reveal();
    const options = { ...optionsOf(this.#extension), retainContextWhenHidden: true };
    this.#attachTab(vscode.window.createWebviewPanel(TAB, titleOf(this.#session), vscode.ViewColumn.Active, options));
    this.#inTab.focus();
  }

  /** Shows it in a tab that the editor restored. */
  async deserializeWebviewPanel(tab: vscode.WebviewPanel): Promise<void> {
    // One tab is enough.
    if (this.#tab !== undefined) return tab.dispose();
    tab.webview.options = optionsOf(this.#extension);
    this.#attachTab(tab);
  }

  /** Begins to open the session while the page is still loaded. What fails is told once the page asks again. */
  #prepare(): void {
    if (this.#chat.folder !== undefined) this.#chat.ready().catch(() => undefined);
  }

  #attachTab(tab: vscode.WebviewPanel): void {
    this.#tab = tab;
    this.#prepare();
    this.#isTabLast = tab.active;
    tab.iconPath = iconOf(this.#extension);
    this.#inTab.attach(tab.webview, pageOf(tab.webview, this.#extension, "panel", "Agent"));
    tab.onDidChangeViewState(() => {
      if (tab.active) this.#isTabLast = true;
      // It is behind another tab: what is to be seen is shown in the view.
      else if (!tab.visible) this.#isTabLast = false;
    });
    tab.onDidDispose(() => {
      this.#tab = undefined;
      this.#isTabLast = false;
      this.#inTab.detach(tab.webview);
      this.#setFocused(this.#inTab, false);
    });
  }

  /** Has an action carried out. What is typed in one place is seen in the other. */
  #hear(action: Action, place: Place): void {
    if (action.type === "focused") return this.#setFocused(place, action.on);
    if (!BY_ITSELF.has(action.type)) this.#isTabLast = place === this.#inTab;
    const other = place === this.#inTab ? this.#inView : this.#inTab;
    if (action.type === "draft") other.follow(action.text, action.sessionId);
    if (action.type === "send" || action.type === "sendPrompt") other.follow("", this.#session?.id ?? "");
    this.#act(action, place);
  }

  #setFocused(place: Place, on: boolean): void {
    this.#focused[on ? "add" : "delete"](place);
    void vscode.commands.executeCommand("setContext", FOCUSED, this.#focused.size > 0);
  }

  /** Gives the prompt of the active place the focus, as soon as there is one. */
  focus(): void {
    this.active.focus();
  }

  /** Something changed. */
  update(changed: Changed): void {
    const { session } = this.#chat;
    // It may be shown before it is told.
    if (changed.session || session !== this.#session) this.#show(session);
    for (const place of [this.#inView, this.#inTab]) place.update(changed);
    if (this.#tab !== undefined) this.#tab.title = titleOf(session);
  }

  /** A call of a command printed something. */
  printed(callId: string): void {
    for (const place of [this.#inView, this.#inTab]) place.printed(callId);
  }

  /** Another session is shown, or the same one through another sidecar. */
  #show(session: Session | undefined): void {
    this.#warning.reset();
    // What was said before there was a session is still true.
    if (this.#session !== undefined) this.#notice = undefined;
    this.#session = session;
    for (const place of [this.#inView, this.#inTab]) place.show(session);
  }

  /** Says something above the conversation; nothing takes it away. */
  say(notice: Omit<NoticeRow, "kind" | "id" | "rev"> | undefined): void {
    this.#notice = notice === undefined ? undefined : { kind: "notice", id: "said", rev: 0, ...notice };
    this.update({ session: false, streamingOnly: false });
  }

  /** Shows a message or a compaction in the active place, as soon as it is drawn. */
  reveal(id: string): void {
    this.active.reveal(id);
  }

  /** Other colours hold from now on. */
  recolor(): void {
    for (const place of [this.#inView, this.#inTab]) place.recolor();
  }

  #changedRows(updates: PanelUpdates): ToPanel[] {
    const view = this.#session?.view;
    if (view === undefined) return updates.nothing();
    const { snapshot, compacting } = view;
    const review = this.#chat.reviews.shown;
    const plan = this.#chat.modes.isPlanning(snapshot.sessionId) ? planNoticeOf(snapshot) : undefined;
    const rewound = this.#rewind?.notice;
    const beside: RowContext = {
      running: this.#chat.running,
      durations: this.#chat.durations,
      hasDiff: (name) => ownTool(name)?.preview !== undefined,
      runsCommands: (name) => ownTool(name)?.kind === "execute",
      whyAsked,
      effectsOf: (given) => this.#chat.effectsOf(given),
      cuts: this.#chat.inspected?.cuts ?? [],
      versions: this.versionsOf(),
      compactions: this.#chat.inspected?.compactions ?? [],
      ...(view.lastEnd !== undefined && { lastEnd: view.lastEnd }),
      notices: [...endNoticesOf(view, this.#chat.isInterrupted), ...[plan, rewound].filter((notice) => notice !== undefined)],
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
    return updates.rows(snapshot, beside);
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
      title: titleOf(session),
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

function titleOf(session: Session | undefined): string {
  if (session === undefined) return EMPTY.title;
  const { title, messages } = session.view.snapshot;
  return title ?? (messages.length === 0 ? EMPTY.title : "Untitled session");
}

const NO_FOLDER: Frame["sidecar"] = {
  state: "none",
  title: "No folder is open",
  text: "Sessions belong to a folder on disk. Open a folder to see its sessions.",
  actions: [{ label: "Open Folder…", action: { type: "command", command: "openFolder" } }],
};
