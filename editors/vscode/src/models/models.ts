// Chooses the model of the next request and calls the editor's models (`model/complete`, `model/countTokens` through
// vscode.lm). Their limits go to the sidecar as they are: user and assistant messages only, no usage.

import {
  ContextOverflow,
  type Model,
  type ModelCompleteParams,
  type ModelCompleteResult,
  type ModelCountTokensParams,
  type ModelCountTokensResult,
  type ModelStream,
  ModelUnavailable,
  type PromptMessage,
  type Tool,
  type ToolCall,
  toLanguageModelMessages,
} from "@threadhold/client";
import * as vscode from "vscode";
import { configuration } from "../configuration.ts";
import { chosenOf } from "./choice.ts";
import type { Keys } from "./keys.ts";
import { isOverflow } from "./overflow.ts";
import { passing } from "./passing.ts";
import { keyed, labelOf, routeOf } from "./routes.ts";
import { chooseEffort, useModel } from "./set-up.ts";

/** Choose Model, for the sidecar and for people. */
export interface Chosen {
  label: string;
  model: Model;
}
const hasModels = (): boolean => typeof vscode.lm?.selectChatModels === "function";

export class Models implements vscode.Disposable {
  readonly #log: vscode.LogOutputChannel;
  readonly #keys: Keys;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #ends: vscode.Disposable[] = [this.#changed];
  /** Told when another model may be the next one. */
  readonly onChange = this.#changed.event;
  readonly #lent = new Map<string, vscode.LanguageModelChat[]>();
  #chosen: Chosen | undefined;
  /** The name of the editor's model that was chosen last. */
  #taken: string | undefined;

  constructor(log: vscode.LogOutputChannel, keys: Keys) {
    this.#log = log;
    this.#keys = keys;
    if (hasModels()) this.#ends.push(vscode.lm.onDidChangeChatModels(() => void this.refresh()));
    this.#ends.push(
      vscode.workspace.onDidChangeConfiguration((change) => {
        const names = ["threadhold.model", "threadhold.configuredModel"];
        if (names.some((name) => change.affectsConfiguration(name))) void this.refresh();
      }),
    );
  }

  dispose(): void {
    for (const end of this.#ends) end.dispose();
  }

  /** Choose Model; missing where there is none. */
  get chosen(): Chosen | undefined {
    return this.#chosen;
  }

  /** Looks again which model that is. */
  async refresh(): Promise<Chosen | undefined> {
    const { model, configuredModel } = configuration();
    const own = configuredModel === undefined ? undefined : configuredChoice(keyed(configuredModel, this.#keys.names));
    // Asked for also where another one is chosen: the editor's chat has models for a participant only then.
    const all = await editorModels();
    const editor = new Map(all.map((one) => [nameOf(one), editorChoice(one)]));
    const chosen = chosenOf({ setting: model, configured: own, editor, before: this.#taken });
    this.#taken = chosen?.name ?? this.#taken;
    this.#chosen = chosen?.model;
    this.#changed.fire();
    return this.#chosen;
  }

  /** Lets the user choose, and keeps the choice in the settings. */
  async choose(): Promise<void> {
    const { configuredModel, otherModels } = configuration();
    const ofEditor = (await editorModels()).map((model) => ({
      label: model.name,
      description: model.vendor,
      detail: `${model.maxInputTokens.toLocaleString("en-US")} tokens`,
      take: () => this.#choose(nameOf(model)),
    }));
    const configured = [...(configuredModel === undefined ? [] : [configuredModel]), ...otherModels].map((model) => ({
      label: labelOf(model),
      description: model === configuredModel ? "Configured" : `Configured, at ${routeOf(model)?.host ?? model.wire}`,
      take: () => (model === configuredModel ? this.#choose("configured") : useModel(model)),
    }));
    const effort = {
      label: "Choose Effort…",
      description: configuredModel?.effort ?? "the model's own",
      take: () => (configuredModel === undefined ? undefined : chooseEffort(configuredModel)),
    };
    const setUp = {
      label: "Set Up Model…",
      detail: "Asks for a provider and its API key, and lists its models",
      take: () => vscode.commands.executeCommand("threadhold.setUpModel"),
    };
    const takesEffort = configuredModel !== undefined && this.#chosen?.model.wire !== undefined;
    const items = [...ofEditor, ...configured, ...(takesEffort ? [effort] : []), setUp];
    if (ofEditor.length + configured.length === 0) return void (await setUp.take());
    const picked = await vscode.window.showQuickPick(items, { title: "Choose Model", matchOnDescription: true });
    await picked?.take();
  }

  #choose(name: string): Thenable<void> {
    return vscode.workspace.getConfiguration("threadhold").update("model", name, vscode.ConfigurationTarget.Global);
  }

  /** Asks the editor's model. */
  async complete(request: ModelCompleteParams, stream: ModelStream, signal: AbortSignal): Promise<ModelCompleteResult> {
    const model = await this.#find(request.model);
    const toolCalls: ToolCall[] = [];
    await ask(model, request, signal, {
      say: (text) => stream.say(text),
      call: (call) => {
        toolCalls.push(call);
        stream.send({ op: "setToolCalls", toolCalls: [...toolCalls] });
      },
      changed: (what) => this.#log.debug(`${request.requestId}: ${what}`),
    });
    return toolCalls.length > 0 ? { stopReason: "toolUse" } : {};
  }

  /** Counts texts as the editor's model does. */
  async count({ texts, model: name }: ModelCountTokensParams, signal: AbortSignal): Promise<ModelCountTokensResult> {
    const model = await this.#find(name);
    const { token, end } = tokenOf(signal);
    try {
      return { tokens: await Promise.all(texts.map((text) => model.countTokens(text, token))) };
    } finally {
      end();
    }
  }

  /**
   * Has a model that the editor gave with a request answer under its name while the work goes on: what is asked beside
   * the request, such as a summary, is asked of the same model.
   */
  async lend<Of>(model: vscode.LanguageModelChat, work: (choice: Chosen) => Promise<Of>): Promise<Of> {
    const choice = editorChoice(model);
    const name = nameOf(model);
    this.#lent.set(name, [...(this.#lent.get(name) ?? []), model]);
    try {
      return await work(choice);
    } finally {
      this.#lent.set(
        name,
        (this.#lent.get(name) ?? []).filter((one) => one !== model),
      );
    }
  }

  async #find(name: string | undefined): Promise<vscode.LanguageModelChat> {
    const lent = this.#lent.get(name ?? "")?.at(-1);
    if (lent !== undefined) return lent;
    const all = await editorModels();
    const model = all.find((one) => nameOf(one) === name);
    if (model !== undefined) return model;
    const have = all.length === 0 ? "The editor has no models at the moment." : `Available: ${all.map(nameOf).join(", ")}.`;
    throw new Error(`The model ${name ?? ""} is no longer available in the editor. ${have} Choose another model and ask again.`);
  }
}

/** A request to a model of the editor. */
export interface ModelRequest {
  messages: readonly PromptMessage[];
  tools: readonly Tool[];
  toolChoice?: ModelCompleteParams["toolChoice"];
  options?: ModelCompleteParams["options"];
}

/** Receives the answer of a model as it is streamed. */
export interface AnswerListener {
  say(text: string): void;
  call(call: ToolCall): void;
  /** Something reaches the model otherwise than in the prompt. */
  changed(what: string): void;
}

/** Asks a model of the editor. Whatever fails has our words. */
export async function ask(
  model: vscode.LanguageModelChat,
  asked: ModelRequest,
  signal: AbortSignal,
  listener: AnswerListener,
): Promise<void> {
  const { messages, changed } = toLanguageModelMessages(asked.messages, vscode);
  for (const what of changed) listener.changed(what);
  const canCall = asked.toolChoice !== "none" && asked.tools.length > 0;
  const tools = asked.tools.map(({ name, description, inputSchema }) => ({
    name,
    description: description ?? "",
    inputSchema: (inputSchema ?? { type: "object", properties: {} }) as object,
  }));
  const options: vscode.LanguageModelChatRequestOptions = {
    justification: "The threadhold agent uses the model to answer your request.",
    ...(canCall && { tools, toolMode: vscode.LanguageModelChatToolMode.Auto }),
    ...(asked.options?.temperature !== undefined && { modelOptions: { temperature: asked.options.temperature } }),
  };
  const { token, end } = tokenOf(signal);
  let isBegun = false;
  try {
    const response = await model.sendRequest(messages, options, token);
    for await (const part of response.stream) {
      isBegun = true;
      if (part instanceof vscode.LanguageModelTextPart) listener.say(part.value);
      else if (part instanceof vscode.LanguageModelToolCallPart) {
        listener.call({ id: part.callId, name: part.name, arguments: JSON.stringify(part.input) });
      }
      // Other parts come from later versions of the editor.
    }
  } catch (error) {
    throw explained(error, isBegun);
  } finally {
    end();
  }
}

async function editorModels(): Promise<vscode.LanguageModelChat[]> {
  return hasModels() ? vscode.lm.selectChatModels({}) : [];
}

function nameOf({ vendor, id }: vscode.LanguageModelChat): string {
  return `${vendor}/${id}`;
}

function editorChoice(model: vscode.LanguageModelChat): Chosen {
  return {
    label: model.name,
    model: {
      name: nameOf(model),
      wire: "editor",
      window: model.maxInputTokens,
      roles: ["user", "assistant"],
      toolChoiceNone: false,
      usage: false,
      countTokens: true,
    },
  };
}

function configuredChoice(model: Model): Chosen {
  return { label: labelOf(model), model };
}

/** A token of the editor that follows a signal. */
export function tokenOf(signal: AbortSignal): { token: vscode.CancellationToken; end: () => void } {
  const source = new vscode.CancellationTokenSource();
  const cancel = (): void => source.cancel();
  if (signal.aborted) cancel();
  signal.addEventListener("abort", cancel, { once: true });
  return {
    token: source.token,
    end: () => {
      signal.removeEventListener("abort", cancel);
      source.dispose();
    },
  };
}

/** Messages for the error codes of the editor's language model API. */
const ADVICE: Record<string, { what: string; do: string }> = {
  NoPermissions: {
    what: "The editor denied access to the model",
    do: "Allow access when the editor asks, or choose another model.",
  },
  Blocked: {
    what: "The model is blocked",
    do: "Check your account or quota at its provider, or choose another model.",
  },
  NotFound: { what: "The model no longer exists", do: "Choose another model." },
};

function explained(error: unknown, isBegun: boolean): unknown {
  if (!(error instanceof Error)) return error;
  const cause = error.cause instanceof Error ? error.cause.message : "";
  if (error instanceof vscode.LanguageModelError) {
    const advice = ADVICE[error.code];
    if (advice !== undefined) return new Error(`${advice.what}: ${error.message}. ${advice.do}`);
  }
  if (isOverflow(`${error.message} ${cause}`)) return new ContextOverflow(error.message);
  const kind = passing(`${error.message} ${cause}`, isBegun);
  return kind === undefined ? error : new ModelUnavailable(error.message, kind);
}
