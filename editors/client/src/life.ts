// One sidecar process from start to exit: `initialize`, checks that it can be talked to, and why it exited.

import { type Answers, Connection, type Listening, Unanswered } from "./connection.js";
import { type Exit, inWords, isProtocolError, ProtocolError, SidecarError, type SidecarFault } from "./errors.js";
import type { Launch, Launched } from "./launch.js";
import type { InitializeOptions, ServerCapabilities } from "./protocol.js";
import { ERROR_CODES, PROTOCOL_VERSION } from "./protocol.js";

/** Parameters of a sidecar process. */
export interface LifeOptions {
  /** Starts it. */
  launch: Launch;
  /** threadhold's part of `initialize`. */
  options: Omit<InitializeOptions, "protocolVersion">;
  /** The folders of the workspace. */
  workspaceFolders: { uri: string; name: string }[];
  /** Methods that it must have. */
  needs: readonly string[];
  /** Handlers of its requests. */
  answers: Answers;
  /** Handlers of its notifications. */
  listening: Listening;
  /** Called with each line of its standard error. */
  onLine: (line: string) => void;
  /** How long it may take to answer, in milliseconds. */
  startTimeoutMs: number;
  /** How long it may take to end, in milliseconds. */
  stopTimeoutMs: number;
}

/** A process that answered. */
export class Life {
  /** Why it ended, once it has. Never fails. */
  readonly ended: Promise<SidecarError>;
  /** Capabilities; set once `initialize` was answered. */
  server!: ServerCapabilities;
  /** When it began. */
  readonly since = Date.now();
  readonly connection: Connection;
  readonly #launched: Launched;
  readonly #stopTimeoutMs: number;
  /** Why we end it, where we do. */
  #why: { fault: SidecarFault; message: string } | undefined;

  private constructor(launched: Launched, { answers, listening, stopTimeoutMs }: LifeOptions) {
    this.#launched = launched;
    this.#stopTimeoutMs = stopTimeoutMs;
    this.connection = new Connection(launched, answers, listening, (how, why) => {
      void (how === "unreadable" ? this.#broke(why) : this.#deaf(why));
    });
    this.ended = launched.ended.then(async (exit) => {
      // What was read before it ended is taken first.
      await new Promise((resolve) => setTimeout(resolve, 0));
      this.connection.dispose();
      return this.#fault(exit);
    });
  }

  /** Starts one. Fails with a `SidecarError`; then nothing runs. */
  static async begin(options: LifeOptions): Promise<Life> {
    const life = new Life(await options.launch(options.onLine), options);
    try {
      life.server = await life.#initialize(options);
      return life;
    } catch (error) {
      await life.#launched.stop(0);
      throw error;
    }
  }

  /** Its number, where it has one. */
  get pid(): number | undefined {
    return this.#launched.pid;
  }

  /** Ends it, with everything on disk; by force where it takes too long. `fault` is why. */
  async end(fault: "disposed" | "restarted"): Promise<void> {
    this.#why ??= { fault, message: fault === "disposed" ? DISPOSED : "The sidecar was stopped to restart it." };
    try {
      await orOver(this.#stopTimeoutMs, this.connection.request("shutdown", undefined));
      await this.connection.notify("exit", undefined);
    } catch {
      // It is gone, or does not listen: the end of its input ends it too.
    }
    await this.#launched.stop(this.#stopTimeoutMs);
    await this.ended;
  }

  async #initialize(asked: LifeOptions): Promise<ServerCapabilities> {
    const { parentPid: processId = null } = this.#launched;
    const threadhold = { protocolVersion: PROTOCOL_VERSION, ...asked.options };
    const { workspaceFolders } = asked;
    const params = {
      processId,
      rootUri: null,
      capabilities: {},
      workspaceFolders,
      initializationOptions: { threadhold },
    };
    try {
      const answer = await orOver(asked.startTimeoutMs, this.connection.request("initialize", params));
      if (answer === "over") {
        const late = `did not respond within ${asked.startTimeoutMs} ms and was stopped`;
        throw this.#error("noAnswer", `${this.#launched.name} ${late}. ${LOOK}`);
      }
      const server = this.#understood(answer, asked.needs);
      await this.connection.notify("initialized", {});
      return server;
    } catch (error) {
      throw await this.#whyNot(error);
    }
  }

  #understood(answer: unknown, needs: readonly string[]): ServerCapabilities {
    const { name } = this.#launched;
    const server = (answer as Initialized | null)?.capabilities?.experimental?.threadhold;
    if (server === undefined) throw this.#error("notThreadhold", `${name} is not threadhold. ${SETTING}`);
    const { protocolVersion, serverVersion = "unknown version", methods = [] } = server;
    if (protocolVersion !== PROTOCOL_VERSION) throw this.#wrongVersion(`version ${protocolVersion}`, serverVersion);
    const missing = needs.filter((method) => !methods.includes(method));
    if (missing.length > 0) {
      const [first, ...others] = missing;
      const lacks = others.length < 2 ? missing.join(" and ") : `${first} and ${others.length} other methods`;
      const message = `${name} (${serverVersion}) is too old: it lacks ${lacks}. Install a newer threadhold.`;
      throw this.#error("tooOld", message);
    }
    return { levels: [], events: [], states: [], ...server, protocolVersion, serverVersion, methods };
  }

  async #whyNot(error: unknown): Promise<unknown> {
    const { name } = this.#launched;
    if (error instanceof Unanswered) {
      const fault = await this.ended;
      if (fault.fault === "brokenStream") {
        return this.#error("notThreadhold", `${this.#why?.message ?? name} It may not be threadhold. ${SETTING}`, fault.exit);
      }
      if (fault.fault !== "died") return fault;
      const how = fault.exit ? inWords(fault.exit) : "";
      return this.#error("diedAtStart", `${name} exited during startup ${how}. Nothing was lost. ${LOOK}`, fault.exit);
    }
    if (isProtocolError(error, "UnsupportedVersion")) {
      return this.#wrongVersion(`versions ${error.data.supported.join(", ")}`, "");
    }
    if (!(error instanceof ProtocolError)) return error;
    if (error.code === ERROR_CODES.MethodNotFound) {
      return this.#error("notThreadhold", `${name} is not threadhold. ${SETTING}`);
    }
    return this.#error("refused", `${name} refused to start: ${error.message}`);
  }

  #wrongVersion(known: string, serverVersion: string): SidecarError {
    const which = serverVersion === "" ? this.#launched.name : `${this.#launched.name} (${serverVersion})`;
    const message = `${which} supports protocol ${known}, but this client needs version ${PROTOCOL_VERSION}.`;
    return this.#error("wrongVersion", `${message} Install a matching threadhold.`);
  }

  /** Nothing that it says can be trusted any more. */
  async #broke(why: string): Promise<void> {
    const message = `${this.#launched.name} wrote an invalid message (${why}) and was stopped.`;
    this.#why ??= { fault: "brokenStream", message };
    await this.#launched.stop(0);
  }

  /** The process stopped reading, so it is about to exit and will say why itself. */
  async #deaf(why: string): Promise<void> {
    if ((await orOver(this.#stopTimeoutMs, this.#launched.ended)) === "over") await this.#broke(why);
  }

  #fault(exit: Exit): SidecarError {
    const kept = "Acknowledged changes are saved.";
    if (this.#why) return this.#error(this.#why.fault, `${this.#why.message} ${kept}`, exit);
    return this.#error("died", `${this.#launched.name} exited ${inWords(exit)}. ${kept}`, exit);
  }

  #error(fault: SidecarFault, message: string, exit?: Exit): SidecarError {
    return new SidecarError(fault, message, { stderr: this.#launched.lastLines(), ...(exit && { exit }) });
  }
}

/** The part of the answer to `initialize` that is read. */
interface Initialized {
  capabilities?: { experimental?: { threadhold?: Partial<ServerCapabilities> } };
}

/** Waits for something, but no longer than this. */
async function orOver<Value>(ms: number, value: Promise<Value>): Promise<Value | "over"> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<"over">((resolve) => {
    timer = setTimeout(() => resolve("over"), ms);
  });
  try {
    return await Promise.race([value, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Message of errors after `dispose`. */
export const DISPOSED = "The client was disposed.";
const SETTING = "Set the path of threadhold in the settings.";
const LOOK = "See the log, then restart it.";
