// A form of a tool server, asked field by field in the editor's own inputs. Escape leaves the question without an answer.

import type { McpElicitParams, McpElicitResult } from "@threadhold/client";
import * as vscode from "vscode";
import { visible } from "../shared/visible.ts";
import { type Field, fieldsOf, valueFor } from "./fields.ts";

const CANCELLED: McpElicitResult = { action: "cancel" };

/** Asks the user; the question goes away where the server does not want the answer any more. */
export async function elicit({ server, message, schema }: McpElicitParams, signal: AbortSignal): Promise<McpElicitResult> {
  const source = new vscode.CancellationTokenSource();
  signal.addEventListener("abort", () => source.cancel(), { once: true });
  try {
    return await ask(visible(server), message, fieldsOf(schema), source.token);
  } finally {
    source.dispose();
  }
}

async function ask(server: string, message: string, fields: readonly Field[], token: vscode.CancellationToken): Promise<McpElicitResult> {
  const answer = { label: "Answer…", detail: fields.map(({ title }) => visible(title)).join(", ") };
  const decline = { label: "Decline" };
  const options = { title: `The tool server ${server} asks`, placeHolder: visible(message), ignoreFocusOut: true };
  const chosen = await vscode.window.showQuickPick([answer, decline], options, token);
  if (chosen === undefined) return CANCELLED;
  if (chosen === decline) return { action: "decline" };
  const content: Record<string, unknown> = {};
  for (const [at, field] of fields.entries()) {
    const given = await askField(field, `${server} (${at + 1}/${fields.length})`, token);
    if (given === undefined) return CANCELLED;
    if (given.value !== undefined) content[field.name] = given.value;
  }
  return { action: "accept", content };
}

/** The value of a field, which may be none; undefined where the user left. */
async function askField(field: Field, title: string, token: vscode.CancellationToken): Promise<{ value?: unknown } | undefined> {
  const { kind, initial, isRequired } = field;
  const about = visible(field.about === "" ? field.title : `${field.title}: ${field.about}`);
  const shared = { title, ignoreFocusOut: true };
  if (kind === "choices") {
    const picked = Array.isArray(initial) ? initial : [];
    const items = field.options.map(({ value, label }) => ({ label: visible(label), value, picked: picked.includes(value) }));
    const chosen = await vscode.window.showQuickPick(items, { ...shared, placeHolder: about, canPickMany: true }, token);
    return chosen && { value: chosen.map(({ value }) => value) };
  }
  if (kind === "choice" || kind === "boolean") {
    const options: { label: string; value: unknown }[] =
      kind === "choice"
        ? field.options
        : [
            { label: "Yes", value: true },
            { label: "No", value: false },
          ];
    const none = isRequired ? [] : [{ label: "No answer", value: undefined, description: "" }];
    const items = [...options, ...none].map(({ label, value }) => ({
      label: visible(label),
      value,
      description: value !== undefined && value === initial ? "suggested" : "",
    }));
    const chosen = await vscode.window.showQuickPick(items, { ...shared, placeHolder: about }, token);
    return chosen && { value: chosen.value };
  }
  const typed = await vscode.window.showInputBox(
    {
      ...shared,
      prompt: about,
      value: initial === undefined ? "" : String(initial),
      validateInput: (text) => {
        const value = valueFor(field, text);
        return "wrong" in value ? value.wrong : undefined;
      },
    },
    token,
  );
  const value = typed === undefined ? undefined : valueFor(field, typed);
  return value === undefined || "wrong" in value ? undefined : value;
}
