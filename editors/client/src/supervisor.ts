// Keeps a sidecar running: starts it, restarts it when it exits, with growing delays, and gives up.

import { SidecarError } from "./errors.js";
import { DISPOSED, type Life } from "./life.js";
import type { ServerCapabilities } from "./protocol.js";

/** How a sidecar is started again when it ends. The wait doubles from one attempt to the next. */
export interface RestartOptions {
  /** Attempts in a row before the client gives up. Default: 5; 0: none. */
  attempts?: number;
  /** The wait before the first one, in milliseconds. Default: 250. */
  firstDelayMs?: number;
  /** The longest wait, in milliseconds. Default: 10,000. */
  mostDelayMs?: number;
  /** A sidecar that ran this long, in milliseconds, was well: attempts are counted anew. Default: 60,000. */
  healthyAfterMs?: number;
}

/** How a client stands. */
export type ClientStatus =
  /** Starting, for the first time or on request. */
  | { state: "starting" }
  /** Running. */
  | { state: "running"; server: ServerCapabilities; pid?: number }
  /** The process exited and is restarted; requests wait. */
  | { state: "restarting"; attempt: number; delayMs: number; because: SidecarError }
  /** The client gave up, and requests fail. `restart()` tries again. */
  | { state: "stopped"; because: SidecarError }
  /** Disposed. */
  | { state: "disposed" };

/** Callbacks of the client that owns the supervisor. */
export interface Care {
  /** Starts a process. Fails with a `SidecarError`. */
  begin: () => Promise<Life>;
  /** Brings a new process to where the one before was. Whoever waits for it, waits for this. */
  prepare: (life: Life) => Promise<void>;
  /** A process ended. */
  lost: (because: SidecarError) => void;
  /** The status changed. */
  onStatus: (status: ClientStatus) => void;
}

/** Keeps a sidecar running. */
export class Supervisor {
  #status: ClientStatus = { state: "starting" };
  /** The process that answers, or will. */
  #life!: Promise<Life>;
  /** The same, where there is one; it may not be prepared yet. */
  #running: Life | undefined;
  #attempt = 0;
  /** Ends a wait. */
  #wake: (() => void) | undefined;
  readonly #restart: Required<RestartOptions>;

  constructor(
    private readonly care: Care,
    { attempts = 5, firstDelayMs = 250, mostDelayMs = 10_000, healthyAfterMs = 60_000 }: RestartOptions = {},
  ) {
    this.#restart = { attempts, firstDelayMs, mostDelayMs, healthyAfterMs };
    this.#become(this.#first());
  }

  /** How it stands. */
  get status(): ClientStatus {
    return this.#status;
  }

  /** The process that answers, as soon as it does. Fails where none will. */
  get life(): Promise<Life> {
    return this.#life;
  }

  /** Starts it again, now: one that runs is ended first, with everything on disk. */
  async restart(): Promise<void> {
    const { state } = this.#status;
    if (state === "disposed") throw disposed();
    this.#attempt = 0;
    if (state === "stopped") this.#become(this.#first());
    else if (state === "restarting") this.#wake?.();
    else await this.#running?.end("restarted");
    await this.#life;
  }

  /** Ends it for good. */
  async dispose(): Promise<void> {
    if (this.#status.state === "disposed") return;
    this.#tell({ state: "disposed" });
    this.#wake?.();
    const life = this.#life.catch(() => {});
    await this.#running?.end("disposed");
    await life;
    this.#become(Promise.reject(disposed()));
  }

  #become(life: Promise<Life>): void {
    this.#life = life;
    // Whoever waits for it hears of it; nobody may.
    life.catch(() => {});
  }

  async #first(): Promise<Life> {
    await Promise.resolve();
    this.#tell({ state: "starting" });
    try {
      return await this.#begin();
    } catch (error) {
      throw this.#giveUp(error);
    }
  }

  async #begin(): Promise<Life> {
    this.#check();
    const life = await this.care.begin();
    this.#running = life;
    void life.ended.then((because) => this.#ended(life, because));
    if (this.#status.state === "disposed") await life.end("disposed");
    this.#check();
    await this.care.prepare(life);
    this.#check();
    const { server, pid } = life;
    this.#tell({ state: "running", server, ...(pid === undefined ? {} : { pid }) });
    return life;
  }

  #ended(life: Life, because: SidecarError): void {
    this.#running = undefined;
    this.care.lost(because);
    if (this.#status.state !== "running") return;
    if (Date.now() - life.since >= this.#restart.healthyAfterMs) this.#attempt = 0;
    this.#become(this.#again(because));
  }

  async #again(because: SidecarError): Promise<Life> {
    let error = because;
    while (this.#attempt < this.#restart.attempts || error.fault === "restarted") {
      await this.#wait(error);
      try {
        return await this.#begin();
      } catch (failed) {
        if (!(failed instanceof SidecarError) || failed.isLasting) throw this.#giveUp(failed);
        error = failed;
      }
    }
    throw this.#giveUp(error);
  }

  async #wait(because: SidecarError): Promise<void> {
    const { firstDelayMs, mostDelayMs } = this.#restart;
    const isAsked = because.fault === "restarted";
    const delayMs = isAsked ? 0 : Math.min(firstDelayMs * 2 ** this.#attempt, mostDelayMs);
    if (!isAsked) this.#attempt += 1;
    this.#tell({ state: "restarting", attempt: this.#attempt, delayMs, because });
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }

  #giveUp(error: unknown): unknown {
    if (this.#status.state === "disposed") return disposed();
    const because = error instanceof SidecarError ? error : new SidecarError("refused", String(error));
    this.#tell({ state: "stopped", because });
    return because;
  }

  #check(): void {
    if (this.#status.state === "disposed") throw disposed();
  }

  #tell(status: ClientStatus): void {
    this.#status = status;
    this.care.onStatus(status);
  }
}

function disposed(): SidecarError {
  return new SidecarError("disposed", DISPOSED);
}
