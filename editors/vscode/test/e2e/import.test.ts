// Chats of other programs come into the panel: recorded sessions of Claude Code, pi and the editor, found where their
// programs keep them, imported by the command, opened; and a chat of this very editor, from its own file.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { ChatView } from "../support/chatview.ts";
import { Editor, until } from "../support/editor.ts";
import { Panel } from "../support/panel.ts";
import { Probe } from "../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../support/settings.ts";

const corpus = process.env["THREADHOLD_CORPUS"];
if (corpus === undefined && process.env["CI"]) throw new Error("THREADHOLD_CORPUS is not set; under CI the import of recorded chats must run.");

test("chats of this folder are found, imported, opened; what cannot be read is named", { skip: corpus === undefined && "THREADHOLD_CORPUS is not set" }, async () => {
  const recorded = (name: string): string => readFileSync(join(corpus ?? "", "transcripts", name), "utf8");
  const places = mkdtempSync(join(tmpdir(), "threadhold-chats-"));
  using probe = new Probe({ answers: [{ say: "I will remember it." }] });
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(places, path)), { recursive: true });
    writeFileSync(join(places, path), text);
  };
  try {
    await using editor = await Editor.start({
      extensions: PACKAGES,
      environment: { PROBE: probe.folder },
      before: (editor) => {
        const { folder } = editor;
        // As their programs would have recorded them here.
        const here = (name: string): string => recorded(name).replace(/"cwd":"[^"]*"/g, `"cwd":${JSON.stringify(folder)}`);
        const project = folder.replace(/[^a-zA-Z0-9]/g, "-");
        write(`claude/${project}/one.jsonl`, here("claude-code-session-four.jsonl"));
        write(`claude/${project}/two.jsonl`, here("vscode-claude-session.jsonl"));
        write("pi/--project--/three.jsonl", `${here("pi-large-session.jsonl")}\n{"type":"message","mess\n`);
        write("code/abc/workspace.json", JSON.stringify({ folder: `file://${folder}` }));
        write("code/abc/chatSessions/four.json", recorded("vscode-copilot-chat-mcp.json"));
        const importFolders = { vscode: [join(places, "code")], claudeCode: [join(places, "claude")], pi: [join(places, "pi")] };
        editor.settings({ ...SCRIPTED, "threadhold.importFolders": importFolders });
        return Promise.resolve();
      },
    });
    const chat = await ChatView.open(editor);
    await chat.ask("@threadhold Remember the number 4711.", "I will remember it.");
    const { page } = editor;
    const rows = page.locator(".quick-input-list .monaco-list-row");
    const told = page.locator(".notification-toast");
    await editor.command("threadhold: Import Chats");
    await rows.filter({ hasText: "Claude Code" }).first().waitFor();
    await editor.shoot("import-1-found");
    const details = await rows.allTextContents();
    assert.equal(details.length, 5, details.join("\n"));
    assert.ok(details.some((row) => row.includes("Remember the number 4711.") && row.includes("2 messages")), "the editor's own chat, from its log of changes");
    assert.equal(details.filter((row) => row.includes("Claude Code ·")).length, 2);
    await page.locator(".quick-input-widget .quick-input-header").getByRole("checkbox").first().click();
    await page.keyboard.press("Enter");
    await told.filter({ hasText: /Imported 5 chats with [\d,]+ messages\. 1 part could not be read and was left out\./ }).waitFor();
    await editor.shoot("import-2-imported");
    await told.getByRole("button", { name: "Show What Was Left Out" }).click();
    await page.locator(".view-lines").filter({ hasText: "What the import left out" }).waitFor();
    await editor.shoot("import-3-left-out");

    // All of them are sessions of the panel; one is opened, with what was said in it.
    const panel = await Panel.open(editor);
    await editor.command("threadhold: Sessions of This Folder");
    await until(async () => (await panel.frame.locator(".sessions li .open").count()) >= 5, "the panel lists them");
    await editor.shoot("import-4-sessions");

    // A second time nothing is there twice.
    await editor.command("threadhold: Import Chats");
    await rows.filter({ hasText: "imported before, will be opened" }).first().waitFor();
    assert.equal(await rows.filter({ hasText: "imported before, will be opened" }).count(), 5);
    await rows.filter({ hasText: "Remember the number 4711." }).click();
    await page.keyboard.press("Enter");
    await told.filter({ hasText: "1 chat had been imported before." }).waitFor();
    await panel.answer("I will remember it.").waitFor();
    await editor.shoot("import-5-opened");

    // A file that no format fits is refused in words, and one that the folders do not hold is taken.
    for (const [name, said] of [["cline-session.messages.json", "Not imported: cline-session.messages.json: the format was not recognised"], ["vscode-copilot.chatreplay.json", "Imported 1 chat with"]] as const) {
      await editor.command("threadhold: Import Chats");
      await page.getByRole("button", { name: "Import a file…" }).click();
      const input = page.locator(".quick-input-widget input[type=text]");
      await until(async () => (await input.inputValue()).startsWith("/"), "the editor asks for a file");
      // The editor opens a folder of its own in the end, and reads what is typed a moment later.
      const path = join(corpus ?? "", "transcripts", name);
      await until(async () => {
        if (!(await input.isVisible())) return true;
        if ((await input.inputValue()) === path) await page.keyboard.press("Enter");
        else await input.fill(path);
        return false;
      }, "the file is taken");
      await told.filter({ hasText: said }).waitFor();
    }
    await editor.shoot("import-6-file");
  } finally {
    rmSync(places, { recursive: true, force: true });
  }
});
