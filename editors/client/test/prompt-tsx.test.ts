// The claims of coming-from-prompt-tsx.md about the sidecar, under the page's own headings.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { isProtocolError, type PromptRenderParams, type PromptRenderResult, type Round, type Settings } from "../src/node.js";
import { fromPackage } from "./support/binary.js";
import { startClient, WORKSPACE } from "./support/client.js";

const words = (count: number, word = "word") => `${word} `.repeat(count);
const MODEL = { name: "m", window: 4000 };
const client = await startClient({ settings: { model: MODEL } });

async function render(params: PromptRenderParams): Promise<PromptRenderResult> {
  return client.request("prompt/render", { input: { content: "Hello." }, ...params });
}

/** Messages as pairs of role and text. */
function said({ messages }: PromptRenderResult): [string, string[]][] {
  return messages.map(({ role, parts }) => [role, parts.map((part) => (part.type === "text" ? part.text : part.type))]);
}

let sessions = 0;
async function editorsSession(settings: Settings = {}): Promise<string> {
  const sessionId = `session-${++sessions}`;
  await client.openSession({ workspaceFolder: WORKSPACE, sessionId, driver: "editor", settings });
  return sessionId;
}

function round(n: number, size: number): Round {
  const call = { type: "toolCall" as const, id: `c${n}`, name: "read", arguments: { path: `${n}.rs` } };
  return { id: `round-${n}`, assistant: { parts: [call] }, results: [{ toolCallId: `c${n}`, content: words(size, `word_${n}`) }] };
}

/** A chat that is larger than its window. */
async function longChat(settings: Settings = {}): Promise<{ sessionId: string; rendered: PromptRenderResult }> {
  const sessionId = await editorsSession(settings);
  const history = [1, 2, 3, 4].map((n) => ({
    externalId: `request-${n}`,
    request: `Do step ${n}, please.`,
    rounds: [round(n, 600), { id: `answer-${n}`, assistant: { parts: `Step ${n} is done.` } }],
  }));
  return { sessionId, rendered: await render({ sessionId, history, input: { externalId: "now", content: "Go on." } }) };
}

test("What becomes what: sections", async () => {
  const rendered = await render({
    history: [],
    sections: [
      { name: "first", content: "One." },
      { name: "background", channel: "memory", content: "It is known." },
      { name: "second", content: "Two." },
    ],
  });
  deepEqual(said(rendered), [
    ["system", ["One.", "Two."]],
    ["user", ["It is known."]],
    ["user", ["Hello."]],
  ]);
});

test("What becomes what: what belongs to a request stays with it", async () => {
  const sessionId = await editorsSession();
  const first = await render({
    sessionId,
    input: { externalId: "one", content: "Look." },
    attachments: [{ name: "open files", text: "a.rs" }],
    variables: [{ name: "selection", value: "let a = 1;" }],
  });
  const request = JSON.stringify(first.messages.at(-1)?.parts);
  for (const part of ["Look.", "a.rs", "let a = 1;"]) ok(request.includes(part), part);
  await client.request("turn/end", { sessionId });
  const second = await render({ sessionId, input: { externalId: "two", content: "And now?" } });
  equal(JSON.stringify(second.messages[0]?.parts), request);
});

test("What becomes what: figures and metadata", async () => {
  const { rendered } = await longChat();
  ok(rendered.tokens <= rendered.limit && rendered.limit < rendered.window);
  match(rendered.estimator, /^o200k_base/);
  deepEqual(Object.keys(rendered.metadata), ["summary", "summaries"]);
  ok((await render({ history: [], budget: 300 })).limit <= 300);
});

test("Priorities: the conversation gives way, and calls stay with their results", async () => {
  const { rendered } = await longChat();
  ok(rendered.compactionId !== undefined);
  const texts = JSON.stringify(rendered.messages);
  for (const n of [1, 2, 3, 4]) ok(texts.includes(`Do step ${n}, please.`), `the user's words ${n}`);
  equal(
    rendered.messages
      .at(-1)
      ?.parts.map((part) => part.type === "text" && part.text)
      .join(),
    "Go on.",
  );
  const parts = rendered.messages.flatMap((message) => message.parts);
  const calls = parts.flatMap((part) => (part.type === "toolCall" ? [part.id] : []));
  const results = parts.flatMap((part) => (part.type === "toolResult" ? [part.toolCallId] : []));
  deepEqual(calls, results);
  ok(rendered.cuts.every(({ ref }) => ref !== undefined));
});

test("Priorities: a block stands for old rounds, results may be shortened first, and the user's words have a budget", async () => {
  const { rendered } = await longChat({ limitHistory: "shortenResults" });
  equal(rendered.mode, "limitHistory");
  equal((await longChat()).rendered.mode, "ledger");
  const answers = async (count: number, size: number) => {
    const history = [...Array(count).keys()].map((n) => ({
      externalId: `request-${n}`,
      request: `Say ${n}.`,
      rounds: [{ id: `answer-${n}`, assistant: { parts: words(size, `word_${n}`) } }],
    }));
    return render({ sessionId: await editorsSession(), history, input: { externalId: "now", content: "Go on." } });
  };
  const few = await answers(4, 400);
  equal(few.mode, "ledger");
  deepEqual(few.cuts, []);
  match(JSON.stringify(few.messages), /<conversation-summary>.*word_0/);
  ok((await answers(120, 50)).cuts.some(({ reason }) => reason === "userMessage"));
});

test("Priorities: every prompt goes on from the one before it, also after a compaction", async () => {
  const { sessionId, rendered } = await longChat();
  const rounds = [round(9, 20)];
  const next = await render({ sessionId, input: { externalId: "now", content: "Go on." }, rounds });
  deepEqual(said(next).slice(0, rendered.messages.length), said(rendered));
  equal(next.compactionId, rendered.compactionId);
});

test("Priorities: what is never given up, and the word for that", async () => {
  const tooLarge = render({ history: [], sections: [{ name: "docs", content: words(5000), priority: 1 }] });
  await rejects(tooLarge, (error) => {
    ok(isProtocolError(error, "CannotFit"));
    ok(error.data.sections.some(({ tokens }) => tokens > 4000));
    return true;
  });
  await rejects(render({ history: [], input: { content: words(5000) } }), (error) => isProtocolError(error, "CannotFit"));
  const { plan } = await render({ history: [], sections: [{ name: "docs", content: "Docs.", priority: 1 }] });
  equal(plan.find(({ name }) => name === "docs")?.priority, 1);
  const sessionId = await editorsSession();
  const history = [1, 2, 3, 4].map((n) => ({ request: "Do.", rounds: [round(n, 700)] }));
  await rejects(render({ sessionId, history, summarize: "never" }), (error) => isProtocolError(error, "BudgetExceeded"));
});

test("flexGrow: ceilings of sections", async () => {
  const content = `It begins. ${words(500)}It ends.`;
  const at = (onOverflow?: "keep" | "shrink" | "drop") => {
    return render({ history: [], sections: [{ name: "docs", content, maxTokens: 100, ...(onOverflow && { onOverflow }) }] });
  };
  const [kept, shrunk, dropped] = [await at(), await at("shrink"), await at("drop")];
  equal(said(kept)[0]?.[1][0], content);
  deepEqual(kept.cuts, []);
  match(said(shrunk)[0]?.[1][0] ?? "", /^It begins\..*It ends\.$/s);
  ok((shrunk.plan.find(({ name }) => name === "docs")?.tokens ?? 0) <= 100);
  equal(shrunk.cuts[0]?.reason, "section");
  equal(shrunk.cuts[0]?.originalBytes, content.length);
  deepEqual(
    said(dropped).map(([role]) => role),
    ["user"],
  );
  equal(dropped.cuts[0]?.keptBytes, 0);
});

test("flexReserve: the limit leaves room for the answer", async () => {
  const limit = async (reservedOutput: number) => {
    await client.configure({ model: { name: "m", window: 20_000 }, reservedOutput });
    return (await render({ history: [] })).limit;
  };
  ok((await limit(4000)) < (await limit(1000)));
  await client.configure({ model: MODEL });
});

test("A limit on a tool's result: head and tail stay, the rest can be recalled", async () => {
  const sessionId = await editorsSession();
  const content = `It begins. ${words(900)}It ends.`;
  const long = { ...round(1, 0), results: [{ toolCallId: "c1", content }] };
  const rendered = await render({ sessionId, rounds: [long], maxToolResultTokens: 100 });
  const result = JSON.stringify(rendered.messages.at(-1)?.parts);
  ok(result.includes("It begins.") && result.includes("It ends.") && result.length < content.length);
  const ref = rendered.cuts.find(({ reason }) => reason === "shortened")?.ref ?? "";
  equal((await client.request("context/recall", { sessionId, ref })).text, content);
});

test("One prompt, before and after: the sidecar takes it as it stands", async () => {
  const page = readFileSync(fromPackage("coming-from-prompt-tsx.md"), "utf8");
  const [, code = ""] = /```ts\n(.*?)```/s.exec(page) ?? [];
  const names = ["client", "context", "sessionId", "workspaceFolder", "schema", "query", "requestId", "rounds", "model", "vscode"];
  const library = ["fromChatContext", "toLanguageModelMessages"];
  const run = new Function(...names, ...library, `return (async () => { ${code} return { rendered, messages }; })();`);
  const { fromChatContext, toLanguageModelMessages } = await import("../src/node.js");
  class Part {
    constructor(...given: unknown[]) {
      Object.assign(this, { given });
    }
  }
  const vscode = {
    LanguageModelTextPart: Part,
    LanguageModelToolCallPart: Part,
    LanguageModelToolResultPart: Part,
    LanguageModelChatMessage: { User: (parts: Part[]) => ({ user: parts }), Assistant: (parts: Part[]) => ({ assistant: parts }) },
  };
  const history = [{ prompt: "Before" }, { response: [{ value: { value: "Yes." } }], result: {} }];
  const made = (await run(
    client,
    { history },
    await editorsSession(),
    WORKSPACE,
    words(3000, "table"),
    "How many?",
    "r1",
    [round(1, 10)],
    { name: "m", maxInputTokens: 16_000 },
    vscode,
    fromChatContext,
    toLanguageModelMessages,
  )) as { rendered: PromptRenderResult; messages: object[] };
  deepEqual(
    made.messages.map((message) => Object.keys(message)[0]),
    ["user", "user", "user", "assistant", "user", "assistant", "user"],
  );
  equal(made.rendered.cuts[0]?.reason, "section");
});
