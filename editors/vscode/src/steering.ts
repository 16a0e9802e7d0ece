// What a user can do with a session's past and its context: decide about calls, ask again, branch; compact, undo, redo,
// edit, pin, leave out. Each is one request of the sidecar, and what it answers in words.

import { argumentsOf, type Message, type Session } from "@threadhold/client";
import { counted, isCovered } from "./compaction-row.ts";
import { listOf, openCalls, saidIn } from "./conversation.ts";
import type { Chat } from "./chat.ts";
import type { Action, Original } from "./view.ts";

type Of<Type extends Action["type"]> = Extract<Action, { type: Type }>;

/** Decides about calls that wait. */
export async function decide(session: Session, { callIds, decision, note }: Of<"decide">): Promise<void> {
  const decisions = callIds.map((toolCallId) => ({ toolCallId, decision, ...(note !== undefined && { note }) }));
  await session.request("tool/decide", { decisions });
}

/** Runs a call that a restart left open. */
export async function rerun(chat: Chat, session: Session, callId: string): Promise<void> {
  const call = openCalls(session.view.snapshot).find(({ toolCallId }) => toolCallId === callId);
  // It may be run elsewhere by now, and no call runs twice.
  if (call === undefined || chat.running.has(callId)) return;
  const result = await chat.invoke({ ...call, sessionId: session.id }, new AbortController().signal);
  await chat.bring(session, callId, result);
}

/** Has the model go on without the result of a call. */
export async function abandon(session: Session, callId: string): Promise<void> {
  const content = "The editor ended while this ran, and the user goes on without it. Whether it was done is not known.";
  await session.request("tool/result", { toolCallId: callId, content, isError: true });
}

/** Compacts now; answers why nothing was done, where nothing was. */
export async function compact(session: Session, more: { focus?: string; redo?: string; keep?: string[] }): Promise<string | undefined> {
  const { compaction, reason } = await session.request("context/compact", more);
  return compaction === undefined ? `Nothing was compacted: ${reason ?? "there is nothing to gain"}.` : undefined;
}

/** What a preview of a compaction says, in a line. */
export async function preview(session: Session): Promise<string> {
  const { preview, reason } = await session.request("context/compact", { preview: true });
  if (preview === undefined) return reason ?? "Nothing would be gained.";
  const { tokensBefore, tokensAfter, numRounds, keptUserIds, asksModel } = preview;
  // The current request stays in any case.
  const kept = keptUserIds.length === 0 ? "" : `${counted(keptUserIds.length, "earlier message")} of yours ${keptUserIds.length === 1 ? "stays as it is" : "stay as they are"}.`;
  const by = asksModel ? "A model would sum up" : "Without a model,";
  return (
    `${by} ${counted(numRounds, "round")}${asksModel ? "" : " would be named"}: from ${tokensBefore.toLocaleString("en-US")} to about ` +
    `${tokensAfter.toLocaleString("en-US")} tokens. ${kept}`
  );
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
  return known === undefined ? labelled(messageId, "", "Left out", await whole(session, messageId)) : originalOf(known);
}

function originalOf({ id, role, parts }: Message): Original {
  const said = parts.map((part) => {
    if (part.type === "toolCall") {
      const given = argumentsOf(part);
      return `${part.name} ${given === undefined ? String(part.arguments) : JSON.stringify(given, null, 2)}`;
    }
    if (part.type === "toolResult") return saidIn(listOf(part.content)).text;
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

/** Asks a request again, or has an answer given again. */
export async function retry(session: Session, messageId: string, words?: string): Promise<void> {
  // What was attached to the request stays with it.
  const message = session.view.snapshot.messages.find(({ id }) => id === messageId);
  const rest = (message?.parts ?? []).filter(({ type }) => type !== "text");
  const content = words === undefined ? undefined : [{ type: "text" as const, text: words }, ...rest];
  await session.request("turn/retry", { fromMessageId: messageId, ...(content !== undefined && { content }) });
}
