// Lines that no editor should send: each gets one answer, none ends the agent, and it works afterwards.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import test from "node:test";
import { ground } from "./acp.mjs";
import { THREADHOLD } from "./start.mjs";

/** Numbers that are the same in each run. */
function numbers(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const STRANGE = [null, true, 0, -1, 1.5, 2 ** 60, "", "\u0000", "💥", "x".repeat(5_000), [], [[]], {}, { a: { b: [] } }];

/** The value with something in it replaced, removed or added. */
function mutated(value, next) {
  if (value === null || typeof value !== "object") return STRANGE[next(STRANGE.length)];
  const copy = Array.isArray(value) ? [...value] : { ...value };
  const keys = Object.keys(copy);
  if (keys.length === 0 || next(8) === 0) copy[Array.isArray(copy) ? copy.length : "extra"] = STRANGE[next(STRANGE.length)];
  else {
    const key = keys[next(keys.length)];
    if (next(5) === 0 && !Array.isArray(copy)) delete copy[key];
    else copy[key] = mutated(copy[key], next);
  }
  return copy;
}

/** The answers to lines that are written at once, behind `initialize` in the same write. */
function answers(args, lines) {
  return new Promise((resolve) => {
    const agent = spawn(THREADHOLD, args, { stdio: ["pipe", "pipe", "ignore"] });
    const chunks = [];
    agent.stdout.on("data", (chunk) => chunks.push(chunk));
    agent.once("close", (code) => {
      const texts = Buffer.concat(chunks).toString().trimEnd().split("\n");
      resolve({ code, answers: texts.map((text) => JSON.parse(text)).filter(({ method }) => method === undefined) });
    });
    agent.stdin.end(Buffer.concat(lines.map((line) => Buffer.concat([Buffer.from(line), Buffer.from("\n")]))));
  });
}

/** Parameters of `initialize` for each version. */
const HELLOS = [{ protocolVersion: 1 }, { protocolVersion: 2, info: { name: "test", version: "1" } }];

for (const params of HELLOS) {
  test(`5,000 mutated requests behind initialize of version ${params.protocolVersion} have one answer each`, async (t) => {
    const on = await ground(t, { then: "echo" });
    const cwd = on.workspace;
    const sessionId = "s";
    const requests = [
      ["session/new", { cwd, mcpServers: [{ name: "m", command: "/bin/no", args: [], env: [{ name: "A", value: "b" }] }] }],
      ["session/load", { sessionId, cwd, mcpServers: [] }],
      ["session/resume", { sessionId, cwd }],
      ["session/list", { cwd, cursor: "x" }],
      ["session/close", { sessionId }],
      ["session/delete", { sessionId }],
      ["session/fork", { sessionId, cwd, mcpServers: [] }],
      [
        "session/prompt",
        {
          sessionId,
          prompt: [
            { type: "text", text: "a" },
            { type: "image", mimeType: "image/png", data: "" },
          ],
        },
      ],
      ["session/set_mode", { sessionId, modeId: "ask" }],
      ["session/set_config_option", { sessionId, configId: "policy", value: "rounds" }],
      ["authenticate", { methodId: "x" }],
    ];
    const next = numbers(28);
    const hello = { jsonrpc: "2.0", id: "hello", method: "initialize", params };
    const lines = [JSON.stringify(hello)];
    const ids = ["hello"];
    for (let id = 0; id < 5_000; id++) {
      const [method, params] = requests[next(requests.length)];
      const changed = next(10) === 0 ? { method: method + next(9), params } : { method, params: mutated(params, next) };
      lines.push(JSON.stringify({ jsonrpc: "2.0", id, method: changed.method, params: changed.params }));
      ids.push(id);
    }
    const { code, answers: got } = await answers(on.args, lines);
    assert.equal(code, 0);
    const sorted = (list) => list.map(String).sort();
    assert.deepEqual(sorted(got.map(({ id }) => id)), sorted(ids));
    const odd = got.filter(({ result, error }) => (result === undefined) === (error === undefined));
    assert.deepEqual(odd, []);
    assert.deepEqual(new Set(got.filter(({ error }) => error && typeof error.message !== "string")), new Set());
  });
}

test("lines that are no messages are answered and the rest is served", async (t) => {
  const on = await ground(t, { then: "echo" });
  const bad = [
    "{",
    "null",
    "[]",
    '{"jsonrpc":"2.0"}',
    '{"jsonrpc":"1.0","id":1,"method":"session/list","params":{}}',
    '{"jsonrpc":"2.0","id":null,"method":"session/list","params":{}}',
    '{"jsonrpc":"2.0","id":2,"method":3}',
    Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
    "",
    "   ",
  ];
  const hello = '{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":1}}';
  const list = '{"jsonrpc":"2.0","id":"list","method":"session/list","params":{}}';
  const { code, answers: got } = await answers(on.args, [...bad, hello, ...bad, list]);
  assert.equal(code, 0);
  const errors = [-32700, -32600, -32600, -32600, -32600, -32600, -32600, -32700];
  assert.deepEqual(
    got.map(({ id, error }) => error?.code ?? id),
    [...errors, "hello", ...errors, "list"],
  );
});
