// Names in the README exist: commands, settings, and pictures that are small enough for a page.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { contributes, settings } from "../support/manifest.ts";

const page = readFileSync("README.md", "utf8");

function named(expression: RegExp): string[] {
  return [...page.matchAll(expression)].map(([, name = ""]) => name);
}

test("commands and settings that the page names are those of the extension", () => {
  const titles = contributes.commands.map(({ title }) => title);
  const commands = named(/\*threadhold: ([^*]+)\*/g);
  assert.ok(commands.length >= 3);
  for (const command of commands) assert.ok(titles.includes(command), `${command} is no command`);
  const known = settings.map(([name]) => name);
  const used = named(/`(threadhold\.[A-Za-z.]+\*?)(?::[^`]*)?`/g);
  assert.ok(used.length >= 4);
  for (const setting of used) {
    const isKnown = setting.endsWith("*") ? known.some((name) => name.startsWith(setting.slice(0, -1))) : known.includes(setting);
    assert.ok(isKnown, `${setting} is no setting`);
  }
});

test("the page's pictures are there, small, and all of them are shown", () => {
  const shown = named(/!\[[^\]]+\]\(media\/readme\/([\w.-]+)\)/g);
  assert.ok(shown.length >= 4);
  assert.deepEqual([...shown].sort(), readdirSync("media/readme").sort());
  for (const name of shown) {
    const path = `media/readme/${name}`;
    assert.ok(existsSync(path) && statSync(path).size < 150_000, `${path} has ${statSync(path).size} bytes`);
  }
});
