// The history of an editor's chat, handed to the real sidecar: what a participant persisted brings its summaries back, in
// a process that knows nothing else, and the next prompt is the same.

import { deepEqual, equal, ok } from "node:assert/strict";
import test from "node:test";
import { type ChatRequestLike, type ChatResponseLike, fromChatContext, type PromptMessage, type Round } from "../src/node.js";
import { emptyFolder } from "./support/binary.js";
import { startClient, WORKSPACE } from "./support/client.js";

const MODEL = { name: "m", window: 8000, roles: ["user", "assistant"] };
/** Shortened results annotate no round. */
const SHORTENED = { model: MODEL, limitHistory: "shortenResults" } as const;

/** A round of a participant's own loop, long enough that three do not fit. */
function roundOf(turn: number): Round {
  return {
    id: `round-${turn}`,
    assistant: { parts: [{ type: "toolCall", id: `c${turn}`, name: "read", arguments: { path: `file-${turn}.rs` } }] },
    results: [{ toolCallId: `c${turn}`, content: `fn number_${turn}() {} `.repeat(420) }],
  };
}

/** A participant's handling of a request: renders, calls its model, returns metadata. */
async function turns(count: number, storage: string) {
  const client = await startClient({ storage: { path: storage }, settings: SHORTENED });
  const history: (ChatRequestLike | ChatResponseLike)[] = [];
  for (let turn = 0; turn < count; turn++) {
    const id = `request-${turn}`;
    const sessionId = "chat";
    await client.openSession({ workspaceFolder: WORKSPACE, sessionId, driver: "editor" });
    const content = `Look at file ${turn}.`;
    const given = { sessionId, model: MODEL, input: { externalId: id, content } };
    await client.request("prompt/render", { ...given, history: fromChatContext(history) });
    await client.request("prompt/render", { ...given, rounds: [roundOf(turn)] });
    const answer = `It has number_${turn}.`;
    const round = { id: `answer-${turn}`, assistant: { parts: answer } };
    await client.request("round/append", { sessionId, round });
    const { metadata } = await client.request("turn/end", { sessionId });
    // An editor keeps JSON, and its own things beside ours.
    const kept = JSON.parse(JSON.stringify({ ...metadata, rounds: [roundOf(turn), round], mine: turn })) as object;
    history.push({ prompt: content, id }, { response: [{ value: { value: answer } }], result: { metadata: { ...kept } } });
  }
  return { client, history };
}

test("the history and its metadata alone give the same prompt", async () => {
  const { client, history } = await turns(4, emptyFolder());
  const input = { externalId: "next", content: "And now?" };
  const asked = { sessionId: "chat", model: MODEL, input };
  const there = await client.request("prompt/render", asked);
  ok(there.compactionId !== undefined, "something was compacted");

  const other = await startClient({ settings: SHORTENED });
  const given = fromChatContext(history, { roundsOf: (metadata) => metadata["rounds"] as Round[] });
  equal(given.length, 4);
  ok(given.some(({ metadata }) => metadata?.threadhold !== undefined));
  ok(given.every(({ metadata }) => metadata?.summary === undefined && metadata?.summaries === undefined));
  equal(given[2]?.metadata?.["mine"], 2);
  const { restore } = await other.openSession({ workspaceFolder: WORKSPACE, sessionId: "chat", driver: "editor", history: given });
  ok(restore.restored.length > 0, JSON.stringify(restore));
  const here = await other.request("prompt/render", asked);
  const texts = (messages: PromptMessage[]) => messages.map(({ role, parts }) => ({ role, parts }));
  deepEqual(texts(here.messages), texts(there.messages));
});

test("a request that is sent again leaves nothing of ours lost", async () => {
  const { client, history } = await turns(3, emptyFolder());
  const again = fromChatContext(history.slice(0, 2));
  const answer = await client.request("prompt/render", {
    sessionId: "chat",
    model: MODEL,
    history: again,
    input: { externalId: "other words", content: "Look at file 1, please." },
  });
  ok(answer.revision !== undefined);
  const { messages } = await client.request("session/messages", { sessionId: answer.revision ?? "" });
  equal(messages.filter(({ role }) => role === "user").length, 3);
});

test("what a history can hold", () => {
  const uri = (path: string) => ({ scheme: "file", path, toString: () => `file://${path}` });
  const range = { start: { line: 4 }, end: { line: 9 } };
  const [turn, open, ...more] = fromChatContext([
    {
      prompt: "this",
      command: "fix",
      references: [
        { id: "vscode.selection", modelDescription: "the selection", value: { uri: uri("/a.ts"), range } },
        { id: "file", value: uri("/b.ts") },
        { id: "terminal", value: "$ make" },
        { id: "odd", value: 7 },
      ],
    },
    {
      response: [
        { value: { value: "See " } },
        { value: uri("/c.ts"), title: "c.ts" },
        { value: { uri: uri("/d.ts"), range } },
        { value: { command: "apply", title: "Apply" } },
        { value: [{ name: "src", children: [{ name: "main.ts" }, { name: "lib", children: [] }] }, { name: "a.md" }], baseUri: uri("/") },
      ],
      result: {},
    },
    { prompt: "unanswered" },
  ]);
  deepEqual(turn, {
    request: "/fix this",
    variables: [
      { name: "the selection", value: "file:///a.ts#L5-L10" },
      { name: "file", value: "file:///b.ts" },
      { name: "terminal", value: "$ make" },
    ],
    response: "See c.ts/d.tssrc/main.ts\na.md\n",
  });
  deepEqual(open, { request: "unanswered" });
  deepEqual(more, []);
  const named = fromChatContext([{ prompt: "a", id: "theirs" }], { idOf: (_, response, at) => `ours ${at} ${response === undefined}` });
  equal(named[0]?.externalId, "ours 0 true");
});
