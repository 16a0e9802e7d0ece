// Sessions that go on between our own protocol and the agent's, with the same messages byte for byte.
import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { Editor, faults, short } from "./acp.mjs";
import { folder, Sidecar } from "./sidecar.mjs";
import { conversation, overCorpus } from "./vscode-conversation.mjs";

/** A folder with a store that both protocols use, and a folder of dumps for each process. */
function shared(t) {
  const at = folder(t);
  const dumps = (name) => join(at, `prompts-${name}`);
  const ours = (name) => ["--dump-prompts", dumps(name), "--record", join(at, `${name}.jsonl`)];
  return {
    at,
    /** A process of our own protocol. */
    sidecar: (name, answers) => Sidecar.start(t, answers, {}, at, ours(name)),
    /** A process of the agent, initialized. */
    async editor(name, answers) {
      const model = join(at, `${name}-model.json`);
      await writeFile(model, JSON.stringify({ answers }));
      const args = ["acp", "--storage", join(at, "store"), "--model", `scripted:${model}`, ...ours(name)];
      const editor = new Editor(t, args, { RUST_LOG: "warn" });
      await editor.initialize();
      return editor;
    },
    /** The messages of each prompt of a process for its turns, as the text of the dump. */
    async prompts(name) {
      const files = (await readdir(dumps(name))).filter((file) => file.endsWith("-turn.json")).sort();
      const texts = await Promise.all(files.map((file) => readFile(join(dumps(name), file), "utf8")));
      // A prefix of the messages is a prefix of this text.
      return texts.map((text) => /^\{"messages":\[(.*?)\],"tools":\[/s.exec(text)[1]);
    },
    /** The events that a process sent to its client, which in the agent is the agent itself. */
    async events(name) {
      const lines = (await readFile(join(at, `${name}.jsonl`), "utf8")).trimEnd().split("\n");
      const frames = lines.map((line) => JSON.parse(line).frame);
      return frames.filter((frame) => frame?.method === "session/event").map(({ params }) => params);
    },
    /** The causes of each break of the prefix that a process reported. */
    async breaks(name) {
      return (await this.events(name)).filter(({ type }) => type === "prefixBroken").map(({ causes }) => causes);
    },
  };
}

/** Prompts that must be the same; what is printed is where they part, not all of them. */
function assertSame(actual, expected) {
  const parted = expected.map((text, at) => {
    const found = actual[at] ?? "";
    let from = 0;
    while (from < text.length && text[from] === found[from]) from++;
    return text === found ? undefined : { at, from, expected: text.slice(from, from + 200), actual: found.slice(from, from + 200) };
  });
  assert.deepEqual([actual.length, parted.filter(Boolean)], [expected.length, []]);
}

/** Prompts that each begin with all messages of the one before. */
function assertGrows(prompts, count) {
  assert.equal(prompts.length, count);
  const broken = prompts.slice(1).map((text, at) => text.startsWith(`${prompts[at]},`));
  assert.deepEqual(
    broken,
    broken.map(() => true),
  );
}

/** What the tools of a turn return: the results of its calls. */
function results({ answers, results }) {
  const calls = answers.flatMap(({ call }) => (call ? [call.name] : []));
  return Object.fromEntries(calls.map((name, at) => [name, () => results[at]]));
}

const allow = () => ({ outcome: { outcome: "selected", optionId: "allowOnce" } });

test("the recorded conversation of VS Code goes on over the agent and back", overCorpus, async (t) => {
  const { system, tools, turns } = conversation();
  const [first, second] = turns;
  const sections = [{ name: "identity", content: system }];
  /** Begins the conversation over our own protocol. */
  async function begun(sidecar) {
    Object.assign(sidecar.tools, ...turns.map(results));
    const approved = tools.map((tool) => ({ ...tool, policy: "allow" }));
    const sessionId = await sidecar.open({ tools: approved, sections });
    await sidecar.turn(sessionId, first.content);
    return sessionId;
  }
  // All of it in one process, to compare with.
  const alone = shared(t);
  const whole = await alone.sidecar("whole", [...first.answers, ...second.answers]);
  await whole.turn(await begun(whole), second.content);
  await whole.end();
  const expected = await alone.prompts("whole");
  assert.equal(expected.length, 4);

  const on = shared(t);
  const before = await on.sidecar("before", first.answers);
  const sessionId = await begun(before);
  await before.end();
  assertSame(await on.prompts("before"), expected.slice(0, 2));

  const editor = await on.editor("agent", [second.answers.at(-1)]);
  await editor.call("session/load", { sessionId, cwd: on.at, mcpServers: [] });
  const told = short(editor.updates(sessionId));
  assert.deepEqual(told.slice(1), [
    `agent: ${first.answers[0].say}`,
    "call 1: create_file",
    "call 1: completed",
    `agent: ${first.answers[1].say}`,
  ]);
  const ended = await editor.call("session/prompt", { sessionId, prompt: second.content });
  assert.equal(ended.stopReason, "end_turn");
  await editor.leave();
  assertSame(await on.prompts("agent"), [expected[2]]);
  assert.deepEqual(await on.breaks("agent"), [["tools"]]);

  const after = await on.sidecar("after", [{ say: "You are welcome." }]);
  await after.open({ sessionId, tools, sections });
  await after.turn(sessionId, "Thanks.");
  await after.end();
  assertGrows([expected[2], ...(await on.prompts("after"))], 2);
  assert.deepEqual(await on.breaks("after"), [["tools"]]);
  assert.deepEqual(faults(editor.log), []);
});

test("the recorded requests, begun over the agent, go on over our own protocol and back", overCorpus, async (t) => {
  const { tools, turns } = conversation();
  const [first, second] = turns;
  const on = shared(t);
  const write = { name: "write_file", arguments: { path: "hello.txt", text: "hello" } };
  const editor = await on.editor("agent", [{ say: first.answers[0].say, call: write }, first.answers[1]]);
  editor.handlers["session/request_permission"] = allow;
  const { sessionId } = await editor.call("session/new", { cwd: on.at, mcpServers: [] });
  assert.equal((await editor.call("session/prompt", { sessionId, prompt: first.content })).stopReason, "end_turn");
  assert.equal(await readFile(join(on.at, "hello.txt"), "utf8"), "hello");
  await editor.leave();
  const begun = await on.prompts("agent");

  const sidecar = await on.sidecar("own", second.answers);
  Object.assign(sidecar.tools, results(second));
  await sidecar.open({ sessionId, tools: tools.map((tool) => ({ ...tool, policy: "allow" })) });
  await sidecar.turn(sessionId, second.content);
  await sidecar.end();
  assert.deepEqual(await on.breaks("own"), [["tools"]]);

  const other = await on.editor("again", [{ say: "You are welcome." }]);
  await other.call("session/load", { sessionId, cwd: on.at, mcpServers: [] });
  const calls = short(other.updates(sessionId)).filter((line) => line.startsWith("call"));
  assert.deepEqual(calls, ["call 1: Write hello.txt", "call 1: completed", "call 2: replace_string_in_file", "call 2: completed"]);
  await other.prompt(sessionId, "Thanks.");
  await other.leave();
  assert.deepEqual(await on.breaks("again"), [["tools"]]);
  assertGrows([...begun, ...(await on.prompts("own")), ...(await on.prompts("again"))], 5);
  assert.deepEqual([...faults(editor.log), ...faults(other.log)], []);
});

test("both protocols on one session at once keep one prefix", async (t) => {
  const on = shared(t);
  const sidecar = await on.sidecar("own", [{ say: "First." }, { say: "Second." }, { say: "Fourth." }]);
  const sessionId = await sidecar.open();
  await sidecar.turn(sessionId, "One.");
  const editor = await on.editor("agent", [{ say: "Third." }]);
  await editor.call("session/load", { sessionId, cwd: on.at, mcpServers: [] });
  await sidecar.turn(sessionId, "Two.");
  const says = (text) => editor.until(({ params }) => params?.update?.content?.text === text);
  await says("Second.");
  // The editor's user agrees to go on there, and our own client follows.
  editor.handlers["session/request_permission"] = allow;
  assert.equal((await editor.prompt(sessionId, "Three.")).stopReason, "end_turn");
  // In a snapshot, or as a message of its own.
  await sidecar.until((event) => JSON.stringify(event).includes("Third."));
  await sidecar.request("session/takeOver", { sessionId });
  await sidecar.turn(sessionId, "Four.");
  await says("Fourth.");
  const [one, two, four] = await on.prompts("own");
  const [three] = await on.prompts("agent");
  assertGrows([one, two, three, four], 4);
  const lines = ["One.", "First.", "Two.", "Second.", "Three.", "Third.", "Four.", "Fourth."];
  // The editor shows the third request by itself.
  const told = short(editor.updates(sessionId)).map((line) => line.replace(/^\w+: /, ""));
  assert.deepEqual(
    told,
    lines.filter((line) => line !== "Three."),
  );
  assert.deepEqual(faults(editor.log), []);
});

test("a turn that ends while the editor does not read is told by a snapshot", async (t) => {
  const on = shared(t);
  const picture = (size) => [{ type: "image", mimeType: "image/png", data: Buffer.alloc(size).toString("base64") }];
  const flood = Array.from({ length: 8 }, () => ({ say: "Seen." }));
  const sidecar = await on.sidecar("own", flood);
  const noisy = await sidecar.open();
  const run = { name: "run_command", arguments: { command: "echo one" } };
  const editor = await on.editor("agent", [{ call: run }, { say: "Done." }]);
  const { sessionId } = await editor.call("session/new", { cwd: on.at, mcpServers: [] });
  let answer;
  editor.handlers["session/request_permission"] = () => new Promise((resolve) => (answer = resolve));
  const prompt = editor.prompt(sessionId, "Run it.");
  await editor.until(({ method }) => method === "session/request_permission");
  await sidecar.request("session/open", { sessionId, workspaceFolder: on.at, follow: true });
  await editor.call("session/load", { sessionId: noisy, cwd: on.at, mcpServers: [] });

  editor.pause();
  let isHeld = false;
  const held = editor.complains("the client does not read").then(() => (isHeld = true));
  for (let at = 0; at < flood.length && !isHeld; at++) await sidecar.turn(noisy, picture(4 << 20));
  await held;
  answer({ outcome: { outcome: "selected", optionId: "rejectOnce" } });
  await sidecar.until((event) => event.sessionId === sessionId && event.type === "turnCompleted");
  editor.resume();
  assert.equal((await prompt).stopReason, "end_turn");
  assert.deepEqual(short(editor.updates(sessionId)), ["call 1: `echo one`", "call 1: failed", "agent: Done."]);
  await editor.leave();
  const types = (await on.events("agent")).filter((event) => event.sessionId === sessionId).map(({ type }) => type);
  assert.deepEqual([types.includes("snapshot"), types.includes("turnCompleted")], [true, false]);
  assert.deepEqual(faults(editor.log), []);
});
