// The tools that are offered with a request, and running them: the extension's own, and the editor's by way of
// lm.invokeTool. The list is built for each request, because the editor's tools change while it runs.

import { argumentsOf, type Part, type Tool, type ToolInvokeParams, type ToolInvokeResult } from "@threadhold/client";
import * as vscode from "vscode";
import { configuration } from "../configuration.ts";
import { tokenOf } from "../models/models.ts";
import { errorText } from "../shared/text.ts";
import { EDIT_TOOLS } from "./edit.ts";
import type { Listener, OwnTool } from "./own-tool.ts";
import { READ_TOOLS } from "./read.ts";
import { RUN_TOOLS } from "./run.ts";

const OWN: readonly OwnTool[] = [...READ_TOOLS, ...EDIT_TOOLS, ...RUN_TOOLS];

/** The tools to offer with a request that names these. One of ours replaces the editor's of the same name. */
export function offered(named?: ReadonlySet<string>): Tool[] {
  const settings = configuration();
  const tools = new Map(editorTools(named).map((tool) => [tool.name, tool]));
  if (settings.ownTools) {
    for (const { name, description, kind, group, inputSchema, guidelines } of OWN) {
      const policy = settings.policy(group);
      tools.set(name, { name, description, kind, inputSchema, policy, ...(guidelines !== undefined && { guidelines }) });
    }
  }
  return [...tools.values()].filter(({ name }) => !settings.isExcluded(name));
}

/** True for a tool of the extension whose changes can be restored: any but those that run commands. */
export function isTraced(name: string): boolean {
  return OWN.some((tool) => tool.name === name && tool.group !== "run");
}

/** Tools of the editor and other extensions that the user enabled or named in the request, without excluded ones. */
export function editorTools(named: ReadonlySet<string> = new Set()): Tool[] {
  const settings = configuration();
  const tools = knownTools().filter(({ name }) => (settings.isTicked(name) || named.has(name)) && !settings.isExcluded(name));
  return tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    ...(inputSchema !== undefined && { inputSchema }),
    policy: settings.policy("editor"),
  }));
}

/** As many characters make about a token. */
const PER_TOKEN = 4;

/** About how many tokens a tool's definition has in a prompt. */
export function tokensOf({ name, description, inputSchema }: Pick<Tool, "name" | "description" | "inputSchema">): number {
  return Math.ceil(JSON.stringify({ name, description, inputSchema }).length / PER_TOKEN);
}

/** All tools of the editor and other extensions; none in an editor without `lm`. */
export function knownTools(): readonly vscode.LanguageModelToolInformation[] {
  return vscode.lm?.tools ?? [];
}

/** The extension's own tool of this name, unless the user turned those off. */
export function ownTool(name: string): OwnTool | undefined {
  return configuration().ownTools ? OWN.find((tool) => tool.name === name) : undefined;
}

const REQUIRES = {
  read: "Reading files requires approval (threadhold.approve.read).",
  edit: "Edits require approval (threadhold.approve.edit).",
  run: "Commands require approval (threadhold.approve.run).",
  editor: "Tools of the editor and of other extensions require approval (threadhold.approve.editor).",
};

/** Why calls of a tool wait for the user where no rule has them wait. */
export function whyAsked(name: string): string {
  const group = ownTool(name)?.group ?? (knownTools().some((tool) => tool.name === name) ? "editor" : undefined);
  return group === undefined ? "This tool requires approval until a rule allows it." : REQUIRES[group];
}

/** Runs a call of a request that names these tools. An exception becomes its result. Own tools tell the listener what they do. */
export async function run(
  call: ToolInvokeParams,
  folder: vscode.Uri,
  signal: AbortSignal,
  listener: Listener,
  named: ReadonlySet<string>,
): Promise<ToolInvokeResult> {
  const input = argumentsOf(call);
  if (input === undefined) return unreadable(call);
  const own = ownTool(call.name);
  if (own !== undefined) {
    try {
      return await own.run(input, folder, signal, listener);
    } catch (error) {
      return { content: errorText(error), isError: true };
    }
  }
  return runOfEditor(call, undefined, signal, named);
}

/**
 * Runs a call of one of the editor's tools; an exception becomes its result. Given the token of a chat request, the editor
 * shows the call in that chat and asks for confirmation there. `named` are the tools that the request names.
 */
export async function runOfEditor(
  call: Pick<ToolInvokeParams, "name" | "arguments">,
  toolInvocationToken: vscode.ChatParticipantToolToken | undefined,
  signal: AbortSignal,
  named?: ReadonlySet<string>,
): Promise<ToolInvokeResult> {
  const input = argumentsOf(call);
  if (input === undefined) return unreadable(call);
  const tool = editorTools(named).find(({ name }) => name === call.name);
  if (tool === undefined) return { content: `unknown tool ${call.name}, or the user has not enabled it`, isError: true };
  if (tool.policy === "deny") return { content: `the user does not allow ${call.name}`, isError: true };
  const { token, end } = tokenOf(signal);
  try {
    const result = await vscode.lm.invokeTool(call.name, { input, toolInvocationToken }, token);
    return { content: result.content.flatMap(partOf) };
  } catch (error) {
    return { content: errorText(error), isError: true };
  } finally {
    end();
  }
}

/** The result of a call whose arguments are not a JSON object: what is wrong with them, for the model. */
function unreadable({ arguments: given }: Pick<ToolInvokeParams, "arguments">): ToolInvokeResult {
  let why = "they have another type";
  try {
    if (typeof given === "string") JSON.parse(given);
  } catch (error) {
    why = errorText(error);
  }
  return {
    content: `The call did not run, because its arguments are not a JSON object: ${why}. Call again with one JSON object.`,
    isError: true,
  };
}

/** Converts a part of an editor tool's result; parts without a form on the wire are left out. */
function partOf(part: unknown): Part[] {
  if (part instanceof vscode.LanguageModelTextPart) return [{ type: "text", text: part.value }];
  if (part instanceof vscode.LanguageModelPromptTsxPart) return [{ type: "text", text: JSON.stringify(part.value) }];
  if (vscode.LanguageModelDataPart !== undefined && part instanceof vscode.LanguageModelDataPart) {
    const { mimeType, data } = part;
    if (mimeType.startsWith("image/")) {
      return [{ type: "image", mimeType, data: Buffer.from(data).toString("base64") }];
    }
    if (/^text\/|json$/.test(mimeType)) return [{ type: "text", text: Buffer.from(data).toString("utf8") }];
  }
  return [];
}
