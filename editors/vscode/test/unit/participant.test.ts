// @threadhold's turns through the client library and the real sidecar, with an editor's history and without an editor:
// what is persisted, what comes back, what is asked of the model.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { keptIn, type Metadata, persisted, sessionOf, turnsOf } from "../../src/participant/metadata.ts";
import { BINARY, emptyFolder, SUMMARY, said, text, Window } from "./support/window.ts";

/** Three turns; the second one overflows. */
async function threeTurns(window: Window): Promise<void> {
  await window.ask("TurnInput.", { say: "I look.", read: "a" }, { say: "I looked at a." });
  await window.ask("Read more.", { read: "b" }, { read: "c" }, { read: "d" }, { say: "I read b, c and d." });
  await window.ask("Thanks.", { say: "You are welcome." });
}

/** Prompt of the fourth turn: the third one's prompt unchanged, its answer, the new request. */
function fourth(window: Window) {
  return [...said(window.prompt), text("assistant", "You are welcome."), text("user", "And now?")];
}

test("a summary comes back from the store, and from the editor's metadata alone, with the same bytes", async () => {
  await using window = new Window();
  await threeTurns(window);
  const { summary, summaries } = window.metadata(1);
  assert.ok(summaries !== undefined && summaries.length > 0, "the turn's metadata has its summaries");
  assert.deepEqual(summary, summaries.at(-1));
  assert.deepEqual(window.ran, ["a", "b", "c", "d"], "each call ran once");
  const expected = fourth(window);
  const asked = window.summed.length;

  await window.quit();
  await window.ask("And now?", { say: "Nothing." });
  assert.deepEqual(said(window.prompt), expected);

  // Neither process nor store is left; nothing but what the editor keeps.
  await window.quit();
  window.history.length -= 2;
  window.storage = emptyFolder();
  await window.ask("And now?", { say: "Nothing." });
  assert.deepEqual(said(window.prompt), expected);
  assert.equal(window.summed.length, asked, "no summary was made a second time");
});

test("two compactions in one turn are both in its metadata, and the list of tools is made again after each", async () => {
  await using window = new Window();
  window.result = (id) => {
    window.tools = ["read", "late"];
    return `${id} ${"word ".repeat(900)}`;
  };
  await window.ask(
    "Read all.",
    { read: "a" },
    { read: "b" },
    { read: "c" },
    { read: "d" },
    { read: "e" },
    { read: "f" },
    { read: "g" },
    { say: "All are read." },
  );
  const { summaries = [] } = window.metadata(0);
  assert.ok(summaries.length >= 2, `${summaries.length} summaries`);
  assert.equal(new Set(summaries.map(({ toolCallRoundId }) => toolCallRoundId)).size, summaries.length);
  assert.equal(window.compacted, summaries.length);
  const offered = window.asked.map(({ tools }) => tools.includes("late"));
  const first = offered.indexOf(true);
  assert.ok(first > 0 && offered.slice(first).every(Boolean), `offered from the compaction on: ${offered.join()}`);
  assert.ok(window.progress.length > 0, "the user is told while it is made");
});

test("a summary that failed hides none", async () => {
  await using window = new Window();
  let made = 0;
  window.summary = () => {
    made += 1;
    if (made > 1) throw new Error("the model is gone");
    return `<summary>\n${SUMMARY.replace("None.", "The first goal.")}\n</summary>`;
  };
  await window.ask(
    "Read all.",
    { read: "a" },
    { read: "b" },
    { read: "c" },
    { read: "d" },
    { read: "e" },
    { read: "f" },
    { say: "All are read." },
  );
  const { summaries = [] } = window.metadata(0);
  assert.ok(made > 1, "a second one was tried");
  assert.match(summaries[0]?.text ?? "", /The first goal/);
  const expected = [...said(window.prompt), text("assistant", "All are read."), text("user", "Go on.")];
  await window.quit();
  window.storage = emptyFolder();
  await window.ask("Go on.", { say: "Well." });
  assert.deepEqual(said(window.prompt), expected);
});

test("an earlier request sent again: summaries of dropped turns are void, and what is dropped is kept beside", async () => {
  await using window = new Window();
  await threeTurns(window);
  const { summaries = [] } = window.metadata(1);
  assert.ok(summaries.length > 0);
  const dropped = window.history.splice(2);
  assert.equal(dropped.length, 4);
  await window.ask("Read more.", { say: "I know what I need." });
  assert.ok(!JSON.stringify(window.prompt).includes("conversation-summary"), "no summary of what is gone");
  assert.deepEqual(said(window.prompt).slice(-2), [text("assistant", "I looked at a."), text("user", "Read more.")]);
  const client = await window.client();
  const { sessions } = await client.request("session/list", { workspaceFolder: window.folder });
  assert.equal(sessions.length, 1, "what the chat no longer shows is no session of its own");
  const sessionId = sessions[0]?.sessionId ?? "";
  const { revisions } = await client.request("session/history", { sessionId });
  assert.deepEqual(
    revisions.map(({ cause }) => cause),
    ["history"],
  );
  const { messages } = await client.request("session/messages", { sessionId: revisions[0]?.revisionId ?? "" });
  assert.ok(JSON.stringify(messages).includes("You are welcome."));
});

test("a stopped turn, of which the editor keeps no metadata, goes on where it stood", async () => {
  await using window = new Window();
  await window.ask("TurnInput.", { say: "I look.", read: "a" }, { say: "I looked at a." });
  window.result = () => {
    window.abort.abort();
    return "the end of b";
  };
  const { status } = await window.ask("Read b.", { read: "b" }, { say: "never" });
  assert.equal(status, "cancelled");
  window.abort = new AbortController();
  await window.ask("Go on.", { say: "Gladly." });
  assert.match(JSON.stringify(window.prompt), /the end of b/, "its result is there");
  const client = await window.client();
  const { sessions } = await client.request("session/list", { workspaceFolder: window.folder });
  assert.equal(sessions.length, 1, "nothing was taken for dropped");
});

test("a model that goes on although it is stopped holds up nobody, and what it had said stays", async () => {
  await using window = new Window();
  await window.ask("TurnInput.", { say: "I look at a." });
  assert.equal((await window.ask("Tell a long story.", { say: "Once upon a time", hangs: true })).status, "cancelled");
  window.abort = new AbortController();
  await window.ask("Go on.", { say: "Gladly." });
  assert.deepEqual(said(window.prompt).slice(-2), [text("assistant", "Once upon a time"), text("user", "Go on.")]);
});

test("pictures that were too much to persist stay in the conversation, in its first turn and in a later one", async () => {
  await using window = new Window();
  window.given = [{ name: "a.png", value: [{ type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" }] }];
  await window.ask("What is this?", { say: "A picture." });
  await window.ask("And this?", { say: "Another one." });
  window.given = [];
  // As the metadata of a turn that weighs too much is.
  for (const at of [1, 3]) {
    const response = window.history[at] as { result: { metadata: Metadata } };
    const { sessionId, requestId } = keptIn(response.result.metadata) ?? { sessionId: "", requestId: "" };
    response.result.metadata = persisted({ sessionId, requestId }, {});
  }
  const expected = [...said(window.prompt), text("assistant", "Another one."), text("user", "And now?")];
  assert.equal(JSON.stringify(expected).match(/"image"/g)?.length, 2);
  await window.ask("And now?", { say: "Nothing." });
  assert.deepEqual(said(window.prompt), expected);
  const client = await window.client();
  const { sessions } = await client.request("session/list", { workspaceFolder: window.folder });
  assert.equal(sessions.length, 1, "nothing was taken for dropped");
});

test("a compaction that is asked for after turns were taken back sums up none of them", async () => {
  await using window = new Window();
  window.result = (id) => `${id} ${"word ".repeat(400)}`;
  await window.ask("TurnInput.", { say: "I look.", read: "a" }, { say: "I looked at a." });
  await window.ask("Go on.", { say: "I look.", read: "b" }, { say: "I looked at b." });
  await window.ask("Take a wrong turn.", { say: "THE WRONG TURN", read: "c" }, { say: "Done." });
  window.history.length -= 2;
  const { compaction } = await window.compact("");
  assert.ok(compaction !== undefined);
  assert.ok(!JSON.stringify(window.summed.at(-1)).includes("THE WRONG TURN"));
  await window.ask("And now?", { say: "Well." });
  const prompt = JSON.stringify(window.prompt);
  assert.match(prompt, /conversation-summary/);
  assert.ok(!prompt.includes("THE WRONG TURN"));
});

test("a compaction that the user asked for in the chat is no turn, and comes back with the turn before it", async () => {
  await using window = new Window();
  window.result = (id) => `${id} ${"word ".repeat(500)}`;
  await window.ask("TurnInput.", { say: "I look.", read: "a" }, { say: "I looked at a." });
  await window.ask("Go on.", { say: "I look.", read: "b" }, { say: "I looked at b." });
  const { compaction, metadata } = await window.compact("Keep the names.");
  assert.ok(compaction !== undefined && metadata?.summary !== undefined);
  assert.match(JSON.stringify(window.summed.at(-1)?.messages), /Keep the names\./);
  assert.ok(window.progress.length > 0, "the user is told while it is made");
  assert.deepEqual(
    window.turns.map(({ request }) => request),
    ["TurnInput.", "Go on."],
  );
  assert.deepEqual(window.turns.at(-1)?.metadata?.summaries, [metadata.summary]);
  await window.ask("And now?", { say: "Well." });
  const expected = [...said(window.prompt), text("assistant", "Well."), text("user", "Really?")];
  assert.match(JSON.stringify(expected), /conversation-summary/);
  assert.ok(!JSON.stringify(expected).includes("Keep the names."), "what was said to the command is said to nobody else");
  const asked = window.summed.length;

  // Nothing but what the editor keeps.
  await window.quit();
  window.storage = emptyFolder();
  await window.ask("Really?", { say: "Yes." });
  assert.deepEqual(said(window.prompt), expected);
  assert.equal(window.summed.length, asked, "no summary was made a second time");
});

test("a model that finds its prompt too large is asked again with a smaller one", async () => {
  await using window = new Window();
  await window.ask("Read.", { read: "a" }, { read: "b" }, { overflows: true }, { say: "That fits." });
  assert.equal(window.metadata(0).summaries?.length, 1);
  const [larger, smaller] = window.asked.slice(-2).map(({ messages }) => JSON.stringify(messages).length);
  assert.ok((smaller ?? 0) < (larger ?? 0));
});

test("the limit of rounds ends a turn that would go on", async () => {
  await using window = new Window();
  window.roundLimit = 2;
  const { isAtLimit, status } = await window.ask("Read.", { read: "a" }, { read: "b" }, { read: "c" });
  assert.deepEqual([isAtLimit, status, window.ran], [true, "completed", ["a", "b"]]);
});

test("what annotates no round is persisted, and goes with the turn before a request that only compacts", () => {
  const summary = { toolCallRoundId: "r/1", text: "S" };
  const said = persisted({ sessionId: "s", requestId: "r" }, { summary, summaries: [summary], threadhold: "[1]" });
  assert.equal(said["threadhold"], "[1]");
  const aside = persisted({ sessionId: "s", requestId: "c" }, { threadhold: "[2,3]" });
  const [turn, ...others] = turnsOf([
    { prompt: "Go." },
    { response: [], result: { metadata: said } },
    { prompt: "", command: "compact" },
    { response: [], result: { metadata: aside } },
  ]);
  assert.deepEqual(turn?.metadata, { summary, summaries: [summary], threadhold: "[1,2,3]" });
  assert.deepEqual(others, []);
});

test("metadata of other extensions is understood: summary, summaries, and the old name of the anchor", async () => {
  const round = (id: string, words: string, call?: string) => ({
    id,
    response: words,
    toolInputRetry: 0,
    toolCalls: call === undefined ? [] : [{ id: call, name: "read", arguments: `{"path":"${call}"}` }],
  });
  const rounds = {
    toolCallRounds: [round("r1", "I look.", "a"), round("r2", "I looked at a.")],
    toolCallResults: { a: { $mid: 20, content: [{ $mid: 21, value: "the words of a" }] } },
  };
  const failed = { toolCallRoundId: "", text: "" };
  const shapes: object[] = [
    { summary: { toolCallRoundId: "r1", text: "THEIR SUMMARY" } },
    { summaries: [{ toolCallRoundId: "r1", text: "THEIR SUMMARY" }, failed] },
    { summary: { toolCallRoundId: "previous", text: "THEIR SUMMARY" } },
  ];
  for (const shape of shapes) {
    await using window = new Window();
    const isPrevious = JSON.stringify(shape).includes("previous");
    window.history = [
      { prompt: "TurnInput.", references: [] },
      { response: [{ value: { value: "I looked at a." } }], result: { metadata: { ...rounds, ...(isPrevious ? {} : shape) } } },
      // The old name stands for the newest round before its own turn.
      ...(isPrevious
        ? [
            { prompt: "More.", references: [] },
            { response: [{ value: { value: "No more." } }], result: { metadata: { ...shape } } },
          ]
        : []),
    ];
    await window.ask("And now?", { say: "Well." });
    const prompt = JSON.stringify(window.prompt);
    assert.ok(prompt.includes("THEIR SUMMARY"), JSON.stringify(shape));
    assert.ok(!prompt.includes("the words of a"), `what it stands for is not shown: ${JSON.stringify(shape)}`);
    assert.ok(prompt.includes("And now?"));
  }
});

test("no key that the editor takes for its own is in the metadata, whatever a tool was given", () => {
  const kept = {
    sessionId: "s",
    requestId: "r",
    rounds: [
      { id: "r/1", assistant: { parts: [{ type: "toolCall" as const, id: "c", name: "open", arguments: { $mid: 1, path: "a" } }] } },
    ],
  };
  const metadata = persisted(kept, { summaries: [{ toolCallRoundId: "r/1", text: "S" }] });
  const keys = (value: unknown): string[] =>
    typeof value === "object" && value !== null ? Object.entries(value).flatMap(([key, inner]) => [key, ...keys(inner)]) : [];
  assert.ok(!keys(metadata).includes("$mid"));
  assert.deepEqual(keptIn(metadata), kept);
});

test("rounds too large to be persisted are left to the sidecar, and five million bytes are not", async () => {
  const round = (length: number) => ({ id: "r/1", assistant: { parts: "x".repeat(length) } });
  assert.equal(keptIn(persisted({ sessionId: "s", requestId: "r", rounds: [round(5_000_000)] }, {}))?.rounds?.length, 1);
  const left = keptIn(persisted({ sessionId: "s", requestId: "r", rounds: [round(9_000_000)] }, {}));
  assert.deepEqual(left, { sessionId: "s", requestId: "r" });
  const variables = (length: number) => [{ name: "a.txt", value: "x".repeat(length) }];
  const given = persisted({ sessionId: "s", requestId: "r", variables: variables(10), rounds: [round(9_000_000)] }, {});
  assert.deepEqual(
    keptIn(given),
    { sessionId: "s", requestId: "r", variables: variables(10) },
    "what was given is kept where only the rounds are too large",
  );
  assert.deepEqual(keptIn(persisted({ sessionId: "s", requestId: "r", variables: variables(9_000_000) }, {})), {
    sessionId: "s",
    requestId: "r",
  });
  // Then the history has the words of the answer, and the sidecar its own rounds.
  const [turn] = turnsOf([
    { prompt: "Q" },
    {
      response: [{ value: { value: "A" } }],
      result: { metadata: persisted({ sessionId: "s", requestId: "r", rounds: [round(9_000_000)] }, {}) },
    },
  ]);
  assert.deepEqual(turn, { request: "Q", externalId: "r", response: "A", metadata: {} });
});

test("of many large turns, as much is handed back as one message may hold, the newest first", () => {
  const history = Array.from({ length: 12 }, (_, at) => [
    { prompt: `Q${at}` },
    {
      response: [{ value: { value: `A${at}` } }],
      result: {
        metadata: persisted(
          { sessionId: "s", requestId: `r${at}`, rounds: [{ id: `r${at}/1`, assistant: { parts: "x".repeat(7_000_000) } }] },
          {},
        ),
      },
    },
  ]).flat();
  const turns = turnsOf(history);
  assert.ok(Buffer.byteLength(JSON.stringify(turns)) < 48_000_000);
  assert.deepEqual(
    turns.map(({ rounds }) => rounds?.length ?? 0),
    [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
  );
  assert.deepEqual(turns[0], { request: "Q0", externalId: "r0", response: "A0", metadata: {} });
});

test("the session is found by the editor's address, else by the newest metadata", () => {
  const response = (sessionId: string) => ({ response: [], result: { metadata: persisted({ sessionId, requestId: "r" }, {}) } });
  const history = [{ prompt: "1" }, response("one"), { prompt: "2" }, response("two"), { prompt: "3" }, { response: [] }];
  assert.equal(sessionOf(undefined, history), "two");
  assert.equal(sessionOf(undefined, []), undefined);
  const found = sessionOf("vscode-chat-session://local/abc", history);
  assert.match(found ?? "", /^chat-[0-9a-f]{32}$/);
  assert.equal(sessionOf("vscode-chat-session://local/abc", []), found);
  assert.notEqual(sessionOf("vscode-chat-session://local/abd", []), found);
});

test("a terminal goes on with a session of the editor, and the editor after it", async () => {
  await using window = new Window();
  const client = await window.client();
  const model = { wire: "scripted" as const };
  const session = await client.openSession({ workspaceFolder: window.folder, sessionId: "s", settings: { model } });
  const over = (turns: number) =>
    new Promise<void>((done) => {
      const look = () => session.view.snapshot.turns.filter(({ status }) => status === "completed").length === turns && done();
      session.onChange(look);
      look();
    });
  await session.ask("From the editor.");
  await over(1);
  await window.quit();
  const spoken = spawnSync(
    BINARY,
    ["chat", "--session", "s", "--folder", window.folder, "--storage", window.storage, "--model", "scripted"],
    {
      input: "From the terminal.\n",
      encoding: "utf8",
      env: { ...process.env, THREADHOLD_CONFIG: "" },
    },
  );
  assert.equal(spoken.status, 0, spoken.stderr);
  const again = await (await window.client()).openSession({ workspaceFolder: window.folder, sessionId: "s" });
  const requests = again.view.snapshot.messages.filter(({ role }) => role === "user").map(({ parts }) => parts);
  assert.deepEqual(requests, [[{ type: "text", text: "From the editor." }], [{ type: "text", text: "From the terminal." }]]);
  assert.equal(again.view.snapshot.messages.filter(({ role }) => role === "assistant").length, 2, "both were answered");
});
