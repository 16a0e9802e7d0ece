// Addresses that the sidecar calls for models, and the name of the API key for each: the provider's usual name, otherwise
// one made of the address, so that a key is sent to one address only. Imports no editor.

import type { Model, Settings } from "@threadhold/client";

/** The address of a model that may need a key. */
export interface Route {
  /** Its name for people. */
  label: string;
  /** Host that the key is sent to. */
  host: string;
  /** The name under which the sidecar looks for it. */
  keyName: string;
  /** The model, which names that key. */
  model: Model;
}

/** Address and key name of each wire's own provider; equal to those in crates/engine/src/endpoint.rs. */
const USUAL: Partial<Record<string, { url: string; key?: string }>> = {
  "openai-chat": { url: "https://api.openai.com/v1", key: "OPENAI_API_KEY" },
  "openai-responses": { url: "https://api.openai.com/v1", key: "OPENAI_API_KEY" },
  anthropic: { url: "https://api.anthropic.com/v1", key: "ANTHROPIC_API_KEY" },
  gemini: { url: "https://generativelanguage.googleapis.com/v1beta", key: "GEMINI_API_KEY" },
  ollama: { url: "http://127.0.0.1:11434" },
};

/** What a model is called. */
export function labelOf({ name, wire }: Model): string {
  return name ?? String(wire);
}

/** The route of a model; undefined for one that no key is sent to, such as the editor's own. */
export function routeOf(model: Model): Route | undefined {
  const { wire, baseUrl, keyEnv } = model;
  const usual = wire === undefined ? undefined : USUAL[wire];
  const address = addressOf(baseUrl ?? usual?.url ?? "");
  if (usual === undefined || address === undefined) return undefined;
  const usualKey = address.origin === addressOf(usual.url)?.origin ? usual.key : undefined;
  const keyName = keyEnv ?? usualKey ?? keyNameOf(address);
  return { label: labelOf(model), host: address.host, keyName, model: { ...model, keyEnv: keyName } };
}

/** All routes that the settings name, each key once: the configured model's, then those of other settings of the sidecar. */
export function routesOf(configured: Model | undefined, settings: Settings): Route[] {
  const models = [configured, settings.model, summaryOf(configured, settings)];
  const routes = models.flatMap((model) => (model === undefined ? [] : (routeOf(model) ?? [])));
  return [...new Map(routes.map((route) => [route.keyName, route])).values()];
}

/** The model with the name of its key, if one is stored for its address and the settings name none. */
export function keyed(model: Model, names: readonly string[]): Model {
  const keyName = model.keyEnv === undefined ? routeOf(model)?.keyName : undefined;
  return keyName !== undefined && names.includes(keyName) ? { ...model, keyEnv: keyName } : model;
}

/** The settings with the key names of their models, as `keyed` adds them. */
export function keyedSettings(configured: Model | undefined, settings: Settings, names: readonly string[]): Settings {
  const summary = summaryOf(configured, settings);
  const summaryKeyEnv = summary === undefined ? undefined : keyed(summary, names).keyEnv;
  return {
    ...settings,
    ...(settings.model !== undefined && { model: keyed(settings.model, names) }),
    ...(summaryKeyEnv !== undefined && { summaryKeyEnv }),
  };
}

/** The model for summaries, if its address or key differs from the answering model's; with the wire of that one. */
function summaryOf(
  configured: Model | undefined,
  { model: main = configured, summaryModel, summaryBaseUrl, summaryKeyEnv }: Settings,
): Model | undefined {
  if (summaryBaseUrl === undefined && summaryKeyEnv === undefined) return undefined;
  const mainRoute = main === undefined ? undefined : routeOf(main);
  const wire = (mainRoute === undefined ? undefined : main?.wire) ?? "openai-chat";
  const baseUrl = summaryBaseUrl ?? main?.baseUrl;
  const model: Model = {
    wire,
    name: summaryModel ?? "summary model",
    ...(baseUrl !== undefined && { baseUrl }),
    ...(summaryKeyEnv !== undefined && { keyEnv: summaryKeyEnv }),
  };
  // At the same host the answering model's route has the key.
  return summaryKeyEnv === undefined && routeOf(model)?.host === mainRoute?.host ? undefined : model;
}

function addressOf(url: string): URL | undefined {
  try {
    // A WebSocket's handshake is an HTTP request to the same host.
    return new URL(url.trim().replace(/^ws(?=s?:)/i, "http"));
  } catch {
    return undefined;
  }
}

/** A key for people: the address, where its name was made of one. */
export function keyLabel(keyName: string): string {
  const [, scheme, host] = /^KEY_OF_(HTTP_)?(\w+)$/.exec(keyName) ?? [];
  if (host === undefined) return keyName;
  const plain = host.replace(/__([0-9A-F]+)_|_/g, (_, code?: string) =>
    code === undefined ? "." : String.fromCharCode(Number.parseInt(code, 16)),
  );
  return `${scheme === undefined ? "" : "http://"}${plain.toLowerCase()}`;
}

/** A key name unique to the address: dots become underscores, other special characters their code in underscores. */
function keyNameOf({ protocol, host }: URL): string {
  const plain = host.replace(/[^a-z0-9]/g, (character) => (character === "." ? "_" : `__${character.charCodeAt(0).toString(16)}_`));
  return `KEY_OF_${protocol === "https:" ? "" : "HTTP_"}${plain.toUpperCase()}`;
}
