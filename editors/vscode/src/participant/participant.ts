// @threadhold in the editor's own chat: a request of the editor becomes a turn whose loop runs here, and its result
// carries what the editor is to persist. The loop itself is loop.ts's, what is persisted metadata.ts's.

import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { isProtocolError, type Session, type SessionOpenParams } from "@threadhold/client";
import type { Backend } from "../backend.ts";
import type { Chat } from "../chat.ts";
import { configuration } from "../configuration.ts";
import { ask, type Models } from "../models.ts";
import { editorTools, runOfEditor } from "../tools/toolbox.ts";
import { sentence, wordsOf } from "../words.ts";
import { namedTools, variablesOf } from "./given.ts";
import { type Host, runTurn } from "./loop.ts";
import { persisted, sessionOf, turnsOf } from "./metadata.ts";

const ID = "threadhold.chat";

export class Participant {
  readonly #backend: Backend;
  readonly #chat: Chat;
  readonly #models: Models;
  readonly #log: vscode.LogOutputChannel;
  /** The newest turn of each session: the one before may still be ending when the next one begins. */
  readonly #turns = new Map<string, Promise<unknown>>();

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
    return [participant];
  }

  async #answer(
    request: vscode.ChatRequest,
    { history }: vscode.ChatContext,
    stream: vscode.ChatResponseStream,
    token: vscode.CancellationToken,
  ): Promise<vscode.ChatResult> {
    const sessionId = sessionOf(addressOf(request), history) ?? `chat-${randomUUID()}`;
    const before = this.#turns.get(sessionId);
    const turn = (async () => {
      await before?.catch(() => undefined);
      return this.#turn(sessionId, request, history, stream, token);
    })();
    this.#turns.set(sessionId, turn);
    try {
      return await turn;
    } catch (error) {
      this.#log.error(`@threadhold: ${wordsOf(error)}`);
      const { standing } = this.#backend;
      const title = standing.state === "none" ? `${standing.title} ` : "";
      return { errorDetails: { message: title + sentence(wordsOf(error)) } };
    } finally {
      if (this.#turns.get(sessionId) === turn) this.#turns.delete(sessionId);
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
    const variables = await variablesOf(request.references);
    const session = await this.#open(sessionId);
    const requestId = randomUUID();
    const compacted: string[] = [];
    const host: Host = {
      ask: (messages, tools, say, call) =>
        ask(request.model, { messages, tools }, signal, { say, call, changed: (what) => this.#log.debug(`@threadhold: ${what}`) }),
      run: (call) => runOfEditor(call, request.toolInvocationToken, signal),
      // What the user denied for the whole folder is not offered; about the rest the editor asks in the chat.
      tools: () => editorTools().filter(({ policy }) => policy !== "deny"),
      say: (text) => stream.markdown(text),
      progress: (message) => stream.progress(sentence(message).replace(/\.$/, "…")),
      compacted: (compactionId) => void compacted.push(compactionId),
      log: (message) => this.#log.info(`@threadhold: ${message}`),
    };
    try {
      const outcome = await this.#models.lend(request.model, ({ model }) =>
        runTurn(session, host, {
          requestId,
          content: request.command === undefined ? request.prompt : `/${request.command} ${request.prompt}`,
          variables,
          attachments: namedTools(request.toolReferences),
          sections: configuration().sections,
          history: turnsOf(history),
          model,
          roundLimit: session.view.snapshot.settings.roundLimit ?? Infinity,
          signal,
        }),
      );
      const { rounds, metadata, error, isAtLimit } = outcome;
      if (isAtLimit) stream.markdown(`\n\n*The agent used its tools ${rounds.length} times in a row. Say what it is to do next, such as* go on.`);
      // Below the answer: what stands above it is folded once it is there.
      for (const compactionId of compacted) stream.button(this.#compacted(session, compactionId));
      if (error !== undefined) this.#log.error(`@threadhold: ${wordsOf(error)}`);
      return {
        metadata: persisted({ sessionId, requestId, ...(variables.length > 0 && { variables }), rounds }, metadata),
        ...(error !== undefined && { errorDetails: { message: sentence(wordsOf(error)) } }),
      };
    } finally {
      end();
      await this.#close(session);
    }
  }

  /** Opens the session for writing, also where another window has it: the user goes on here. */
  async #open(sessionId: string): Promise<Session> {
    const { folder } = this.#chat;
    if (folder === undefined) throw new Error("No folder is open. A conversation belongs to a folder: open one, then ask.");
    const client = await this.#backend.client();
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
    try {
      return await client.openSession(params);
    } catch (error) {
      if (!isProtocolError(error, "SessionHeldElsewhere")) throw error;
      const followed = await client.openSession({ ...params, follow: true });
      await followed.request("session/takeOver", {});
      return client.openSession(params);
    }
  }

  async #close(session: Session): Promise<void> {
    if (this.#chat.session === session) return;
    // One that cannot be closed is open until the window ends, and no more.
    await session.close().catch((error: unknown) => this.#log.warn(`@threadhold: ${wordsOf(error)}`));
  }

  /** A button that says what a compaction did, and shows it in the panel. */
  #compacted(session: Session, compactionId: string): vscode.Command {
    const made = session.view.snapshot.compactions.find(({ id }) => id === compactionId);
    const figure = (count: number): string => count.toLocaleString("en-US");
    const size = made === undefined ? "" : `: ${figure(made.tokensBefore)} → ${figure(made.tokensAfter)} tokens`;
    return { command: "threadhold.showSession", title: `Compacted${size}`, arguments: [session.id] };
  }
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
