// The connection to one process: requests, notifications and handlers with the types of the protocol, in order. Framing and
// ids are vscode-jsonrpc's.

import {
  type CancellationToken,
  CancellationTokenSource,
  createMessageConnection,
  ErrorCodes,
  type MessageConnection,
  type MessageReader,
  type MessageWriter,
  ResponseError,
} from "vscode-jsonrpc";
import { ContextOverflow, type ErrorKind, ModelUnavailable, ProtocolError } from "./errors.js";
import type { ClientNotifications, ErrorData, SidecarNotifications, SidecarRequests } from "./protocol.js";
import { ERROR_CODES } from "./protocol.js";
import { wellFormedWriter } from "./well-formed.js";

/** Message streams of a process. */
export interface Streams {
  /** Messages from the process. */
  reader: MessageReader;
  /** Messages to the process. */
  writer: MessageWriter;
}

/** Answers a request of the sidecar. */
export type Answer<Method extends keyof SidecarRequests> = (
  params: SidecarRequests[Method]["params"],
  signal: AbortSignal,
) => Promise<SidecarRequests[Method]["result"]>;

/** Request handlers by method; requests without one fail with `MethodNotFound`. */
export type Answers = { [Method in keyof SidecarRequests]?: Answer<Method> };

/** Notifications of the Language Server Protocol that are used beside the protocol's own. */
export interface LspNotifications {
  initialized: { params: Record<string, never> };
  exit: { params: undefined };
  "workspace/didChangeConfiguration": { params: { settings: unknown } };
  "workspace/didChangeWorkspaceFolders": {
    params: { event: { added: WorkspaceFolder[]; removed: WorkspaceFolder[] } };
  };
}

/** A folder of the workspace. */
export interface WorkspaceFolder {
  /** Its address, such as `file:///code/parser`. */
  uri: string;
  /** Its name, for people. */
  name: string;
}

/** A message for the log. */
export interface LogMessage {
  /** 1: an error, 2: a warning, 3: information, 4: a log line, 5: for those who look for a defect. */
  type: number;
  /** The words. */
  message: string;
}

/** A report of long work. */
export interface Progress {
  /** Whose: the token that the request gave. */
  token: number | string;
  /** The report. */
  value: { kind: "begin" | "report" | "end"; title?: string; message?: string };
}

/** Everything that the sidecar says without being asked. */
export interface Told extends SidecarNotificationsTold {
  "window/logMessage": LogMessage;
  "$/progress": Progress;
}

type SidecarNotificationsTold = { [Method in keyof SidecarNotifications]: SidecarNotifications[Method]["params"] };

/** Notification handlers by method. */
export type Listening = { [Method in keyof Told]: (params: Told[Method]) => void };

/** The request was given up before it was sent, or the sidecar took it back. */
export function cancelled(method: string): ProtocolError<"Cancelled"> {
  return new ProtocolError(method, ERROR_CODES.Cancelled, `${method} was cancelled; nothing was done`, {
    kind: "Cancelled",
  });
}

/** Thrown where an answer can no longer come. Why is for whoever knows what became of the process. */
export class Unanswered extends Error {}

/** Is told that the other side said what is no message, or took none, and how that showed. */
export type OnBroken = (how: "unreadable" | "unheard", why: string) => void;

/** A conversation. */
export class Connection {
  readonly #rpc: MessageConnection;

  constructor(streams: Streams, answers: Answers, listening: Listening, onBroken: OnBroken) {
    this.#rpc = createMessageConnection(streams.reader, wellFormedWriter(streams.writer), QUIET);
    for (const method of Object.keys(answers) as (keyof SidecarRequests)[]) this.#answer(method, answers);
    for (const method of Object.keys(listening) as (keyof Told)[]) {
      this.#rpc.onNotification(method, listening[method] as (params: unknown) => void);
    }
    // What is not known came with a later version.
    this.#rpc.onUnhandledNotification(() => {});
    streams.reader.onError(({ message }) => onBroken("unreadable", message));
    streams.writer.onError(([{ message }]) => onBroken("unheard", message));
    this.#rpc.listen();
  }

  /** Asks for something. Aborting takes the request back; then it fails as `Cancelled`, unless it was done already. */
  async request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    if (signal?.aborted) throw cancelled(method);
    const source = new CancellationTokenSource();
    const cancel = () => source.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      const args = params === undefined ? [] : [params];
      return await this.#rpc.sendRequest<unknown>(method, ...args, source.token);
    } catch (error) {
      throw this.#read(method, error);
    } finally {
      signal?.removeEventListener("abort", cancel);
      source.dispose();
    }
  }

  /** Says something. It is over once the stream has taken it. */
  async notify<Method extends keyof (ClientNotifications & LspNotifications)>(
    method: Method,
    params: (ClientNotifications & LspNotifications)[Method]["params"],
  ): Promise<void> {
    try {
      await (params === undefined ? this.#rpc.sendNotification(method) : this.#rpc.sendNotification(method, params));
    } catch {
      throw new Unanswered(`the stream took no ${method}`);
    }
  }

  /** Ends the conversation: whoever waits for an answer is told that none comes. */
  dispose(): void {
    this.#rpc.dispose();
  }

  #answer<Method extends keyof SidecarRequests>(method: Method, answers: Answers): void {
    const answer = answers[method];
    if (answer === undefined) return;
    this.#rpc.onRequest(method, async (params: SidecarRequests[Method]["params"], token: CancellationToken) => {
      const abort = new AbortController();
      if (token.isCancellationRequested) abort.abort();
      const listening = token.onCancellationRequested(() => abort.abort());
      try {
        return await answer(params, abort.signal);
      } catch (error) {
        throw abort.signal.aborted ? new ResponseError(ERROR_CODES.Cancelled, "cancelled") : refusal(error);
      } finally {
        listening.dispose();
      }
    });
  }

  #read(method: string, error: unknown): Error {
    if (!(error instanceof ResponseError)) return new Unanswered(`no answer to ${method}`);
    if (OF_THE_STREAM.has(error.code)) return new Unanswered(error.message);
    return new ProtocolError(method, error.code, error.message, dataOf(error.data));
  }
}

/** Faults of the stream, which vscode-jsonrpc tells as errors of a response. */
const OF_THE_STREAM: ReadonlySet<number> = new Set([
  ErrorCodes.MessageWriteError,
  ErrorCodes.MessageReadError,
  ErrorCodes.PendingResponseRejected,
  ErrorCodes.ConnectionInactive,
]);

/** vscode-jsonrpc would log message contents to the console; errors report what matters. */
const QUIET = { error: () => {}, warn: () => {}, info: () => {}, log: () => {} };

function dataOf(data: unknown): Extract<ErrorData, { kind: ErrorKind }> | undefined {
  const has = typeof data === "object" && data !== null && typeof (data as { kind?: unknown }).kind === "string";
  return has ? (data as ErrorData) : undefined;
}

/** What a model's error tells programs. */
function detailsOf(error: unknown): object | undefined {
  if (error instanceof ContextOverflow) return { kind: "contextOverflow", limit: error.limit, needed: error.needed };
  if (error instanceof ModelUnavailable) return { kind: error.kind, retryAfterMs: error.retryAfterMs };
  return undefined;
}

/** The error of a handler as a JSON-RPC error. */
function refusal(error: unknown): ResponseError<unknown> {
  const message = error instanceof Error ? error.message : String(error);
  return new ResponseError(ErrorCodes.InternalError, message, detailsOf(error));
}
