// Sets a model up by questions: its provider, its address where that is not the provider's own, its name, and its window
// where nobody else states it. The answers become the settings.

import { isDeepStrictEqual } from "node:util";
import type { Model } from "@threadhold/client";
import * as vscode from "vscode";
import { configuration } from "../configuration.ts";
import { exchanged } from "./choice.ts";
import { labelOf } from "./routes.ts";

/** Whether a model has a key. */
export type KeyNeed = "needed" | "optional" | "none";

interface Provider extends vscode.QuickPickItem {
  wire: NonNullable<Model["wire"]>;
  /** Missing where it is the wire's own. */
  baseUrl?: string;
  /** The address is asked for, beginning with this one. */
  asksUrl?: string;
  /** Nobody else states the window. */
  asksWindow?: boolean;
  /** Whether a key is asked for, and whether there may be none. Default: `needed`. */
  key?: KeyNeed;
  /** A name such as its models have. */
  example: string;
}

const PROVIDERS: readonly Provider[] = [
  { label: "Anthropic", description: "Claude", wire: "anthropic", example: "claude-opus-5-5" },
  { label: "OpenAI", description: "GPT", wire: "openai-responses", example: "gpt-6.1-sol" },
  { label: "Google", description: "Gemini", wire: "gemini", example: "gemini-3.8-flash" },
  {
    label: "OpenRouter",
    description: "Models of many providers",
    wire: "openai-chat",
    baseUrl: "https://openrouter.ai/api/v1",
    example: "z-ai/glm-5.3",
  },
  { label: "Ollama", description: "On this machine", wire: "ollama", asksWindow: true, key: "none", example: "qwen3" },
  {
    label: "Other Address…",
    description: "Any server that takes OpenAI's chat completions, such as llama.cpp, vLLM, LM Studio or a gateway",
    wire: "openai-chat",
    asksUrl: "http://localhost:8080/v1",
    asksWindow: true,
    key: "optional",
    example: "local",
  },
];

const EFFORTS: readonly NonNullable<Model["effort"]>[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

const SETTINGS: vscode.QuickPickItem = { label: "Edit Settings…", description: "All parts of a model, as JSON" };

/** What was set up. */
export interface SetUp {
  model: Model;
  key: KeyNeed;
}

/** Asks, and keeps the answers in the settings; undefined where the user left. */
export async function setUpModel(): Promise<SetUp | undefined> {
  const title = "Set Up Model";
  const chosen = await vscode.window.showQuickPick([...PROVIDERS, SETTINGS], { title, placeHolder: "Choose the provider" });
  if (chosen === undefined) return undefined;
  const provider = PROVIDERS.find((provider) => provider === chosen);
  if (provider === undefined) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "threadhold.configuredModel");
    return undefined;
  }
  const ask = (prompt: string, options: vscode.InputBoxOptions): Thenable<string | undefined> =>
    vscode.window.showInputBox({ title: `${title}: ${provider.label}`, prompt, ignoreFocusOut: true, ...options });
  const { wire, asksUrl, asksWindow = false, key = "needed", example } = provider;
  const baseUrl = asksUrl === undefined ? provider.baseUrl : await ask("Base URL of the API", { value: asksUrl, validateInput: notUrl });
  if (asksUrl !== undefined && baseUrl === undefined) return undefined;
  const name = await ask("Name of the model, as the provider spells it", { placeHolder: example, validateInput: nothing });
  if (name === undefined) return undefined;
  const window = asksWindow ? await ask("Context window of the model, in tokens", { value: "32768", validateInput: notTokens }) : "";
  if (window === undefined) return undefined;
  const model: Model = {
    wire,
    name: name.trim(),
    ...(baseUrl !== undefined && { baseUrl: baseUrl.trim() }),
    ...(window !== "" && { window: Number(window) }),
  };
  await useModel(model);
  return { model, key };
}

/** Makes a model the configured one, and keeps that which was it to be chosen again. */
export async function useModel(model: Model): Promise<void> {
  const { configuredModel, otherModels } = configuration();
  const settings = vscode.workspace.getConfiguration("threadhold");
  const others = exchanged(model, configuredModel, otherModels);
  if (!isDeepStrictEqual(others, otherModels)) await settings.update("otherModels", others, vscode.ConfigurationTarget.Global);
  await settings.update("configuredModel", model, vscode.ConfigurationTarget.Global);
  await settings.update("model", "configured", vscode.ConfigurationTarget.Global);
}

/** Asks for the effort of a model's answers. A model that takes none ignores it or says so. */
export async function chooseEffort(model: Model): Promise<void> {
  const { effort: former, ...rest } = model;
  const items = [
    { label: "Default", description: "What the model does by itself", effort: undefined },
    ...EFFORTS.map((effort) => ({ label: `${effort.charAt(0).toUpperCase()}${effort.slice(1)}`, effort })),
  ].map((item) => (item.effort === former ? { ...item, description: "Current" } : item));
  const picked = await vscode.window.showQuickPick(items, { title: `Effort of ${labelOf(model)}` });
  if (picked !== undefined) await useModel({ ...rest, ...(picked.effort !== undefined && { effort: picked.effort }) });
}

function nothing(value: string): string | undefined {
  return value.trim() === "" ? "Enter a name" : undefined;
}

function notUrl(value: string): string | undefined {
  const isUrl = URL.canParse(value.trim()) && /^https?:$/.test(new URL(value.trim()).protocol);
  return isUrl ? undefined : "Enter an address that begins with http:// or https://";
}

function notTokens(value: string): string | undefined {
  return /^\d+$/.test(value) && Number(value) >= 1024 ? undefined : "Enter a number of tokens, at least 1024";
}
