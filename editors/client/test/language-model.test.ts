// Rendered prompts as messages for an editor's own model. The prompts are the real sidecar's; the editor's classes are
// stand-ins of the same shape.

import { deepEqual, equal, ok } from "node:assert/strict";
import test from "node:test";
import { type ModelCompleteParams, type PromptMessage, toLanguageModelMessages } from "../src/node.js";
import { shows, startClient, WORKSPACE } from "./support/client.js";

class TextPart {
  constructor(readonly value: string) {}
}
class ToolCallPart {
  constructor(
    readonly callId: string,
    readonly name: string,
    readonly input: object,
  ) {}
}
class ToolResultPart {
  constructor(
    readonly callId: string,
    readonly content: unknown[],
  ) {}
}
class DataPart {
  constructor(
    readonly data: Uint8Array,
    readonly mimeType: string,
  ) {}
  static image(data: Uint8Array, mimeType: string): DataPart {
    return new DataPart(data, mimeType);
  }
}
class ChatMessage {
  constructor(
    readonly role: "user" | "assistant",
    readonly content: unknown[],
  ) {}
  static User(content: unknown[]): ChatMessage {
    return new ChatMessage("user", content);
  }
  static Assistant(content: unknown[]): ChatMessage {
    return new ChatMessage("assistant", content);
  }
}

const older = {
  LanguageModelTextPart: TextPart,
  LanguageModelToolCallPart: ToolCallPart,
  LanguageModelToolResultPart: ToolResultPart,
  LanguageModelChatMessage: ChatMessage,
};
const newer = { ...older, LanguageModelDataPart: DataPart };

const PIXEL = Buffer.from("a picture").toString("base64");

/** The prompts of a turn with calls side by side, thinking, files and a picture. */
async function prompts(roles?: string[]): Promise<ModelCompleteParams[]> {
  const asked: ModelCompleteParams[] = [];
  const client = await startClient({
    settings: { model: { name: "m", window: 100_000, ...(roles && { roles }) } },
    handlers: {
      modelComplete: async (request, stream) => {
        asked.push(request);
        if (asked.length > 1) return "Done.";
        stream.think("Two files.");
        stream.say("I look.");
        const call = (id: string, given: string) => ({ id, name: "read", arguments: given });
        stream.send({ op: "setToolCalls", toolCalls: [call("c1", `{"path":"a"}`), call("c2", "{broken")] });
        return;
      },
      // Arguments that are no JSON are asked about.
      requestPermission: async ({ reasons }) => ({
        decisions: reasons.map(({ toolCallId }) => ({ toolCallId, decision: "allowOnce" as const })),
      }),
      toolInvoke: async ({ toolCallId }) => {
        if (toolCallId === "c2") return "no";
        return {
          content: [
            { type: "text", text: "A" },
            { type: "image", mimeType: "image/png", data: PIXEL },
          ],
        };
      },
    },
  });
  const session = await client.openSession({
    workspaceFolder: WORKSPACE,
    tools: [{ name: "read" }],
    sections: [
      { name: "identity", content: "You are careful." },
      { name: "rules", content: "Be brief." },
    ],
  });
  await session.ask(
    [
      { type: "text", text: "Look." },
      { type: "image", mimeType: "image/png", data: PIXEL },
    ],
    { contextFiles: [{ path: 'a "b".md', text: "Notes </context-file>" }] },
  );
  await shows(session, "the end", ({ snapshot }) => snapshot.turns.at(-1)?.status === "completed");
  return asked;
}

test("system text, calls and results as the editor's parts", async () => {
  const second = (await prompts())[1]?.messages ?? [];
  const { messages, changed } = toLanguageModelMessages(second, newer);
  const [first, answer, results] = messages;
  deepEqual(
    messages.map(({ role }) => role),
    ["user", "assistant", "user"],
  );
  deepEqual(first?.content.slice(0, 2), [new TextPart("You are careful."), new TextPart("Be brief.")]);
  ok(first?.content.some((part) => part instanceof TextPart && part.value === "Look."));
  ok(first?.content.some((part) => part instanceof DataPart && Buffer.from(part.data).toString() === "a picture"));
  const file = first?.content.find((part) => part instanceof TextPart && part.value.startsWith("<context-file"));
  deepEqual(file, new TextPart(`<context-file path="a 'b'.md">\nNotes &lt;/context-file>\n</context-file>`));
  deepEqual(answer?.content, [
    new TextPart("I look."),
    new ToolCallPart("c1", "read", { path: "a" }),
    new ToolCallPart("c2", "read", { unreadable: "{broken" }),
  ]);
  const [one, two] = (results?.content ?? []) as ToolResultPart[];
  deepEqual([one?.callId, two?.callId], ["c1", "c2"]);
  ok(one?.content[1] instanceof DataPart);
  deepEqual(two?.content, [new TextPart("no")]);
  deepEqual(changed.map((said) => said.split(" ")[0]).sort(), ["arguments", "reasoning", "system"]);
});

test("an editor without pictures is told what they were", async () => {
  const { messages, changed } = toLanguageModelMessages((await prompts())[0]?.messages ?? [], older);
  ok(messages[0]?.content.some((part) => part instanceof TextPart && part.value === "[picture, image/png]"));
  ok(changed.includes("an image is only named: the editor accepts none"));
});

test("a prompt for a model of two roles says the same", async () => {
  const [, given] = await prompts(["user", "assistant"]);
  ok(given?.messages.every(({ role }) => role === "user" || role === "assistant"));
  const { messages, changed } = toLanguageModelMessages(given?.messages ?? [], newer);
  deepEqual(
    messages.map(({ role }) => role),
    ["user", "user", "assistant", "user"],
  );
  deepEqual(messages[0]?.content, [new TextPart("You are careful."), new TextPart("Be brief.")]);
  deepEqual(
    ((messages[3]?.content ?? []) as ToolResultPart[]).map(({ callId }) => callId),
    ["c1", "c2"],
  );
  ok(!changed.some((said) => said.startsWith("system")));
});

test("prompts at the edges", () => {
  const text = (value: string) => [{ type: "text" as const, text: value }];
  const made = (...messages: PromptMessage[]) => toLanguageModelMessages(messages, older);
  deepEqual(made(), { messages: [], changed: [] });
  deepEqual(made({ role: "system", parts: text("S") }).messages, [new ChatMessage("user", [new TextPart("S")])]);
  const begun = made({ role: "system", parts: text("S") }, { role: "assistant", parts: text("A") });
  deepEqual(
    begun.messages.map(({ role }) => role),
    ["user", "assistant"],
  );
  const thought = made({ role: "assistant", parts: [{ type: "reasoning", text: "hm" }] });
  deepEqual(thought.messages, []);
  equal(thought.changed.length, 1);
  const later = made({ role: "user", parts: [{ type: "hologram" } as never] });
  deepEqual(later.changed, ["a part of type hologram is left out"]);
  const empty = made({ role: "tool", parts: [{ type: "toolResult", toolCallId: "c", content: [] }] });
  deepEqual(empty.messages, [new ChatMessage("user", [new ToolResultPart("c", [new TextPart("")])])]);
  const address = toLanguageModelMessages(
    [{ role: "user", parts: [{ type: "image", mimeType: "image/png", data: "https://example.com/a.png" }] }],
    newer,
  );
  deepEqual(address.changed, ["an image is only named: it is a URL"]);
});
