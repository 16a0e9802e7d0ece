// The panel as data: rows of messages, calls and compactions, and which of them are sent again; the warning before a
// compaction. No editor is needed.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { CompactionView, Cost, Message, Pause, PauseCause, Session, SessionView, Snapshot } from "@threadhold/client";
import { Conversation, type RowContext } from "../../src/panel/conversation.ts";
import { endNoticesOf, Warning } from "../../src/panel/frame.ts";
import type { Chat } from "../../src/session/chat.ts";
import { rerun } from "../../src/session/steering.ts";
import type { Meter } from "../../src/shared/meter.ts";
import type { CallRow, CompactionRow, Row } from "../../src/shared/view.ts";

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

function message(ord: number, of: Partial<Message>): Message {
  return {
    id: `m${ord}`,
    ord,
    rev: 0,
    turnId: "t0",
    role: "assistant",
    parts: [],
    tokens: 1,
    createdAt: new Date(ord * 1000).toISOString(),
    ...of,
  };
}

const call = (ord: number, id: string) => message(ord, { parts: [{ type: "toolCall", id, name: "read", arguments: '{"path":"a.rs"}' }] });
const result = (ord: number, toolCallId: string, text: string, isError = false) =>
  message(ord, { role: "tool", parts: [{ type: "toolResult", toolCallId, content: [{ type: "text", text }], isError }] });

function snapshot(of: Partial<Snapshot>): Snapshot {
  return {
    sessionId: "s",
    stream: "p",
    seq: 0,
    state: "idle",
    driver: "sidecar",
    generation: 0,
    origin: "new",
    scope: { revision: 0, todos: [], pins: [], artifacts: [] },
    messages: [],
    turns: [],
    queue: [],
    compression: { running: false },
    pendingCalls: [],
    compactions: [],
    summarizedCount: 0,
    settings: {},
    ...of,
  };
}

const calls = (rows: Row[]) => rows.filter((row): row is CallRow => row.kind === "call");

test("what a provider did on its own stands behind its answer", () => {
  const said: Partial<Message> = { parts: [{ type: "text", text: "So." }] };
  const notes = (extra: { [key: string]: unknown }) => {
    const rows = new Conversation().rows(snapshot({ messages: [message(0, { ...said, extra })] }), BESIDE);
    return rows.flatMap((row) => (row.kind === "notice" ? [row.text] : []));
  };
  assert.deepEqual(notes({ ms: 12 }), []);
  assert.deepEqual(notes({ serverCompaction: {}, fallback: { from: { model: "a" }, to: { model: "b" } } }), [
    "The provider compacted the conversation on its side for this answer. Nothing changes in this session.",
    "a declined to answer, and b answered instead.",
  ]);
  assert.deepEqual(notes({ fallback: { from: 1 } }), ["The model declined to answer, and another model answered instead."]);
  const left = ["The provider left out parts of earlier answers, such as thinking that no longer fits the conversation."];
  assert.deepEqual(notes({ inputTransformations: [{ type: "x" }] }), left);
  for (const strange of [{ serverCompaction: null }, { fallback: "x" }, { inputTransformations: [] }, { inputTransformations: {} }]) {
    assert.deepEqual(notes(strange), []);
  }
});

test("a row that says the same is the same object", () => {
  const conversation = new Conversation();
  const messages = [message(0, { role: "user", parts: [{ type: "text", text: "Read it." }] }), call(1, "c1"), result(2, "c1", "fn a() {}")];
  const before = conversation.rows(snapshot({ messages }), BESIDE);
  const after = conversation.rows(snapshot({ messages: [...messages, message(3, { parts: [{ type: "text", text: "Done." }] })] }), BESIDE);
  assert.deepEqual(
    before.map(({ kind }) => kind),
    ["user", "call"],
  );
  assert.deepEqual(
    after.map(({ kind }) => kind),
    ["user", "call", "answer"],
  );
  assert.equal(after[0], before[0]);
  assert.equal(after[1], before[1]);
});

test("a call says how it stands", () => {
  const conversation = new Conversation();
  const messages = [
    call(0, "c1"),
    call(1, "c2"),
    result(1, "c2", "[rejected by the user] Not now."),
    call(2, "c3"),
    result(3, "c3", "no such file", true),
  ];
  const asked: Pause = {
    reasons: [{ toolCallId: "c1", name: "read", arguments: "{}", cause: "tool", reason: "the tool asks first" }],
  };
  const rows = calls(conversation.rows(snapshot({ messages, pause: asked, state: "paused" }), BESIDE));
  const states = rows.map(({ state, note }) => [state, note]);
  assert.deepEqual(states, [
    ["asked", undefined],
    ["rejected", "Not now."],
    ["failed", undefined],
  ]);
  const because = (cause: PauseCause, reason: string): string | undefined => {
    const pause = { reasons: asked.reasons.map((of) => ({ ...of, cause, reason })) };
    return calls(new Conversation().rows(snapshot({ messages, pause, state: "paused" }), BESIDE))[0]?.reason;
  };
  assert.equal(because("tool", "words that may change"), "read requires approval.", "which setting asks is known here");
  assert.equal(because("untrusted", "the workspace is not trusted"), "The workspace is not trusted.");
  const proposing = { reasons: asked.reasons.map((reason) => ({ ...reason, pattern: "command^=cargo test; tail" })) };
  const [proposed, decided] = calls(conversation.rows(snapshot({ messages, pause: proposing, state: "paused" }), BESIDE));
  assert.equal(proposed?.pattern, "command^=cargo test; tail", "as the sidecar proposes it");
  assert.equal(decided?.pattern, undefined);
  const pending = [{ toolCallId: "c1", turnId: "t0", name: "read", arguments: "{}" }];
  const [open] = calls(conversation.rows(snapshot({ messages, pendingCalls: pending, state: "waitingIde" }), BESIDE));
  assert.equal(open?.state, "open", "a call that runs nowhere here waits for the user");
  const running = { ...BESIDE, running: new Set(["c1"]) };
  assert.equal(calls(conversation.rows(snapshot({ messages, pendingCalls: pending, state: "waitingIde" }), running))[0]?.state, "running");
});

test("a call that another window or the sidecar runs is not offered to be run again", () => {
  const messages = [message(0, { role: "user", parts: [{ type: "text", text: "Read it." }] }), call(1, "c1")];
  const pendingCalls = [{ toolCallId: "c1", turnId: "t0", name: "read", arguments: "{}" }];
  const held = { pid: 1, since: "" };
  const rowsOf = (of: Partial<Snapshot>): Row[] => new Conversation().rows(snapshot({ messages, pendingCalls, ...of }), BESIDE);
  const followed = rowsOf({ state: "waitingIde", heldBy: held });
  assert.equal(calls(followed)[0]?.state, "running", "it runs in the other window");
  assert.ok(
    followed.every((row) => row.held === true),
    "nothing is offered that changes the session",
  );
  assert.equal(calls(rowsOf({ state: "executingTools" }))[0]?.state, "running", "a tool of the sidecar's own");
  const own = rowsOf({ state: "waitingIde" });
  assert.equal(calls(own)[0]?.state, "open");
  assert.ok(own.every((row) => row.held === undefined));
});

test("a row is told again when another window takes the session, and when it comes back", () => {
  const conversation = new Conversation();
  const messages = [message(0, { role: "user", parts: [{ type: "text", text: "Read it." }] })];
  const told = [{}, { heldBy: { pid: 1, since: "" } }, {}].map((of) => conversation.rows(snapshot({ messages, ...of }), BESIDE)[0]?.rev);
  assert.equal(new Set(told).size, 3, String(told));
});

test("a call is run again only where it waits for this window and does not run", async () => {
  const pendingCalls = [{ toolCallId: "c1", turnId: "t0", name: "read", arguments: "{}" }];
  const ran: string[] = [];
  const rerunIn = async (of: Partial<Snapshot>, running: string[] = []): Promise<string[]> => {
    const chat = {
      running: new Map(running.map((id) => [id, {}])),
      invoke: async ({ toolCallId }: { toolCallId: string }) => {
        ran.push(toolCallId);
        return { content: "" };
      },
      deliver: async () => undefined,
    };
    await rerun(chat as unknown as Chat, { id: "s", view: { snapshot: snapshot({ pendingCalls, ...of }) } } as unknown as Session, "c1");
    return ran.splice(0);
  };
  assert.deepEqual(await rerunIn({ state: "waitingIde", heldBy: { pid: 1, since: "" } }), []);
  assert.deepEqual(await rerunIn({ state: "executingTools" }), []);
  assert.deepEqual(await rerunIn({ state: "waitingIde" }, ["c1"]), []);
  assert.deepEqual(await rerunIn({ state: "waitingIde" }), ["c1"]);
});

test("a call says whether allowing it for good allows a command or all calls of its tool", () => {
  const asked = (ord: number, name: string) => message(ord, { parts: [{ type: "toolCall", id: `c${ord}`, name, arguments: "{}" }] });
  const rows = new Conversation().rows(snapshot({ messages: [asked(0, "run_command"), asked(1, "edit_file")] }), BESIDE);
  assert.deepEqual(
    calls(rows).map(({ isCommand }) => isCommand),
    [true, false],
  );
});

test("of what a command printed its row holds the end, and of any other result the beginning", () => {
  const asked = (ord: number, name: string) => message(ord, { parts: [{ type: "toolCall", id: `c${ord}`, name, arguments: "{}" }] });
  const text = `first\n${"line\n".repeat(2_000)}last`;
  const ended = (ord: number, of: object) =>
    message(ord + 1, { role: "tool", parts: [{ type: "toolResult", toolCallId: `c${ord}`, content: text, ...of }] });
  const messages = [
    asked(0, "run_command"),
    ended(0, { exitCode: 1 }),
    asked(2, "probe"),
    ended(2, {}),
    asked(4, "Bash"),
    ended(4, { exitCode: 0 }),
  ];
  const conversation = new Conversation();
  const [command, other, imported] = calls(conversation.rows(snapshot({ messages }), BESIDE));
  assert.equal(command?.state, "failed");
  assert.deepEqual([command?.result?.isOutput, other?.result?.isOutput, imported?.result?.isOutput], [true, undefined, true]);
  assert.match(command?.result?.text ?? "", /^(?!first).*last$/s);
  assert.ok(other?.result?.text.startsWith("first") && other.result.characters === text.length);
  assert.ok(command?.result !== undefined && command.result.text.length <= 4_000 && command.result.characters === text.length);
  assert.equal(calls(conversation.rows(snapshot({ messages }), BESIDE))[0], command, "the same again is the same row");
});

const CARD: CompactionView = {
  id: "c",
  status: "inForce",
  mode: "full",
  modeRequested: "auto",
  trigger: "manual",
  anchorRoundId: "r",
  coversFromOrd: 0,
  coversToOrd: 1,
  placement: "userAtBoundary",
  block: "<conversation-summary>\nBackground.\n\n## Goal\nRead.\n\n# Files\n- a.rs\n</conversation-summary>",
  tokensBefore: 10,
  tokensAfter: 5,
  estimator: "o200k_base",
  numRounds: 1,
  fallbacks: [],
  strength: "absent",
  createdAt: new Date(2500).toISOString(),
  metadata: {},
};

test("the last answer of a turn says what the turn cost", () => {
  const said = (ord: number, turnId: string) => message(ord, { turnId, parts: [{ type: "text", text: "So." }] });
  const messages = [said(0, "t0"), call(1, "c1"), said(2, "t0"), call(3, "c3"), said(4, "t1"), said(5, "t2")];
  const turn = (id: string, spent?: Cost) => ({ id, status: "completed" as const, rounds: [], ...(spent !== undefined && { spent }) });
  const turns = [
    turn("t0", { dollars: 0.0123, table: "2026-11-22", incomplete: 2 }),
    turn("t1"),
    turn("t2", { dollars: 0.5, reported: true }),
  ];
  const rows = new Conversation().rows(snapshot({ messages, turns }), BESIDE);
  const costs = rows.flatMap((row) => (row.kind === "answer" ? [[row.messageId, row.cost, row.costFrom]] : []));
  const missing = "The cost of 2 requests is not known in full.";
  assert.deepEqual(costs, [
    ["m0", undefined, undefined],
    ["m2", "at least $0.0123", `Computed from the price list of 2026-11-22. ${missing}`],
    ["m4", undefined, undefined],
    ["m5", "$0.5000", "Reported by the provider."],
  ]);
  const card = { ...CARD, spent: { dollars: 0.00001, settings: true } };
  const [made] = new Conversation().rows(snapshot({ compactions: [card] }), BESIDE);
  assert.equal(made?.kind === "compaction" && made.cost, "< $0.0001");
});

test("a compaction stands where it happened, and marks what it covers", () => {
  const messages = [
    message(0, { role: "user", parts: [{ type: "text", text: "Read it." }] }),
    message(1, { parts: [{ type: "text", text: "I did." }] }),
    message(3, { role: "user", parts: [{ type: "text", text: "And now?" }] }),
  ];
  const rows = new Conversation().rows(snapshot({ messages, compactions: [CARD] }), BESIDE);
  assert.deepEqual(
    rows.map(({ kind }) => kind),
    ["user", "answer", "compaction", "user"],
  );
  const shown = rows.map((row) => ("shown" in row ? row.shown : row.kind === "compaction" ? [row.narrative, row.ledger] : ""));
  assert.deepEqual(shown, ["whole", "covered", ["## Goal\nRead.", "# Files\n- a.rs"], "whole"]);
});

test("a card tells how often a model was asked, and why in vain", () => {
  const how = (view: Partial<CompactionView>): string[] => {
    const rows = new Conversation().rows(snapshot({ messages: [], compactions: [{ ...CARD, ...view }] }), BESIDE);
    return rows.flatMap((row) => (row.kind === "compaction" ? [row.how] : []));
  };
  const empty = (mode: "full" | "simple", asked: number) => ({ mode, reason: "the answer was empty", asked });
  const unasked = { mode: "full" as const, reason: "what must stay leaves no room for a summary", asked: 0 };
  const done = "The summary lists the actions and names.";
  const cases: [Partial<CompactionView>, string][] = [
    [{ mode: "full" }, "A model summarized the conversation."],
    [{ mode: "full", askedAgain: 1 }, "A model summarized the conversation. The model was asked 2 times."],
    [
      { mode: "simple", fallbacks: [empty("full", 1)] },
      "A model summarized the conversation. A request for a summary failed: the answer was empty.",
    ],
    [
      { mode: "ledger", fallbacks: [empty("full", 2), empty("simple", 1)] },
      `${done} Requests for a summary failed 3 times: the answer was empty.`,
    ],
    [{ mode: "ledger", fallbacks: [unasked] }, `${done} No model was used.`],
    [{ mode: "ledger", fallbacks: [{ mode: "full", reason: "the answer was empty" }] }, done],
    [{ mode: "limitHistory" }, "Old tool results were shortened. No model was used."],
    [{ mode: "edited" }, "You edited the summary."],
  ];
  for (const [view, words] of cases) assert.deepEqual(how(view), [words]);
});

test("a compaction of an imported session stands behind what was imported, which has no date", () => {
  const messages = [0, 1].map((ord) => {
    const { createdAt: _, ...undated } = message(ord, { parts: [{ type: "text", text: "Said." }] });
    return undated;
  });
  const rows = new Conversation().rows(snapshot({ messages, compactions: [{ ...CARD, coversToOrd: 0 }] }), BESIDE);
  assert.deepEqual(
    rows.map(({ kind }) => kind),
    ["answer", "answer", "compaction"],
  );
});

test("of a session that is shown in part, what is not there yet has a row, and cards come with what is around them", () => {
  const card = (id: string, at: number, of: Partial<CompactionView>): CompactionView => ({
    ...CARD,
    id,
    coversToOrd: at - 1,
    createdAt: new Date(at * 1000 - 500).toISOString(),
    ...of,
  });
  const messages = [10, 11, 12].map((ord) => message(ord, { parts: [{ type: "text", text: `Said ${ord}.` }] }));
  const newest = card("c3", 12, {});
  const compactions = [card("c1", 4, { status: "undone" }), card("c2", 11, { status: "undone" }), { ...newest, status: "undone" as const }];
  const part = snapshot({ messages, earlierMessages: 10, compactions: [newest] });
  const rows = new Conversation().rows(part, { ...BESIDE, compactions });
  const drawn = rows.map((row) => (row.kind === "compaction" ? `${row.compactionId} ${row.phase} ${row.messages ?? "?"}` : row.id));
  assert.deepEqual(drawn, ["earlier", "answer m10", "c2 undone ?", "answer m11", "c3 inForce ?", "answer m12"]);
  const whole = new Conversation().rows({ ...part, earlierMessages: 0 }, { ...BESIDE, compactions });
  assert.ok(
    whole.every(({ kind }) => kind !== "earlier"),
    "nothing stands before the first message",
  );
  assert.deepEqual(
    whole.filter(({ kind }) => kind === "compaction").map((row) => "messages" in row && row.messages),
    [0, 1, 2],
  );
});

test("a stopped answer says so, also where the turns are not known", () => {
  const messages = [
    message(0, { role: "user", parts: [{ type: "text", text: "Say it." }] }),
    message(1, { parts: [{ type: "text", text: "I beg" }] }),
  ];
  const beside: RowContext = { ...BESIDE, lastEnd: { turnId: "t0", status: "cancelled" } };
  const [, , answer] = new Conversation().rows(snapshot({ messages, earlierMessages: 4 }), beside);
  assert.ok(answer?.kind === "answer" && answer.stopped === "cancelled");
});

test("a request that has no answer says so where nothing runs, and how it can have one", () => {
  const messages = [message(0, { role: "user", parts: [{ type: "text", text: "Say it." }] })];
  const told = (of: Partial<Snapshot>, more: Partial<SessionView> = {}) =>
    endNoticesOf({ snapshot: snapshot({ messages, ...of }), lastEnd: undefined, ...more }, false).map(({ level, actions }) => [
      level,
      ...actions.map(({ label }) => label),
    ]);
  assert.deepEqual(told({}), [["info", "Ask Again"]]);
  assert.deepEqual(told({ state: "generating" }), []);
  assert.deepEqual(told({ heldBy: { pid: 1, since: "" } }), [], "whoever writes it answers");
  assert.deepEqual(told({ messages: [...messages, message(1, { parts: [{ type: "text", text: "Said." }] })] }), []);
  const data = { kind: "ProviderError", provider: "openai-chat", cause: "auth" } as const;
  const lastEnd = { status: "failed" as const, error: { code: -33008, message: "the key was not accepted", data } };
  assert.deepEqual(told({ state: "error" }, { lastEnd }), [["error", "Try Again", "Set API Key…", "Choose Another Model…"]]);
});

test("a compaction is warned of once, and again only after the prompt was well below", () => {
  const meter = (untilCompaction: number): Meter => ({
    tokens: 0,
    limit: 1000,
    untilCompaction,
    estimator: "",
    sections: [],
    pins: [],
    excluded: 0,
    detailed: false,
    triggers: [],
  });
  const warning = new Warning();
  const told = [500, 90, 80, 150, 70, 600, 50].map((until) => {
    warning.take(meter(until), true);
    const { text } = warning;
    if (text !== undefined) warning.dismiss();
    return text !== undefined;
  });
  assert.deepEqual(told, [false, true, false, false, false, false, true]);
  warning.reset();
  warning.take(meter(50), false);
  assert.equal(warning.text, undefined, "not where it is switched off");
});

test("a run of calls that only look is one row, which changes with its calls alone", () => {
  const looks = (count: number, name = "read_file"): Message[] =>
    Array.from({ length: count }, (_, n) => {
      const call = { type: "toolCall" as const, id: `${name} ${n}`, name, arguments: JSON.stringify({ path: `${n % 20}.rs` }) };
      return [message(2 * n, { parts: [call] }), result(2 * n + 1, call.id, "text")];
    }).flat();
  const conversation = new Conversation();
  const rows = (messages: Message[]) => conversation.rows(snapshot({ messages }), BESIDE);
  const sixty = looks(60);
  const [group, ...others] = rows(sixty);
  assert.deepEqual(others, []);
  assert.ok(group?.kind === "calls");
  assert.equal(group.title, "Read 20 files");
  assert.equal(group.calls.length, 60);
  assert.equal(rows(sixty)[0], group, "the same calls are the same row");
  const [longer] = rows([...sixty, ...looks(61).slice(-2)]);
  assert.ok(longer?.kind === "calls" && longer.id === group.id && longer.rev > group.rev);
  const [shorter] = rows(sixty);
  assert.ok(shorter?.kind === "calls" && shorter.calls.length === 60, "what was taken away is not there");
  // Two are two rows; a call that does something, and one that failed among them, are told.
  assert.deepEqual(
    rows(looks(2)).map(({ kind }) => kind),
    ["call", "call"],
  );
  const command = message(20, { parts: [{ type: "toolCall", id: "c", name: "run_command", arguments: "{}" }] });
  const searches = looks(2, "search_text").map((one) => ({ ...one, id: `${one.id} again`, ord: one.ord + 10 }));
  const [mixed, run] = rows([...looks(3), ...searches, command]);
  assert.ok(mixed?.kind === "calls" && run?.kind === "call");
  assert.equal(mixed.title, "Read 3 files, searched 2 times");
  assert.equal(mixed.failed, 0);
});

test("of compactions that stand one behind the other, the newest is a card and the others are one row", () => {
  const conversation = new Conversation();
  const view = (id: string, status: CompactionView["status"]): CompactionView => ({ ...CARD, id, status });
  const messages = [message(0, { role: "user" }), message(1, { parts: [{ type: "text", text: "Read." }] })];
  const rows = (...compactions: CompactionView[]) => conversation.rows(snapshot({ messages, compactions }), BESIDE).slice(2);
  const said = (made: Row[]) => made.map((row) => (row.kind === "compactions" ? [row.title, row.cards.length] : row.kind));
  const stack = [view("c1", "undone"), view("c2", "undone"), view("c3", "inForce")];
  const before = rows(...stack);
  assert.deepEqual(said(before), [["2 earlier compactions, 2 undone", 2], "compaction"]);
  assert.equal(rows(...stack)[0], before[0], "the same again is the same row");
  assert.deepEqual(said(rows(view("c1", "undone"), view("c2", "undone"), view("c3", "undone"))), [
    ["2 earlier compactions, 2 undone", 2],
    "compaction",
  ]);
  assert.deepEqual(said(rows(view("c1", "undone"), view("c2", "inForce"))), ["compaction", "compaction"], "two are as short by themselves");
  const running = { ...(before[1] as CompactionRow), id: "compaction next", compactionId: "next", phase: "running" as const };
  const behind = conversation.rows(snapshot({ messages, compactions: stack.slice(0, 2) }), { ...BESIDE, compacting: running });
  assert.deepEqual(said(behind.slice(2)), [["2 earlier compactions, 2 undone", 2], "compaction"]);
});
