// The pages about editors: their settings are read and used, and their command lines are run, as far as the editor's own
// program is here.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parse, tokenize } from "@thi.ng/sexpr";
import luaparse from "luaparse";
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

/** Starts what a page names as an agent; it must answer. */
async function starts(t, page, [program, ...args]) {
  assert.equal(program, "threadhold", page);
  const on = await ground(t, {});
  const editor = new Editor(t, args, { HOME: on.folder });
  assert.equal((await editor.initialize()).protocolVersion, 1, page);
  assert.equal(await editor.leave(), 0, page);
}

/** The tables of a Lua program with these fields, as lists of texts. */
function luaTables(node, found = []) {
  if (node === null || typeof node !== "object") return found;
  if (node.type === "TableConstructorExpression") found.push(node.fields);
  for (const inner of Object.values(node)) luaTables(inner, found);
  return found;
}

/** The value of a Lua table's field: a text, or a list of texts. */
function luaField(fields, name) {
  const field = fields.find(({ type, key }) => type === "TableKeyString" && key.name === name);
  const text = ({ raw }) => JSON.parse(raw);
  if (field?.value.type === "StringLiteral") return text(field.value);
  return field?.value.fields?.map(({ value }) => text(value));
}

test("blocks of Lua are Lua, and the agents that they name start and answer", async (t) => {
  const named = [];
  for (const { page, block } of await blocks("lua")) {
    for (const fields of luaTables(luaparse.parse(block))) {
      const command = luaField(fields, "command");
      if (command !== undefined) named.push([page, command, ...luaField(fields, "args")]);
      if (Array.isArray(luaField(fields, "default"))) named.push([page, ...luaField(fields, "default")]);
    }
  }
  assert.deepEqual(named, [
    ["neovim.md", "threadhold", "acp"],
    ["neovim.md", "threadhold", "acp"],
  ]);
  for (const [page, ...words] of named) await starts(t, page, words);
});

/** The lists of a text in Emacs Lisp: symbols and texts as values, lists as arrays. A quote is a symbol of its own. */
function lisp(text) {
  const value = (node) => (node.children ? node.children.map(value) : node.value);
  return parse(tokenize(text)).children.map(value);
}

/** The value behind a keyword in any of the lists. */
function behind(lists, keyword) {
  for (const list of lists.filter(Array.isArray)) {
    const at = list.indexOf(keyword);
    if (at >= 0) return list.slice(at + 1);
    const inner = behind(list, keyword);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

test("blocks of Emacs Lisp are lists, and the agents that they name start and answer", async (t) => {
  const named = [];
  for (const { page, block } of await blocks("elisp")) {
    const lists = lisp(block);
    const [program] = behind(lists, ":command");
    const args = behind(lists, ":command-params").find(Array.isArray);
    named.push([page, program, ...args]);
  }
  assert.deepEqual(named, [["emacs.md", "threadhold", "acp"]]);
  for (const [page, ...words] of named) await starts(t, page, words);
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
