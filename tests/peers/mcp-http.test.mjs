// Servers over HTTP that send more than anybody reads.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { test } from "node:test";
import { Sidecar } from "./sidecar.mjs";
import { atEnd } from "./start.mjs";

const said = { say: "done" };
const turns = (...names) => names.flatMap((name) => [{ call: { name: `web__${name}`, arguments: {} } }, said]);
const text = (result) => result.content.map((part) => part.text).join();
const MEGABYTE = "x".repeat(1 << 20);

/** Writes to a client as fast as it reads, until it leaves. */
async function write(response, piece, times = Number.POSITIVE_INFINITY) {
  for (let n = 0; n < times && !response.destroyed; n++) {
    if (!response.write(piece)) await Promise.race([once(response, "drain"), once(response, "close")]);
  }
}

/** What each tool answers with. */
const tools = {
  async huge(id, response) {
    response.writeHead(200, { "content-type": "application/json" });
    response.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`);
    await write(response, MEGABYTE, 100);
    response.end('"}]}}');
  },
  async hugeEvent(id, response) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: {"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`);
    await write(response, MEGABYTE, 100);
    response.end('"}]}}\n\n');
  },
  async flood(_, response) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const told = 'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n';
    await write(response, told.repeat(100));
  },
  async safe(id, response) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "safe" }] } }));
  },
};

/** A server of the older revision at an address of its own. */
async function serve(test) {
  const server = createServer(async (request, response) => {
    response.on("error", () => {});
    let body = "";
    for await (const piece of request) body += piece;
    if (request.method !== "POST") return response.writeHead(405).end();
    const { id, method, params } = JSON.parse(body);
    if (id === undefined) return response.writeHead(202).end();
    if (method === "tools/call") return tools[params.name](id, response);
    const known = {
      initialize: {
        protocolVersion: "2025-11-25",
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: "web", version: "1" },
      },
      "tools/list": { tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" } })) },
    };
    const answer = known[method] ? { result: known[method] } : { error: { code: -32601, message: "no such method" } };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(test, () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}/mcp`;
}

const started = async (t, ...names) => {
  const web = { url: await serve(t), timeoutSeconds: 2 };
  return Sidecar.start(t, turns(...names), { mcp: { servers: { web } } });
};

/** The most memory that a sidecar ever had, in KiB. */
const most = (sidecar) => Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${sidecar.process.pid}/status`, "utf8"))[1]);

test("100 MB over HTTP are an error, as JSON and as an event, and fill no memory", async (t) => {
  const sidecar = await started(t, "huge", "hugeEvent", "safe");
  const session = await sidecar.open();
  for (const _ of ["huge", "hugeEvent"]) {
    const [huge] = await sidecar.turn(session);
    assert.equal(huge.isError, true);
    assert.ok(text(huge).length < 1000, text(huge).slice(0, 1000));
  }
  const [safe] = await sidecar.turn(session);
  assert.equal(text(safe), "safe");
  assert.ok(most(sidecar) < 400_000, String(most(sidecar)));
});

test("a flood of notifications over HTTP fills no memory and ends with its call", async (t) => {
  const sidecar = await started(t, "flood", "safe");
  const session = await sidecar.open();
  const [flooded] = await sidecar.turn(session);
  assert.equal(text(flooded), "[no result within 2 s; the call was cancelled]");
  const [safe] = await sidecar.turn(session);
  assert.equal(text(safe), "safe");
  assert.ok(most(sidecar) < 400_000, String(most(sidecar)));
});
