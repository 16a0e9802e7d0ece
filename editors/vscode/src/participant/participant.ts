// @threadhold in the editor's own chat: a request of the editor becomes a turn whose loop runs here, and its result
// carries what the editor is to persist. The loop itself is loop.ts's, what is persisted metadata.ts's.

import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import type { Session, SessionOpenParams, Turn } from "@threadhold/client";
import type { Backend } from "../backend.ts";
import type { Chat } from "../chat.ts";
import { configuration } from "../configuration.ts";
import { InTurn } from "../in-turn.ts";
import { ask, type Models } from "../models.ts";
import { editorTools, runOfEditor } from "../tools/toolbox.ts";
import { sentence, wordsOf } from "../words.ts";
import { compactNow } from "./compact.ts";
import { given, namedTools } from "./given.ts";
import { openForWriting } from "./held.ts";
import { compactionLink } from "./links.ts";
import { type Host, runTurn } from "./loop.ts";
import { COMPACT, persisted, sessionOf, turnsOf } from "./metadata.ts";

const ID = "threadhold.chat";
/** The command behind *Do not wait*: its argument is the session. */
const GO_ON = "threadhold.doNotWait";

/** A request of the editor's chat. */
interface Asked {
  request: vscode.ChatRequest;
  /** The turns before it. */
  history: Turn[];
  stream: vscode.ChatResponseStream;
  signal: AbortSignal;
}

export class Participant {
  readonly #backend: Backend;
  readonly #chat: Chat;
  readonly #models: Models;
  readonly #log: vscode.LogOutputChannel;
  /** Turns by their sessions: the one before may still be ending when the next one begins. */
  readonly #turns = new InTurn();
  /** Requests that wait for another window, by their sessions. */
  readonly #waiting = new Map<string, () => void>();

  constructor(backend: Backend, chat: Chat, models: Models, log: vscode.LogOutputChannel) {
    this.#backend = backend;
    this.#chat = chat;
    this.#models = models;
    this.#log = log;
  }

  /** Registers it; nothing where the editor has no chat. */
  register(icon: vscode.Uri): vscode.Disposable[] {
    if (typeof vscode.chat?.createChatParticipant !== "function") return [];
    const participant = vscode.chat.createChatParticipant(ID, (request, context, stream, token) =>
      this.#answer(request, context, stream, token),
    );
    participant.iconPath = icon;
    return [participant, vscode.commands.registerCommand(GO_ON, (sessionId: string) => this.#waiting.get(sessionId)?.())];
  }

  /** Whether a request of the editor's chat is answered in a session, or waits for it. */
  isAnswering(sessionId: string): boolean {
    return this.#turns.has(sessionId);
  }

  async #answer(
    request: vscode.ChatRequest,
    { history }: vscode.ChatContext,
    stream: vscode.ChatResponseStream,
    token: vscode.CancellationToken,
  ): Promise<vscode.ChatResult> {
    const sessionId = sessionOf(addressOf(request), history) ?? `chat-${randomUUID()}`;
    try {
      return await this.#turns.run(sessionId, () => this.#turn(sessionId, request, history, stream, token));
    } catch (error) {
      this.#log.error(`@threadhold: ${wordsOf(error)}`);
      const { standing } = this.#backend;
      const title = standing.state === "none" ? `${standing.title} ` : "";
      return { errorDetails: { message: title + sentence(wordsOf(error)) } };
    }
  }

  async #turn(
    sessionId: string,
    request: vscode.ChatRequest,
    history: vscode.ChatContext["history"],
    stream: vscode.ChatResponseStream,
    token: vscode.CancellationToken,
  ): Promise<vscode.ChatResult> {
    const { signal, end } = signalOf(token);
    const asked: Asked = { request, history: turnsOf(history), stream, signal };
    try {
      const session = await this.#open(sessionId, asked);
      try {
        return await (request.command === COMPACT ? this.#compact(session, asked) : this.#converse(session, asked));
      } finally {
        await this.#close(session);
      }
    } finally {
      end();
    }
  }

  /** A turn, as the user asked for it. */
  async #converse(session: Session, { request, history, stream, signal }: Asked): Promise<vscode.ChatResult> {
    const { variables, left } = await given(request.references);
    for (const why of left) stream.markdown(`*${why}*\n\n`);
    const requestId = randomUUID();
    // What the user names in a request is ticked for it.
    const named = new Set(request.toolReferences.map(({ name }) => name));
    const compacted: string[] = [];
    const host: Host = {
      ask: (messages, tools, say, call) =>
        ask(request.model, { messages, tools }, signal, { say, call, changed: (what) => this.#log.debug(`@threadhold: ${what}`) }),
      run: (call) => runOfEditor(call, request.toolInvocationToken, signal, named),
      // What the user denied for the whole folder is not offered; about the rest the editor asks in the chat.
      tools: () => editorTools(named).filter(({ policy }) => policy !== "deny"),
      say: (text) => stream.markdown(text),
      progress: (message) => stream.progress(progressOf(message)),
      compacted: (compactionId) => void compacted.push(compactionId),
      log: (message) => this.#log.info(`@threadhold: ${message}`),
    };
    const outcome = await this.#models.lend(request.model, ({ model }) =>
      runTurn(session, host, {
        requestId,
        content: request.command === undefined ? request.prompt : `/${request.command} ${request.prompt}`,
        variables,
        attachments: namedTools(request.toolReferences),
        sections: configuration().sections,
        history,
        model,
        roundLimit: session.view.snapshot.settings.roundLimit ?? Infinity,
        signal,
      }),
    );
    const { rounds, metadata, error, isAtLimit } = outcome;
    if (isAtLimit) stream.markdown(`\n\n*The agent used its tools ${rounds.length} times in a row. Say what it is to do next, such as* go on.`);
    // Below the answer: what stands above it is folded once it is there.
    for (const compactionId of compacted) stream.markdown(compactionLink(session, compactionId));
    if (error !== undefined) this.#log.error(`@threadhold: ${wordsOf(error)}`);
    return {
      metadata: persisted({ sessionId: session.id, requestId, ...(variables.length > 0 && { variables }), rounds }, metadata),
      ...(error !== undefined && { errorDetails: { message: sentence(wordsOf(error)) } }),
    };
  }

  /** Compacts now; what the user says beside it is what the summary must not lose. */
  async #compact(session: Session, { request, history, stream, signal }: Asked): Promise<vscode.ChatResult> {
    const { compaction, metadata = {}, reason } = await this.#models.lend(request.model, ({ model }) =>
      compactNow(session, {
        history,
        model,
        focus: request.prompt.trim(),
        signal,
        onProgress: (message) => stream.progress(progressOf(message)),
      }),
    );
    if (compaction === undefined) stream.markdown(`Nothing was compacted: ${reason ?? "there is nothing to gain"}.`);
    else stream.markdown(compactionLink(session, compaction.id));
    return { metadata: persisted({ sessionId: session.id, requestId: randomUUID() }, metadata) };
  }

  /** Opens the session for writing, also where another window has it: the user goes on here. */
  async #open(sessionId: string, { stream, signal }: Asked): Promise<Session> {
    const { folder } = this.#chat;
    if (folder === undefined) throw new Error("No folder is open. A conversation belongs to a folder: open one, then ask.");
    const client = await this.#backend.client();
    await this.#chat.closed(sessionId);
    const known = client.sessions.get(sessionId);
    if (known?.freshness === "live" && known.view.snapshot.heldBy === undefined) return known;
    const { instructionFiles = ["AGENTS.md"] } = configuration().settings;
    const params: SessionOpenParams = {
      workspaceFolder: folder.uri.fsPath,
      sessionId,
      driver: "editor",
      settings: { instructionFiles },
      // The editor shows the conversation; only the panel shows it from here.
      ...(known === undefined && { snapshotMessages: 1 }),
    };
    const begin = (): Promise<void> => {
      stream.progress("Another window answers in this conversation. This one goes on when that answer is there…");
      stream.button({ command: GO_ON, title: "Do not wait: stop it there", arguments: [sessionId] });
      return new Promise((done) => this.#waiting.set(sessionId, done));
    };
    try {
      return await openForWriting(client, params, { begin, signal });
    } finally {
      this.#waiting.delete(sessionId);
    }
  }

  async #close(session: Session): Promise<void> {
    if (this.#chat.isShown(session)) return;
    // One that cannot be closed is open until the window ends, and no more.
    await session.close().catch((error: unknown) => this.#log.warn(`@threadhold: ${wordsOf(error)}`));
  }
}

/** What goes on, as the editor shows it. */
function progressOf(message: string): string {
  return sentence(message).replace(/\.$/, "…");
}

/** The editor's address of the chat, where this version tells one. */
function addressOf(request: vscode.ChatRequest): string | undefined {
  const { sessionResource } = request as { sessionResource?: unknown };
  return sessionResource instanceof vscode.Uri ? sessionResource.toString() : undefined;
}

/** A signal that follows a token of the editor. */
function signalOf(token: vscode.CancellationToken): { signal: AbortSignal; end: () => void } {
  const abort = new AbortController();
  if (token.isCancellationRequested) abort.abort();
  const listening = token.onCancellationRequested(() => abort.abort());
  return { signal: abort.signal, end: () => listening.dispose() };
}
