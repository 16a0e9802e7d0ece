// Requests of the composer: what was typed, a prompt of the workspace, or a prompt of a tool server.

import type { McpPrompt, Part, Session } from "@threadhold/client";
import * as vscode from "vscode";
import { promptFile } from "../mentions/prompt-files.ts";
import { listOf } from "../panel/conversation.ts";
import type { Panel } from "../panel/panel.ts";
import type { Place } from "../panel/place.ts";
import type { Chat } from "../session/chat.ts";
import { type PromptItem, promptOf, textOf } from "../shared/slash.ts";
import type { Action } from "../shared/view.ts";
import { visible } from "../shared/visible.ts";

interface RequestContext {
  chat: Chat;
  panel: Pick<Panel, "say">;
  /** Where it was typed. */
  place: Pick<Place, "giveBack">;
}

/** Lets the user choose a model. */
export const CHOOSE = { label: "Choose Model…", action: { type: "selectModel" } } as const;

const NO_MODEL = {
  level: "warning",
  text: "No model is selected. Choose a model, then send again.",
  actions: [CHOOSE],
  until: "model",
} satisfies Parameters<Panel["say"]>[0];

/** A name that only a prompt of a server has. */
const OF_SERVER = /^\/[^\s:/]+:\S/;

/** A prompt of a server as it is typed; none if its name is no word. */
export function itemOf(prompt: McpPrompt): PromptItem[] {
  const { server, description, arguments: given } = prompt;
  const name = nameOf(prompt);
  if (/\s/.test(name)) return [];
  const takes = given.map(({ name, required }) => (required ? name : `${name}?`)).join(" ");
  return [{ name, about: description ?? `Prompt of the tool server ${server}`, ...(takes !== "" && { takes }) }];
}

function nameOf({ server, name }: McpPrompt): string {
  return `${server}:${name}`;
}

/** Sends what was typed. */
export async function send(context: RequestContext, text: string, urgent: boolean): Promise<void> {
  const prompt = OF_SERVER.test(text) ? await promptTyped(context, text) : undefined;
  if (prompt !== undefined) return sendPrompt(context, { ...prompt, urgent });
  await ask(context, text, urgent, [{ type: "text", text }]);
}

/** The prompt of a server that a text asks for which was typed before the servers had listed their prompts. */
async function promptTyped({ chat, place }: RequestContext, text: string): Promise<ReturnType<typeof promptOf>> {
  try {
    const { prompts } = await chat.servers.get(await chat.ready());
    return promptOf(text, prompts.flatMap(itemOf));
  } catch (error) {
    place.giveBack(text);
    throw error;
  }
}

/** Sends a prompt, with what was typed behind its name. */
export async function sendPrompt(
  context: RequestContext,
  { name, rest, urgent }: Omit<Extract<Action, { type: "sendPrompt" }>, "type">,
): Promise<void> {
  const { chat, place } = context;
  const typed = textOf({ name, rest });
  if (chat.folder === undefined) return place.giveBack(typed);
  const prompt = chat.servers.known(chat.session)?.prompts.find((prompt) => nameOf(prompt) === name);
  if (prompt === undefined) return sendFile(context, chat.folder.uri, { name, rest, urgent });
  await ask(context, typed, urgent, async (session) => {
    const given = await argumentsOf(prompt, rest);
    if (given === undefined) return undefined;
    const { content } = await session.request("mcp/content", { server: prompt.server, prompt: prompt.name, arguments: given });
    return listOf(content);
  });
}

/** Sends a prompt of the workspace: its text goes along as a file, and what was typed behind its name as the request. */
async function sendFile(
  context: RequestContext,
  folder: vscode.Uri,
  { name, rest, urgent }: { name: string; rest: string; urgent: boolean },
): Promise<void> {
  const { chat } = context;
  let id: string | undefined;
  let isAsked = false;
  try {
    isAsked = await ask(context, textOf({ name, rest }), urgent, async () => {
      const { path, text } = await promptFile(folder, name);
      id = chat.attachments.addText(folder, path, text);
      const words = [`Follow the instructions in ${path}.`, rest].filter((part) => part !== "").join("\n\n");
      return [{ type: "text", text: words }];
    });
  } finally {
    if (!isAsked && id !== undefined) {
      chat.attachments.remove(id);
      chat.changed();
    }
  }
}

/** Asks with this content, or what becomes of it; the composer gets back what was typed, where that is not sent. */
async function ask(
  { chat, panel, place }: RequestContext,
  typed: string,
  urgent: boolean,
  given: readonly Part[] | ((session: Session) => Promise<readonly Part[] | undefined>),
): Promise<boolean> {
  let isAsked = false;
  try {
    panel.say(undefined);
    // What is attached when a text is sent goes with it, and nothing that is attached later.
    const content = typeof given === "function" ? await given(await chat.ready()) : given;
    if (content !== undefined) {
      isAsked = await chat.ask(content, urgent);
      if (!isAsked) panel.say(NO_MODEL);
    }
    return isAsked;
  } finally {
    // What the user typed is theirs.
    if (!isAsked) place.giveBack(typed);
  }
}

/**
 * The arguments of a server's prompt: the words typed behind its name in its order, the last one with the rest; the user is
 * asked for those that it needs beside. Undefined where the user left.
 */
async function argumentsOf({ server, name, arguments: takes }: McpPrompt, rest: string): Promise<{ [name: string]: string } | undefined> {
  const words = rest.split(/\s+/).filter((word) => word !== "");
  const given: { [name: string]: string } = {};
  for (const [at, argument] of takes.entries()) {
    const typed = (at === takes.length - 1 ? words.slice(at) : words.slice(at, at + 1)).join(" ");
    if (typed !== "") given[argument.name] = typed;
    else if (argument.required) {
      const { description } = argument;
      const about = description === undefined ? argument.name : `${argument.name}: ${description}`;
      const title = visible(`${server}: ${name}`);
      const answer = await vscode.window.showInputBox({ title, prompt: visible(about), ignoreFocusOut: true });
      if (answer === undefined) return undefined;
      given[argument.name] = answer;
    }
  }
  return given;
}
