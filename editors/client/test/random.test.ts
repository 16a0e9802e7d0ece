// Long sequences of whatever a user can do with a session, by numbers that are the same in each run: a view that took the
// events is always what the sidecar says.

import { deepEqual, ok } from "node:assert/strict";
import test from "node:test";
import { type Handlers, type ModelCompleteResult, ProtocolError, type Session } from "../src/node.js";
import { shows, startClient, WORKSPACE } from "./support/client.js";

/** Numbers that look random: from 0 up to, and without, 1. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A model that answers, calls tools, fails, or says nothing at all. */
function moody(next: () => number): Handlers {
  let calls = 0;
  return {
    async modelComplete({ purpose }, stream): Promise<ModelCompleteResult | string> {
      if (purpose === "summary") return next() < 0.7 ? "<summary>Goal: to see. State: seen.</summary>" : "";
      const mood = next();
      if (mood < 0.15) throw new Error("the model is tired");
      if (mood < 0.25) return "";
      if (mood < 0.6) {
        const made = [...Array(1 + Math.floor(next() * 3))].map(() => {
          const name = ["read", "ask", "deny", "nothing"][Math.floor(next() * 4)] ?? "read";
          return { id: `call-${++calls}`, name, arguments: { path: `${calls}.rs` } };
        });
        stream.think("Hm.");
        stream.send({ op: "setToolCalls", toolCalls: made });
        return {};
      }
      for (let n = 0; n < 5; n++) stream.say(`It says ${"so much ".repeat(20)}. `);
      return {};
    },
    toolInvoke: async ({ toolCallId }) => `the result of ${toolCallId}: ${"line ".repeat(200)}`,
  };
}

const TOOLS = [{ name: "read" }, { name: "ask", policy: "ask" as const }, { name: "deny", policy: "deny" as const }];
const PAUSED: ReadonlySet<string> = new Set(["paused", "idle", "completed", "error", "waitingUserInput"]);

/** Everything that stands still can be compared. */
async function stands(session: Session, step: string): Promise<void> {
  await shows(session, `rest after ${step}`, ({ snapshot }) => {
    return PAUSED.has(snapshot.state) && session.freshness === "live" && (snapshot.state === "paused" || snapshot.queue.length === 0);
  });
}

/** Random actions by name; a rejection is an answer too. */
const DEEDS: { [name: string]: (session: Session, next: () => number) => Promise<unknown> } = {
  ask: (session, next) => session.ask(`Question ${Math.floor(next() * 1000)}: ${"why ".repeat(30)}`),
  ask2: (session) => session.ask("Another."),
  askUrgently: async (session) => {
    await session.ask("First.");
    await session.ask("No, this.", { priority: true });
  },
  cancel: async (session) => {
    await session.ask("Never mind.");
    await session.cancel({ cancelQueued: true });
  },
  decide: (session, next) => {
    const decisions = (session.view.snapshot.pause?.reasons ?? []).map(({ toolCallId }) => {
      return { toolCallId, decision: next() < 0.5 ? ("allowOnce" as const) : ("rejectOnce" as const) };
    });
    return session.request("tool/decide", { decisions });
  },
  stop: (session) => session.cancel(),
  regenerate: (session) => session.request("turn/regenerate", {}),
  retry: (session, next) => session.request("turn/retry", { fromMessageId: someMessage(session, next) }),
  retryOtherwise: (session, next) => {
    return session.request("turn/retry", { fromMessageId: someMessage(session, next), content: "Other words." });
  },
  update: (session, next) => {
    return session.request("message/update", { messageId: someMessage(session, next), content: "What I meant." });
  },
  remove: (session, next) => session.request("message/remove", { messageId: someMessage(session, next) }),
  truncate: (session, next) => session.request("message/truncate", { messageId: someMessage(session, next) }),
  compact: (session) => session.request("context/compact", {}),
  undo: (session) => session.request("context/undo", {}),
  exclude: (session, next) => session.request("context/exclude", { messageIds: [someMessage(session, next)] }),
  pin: (session, next) => session.request("context/pin", { messageId: someMessage(session, next) }),
  draft: (session, next) => session.request("draft/set", { text: `${next()}` }),
  clearDraft: (session) => session.request("draft/clear", {}),
  title: (session, next) => session.request("session/configure", { title: `${next()}` }),
  plan: (session, next) => session.request("scope/put", { plan: `${next()}` }),
  reset: (session, next) => (next() < 0.3 ? session.request("session/reset", {}) : session.ask("Not yet.")),
};

function someMessage({ view }: Session, next: () => number): string {
  const { messages } = view.snapshot;
  return messages[Math.floor(next() * messages.length)]?.id ?? "none";
}

for (const seed of [1, 2, 3, 4, 5, 6]) {
  test(`sequence ${seed}`, async () => {
    const next = numbers(seed);
    const client = await startClient({ handlers: moody(next), settings: { model: { name: "m", window: 6000 } } });
    const session = await client.openSession({ workspaceFolder: WORKSPACE, tools: TOOLS });
    const names = Object.keys(DEEDS);
    const done: string[] = [];
    let compared = 0;
    for (let n = 0; n < 60; n++) {
      const name = n < 3 ? "ask" : (names[Math.floor(next() * names.length)] ?? "ask");
      const deed = DEEDS[name];
      try {
        await deed?.(session, next);
        done.push(name);
      } catch (error) {
        // What cannot be done as things are is refused, and changes nothing.
        if (!(error instanceof ProtocolError)) throw error;
        done.push(`(${name})`);
      }
      await stands(session, done.join(" "));
      const { snapshot } = await session.request("session/subscribe", {});
      if (!session.view.isExact || snapshot?.seq !== session.view.snapshot.seq) continue;
      deepEqual(withoutVoid(session.view.snapshot), withoutVoid(snapshot), done.join(" "));
      compared += 1;
    }
    ok(compared > 40, `${compared}: ${done.join(" ")}`);
  });
}

/** A compaction that is void speaks of places where other messages may stand by now. */
function withoutVoid(snapshot: Session["view"]["snapshot"]): object {
  const compactions = snapshot.compactions.map((compaction) => {
    const { metadata: _, threadhold: ___, excludedIds: __, ...rest } = compaction;
    return compaction.status === "void" ? rest : compaction;
  });
  return { ...snapshot, compactions };
}
