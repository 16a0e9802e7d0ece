// A stand-in for the client library's function of the same name, until that is there.

import * as vscode from "vscode";
import { argumentsOf, type Part, type PromptMessage } from "@threadhold/client";
import { listOf } from "./conversation.ts";

type Said = vscode.LanguageModelTextPart | vscode.LanguageModelDataPart;

export function toLanguageModelMessages(messages: readonly PromptMessage[], _: unknown): { messages: vscode.LanguageModelChatMessage[]; changed: string[] } {
  const made: vscode.LanguageModelChatMessage[] = [];
  let system: Said[] = [];
  for (const { role, parts } of messages) {
    if (role === "system") {
      system = parts.flatMap(said);
      continue;
    }
    if (role === "assistant") {
      const content = parts.flatMap((part): (vscode.LanguageModelTextPart | vscode.LanguageModelToolCallPart)[] => {
        if (part.type === "toolCall") return [new vscode.LanguageModelToolCallPart(part.id, part.name, argumentsOf(part) ?? {})];
        return said(part).filter((one) => one instanceof vscode.LanguageModelTextPart);
      });
      made.push(vscode.LanguageModelChatMessage.Assistant(content));
      continue;
    }
    const content = parts.flatMap((part): (Said | vscode.LanguageModelToolResultPart)[] => {
      if (part.type !== "toolResult") return said(part);
      return [new vscode.LanguageModelToolResultPart(part.toolCallId, listOf(part.content).flatMap(said))];
    });
    const last = made.at(-1);
    const isResult = parts.every(({ type }) => type === "toolResult");
    if (isResult && last?.role === vscode.LanguageModelChatMessageRole.User) last.content.push(...content);
    else made.push(vscode.LanguageModelChatMessage.User([...system, ...content]));
    system = [];
  }
  return { messages: made, changed: [] };
}

function said(part: Part): Said[] {
  if (part.type === "text" || part.type === "attachment") return [new vscode.LanguageModelTextPart(part.text)];
  if (part.type === "contextFile") return [new vscode.LanguageModelTextPart(`${part.path}\n${part.text}`)];
  if (part.type === "resource") return [new vscode.LanguageModelTextPart(`${part.uri}\n${part.text}`)];
  if (part.type === "image") return [vscode.LanguageModelDataPart.image(Buffer.from(part.data, "base64"), part.mediaType)];
  return [];
}
