// Sessions of the real sidecar through a client: events that go missing, requests that are taken back, what the sidecar
// asks, and two clients on one session.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import test from "node:test";
import {
  argumentsOf,
  type Client,
  ContextOverflow,
  type Handlers,
  isProtocolError,
  type Message,
  type ModelCompleteParams,
  ModelUnavailable,
  ProtocolError,
  type Session,
  sidecar,
  type ToolInvokeParams,
} from "../src/node.js";
import { BINARY, emptyFolder, within } from "./support/binary.js";
import { later, shows, startClient, WORKSPACE } from "./support/client.js";
import { type Frame, listeningIn } from "./support/frames.js";

const ANSWERS: Handlers = { modelComplete: async () => "Yes." };

async function settled(session: Session): Promise<void> {
  await shows(session, "the end of the turn", ({ snapshot }) => {
    return session.freshness === "live" && snapshot.turns.length > 0 && snapshot.turns.at(-1)?.status !== "running";
  });
}

/** The view is the sidecar's word, as a whole. */
async function isTrue(session: Session): Promise<void> {
  deepEqual(session.view.snapshot, (await session.request("session/subscribe", {})).snapshot);
}

for (const missing of ["messageAdded", "streamStarted", "runtimeUpdated", "streamDelta", "queueUpdated"]) {
  test(`a ${missing} that never came is asked for`, async () => {
    let dropped = 0;
    const drops = (frame: Frame) => frame.params?.["type"] === missing && dropped++ === 0;
    const sent: Frame[] = [];
    const launch = listeningIn(sidecar({ command: BINARY }), drops, sent);
    const modelComplete: Handlers["modelComplete"] = async (_, stream) => {
      for (const word of ["Yes", ", ", "really", "."]) {
        stream.say(word);
        await stream.flushed();
      }
    };
    const client = await startClient({ launch, handlers: { modelComplete } });
    const session = await client.openSession({ workspaceFolder: WORKSPACE });
    const [first, second] = await Promise.all([session.ask("Is it so?"), session.ask("And so?")]);
    await shows(session, "both answers", ({ snapshot }) => {
      const ended = snapshot.turns.filter(({ status }) => status === "completed").map(({ id }) => id);
      return ended.includes(first.turnId) && ended.includes(second.turnId) && session.freshness === "live";
    });
    ok(dropped > 0, "one was dropped");
    ok(sent.some(({ method, params }) => method === "session/subscribe" && params?.["stream"] !== undefined));
    await isTrue(session);
  });
}

test("a request is taken back, in the sidecar too", async () => {
  const asked = later();
  const gaveUp = later();
  const client = await startClient({
    settings: { model: { name: "m", window: 4000 } },
    handlers: {
      modelComplete: async ({ purpose }, _, signal) => {
        if (purpose !== "summary") return `A long answer. ${"It goes on about the lexer. ".repeat(100)}`;
        signal.addEventListener("abort", () => gaveUp.resolve());
        asked.resolve();
        return new Promise<string>(() => {});
      },
    },
  });
  const session = await client.openSession({ workspaceFolder: WORKSPACE });
  for (const question of ["Begin.", "Go on.", "Go on."]) {
    await session.ask(question);
    await settled(session);
  }
  const abort = new AbortController();
  const progress: string[] = [];
  const compacting = session.request("context/compact", {}, { signal: abort.signal, onProgress: (said) => progress.push(said) });
  await within("the request for a summary", asked.promise);
  await shows(session, "the compaction", ({ snapshot }) => snapshot.compression.running);
  abort.abort();
  await rejects(compacting, (error) => isProtocolError(error, "Cancelled"));
  await within("the model's signal", gaveUp.promise);
  await shows(session, "the end of the compaction", ({ snapshot }) => !snapshot.compression.running);
  ok(progress.length > 0, "it was told how it goes");
  equal(session.view.snapshot.compactions.length, 0);
  await isTrue(session);
  await rejects(session.request("context/inspect", {}, { signal: AbortSignal.abort() }), /nothing was done/);
});

test("tools run with their arguments, one of them late, one in vain; the user is asked", async () => {
  const requests: ModelCompleteParams[] = [];
  const calls: ToolInvokeParams[] = [];
  let late: ToolInvokeParams | undefined;
  const client = await startClient({
    handlers: {
      modelComplete: async (request, stream) => {
        requests.push(request);
        if (requests.length > 1) return "Done.";
        stream.think("I need three.");
        stream.send({
          op: "setToolCalls",
          toolCalls: [
            { id: "c1", name: "read", arguments: { path: "a.txt" } },
            { id: "c2", name: "read", arguments: "" },
            { id: "c3", name: "run", arguments: { command: "make" } },
            { id: "c4", name: "fail", arguments: "{" },
          ],
        });
        return;
      },
      toolInvoke: async (call) => {
        calls.push(call);
        if (call.name === "fail") throw new Error("no such disk");
        if (call.name === "run") {
          late = call;
          return { pending: true };
        }
        return `read ${JSON.stringify(argumentsOf(call))}`;
      },
      requestPermission: async ({ reasons }) => ({
        decisions: reasons.map(({ toolCallId }) => ({ toolCallId, decision: "allowOnce" as const })),
      }),
    },
  });
  const tools = [{ name: "read" }, { name: "run", policy: "ask" as const }, { name: "fail" }];
  const session = await client.openSession({ workspaceFolder: WORKSPACE, tools });
  await session.ask("Do it.");
  await shows(session, "the call that is late", ({ snapshot }) => {
    return snapshot.pendingCalls.length === 1 && snapshot.state === "waitingIde";
  });
  ok(late);
  equal(session.view.snapshot.pendingCalls[0]?.toolCallId, "c3");
  await isTrue(session);
  await session.request("tool/result", { toolCallId: "c3", content: "made", exitCode: 0 });
  await settled(session);
  const results = JSON.stringify(requests[1]?.messages);
  for (const said of ["a.txt", "read {}", "made", "no such disk"]) ok(results.includes(said), said);
  deepEqual(calls.map(({ name }) => name).sort(), ["fail", "read", "read", "run"]);
  equal(argumentsOf(calls.find(({ name }) => name === "fail") ?? { arguments: "" }), undefined);
  await isTrue(session);
});

test("an answer is whole, however slowly its pieces are written", async () => {
  const launch = sidecar({ command: BINARY });
  const slow: typeof launch = async (onLine) => {
    const launched = await launch(onLine);
    const write = launched.writer.write.bind(launched.writer);
    launched.writer.write = async (message) => {
      if ((message as Frame).method === "model/delta") await new Promise((resolve) => setTimeout(resolve, 20));
      return write(message);
    };
    return launched;
  };
  const modelComplete: Handlers["modelComplete"] = async (_, stream) => {
    stream.say("One, ");
    await new Promise((resolve) => setImmediate(resolve));
    stream.say("two, ");
    stream.say("three.");
  };
  const client = await startClient({ launch: slow, handlers: { modelComplete } });
  const session = await client.openSession({ workspaceFolder: WORKSPACE });
  await session.ask("Count.");
  await settled(session);
  deepEqual(session.view.snapshot.messages.at(-1)?.parts, [{ type: "text", text: "One, two, three." }]);
});

test("a cancelled turn takes its calls back", async () => {
  const called = later();
  const gaveUp = later();
  const client = await startClient({
    handlers: {
      modelComplete: async () => ({ toolCalls: [{ id: "c1", name: "wait", arguments: {} }] }),
      toolInvoke: async (_, signal) => {
        signal.addEventListener("abort", () => gaveUp.resolve());
        called.resolve();
        return new Promise<string>(() => {});
      },
    },
  });
  const session = await client.openSession({ workspaceFolder: WORKSPACE, tools: [{ name: "wait" }] });
  await session.ask("Wait.");
  await within("the call", called.promise);
  const { state } = await session.cancel();
  equal(state, "idle");
  await within("the tool's signal", gaveUp.promise);
  await settled(session);
  equal(session.view.lastEnd?.status, "cancelled");
  await isTrue(session);
});

test("a model that finds its prompt too large has it compacted, and tokens are counted by the editor", async () => {
  let refused = 0;
  let counted = 0;
  const client = await startClient({
    settings: { model: { name: "m", window: 8000, countTokens: true } },
    handlers: {
      modelComplete: async ({ messages, purpose }) => {
        const size = JSON.stringify(messages).length;
        if (purpose === "turn" && size > 6000) {
          refused += 1;
          throw new ContextOverflow("too large", 1500, 2000);
        }
        return purpose === "turn" ? "A word. ".repeat(250) : "Goal: words.";
      },
      countTokens: async ({ texts }) => {
        counted += texts.length;
        return { tokens: texts.map((text) => Math.ceil(text.length / 4)) };
      },
    },
  });
  const session = await client.openSession({ workspaceFolder: WORKSPACE });
  for (let n = 0; n < 4; n++) {
    await session.ask(`Say more (${n}).`);
    await settled(session);
    equal(session.view.lastEnd?.status, "completed", session.view.lastEnd?.error?.message);
  }
  ok(refused > 0 && counted > 0, `${refused} ${counted}`);
  ok(session.view.snapshot.compactions.length > 0);
  ok(session.view.snapshot.turns.some(({ metadata }) => (metadata?.summaries?.length ?? 0) > 0));
  await isTrue(session);
});

test("a model that breaks off is asked again, and its first words are taken back", async () => {
  let asked = 0;
  const client = await startClient({
    handlers: {
      modelComplete: async ({ purpose }, stream) => {
        if (purpose !== "turn") return "A title";
        asked += 1;
        if (asked > 1) return "The whole answer.";
        stream.say("The wh");
        await stream.flushed();
        throw new ModelUnavailable("the connection broke", "network", 1);
      },
    },
  });
  const session = await client.openSession({ workspaceFolder: WORKSPACE });
  await session.ask("Speak.");
  await settled(session);
  equal(session.view.lastEnd?.status, "completed", session.view.lastEnd?.error?.message);
  equal(asked, 2);
  const said = JSON.stringify(session.view.snapshot.messages);
  ok(said.includes("The whole answer.") && !said.includes('"The wh"'), said);
  await isTrue(session);
});

test("what the sidecar refuses has its kind and its fields", async () => {
  const client = await startClient({ handlers: ANSWERS });
  const session = await client.openSession({ workspaceFolder: WORKSPACE });
  await rejects(client.request("session/close", { sessionId: "nobody" }), (error) => {
    ok(isProtocolError(error, "UnknownSession"));
    equal(error.data.sessionId, "nobody");
    ok(!isProtocolError(error, "QueueFull"));
    return true;
  });
  await rejects(session.request("turn/end", {}), (error) => {
    ok(isProtocolError(error, "InvalidState"));
    ok(error.data.accepts.includes("turn/start"));
    return error instanceof ProtocolError && error.method === "turn/end";
  });
});

test("only the end of a long session is shown, and what is before it on demand", async () => {
  const storage = { path: emptyFolder() };
  const first = await startClient({ handlers: ANSWERS, storage });
  const whole = await first.openSession({ workspaceFolder: WORKSPACE, sessionId: "long" });
  for (let n = 0; n < 10; n++) {
    await whole.ask(`Question ${n}`);
    await settled(whole);
  }
  const all = structuredClone(whole.view.snapshot.messages);
  await first.dispose();

  let drop = false;
  const sent: Frame[] = [];
  const isDropped = (frame: Frame) => drop && frame.params?.["type"] === "streamStarted";
  const launch = listeningIn(sidecar({ command: BINARY }), isDropped, sent);
  const client = await startClient({ handlers: ANSWERS, storage, launch });
  const session = await client.openSession({ workspaceFolder: WORKSPACE, sessionId: "long", snapshotMessages: 4 });
  const texts = () => session.view.snapshot.messages.map(({ ord }) => ord);
  deepEqual(texts(), [16, 17, 18, 19]);
  equal(await session.loadEarlier(6), true);
  deepEqual(
    texts(),
    all.slice(10).map(({ ord }) => ord),
  );
  equal(session.view.snapshot.earlierMessages, 10);
  // A gap does not bring all of it.
  drop = true;
  await session.ask("One more");
  await shows(session, "its answer", ({ snapshot }) => snapshot.state === "idle" && texts().at(-1) === 21);
  await shows(session, "it live", () => session.freshness === "live");
  ok(session.view.snapshot.messages.length < 13, "as many as there were");
  equal(sent.filter(({ method }) => method === "session/open").length, 1);
  ok(sent.some(({ method, params }) => method === "session/subscribe" && Number(params?.["snapshotMessages"]) >= 10));
  drop = false;
  while (await session.loadEarlier(3));
  // Pages are read from the store, which does not know rounds.
  const apart = ({ roundId: _, ...rest }: Message) => rest;
  deepEqual(session.view.snapshot.messages.slice(0, 20).map(apart), all.map(apart));
  equal(await session.loadEarlier(), false);
  // Turns are told of a whole session only.
  equal(session.view.snapshot.turns.length, 0);
  await session.loadAll();
  equal(session.view.snapshot.earlierMessages, undefined);
  deepEqual(session.view.snapshot.messages.slice(0, 20), all);
  equal(session.view.snapshot.turns.at(-1)?.status, "completed");
});

test("two windows on one session: the second follows, takes over, and the first follows", async () => {
  const storage = { path: emptyFolder() };
  const one = await startClient({ handlers: ANSWERS, storage });
  const two = await startClient({ handlers: ANSWERS, storage });
  const there = await one.openSession({ workspaceFolder: WORKSPACE, sessionId: "both" });
  await there.ask("First.");
  await settled(there);
  const open = (client: Client, follow: boolean) => client.openSession({ workspaceFolder: WORKSPACE, sessionId: "both", follow });
  await rejects(open(two, false), (error) => isProtocolError(error, "SessionHeldElsewhere"));
  const here = await open(two, true);
  equal(typeof here.view.snapshot.heldBy?.pid, "number");
  await there.ask("Second.");
  await settled(there);
  await shows(here, "what is said there", ({ snapshot }) => snapshot.messages.length === 4);
  await rejects(here.ask("Third."), (error) => isProtocolError(error, "SessionHeldElsewhere"));

  await here.request("session/takeOver", {});
  await shows(here, "it as the writer", ({ snapshot }) => snapshot.heldBy === undefined);
  await shows(there, "it as a follower", ({ snapshot }) => snapshot.heldBy !== undefined);
  await here.ask("Third.");
  await settled(here);
  await isTrue(here);
  await shows(there, "what is said there now", ({ snapshot }) => snapshot.messages.length === 6);
});

test("closing and deleting end a session for the client too", async () => {
  const client = await startClient({ handlers: ANSWERS });
  const changed = later<string[]>();
  client.on("sessions/changed", ({ deleted }) => deleted.length > 0 && changed.resolve(deleted));
  const session = await client.openSession({ workspaceFolder: WORKSPACE, sessionId: "s" });
  await session.ask("Keep this.");
  await settled(session);
  await session.close();
  equal(session.freshness, "closed");
  equal(client.sessions.size, 0);
  const again = await client.openSession({ workspaceFolder: WORKSPACE, sessionId: "s" });
  equal(again.view.snapshot.messages.length, 2);
  ok(again !== session);
  equal(await client.openSession({ workspaceFolder: WORKSPACE, sessionId: "s" }), again, "open already");
  const { deletedMessages } = await again.delete();
  equal(deletedMessages, 2);
  deepEqual(await within("the word of it", changed.promise), ["s"]);
});

for (const method of ["session/close", "session/delete"] as const) {
  test(`${method} that is asked of the client ends the session too`, async () => {
    const client = await startClient({ handlers: ANSWERS });
    const session = await client.openSession({ workspaceFolder: WORKSPACE });
    await session.ask("Keep this.");
    await settled(session);
    await client.request(method, { sessionId: session.id });
    equal(session.freshness, "closed");
    equal(client.sessions.size, 0, "the next process is not asked for it");
    await client.restart();
    equal(session.freshness, "closed");
  });
}

test("settings, folders and logs", async () => {
  const lines: string[] = [];
  const client = await startClient(
    { workspaceFolders: [{ uri: "file:///one", name: "one" }] },
    {
      log: ({ level, message }) => lines.push(`${level}: ${message}`),
    },
  );
  const session = await client.openSession({ workspaceFolder: WORKSPACE });
  await client.configure({ roundLimit: 7 });
  await client.changeFolders([{ uri: "file:///two", name: "two" }]);
  await shows(session, "the setting", ({ snapshot }) => snapshot.settings.roundLimit === 7);
  await client.configure({ roundLimit: -1 } as never);
  await client.request("server/diagnostics", {});
  match(lines.join("\n"), /warning: .*roundLimit/);
  await client.restart();
  await shows(session, "it live", () => session.freshness === "live");
});
