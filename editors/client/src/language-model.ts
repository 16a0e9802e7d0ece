// A rendered prompt as an editor's own model takes it: messages of the user and of the assistant alone, with text, tool
// calls and tool results as parts. Made with the editor's classes, which are given: no editor is imported.

import { argumentsOf } from "./handlers.js";
import type { Content, Part, PromptMessage } from "./protocol.js";

/** The classes of `vscode` that are used: give the whole module. */
export interface LanguageModelClasses<Text, Call, Result, Message, Data = never> {
  LanguageModelTextPart: new (value: string) => Text;
  LanguageModelToolCallPart: new (callId: string, name: string, input: object) => Call;
  LanguageModelToolResultPart: new (callId: string, content: (Text | NoInfer<Data>)[]) => Result;
  /** Pictures. Older editors have none. */
  LanguageModelDataPart?: { image(data: Uint8Array, mime: string): Data };
  LanguageModelChatMessage: {
    User(content: (Text | Result | NoInfer<Data>)[]): Message;
    Assistant(content: (Text | Call | NoInfer<Data>)[]): Message;
  };
}

/** A converted prompt. */
export interface LanguageModelMessages<Message> {
  /** Messages to send, in order. */
  messages: Message[];
  /** Differences from the prompt, for a log, each once. Empty if there are none. */
  changed: string[];
}

/**
 * A prompt (`messages` of `model/complete` or of `prompt/render`) for `LanguageModelChat.sendRequest`. System text goes
 * into the first message of the user, a part for each section. Results that follow each other go into one message of the
 * user. What the editor has no part for is said in `changed`.
 */
export function toLanguageModelMessages<Text, Call, Result, Message, Data = never>(
  messages: readonly PromptMessage[],
  vscode: LanguageModelClasses<Text, Call, Result, Message, Data>,
): LanguageModelMessages<Message> {
  const changed = new Set<string>();
  const text = (value: string) => new vscode.LanguageModelTextPart(value);

  const content = (part: Part): (Text | Data)[] => {
    switch (part.type) {
      case "text":
        return [text(part.text)];
      case "image":
        return [picture(part.mimeType, part.data)];
      case "resource":
        return [text(framed("context-resource", "uri", part.uri, part.text))];
      case "contextFile":
        return [text(framed("context-file", "path", part.path, part.text))];
      case "attachment":
        return [text(framed("attachment", "name", part.name, part.text))];
      case "reasoning":
        changed.add("reasoning is left out: the editor's models do not accept it");
        return [];
      case "raw":
        changed.add("a provider-specific block is left out: the editor's models do not accept it");
        return [];
      default:
        // Calls and results are taken where they can stand; anything else is of a later version.
        changed.add(`a part of type ${part.type} is left out`);
        return [];
    }
  };

  const picture = (mimeType: string, data: string): Text | Data => {
    const bytes = decoded(data);
    if (vscode.LanguageModelDataPart && bytes) return vscode.LanguageModelDataPart.image(bytes, mimeType);
    changed.add(bytes ? "an image is only named: the editor accepts none" : "an image is only named: it is a URL");
    return text(`[picture, ${mimeType}]`);
  };

  const result = (part: Extract<Part, { type: "toolResult" }>): Result => {
    const said = partsOf(part.content).flatMap(content);
    return new vscode.LanguageModelToolResultPart(part.toolCallId, said.length > 0 ? said : [text("")]);
  };

  const call = (part: Extract<Part, { type: "toolCall" }>): Call => {
    const read = argumentsOf(part);
    if (read === undefined) changed.add("arguments that are not a JSON object are passed as `unreadable`");
    return new vscode.LanguageModelToolCallPart(part.id, part.name, read ?? { unreadable: part.arguments });
  };

  const made: Message[] = [];
  let system: (Text | Data)[] = [];
  let results: Result[] = [];
  const user = (parts: (Text | Result | Data)[]) => {
    if (parts.length > 0) made.push(vscode.LanguageModelChatMessage.User(parts));
  };
  /** Puts down what waits for the next message. */
  const settle = (before: (Text | Data)[] = []) => {
    user(results);
    user([...system, ...before]);
    [results, system] = [[], []];
  };

  for (const { role, parts } of messages) {
    const answers = parts.filter((part) => part.type === "toolResult");
    const others = parts.filter((part) => part.type !== "toolResult");
    if (role === "system") {
      changed.add("system text is part of the first user message: the editor's models have no system role");
      system.push(...parts.flatMap(content));
    } else if (role === "assistant") {
      settle();
      const said = parts.flatMap((part): (Text | Call | Data)[] => {
        return part.type === "toolCall" ? [call(part)] : content(part);
      });
      if (said.length > 0) made.push(vscode.LanguageModelChatMessage.Assistant(said));
    } else {
      results.push(...answers.map(result));
      if (others.length > 0) settle(others.flatMap(content));
    }
  }
  settle();
  return { messages: made, changed: [...changed] };
}

function partsOf(content: Content): Part[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** A text with its name, in the frame that models know from the sidecar's own wires. It cannot end its frame. */
function framed(tag: string, key: string, name: string, text: string): string {
  const inside = text.replaceAll(`</${tag}`, `&lt;/${tag}`);
  return `<${tag} ${key}="${name.replaceAll('"', "'")}">\n${inside}\n</${tag}>`;
}

/** Base64 as bytes; nothing where it is an address. */
function decoded(data: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
