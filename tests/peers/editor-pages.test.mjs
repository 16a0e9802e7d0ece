// The pages about editors: their settings are read and used, and their command lines are run, as far as the editor's own
// program is here.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Editor, ground } from "./acp.mjs";
import { npm, THREADHOLD } from "./start.mjs";

const run = promisify(execFile);
const pages = fileURLToPath(new URL("../../docs/editors/", import.meta.url));

/** The blocks of code on each page, in a language. */
async function blocks(language) {
  const found = [];
  for (const page of (await readdir(pages)).sort()) {
    const text = await readFile(join(pages, page), "utf8");
    for (const [, name, block] of text.matchAll(/^```(\w+)\n(.*?)^```$/gms)) {
      if (name === language) found.push({ page, block });
    }
  }
  return found;
}

test("agents that editors are told of start and answer", async (t) => {
  const started = [];
  for (const { page, block } of await blocks("json")) {
    const { threadhold } = JSON.parse(block).agent_servers ?? {};
    if (threadhold === undefined) continue;
    const on = await ground(t, {});
    const editor = new Editor(t, threadhold.args, { ...threadhold.env, HOME: on.folder });
    assert.equal((await editor.initialize()).protocolVersion, 1, page);
    assert.equal(await editor.leave(), 0, page);
    started.push(page);
  }
  assert.deepEqual(started, ["jetbrains.md", "zed.md"]);
});

test("settings of the pages name a model that the agent takes", async (t) => {
  const taken = [];
  for (const { page, block } of await blocks("toml")) {
    const on = await ground(t, {});
    await writeFile(on.at("config.toml"), block);
    const editor = new Editor(t, on.args.slice(0, 3), { THREADHOLD_CONFIG: on.at("config.toml") });
    await editor.initialize();
    const { configOptions } = await editor.call("session/new", { cwd: on.workspace, mcpServers: [] });
    // Only a model that the sidecar asks has an effort.
    assert.deepEqual(
      configOptions.map(({ id }) => id),
      ["effort", "policy"],
      page,
    );
    await editor.leave();
    assert.deepEqual(editor.complaints, [], page);
    taken.push(page);
  }
  for (const page of ["acpx.md", "emacs.md", "jetbrains.md", "neovim.md", "zed.md"]) assert.ok(taken.includes(page), page);
});

test("the command lines of the page about acpx run in their order", async (t) => {
  const on = await ground(t, { then: "echo" });
  await writeFile(on.at("config.toml"), `[model]\nwire = "scripted"\nbaseUrl = "${on.at("model.json")}"\n`);
  await mkdir(on.at("bin"));
  for (const [name, words] of Object.entries({ acpx: npm("acpx"), threadhold: [THREADHOLD] })) {
    await writeFile(on.at(`bin/${name}`), `#!/bin/sh\nexec ${words.map((word) => `'${word}'`).join(" ")} "$@"\n`);
    await chmod(on.at(`bin/${name}`), 0o755);
  }
  const env = {
    PATH: `${on.at("bin")}:${process.env.PATH}`,
    HOME: on.folder,
    XDG_DATA_HOME: on.at("data"),
    THREADHOLD_CONFIG: on.at("config.toml"),
  };
  const all = (await blocks("sh")).filter(({ page }) => page === "acpx.md").flatMap(({ block }) => block.trimEnd().split("\n"));
  const lines = all.filter((line) => line.startsWith("acpx"));
  assert.equal(lines.length, 5);
  const outputs = [];
  for (const line of lines) outputs.push((await run("bash", ["-c", line], { env, cwd: on.workspace })).stdout);
  for (const [at, words] of [/Goal/, /./, /Goal/, /ompacted/, /What does this project do\?/].entries()) {
    assert.match(outputs[at], words, lines[at]);
  }
  await run("bash", ["-c", 'acpx --agent "threadhold acp" sessions close'], { env, cwd: on.workspace });
});
