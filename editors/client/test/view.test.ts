// A view by itself: what an event costs, when listeners are told, and events that do not fit. That a view is what the
// sidecar says is shown by recorded.test.ts.

import { deepEqual, equal, ok } from "node:assert/strict";
import test from "node:test";
import type { CompactionView, DeltaOp, Message, SessionEvent, Snapshot } from "../src/protocol.js";
import { type Change, SessionView } from "../src/view.js";

type Body = SessionEvent extends infer Event ? (Event extends SessionEvent ? Omit<Event, "sessionId" | "stream" | "seq"> : never) : never;

function message(ord: number, role: Message["role"], turn: number): Message {
  const parts = [{ type: "text" as const, text: `${role} ${ord}` }];
  const roundId = role === "assistant" ? { roundId: `s/r${turn}` } : {};
  return { id: `s/m${ord}`, ord, rev: 0, turnId: `s/t${turn}`, ...roundId, role, parts, tokens: 3 };
}

/** A session of so many rounds, each with a request. */
function session(rounds: number): Snapshot {
  const numbers = [...Array(rounds).keys()];
  return {
    sessionId: "s",
    stream: "one",
    seq: 0,
    state: "idle",
    driver: "sidecar",
    generation: 0,
    origin: "new",
    scope: { revision: 0, todos: [], pins: [], artifacts: [] },
    messages: numbers.flatMap((n) => [message(2 * n, "user", n), message(2 * n + 1, "assistant", n)]),
    turns: numbers.map((n) => ({
      id: `s/t${n}`,
      status: "completed",
      rounds: [{ id: `s/r${n}`, assistant: `s/m${2 * n + 1}`, results: [] }],
    })),
    queue: [],
    compression: { running: false },
    pendingCalls: [],
    compactions: [],
    summarizedCount: 0,
    settings: {},
  };
}

/** Builds consecutive events of a session. */
function events(stream = "one", seq = 0): (body: Body) => SessionEvent {
  return (body) => ({ sessionId: "s", stream, seq: ++seq, ...body }) as SessionEvent;
}

/** A session whose lists say how often they are looked at. */
function counted(snapshot: Snapshot): { snapshot: Snapshot; looks: () => number } {
  let looks = 0;
  const count: ProxyHandler<never[]> = {
    get: (of: object, key: string | symbol, self: unknown) => {
      looks++;
      return Reflect.get(of, key, self) as unknown;
    },
  };
  const of = <Item>(list: Item[]): Item[] => new Proxy(list, count) as Item[];
  const { messages, turns, compactions } = snapshot;
  return { snapshot: { ...snapshot, messages: of(messages), turns: of(turns), compactions: of(compactions) }, looks: () => looks };
}

/** Accesses during a turn of 2,000 deltas: while streaming, and in total. */
function cost(rounds: number): { streaming: number; whole: number; view: SessionView } {
  const { snapshot, looks } = counted(session(rounds));
  const view = new SessionView(snapshot, { schedule: () => {} });
  const next = events();
  const take = (body: Body) => equal(view.take(next(body)), "taken");
  const began = looks();
  const turnId = `s/t${rounds}`;
  take({ type: "turnStarted", turnId });
  take({ type: "messageAdded", message: message(2 * rounds, "user", rounds) });
  take({ type: "runtimeUpdated", state: "generating", turnId });
  take({ type: "streamStarted", messageId: `s/m${2 * rounds + 1}`, turnId });
  const streams = looks();
  for (let n = 0; n < 2000; n++) {
    take({ type: "streamDelta", messageId: `s/m${2 * rounds + 1}`, ops: [{ op: "appendContent", text: `word ${n} ` }] });
  }
  const streaming = looks() - streams;
  take({ type: "streamFinished", messageId: `s/m${2 * rounds + 1}` });
  take({ type: "messageAdded", message: message(2 * rounds + 1, "assistant", rounds) });
  take({ type: "turnCompleted", turnId, outcome: "completed", compactions: [], durationMs: 5 });
  take({ type: "runtimeUpdated", state: "idle", turnId, status: "completed" });
  return { streaming, whole: looks() - began, view };
}

test("an event costs what it brings, however long the session is", () => {
  const [short, long] = [cost(5), cost(5000)];
  equal(long.streaming, 0, "deltas look at nothing but the answer");
  equal(long.whole, short.whole, "and a turn not at those before it");
  equal(long.view.snapshot.turns.at(-1)?.rounds[0]?.id, "s/r5000");
  equal(long.view.snapshot.turns.at(-1)?.durationMs, 5);
  equal(long.view.isExact, true);
});

test("listeners are told once of all that happens until it is drawn", () => {
  const drawings: (() => void)[] = [];
  const view = new SessionView(session(1), { schedule: (draw) => drawings.push(draw) });
  const changes: Change[] = [];
  const told = () => changes.length;
  const listening = view.onChange((change) => changes.push(change));
  const next = events();
  view.take(next({ type: "streamStarted", messageId: "s/m2", turnId: "s/t1" }));
  for (let n = 0; n < 2000; n++) {
    view.take(next({ type: "streamDelta", messageId: "s/m2", ops: [{ op: "appendContent", text: "x" }] }));
  }
  equal(drawings.length, 1);
  equal(told(), 0);
  drawings.pop()?.();
  equal(told(), 1);
  ok(changes[0]?.fields.has("streaming") && !changes[0].fields.has("messages") && !changes[0].whole);
  equal(view.snapshot.streaming?.parts.length, 1);

  view.take(next({ type: "messageAdded", message: message(2, "user", 1) }));
  view.take(next({ type: "messageRemoved", messageId: "s/m0" }));
  drawings.pop()?.();
  deepEqual([...(changes[1]?.messages ?? [])], ["s/m2", "s/m0"]);
  listening.dispose();
  view.show(session(2));
  drawings.pop()?.();
  equal(told(), 2);
});

test("a listener that fails costs the others nothing", () => {
  const faults: unknown[] = [];
  const view = new SessionView(session(1), { schedule: (draw) => draw(), onFault: (error) => faults.push(error) });
  let told = 0;
  view.onChange(() => {
    throw new Error("cannot draw");
  });
  view.onChange(() => told++);
  view.take(events()({ type: "pauseCleared" }));
  equal(told, 1);
  equal(faults.length, 1);
});

test("events that are old, early, of another stream or of a later version", () => {
  const view = new SessionView(session(1), { schedule: () => {} });
  const next = events();
  const first = next({ type: "queueUpdated", queue: [] });
  equal(view.take(first), "taken");
  equal(view.take(first), "old");
  next({ type: "pauseCleared" });
  equal(view.take(next({ type: "pauseCleared" })), "missed");
  equal(view.take(events("two", 1)({ type: "pauseCleared" })), "missed");
  equal(view.snapshot.seq, 1);
  equal(view.take(events("one", 1)({ type: "somethingNew" } as never)), "taken");
  equal(view.snapshot.seq, 2);
  const later = { ...session(3), stream: "two", seq: 9 };
  equal(view.take(events("two", 8)({ type: "snapshot", snapshot: later })), "taken");
  equal(view.snapshot.messages.length, 6);
  equal(view.take(events("two", 9)({ type: "pauseCleared" })), "taken");
});

test("operations that are not known, and arguments of a call that is not there, change nothing", () => {
  const view = new SessionView(session(1), { schedule: () => {} });
  const next = events();
  view.take(next({ type: "streamStarted", messageId: "s/m2", turnId: "s/t1" }));
  const ops = [{ op: "appendToolArguments", callId: "none", text: "x" }, { op: "new" }, { op: "appendContent", text: "said" }];
  equal(view.take(next({ type: "streamDelta", messageId: "s/m2", ops: ops as DeltaOp[] })), "taken");
  deepEqual(view.snapshot.streaming?.parts, [{ type: "text", text: "said" }]);
  view.take(next({ type: "streamDelta", messageId: "another", ops: [{ op: "appendContent", text: "lost" }] }));
  deepEqual(view.snapshot.streaming?.parts, [{ type: "text", text: "said" }]);
});

test("what no event tells is asked for", () => {
  const dropped: Partial<CompactionView> = { id: "s/c0", status: "inForce", mode: "dropped", block: "", anchorRoundId: "s/r0" };
  const accepted = {
    type: "compactionUpdated",
    compactionId: "s/c0",
    status: "completed",
    phase: "accepted",
    compaction: dropped,
  } as const;
  const inexact = (snapshot: Snapshot, ...bodies: Body[]) => {
    const view = new SessionView(snapshot, { schedule: () => {} });
    const next = events();
    for (const body of bodies) view.take(next(body));
    return !view.isExact;
  };
  ok(inexact(session(2), accepted as Body), "how much dropped rounds hide");
  ok(inexact(session(2), { type: "prefixBroken", causes: ["restore"], reusedTokens: 0, lostTokens: 0 }), "summaries that came");
  const pinned = { ...session(2), pins: [{ pinId: "p", messageId: "s/m0", tokens: 3 }] };
  const edited = { type: "messageUpdated", message: { ...message(0, "user", 0), rev: 1 } } as const;
  ok(inexact(pinned, edited), "what a pin weighs");
  const having = (status: CompactionView["status"]) => ({
    ...session(2),
    compactions: [{ ...dropped, status, mode: "excluded" } as CompactionView],
  });
  ok(inexact(having("undone"), edited), "what was kept of a compaction");
  ok(!inexact(having("inForce"), edited), "of one in force it is told");
  ok(!inexact(session(2), edited));
});

test("turns follow from events alone", () => {
  const view = new SessionView(session(1), { schedule: () => {} });
  const next = events();
  const turns = () => view.snapshot.turns.map(({ id, status, durationMs }) => [id, status, durationMs]);
  const costs = () => view.snapshot.turns.map(({ cost, spent }) => [cost, spent]);
  const spent = { dollars: 0.25, reported: true, incomplete: 1 };
  const end: Body = { type: "turnCompleted", turnId: "s/t1", outcome: "failed", cost: 0.25, spent, compactions: [], durationMs: 7 };
  view.take(next({ type: "turnStarted", turnId: "s/t1", externalId: "mine" }));
  view.take(next({ type: "messageAdded", message: message(2, "user", 1) }));
  view.take(next({ type: "messageAdded", message: message(3, "assistant", 1) }));
  view.take(next(end));
  deepEqual(turns(), [
    ["s/t0", "completed", undefined],
    ["s/t1", "failed", 7],
  ]);
  deepEqual(costs()[1], [0.25, spent]);
  equal(view.snapshot.turns[1]?.externalId, "mine");
  view.take(next({ type: "turnStarted", turnId: "s/t1" }));
  deepEqual(turns()[1], ["s/t1", "running", undefined], "it runs again");
  deepEqual(costs()[1], [undefined, undefined]);
  view.take(next({ type: "messageUpdated", message: { ...message(3, "assistant", 1), rev: 1, roundId: "s/r1.1" } }));
  deepEqual(view.snapshot.turns[1]?.rounds, [{ id: "s/r1.1", assistant: "s/m3", results: [] }]);
  view.take(next({ type: "messagesTruncated", fromOrd: 2, revision: "s~1" }));
  deepEqual(turns(), [["s/t0", "completed", undefined]], "a turn without messages is gone");
  ok(view.isExact);
});

test("an error is told with the turn that ended with it", () => {
  const view = new SessionView(session(1), { schedule: () => {} });
  const next = events();
  const error = {
    code: -33008,
    message: "the model failed",
    data: { kind: "ProviderError", provider: "editor", cause: "client" } as const,
  };
  view.take(next({ type: "runtimeUpdated", state: "generating", turnId: "s/t0", retrying: { attempt: 2, delayMs: 5, reason: "busy" } }));
  equal(view.retrying?.attempt, 2);
  view.take(next({ type: "runtimeUpdated", state: "error", turnId: "s/t0", status: "failed", error }));
  equal(view.retrying, undefined);
  deepEqual(view.lastEnd, { turnId: "s/t0", status: "failed", error });
});

test("an answer that breaks off is replaced by the one that begins anew", () => {
  const view = new SessionView(session(1), { schedule: () => {} });
  const next = events();
  const messageId = "s/m2";
  const says = (text: string) => view.take(next({ type: "streamDelta", messageId, ops: [{ op: "appendContent", text }] }));
  const said = () => view.snapshot.streaming?.parts;
  view.take(next({ type: "streamStarted", messageId, turnId: "s/t0" }));
  says("Once upon");
  view.take(next({ type: "runtimeUpdated", state: "generating", turnId: "s/t0", retrying: { attempt: 2, delayMs: 5, reason: "gone" } }));
  deepEqual([said(), view.retrying?.attempt], [[{ type: "text", text: "Once upon" }], 2], "it may be all that there will be");
  view.take(next({ type: "streamReset", messageId }));
  says("It was");
  deepEqual([said(), view.retrying], [[{ type: "text", text: "It was" }], undefined]);
  view.take(next({ type: "streamReset", messageId: "s/m9" }));
  deepEqual(said(), [{ type: "text", text: "It was" }], "of another answer");
});
