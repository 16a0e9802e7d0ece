// The sidecar without an editor, for what must be there before one starts: a session that is imported. It is asked over
// its own wire, a few frames by hand.

import { spawn } from "node:child_process";
import { once } from "node:events";

/** Makes a session of a folder from messages. */
export async function importSession(folder: string, environment: NodeJS.ProcessEnv, messages: object[]): Promise<void> {
  const sidecar = spawn(process.env["THREADHOLD_BIN"] ?? "", ["serve"], { stdio: ["pipe", "pipe", "inherit"], env: environment });
  const send = (message: object): void => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    sidecar.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };
  const head = { type: "session", format: "threadhold", version: 1, title: "A long session" };
  const lines = [head, ...messages.map((message) => ({ type: "message", ...message }))];
  const data = lines.map((line) => JSON.stringify(line)).join("\n");
  send({ id: 1, method: "initialize", params: { capabilities: {}, initializationOptions: { threadhold: { protocolVersion: 1, capabilities: {} } } } });
  send({ method: "initialized", params: {} });
  send({ id: 2, method: "session/import", params: { workspaceFolder: folder, data } });
  send({ id: 3, method: "shutdown" });
  send({ method: "exit" });
  let heard = "";
  sidecar.stdout.on("data", (chunk: Buffer) => (heard += chunk.toString()));
  await once(sidecar, "close");
  const failed = /"error":\{[^}]*\}/.exec(heard)?.[0];
  if (failed !== undefined) throw new Error(`The session was not imported: ${failed}`);
}
