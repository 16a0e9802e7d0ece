// The sidecar without an editor, before one starts or after it ended: a session that is imported, those that are stored. It
// is asked over its own wire, a few frames by hand.

import { spawn } from "node:child_process";
import { once } from "node:events";

/** Makes a session of a folder from messages. */
export async function importSession(folder: string, environment: NodeJS.ProcessEnv, messages: object[]): Promise<void> {
  const head = { type: "session", format: "threadhold", version: 1, title: "A long session" };
  const lines = [head, ...messages.map((message) => ({ type: "message", ...message }))];
  const data = lines.map((line) => JSON.stringify(line)).join("\n");
  await answered(environment, "session/import", { workspaceFolder: folder, data });
}

/** The ids of the sessions of a folder. */
export async function sessionsOf(folder: string, environment: NodeJS.ProcessEnv): Promise<string[]> {
  const { sessions } = (await answered(environment, "session/list", { workspaceFolder: folder })) as { sessions: { sessionId: string }[] };
  return sessions.map(({ sessionId }) => sessionId);
}

/** The result of one request. */
async function answered(environment: NodeJS.ProcessEnv, method: string, params: object): Promise<unknown> {
  const sidecar = spawn(process.env["THREADHOLD_BIN"] ?? "", ["serve"], { stdio: ["pipe", "pipe", "inherit"], env: environment });
  const send = (message: object): void => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    sidecar.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };
  send({
    id: 1,
    method: "initialize",
    params: { capabilities: {}, initializationOptions: { threadhold: { protocolVersion: 1, capabilities: {} } } },
  });
  send({ method: "initialized", params: {} });
  send({ id: 2, method, params });
  send({ id: 3, method: "shutdown" });
  send({ method: "exit" });
  let heard = "";
  sidecar.stdout.on("data", (chunk: Buffer) => (heard += chunk.toString()));
  await once(sidecar, "close");
  const messages = heard.split(/Content-Length: \d+\r\n\r\n/).filter((text) => text !== "");
  const answer = messages.map((text) => JSON.parse(text) as { id?: number; result?: unknown; error?: unknown }).find(({ id }) => id === 2);
  if (answer?.result === undefined) throw new Error(`${method} was not answered: ${JSON.stringify(answer?.error ?? heard)}`);
  return answer.result;
}
