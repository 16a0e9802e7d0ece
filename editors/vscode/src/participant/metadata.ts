// Metadata that is persisted with an answer in the editor's own chat, and read back from its history: summaries in the
// shapes that other extensions use too, and the rest, which only this extension knows, as one JSON text.

import { createHash } from "node:crypto";
import {
  type ChatRequestLike,
  type ChatResponseLike,
  fromChatContext,
  joinedMetadata,
  type Round,
  type ToolResult,
  type Turn,
  type TurnMetadata,
  type Variable,
} from "@threadhold/client";

/** State of a turn that the editor's history does not keep. */
export interface Kept {
  /** The session that the turn is in. */
  sessionId: string;
  /** The name that the request has there. The editor tells no id of a request while it is answered. */
  requestId: string;
  /** The request's attachments with their contents. */
  variables?: Variable[];
  /** Rounds with their tool results; missing if they were too large. */
  rounds?: Round[];
}

/** Metadata of a result, as the editor persists it. */
export type Metadata = { readonly [key: string]: unknown };

/** The field that is ours alone. */
const OURS = "threadholdTurn";

/**
 * Rounds that weigh more are not persisted a second time, nor is what was given: the editor hands all metadata of a chat
 * over with each request, and the sidecar has them.
 */
const MOST_CHARACTERS = 8_000_000;

/**
 * Limit in bytes for the metadata of all turns together: a message to the sidecar may have 64 MiB. Of older turns it is told
 * the words of the answers, and has the rounds itself.
 */
const MOST_TOGETHER = 40_000_000;

/**
 * Metadata for the editor. What is ours is a text: an editor may take an object with a key such as `$mid`, which an
 * argument of a tool may well have, for one of its own and change it.
 */
export function persisted(kept: Kept, { summary, summaries, threadhold }: TurnMetadata): Metadata {
  const { rounds: _, ...given } = kept;
  const forms = [kept, given, nameIn(kept)].map((form) => JSON.stringify(form));
  return {
    ...(summary !== undefined && { summary }),
    ...(summaries !== undefined && { summaries }),
    ...(threadhold !== undefined && { threadhold }),
    [OURS]: forms.find((form) => form.length <= MOST_CHARACTERS) ?? forms.at(-1),
  };
}

/** Our part of a result's metadata; undefined if there is none or it cannot be read. */
export function keptIn(metadata: Metadata | undefined): Kept | undefined {
  const text = metadata?.[OURS];
  if (typeof text !== "string") return undefined;
  try {
    const kept = JSON.parse(text) as Partial<Kept> | null;
    return typeof kept?.sessionId === "string" && typeof kept.requestId === "string" ? (kept as Kept) : undefined;
  } catch {
    return undefined;
  }
}

type Entry = ChatRequestLike | ChatResponseLike;

/** The command that compacts, without its slash. */
export const COMPACT = "compact";

/**
 * A history of the editor's chat without the requests that only compact: they are nothing that was said. Their summaries
 * go with the turn before them.
 */
function shownEntries(history: readonly Entry[]): Entry[] {
  const said: Entry[] = [];
  let isAside = false;
  for (const entry of history) {
    if (!isResponse(entry)) isAside = entry.command === COMPACT;
    const last = said.at(-1);
    if (!isAside) said.push(entry);
    else if (isResponse(entry) && last !== undefined && isResponse(last))
      said[said.length - 1] = withSummaries(last, entry.result?.metadata);
  }
  return said;
}

function withSummaries(response: ChatResponseLike, { summary, summaries, threadhold }: TurnMetadata = {}): ChatResponseLike {
  if (summary === undefined && summaries === undefined && threadhold === undefined) return response;
  const made = { ...(summary && { summary }), ...(summaries && { summaries }), ...(threadhold !== undefined && { threadhold }) };
  return { ...response, result: { ...response.result, metadata: { ...joinedMetadata(response.result?.metadata, made) } } };
}

/** A history of the editor's chat as the sidecar takes it. */
export function turnsOf(entries: readonly Entry[]): Turn[] {
  const history = shownEntries(entries);
  const kept = keptOf(history);
  const known = history.flatMap((entry, at) => {
    if (isResponse(entry)) return [];
    const next = history[at + 1];
    return [next !== undefined && isResponse(next) ? kept.get(next.result?.metadata) : undefined];
  });
  const turns = fromChatContext(history, {
    idOf: (_, __, at) => known[at]?.requestId,
    roundsOf: (metadata) => kept.get(metadata)?.rounds ?? roundsOfOthers(metadata),
  });
  return turns.map(({ metadata, variables: _, ...turn }, at) => {
    const { [OURS]: __, ...others } = metadata ?? {};
    // The history has the address of what was given, and no longer what it was.
    const variables = known[at]?.variables;
    return { ...turn, ...(variables !== undefined && { variables }), ...(metadata !== undefined && { metadata: others }) };
  });
}

/** Our part of each answer's metadata, newest first in full; older ones shrink to their names once the limit is reached. */
function keptOf(history: readonly Entry[]): Map<Metadata | undefined, Kept> {
  const all = new Map<Metadata | undefined, Kept>();
  let bytes = 0;
  for (const entry of [...history].reverse()) {
    const metadata = isResponse(entry) ? entry.result?.metadata : undefined;
    const kept = keptIn(metadata);
    if (metadata === undefined || kept === undefined) continue;
    bytes += Buffer.byteLength(String(metadata[OURS]));
    all.set(metadata, bytes <= MOST_TOGETHER ? kept : nameIn(kept));
  }
  return all;
}

/** As little as still names the turn. */
function nameIn({ sessionId, requestId }: Kept): Kept {
  return { sessionId, requestId };
}

/**
 * The session of a chat: by the editor's own address of the chat, else the one that its newest turn was in. Missing where
 * neither is known: then it is a new one.
 */
export function sessionOf(address: string | undefined, history: readonly Entry[]): string | undefined {
  if (address !== undefined) return `chat-${createHash("sha256").update(address).digest("hex").slice(0, 32)}`;
  const newest = history.findLast((entry) => isResponse(entry) && keptIn(entry.result?.metadata) !== undefined);
  return newest !== undefined && isResponse(newest) ? keptIn(newest.result?.metadata)?.sessionId : undefined;
}

function isResponse(entry: Entry): entry is ChatResponseLike {
  return Array.isArray((entry as Partial<ChatResponseLike>).response);
}

/**
 * Rounds as another extension persisted them: `toolCallRounds` with `{id, response, toolCalls}`, and `toolCallResults` by
 * the calls' ids. Without the answer at the end of a turn, which is in the history, a summary has nothing to stand for.
 */
function roundsOfOthers(metadata: Metadata): Round[] | undefined {
  const { toolCallRounds: rounds, toolCallResults } = metadata;
  if (!Array.isArray(rounds)) return undefined;
  const results = isObject(toolCallResults) ? toolCallResults : {};
  const read = rounds.filter(isObject).map((round) => roundOf(round, results));
  return read.length > 0 ? read : undefined;
}

function roundOf({ id, response, summary, toolCalls }: Fields, results: Fields): Round {
  const calls = (Array.isArray(toolCalls) ? toolCalls.filter(isObject) : []).flatMap(({ id: call, name, arguments: given }) =>
    typeof call === "string" && typeof name === "string"
      ? [{ type: "toolCall" as const, id: call, name, arguments: argumentsOf(given) }]
      : [],
  );
  const said = typeof response === "string" && response !== "" ? [{ type: "text" as const, text: response }] : [];
  const answered = calls.flatMap((call): ToolResult[] => {
    const result = results[call.id];
    return result === undefined ? [] : [{ toolCallId: call.id, content: [{ type: "text", text: resultText(result) }] }];
  });
  return {
    ...(typeof id === "string" && { id }),
    assistant: { parts: [...said, ...calls] },
    results: answered,
    ...(typeof summary === "string" && { summary }),
  };
}

function argumentsOf(given: unknown): string {
  return typeof given === "string" ? given : JSON.stringify(given ?? {});
}

/** The words of a result: `{content: [{value}]}`, or whatever it is. */
function resultText(result: unknown): string {
  if (typeof result === "string") return result;
  const content = isObject(result) ? result["content"] : undefined;
  if (!Array.isArray(content)) return JSON.stringify(result);
  return content.map((part) => (isObject(part) && typeof part["value"] === "string" ? part["value"] : JSON.stringify(part))).join("\n");
}

type Fields = { readonly [name: string]: unknown };

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
