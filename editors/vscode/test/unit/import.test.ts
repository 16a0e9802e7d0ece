// Finding chats of a folder that other programs keep, the editor's log of changes, the text of what an import left out;
// without an editor.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { replayed } from "../../src/import/chatlog.ts";
import { find, ownWords } from "../../src/import/find.ts";
import { leftOutText } from "../../src/import/skipped-text.ts";
import { emptyFolder } from "./support/window.ts";

test("a log of changes comes to the value that it was written for", () => {
  const log = [
    { kind: 0, v: { version: 3, requests: [] } },
    { kind: 2, k: ["requests"], v: [{ message: "One?" }, { message: "Two?" }] },
    { kind: 1, k: ["requests", 0, "response"], v: ["Yes."] },
    { kind: 1, k: ["customTitle"], v: "Questions" },
    { kind: 2, k: ["requests"], i: 1, v: [{ message: "Two, again?" }] },
    { kind: 1, k: ["draft"], v: "…" },
    { kind: 3, k: ["draft"] },
    { kind: 2, k: ["new"], v: [1] },
  ].map((change) => JSON.stringify(change));
  const expected = {
    version: 3,
    requests: [{ message: "One?", response: ["Yes."] }, { message: "Two, again?" }],
    customTitle: "Questions",
    new: [1],
  };
  assert.deepEqual(replayed(log.join("\n")), expected);
  assert.deepEqual(replayed(`${log.join("\n")}\n{"kind":1,"k":["cus`), expected, "a line that was cut off is left out");
  assert.throws(() => replayed("no log"), SyntaxError);
  assert.throws(() => replayed(`${log[0]}\n{"kind":1,"k":["gone","in"],"v":1}`), /change to a missing place/);
  assert.throws(() => replayed(`${log[0]}\n{"kind":9,"k":["a"]}`), /unknown change 9/);
  for (const key of ["__proto__", "constructor"]) {
    assert.throws(() => replayed(`${log[0]}\n{"kind":1,"k":["${key}","planted"],"v":1}`), /change to a missing place/);
  }
  assert.equal(({} as { planted?: number }).planted, undefined);
});

test("a chat is titled by what its user asked, not by what a program put before it", () => {
  const cases = [
    ["<environment_info>\nOS: Linux\n</environment_info>\n<workspace_info>a\n</workspace_info>\n", ""],
    ["<context>\nToday\n</context>\n<userRequest>\ncreate a file\n</userRequest>\n", "create a file"],
    ["<system-reminder>x</system-reminder>\n\nFix the tests", "Fix the tests"],
    ['<command-name a="b">/clear</command-name><note>n</note>', ""],
    ["<Button>Save</Button> does nothing", "<Button>Save</Button> does nothing"],
    ["<div> is never closed", "<div> is never closed"],
    ["a < b", "a < b"],
  ] as const;
  for (const [said, expected] of cases) assert.equal(ownWords(said), expected, said);
});

test("what an import left out is told in short lines, chat by chat", () => {
  const text = leftOutText([
    { chat: "One chat", what: "line 3: is not JSON at column 7: expected value" },
    { chat: "Another", what: `line 4: ${"many words ".repeat(20)}${"Q".repeat(200)}` },
    { chat: "One chat", what: "line 5: is cut off at column 9" },
  ]);
  assert.ok(
    text.includes("One chat\n  - line 3: is not JSON at column 7: expected value\n  - line 5: is cut off at column 9\n\nAnother\n"),
    text,
  );
  assert.ok(Math.max(...text.split("\n").map((line) => line.length)) <= 60, text);
  assert.equal(text.match(/Q/g)?.length, 200);
});

test("chats are found by the folder that they belong to, with what each holds; the newest first", async () => {
  const root = emptyFolder();
  const folder = "/folders/user/my project.x";
  const write = (path: string, ...lines: object[]): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), lines.map((line) => JSON.stringify(line)).join("\n"));
  };
  const chat = { requests: [{ message: { text: "From the\neditor?" }, response: ["Yes."] }] };
  write("code/one/workspace.json", { folder: "file:///folders/user/my%20project.x" });
  write("code/one/chatSessions/a.json", chat);
  write("code/one/chatSessions/empty.json", { requests: [] });
  write("code/one/chatSessions/broken.jsonl", { kind: 7 });
  write("code/two/workspace.json", { folder: "vscode-remote://host%3A8080/folders/user/my%20project.x" });
  write("code/two/chatSessions/b.jsonl", { kind: 0, v: { ...chat, customTitle: "Named" } });
  write("code/here/chatSessions/h.json", { ...chat, customTitle: "Of this window" });
  write("code/one/chatSessions/i.json", {
    requests: [{ message: { text: "<environment_info>\nOS\n</environment_info>" } }, { message: "<context>\nc\n</context>\nWhat now?" }],
  });
  write("code/one/chatSessions/j.json", { requests: [{ message: "<context>\nc\n</context>" }] });
  write("code/three/workspace.json", { folder: "file:///folders/user/other" });
  write("code/three/chatSessions/c.json", chat);
  const said = (type: string, content: unknown, more = {}) => ({ type, uuid: "u", cwd: folder, message: { role: type, content }, ...more });
  write(
    "claude/-folders-user-my-project-x/d.jsonl",
    said("user", "<command-name>/clear</command-name>"),
    said("user", "written by the program", { isMeta: true }),
    said("user", [{ type: "text", text: "From Claude Code?" }]),
    said("assistant", []),
    said("assistant", [], { isSidechain: true }),
  );
  write(
    "claude/-folders-user-my-project-x/e.jsonl",
    said("user", "Of a folder with nearly that name.", { cwd: "/folders/user/my/project.x" }),
  );
  write(
    "pi/--anything--/f.jsonl",
    { type: "session", id: "f", cwd: folder },
    { type: "message", message: { role: "user", content: "/mode" } },
    { type: "message", message: { role: "user", content: "From pi?" } },
  );
  write(
    "pi/--anything--/g.jsonl",
    { type: "session", id: "g", cwd: "/elsewhere" },
    { type: "message", message: { role: "user", content: "No." } },
  );
  const { found, failed } = await find(
    folder,
    {
      "VS Code": [join(root, "code"), join(root, "missing")],
      "Claude Code": [join(root, "claude")],
      pi: [join(root, "pi")],
    },
    join(root, "code/here"),
  );
  const told = found.map(({ source, title, messages }) => `${source}: ${title} (${messages})`).sort();
  assert.deepEqual(told, [
    "Claude Code: From Claude Code? (4)",
    "VS Code: From the editor? (2)",
    "VS Code: Named (2)",
    "VS Code: Of this window (2)",
    "VS Code: What now? (2)",
    "VS Code: undefined (1)",
    "pi: From pi? (2)",
  ]);
  assert.deepEqual(
    failed.map(({ path }) => path),
    [join(root, "code/one/chatSessions/broken.jsonl")],
  );
  const times = found.map(({ updatedAt }) => updatedAt);
  assert.deepEqual(
    times,
    times.toSorted((one, other) => other - one),
  );
});
