// A session that a panel shows: its view, kept current with events, and resynchronized after a gap or a restart of the
// sidecar.

import { type Disposable, Emitter } from "./emitter.js";
import { isProtocolError, RequestLost } from "./errors.js";
import type {
  ClientRequests,
  Content,
  RestoreReport,
  SessionEvent,
  SessionOpenParams,
  SessionOpenResult,
  SessionSubscribeResult,
  TurnStartParams,
  TurnStartResult,
} from "./protocol.js";
import { type Change, SessionView, type ViewOptions } from "./view.js";

/** Methods that are about one session. */
export type SessionMethod = {
  [Method in keyof ClientRequests]: ClientRequests[Method]["params"] extends { sessionId?: string } ? Method : never;
}[keyof ClientRequests];

/** Parameters without the session's id. */
export type WithoutSession<Params> = Omit<Params, "sessionId">;

/** How something is asked for. */
export interface AskOptions {
  /** Takes the request back. */
  signal?: AbortSignal;
  /** Is told how long work goes on: of `context/compact` and `prompt/render`. */
  onProgress?: (message: string) => void;
}

/** Sends a request. */
export type Ask = <Method extends keyof ClientRequests>(
  method: Method,
  params: ClientRequests[Method]["params"],
  options?: AskOptions,
) => Promise<ClientRequests[Method]["result"]>;

/** How current a session's view is. */
export type Freshness =
  /** Up to date. */
  | "live"
  /** Something was missed, and is asked for. */
  | "catchingUp"
  /** The sidecar is not there. It is started again, unless the client's status says otherwise. */
  | "offline"
  /** Closed or deleted. */
  | "closed";

/**
 * Services of the client that a session uses.
 * @internal
 */
export interface SessionOwner extends Omit<ViewOptions, "onFault"> {
  /** Sends a request, once the sidecar is there. */
  ask: Ask;
  /** Nothing more is to come for this session. */
  leave: (session: Session) => void;
  /** Receives errors that no caller awaits. */
  onFault: (error: unknown) => void;
}

/** A session. Made by `Client.openSession`. */
export class Session {
  /** Its id. */
  readonly id: string;
  /** The current state. */
  readonly view: SessionView;
  /** Report of what opening restored and rejected. */
  restore: RestoreReport;

  #freshness: Freshness = "live";
  #asked: SessionOpenParams;
  #isCatchingUp = false;
  readonly #owner: SessionOwner;
  readonly #events: Emitter<SessionEvent>;
  readonly #freshnesses: Emitter<Freshness>;

  /** @internal */
  constructor(asked: SessionOpenParams, { snapshot, restore }: SessionOpenResult, owner: SessionOwner) {
    this.id = snapshot.sessionId;
    this.view = new SessionView(snapshot, owner);
    this.restore = restore;
    this.#asked = { ...asked, sessionId: this.id };
    this.#owner = owner;
    this.#events = new Emitter(owner.onFault);
    this.#freshnesses = new Emitter(owner.onFault);
  }

  /** How current the view is. */
  get freshness(): Freshness {
    return this.#freshness;
  }

  /** Has a listener told what changed, once for all that happens until it is drawn. */
  onChange(listener: (change: Change) => void): Disposable {
    return this.view.onChange(listener);
  }

  /**
   * Has a listener told each event that the view takes, for a view of its own elsewhere, such as in a webview: give that
   * one a copy of `view.snapshot` first. Where the view was brought up to date at once, the event is a `snapshot`.
   */
  onEvent(listener: (event: SessionEvent) => void): Disposable {
    return this.#events.on(listener);
  }

  /** Has a listener told when `freshness` changes. */
  onFreshness(listener: (freshness: Freshness) => void): Disposable {
    return this.#freshnesses.on(listener);
  }

  /** Sends a request that is about this session. */
  request<Method extends SessionMethod>(
    method: Method,
    params: WithoutSession<ClientRequests[Method]["params"]>,
    options?: AskOptions,
  ): Promise<ClientRequests[Method]["result"]> {
    return this.#owner.ask(method, { ...params, sessionId: this.id } as ClientRequests[Method]["params"], options);
  }

  /**
   * Asks something: `turn/start`. It has an `idempotencyKey`, given or made here, so that it is sent again where the
   * sidecar ended before it answered, and is asked once.
   */
  async ask(content: Content, more: Omit<TurnStartParams, "sessionId" | "content"> = {}, options?: AskOptions): Promise<TurnStartResult> {
    const params = { ...more, content, idempotencyKey: more.idempotencyKey ?? newKey() };
    for (;;) {
      try {
        return await this.request("turn/start", params, options);
      } catch (error) {
        // The client waits for the next sidecar, and fails where it has given up.
        if (!(error instanceof RequestLost)) throw error;
      }
    }
  }

  /** Stops what runs; what was said stays. */
  cancel(options: Omit<ClientRequests["turn/cancel"]["params"], "sessionId"> = {}): Promise<ClientRequests["turn/cancel"]["result"]> {
    return this.request("turn/cancel", options);
  }

  /** Shows older messages of a session that was opened with `snapshotMessages`. False: there are none. */
  async loadEarlier(limit?: number): Promise<boolean> {
    const before = this.view.snapshot.earlierMessages;
    if (before === undefined || before === 0) return false;
    const page = await this.request("session/messages", { before, ...(limit === undefined ? {} : { limit }) });
    this.view.prepend(page);
    return true;
  }

  /** Shows all of a session that was opened with `snapshotMessages`, with its turns and all its compactions. */
  async loadAll(): Promise<void> {
    if (this.view.snapshot.earlierMessages === undefined) return;
    const { snapshotMessages: _, ...asked } = this.#asked;
    this.#asked = asked;
    this.#took(await this.request("session/subscribe", {}));
  }

  /** Closes the session in the sidecar; it stays on disk. */
  async close(): Promise<void> {
    await this.request("session/close", {});
  }

  /** Deletes the session for good. */
  delete(): Promise<ClientRequests["session/delete"]["result"]> {
    return this.request("session/delete", {});
  }

  /**
   * An event of this session came.
   * @internal
   */
  take(event: SessionEvent): void {
    // The answer that is waited for has it too.
    if (this.#isCatchingUp || this.#freshness === "offline" || this.#freshness === "closed") return;
    const taken = this.view.take(event);
    if (taken === "taken") this.#events.tell(event);
    if (taken === "missed" || !this.view.isExact) void this.#catchUp();
  }

  /**
   * The sidecar is gone.
   * @internal
   */
  wentOffline(): void {
    this.#set("offline");
  }

  /**
   * The session was closed or deleted.
   * @internal
   */
  ended(): void {
    this.#set("closed");
    this.#owner.leave(this);
  }

  /**
   * Opens the session in another process.
   * @internal
   */
  async openAgain(ask: Ask): Promise<void> {
    try {
      this.#show(await this.#open(ask));
    } catch (error) {
      if (!isProtocolError(error, "SessionHeldElsewhere")) throw error;
      // Another window took it meanwhile. It is shown here as it is there.
      this.#asked = { ...this.#asked, follow: true };
      this.#show(await this.#open(ask));
    }
  }

  /**
   * The session was opened again with other parameters.
   * @internal
   */
  openedAgain(asked: SessionOpenParams, opened: SessionOpenResult): void {
    this.#asked = { ...asked, sessionId: this.id };
    this.#show(opened);
  }

  /** Asks for what was missed. Events that come before the answer are in it. */
  async #catchUp(): Promise<void> {
    this.#isCatchingUp = true;
    this.#set("catchingUp");
    try {
      const { stream, seq } = this.view.snapshot;
      const since = this.view.isExact ? { stream, sinceSeq: seq } : {};
      this.#took(await this.request("session/subscribe", { ...since, ...this.#part() }));
    } catch (error) {
      // The next process is asked for all of it; the next event has it tried again.
      if (isProtocolError(error, "UnknownSession")) this.ended();
      else if (!(error instanceof RequestLost)) this.#owner.onFault(error);
    } finally {
      this.#isCatchingUp = false;
    }
  }

  /** Opens it as it is stored; one that has nothing yet may not be stored. */
  #open(ask: Ask): Promise<SessionOpenResult> {
    const { history: _, ...asked } = this.#asked;
    const { workspaceFolder, sessionId, follow } = asked;
    if (this.view.snapshot.messages.length === 0) return ask("session/open", asked);
    return ask("session/open", {
      workspaceFolder,
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(follow === undefined ? {} : { follow }),
      ...this.#part(),
    });
  }

  /** How much of it is shown, where that is its end: all of it would be far too much. */
  #part(): { snapshotMessages?: number } {
    const { messages, earlierMessages } = this.view.snapshot;
    if (earlierMessages === undefined) return {};
    return { snapshotMessages: Math.max(messages.length, this.#asked.snapshotMessages ?? 0) };
  }

  #took({ snapshot, events }: SessionSubscribeResult): void {
    for (const event of events ?? []) {
      if (this.view.take(event) === "taken") this.#events.tell(event);
    }
    if (snapshot) this.#replace(snapshot);
    this.#set("live");
  }

  #show({ snapshot, restore }: SessionOpenResult): void {
    this.restore = restore;
    this.#replace(snapshot);
    this.#set("live");
  }

  #replace(snapshot: SessionOpenResult["snapshot"]): void {
    this.view.show(snapshot);
    const { stream, seq } = snapshot;
    this.#events.tell({ sessionId: this.id, stream, seq, type: "snapshot", snapshot });
  }

  #set(freshness: Freshness): void {
    if (this.#freshness === freshness || this.#freshness === "closed") return;
    this.#freshness = freshness;
    this.#freshnesses.tell(freshness);
  }
}

/** A name for a request that nobody else gives. */
function newKey(): string {
  const part = () => Math.random().toString(36).slice(2);
  return `${Date.now().toString(36)}-${part()}${part()}`;
}
