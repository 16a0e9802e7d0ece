// What the user is told while they do not see a session: that a decision waits there, or that its answer is complete. The
// icon of the panel shows how many decisions wait.

import type { Session, Snapshot } from "@threadhold/client";
import * as vscode from "vscode";
import type { Notify } from "../configuration.ts";
import { escapeLinks } from "../shared/text.ts";
import { visibleLine } from "../shared/visible.ts";
import { callWords } from "./call-words.ts";
import { isBusy } from "./frame.ts";

/** Characters of a title. */
const MOST_TITLE = 60;
/** Characters of a call's main argument. */
const MOST_ABOUT = 100;

interface NotificationContext {
  /** True if the user sees this session now. */
  isSeen(session: Session): boolean;
  wanted(): Notify;
  show(sessionId: string): void;
  /** Shows how many decisions wait. */
  count(decisions: number): void;
}

interface Noted {
  asked: ReadonlySet<string>;
  busy: boolean;
}

export class Notifications {
  readonly #context: NotificationContext;
  readonly #noted = new Map<string, Noted>();

  constructor(context: NotificationContext) {
    this.#context = context;
  }

  /** Looks at a session that changed. */
  look(session: Session): void {
    const { snapshot } = session.view;
    const before = this.#noted.get(session.id);
    const now = { asked: askedIn(snapshot), busy: isBusy(snapshot) };
    if (session.freshness === "closed") this.#noted.delete(session.id);
    // While the sidecar restarts, nothing is known of it.
    else if (session.freshness === "live") this.#noted.set(session.id, now);
    else return;
    this.#context.count([...this.#noted.values()].reduce((sum, { asked }) => sum + asked.size, 0));
    const wanted = this.#context.wanted();
    if (wanted === "never" || this.#context.isSeen(session)) return;
    const fresh = [...now.asked].find((callId) => before?.asked.has(callId) !== true);
    if (fresh !== undefined) this.#tell(session, `is waiting for your decision: ${what(snapshot, fresh)}`);
    else if (wanted === "decisionsAndAnswers" && before?.busy === true && !now.busy && snapshot.heldBy === undefined) {
      this.#tell(session, snapshot.state === "error" ? "has failed" : "has answered");
    }
  }

  #tell(session: Session, words: string): void {
    const open = "Open Session";
    const title = visibleLine(session.view.snapshot.title ?? "A session", MOST_TITLE);
    void vscode.window.showInformationMessage(escapeLinks(`“${title}” ${words}.`), open).then((answer) => {
      if (answer === open) this.#context.show(session.id);
    });
  }
}

/** Calls of a session that the user decides about here. */
function askedIn({ heldBy, pause }: Snapshot): Set<string> {
  return new Set((heldBy === undefined ? (pause?.reasons ?? []) : []).map(({ toolCallId }) => toolCallId));
}

/** What a call would do, cut to a line: it is decided about where all of it is shown. */
function what({ pause }: Snapshot, callId: string): string {
  const reason = pause?.reasons.find(({ toolCallId }) => toolCallId === callId);
  if (reason === undefined) return "a call";
  const { bare, about } = callWords(reason.name, textOf(reason.arguments));
  const words = bare.map(({ text }) => text).join("");
  return about === "" ? words : `${words}, ${visibleLine(about, MOST_ABOUT)}`;
}

function textOf(given: unknown): string {
  return typeof given === "string" ? given : (JSON.stringify(given) ?? "");
}
