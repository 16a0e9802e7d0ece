// Messages hold no unpaired surrogate, whoever cut the string: other readers of JSON reject the whole message.

import { deepEqual, equal, ok } from "node:assert/strict";
import test from "node:test";
import "vscode-jsonrpc/node";
import type { Message } from "vscode-jsonrpc/node";
import { Connection, type Listening } from "../src/connection.js";
import { wellFormed, wellFormedText } from "../src/well-formed.js";

const CUT = "cut 🙂".slice(0, -1);

test("unpaired surrogates become U+FFFD and pairs stay, with and without toWellFormed", () => {
  const cases: [string, string][] = [
    ["", ""],
    ["plain é漢🙂", "plain é漢🙂"],
    [CUT, "cut \ufffd"],
    ["🙂".slice(1), "\ufffd"],
    ["\ud83d\ud83d\ude42\ude42", "\ufffd🙂\ufffd"],
    ["\\ud83d", "\\ud83d"],
  ];
  for (const [text, expected] of cases) {
    equal(wellFormedText(text), expected);
    equal(wellFormedText(text, null), expected);
    equal(
      wellFormedText(text, () => "native"),
      "native",
    );
  }
});

test("a value is copied only where a string in it was cut", () => {
  const whole = { a: ["🙂", 1, null, undefined, true], b: { c: "d" } };
  equal(wellFormed(whole), whole);
  const cut = { a: [CUT, { [CUT]: CUT }], b: whole, at: new Date(0) };
  deepEqual(wellFormed(cut), {
    a: ["cut \ufffd", { "cut \ufffd": "cut \ufffd" }],
    b: whole,
    at: "1970-01-01T00:00:00.000Z",
  });
  equal(wellFormed(cut).b, whole);
});

test("requests, notifications and answers are sent well-formed", async () => {
  const sent: Message[] = [];
  let hear: (message: Message) => void = () => {};
  const none = () => ({ dispose: () => {} });
  const writer = {
    onError: none,
    onClose: none,
    write: async (message: Message) => void sent.push(message),
    end: () => {},
    dispose: () => {},
  };
  const reader = {
    onError: none,
    onClose: none,
    onPartialMessage: none,
    listen: (callback: typeof hear) => {
      hear = callback;
      return { dispose: () => {} };
    },
    dispose: () => {},
  };
  const connection = new Connection({ reader, writer }, { "tool/invoke": async () => ({ content: CUT }) }, {} as Listening, () => {});
  const asked = connection.request("turn/start", { content: CUT });
  asked.catch(() => {});
  await connection.notify("model/delta", { requestId: CUT, ops: [] });
  hear({ jsonrpc: "2.0", id: 7, method: "tool/invoke", params: {} } as Message);
  while (sent.length < 3) await new Promise(setImmediate);
  ok(sent.every((message) => !JSON.stringify(message).includes("\\ud")));
  const cut = "cut \ufffd";
  deepEqual(
    sent.map((message) => JSON.parse(JSON.stringify(message))),
    [
      { jsonrpc: "2.0", id: 0, method: "turn/start", params: { content: cut } },
      { jsonrpc: "2.0", method: "model/delta", params: { requestId: cut, ops: [] } },
      { jsonrpc: "2.0", id: 7, result: { content: cut } },
    ],
  );
  connection.dispose();
});
