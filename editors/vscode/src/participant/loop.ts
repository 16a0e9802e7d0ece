// The tool loop of a turn in the editor's own chat: render the prompt, call the model, run its calls, report the results,
// until the model calls no tool. Imports no editor.

import {
  type AskOptions,
  type Attachment,
  type ClientRequests,
  ContextOverflow,
  joinedMetadata,
  type Model,
  type Part,
  type PromptMessage,
  type PromptRenderResult,
  RequestLost,
  type Round,
  type Section,
  type SessionMethod,
  type Tool,
  type ToolCall,
  type ToolInvokeResult,
  type ToolResult,
  type Turn,
  type TurnMetadata,
  type TurnOutcome,
  type Variable,
  type WithoutSession,
} from "@threadhold/client";
import { errorText } from "../shared/text.ts";

/** The part of a session that is needed. */
export interface Requester {
  request<Method extends SessionMethod>(
    method: Method,
    params: WithoutSession<ClientRequests[Method]["params"]>,
    options?: AskOptions,
  ): Promise<ClientRequests[Method]["result"]>;
}

/** Operations of the editor that the loop needs. */
export interface Host {
  /** Asks the model. What it says is told as it comes, and is the answer. */
  ask(
    messages: readonly PromptMessage[],
    tools: readonly Tool[],
    say: (text: string) => void,
    call: (call: ToolCall) => void,
  ): Promise<void>;
  /** Runs a call; whatever fails is its result. */
  run(call: ToolCall): Promise<ToolInvokeResult>;
  /** The tools that there are now. */
  tools(): Tool[];
  /** The answer goes on. */
  say(text: string): void;
  /** Work goes on that the user waits for. */
  progress(message: string): void;
  /** A prompt was compacted. */
  compacted(compactionId: string): void;
  /** A line for the log. */
  log(message: string): void;
}

/** Input of a turn. */
export interface TurnInput {
  requestId: string;
  content: string;
  variables: Variable[];
  attachments: Attachment[];
  sections: Section[];
  /** The turns before it. */
  history: Turn[];
  model: Model;
  /** Rounds of tools after which the user is asked whether to go on. */
  roundLimit: number;
  signal: AbortSignal;
}

/** How a turn went. */
export interface Outcome {
  status: TurnOutcome;
  rounds: Round[];
  metadata: TurnMetadata;
  /** Why it failed. */
  error?: unknown;
  /** True if it was ended because of the limit of rounds. */
  isAtLimit: boolean;
}

/** How often a request is sent again where the sidecar ended before it answered. */
const MOST_TRIES = 3;
/** How often a prompt is made smaller because the model finds it too large. */
const MOST_FORCED = 2;

/** Runs a turn to its end, however it ends. Never fails. */
export async function runTurn(session: Requester, host: Host, begin: TurnInput): Promise<Outcome> {
  const turn = new RunningTurn(session, host, begin);
  let status: TurnOutcome = "completed";
  let error: unknown;
  try {
    await turn.run();
    if (begin.signal.aborted) status = "cancelled";
  } catch (caught) {
    status = begin.signal.aborted ? "cancelled" : "failed";
    if (status === "failed") error = caught;
  }
  const metadata = await turn.end(status);
  return { status, rounds: turn.rounds, metadata, isAtLimit: turn.isAtLimit, ...(error !== undefined && { error }) };
}

class RunningTurn {
  readonly rounds: Round[] = [];
  isAtLimit = false;
  readonly #session: Requester;
  readonly #host: Host;
  readonly #begin: TurnInput;
  /** The list holds for the whole turn, so that prompts begin alike, until a compaction breaks that anyway. */
  #tools: Tool[];
  /** Metadata of all renders of this turn, merged. */
  #metadata: TurnMetadata = {};
  #hasBegun = false;

  constructor(session: Requester, host: Host, begin: TurnInput) {
    this.#session = session;
    this.#host = host;
    this.#begin = begin;
    this.#tools = host.tools();
  }

  async run(): Promise<void> {
    const { signal, roundLimit } = this.#begin;
    for (;;) {
      const calls = await this.#round();
      if (calls === 0 || signal.aborted) return;
      if (this.rounds.length >= roundLimit) {
        this.isAtLimit = true;
        return;
      }
    }
  }

  /** Ends the turn; its metadata, of which nothing is lost where the sidecar cannot be asked any more. */
  async end(status: TurnOutcome): Promise<TurnMetadata> {
    const known = this.#metadata;
    if (!this.#hasBegun) return known;
    try {
      return (await this.#ask("turn/end", { status })).metadata;
    } catch (error) {
      this.#host.log(`turn/end failed: ${errorText(error)}`);
      return known;
    }
  }

  /** One answer of the model with the results of its calls; answers how many it called. */
  async #round(): Promise<number> {
    const parts: Part[] = [];
    const calls: ToolCall[] = [];
    try {
      await this.#answer(parts, calls);
    } catch (error) {
      // What the user saw stays.
      if (parts.length > 0) await this.#keep(parts, calls, "not run: the answer was interrupted").catch(() => undefined);
      throw error;
    }
    const { signal } = this.#begin;
    if (parts.length === 0) {
      if (signal.aborted) return 0;
      throw new Error("The model returned an empty answer. Nothing was lost. Ask again, or choose another model.");
    }
    if (calls.length === 0 || signal.aborted) {
      await this.#keep(parts, calls, "cancelled by the user");
      return calls.length;
    }
    const round = this.#take(parts);
    // The calls are on disk before they do anything.
    await this.#ask("round/append", { round });
    const results = await Promise.all(calls.map((call) => this.#run(call)));
    round.results = results;
    await this.#ask("round/append", { round });
    return calls.length;
  }

  /** Has the prompt rendered and asks the model, with a smaller one where it finds it too large. */
  async #answer(parts: Part[], calls: ToolCall[]): Promise<void> {
    const { signal } = this.#begin;
    for (let forced = 0; ; forced += 1) {
      const rendered = await this.#render(forced > 0);
      signal.throwIfAborted();
      try {
        const asked = this.#host.ask(
          rendered.messages,
          rendered.tools,
          (text) => {
            if (signal.aborted) return;
            const last = parts.at(-1);
            if (last?.type === "text") last.text += text;
            else parts.push({ type: "text", text });
            this.#host.say(text);
          },
          (call) => {
            if (signal.aborted) return;
            calls.push(call);
            parts.push({ type: "toolCall", ...call });
          },
        );
        return await unlessAborted(asked, signal);
      } catch (error) {
        if (!(error instanceof ContextOverflow) || parts.length > 0 || forced >= MOST_FORCED) throw error;
        this.#host.log(`the model rejects a prompt of ${rendered.tokens} tokens as too large: ${error.message}`);
      }
    }
  }

  async #render(isForced: boolean): Promise<PromptRenderResult> {
    const { requestId, content, variables, attachments, sections, history, model, signal } = this.#begin;
    const isFirst = this.rounds.length === 0;
    const rendered = await this.#ask(
      "prompt/render",
      {
        ...(isFirst && { history, input: { externalId: requestId, content }, variables, attachments, sections }),
        tools: this.#tools,
        model,
        ...(isForced && { summarize: "force" as const }),
      },
      { signal, onProgress: (message) => this.#host.progress(message) },
    );
    this.#hasBegun = true;
    for (const { message } of rendered.diagnostics) this.#host.log(message);
    if (rendered.revision !== undefined) {
      this.#host.log(`messages that the chat no longer shows are kept as revision ${rendered.revision}`);
    }
    if (Object.keys(rendered.metadata).length > 0) {
      this.#metadata = joinedMetadata(this.#metadata, rendered.metadata);
      // What was derived from the longer history is made again.
      this.#tools = this.#host.tools();
      if (rendered.compactionId !== undefined) this.#host.compacted(rendered.compactionId);
    }
    return rendered;
  }

  /** Takes an answer in whose calls were not run. */
  async #keep(parts: Part[], calls: ToolCall[], why: string): Promise<void> {
    const round = this.#take(parts);
    round.results = calls.map(({ id }) => ({ toolCallId: id, content: why, isError: true }));
    await this.#ask("round/append", { round });
  }

  #take(parts: Part[]): Round {
    const round: Round = { id: `${this.#begin.requestId}/${this.rounds.length + 1}`, assistant: { parts } };
    this.rounds.push(round);
    return round;
  }

  async #run(call: ToolCall): Promise<ToolResult> {
    const { content = "", isError, exitCode, effects } = await this.#host.run(call);
    return {
      toolCallId: call.id,
      content,
      ...(isError !== undefined && { isError }),
      ...(exitCode !== undefined && { exitCode }),
      ...(effects !== undefined && { effects }),
    };
  }

  /** Each of these is done once, however often it is sent: the request and the rounds have names. */
  async #ask<Method extends "prompt/render" | "round/append" | "turn/end">(
    method: Method,
    params: WithoutSession<ClientRequests[Method]["params"]>,
    options?: AskOptions,
  ): Promise<ClientRequests[Method]["result"]> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#session.request(method, params, options);
      } catch (error) {
        if (!(error instanceof RequestLost) || tries >= MOST_TRIES) throw error;
      }
    }
  }
}

/** Waits for an answer until the user stops it: a model may go on all the same, or never end. */
function unlessAborted<Of>(answer: Promise<Of>, signal: AbortSignal): Promise<Of> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    if (signal.aborted) abort();
  });
}
