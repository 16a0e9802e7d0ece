// A small client of the sidecar: one process, one folder, a scripted model, frames with Content-Length.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd, THREADHOLD } from "./start.mjs";

/** A folder that is removed when the test ends. */
export function folder(test) {
  const path = mkdtempSync(join(tmpdir(), "threadhold-peers-"));
  atEnd(test, () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }));
  return path;
}

export class Sidecar {
  events = [];
  /** Names of the tools for which the user was asked. */
  asked = [];
  /** The decision about each call. */
  decision = "allowOnce";
  /** Waits before a decision is sent. */
  hold = async () => {};
  /** Questions of servers, and the answer to each. */
  elicited = [];
  answer = () => null;
  /** Requests of the sidecar that it no longer asks. */
  withdrawn = [];
  /** Messages for the log. */
  logged = [];
  /** What this client's tools return, by their names. */
  tools = {};
  #open = new Map();
  #waits = new Set();
  #last = 0;
  #input = Buffer.alloc(0);

  /** Starts a sidecar whose model gives these answers, each `{ say }` or `{ call }`. */
  static async start(test, answers, settings = {}, at = folder(test), args = [], capabilities = {}) {
    const sidecar = new Sidecar(at);
    const script = join(at, `model-${process.hrtime.bigint()}.json`);
    writeFileSync(script, JSON.stringify({ name: "scripted", answers, then: "empty" }));
    // Neither settings of this machine nor keys of it.
    const env = { PATH: process.env.PATH, HOME: at, THREADHOLD_CONFIG: join(at, "config.toml"), GIVEN_KEY: "k3y" };
    writeFileSync(env.THREADHOLD_CONFIG, "");
    sidecar.process = spawn(THREADHOLD, ["serve", ...args], { env, cwd: at, stdio: ["pipe", "pipe", "inherit"] });
    sidecar.process.stdout.on("data", (bytes) => sidecar.#read(bytes));
    sidecar.ended = new Promise((resolve) => sidecar.process.on("exit", resolve));
    atEnd(test, () => sidecar.end());
    await sidecar.request("initialize", {
      processId: null,
      rootUri: null,
      capabilities: {},
      workspaceFolders: [{ uri: `file://${at}`, name: "w" }],
      initializationOptions: {
        threadhold: {
          protocolVersion: 1,
          capabilities: { requestPermission: true, toolInvoke: true, ...capabilities },
          storage: { path: join(at, "store") },
          settings: { model: { wire: "scripted", baseUrl: script }, titles: "request", ...settings },
        },
      },
    });
    sidecar.#send({ method: "initialized", params: {} });
    return sidecar;
  }

  constructor(at) {
    this.folder = at;
  }

  request(method, params) {
    const id = ++this.#last;
    this.#send({ id, method, params });
    return new Promise((resolve, reject) => this.#open.set(id, { resolve, reject, method }));
  }

  /** Opens a session. */
  async open(more = {}) {
    const opened = await this.request("session/open", { workspaceFolder: this.folder, ...more });
    return opened.snapshot.sessionId;
  }

  /** Runs a turn to its end, and returns the results of its calls, in order. */
  async turn(sessionId, content = "go on") {
    const since = this.events.length;
    await this.request("turn/start", { sessionId, content });
    await this.until((event) => event.sessionId === sessionId && event.type === "turnCompleted", since);
    const added = this.events.slice(since).filter(({ type }) => type === "messageAdded");
    return added.filter(({ message }) => message.role === "tool").map(({ message }) => message.parts[0]);
  }

  /** Waits for an event. */
  until(is, since = 0) {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.events.slice(since).find(is);
        if (found === undefined) return;
        this.#waits.delete(look);
        resolve(found);
      };
      this.#waits.add(look);
      look();
    });
  }

  async end() {
    if (this.process.exitCode !== null) return;
    await this.request("shutdown").catch(() => {});
    this.#send({ method: "exit" });
    this.process.stdin.end();
    await this.ended;
  }

  #send(message) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.process.stdin.write(Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]));
  }

  #read(bytes) {
    this.#input = Buffer.concat([this.#input, bytes]);
    for (;;) {
      const end = this.#input.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/Content-Length: (\d+)/i.exec(this.#input.subarray(0, end).toString())[1]);
      if (this.#input.length < end + 4 + length) return;
      const message = JSON.parse(this.#input.subarray(end + 4, end + 4 + length).toString());
      this.#input = this.#input.subarray(end + 4 + length);
      this.#take(message);
    }
  }

  #take({ id, method, params, result, error }) {
    if (method === undefined) {
      const open = this.#open.get(id);
      this.#open.delete(id);
      if (error === undefined) open?.resolve(result);
      else open?.reject(new Error(`${open.method}: ${error.message}`));
    } else if (method === "tool/requestPermission") {
      this.asked.push(...params.reasons.map((reason) => reason.name));
      const decisions = params.reasons.map(({ toolCallId }) => ({ toolCallId, decision: this.decision }));
      void this.hold(params).then(() => this.#send({ id, result: { decisions } }));
    } else if (method === "mcp/elicit") {
      this.elicited.push(params);
      void Promise.resolve(this.answer(params)).then((result) => this.#send({ id, result }));
    } else if (method === "$/cancelRequest") {
      this.withdrawn.push(params.id);
      for (const look of [...this.#waits]) look();
    } else if (method === "tool/invoke") {
      this.#send({ id, result: { content: this.tools[params.name](params.arguments) } });
    } else if (method === "window/logMessage") {
      this.logged.push(params.message);
    } else if (method === "session/event") {
      this.events.push(params);
      for (const look of [...this.#waits]) look();
    }
  }
}
