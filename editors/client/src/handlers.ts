// An editor's answers to requests of the sidecar: its model, its tools, its user. Each handler is a plain async function
// with an AbortSignal that fires when the answer is no longer wanted.

import type { Answers } from "./connection.js";
import type {
  Arguments,
  ClientCapabilities,
  CompactionReviewParams,
  CompactionReviewResult,
  DeltaOp,
  McpElicitParams,
  McpElicitResult,
  ModelCompleteParams,
  ModelCompleteResult,
  ModelCountTokensParams,
  ModelCountTokensResult,
  RequestPermissionParams,
  RequestPermissionResult,
  ToolInvokeParams,
  ToolInvokeResult,
} from "./protocol.js";

/**
 * Requests of the sidecar that an editor can answer, by the protocol's capability. One without a handler is never sent.
 * Whatever is thrown is told to the sidecar in the words of the error; a model throws `ContextOverflow` where its prompt
 * is too large, and `ModelUnavailable` where asking again may help.
 */
export interface Handlers {
  /**
   * Asks the editor's model. Stream with `stream`, or give the whole answer back: a text, or a result with calls. What
   * was streamed need not be given back.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler that only streams returns nothing.
  modelComplete?(request: ModelCompleteParams, stream: ModelStream, signal: AbortSignal): Promise<ModelCompleteResult | string | void>;

  /**
   * Runs a tool of the editor. A text is its result; `{pending: true}` says that it comes with `tool/result`. What is
   * thrown reaches the model as a tool that could not be run.
   */
  toolInvoke?(call: ToolInvokeParams, signal: AbortSignal): Promise<ToolInvokeResult | string>;

  /** Asks the user about calls. Without an answer, null, the session stays paused until `tool/decide`. */
  requestPermission?(request: RequestPermissionParams, signal: AbortSignal): Promise<RequestPermissionResult | null>;

  /** Asks the user about a compaction before it holds. Null: no answer. */
  compactionReview?(request: CompactionReviewParams, signal: AbortSignal): Promise<CompactionReviewResult | null>;

  /** Asks the user what a tool server wants to know. Null declines. */
  elicit?(request: McpElicitParams, signal: AbortSignal): Promise<McpElicitResult | null>;

  /** Counts texts as the editor's model does. */
  countTokens?(request: ModelCountTokensParams, signal: AbortSignal): Promise<ModelCountTokensResult>;
}

/** Client capabilities for these handlers. */
export function capabilitiesOf(handlers: Handlers): ClientCapabilities {
  return {
    modelComplete: handlers.modelComplete !== undefined,
    countTokens: handlers.countTokens !== undefined,
    toolInvoke: handlers.toolInvoke !== undefined,
    requestPermission: handlers.requestPermission !== undefined,
    compactionReview: handlers.compactionReview !== undefined,
    elicit: handlers.elicit !== undefined,
  };
}

/** Sends the operations of an answer; over once the stream has taken them. */
export type SendDelta = (requestId: string, ops: DeltaOp[]) => Promise<void>;

/** The handlers as a connection asks them. */
export function answersOf(handlers: Handlers, send: SendDelta): Answers {
  const { modelComplete, toolInvoke, requestPermission, compactionReview, elicit, countTokens } = handlers;
  return {
    ...(modelComplete && {
      "model/complete": async (request, signal) => {
        const stream = new ModelStream((ops) => send(request.requestId, ops));
        const answer = await modelComplete.call(handlers, request, stream, signal);
        await stream.flushed();
        return typeof answer === "string" ? { content: answer } : (answer ?? {});
      },
    }),
    ...(toolInvoke && {
      "tool/invoke": async (call, signal) => {
        const result = await toolInvoke.call(handlers, call, signal);
        return typeof result === "string" ? { content: result } : result;
      },
    }),
    ...(requestPermission && { "tool/requestPermission": requestPermission.bind(handlers) }),
    ...(compactionReview && { "compaction/review": compactionReview.bind(handlers) }),
    ...(elicit && { "mcp/elicit": elicit.bind(handlers) }),
    ...(countTokens && { "model/countTokens": countTokens.bind(handlers) }),
  };
}

/**
 * An answer of the editor's model as it is given. Whatever is said while the stream is busy goes out together, so a fast
 * model costs few messages.
 */
export class ModelStream {
  #waiting: DeltaOp[] = [];
  #writing: Promise<void> | undefined;

  constructor(private readonly write: (ops: DeltaOp[]) => Promise<void>) {}

  /** Text goes on. */
  say(text: string): void {
    this.send({ op: "appendContent", text });
  }

  /** Thinking goes on. */
  think(text: string): void {
    this.send({ op: "appendReasoning", text });
  }

  /** Any operation of the protocol. */
  send(...ops: DeltaOp[]): void {
    for (const op of ops) this.#take(op);
    this.#writing ??= this.#drain();
  }

  /** Waits until all that was said is written. A slow sidecar makes it wait: so a fast source can be held back. */
  async flushed(): Promise<void> {
    await this.#writing;
  }

  #take(op: DeltaOp): void {
    const last = this.#waiting.at(-1);
    const goesOn = op.op === "appendContent" || op.op === "appendReasoning";
    if (goesOn && last?.op === op.op) this.#waiting[this.#waiting.length - 1] = { ...op, text: last.text + op.text };
    else this.#waiting.push(op);
  }

  async #drain(): Promise<void> {
    // Those of one step of the caller go together too.
    await Promise.resolve();
    try {
      while (this.#waiting.length > 0) await this.write(this.#waiting.splice(0));
    } catch {
      // The process is gone, and with it who wanted to hear this.
      this.#waiting = [];
    } finally {
      this.#writing = undefined;
    }
  }
}

/** The arguments of a call, where they are a JSON object; a model may write others. */
export function argumentsOf(call: { arguments: Arguments }): { [name: string]: unknown } | undefined {
  let read: unknown = call.arguments;
  try {
    // Models write nothing at all for a tool without parameters.
    if (typeof read === "string") read = read.trim() === "" ? {} : JSON.parse(read);
  } catch {
    return undefined;
  }
  return typeof read === "object" && read !== null && !Array.isArray(read) ? { ...read } : undefined;
}
