// An editor's chat without the editor: its history as the editor keeps it (no tool calls, metadata as JSON), a scripted
// model, a tool, the real sidecar behind. What is asked and what must come of it is the tests'.

import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import {
  type ChatRequestLike,
  type ChatResponseLike,
  Client,
  type ContextCompactResult,
  ContextOverflow,
  type Model,
  type PromptMessage,
  type Settings,
  type Tool,
  type Turn,
  type Variable,
} from "@threadhold/client";
import { sidecar } from "@threadhold/client/node";
import { compactNow } from "../../../src/participant/compact.ts";
import { type Outcome, runTurn } from "../../../src/participant/loop.ts";
import { COMPACT, persisted, sessionOf, turnsOf } from "../../../src/participant/metadata.ts";
import { errorText } from "../../../src/shared/text.ts";

export const BINARY = process.env["THREADHOLD_BIN"] ?? "";
process.env["THREADHOLD_CONFIG"] = "";

export interface Answer {
  say?: string;
  /** A call of the tool `read`, by its id. */
  read?: string;
  /** Rejects its prompt as too large. */
  overflows?: true;
  /** Never ends by itself; the user stops it. */
  hangs?: true;
}

/** A request to the model. */
export interface Asked {
  messages: readonly PromptMessage[];
  tools: string[];
}

export function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "threadhold-participant-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export const SUMMARY = ["Goal", "Decisions", "State", "Next steps", "Open questions"].map((name) => `## ${name}\nNone.`).join("\n");

export class Window {
  readonly folder = emptyFolder();
  storage = emptyFolder();
  /** As the editor has it, request and response by turns. */
  history: (ChatRequestLike | ChatResponseLike)[] = [];
  readonly asked: Asked[] = [];
  readonly summed: Asked[] = [];
  readonly ran: string[] = [];
  readonly progress: string[] = [];
  readonly log: string[] = [];
  compacted = 0;
  answers: Answer[] = [];
  /** Answer to a request for a summary; fails if undefined. */
  summary: (() => string) | undefined = () => `<summary>\n${SUMMARY}\n</summary>`;
  /** Result of the tool. */
  result = (id: string): string => `${id} ${"word ".repeat(900)}`;
  /** Attachments of the next request. */
  given: Variable[] = [];
  tools = ["read"];
  model: Model = { name: "m", window: 4_000, wire: "editor", roles: ["user", "assistant"], toolChoiceNone: false };
  settings: Settings = { limitHistory: "off", triggers: { background: false, preTurnTokens: false } };
  address: string | undefined = "vscode-chat-session://local/abc";
  roundLimit = 64;
  abort = new AbortController();
  #client: Promise<Client> | undefined;

  client(): Promise<Client> {
    this.#client ??= Client.start({
      launch: sidecar({ command: BINARY }),
      client: { name: "test" },
      storage: { path: this.storage },
      settings: this.settings,
      restart: { firstDelayMs: 1, mostDelayMs: 10 },
      handlers: {
        modelComplete: async ({ messages, tools }) => {
          this.summed.push({ messages, tools: tools.map(({ name }) => name) });
          if (this.summary === undefined) throw new Error("no model for summaries");
          return this.summary();
        },
      },
    });
    return this.#client;
  }

  /** Ends the sidecar, as when the editor quits. */
  async quit(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await (await client)?.dispose();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.quit();
  }

  /** The session that the next request would be in. */
  get sessionId(): string {
    return sessionOf(this.address, this.history) ?? "";
  }

  /** A request, to its end; what was answered is in the history then. */
  async ask(prompt: string, ...answers: Answer[]): Promise<Outcome> {
    this.answers = answers;
    const sessionId = this.sessionId || `chat-${randomUUID()}`;
    const client = await this.client();
    const session = await client.openSession({ workspaceFolder: this.folder, sessionId, driver: "editor", snapshotMessages: 1 });
    const requestId = randomUUID();
    let said = "";
    const outcome = await runTurn(
      session,
      {
        ask: async (messages, tools, say, call) => {
          this.asked.push({ messages: structuredClone(messages), tools: tools.map(({ name }) => name) });
          const answer = this.answers.shift() ?? { say: "Nothing more." };
          if (answer.overflows) throw new ContextOverflow();
          if (answer.say !== undefined) say(answer.say);
          if (answer.hangs) {
            setImmediate(() => this.abort.abort());
            await new Promise(() => undefined);
          }
          if (answer.read !== undefined) call({ id: answer.read, name: "read", arguments: `{"path":"${answer.read}"}` });
        },
        run: async ({ id }) => {
          this.ran.push(id);
          return { content: this.result(id) };
        },
        tools: () =>
          this.tools.map(
            (name): Tool => ({
              name,
              kind: "read",
              description: "Shows a file.",
              inputSchema: { type: "object", properties: { path: { type: "string" } } },
            }),
          ),
        say: (text) => (said += text),
        progress: (message) => this.progress.push(message),
        compacted: () => (this.compacted += 1),
        log: (message) => this.log.push(message),
      },
      {
        requestId,
        content: prompt,
        variables: this.given,
        attachments: [],
        sections: [],
        history: this.turns,
        model: this.model,
        roundLimit: this.roundLimit,
        signal: this.abort.signal,
      },
    );
    const metadata = persisted(
      { sessionId, requestId, ...(this.given.length > 0 && { variables: this.given }), rounds: outcome.rounds },
      outcome.metadata,
    );
    // The editor keeps no metadata of a request that the user stopped.
    const result = outcome.status === "cancelled" ? {} : { metadata: asOnDisk(metadata) };
    this.history.push({ prompt, references: [] }, { response: [{ value: { value: said } }], result });
    await session.close();
    if (outcome.error !== undefined) this.log.push(errorText(outcome.error));
    return outcome;
  }

  /** A request that only compacts; in the history it stands as one of the user's. */
  async compact(focus: string): Promise<ContextCompactResult> {
    const { sessionId } = this;
    const client = await this.client();
    const session = await client.openSession({ workspaceFolder: this.folder, sessionId, driver: "editor", snapshotMessages: 1 });
    const made = await compactNow(session, {
      history: this.turns,
      model: this.model,
      focus,
      signal: this.abort.signal,
      onProgress: (message) => this.progress.push(message),
    });
    const metadata = persisted({ sessionId, requestId: randomUUID() }, made.metadata ?? {});
    this.history.push(
      { prompt: focus, command: COMPACT, references: [] },
      { response: [{ value: { value: "Compacted" } }], result: { metadata: asOnDisk(metadata) } },
    );
    await session.close();
    return made;
  }

  get turns(): Turn[] {
    return turnsOf(this.history);
  }

  /** Prompt of the last request. */
  get prompt(): readonly PromptMessage[] {
    return this.asked.at(-1)?.messages ?? [];
  }

  /** The metadata of a turn as the editor has it. */
  metadata(turn: number): { summary?: object; summaries?: { toolCallRoundId?: string; text?: string }[] } {
    const response = this.history[turn * 2 + 1] as ChatResponseLike;
    return response.result?.metadata ?? {};
  }
}

/** Metadata after the editor stored and reloaded it. */
function asOnDisk<Of>(value: Of): Of {
  return JSON.parse(JSON.stringify(value)) as Of;
}

/** A prompt without the marks for caches, which say nothing to a model. */
export function said(messages: readonly PromptMessage[]): { role: string; parts: unknown[] }[] {
  return messages.map(({ role, parts }) => ({ role, parts: [...parts] }));
}

/** An answer in a prompt, and the next request. */
export const text = (role: "user" | "assistant", words: string) => ({ role, parts: [{ type: "text", text: words }] });
