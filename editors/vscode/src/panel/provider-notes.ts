// What a provider did on its own while it answered, in sentences. No editor and no webview here.

import type { Message } from "@threadhold/client";

/** What the provider did beside the answer, in order; mostly nothing. */
export function providerNotes({ extra }: Pick<Message, "extra">): string[] {
  if (extra === undefined) return [];
  const { serverCompaction, fallback, inputTransformations } = extra;
  const notes: string[] = [];
  if (isObject(serverCompaction)) {
    notes.push("The provider compacted the conversation on its side for this answer. Nothing changes in this session.");
  }
  if (isObject(fallback)) {
    const [from, to] = [nameOf(fallback["from"]), nameOf(fallback["to"])];
    notes.push(`${from ?? "The model"} declined to answer, and ${to ?? "another model"} answered instead.`);
  }
  if (Array.isArray(inputTransformations) && inputTransformations.length > 0) {
    notes.push("The provider left out parts of earlier answers, such as thinking that no longer fits the conversation.");
  }
  return notes;
}

function nameOf(value: unknown): string | undefined {
  const name = isObject(value) ? value["model"] : value;
  return typeof name === "string" && name !== "" ? name : undefined;
}

function isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
