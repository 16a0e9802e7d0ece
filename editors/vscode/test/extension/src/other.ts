// A participant of another extension, as document 003 describes one: it keeps its rounds and its summaries in the metadata
// of its results. Its first request in a chat only writes such metadata; later ones have a prompt made of it by the client
// library, with a sidecar of its own, and ask the model with that.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, toLanguageModelMessages } from "@threadhold/client";
import { sidecar } from "@threadhold/client/node";
import * as vscode from "vscode";
import { turnsOf } from "../../../src/participant/metadata.ts";

const ROUNDS = {
  toolCallRounds: [
    {
      id: "other-1",
      response: "I look.",
      toolInputRetry: 0,
      toolCalls: [{ id: "o1", name: "probe_read", arguments: '{"path":"one.rs"}' }],
    },
    { id: "other-2", response: "I looked at it.", toolInputRetry: 0, toolCalls: [] },
  ],
  toolCallResults: { o1: { content: [{ value: "the words of another tool" }] } },
};

/** Metadata that each request stores, in order: all shapes there are. */
const SHAPES: object[] = [
  { ...ROUNDS, summary: { toolCallRoundId: "other-1", text: "SUMMARY OF ANOTHER EXTENSION" } },
  { summaries: [{ toolCallRoundId: "", text: "" }] },
  { summary: { toolCallRoundId: "previous", text: "NEWER SUMMARY OF ANOTHER EXTENSION" } },
];

export async function answerAsOther(
  request: vscode.ChatRequest,
  { history }: vscode.ChatContext,
  stream: vscode.ChatResponseStream,
  token: vscode.CancellationToken,
): Promise<vscode.ChatResult> {
  const metadata = SHAPES[history.length / 2] ?? {};
  if (history.length === 0) {
    stream.markdown("I looked at it.");
    return { metadata };
  }
  const storage = mkdtempSync(join(tmpdir(), "threadhold-other-"));
  const client = await Client.start({
    launch: sidecar({ command: process.env["THREADHOLD_BIN"] ?? "" }),
    client: { name: "other" },
    storage: { path: storage },
  });
  try {
    const { messages } = await client.request("prompt/render", {
      history: turnsOf(history),
      input: { content: request.prompt },
      model: { window: request.model.maxInputTokens },
    });
    const asked = toLanguageModelMessages(messages, vscode);
    const answer = await request.model.sendRequest(asked.messages, {}, token);
    for await (const said of answer.text) stream.markdown(said);
  } finally {
    await client.dispose();
    rmSync(storage, { recursive: true, force: true });
  }
  return { metadata };
}
