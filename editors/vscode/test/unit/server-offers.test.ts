// What the sidecar's tool servers offer the composer, as the sidecar lists it.

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { attachResource, resourcesFor } from "../../src/mentions/resources.ts";
import { ServerListing } from "../../src/mentions/server-offers.ts";
import { Window } from "./support/window.ts";

const SERVER = { command: "python3", args: [resolve("../../tests/it/chat/server.py")] };

test("a session's servers are listed with what each tool costs", async () => {
  await using window = new Window();
  window.settings = { ...window.settings, mcp: { servers: { table: SERVER } } };
  const client = await window.client();
  const session = await client.openSession({ workspaceFolder: window.folder });
  const servers = new ServerListing();
  assert.equal(servers.known(session), undefined);
  const [listed, again] = await Promise.all([servers.list(session), servers.get(session)]);
  assert.equal(again, listed, "both wait for one list");
  assert.equal(servers.known(session), listed);
  const { tools, prompts, resources } = listed;
  assert.deepEqual(
    tools.map(({ name, tokens }) => [name, tokens > 0]),
    [
      ["table__book", true],
      ["table__count", true],
    ],
  );
  assert.deepEqual(prompts, [{ server: "table", name: "greet", arguments: [{ name: "whom", required: true }] }]);
  assert.deepEqual(resources, [{ server: "table", uri: "table://menu", name: "menu", mimeType: "text/plain" }]);
  const other = await client.openSession({ workspaceFolder: window.folder });
  assert.equal(servers.known(other), undefined, "those of another session are not shown");

  const attached: unknown[] = [];
  await attachResource({ addResource: (...given) => attached.push(given) }, session, {
    kind: "resource",
    server: "table",
    uri: "table://menu",
  });
  assert.deepEqual(attached, [["table:table://menu", [{ type: "resource", uri: "table://menu", text: "Soup." }]]]);
});

test("a session that another window writes offers nothing of servers", async () => {
  const session = { id: "s", view: { snapshot: { heldBy: { pid: 1, since: "" } } }, request: () => assert.fail("it is not asked") };
  assert.deepEqual(await new ServerListing().list(session as never), { tools: [], prompts: [], resources: [] });
});

test("resources are found by their names and addresses", () => {
  const resource = (name: string, uri: string) => ({ server: "s", uri, name });
  const resources = [resource("a menu", "s://1"), resource("menu", "s://2"), resource("notes", "s://menu of today")];
  const found = (query: string) => resourcesFor(query, { tools: [], prompts: [], resources }).map(({ path }) => path);
  assert.deepEqual(found("MENU"), ["s:s://2", "s:s://1"]);
  assert.deepEqual(found("s:s://1"), ["s:s://1"]);
  assert.deepEqual(found("nothing"), []);
});
