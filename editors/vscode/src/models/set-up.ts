// Sets a model up by questions: its provider, its address where that is not the provider's own, its key, the model itself, and
// its window where nobody else states it. The answers become the settings.

import { isDeepStrictEqual } from "node:util";
import type { Client, Model, ModelKeyParams } from "@threadhold/client";
import * as vscode from "vscode";
import { configuration } from "../configuration.ts";
import { exchanged } from "./choice.ts";
import type { Keys } from "./keys.ts";
import { chooseListed } from "./list.ts";
import { keyed, labelOf, routeOf } from "./routes.ts";

interface Provider extends vscode.QuickPickItem {
  wire: NonNullable<Model["wire"]>;
  /** Missing where it is the wire's own. */
  baseUrl?: string;
  /** The address is asked for, beginning with this one. */
  asksUrl?: string;
  /** The window is asked for unless the provider lists it: none is known for the name, or it need not hold there. */
  asksWindow?: boolean;
  /** Whether a key is asked for, and whether there may be none. Default: `needed`. */
  key?: "needed" | "optional" | "none";
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

/** The window that the question begins with where none is known, in tokens. */
const USUAL_WINDOW = 32_768;

/** Asks, and keeps the answers in the settings; undefined where the user left. The sidecar gets the key. */
export async function setUpModel(client: () => Promise<Client>, keys: Keys): Promise<Model | undefined> {
  const title = "Set Up Model";
  const chosen = await vscode.window.showQuickPick([...PROVIDERS, SETTINGS], { title, placeHolder: "Choose the provider" });
  if (chosen === undefined) return undefined;
  const provider = PROVIDERS.find((provider) => provider === chosen);
  if (provider === undefined) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "threadhold.configuredModel");
    return undefined;
  }
  const { label, wire, asksUrl, asksWindow = false, key: need = "needed", example } = provider;
  const titled = `${title}: ${label}`;
  const ask = (prompt: string, options: vscode.InputBoxOptions): Thenable<string | undefined> =>
    vscode.window.showInputBox({ title: titled, prompt, ignoreFocusOut: true, ...options });
  const baseUrl = asksUrl === undefined ? provider.baseUrl : await ask("Base URL of the API", { value: asksUrl, validateInput: notUrl });
  if (asksUrl !== undefined && baseUrl === undefined) return undefined;
  const endpoint: Model = { wire, ...(baseUrl !== undefined && { baseUrl: baseUrl.trim() }) };
  const route = routeOf(endpoint);
  const name = (asksUrl === undefined ? undefined : route?.host) ?? label;
  let key: ModelKeyParams | undefined;
  // The sidecar finds a key of the environment by itself.
  if (route !== undefined && need !== "none" && !keys.names.includes(route.keyName) && !process.env[route.keyName]) {
    key = await keys.ask({ ...route, label: name }, need === "optional");
    if (key === undefined) return undefined;
  }
  const listed = await chooseListed({
    title: titled,
    provider: name,
    example,
    model: keyed(endpoint, keys.names),
    client,
    ...(key?.value !== undefined && { key }),
  });
  if (listed === undefined) return undefined;
  let window = asksWindow && listed.windowSource === "provider" ? listed.window : undefined;
  if (asksWindow && window === undefined) {
    const value = String(listed.window ?? USUAL_WINDOW);
    const given = await ask("Context window of the model, in tokens", { value, validateInput: notTokens });
    if (given === undefined) return undefined;
    window = Number(given);
  }
  const model: Model = { ...endpoint, name: listed.name, ...(window !== undefined && { window }) };
  await useModel(model);
  return model;
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

function notUrl(value: string): string | undefined {
  const isUrl = URL.canParse(value.trim()) && /^https?:$/.test(new URL(value.trim()).protocol);
  return isUrl ? undefined : "Enter an address that begins with http:// or https://";
}

function notTokens(value: string): string | undefined {
  return /^\d+$/.test(value) && Number(value) >= 1024 ? undefined : "Enter a number of tokens, at least 1024";
}
