// The history of an editor's own chat as the sidecar takes it: turns with what was asked, what was answered, and the
// metadata that was persisted with them. The editor's objects are taken by their shape: no editor is imported.

import type { Round, Turn, TurnMetadata, Variable } from "./protocol.js";

/** Something that a user gave with a request. */
export interface ChatReferenceLike {
  /** Its id. */
  id: string;
  /** Description for a model. */
  modelDescription?: string | undefined;
  /** A text, an address, or a place in a file. */
  value: unknown;
}

/** A request of `ChatContext.history`. */
export interface ChatRequestLike {
  /** The user's text. */
  prompt: string;
  /** The editor's id, where it shows one. */
  id?: string;
  /** The command, such as `fix`, without its slash. */
  command?: string | undefined;
  /** Attachments. */
  references?: readonly ChatReferenceLike[];
}

/** A response of `ChatContext.history`. */
export interface ChatResponseLike {
  /** Its parts, as they were shown. */
  response: readonly object[];
  /** The participant's result. */
  result?: { metadata?: { readonly [key: string]: unknown } | undefined };
}

/** How a history is read. */
export interface FromChatOptions {
  /**
   * The id of a request. Default: the editor's own, where it shows one. Give the one that you gave as `externalId` when
   * you rendered, such as one that you persisted in the metadata of the response.
   */
  idOf?: (request: ChatRequestLike, response: ChatResponseLike | undefined, index: number) => string | undefined;
  /**
   * The rounds of a turn, from the metadata that you persisted: the editor's history has no tool calls. Where there are
   * none, the words of the response are given, and the sidecar puts its own rounds in their place where it has them.
   */
  roundsOf?: (metadata: { readonly [key: string]: unknown }) => Round[] | undefined;
}

/**
 * `context.history` of a chat participant as the `history` of `session/open` and `prompt/render`. Metadata goes back
 * unchanged, whoever wrote it. Of a response the words are taken: Markdown, the names of links, the paths of file trees.
 */
export function fromChatContext(
  history: readonly (ChatRequestLike | ChatResponseLike)[],
  { idOf = ({ id }) => id, roundsOf = () => undefined }: FromChatOptions = {},
): Turn[] {
  const turns: Turn[] = [];
  history.forEach((entry, at) => {
    if (isRequest(entry)) {
      const next = history[at + 1];
      const response = next && !isRequest(next) ? next : undefined;
      const externalId = idOf(entry, response, turns.length);
      const variables = (entry.references ?? []).flatMap(variableOf);
      turns.push({
        request: entry.command ? `/${entry.command} ${entry.prompt}` : entry.prompt,
        ...(externalId === undefined ? {} : { externalId }),
        ...(variables.length > 0 && { variables }),
      });
      return;
    }
    const turn = turns.at(-1);
    if (turn === undefined) return;
    const { metadata } = entry.result ?? {};
    const rounds = metadata && roundsOf(metadata);
    if (rounds && rounds.length > 0) turn.rounds = rounds;
    else turn.response = (typeof turn.response === "string" ? `${turn.response}\n\n` : "") + wordsOf(entry.response);
    if (metadata) turn.metadata = metadata as TurnMetadata;
  });
  return turns;
}

function isRequest(entry: ChatRequestLike | ChatResponseLike): entry is ChatRequestLike {
  return typeof (entry as Partial<ChatRequestLike>).prompt === "string";
}

interface AddressLike {
  readonly path: string;
  toString(): string;
}

interface PlaceLike {
  readonly uri: AddressLike;
  readonly range: { readonly start: { readonly line: number }; readonly end: { readonly line: number } };
}

function isAddress(value: unknown): value is AddressLike {
  const { path, scheme } = (value ?? {}) as { path?: unknown; scheme?: unknown };
  return typeof path === "string" && typeof scheme === "string";
}

function isPlace(value: unknown): value is PlaceLike {
  const { uri, range } = (value ?? {}) as { uri?: unknown; range?: unknown };
  return isAddress(uri) && typeof range === "object" && range !== null;
}

/** A reference as a variable, if it is a text, a URI or a location. */
function variableOf({ id, modelDescription, value }: ChatReferenceLike): Variable[] {
  const name = modelDescription ?? id;
  if (typeof value === "string") return [{ name, value }];
  if (isAddress(value)) return [{ name, value: value.toString() }];
  if (!isPlace(value)) return [];
  const { start, end } = value.range;
  return [{ name, value: `${value.uri.toString()}#L${start.line + 1}-L${end.line + 1}` }];
}

/** The words of a response; a button has none. */
function wordsOf(parts: readonly object[]): string {
  return parts.map(wordOf).join("");
}

function wordOf(part: object): string {
  const { value, title } = part as { value?: unknown; title?: unknown };
  if (Array.isArray(value)) return `${pathsOf(value as TreeLike[], "").join("\n")}\n`;
  const markdown = (value as { value?: unknown } | undefined)?.value;
  if (typeof markdown === "string") return markdown;
  if (isAddress(value)) return typeof title === "string" ? title : value.path;
  if (isPlace(value)) return typeof title === "string" ? title : value.uri.path;
  return "";
}

interface TreeLike {
  readonly name: string;
  readonly children?: readonly TreeLike[];
}

function pathsOf(tree: readonly TreeLike[], folder: string): string[] {
  return tree.flatMap(({ name, children }) => {
    const path = folder + name;
    return children === undefined ? [path] : pathsOf(children, `${path}/`);
  });
}
