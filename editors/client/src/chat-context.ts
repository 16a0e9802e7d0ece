// The history of an editor's own chat as the sidecar takes it: turns with what was asked, what was answered, and the
// metadata that was persisted with them. The editor's objects are taken by their shape: no editor is imported.

import type { Round, Turn } from "./protocol.js";

/** A request of `ChatContext.history`. */
export interface ChatRequestLike {
  /** What the user wrote. */
  prompt: string;
  /** The editor's id, where it shows it. */
  id?: string;
  /** The command, such as `fix`, without its slash. */
  command?: string | undefined;
  /** Whose it was. */
  participant?: string;
}

/** A response of `ChatContext.history`. */
export interface ChatResponseLike {
  /** Its parts, as they were shown. */
  response: readonly object[];
  /** What the participant gave back. */
  result: { metadata?: { readonly [key: string]: unknown } | undefined; errorDetails?: { message: string } | undefined };
  /** Whose it was. */
  participant?: string;
}

/** How a history is read. */
export interface FromChatOptions {
  /** The id of a request, where the editor's own is not used: one that was kept in the metadata of its response. */
  idOf?: (request: ChatRequestLike, response: ChatResponseLike | undefined, index: number) => string | undefined;
  /** The rounds of a turn, where the participant kept them in its metadata: the history has none. */
  roundsOf?: (metadata: { readonly [key: string]: unknown }) => Round[] | undefined;
}

/** `context.history` of a chat participant as the `history` of `session/open` and `prompt/render`. */
export function fromChatContext(
  history: readonly (ChatRequestLike | ChatResponseLike)[],
  options: FromChatOptions = {},
): Turn[] {
  void history;
  void options;
  throw new Error("not yet");
}
