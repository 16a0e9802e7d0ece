// Requests on a session's past and context: decide about calls, ask again, compact, undo, redo, edit, pin, exclude. Each is
// one request of the sidecar, with its result in words.

import { argumentsOf, type Message, type Session } from "@threadhold/client";
import { counted, isCovered } from "../panel/compaction-row.ts";
import { listOf, openCalls, textIn } from "../panel/conversation.ts";
import type { Action, Original } from "../shared/view.ts";
import type { Chat } from "./chat.ts";

type Of<Type extends Action["type"]> = Extract<Action, { type: Type }>;

/** Decides about calls that wait. */
export async function decide(session: Session, { callIds, type: _, ...how }: Of<"decide">): Promise<void> {
  const decisions = callIds.map((toolCallId) => ({ toolCallId, ...how }));
  await session.request("tool/decide", { decisions });
}

/** The newest request of the user that the model may see. */
export function newestRequest({ view }: Session): Message | undefined {
  return view.snapshot.messages.findLast(({ role, visibleToModel }) => role === "user" && visibleToModel !== false);
}

/** Has the model go on where its answer was cut off. What is attached and typed stays for the next request. */
export async function goOn(chat: Chat, session: Session): Promise<void> {
  const turn = session.view.snapshot.turns.at(-1)?.id;
  // The second of two clicks comes before the new turn is told.
  if (turn === undefined || continued.get(session) === turn) return;
  continued.set(session, turn);
  try {
    await chat.askWith(session, [{ type: "text", text: "Your answer was interrupted. Continue where it ended." }]);
  } catch (error) {
    continued.delete(session);
    throw error;
  }
}

/** The turns that were continued. */
const continued = new WeakMap<Session, string>();

/** Runs a call that a restart left open. */
export async function rerun(chat: Chat, session: Session, callId: string): Promise<void> {
  const call = openCalls(session.view.snapshot).find(({ toolCallId }) => toolCallId === callId);
  // It may be run elsewhere by now, and no call runs twice.
  if (call === undefined || chat.running.has(callId)) return;
  const result = await chat.invoke({ ...call, sessionId: session.id }, new AbortController().signal);
  await chat.deliver(session, callId, result);
}

/** Has the model go on without the result of a call. */
export async function abandon(session: Session, callId: string): Promise<void> {
  const content =
    "The editor was closed while this call ran, and the user chose to continue without its result. Whether it completed is unknown.";
  await session.request("tool/result", { toolCallId: callId, content, isError: true });
}

/** Compacts now; answers why nothing was done, where nothing was. */
export async function compact(session: Session, more: { focus?: string; redo?: string; keep?: string[] }): Promise<string | undefined> {
  const { compaction, reason } = await session.request("context/compact", more);
  return compaction === undefined ? `Nothing was compacted: ${reason ?? "it would save no tokens"}.` : undefined;
}

/** One line that describes what compacting now would do. */
export async function preview(session: Session): Promise<string> {
  const { preview, reason } = await session.request("context/compact", { preview: true });
  if (preview === undefined) return reason ?? "Compacting now would save no tokens.";
  const { tokensBefore, tokensAfter, numRounds, keptUserIds, asksModel } = preview;
  // The current request stays in any case.
  const kept =
    keptUserIds.length === 0
      ? ""
      : `${counted(keptUserIds.length, "earlier message")} of yours ${keptUserIds.length === 1 ? "stays" : "stay"} unchanged.`;
  const rounds = counted(numRounds, "round");
  const how = asksModel ? `A model summarizes ${rounds}` : `Condenses ${rounds} without a model`;
  const [before, after] = [tokensBefore, tokensAfter].map((count) => count.toLocaleString("en-US"));
  return `${how}: from ${before} to about ${after} tokens. ${kept}`;
}

/** So many messages of what a compaction stands for are read at a time. */
const PAGE = 100;

/** The newest of what a compaction stands for, as it was said, or what stands before those that were asked for. */
export async function originalsOf(
  session: Session,
  { compactionId, before }: Of<"covered">,
): Promise<{ originals: Original[]; before?: number }> {
  const compaction = session.view.snapshot.compactions.find(({ id }) => id === compactionId);
  const originals: Original[] = [];
  if (compaction === undefined) return { originals };
  const { coversFromOrd: from = 0, coversToOrd: to = -1, excludedIds = [] } = compaction;
  let rest: number | undefined;
  if (to >= from) {
    const page = await session.request("session/messages", { before: before ?? to + 1, limit: PAGE });
    originals.push(...page.messages.filter((message) => message.ord >= from && isCovered(message)).map(originalOf));
    if (page.before > from) rest = page.before;
  }
  // What was left out stands anywhere, and is told with the newest.
  const listed = new Set(originals.map(({ messageId }) => messageId));
  for (const id of before === undefined ? excludedIds : []) if (!listed.has(id)) originals.push(await leftOut(session, id));
  return { originals, ...(rest !== undefined && { before: rest }) };
}

async function leftOut(session: Session, messageId: string): Promise<Original> {
  const known = session.view.snapshot.messages.find(({ id }) => id === messageId);
  return known === undefined ? labelled(messageId, "", "Excluded", await whole(session, messageId)) : originalOf(known);
}

function originalOf({ id, role, parts }: Message): Original {
  const said = parts.map((part) => {
    if (part.type === "toolCall") {
      const given = argumentsOf(part);
      return `${part.name} ${given === undefined ? String(part.arguments) : JSON.stringify(given, null, 2)}`;
    }
    if (part.type === "toolResult") return textIn(listOf(part.content)).text;
    if (part.type === "text" || part.type === "reasoning") return part.text;
    return part.type === "contextFile" ? `${part.path}\n${part.text}` : `(${part.type})`;
  });
  return labelled(id, role, role === "user" ? "You" : role === "assistant" ? "Agent" : "Result", said.join("\n\n"));
}

function labelled(messageId: string, role: string, who: string, text: string): Original {
  return { messageId, role, label: `${who}: ${text.replace(/\s+/g, " ").slice(0, 120)}`, text };
}

/** All of a message, or of the result of a call, however long it is. */
export async function whole(session: Session, ref: string): Promise<string> {
  let text = "";
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const page: { text: string; nextOffset?: number } = await session.request("context/recall", { ref, offset });
    text += page.text;
    offset = page.nextOffset;
  }
  return text;
}

/** Asks a request again, or has an answer given again. Answers the revision that keeps the conversation from before. */
export async function retry(session: Session, messageId: string, words?: string): Promise<string | undefined> {
  // What was attached to the request stays with it.
  const message = session.view.snapshot.messages.find(({ id }) => id === messageId);
  const rest = (message?.parts ?? []).filter(({ type }) => type !== "text");
  const content = words === undefined ? undefined : [{ type: "text" as const, text: words }, ...rest];
  return (await session.request("turn/retry", { fromMessageId: messageId, ...(content !== undefined && { content }) })).revision;
}
