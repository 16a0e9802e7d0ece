// What stands behind the conversation after a part of it was taken away: that it was, and a way back. No editor here.

import type { Session, Snapshot } from "@threadhold/client";
import { isBusy } from "../panel/frame.ts";
import type { NoticeRow, RewindGoal } from "../shared/view.ts";
import type { Restore } from "./restorer.ts";

/** A part of the conversation that was taken away. */
export interface Rewound {
  session: Session;
  /** Revision that has it. */
  revisionId: string;
  goal: RewindGoal;
  /** Message before it; missing where the conversation began with it. */
  before: string | undefined;
  /** Requests behind that message: those that were asked again. */
  requests: number;
  /** The files that were restored with it. */
  restore?: Restore;
}

/** What is known of a message and of those behind it before they are taken away. */
export type Cut = Pick<Rewound, "before" | "requests"> & {
  /** More than an answer goes: a version of the message is no way back to it. */
  isMore: boolean;
};

export function cutAt({ messages }: Pick<Snapshot, "messages">, messageId: string, goal: RewindGoal): Cut {
  const at = messages.findIndex(({ id }) => id === messageId);
  const isRequest = messages[at]?.role === "user";
  const isMore = goal === "rewind" || messages.slice(at + 1).some(({ role }) => role === "user");
  return { before: messages[at - 1]?.id, requests: goal !== "rewind" && isRequest ? 1 : 0, isMore };
}

const SAID: Record<RewindGoal, { text: string; label: string }> = {
  rewind: { text: "Rewound the conversation.", label: "Undo Rewind" },
  askAgain: { text: "Asked again without the later conversation.", label: "Restore Conversation" },
  answerAgain: { text: "Answered again without the later conversation.", label: "Restore Conversation" },
};

/** The notice; undefined while the agent is at work, and once something else was asked. */
export function rewoundNotice({ goal, before, requests }: Rewound, snapshot: Snapshot): NoticeRow | undefined {
  const { messages, heldBy } = snapshot;
  const at = before === undefined ? -1 : messages.findIndex(({ id }) => id === before);
  const isThere = before === undefined || at >= 0;
  const asked = messages.slice(at + 1).filter(({ role }) => role === "user").length;
  if (!isThere || asked > requests || isBusy(snapshot) || heldBy !== undefined) return undefined;
  const { text, label } = SAID[goal];
  const said = `${text} The previous conversation is kept as a version of this session.`;
  return { kind: "notice", id: "notice rewound", rev: 0, level: "info", text: said, actions: [{ label, action: { type: "undoRewind" } }] };
}
