// Clients of the real sidecar for tests: with a store of their own, ended after the test, and what tests wait for.

import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import type { Listeners } from "../../src/client.js";
import { Client, type ClientOptions, type Launch, type Session, sidecar } from "../../src/node.js";
import { BINARY, emptyFolder, within } from "./binary.js";

/** A folder that sessions belong to; nothing is read there. */
export const WORKSPACE = emptyFolder();

/** Starts a client of the real sidecar, with a store that outlives its process. */
export async function startClient(options: Partial<ClientOptions> = {}, listeners: Listeners = {}): Promise<Client> {
  const launch = sidecar({ command: BINARY });
  const client = await Client.start(
    {
      launch,
      client: { name: "test" },
      storage: { path: emptyFolder() },
      // Nothing waits longer than it must.
      restart: { firstDelayMs: 1, mostDelayMs: 10 },
      ...options,
    },
    listeners,
  );
  after(() => client.dispose());
  return client;
}

/** The number of the sidecar's process. */
export function pidOf(client: Client): number {
  const { status } = client;
  if (status.state !== "running" || status.pid === undefined) throw new Error(`it does not run: ${status.state}`);
  return status.pid;
}

/** True if a process is there. */
export function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Waits until the client's status is this one. */
export function becomes(client: Client, state: Client["status"]["state"]): Promise<void> {
  const come = new Promise<void>((resolve) => {
    const look = () => client.status.state === state && resolve();
    client.on("status", look);
    look();
  });
  return within(`the status ${state}`, come);
}

/** Waits until the session's view is so. */
export function shows(session: Session, what: string, isSo: (view: Session["view"]) => boolean): Promise<void> {
  const come = new Promise<void>((resolve) => {
    const look = () => isSo(session.view) && resolve();
    session.onChange(look);
    session.onFreshness(look);
    look();
  });
  return within(what, come);
}

/** Waits until something that tells nobody is so. */
export async function until(what: string, isSo: () => boolean): Promise<void> {
  let isOver = false;
  const look = async () => {
    while (!isSo() && !isOver) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await within(what, look()).finally(() => (isOver = true));
}

/** A program that is no sidecar: this script of Node. */
export function program(script: string): string {
  const path = join(emptyFolder(), "program.mjs");
  writeFileSync(path, `#!${process.execPath}\n${script}`);
  chmodSync(path, 0o755);
  return path;
}

/** The start of a script that answers: `answer(id, {result})` for each request, as `on` says. */
export const ANSWERING = `
const say = (message) => {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  process.stdout.write("Content-Length: " + Buffer.byteLength(body) + "\\r\\n\\r\\n" + body);
};
let text = "";
process.stdin.setEncoding("utf8").on("data", (more) => {
  text += more;
  for (let at; (at = text.indexOf("\\r\\n\\r\\n")) >= 0; ) {
    const end = at + 4 + Number(text.slice(16, at));
    if (text.length < end) return;
    const message = JSON.parse(text.slice(at + 4, end));
    text = text.slice(end);
    on(message);
  }
});
`;

/** Starts a program as the sidecar is started. */
export function launching(command: string): Launch {
  return sidecar({ command });
}

/** A promise and what settles it. */
export function later<Value = void>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((given) => (resolve = given));
  return { promise, resolve };
}
