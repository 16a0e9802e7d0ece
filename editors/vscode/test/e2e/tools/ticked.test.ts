// Which tools are offered: the extension's own, and of the editor's those alone that the user ticked; in the editor's own
// chat also those that a request names. No folder can tick any. Tools of an MCP server that the editor runs are among them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatView } from "../../support/chatview.ts";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const { "threadhold.tools.editor": _, "threadhold.tools.todo": _todo, ...SETTINGS } = SCRIPTED;
const OWN = ["edit_file", "list_files", "read_file", "run_command", "search_text", "todo", "write_file"];

test("no tool of the editor is offered that the user did not tick", async () => {
  using probe = new Probe({ window: 64_000, answers: ["One.", "Two.", "Three.", "Four."].map((say) => ({ say })) });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    settings: SETTINGS,
    // A folder of somebody else's.
    files: { ".vscode/settings.json": JSON.stringify({ "threadhold.tools.editor": ["*"] }) },
    environment: { PROBE: probe.folder },
  });
  const offered = (): string[] => [...(probe.asked.at(-1)?.tools ?? [])].sort();
  const panel = await Panel.open(editor);
  await until(() => panel.prompt.isEnabled(), "the panel can be asked");
  await panel.ask("What can you do?");
  await panel.answer("One.").waitFor();
  assert.deepEqual(offered(), OWN);

  await editor.command("threadhold: Choose Tools");
  const row = editor.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "probe_read" });
  await editor.page.locator(".quick-input-widget .quick-input-title", { hasText: "Choose Tools" }).waitFor();
  await editor.shoot("ticked-1-choose");
  await editor.page.locator(".quick-input-widget .quick-input-box input").fill("probe_read");
  await row.waitFor();
  await row.click();
  await editor.page.locator(".quick-input-widget").getByText("1 Selected").waitFor();
  await editor.page.locator(".quick-input-title", { hasText: /^Choose Tools: about \d+ tokens per prompt$/ }).waitFor();
  await editor.page.locator(".quick-input-widget").getByRole("button", { name: "OK" }).click();
  await editor.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  await panel.ask("And now?");
  await panel.answer("Two.").waitFor();
  assert.deepEqual(offered(), [...OWN, "probe_read"].sort());

  const chat = await ChatView.open(editor);
  await chat.ask("@threadhold What can you do here?", "Three.");
  assert.deepEqual(offered(), ["probe_read"], "the editor's chat has what is ticked");
  await chat.ask("@threadhold Use #probeList for this", "Four.");
  await editor.shoot("ticked-2-named");
  assert.deepEqual(offered(), ["probe_list", "probe_read"], "and what the request names");
});

test("tools of an MCP server are ticked by what they cost, and called", async () => {
  const name = "mcp_threadhold_list_sessions";
  using probe = new Probe({
    window: 64_000,
    answers: [{ say: "First." }, { say: "I look.", calls: [{ id: "past", name, input: {} }] }, { say: "One session." }],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    settings: SETTINGS,
    files: {
      ".vscode/mcp.json": JSON.stringify({
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the editor's own variable
        servers: { past: { type: "stdio", command: process.env["THREADHOLD_BIN"], args: ["mcp", "--folder", "${workspaceFolder}"] } },
      }),
    },
    environment: { PROBE: probe.folder },
  });
  const { page } = editor;
  const panel = await Panel.open(editor);
  await panel.ask("What is the parser?");
  await panel.answer("First.").waitFor();
  assert.deepEqual([...(probe.asked.at(-1)?.tools ?? [])].sort(), OWN);

  const rows = page.locator(".quick-input-list .monaco-list-row");
  await editor.command("MCP: List Servers");
  await rows.filter({ hasText: "past" }).first().click();
  await rows.filter({ hasText: "Start Server" }).first().click();
  await page.getByText("Discovered 5 tools").waitFor();

  await editor.command("threadhold: Choose Tools");
  await page.locator(".quick-input-widget .quick-input-box input").fill(name);
  const row = rows.filter({ hasText: name }).filter({ hasText: /About \d+ tokens per prompt/ });
  await row.click();
  await page.locator(".quick-input-title", { hasText: /^Choose Tools: about \d+ tokens per prompt$/ }).waitFor();
  await editor.shoot("ticked-3-server");
  await page.locator(".quick-input-widget").getByRole("button", { name: "OK" }).click();
  await page.locator(".quick-input-widget").waitFor({ state: "hidden" });

  await panel.ask("What did we say before?");
  await panel.answer("One session.").waitFor();
  await editor.shoot("ticked-4-called");
  assert.deepEqual([...(probe.asked.at(-1)?.tools ?? [])].sort(), [...OWN, name].sort());
  assert.match(
    JSON.stringify(probe.asked.at(-1)?.messages),
    /What is the parser\?.*What is the parser\?/,
    "the result has the first session",
  );
});
