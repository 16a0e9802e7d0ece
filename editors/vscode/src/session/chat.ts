// The session that this window shows: opens it, follows it where another window writes it, asks, runs its tool calls.

import { resolve } from "node:path";
import {
  type ContextInspectResult,
  type ContextSize,
  isProtocolError,
  type Part,
  type Session,
  type SessionOpenParams,
  type SessionSummary,
  type ToolInvokeParams,
  type ToolInvokeResult,
  type TurnStartParams,
} from "@threadhold/client";
import * as vscode from "vscode";
import { configuration } from "../configuration.ts";
import { NamedTools } from "../mentions/named-tools.ts";
import { ServerListing } from "../mentions/server-offers.ts";
import type { Models } from "../models/models.ts";
import { textIn } from "../panel/conversation.ts";
import { isBusy } from "../panel/frame.ts";
import type { Before } from "../rewind/before-images.ts";
import type { Keeping } from "../rewind/keeping.ts";
import { KeyedQueue } from "../shared/keyed-queue.ts";
import { isTraced, offered, run } from "../tools/toolbox.ts";
import type { Attachments, PendingAttachment } from "./attachments.ts";
import type { Backend } from "./backend.ts";
import { Background } from "./background.ts";
import { CommandEffects } from "./command-effects.ts";
import { ACCEPTED, Modes } from "./modes.ts";
import { Reviews } from "./reviews.ts";
import { LiveOutputs, type RunningCall } from "./running-calls.ts";
import { passUnreadable } from "./unreadable-calls.ts";

const LAST = "threadhold.lastSession";
/** So many messages of a session are shown at first, and as many more whenever earlier ones are looked for. */
const PAGE = 400;

const OF_EDITOR = "This session belongs to the editor's own chat. Continue it there with @threadhold, or start a new session here.";

/** Scope of a change. */
export interface Changed {
  /** Another session is shown. */
  session: boolean;
  /** Nothing but the answer that is being written went on. */
  streamingOnly: boolean;
}

export class Chat implements vscode.Disposable {
  readonly #backend: Backend;
  readonly #models: Models;
  readonly #state: vscode.Memento;
  readonly attachments: Attachments;
  readonly modes: Modes;
  readonly #named = new NamedTools();
  readonly servers = new ServerListing();
  readonly #changed = new vscode.EventEmitter<Changed>();
  readonly onChange = this.#changed.event;
  readonly #behind = new vscode.EventEmitter<Session>();
  /** Changes of a session that is open and not shown. */
  readonly onBackground = this.#behind.event;
  /** Calls that run in this window, by their ids. */
  readonly running = new Map<string, RunningCall>();
  /** What they print. */
  readonly outputs = new LiveOutputs();
  /** Results that the sidecar may not have received yet. */
  readonly #finished = new Map<string, { sessionId: string; stream: string | undefined; result: ToolInvokeResult }>();
  /** How long calls took that ran here. */
  readonly durations = new Map<string, number>();
  /** Compactions that the user is asked about. */
  readonly reviews = new Reviews(
    () => this.#session,
    () => this.changed(),
  );
  readonly #keeping: Keeping | undefined;
  /** Parameters that override the settings when a session is opened. */
  openOverrides: (sessionId: string | undefined) => Partial<SessionOpenParams> | undefined = () => undefined;
  /** True if the editor's own chat answers in a session. */
  isAnswering: (sessionId: string) => boolean = () => false;
  #session: Session | undefined;
  /** The session that was asked for last, while it is opened; a new one has no id. */
  #wanted: { id: string | undefined; opened: Promise<Session> } | undefined;
  /** Those that are not shown and not at rest. */
  readonly #background = new Background(
    (session) => this.isShown(session) || this.isAnswering(session.id),
    (session) => {
      this.#settleCalls(session);
      this.#behind.fire(session);
    },
  );
  #starting: Promise<Session> | undefined;
  readonly #drafts = new KeyedQueue();
  /** A draft that the sidecar is being told of. */
  #typed: { session: Session; text: string } | undefined;
  /** What commands do to files. */
  readonly effects = new CommandEffects(
    () => this.#backend.client(),
    () => this.changed(),
  );
  #inspected: ContextInspectResult | undefined;
  #wantsDetails = false;
  #wasBusy = false;
  #isInterrupted = false;
  #inspecting = false;
  #isStale = false;
  #isAskedLast = false;
  #isReading = false;
  #isOver = false;
  #ends: { dispose(): void }[] = [];

  constructor(backend: Backend, models: Models, attachments: Attachments, state: vscode.Memento, keeping: Keeping | undefined) {
    this.#backend = backend;
    this.#models = models;
    this.attachments = attachments;
    this.#state = state;
    this.modes = new Modes(state);
    this.#keeping = keeping;
  }

  dispose(): void {
    for (const end of this.#ends) end.dispose();
    this.#background.dispose();
    // What runs for the agent ends with the window. No result is told of it: the call stays open, for the user to decide about.
    this.#isOver = true;
    for (const { stop } of this.running.values()) stop.abort();
    this.#changed.dispose();
    this.#behind.dispose();
  }

  /** The folder whose sessions these are. */
  get folder(): vscode.WorkspaceFolder | undefined {
    return vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === "file");
  }

  /** What a call of a command does to files, in sentences; undefined until that is known. */
  effectsOf({ command, folder }: { [name: string]: unknown }): readonly string[] | undefined {
    const start = this.folder?.uri.fsPath;
    if (typeof command !== "string" || start === undefined) return undefined;
    return this.effects.sentences(command, typeof folder === "string" ? resolve(start, folder) : start);
  }

  get session(): Session | undefined {
    return this.#session;
  }

  /** The session that is shown, also while it is opened anew through another sidecar. */
  get shownId(): string | undefined {
    return this.#session?.id ?? this.#wanted?.id;
  }

  /** How large the prompt is, by what was told last: an event of the session, or the answer to a question. */
  get size(): ContextSize | undefined {
    const told = this.#session?.view.context;
    return this.#isAskedLast ? (this.#inspected ?? told) : (told ?? this.#inspected);
  }

  /** All that is known of the prompt, as it was asked for last. */
  get inspected(): ContextInspectResult | undefined {
    return this.#inspected;
  }

  get wantsDetails(): boolean {
    return this.#wantsDetails;
  }

  /** True if the sidecar ended while a turn ran, and nothing was asked since. */
  get isInterrupted(): boolean {
    return this.#isInterrupted;
  }

  /** The session that was shown last, else the newest of the folder, else a new one. */
  ready(): Promise<Session> {
    if (this.#session !== undefined) return Promise.resolve(this.#session);
    // Whoever asks meanwhile, asks in the same session.
    this.#starting ??= this.#begin().finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  async #begin(): Promise<Session> {
    const last = this.#state.get<string>(LAST) ?? (await this.#newest());
    // The user may have asked for one meanwhile, as by a link.
    return this.#session ?? this.#wanted?.opened ?? this.show(last);
  }

  async #newest(): Promise<string | undefined> {
    const { folder } = this;
    if (folder === undefined) return undefined;
    const client = await this.#backend.client();
    const { sessions } = await client.request("session/list", { workspaceFolder: folder.uri.fsPath });
    // Those of the editor's own chat go on there.
    const isOurs = ({ origin, driver }: SessionSummary): boolean => driver === "sidecar" && (origin === "new" || origin === "branch");
    return sessions.find(isOurs)?.sessionId;
  }

  /** Shows a session; a new one without an id. */
  async show(sessionId: string | undefined): Promise<Session> {
    const { folder } = this;
    if (folder === undefined) throw new Error("No folder is open. Sessions belong to a folder: open a folder, then try again.");
    const wanted = { id: sessionId, opened: this.#open(folder, sessionId) };
    this.#wanted = wanted;
    try {
      const session = await wanted.opened;
      // Another one may have been asked for meanwhile.
      if (this.#wanted === wanted) await this.#take(session);
      else await this.#background.leave(session);
      return session;
    } finally {
      if (this.#wanted === wanted) this.#wanted = undefined;
      await this.#background.closeResting();
    }
  }

  async #open(folder: vscode.WorkspaceFolder, sessionId: string | undefined): Promise<Session> {
    const params = {
      workspaceFolder: folder.uri.fsPath,
      tools: this.modes.allowed(sessionId, offered()),
      sections: configuration().sections,
      settings: { ownTools: configuration().sidecarTools },
      ...this.openOverrides(sessionId),
      ...(sessionId !== undefined && { sessionId }),
    };
    const session = await this.#openOrFollow({ ...params, snapshotMessages: PAGE });
    // A short one is shown with all that is known of it.
    if (session.view.snapshot.earlierMessages === 0) await session.loadAll();
    return session;
  }

  async #openOrFollow(params: SessionOpenParams): Promise<Session> {
    try {
      return await this.#backend.open(params);
    } catch (error) {
      if (!isProtocolError(error, "SessionHeldElsewhere")) throw error;
      // Another window writes it: it is read here.
      return this.#backend.open({ ...params, follow: true });
    }
  }

  /** Shows what was said before, a part of it or all. */
  async showEarlier(all: boolean): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      if (all) await this.#session?.loadAll();
      else await this.#session?.loadEarlier(PAGE);
    } finally {
      this.#isReading = false;
    }
  }

  /** True if a session is shown, or about to be. */
  isShown(session: Session): boolean {
    return session === this.#session || session.id === this.#wanted?.id;
  }

  /** Waits until a session is closed that was shown before. */
  closed(sessionId: string): Promise<void> {
    return this.#background.closed(sessionId);
  }

  /** Has a message among those that are shown, however long ago it was said. */
  async loadUntil(ord: number): Promise<void> {
    const session = this.#session;
    const earlier = (): number => session?.view.snapshot.earlierMessages ?? 0;
    // A page holds only so much, however much is asked for.
    while (ord < earlier() && (await session?.loadEarlier(earlier() - ord + PAGE)) === true);
  }

  async #take(session: Session): Promise<void> {
    for (const end of this.#ends) end.dispose();
    const before = this.#session;
    this.#session = session;
    this.#background.forget(session);
    this.#inspected = undefined;
    this.#isInterrupted = false;
    this.#ends = [
      session.onChange(({ whole, fields }) => {
        if (session.freshness === "live" && isBusy(session.view.snapshot)) this.#isInterrupted = false;
        this.#settleCalls(session);
        this.#changed.fire({ session: false, streamingOnly: !whole && fields.size === 1 && fields.has("streaming") });
        if (fields.has("context")) this.#isAskedLast = false;
        // What the prompt shows of each message changes with these; its size is told by itself.
        const isOther = whole || fields.has("compactions") || fields.has("pins");
        if (isOther || (this.#wantsDetails && fields.has("context"))) void this.#inspectAgain();
      }),
      session.onFreshness((freshness) => {
        const { snapshot } = session.view;
        if (freshness === "offline") this.#wasBusy = isBusy(snapshot);
        else if (freshness === "live" && this.#wasBusy) {
          this.#wasBusy = false;
          // A pause and a call that is open are shown as they are.
          this.#isInterrupted = !isBusy(snapshot);
        }
        this.changed();
      }),
    ];
    this.#settleCalls(session);
    await this.#state.update(LAST, session.id);
    this.#changed.fire({ session: true, streamingOnly: false });
    // What goes on there goes on, until it rests.
    if (before !== undefined && before !== session) await this.#background.leave(before);
    await this.followModel();
    await this.inspect(this.#wantsDetails);
  }

  /** Has the session go by the model of the next request: what fits, and what can be undone, depends on it already now. */
  async followModel(): Promise<void> {
    const model = this.#models.chosen?.model;
    const session = this.#session;
    if (model === undefined || session?.freshness !== "live") return;
    const { settings, heldBy } = session.view.snapshot;
    const { name, wire, window, baseUrl, keyEnv } = settings.model ?? {};
    const isSame =
      name === model.name && wire === model.wire && window === model.window && baseUrl === model.baseUrl && keyEnv === model.keyEnv;
    if (heldBy !== undefined || isSame) return;
    await session.request("session/configure", { settings: { model } });
    await this.#inspectAgain();
  }

  /** Shows the same session through another client; the first one where none was shown. */
  async reopen(): Promise<void> {
    const id = this.#session?.id;
    this.#session = undefined;
    this.#background.dispose();
    await (id === undefined ? this.ready() : this.show(id));
  }

  /** Becomes the writer of the session that another window writes. */
  async takeOver(): Promise<void> {
    const session = await this.ready();
    await session.request("session/takeOver", {});
    if (this.isShown(session)) await this.show(session.id);
  }

  /** Asks, with what is attached. Answers false where there is no model to ask. */
  async ask(request: readonly Part[], urgent: boolean): Promise<boolean> {
    // What is attached and typed while this is sent, is of the next request; and another session may be shown meanwhile.
    const taken = this.attachments.take();
    const asked = this.ready();
    asked.catch(() => undefined);
    this.#typed = undefined;
    const cleared = this.#inOrder(async () => (await asked).request("draft/clear", {}));
    let isAsked = false;
    try {
      await cleared;
      isAsked = await this.#ask(await asked, request, taken, urgent);
    } finally {
      if (!isAsked) this.attachments.putBack(taken);
      this.changed();
    }
    return isAsked;
  }

  /** Keeps what is typed and not sent. Of a session that is not shown any more, nothing is kept but what was told in time. */
  async keepDraft(text: string, sessionId: string): Promise<void> {
    const session = this.#session;
    if (session?.id !== sessionId || session.view.snapshot.heldBy !== undefined) return;
    const typed = { session, text };
    this.#typed = typed;
    try {
      await this.#inOrder(() => session.request("draft/set", { text }));
    } finally {
      if (this.#typed === typed) this.#typed = undefined;
    }
  }

  /** What is typed in a session and not sent, also while the sidecar is being told of it. */
  draftOf(session: Session): string {
    return this.#typed?.session === session ? this.#typed.text : (session.view.snapshot.draft ?? "");
  }

  /** Draft requests in the order of the user's actions: several may arrive at once. */
  #inOrder<Answer>(act: () => Promise<Answer>): Promise<Answer> {
    return this.#drafts.run("draft", act);
  }

  async #ask(session: Session, request: readonly Part[], attached: readonly PendingAttachment[], urgent: boolean): Promise<boolean> {
    const chosen = this.#models.chosen ?? (await this.#models.refresh());
    if (chosen === undefined) return false;
    if (session.view.snapshot.driver === "editor") throw new Error(OF_EDITOR);
    const { parts, contextFiles } = await this.attachments.contents(attached);
    await this.askWith(session, [...request, ...parts], {
      model: chosen.model,
      ...(contextFiles.length > 0 && { contextFiles }),
      ...(urgent && { priority: true }),
    });
    return true;
  }

  /** Sends a request in the session's mode. */
  async askWith(session: Session, content: Part[], more: Omit<TurnStartParams, "sessionId" | "content"> = {}): Promise<void> {
    const mode = this.modes.of(session.id);
    const ofServers = async () => (await this.servers.get(session)).tools;
    const asked = await this.#named.take(session.id, textIn(content).text, isBusy(session.view.snapshot), ofServers);
    await session.ask(content, { ...this.modes.request(session.id, offered(this.#named.of(session.id)), asked), ...more });
    await this.modes.told(session.id, mode);
  }

  /** Has the agent implement the plan that the newest answer is. */
  async acceptPlan(session: Session): Promise<void> {
    // The second of two clicks comes before the new turn is told.
    if (!this.modes.isPlanning(session.id)) return;
    await this.modes.set(session.id, "agent");
    try {
      await this.askWith(session, [{ type: "text", text: ACCEPTED }]);
    } catch (error) {
      await this.modes.set(session.id, "plan");
      throw error;
    }
  }

  /** Reads what the prompt is made of; all of it as long as somebody looks at it. */
  async inspect(details: boolean): Promise<void> {
    this.#wantsDetails = details;
    // However much changes while one answer is waited for, it is asked for once more.
    this.#isStale = true;
    if (this.#inspecting) return;
    this.#inspecting = true;
    try {
      while (this.#isStale) {
        this.#isStale = false;
        const session = this.#session;
        // Who writes a session elsewhere knows; here it is only read.
        const isRead = session?.view.snapshot.heldBy !== undefined;
        const inspected = isRead ? undefined : await session?.request("context/inspect", {});
        if (session !== this.#session) continue;
        this.#inspected = inspected;
        this.#isAskedLast = true;
        this.changed();
      }
    } finally {
      this.#inspecting = false;
    }
  }

  async #inspectAgain(): Promise<void> {
    // Why it cannot be asked is said where the user asks something.
    await this.inspect(this.#wantsDetails).catch(() => undefined);
  }

  /** Runs a tool for the sidecar. */
  async invoke(call: ToolInvokeParams, signal: AbortSignal): Promise<ToolInvokeResult> {
    const { folder } = this;
    if (folder === undefined) return { content: "no folder is open in the editor", isError: true };
    const since = performance.now();
    const { toolCallId, sessionId } = call;
    const named = this.#named.of(sessionId);
    const refusal = this.modes.refusal(sessionId, call.name, offered(named));
    if (refusal !== undefined) return { content: refusal, isError: true };
    const stream = this.#find(sessionId)?.view.snapshot.stream;
    const stop = new AbortController();
    this.running.set(toolCallId, { sessionId, stream, stop });
    this.changed();
    try {
      const keeping = this.#keeping;
      const listener = {
        keep: keeping && ((before: Before) => keeping.keep(call, before)),
        hear: (printed: string) => this.outputs.add(toolCallId, printed),
      };
      const either = AbortSignal.any([signal, stop.signal]);
      const go = (): Promise<ToolInvokeResult> => run(call, folder.uri, either, listener, named);
      const result = await (isTraced(call.name) ? go() : (keeping?.around(call, folder.uri.fsPath, either, go) ?? go()));
      if (this.#isOver) return await new Promise<never>(() => undefined);
      this.#finished.set(toolCallId, { sessionId, stream, result });
      const session = this.#find(sessionId);
      if (session !== undefined) this.#settleCalls(session);
      return result;
    } finally {
      this.running.delete(toolCallId);
      this.outputs.end(toolCallId);
      this.durations.set(toolCallId, performance.now() - since);
      this.changed();
    }
  }

  /** Brings the result of a call that a restart left open, where it still waits for one. */
  async deliver(session: Session, toolCallId: string, { content, ...more }: ToolInvokeResult): Promise<void> {
    if (!session.view.snapshot.pendingCalls.some((call) => call.toolCallId === toolCallId)) return;
    await session.request("tool/result", { ...more, content: content ?? "", toolCallId });
  }

  /** A session that goes on here, shown or not. */
  #find(sessionId: string): Session | undefined {
    return this.#session?.id === sessionId ? this.#session : this.#background.find(sessionId);
  }

  /**
   * Settles the calls of a sidecar that exited: a result that it may not have received goes to its successor,
   * where the call still waits; a call that waits no more is stopped.
   */
  #settleCalls(session: Session): void {
    if (session.freshness !== "live") return;
    passUnreadable(session);
    const { stream: now, pendingCalls } = session.view.snapshot;
    const waiting = new Set(pendingCalls.map(({ toolCallId }) => toolCallId));
    for (const [id, { sessionId, stream, stop }] of this.running) {
      if (sessionId === session.id && stream !== now && !waiting.has(id)) stop.abort();
    }
    for (const [id, { sessionId, stream, result }] of this.#finished) {
      if (sessionId !== session.id || (stream === now && waiting.has(id))) continue;
      this.#finished.delete(id);
      // Where it cannot be brought, the call stays open and is decided about by the user.
      if (waiting.has(id)) void this.deliver(session, id, result).catch(() => undefined);
    }
  }

  /** Has it drawn again. */
  changed(): void {
    this.#changed.fire({ session: false, streamingOnly: false });
  }
}
