// `threadhold mcp` with the client of the Python SDK, in both revisions, while another process has the session open.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { PYTHON, THREADHOLD } from "./start.mjs";

const CORPUS = process.env.THREADHOLD_CORPUS;
const options = CORPUS ? {} : { skip: "THREADHOLD_CORPUS is not set" };
const transcript = (name) => join(CORPUS, "transcripts", name);
const CLIENT = fileURLToPath(new URL("mcp-server.client.py", import.meta.url));

const root = realpathSync(mkdtempSync(join(tmpdir(), "threadhold-mcp-")));
const [folder, other, storage] = ["folder", "other", "storage"].map((name) => join(root, name));
/** The imported session of the folder, and one of the other folder. */
let session, foreign;

/** Imports a transcript from the command line, and returns the session's id. */
function imported(into, name) {
  const args = ["import", "--folder", into, "--storage", storage, transcript(name)];
  const said = execFileSync(THREADHOLD, args, { encoding: "utf8" });
  return /^session (\S+): \d+ messages of .* \(claude-code\)$/m.exec(said)[1];
}

before(() => {
  for (const made of [folder, other, storage]) mkdirSync(made);
  if (!CORPUS) return;
  session = imported(folder, "claude-code-compacted-two.jsonl");
  foreign = imported(other, "claude-code-session-four.jsonl");
});
/** Started programs; a failed test leaves some. */
const children = [];
after(() => {
  for (const child of children) child.kill();
  rmSync(root, { recursive: true });
});

/** Starts a program with pipes. */
function started(command, args) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  children.push(child);
  return child;
}

/** A program that answers each line on its standard input with one line. */
function lines(command, args) {
  const child = started(command, args);
  const read = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await read.next()).value);
  const ended = new Promise((resolve) => child.on("exit", resolve));
  return {
    next,
    ask: (line) => {
      child.stdin.write(`${JSON.stringify(line)}\n`);
      return next();
    },
    end: () => {
      child.stdin.end();
      return ended;
    },
  };
}

/** The server with a client of this lifecycle. */
async function connected(mode) {
  const peer = lines(PYTHON, [CLIENT, mode, THREADHOLD, "mcp", "--folder", folder, "--storage", storage]);
  const hello = await peer.next();
  const call = (tool, args) => peer.ask({ tool, arguments: args });
  const done = async (tool, args) => {
    const answer = await call(tool, args);
    assert.equal(answer.isError, false, answer.text);
    return answer.result;
  };
  return { hello, call, done, end: peer.end };
}

/** A sidecar of an editor, as requests by method. */
async function editor() {
  const child = started(THREADHOLD, ["serve"]);
  const waiting = new Map();
  let bytes = Buffer.alloc(0);
  child.stdout.on("data", (more) => {
    bytes = Buffer.concat([bytes, more]);
    for (let at = bytes.indexOf("\r\n\r\n"); at > 0; at = bytes.indexOf("\r\n\r\n")) {
      const end = at + 4 + Number(/Content-Length: (\d+)/.exec(bytes.subarray(0, at))[1]);
      if (bytes.length < end) return;
      const message = JSON.parse(bytes.subarray(at + 4, end));
      bytes = bytes.subarray(end);
      waiting.get(message.id)?.(message);
    }
  });
  const send = (message) => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };
  let last = 0;
  const request = async (method, params) => {
    const id = ++last;
    const answered = new Promise((resolve) => waiting.set(id, resolve));
    send({ id, method, params });
    const { result, error } = await answered;
    assert.equal(error, undefined, method);
    return result;
  };
  const threadhold = { protocolVersion: 1, storage: { path: storage } };
  await request("initialize", { capabilities: {}, initializationOptions: { threadhold } });
  send({ method: "initialized", params: {} });
  const open = () => request("session/open", { workspaceFolder: folder, sessionId: session });
  return { request, open, end: () => child.stdin.end() };
}

/** Texts of one kind in the transcript, in order, as the client wrote them. */
function written(texts) {
  const rows = readFileSync(transcript("claude-code-compacted-two.jsonl"), "utf8").trim().split("\n").map(JSON.parse);
  return rows.filter((row) => Array.isArray(row.message?.content)).flatMap((row) => row.message.content.flatMap(texts));
}

/** Every message of the session, from its first to its last, each whole. */
async function whole(peer, limit) {
  const all = [];
  for (let from = 0; from !== undefined; ) {
    const { messages, next } = await peer.done("read_messages", { sessionId: session, from, limit });
    for (const message of messages) {
      const parts = [message.text];
      for (let offset = message.nextOffset; offset !== undefined; ) {
        const one = { sessionId: session, messageId: message.messageId, offset };
        const [part] = (await peer.done("read_messages", one)).messages;
        assert.equal(part.offset, offset);
        parts.push(part.text);
        offset = part.nextOffset;
      }
      all.push({ ...message, text: parts.join("") });
    }
    from = next;
  }
  return all;
}

for (const [mode, revision] of [
  ["auto", "2026-07-28"],
  ["legacy", "2025-11-25"],
]) {
  test(`sessions of Claude Code are found and read byte for byte in ${revision}`, options, async () => {
    const held = await editor();
    await held.open();
    const peer = await connected(mode);
    const names = ["search_sessions", "list_sessions", "read_messages", "session_effects", "search_memories"];
    const readOnly = Object.fromEntries(names.map((name) => [name, true]));
    assert.deepEqual(peer.hello, { revision, server: "threadhold", readOnly });

    const { sessions } = await peer.done("list_sessions", {});
    assert.deepEqual(
      sessions.map((row) => row.sessionId),
      [session],
    );

    const results = written((part) => (part.type === "tool_result" ? [part.content] : []));
    const all = await whole(peer, 40);
    assert.deepEqual(
      all.filter(({ role }) => role === "tool").map(({ text }) => text),
      results,
    );
    assert.deepEqual(
      all.map(({ text }) => Buffer.byteLength(text)),
      all.map(({ bytes }) => bytes),
    );
    assert.ok(
      all.some(({ bytes }) => bytes > 32_000),
      "one message is read in several parts",
    );

    const largest = all.reduce((most, message) => (message.bytes > most.bytes ? message : most));
    const words = largest.text
      .match(/\w{6,}/g)
      .slice(0, 3)
      .join(" ");
    const found = await peer.done("search_sessions", { words });
    const hits = found.sessions.flatMap((row) => row.hits);
    assert.ok(hits.length > 0, words);
    // In the arguments of an answer's calls, escapes of JSON are resolved.
    for (const hit of hits.filter(({ role }) => role !== "assistant")) {
      const { text } = all.find(({ messageId }) => messageId === hit.messageId);
      assert.equal(Buffer.from(text).subarray(hit.offset).indexOf(hit.snippet), 0, hit.messageId);
    }

    await held.request("session/close", { sessionId: session });
    // Reading a session that no process holds takes no lease of it either.
    await peer.done("read_messages", { sessionId: session, limit: 1 });
    await peer.done("session_effects", { sessionId: session, limit: 1 });
    const { snapshot } = await held.open();
    assert.equal(snapshot.heldBy, undefined);
    await held.request("session/close", { sessionId: session });
    held.end();
    assert.equal(await peer.end(), 0);
  });
}

test("effects of all pages name the files and commands of the session", options, async () => {
  const peer = await connected("auto");
  const pages = [];
  for (let cursor; pages.length === 0 || cursor !== undefined; ) {
    const page = await peer.done("session_effects", { sessionId: session, cursor, limit: 50 });
    pages.push(page);
    cursor = page.nextCursor;
  }
  const of = (key) => pages.flatMap((page) => page[key]);
  const input = (name, key) => written((part) => (part.type === "tool_use" && part.name === name ? [part.input[key]] : []));
  const commands = new Set(of("commands").map(({ command }) => command));
  const short = input("Bash", "command").filter((command) => !/\n|\s{2}/.test(command) && command.length < 100);
  assert.ok(short.length > 5);
  assert.deepEqual(
    short.filter((command) => !commands.has(command)),
    [],
  );
  const files = of("files").map(({ path }) => path);
  const edited = input("Edit", "file_path");
  assert.ok(edited.length > 5);
  assert.deepEqual(
    edited.filter((path) => !files.some((known) => path.endsWith(known))),
    [],
  );
  assert.equal(of("files").length + of("commands").length > 50, true);
  assert.equal(await peer.end(), 0);
});

test("memories of the folder are found, and those of no other", options, async () => {
  const held = await editor();
  const put = (workspaceFolder, text, more) => held.request("memory/put", { workspaceFolder, text, ...more });
  const kept = await put(folder, "Deploys go through make ship.", { area: "build", importance: 5, tags: ["release"] });
  await put(folder, "Deploys went through ship.sh.", { active: false });
  await put(other, "Deploys need a ticket.");
  const { text, area, importance, tags, updatedAt } = kept.memory;
  const peer = await connected("auto");
  for (const args of [{ words: "deploys" }, {}]) {
    const memories = [{ text, area, importance, tags, updatedAt }];
    assert.deepEqual(await peer.done("search_memories", args), { memories });
  }
  assert.deepEqual(await peer.done("search_memories", { words: "ticket" }), { memories: [] });
  held.end();
  assert.equal(await peer.end(), 0);
});

test("a session of another folder, and one that was deleted, are refused", options, async () => {
  const peer = await connected("auto");
  for (const tool of ["read_messages", "session_effects"]) {
    const { isError, text } = await peer.call(tool, { sessionId: foreign });
    assert.equal(isError, true);
    assert.match(text, new RegExp(`^session "${foreign}" belongs to another folder`));
  }
  const words = "initials NavUser";
  assert.deepEqual((await peer.done("search_sessions", { words })).sessions, []);

  const held = await editor();
  const deleted = await held.request("session/delete", { sessionId: session });
  assert.equal(deleted.scrubbed, true);
  assert.deepEqual((await peer.done("list_sessions", {})).sessions, []);
  assert.deepEqual((await peer.done("search_sessions", { words: "the" })).sessions, []);
  for (const tool of ["read_messages", "session_effects"]) {
    const { isError, text } = await peer.call(tool, { sessionId: session });
    assert.deepEqual({ isError, text }, { isError: true, text: `unknown session "${session}"` });
  }
  held.end();
  assert.equal(await peer.end(), 0);
});
