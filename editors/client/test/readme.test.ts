// The README's backend of a panel and its webview, as they stand there, with the real sidecar and a scripted model.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import test from "node:test";
import { pathToFileURL } from "node:url";
import type { Client, ModelCompleteParams, SessionView, ToolCall } from "../src/node.js";
import { BINARY, emptyFolder, fromPackage, within } from "./support/binary.js";
import { WORKSPACE } from "./support/client.js";

interface Told {
  snapshot?: unknown;
  event?: unknown;
  status?: { state: string };
  error?: string;
}

interface Asked {
  ask?: string;
  method?: string;
  params?: object;
}

type Listener<Heard> = (heard: Heard) => void;

interface Panel {
  openPanel(panel: { post: Listener<Told>; onMessage: (listener: Listener<Asked>) => void }, options: object): Promise<Client>;
  showPanel(host: { onMessage: (listener: Listener<Told>) => void }, draw: (view: SessionView) => void): void;
}

const blocks = [...readFileSync(fromPackage("README.md"), "utf8").matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code ?? "");

/** The README's code as a module. It lies inside of the package, so that the package's name means this one. */
async function panelOfReadme(): Promise<Panel> {
  const folder = fromPackage("dist/readme");
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/panel.mjs`, blocks.join("\n"));
  return (await import(pathToFileURL(`${folder}/panel.mjs`).href)) as Panel;
}

test("the backend has 30 lines", () => {
  const [backend] = blocks;
  ok(backend !== undefined && backend.trimEnd().split("\n").length <= 30, backend);
});

test("the README's panel works as it stands", async () => {
  process.env["THREADHOLD"] = BINARY;
  const { openPanel, showPanel } = await panelOfReadme();

  async function* model({ messages }: ModelCompleteParams): AsyncGenerator<string | ToolCall[]> {
    const said = messages.at(-1)?.parts[0];
    if (said?.type === "toolResult") yield* ["It says ", JSON.stringify(said.content), "."];
    else yield [{ id: `c${messages.length}`, name: "read", arguments: { path: "a.txt" } }];
  }
  const tools = { read: { policy: "ask", run: async ({ path }: { path: string }) => `the words of ${path}` } };

  const heard: Listener<Asked>[] = [];
  const told: Listener<Told>[] = [];
  const errors: string[] = [];
  let view: SessionView | undefined;
  let looked: () => void = () => {};
  showPanel({ onMessage: (listener) => told.push(listener) }, (now) => {
    view = now;
    looked();
  });
  const post = (said: Told) => {
    if (said.error !== undefined) errors.push(said.error);
    looked();
    // What crosses over to a webview is a copy.
    for (const listener of told) listener(structuredClone(said));
  };
  const panel = { post, onMessage: (listener: Listener<Asked>) => void heard.push(listener) };
  const ask = (asked: Asked) => {
    for (const listener of heard) listener(asked);
  };
  const shows = (what: string, isSo: () => boolean) =>
    within(
      what,
      new Promise<void>((resolve) => {
        looked = () => isSo() && resolve();
        looked();
      }),
    );

  const storage = { path: emptyFolder() };
  const client = await openPanel(panel, { folder: WORKSPACE, model, tools, storage });
  try {
    ask({ ask: "What does a.txt say?" });
    await shows("the question to the user", () => view?.snapshot.pause !== undefined);
    const call = view?.snapshot.pause?.reasons[0];
    equal(call?.name, "read");
    ask({ method: "tool/decide", params: { decisions: [{ toolCallId: call?.toolCallId, decision: "allowOnce" }] } });
    await shows("the answer", () => view?.snapshot.turns.at(-1)?.status === "completed");
    match(JSON.stringify(view?.snapshot.messages.at(-1)?.parts), /It says .*the words of a\.txt/);

    ask({ method: "tool/decide", params: { decisions: [] } });
    await shows("the error", () => errors.length === 1);

    // Everything goes on after the sidecar died.
    ok(client.status.state === "running" && client.status.pid !== undefined);
    process.kill(client.status.pid, "SIGKILL");
    const { stream } = view?.snapshot ?? {};
    await shows("the new process", () => view !== undefined && view.snapshot.stream !== stream);
    ask({ ask: "And now?" });
    await shows("the next question", () => view?.snapshot.pause !== undefined);
    ask({ method: "turn/cancel" });
    await shows("its end", () => view?.snapshot.state === "idle");
    const { snapshot } = await client.request("session/subscribe", { sessionId: "main" });
    deepEqual(view?.snapshot, snapshot);
  } finally {
    await client.dispose();
  }
});
