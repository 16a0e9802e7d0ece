// Updates for the webview: only what changed, however long the session is. No editor is needed.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message, Part, Snapshot } from "@threadhold/client";
import type { RowContext } from "../../src/panel/conversation.ts";
import { EMPTY } from "../../src/panel/frame.ts";
import { PanelUpdates } from "../../src/panel/updates.ts";
import type { Attached, Frame, ToPanel } from "../../src/shared/view.ts";

const BESIDE: RowContext = {
  running: new Set(),
  durations: new Map(),
  hasDiff: () => false,
  runsCommands: (name) => name === "run_command",
  whyAsked: (name) => `${name} requires approval.`,
  effectsOf: () => undefined,
  cuts: [],
  notices: [],
};

/** A session of many messages that counts how often they are gone through. */
function session(): { snapshot: Snapshot; writes(parts: Part[]): Snapshot; read: () => number } {
  const messages = Array.from({ length: 1_000 }, (_, ord): Message => {
    return { id: `m${ord}`, ord, rev: 0, turnId: "t", role: "assistant", parts: [{ type: "text", text: `Said ${ord}.` }], tokens: 1 };
  });
  let read = 0;
  const writes = (parts: Part[]): Snapshot => ({
    sessionId: "s",
    stream: "p",
    seq: 0,
    state: "generating",
    driver: "sidecar",
    generation: 0,
    origin: "new",
    scope: { revision: 0, todos: [], pins: [], artifacts: [] },
    turns: [],
    queue: [],
    compression: { running: false },
    pendingCalls: [],
    compactions: [],
    summarizedCount: 0,
    settings: {},
    get messages() {
      read += 1;
      return messages;
    },
    streaming: { messageId: "new", parts },
  });
  return { snapshot: writes([]), writes, read: () => read };
}

const call = (given: string): Part => ({ type: "toolCall", id: "c", name: "write_file", arguments: given });

/** Updates in readable form. */
function saidOf(told: ToPanel[]): unknown[] {
  return told.map((message) => {
    if (message.type === "append") return ["goes on", message.text];
    if (message.type !== "rows") return message.type;
    return [
      message.at,
      message.remove,
      ...message.rows.map((row) => (row.kind === "call" ? row.arguments : row.kind === "answer" ? row.text : row.kind)),
    ];
  });
}

test("an answer that is being written is told without going through the session again", () => {
  const { snapshot, writes, read } = session();
  const telling = new PanelUpdates();
  telling.rows(snapshot, BESIDE);
  const before = read();
  const told = [
    telling.grown(writes([])),
    telling.grown(writes([{ type: "text", text: "I" }])),
    telling.grown(writes([{ type: "text", text: "I write." }])),
    telling.grown(writes([{ type: "text", text: "I write." }, call("{")])),
    telling.grown(writes([{ type: "text", text: "I write." }, call('{"path":')])),
    // The same once more, in other objects.
    telling.grown(writes([{ type: "text", text: "I write." }, call('{"path":')])),
    telling.grown({}),
  ];
  assert.deepEqual(told.map(saidOf), [
    [],
    [[1_000, 0, "I"]],
    [["goes on", " write."]],
    [[1_000, 1, "I write.", "{"]],
    [[1_001, 1, '{"path":']],
    [],
    [[1_000, 2]],
  ]);
  assert.equal(read(), before, "the messages are not looked at");
});

test("an answer that broke off stays until the next attempt says something, and is replaced by it", () => {
  const { snapshot, writes } = session();
  const telling = new PanelUpdates();
  telling.rows(snapshot, BESIDE);
  const told = [
    telling.grown(writes([{ type: "text", text: "Once upon" }])),
    telling.grown(writes([{ type: "text", text: "Once upon" }])),
    // The reset and the next words may be drawn together, or one by one; the words may begin alike.
    telling.grown(writes([{ type: "text", text: "It" }])),
    telling.grown(writes([])),
    telling.grown(writes([{ type: "text", text: "It was" }])),
  ];
  assert.deepEqual(told.map(saidOf), [
    [[1_000, 0, "Once upon"]],
    [["goes on", ""]],
    [[1_000, 1, "It"]],
    [[1_000, 1]],
    [[1_000, 0, "It was"]],
  ]);
});

test("of arguments that are being written their end is told, and how many there are", () => {
  const { snapshot, writes } = session();
  const telling = new PanelUpdates();
  telling.rows(snapshot, BESIDE);
  let given = "";
  let told = 0;
  for (let piece = 0; piece < 500; piece += 1) {
    given += "a line of a file, and then one more line of it, and so on; all that is a hundred characters long....";
    told += JSON.stringify(telling.grown(writes([call(given)]))).length;
  }
  assert.equal(given.length, 50_000);
  assert.ok(told < 500 * 3_000, `${told} characters are told`);
  const [last] = telling.grown(writes([call(`${given}!`)]));
  assert.ok(last?.type === "rows" && last.rows[0]?.kind === "call");
  assert.deepEqual([last.rows[0].characters, last.rows[0].arguments], [50_001, `${given}!`.slice(-2_000)]);
});

test("what an attached picture looks like is told once, and the frame stays small", () => {
  const telling = new PanelUpdates();
  const one: Attached = { id: "attached 1", label: "one.png", kind: "image" };
  const two: Attached = { id: "attached 2", label: "two.png", kind: "image" };
  const frame = (activity: string, ...attachments: Attached[]): Frame => ({
    ...EMPTY,
    sidecar: { state: "ready" },
    model: "m",
    mode: "agent",
    activity,
    attachments,
  });
  const sources = new Map([one, two].map(({ id }) => [id, `data:image/png;base64,${"A".repeat(1_000_000)}`]));
  const pictures = (...ids: Attached[]) => new Map([...sources].filter(([known]) => ids.some(({ id }) => id === known)));
  const tell = (made: Frame, ...ids: Attached[]) =>
    telling
      .frame(made, pictures(...ids))
      .map((message) => (message.type === "picture" ? message.id : `${message.type} ${JSON.stringify(message).length < 1_000}`));
  assert.deepEqual(tell(frame("", one), one), ["attached 1", "frame true"]);
  assert.deepEqual(tell(frame("", one), one), []);
  assert.deepEqual(tell(frame("Thinking", one), one), ["frame true"]);
  assert.deepEqual(tell(frame("Thinking", one, two), one, two), ["attached 2", "frame true"]);
  telling.forget();
  assert.deepEqual(tell(frame("", two), two), ["attached 2", "frame true"], "a webview that begins has nothing");
});
