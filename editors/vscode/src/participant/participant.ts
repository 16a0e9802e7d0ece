// @threadhold in the editor's own chat: a request of the editor becomes a turn whose loop runs here.

import { randomUUID } from "node:crypto";
import type { Session, SessionOpenParams, Turn } from "@threadhold/client";
import * as vscode from "vscode";
import { configuration } from "../configuration.ts";
import { ask, type Models } from "../models/models.ts";
import { counted } from "../panel/compaction-row.ts";
import type { Backend } from "../session/backend.ts";
import type { Chat } from "../session/chat.ts";
import { KeyedQueue } from "../shared/keyed-queue.ts";
import { errorText, sentence } from "../shared/text.ts";
import { editorTools, runOfEditor } from "../tools/toolbox.ts";
import { compactNow } from "./compact.ts";
import { compactionLink } from "./compaction-link.ts";
import { type Host, runTurn } from "./loop.ts";
import { COMPACT, persisted, sessionOf, turnsOf } from "./metadata.ts";
import { namedTools, readReferences } from "./references.ts";
import { openForWriting } from "./take-over.ts";

const ID = "threadhold.chat";
/** The command behind *Do not wait*: its argument is the session. */
const STOP_WAITING = "threadhold.doNotWait";

/** A request of the editor's chat. */
interface ChatTurn {
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
  readonly #turns = new KeyedQueue();
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
    return [participant, vscode.commands.registerCommand(STOP_WAITING, (sessionId: string) => this.#waiting.get(sessionId)?.())];
  }

  /** True if a request of the editor's chat is answered in a session, or waits for it. */
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
      this.#log.error(`@threadhold: ${errorText(error)}`);
      const { standing } = this.#backend;
      const title = standing.state === "none" ? `${standing.title} ` : "";
      return { errorDetails: { message: title + sentence(errorText(error)) } };
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
    const asked: ChatTurn = { request, history: turnsOf(history), stream, signal };
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
  async #converse(session: Session, { request, history, stream, signal }: ChatTurn): Promise<vscode.ChatResult> {
    const { variables, left } = await readReferences(request.references);
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
    if (isAtLimit)
      stream.markdown(`\n\n*The agent reached the limit of ${counted(rounds.length, "tool round")}. To let it proceed, send:* continue.`);
    // Below the answer: what stands above it is folded once it is there.
    for (const compactionId of compacted) stream.markdown(compactionLink(session, compactionId));
    if (error !== undefined) this.#log.error(`@threadhold: ${errorText(error)}`);
    return {
      metadata: persisted({ sessionId: session.id, requestId, ...(variables.length > 0 && { variables }), rounds }, metadata),
      ...(error !== undefined && { errorDetails: { message: sentence(errorText(error)) } }),
    };
  }

  /** Compacts now; what the user says beside it is what the summary must not lose. */
  async #compact(session: Session, { request, history, stream, signal }: ChatTurn): Promise<vscode.ChatResult> {
    const {
      compaction,
      metadata = {},
      reason,
    } = await this.#models.lend(request.model, ({ model }) =>
      compactNow(session, {
        history,
        model,
        focus: request.prompt.trim(),
        signal,
        onProgress: (message) => stream.progress(progressOf(message)),
      }),
    );
    if (compaction === undefined) stream.markdown(`Nothing was compacted: ${reason ?? "it would save no tokens"}.`);
    else stream.markdown(compactionLink(session, compaction.id));
    return { metadata: persisted({ sessionId: session.id, requestId: randomUUID() }, metadata) };
  }

  /** Opens the session for writing, also where another window has it: the user goes on here. */
  async #open(sessionId: string, { stream, signal }: ChatTurn): Promise<Session> {
    const { folder } = this.#chat;
    if (folder === undefined) throw new Error("No folder is open. Sessions belong to a folder: open a folder, then ask again.");
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
      stream.progress("Another window is answering in this session. Waiting for it to finish…");
      stream.button({ command: STOP_WAITING, title: "Stop It and Continue Here", arguments: [sessionId] });
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
    await session.close().catch((error: unknown) => this.#log.warn(`@threadhold: ${errorText(error)}`));
  }
}

/** A progress message in the form that the editor shows. */
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
