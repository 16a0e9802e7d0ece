// A client of the Agent Client Protocol for tests: it keeps each line in both directions and holds it against the
// published schema, method by method, because the schema's root accepts nearly everything.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import Ajv from "ajv/dist/2020.js";
import { folder } from "./sidecar.mjs";
import { atEnd, THREADHOLD } from "./start.mjs";

const require = createRequire(import.meta.url);
const ajv = new Ajv({ strict: false, validateFormats: false });

/** A published schema, by the path that the package gives it. */
function published(path) {
  const schema = JSON.parse(readFileSync(require.resolve(`@agentclientprotocol/sdk/schema/${path}`), "utf8"));
  ajv.addSchema(schema, path);
  return [path, schema];
}

/** Schemas of each version: a method is held against the first that has it. */
const schemas = {
  1: [published("v1/schema.json"), published("v1/schema.unstable.json")],
  2: [published("v2/schema.json")],
};

/** The check of a method's parameters or results; undefined for a method that no schema has. */
function checkOf(version, method, kind) {
  for (const [path, schema] of schemas[version]) {
    for (const [name, of] of Object.entries(schema.$defs)) {
      if (of["x-method"] === method && kind.test(name)) return ajv.getSchema(`${path}#/$defs/${name}`);
    }
  }
  return undefined;
}

/** What is wrong with lines in both directions, in words. */
export function faults(log, version = 1) {
  const found = [];
  const open = new Map();
  for (const { from, message } of log) {
    let check;
    if (message.method !== undefined) {
      if (message.id !== undefined) open.set(`${from} ${message.id}`, message.method);
      check = checkOf(version, message.method, message.id === undefined ? /Notification$/ : /Request$/);
      if (!check) found.push(`${from} sent the unknown method ${message.method}`);
      else if (!check(message.params)) found.push(`${message.method}: ${ajv.errorsText(check.errors)}`);
    } else if (message.result !== undefined) {
      const key = `${from === "agent" ? "client" : "agent"} ${message.id}`;
      const method = open.get(key);
      open.delete(key);
      check = method && checkOf(version, method, /Response$/);
      if (!check) found.push(`${from} answered ${message.id}, which was not asked`);
      else if (!check(message.result)) found.push(`${method}: ${ajv.errorsText(check.errors)}`);
    }
  }
  return found;
}

/** A folder that is removed at the end of the test, with a workspace, a store and a scripted model in it. */
export async function ground(test, model, files = {}) {
  const home = folder(test);
  const at = (name) => join(home, name);
  const workspace = await mkdtemp(at("w-"));
  await writeFile(at("model.json"), JSON.stringify(model));
  for (const [name, text] of Object.entries(files)) await writeFile(join(workspace, name), text);
  const args = ["acp", "--storage", at("store"), "--model", `scripted:${at("model.json")}`];
  return { folder: home, at, workspace, args };
}

/** The sidecar as an agent, and this test as its editor. */
export class Editor {
  log = [];
  /** What requests of the agent are answered with, by their methods. */
  handlers = {};
  /** Lines of the agent's error output. */
  complaints = [];
  #input;
  #open = new Map();
  #last = 0;
  #watchers = [];

  constructor(test, args, env = {}) {
    this.process = spawn(THREADHOLD, args, { env: { ...process.env, ...env }, stdio: "pipe" });
    atEnd(test, () => {
      this.process.kill("SIGKILL");
      return this.ended;
    });
    this.ended = new Promise((resolve) => {
      this.process.once("exit", (code) => {
        for (const answer of this.#open.values()) answer({ error: { message: `the agent ended with code ${code}` } });
        resolve(code);
      });
    });
    this.#input = createInterface({ input: this.process.stdout }).on("line", (line) => this.#heard(JSON.parse(line)));
    createInterface({ input: this.process.stderr }).on("line", (line) => {
      console.error(line);
      this.complaints.push(line);
      this.#changed();
    });
  }

  /** Stops reading what the agent says. */
  pause() {
    this.#input.pause();
  }

  /** Reads on. */
  resume() {
    this.#input.resume();
  }

  #changed() {
    for (const watcher of this.#watchers) watcher();
  }

  #heard(message) {
    this.log.push({ from: "agent", message });
    this.#changed();
    if (message.method === undefined) {
      this.#open.get(message.id)?.(message);
      this.#open.delete(message.id);
    } else if (message.id !== undefined) {
      const handler = this.handlers[message.method];
      Promise.resolve(handler?.(message.params, message)).then(
        (result) => result !== undefined && this.send({ id: message.id, result }),
        (error) => this.send({ id: message.id, error: { code: -32603, message: error.message } }),
      );
    }
  }

  send(message) {
    const whole = { jsonrpc: "2.0", ...message };
    this.log.push({ from: "client", message: whole });
    this.process.stdin.write(`${JSON.stringify(whole)}\n`);
  }

  /** The whole answer to a request. */
  ask(method, params) {
    const id = this.#last++;
    const answer = new Promise((resolve) => this.#open.set(id, resolve));
    this.send({ id, method, params });
    return answer;
  }

  /** The result of a request. */
  async call(method, params) {
    const answer = await this.ask(method, params);
    if (answer.error) throw Object.assign(new Error(answer.error.message), { error: answer.error });
    return answer.result;
  }

  initialize(clientCapabilities = {}) {
    return this.call("initialize", { protocolVersion: 1, clientCapabilities });
  }

  prompt(sessionId, text) {
    return this.call("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  }

  /** The updates of a session, from a place in the log. */
  updates(sessionId, from = 0) {
    const sent = this.log.slice(from).map(({ from, message }) => from === "agent" && message);
    const of = (message) => message?.method === "session/update" && message.params.sessionId === sessionId;
    return sent.filter(of).map((message) => message.params.update);
  }

  /** Waits until a line of the agent has it. */
  until(is) {
    return this.#until(() => this.log.find(({ from, message }) => from === "agent" && is(message))?.message);
  }

  /** Waits until the agent complained of it. */
  complains(words) {
    return this.#until(() => this.complaints.find((line) => line.includes(words)));
  }

  async #until(find) {
    while (!find()) await new Promise((resolve) => this.#watchers.push(resolve));
    return find();
  }

  /** Closes the agent's input and waits for its end. */
  async leave() {
    this.process.stdin.end();
    return this.ended;
  }
}

/** Updates in short: text that belongs together in one piece, rows by their order, titles and states. */
export function short(updates) {
  const lines = [];
  const calls = new Map();
  const nth = (id) => calls.get(id) ?? calls.set(id, calls.size + 1).get(id);
  for (const update of updates) {
    const kind = update.sessionUpdate;
    if (kind.endsWith("_chunk")) {
      const who = kind === "user_message_chunk" ? "user" : kind === "agent_thought_chunk" ? "thought" : "agent";
      const last = lines.at(-1);
      const text = update.content.text ?? update.content.type;
      if (last?.startsWith(`${who} ${update.messageId}:`)) lines[lines.length - 1] = last + text;
      else lines.push(`${who} ${update.messageId}:${text}`);
    } else if (kind === "tool_call") lines.push(`call ${nth(update.toolCallId)}: ${update.title}`);
    else if (kind === "tool_call_update") {
      if (update.status) lines.push(`call ${nth(update.toolCallId)}: ${update.status}`);
    } else if (kind === "compaction_update") lines.push(`compaction ${update.status}`);
    else if (kind === "plan") lines.push(`plan ${update.entries.map((entry) => `${entry.content} ${entry.status}`)}`);
  }
  return lines.map((line) => line.replace(/^(user|agent|thought) [^:]*:/, "$1: "));
}
