// Which tools are offered: the extension's own, and of the editor's those alone that the user ticked; in the editor's own
// chat also those that a request names. No folder can tick any.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatView } from "../../support/chatview.ts";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const { "threadhold.tools.editor": _, ...SETTINGS } = SCRIPTED;
const OWN = ["edit_file", "list_files", "read_file", "run_command", "search_text", "write_file"];

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
