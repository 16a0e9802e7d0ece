// The tools that are offered with a request, and running them: the extension's own, and the editor's by way of
// lm.invokeTool. The list is made anew for each request, for the editor's changes while it runs.

import { argumentsOf, type Part, type Tool, type ToolInvokeParams, type ToolInvokeResult } from "@threadhold/client";
import * as vscode from "vscode";
import { configuration } from "../configuration.ts";
import { tokenOf } from "../models/models.ts";
import { errorText } from "../shared/text.ts";
import { EDIT_TOOLS } from "./edit.ts";
import type { Keep, OwnTool } from "./own-tool.ts";
import { READ_TOOLS } from "./read.ts";
import { RUN_TOOLS } from "./run.ts";

const UNREADABLE: ToolInvokeResult = { content: "arguments must be a JSON object", isError: true };

const OWN: readonly OwnTool[] = [...READ_TOOLS, ...EDIT_TOOLS, ...RUN_TOOLS];

/** All that may be used now. */
export function offered(): Tool[] {
  const set = configuration();
  const tools = new Map(editorTools().map((tool) => [tool.name, tool]));
  if (set.ownTools) {
    for (const { name, description, kind, group, inputSchema, guidelines } of OWN) {
      const policy = set.policy(group);
      tools.set(name, { name, description, kind, inputSchema, policy, ...(guidelines !== undefined && { guidelines }) });
    }
  }
  return [...tools.values()].filter(({ name }) => !set.isExcluded(name));
}

/** True if a tool of the extension changes nothing, or only what it keeps an earlier text of. */
export function isTraced(name: string): boolean {
  return OWN.some((tool) => tool.name === name && tool.group !== "run");
}

/**
 * Tools of the editor and other extensions that the user enabled or named in the request, and did not
 * exclude it.
 */
export function editorTools(named: ReadonlySet<string> = new Set()): Tool[] {
  const set = configuration();
  const tools = knownTools().filter(({ name }) => (set.isTicked(name) || named.has(name)) && !set.isExcluded(name));
  return tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    ...(inputSchema !== undefined && { inputSchema }),
    policy: set.policy("editor"),
  }));
}

/** All that the editor and other extensions have now. */
export function knownTools(): readonly vscode.LanguageModelToolInformation[] {
  return vscode.lm?.tools ?? [];
}

/** The extension's own tool of this name. */
export function ownTool(name: string): OwnTool | undefined {
  return configuration().ownTools ? OWN.find((tool) => tool.name === name) : undefined;
}

/** Runs a call. What is thrown is told to the model. `keep` is told what the extension's own tools change. */
export async function run(call: ToolInvokeParams, folder: vscode.Uri, signal: AbortSignal, keep?: Keep): Promise<ToolInvokeResult> {
  const given = argumentsOf(call);
  if (given === undefined) return UNREADABLE;
  const own = ownTool(call.name);
  if (own !== undefined) {
    try {
      return await own.run(given, folder, signal, keep);
    } catch (error) {
      return { content: errorText(error), isError: true };
    }
  }
  return runOfEditor(call, undefined, signal);
}

/**
 * Runs a call of one of the editor's tools; what is thrown is told to the model. With the token of a chat's request it is
 * shown there, and the editor asks there where the tool has it ask; `named` are the tools that the request names.
 */
export async function runOfEditor(
  call: Pick<ToolInvokeParams, "name" | "arguments">,
  toolInvocationToken: vscode.ChatParticipantToolToken | undefined,
  signal: AbortSignal,
  named?: ReadonlySet<string>,
): Promise<ToolInvokeResult> {
  const input = argumentsOf(call);
  if (input === undefined) return UNREADABLE;
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

/** A part of a result of the editor's as ours; what has no form that can be sent is left out. */
function partOf(part: unknown): Part[] {
  if (part instanceof vscode.LanguageModelTextPart) return [{ type: "text", text: part.value }];
  if (part instanceof vscode.LanguageModelPromptTsxPart) return [{ type: "text", text: JSON.stringify(part.value) }];
  if (vscode.LanguageModelDataPart !== undefined && part instanceof vscode.LanguageModelDataPart) {
    const { mimeType, data } = part;
    if (mimeType.startsWith("image/")) {
      return [{ type: "image", mediaType: mimeType, data: Buffer.from(data).toString("base64") }];
    }
    if (/^text\/|json$/.test(mimeType)) return [{ type: "text", text: Buffer.from(data).toString("utf8") }];
  }
  return [];
}
