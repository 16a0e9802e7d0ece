// Chats of other programs come into the panel: all nine recorded transcripts, those of Claude Code, pi and the editor found
// where their programs keep them, the others from their files; and a chat of this very editor, from its own file.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { ChatView } from "../../support/chatview.ts";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const corpus = process.env["THREADHOLD_CORPUS"];
if (corpus === undefined && process.env["CI"])
  throw new Error("THREADHOLD_CORPUS is not set; under CI the import of recorded chats must run.");

test("chats of this folder are found, imported, opened; what cannot be read is named", {
  skip: corpus === undefined && "THREADHOLD_CORPUS is not set",
}, async () => {
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
    await chat.stored("I will remember it.");
    const { page } = editor;
    const rows = page.locator(".quick-input-list .monaco-list-row");
    const told = page.locator(".notification-toast");
    await editor.command("threadhold: Import Chats");
    await rows.filter({ hasText: "Claude Code" }).first().waitFor();
    await editor.shoot("import-1-found");
    const details = await rows.allTextContents();
    assert.equal(details.length, 5, details.join("\n"));
    assert.ok(
      details.some((row) => row.includes("Remember the number 4711.") && row.includes("2 messages")),
      "the editor's own chat, from its log of changes",
    );
    assert.equal(details.filter((row) => row.includes("Claude Code ·")).length, 2);
    await page.locator(".quick-input-widget .quick-input-header").getByRole("checkbox").first().click();
    await page.keyboard.press("Enter");
    await told
      .filter({
        hasText: `Imported 5 chats with ${(62 + 43 + 914 + 8 + 2).toLocaleString("en-US")} messages. 1 part could not be read and was skipped.`,
      })
      .waitFor();
    await editor.shoot("import-2-imported");
    await told.getByRole("button", { name: "Show Skipped Parts" }).click();
    const leftOut = page.locator(".editor-instance .view-lines").filter({ hasText: "Parts skipped by the import" });
    await leftOut.waitFor();
    // It is a text to read: keys change nothing in it, and closing it asks nothing.
    await leftOut.click();
    await page.keyboard.type("x");
    await page.locator(".monaco-editor-overlaymessage").filter({ hasText: "read-only" }).waitFor();
    await editor.shoot("import-3-left-out");
    await page.locator(".tab.active .tab-actions a.action-label").click();
    await leftOut.waitFor({ state: "detached" });
    assert.equal(await page.locator(".monaco-dialog-box").count(), 0);

    // All of them are sessions of the panel; one is opened, with what was said in it.
    const panel = await Panel.open(editor);
    await editor.command("threadhold: Show Sessions");
    await until(async () => (await panel.frame.locator(".sessions li .open").count()) >= 5, "the panel lists them");
    await editor.shoot("import-4-sessions");

    // A second time nothing is there twice.
    await editor.command("threadhold: Import Chats");
    await rows.filter({ hasText: "already imported; opens the existing session" }).first().waitFor();
    assert.equal(await rows.filter({ hasText: "already imported; opens the existing session" }).count(), 5);
    await rows.filter({ hasText: "Remember the number 4711." }).click();
    await page.keyboard.press("Enter");
    await told.filter({ hasText: "Already imported: 1 chat." }).waitFor();
    await panel.answer("I will remember it.").waitFor();
    await editor.shoot("import-5-opened");

    // Files that the folders do not hold are taken, each with all of its messages; one that no format fits is refused in words.
    write("notes.json", JSON.stringify({ notes: ["Buy milk."] }));
    const files = [
      [join(places, "notes.json"), "Not imported: notes.json: unknown format"],
      ["vscode-copilot.chatreplay.json", "Imported 1 chat with 11 messages."],
      ["sweagent-marshmallow-fc.traj", "Imported 1 chat with 28 messages."],
      ["codex-tui-oss-story.jsonl", "Imported 1 chat with 6 messages."],
      ["cline-session.messages.json", "Imported 1 chat with 33 messages."],
      ["openhands-llm-log-deepseek.json", "Imported 1 chat with 9 messages."],
    ] as const;
    const take = async (path: string): Promise<void> => {
      const input = page.locator(".quick-input-widget input[type=text]");
      await until(async () => (await input.inputValue()).startsWith("/"), "the editor asks for a file");
      // The editor opens a folder of its own in the end, and reads what is typed a moment later.
      await until(async () => {
        if (!(await input.isVisible())) return true;
        if ((await input.inputValue()) === path) await page.keyboard.press("Enter");
        else await input.fill(path);
        return false;
      }, "the file is taken");
    };
    for (const [name, said] of files) {
      await editor.command("threadhold: Import Chats");
      await page.getByRole("button", { name: "Import File…" }).click();
      await take(resolve(corpus ?? "", "transcripts", name));
      await told.filter({ hasText: said }).waitFor();
      if (name === files[0][0]) {
        // What is not recognized is read as the user says, who learns why where that is wrong.
        await told.getByRole("button", { name: "Choose Format…" }).click();
        await page.locator(".quick-input-widget").getByText("Format of notes.json").waitFor();
        await editor.shoot("import-6-format");
        // Of notifications that come faster than a person can cause them, the editor shows the first two only.
        await page.waitForTimeout(1000);
        await rows.filter({ hasText: "claude-code" }).click();
        await told.filter({ hasText: "Not imported: notes.json: " }).filter({ hasNotText: "unknown format" }).waitFor();
        await editor.shoot("import-7-other-format");
      }
      await editor.clearToasts();
    }

    await panel.answer("Perfect! The hello.py file already exists").first().waitFor();
    await editor.shoot("import-8-file");

    // A format that was recognized wrongly is chosen by the user; what was imported first stays.
    write(
      "either.json",
      JSON.stringify([
        { role: "user", content: "Either format fits." },
        { role: "assistant", content: "So it does." },
      ]),
    );
    await editor.command("threadhold: Import Chats");
    await page.getByRole("button", { name: "Import File…" }).click();
    await take(join(places, "either.json"));
    await told.filter({ hasText: "Imported 1 chat with 2 messages." }).getByRole("button", { name: "Import as Other Format…" }).click();
    await page.locator(".quick-input-widget").getByText("Format of either.json").waitFor();
    await page.waitForTimeout(1000);
    await rows.filter({ hasText: "anthropic" }).click();
    await panel.answer("So it does.").waitFor();
    await editor.command("threadhold: Show Sessions");
    const either = panel.frame.locator(".sessions li .open").filter({ hasText: "Either format fits." });
    await until(async () => (await either.count()) === 2, "both imports are listed");
    await editor.clearToasts();

    // Each is called after what its user asked.
    const titles = panel.frame.locator(".sessions li .open");
    for (const title of ["create a file that says", "hello", "can you update @apps/examples", "Hello! Can you create a new Python file"]) {
      await titles.filter({ hasText: title }).first().waitFor();
    }
    for (const title of await titles.allTextContents()) assert.doesNotMatch(title, /^\s*</);
    await editor.shoot("import-7-titles");
  } finally {
    rmSync(places, { recursive: true, force: true });
  }
});
