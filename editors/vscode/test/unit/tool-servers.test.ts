// Tool servers that files of the folder define: asked about with all that they would be given, allowed by what was shown.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ToolServers } from "../../src/session/tool-servers.ts";
import type { ServerConsent } from "../../src/shared/view.ts";
import { Window } from "./support/window.ts";

test("a server of the folder waits until exactly its definition is allowed or denied", async () => {
  await using window = new Window();
  window.settings = { ...window.settings, mcp: { workspaceFiles: "ask" } };
  const define = (servers: object): void => writeFileSync(join(window.folder, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the sidecar puts the value of the variable there.
  const one = { command: "server-one", args: ["--port", "1"], env: { TOKEN: "${ONE_TOKEN}" } };
  define({ one, two: { command: "server-two" } });
  let changes = 0;
  const servers = new ToolServers({
    client: () => window.client(),
    folder: () => window.folder,
    changed: () => {
      changes += 1;
    },
  });
  await servers.refresh();
  const asked = servers.asked as ServerConsent;
  assert.deepEqual(
    { ...asked, definition: "" },
    {
      name: "one",
      definition: "",
      file: ".mcp.json",
      details: ["server-one --port 1", "Variables: TOKEN", "Gets the values of: ONE_TOKEN"],
    },
  );
  // The file says something else by now: nothing is allowed, and what is asked about is what is there.
  define({ one: { ...one, args: ["--port", "2"] }, two: { command: "server-two" } });
  await assert.rejects(servers.decide("one", asked.definition, "allow"));
  assert.equal(servers.asked?.details[0], "server-one --port 2");
  await servers.decide("one", servers.asked?.definition ?? "", "allow");
  assert.equal(servers.asked?.name, "two");
  await servers.decide("two", servers.asked?.definition ?? "", "deny");
  assert.equal(servers.asked, undefined);
  assert.equal(changes, 4);
});
