// A rendered prompt as an editor's own model takes it: messages of the user and of the assistant alone, with text, tool
// calls and tool results as parts. Made with the editor's classes, which are given: no editor is imported.

import { argumentsOf } from "./handlers.js";
import type { Part, PromptMessage } from "./protocol.js";

/** The classes of `vscode` that are used: give the whole module. */
export interface LanguageModelClasses<Text, Call, Result, Data, Message> {
  LanguageModelTextPart: new (value: string) => Text;
  LanguageModelToolCallPart: new (callId: string, name: string, input: object) => Call;
  LanguageModelToolResultPart: new (callId: string, content: (Text | Data)[]) => Result;
  /** Pictures; older editors have none. */
  LanguageModelDataPart?: { image(data: Uint8Array, mime: string): Data };
  LanguageModelChatMessage: {
    User(content: (Text | Result | Data)[]): Message;
    Assistant(content: (Text | Call)[]): Message;
  };
}

/** What was made of a prompt. */
export interface LanguageModelMessages<Message> {
  /** What to send, in this order. */
  messages: Message[];
  /** What is otherwise than in the prompt, for a log: each thing once, in words. Empty: nothing. */
  changed: string[];
}

/**
 * A prompt (`messages` of `model/complete` or of `prompt/render`) for `LanguageModelChat.sendRequest`. System text goes
 * into the first message of the user. Results of one round go together into one message of the user, as the editor's
 * models want them. What the editor has no part for is said in `changed`.
 */
export function toLanguageModelMessages<Text, Call, Result, Data, Message>(
  messages: readonly PromptMessage[],
  vscode: LanguageModelClasses<Text, Call, Result, Data, Message>,
): LanguageModelMessages<Message> {
  void messages;
  void vscode;
  void argumentsOf;
  const part: Part | undefined = undefined;
  void part;
  throw new Error("not yet");
}
