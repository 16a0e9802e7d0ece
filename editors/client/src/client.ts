// A sidecar for an editor: typed requests and events, handlers for its requests, and sessions that outlive its restarts.

import type { Listening, LogMessage, Progress, Told, WorkspaceFolder } from "./connection.js";
import { cancelled, Unanswered } from "./connection.js";
import { type Disposable, Emitter } from "./emitter.js";
import { RequestLost } from "./errors.js";
import { answersOf, capabilitiesOf, type Handlers } from "./handlers.js";
import type { Launch } from "./launch.js";
import { Life } from "./life.js";
import type {
  ClientInfo,
  ClientRequests,
  ServerCapabilities,
  SessionEvent,
  SessionOpenParams,
  Settings,
  StorageOptions,
} from "./protocol.js";
import { type Ask, type AskOptions, Session } from "./session.js";
import { type ClientStatus, type RestartOptions, Supervisor } from "./supervisor.js";
import type { Schedule } from "./view.js";

/** How a client is made. */
export interface ClientOptions {
  /** Starts the sidecar: `sidecar()` of `@threadhold/client/node`. */
  launch: Launch;
  /** Name and version of the client. */
  client: ClientInfo;
  /** Handlers of the sidecar's requests. It never sends one that has no handler. */
  handlers?: Handlers;
  /** The folders of the workspace. */
  workspaceFolders?: WorkspaceFolder[];
  /** Settings of all sessions. */
  settings?: Settings;
  /** Where sessions are kept. Default: the platform's folder for data. */
  storage?: StorageOptions;
  /** Methods that the client cannot do without: a sidecar that lacks one is too old. Default: none. */
  needs?: readonly (keyof ClientRequests)[];
  /**
   * Keys for models that the sidecar asks itself, by name: read anew for each process from where the editor keeps
   * secrets. Neither the client nor the sidecar stores them.
   */
  keys?: () => Promise<{ [name: string]: string }>;
  /** How it is started again when it ends. */
  restart?: RestartOptions;
  /** How long it may take to answer `initialize`, in milliseconds. Default: 30,000. */
  startTimeoutMs?: number;
  /** How long it may take to end, in milliseconds, before it is ended by force. Default: 5,000. */
  stopTimeoutMs?: number;
  /** When listeners of a view are told what changed. Default: a frame later. */
  schedule?: Schedule;
}

/** A line for a log. */
export interface LogLine {
  /** How bad it is. */
  level: "error" | "warning" | "info" | "debug";
  /** Origin: the sidecar's standard error, its log messages, or this library. */
  source: "stderr" | "sidecar" | "client";
  /** The words. They never hold content. */
  message: string;
}

/** Events of the client: the protocol's notifications and its own. */
export interface ClientEvents extends Omit<Told, "window/logMessage" | "$/progress"> {
  /** The status changed. */
  status: ClientStatus;
  /** There is a line for the log. */
  log: LogLine;
}

/** A sidecar that is kept running. */
export class Client {
  readonly #options: ClientOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #progress = new Map<string, (message: string) => void>();
  readonly #emitters: { readonly [Name in keyof ClientEvents]: Emitter<ClientEvents[Name]> };
  readonly #supervisor: Supervisor;
  #settings: Settings | undefined;
  #folders: WorkspaceFolder[];

  private constructor(options: ClientOptions, listeners: Listeners) {
    this.#options = options;
    this.#settings = options.settings;
    this.#folders = options.workspaceFolders ?? [];
    this.#emitters = {
      status: new Emitter(this.#onFault),
      // A log that fails cannot be told of it.
      log: new Emitter(() => {}),
      "session/event": new Emitter(this.#onFault),
      "sessions/changed": new Emitter(this.#onFault),
      "loop/updated": new Emitter(this.#onFault),
      "storage/updated": new Emitter(this.#onFault),
      "model/usage": new Emitter(this.#onFault),
    };
    for (const name of Object.keys(listeners) as (keyof ClientEvents)[]) this.#listen(name, listeners[name]);
    const care = {
      begin: () => this.#begin(),
      prepare: (life: Life) => this.#prepare(life),
      lost: () => {
        for (const session of this.#sessions.values()) session.wentOffline();
      },
      onStatus: (status: ClientStatus) => this.#tell("status", status),
    };
    this.#supervisor = new Supervisor(care, options.restart);
  }

  /**
   * Starts a sidecar. Fails with a `SidecarError` that says why there is none, and what to do. What is said while it
   * starts is told to `listeners`.
   */
  static async start(options: ClientOptions, listeners: Listeners = {}): Promise<Client> {
    const client = new Client(options, listeners);
    await client.#supervisor.life;
    return client;
  }

  /** How it stands. */
  get status(): ClientStatus {
    return this.#supervisor.status;
  }

  /** Capabilities of the sidecar; undefined while it is not running. */
  get server(): ServerCapabilities | undefined {
    return this.status.state === "running" ? this.status.server : undefined;
  }

  /** The sessions that are open. */
  get sessions(): ReadonlyMap<string, Session> {
    return this.#sessions;
  }

  /** Has a listener told of something from now on. */
  on<Name extends keyof ClientEvents>(name: Name, listener: (told: ClientEvents[Name]) => void): Disposable {
    return this.#emitters[name].on(listener);
  }

  /**
   * Sends a request. It waits while the sidecar is started again. Fails with a `ProtocolError` where the sidecar says so,
   * with `RequestLost` where it ended before it answered, with a `SidecarError` where there is none.
   */
  readonly request: Ask = async (method, params, options = {}) => {
    const { signal } = options;
    const life = await this.#alive(method, signal);
    const result = await this.#ask(life, method, params, options);
    // However it was asked for: nobody opens such a session again in the next process.
    if (ENDS.has(method) && "sessionId" in params) this.#sessions.get(String(params.sessionId))?.ended();
    return result;
  };

  /**
   * Opens a session: creates, resumes or restores it. Its view is kept up from now on, also when the sidecar is started
   * again. A session that is open already is the same object, with a new snapshot.
   */
  async openSession(params: SessionOpenParams, options?: AskOptions): Promise<Session> {
    const opened = await this.request("session/open", params, options);
    const known = this.#sessions.get(opened.snapshot.sessionId);
    if (known) {
      known.openedAgain(params, opened);
      return known;
    }
    const session = new Session(params, opened, {
      ask: this.request,
      leave: ({ id }) => void this.#sessions.delete(id),
      onFault: this.#onFault,
      ...(this.#options.schedule && { schedule: this.#options.schedule }),
    });
    this.#sessions.set(session.id, session);
    return session;
  }

  /** Changes the settings of all sessions, in the place of those that were given before. */
  async configure(settings: Settings): Promise<void> {
    this.#settings = settings;
    const params = { settings: { threadhold: settings } };
    await this.#say((life) => life.connection.notify("workspace/didChangeConfiguration", params));
  }

  /** Tells which folders the workspace has from now on. */
  async changeFolders(folders: WorkspaceFolder[]): Promise<void> {
    const isIn = (all: WorkspaceFolder[]) => (folder: WorkspaceFolder) => all.some(({ uri }) => uri === folder.uri);
    const [wasIn, willBeIn] = [isIn(this.#folders), isIn(folders)];
    const added = folders.filter((folder) => !wasIn(folder));
    const removed = this.#folders.filter((folder) => !willBeIn(folder));
    this.#folders = folders;
    const params = { event: { added, removed } };
    await this.#say((life) => life.connection.notify("workspace/didChangeWorkspaceFolders", params));
  }

  /** Starts the sidecar again, now: one that runs is ended first. Also after the client gave up. */
  async restart(): Promise<void> {
    await this.#supervisor.restart();
  }

  /** Ends the sidecar, with everything on disk. Nothing of it is left behind. */
  async dispose(): Promise<void> {
    await this.#supervisor.dispose();
  }

  #begin(): Promise<Life> {
    const { launch, client, handlers = {}, storage, needs = [] } = this.#options;
    const { startTimeoutMs = 30_000, stopTimeoutMs = 5_000 } = this.#options;
    const settings = this.#settings;
    // Deltas go to the process that asked, which is not there yet.
    let begun: Life | undefined;
    const send = async (requestId: string, ops: Parameters<Parameters<typeof answersOf>[1]>[1]) => {
      await begun?.connection.notify("model/delta", { requestId, ops });
    };
    const life = Life.begin({
      launch,
      options: {
        client,
        capabilities: capabilitiesOf(handlers),
        ...(storage && { storage }),
        ...(settings && { settings }),
      },
      workspaceFolders: this.#folders,
      needs,
      answers: answersOf(handlers, send),
      listening: this.#listening(),
      onLine: (message) => this.#log({ level: "debug", source: "stderr", message }),
      startTimeoutMs,
      stopTimeoutMs,
    });
    void life.then((life) => (begun = life)).catch(() => {});
    return life;
  }

  /** Gives a new process its keys and opens the sessions that were open. */
  async #prepare(life: Life): Promise<void> {
    const ask: Ask = (method, params, options) => this.#ask(life, method, params, options ?? {});
    try {
      const keys = Object.entries((await this.#options.keys?.()) ?? {});
      await Promise.all(keys.map(([name, value]) => ask("model/key", { name, value })));
      await Promise.all([...this.#sessions.values()].map((session) => this.#openAgain(session, ask)));
    } catch (error) {
      throw error instanceof RequestLost ? error.cause : error;
    }
  }

  async #openAgain(session: Session, ask: Ask): Promise<void> {
    try {
      await session.openAgain(ask);
    } catch (error) {
      if (error instanceof RequestLost) throw error;
      // One session that cannot be opened costs no other.
      this.#onFault(error);
    }
  }

  async #ask<Method extends keyof ClientRequests>(
    life: Life,
    method: Method,
    params: ClientRequests[Method]["params"],
    { signal, onProgress }: AskOptions,
  ): Promise<ClientRequests[Method]["result"]> {
    const token = onProgress && `progress-${++this.#tokens}`;
    if (token) this.#progress.set(token, onProgress);
    try {
      const sent = token ? { ...params, workDoneToken: token } : params;
      return (await life.connection.request(method, sent, signal)) as ClientRequests[Method]["result"];
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      const isOnce = HARMLESS.has(method) || "idempotencyKey" in params;
      throw new RequestLost(method, isOnce, await life.ended);
    } finally {
      if (token) this.#progress.delete(token);
    }
  }

  #tokens = 0;

  /** The process that answers, as soon as it does. */
  async #alive(method: string, signal: AbortSignal | undefined): Promise<Life> {
    if (signal === undefined) return this.#supervisor.life;
    let abort: () => void = () => {};
    const aborted = new Promise<never>((_, reject) => {
      abort = () => reject(cancelled(method));
      signal.addEventListener("abort", abort, { once: true });
    });
    if (signal.aborted) abort();
    try {
      return await Promise.race([this.#supervisor.life, aborted]);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Says something to the process, where there is one: the next one is told with `initialize`. */
  async #say(say: (life: Life) => Promise<void>): Promise<void> {
    try {
      await say(await this.#supervisor.life);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
    }
  }

  #listening(): Listening {
    return {
      "session/event": (event) => this.#event(event),
      "sessions/changed": (params) => this.#tell("sessions/changed", params),
      "loop/updated": (params) => this.#tell("loop/updated", params),
      "storage/updated": (params) => this.#tell("storage/updated", params),
      "model/usage": (params) => this.#tell("model/usage", params),
      "window/logMessage": ({ type, message }: LogMessage) => {
        this.#log({ level: LEVELS[type] ?? "debug", source: "sidecar", message });
      },
      "$/progress": ({ token, value }: Progress) => {
        if (value.message !== undefined) this.#progress.get(String(token))?.(value.message);
      },
    };
  }

  #event(event: SessionEvent): void {
    this.#sessions.get(event.sessionId)?.take(event);
    this.#tell("session/event", event);
  }

  #listen<Name extends keyof ClientEvents>(name: Name, listener: Listeners[Name]): void {
    if (listener) this.on(name, listener);
  }

  #tell<Name extends keyof ClientEvents>(name: Name, told: ClientEvents[Name]): void {
    this.#emitters[name].tell(told);
  }

  #log(line: LogLine): void {
    this.#tell("log", line);
  }

  /** Errors that nobody waits for. */
  readonly #onFault = (error: unknown): void => {
    this.#log({ level: "error", source: "client", message: error instanceof Error ? error.message : String(error) });
  };
}

/** Listeners that are attached before the sidecar starts. */
export type Listeners = { [Name in keyof ClientEvents]?: (told: ClientEvents[Name]) => void };

/** The levels of `window/logMessage`. */
const LEVELS: { [type: number]: LogLine["level"] } = { 1: "error", 2: "warning", 3: "info" };

/** Requests after which a session is open no longer. */
const ENDS: ReadonlySet<keyof ClientRequests> = new Set<keyof ClientRequests>(["session/close", "session/delete"]);

/** Requests that may be sent twice without harm. */
const HARMLESS: ReadonlySet<keyof ClientRequests> = new Set<keyof ClientRequests>([
  "session/list",
  "session/search",
  "worktree/changes",
  "session/messages",
  "session/ledger",
  "model/check",
  "model/list",
  "mcp/list",
  "mcp/contents",
  "mcp/content",
  "session/history",
  "session/subscribe",
  "session/configure",
  "session/close",
  "session/export",
  "context/inspect",
  "context/recall",
  "context/search",
  "context/ledger",
  "trajectory/list",
  "draft/set",
  "draft/clear",
  "scope/get",
  "memory/list",
  "memory/search",
  "task/list",
  "command/effects",
  "server/diagnostics",
  "model/key",
]);
