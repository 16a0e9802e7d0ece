// Plays the client's side of a recorded conversation (fixtures/wire, whose README says how) against the real sidecar, and
// shows each session with a view. What a server must answer is the sidecar's own test; here the views are looked at.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { StreamMessageReader } from "vscode-jsonrpc/node";
import type { SessionEvent, Snapshot } from "../../src/protocol.js";
import { SessionView } from "../../src/view.js";
import { BINARY, emptyFolder, fromPackage, PATIENCE_MS } from "./binary.js";

type Json = { [key: string]: unknown };

interface Frame {
  id?: number | string | null;
  method?: string;
  params?: Json;
  result?: Json | null;
  error?: Json;
}

interface Line {
  from?: "client" | "server";
  frame?: Frame;
  body?: string;
  bytes?: string;
  file?: string;
  text?: string;
  capture?: { [name: string]: string };
  restart?: "kill" | "exit";
  storage?: "new";
}

/** The lines of a recorded conversation. */
export function conversation(name: string): Line[] {
  const text = readFileSync(fromPackage(`../../fixtures/wire/${name}`), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

/** Whoever has a view, and what the sidecar says it is. */
export type Compare = (view: SessionView, snapshot: Snapshot, line: number) => void;

/** A conversation under way. */
export class Play {
  /** How often a view was compared with what the sidecar says. */
  compared = 0;
  /** The line that is played. */
  at = 0;
  /** Error that no caller awaited. */
  #fault: unknown;
  #views = new Map<string, SessionView>();
  #storage = emptyFolder();
  #captured: { [name: string]: unknown } = {};
  #said: Frame[] = [];
  /** Frames of this process that belong to no line yet. */
  #waiting: Frame[] = [];
  #asked = new Map<string, Frame["id"]>();
  #methods = new Map<Frame["id"], { method: string; params: Json }>();
  #wake: () => void = () => {};
  #child: ChildProcess;
  #probes = 0;

  constructor(private readonly compare: Compare) {
    this.#child = this.#start();
  }

  /** Plays it all. */
  async play(lines: Line[]): Promise<void> {
    try {
      for (const [at, line] of lines.entries()) {
        this.at = at + 1;
        await this.#line(line);
      }
      await this.#end();
    } finally {
      this.#child.kill("SIGKILL");
    }
  }

  async #line(line: Line): Promise<void> {
    if (line.from === "server") await this.#expect(line.frame ?? {});
    else if (line.from === "client") await this.#say(line);
    else if (line.capture) this.#capture(line.capture);
    else if (line.file !== undefined) this.#writeFile(line.file, line.text ?? "");
    else if (line.restart) await this.#restart(line);
  }

  #writeFile(path: string, text: string): void {
    const file = join(this.#storage, path);
    mkdirSync(dirname(file), { recursive: true });
    // biome-ignore lint/suspicious/noTemplateCurlyInString: recordings name the folder so.
    writeFileSync(file, text.replaceAll("${storage}", this.#storage));
  }

  #start(): ChildProcess {
    const child = spawn(BINARY, ["serve"], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    const reader = new StreamMessageReader(child.stdout);
    reader.listen((frame) => {
      this.#waiting.push(frame as Frame);
      try {
        this.#show(frame as Frame);
      } catch (error) {
        this.#fault ??= error;
      }
      this.#wake();
    });
    return child;
  }

  async #say(line: Line): Promise<void> {
    if (line.frame === undefined) return this.#write(bytesOf(line));
    const frame = this.#filled(line.frame);
    if (frame.method !== "initialize" && frame.method !== "initialized" && frame.method !== "exit") await this.#probe();
    if (frame.method === undefined) frame.id = this.#asked.get(String(frame.id)) ?? frame.id ?? null;
    else if (frame.id !== undefined) {
      this.#methods.set(frame.id, { method: frame.method, params: frame.params ?? {} });
    }
    if (frame.method === "model/delta" && frame.params) {
      frame.params["requestId"] = this.#asked.get(`request ${String(frame.params["requestId"])}`) ?? "none";
    }
    this.#write(framed(Buffer.from(JSON.stringify(frame))));
  }

  /** Each view must be what the sidecar says now. */
  async #probe(): Promise<void> {
    for (const [sessionId, view] of this.#views) {
      const id = `probe ${++this.#probes}`;
      this.#methods.set(id, { method: "probe", params: { sessionId } });
      const { messages, earlierMessages } = view.snapshot;
      const end = (messages.at(-1)?.ord ?? -1) + 1;
      const part = earlierMessages === undefined ? {} : { snapshotMessages: end - earlierMessages };
      const params = { sessionId, ...part };
      this.#write(framed(Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method: "session/subscribe", params }))));
      const answer = await this.#next((frame) => frame.id === id);
      const snapshot = answer.result?.["snapshot"] as Snapshot | undefined;
      if (snapshot === undefined) this.#views.delete(sessionId);
      else if (snapshot.stream === view.snapshot.stream) {
        this.compare(view, snapshot, this.at);
        this.compared += 1;
      }
    }
  }

  /** The server has to say something like this; its own test compares it. */
  async #expect(recorded: Frame): Promise<void> {
    // How deltas are put together depends on when they come, and a question for a snapshot has them told at once.
    if (isDelta(recorded)) return;
    const came = await this.#next((frame) => !isDelta(frame) && !String(frame.id).startsWith("probe"));
    this.#said.push(came);
    if (recorded.method === undefined || recorded.id === undefined) return;
    this.#asked.set(String(recorded.id), came.id);
    const requestId = recorded.params?.["requestId"];
    if (requestId !== undefined) this.#asked.set(`request ${String(requestId)}`, came.params?.["requestId"] as string);
  }

  async #next(isIt: (frame: Frame) => boolean): Promise<Frame> {
    const until = Date.now() + PATIENCE_MS;
    for (;;) {
      if (this.#fault !== undefined) throw this.#fault;
      const at = this.#waiting.findIndex(isIt);
      const [found] = at < 0 ? [] : this.#waiting.splice(at, 1);
      if (found) return found;
      if (Date.now() > until) throw new Error(`line ${this.at}: the sidecar says nothing more`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, PATIENCE_MS);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** Applies a frame as a client would. */
  #show(frame: Frame): void {
    if (frame.method === "session/event") {
      const event = frame.params as unknown as SessionEvent;
      const taken = this.#views.get(event.sessionId)?.take(event);
      if (taken === "missed") throw new Error(`an event before this one is missing: ${JSON.stringify(event)}`);
      return;
    }
    const asked = frame.method === undefined ? this.#methods.get(frame.id) : undefined;
    if (asked === undefined || !frame.result) return;
    const snapshot = frame.result["snapshot"] as Snapshot | undefined;
    if (snapshot && asked.method !== "probe") this.#views.set(snapshot.sessionId, new SessionView(copy(snapshot)));
    const isGone = asked.method === "session/close" || asked.method === "session/delete";
    if (isGone) this.#views.delete(String(asked.params["sessionId"]));
  }

  #capture(capture: { [name: string]: string }): void {
    for (const [name, pointer] of Object.entries(capture)) {
      const values = this.#said.map((frame) => at(frame, pointer)).filter((value) => value !== undefined);
      this.#captured[name] = values.at(-1);
    }
  }

  async #restart({ restart, storage }: Line): Promise<void> {
    if (restart === "kill") {
      await this.#probe();
      const closed = new Promise((resolve) => this.#child.once("close", resolve));
      this.#child.kill("SIGKILL");
      await closed;
    } else await this.#end();
    if (storage === "new") this.#storage = emptyFolder();
    this.#views.clear();
    this.#waiting = [];
    this.#asked.clear();
    this.#child = this.#start();
  }

  async #end(): Promise<void> {
    const closed = new Promise((resolve) => this.#child.once("close", resolve));
    if (this.#child.exitCode === null) {
      this.#child.stdin?.end();
      await closed;
    }
  }

  #filled(frame: Frame): Frame {
    const fill = (value: unknown): unknown => {
      if (typeof value === "string") return this.#text(value);
      if (Array.isArray(value)) return value.map(fill);
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, fill(field)]));
    };
    return fill(frame) as Frame;
  }

  #text(text: string): unknown {
    const captured: { [name: string]: unknown } = { ...this.#captured, storage: this.#storage };
    const whole = /^\$\{(\w+)\}$/.exec(text);
    if (whole?.[1] !== undefined) return captured[whole[1]];
    return text.replace(/\$\{(\w+)\}/g, (_, name: string) => String(captured[name]));
  }

  #write(bytes: Buffer): void {
    this.#child.stdin?.write(bytes);
  }
}

function isDelta({ params }: Frame): boolean {
  return params?.["type"] === "streamDelta";
}

function bytesOf({ body, bytes }: Line): Buffer {
  const raw = (text: string) => {
    const pieces = text.split(/(\\\\|\\x[0-9A-Fa-f]{2})/).map((piece) => {
      if (piece === "\\\\") return Buffer.from("\\");
      return piece.startsWith("\\x") ? Buffer.from(piece.slice(2), "hex") : Buffer.from(piece);
    });
    return Buffer.concat(pieces);
  };
  return body === undefined ? raw(bytes ?? "") : framed(raw(body));
}

function framed(body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]);
}

function at(frame: Frame, pointer: string): unknown {
  let value: unknown = frame;
  for (const key of pointer.split("/").slice(1)) value = (value as Json | undefined)?.[key];
  return value;
}

function copy<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}
