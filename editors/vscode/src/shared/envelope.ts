// The envelope of everything that the host and the webview tell each other: which page, which session, which generation of
// it. Each side drops what is not meant for what it shows. No editor and no document here: both ends are in this file.

import type { Action, ToPanel } from "./view.ts";

/** Address of a message. */
export interface About {
  /** One run of the webview's script; it names itself. */
  page: string;
  /** The session that is shown; empty where there is none. */
  session: string;
  /**
   * Counts up whenever a page or a session begins to be shown, also the same one again. Rows are told by their places, in a
   * list that is empty when a generation begins.
   */
  generation: number;
}

/** From the host to the webview: what is drawn together. */
export interface HostMessage {
  about: About;
  messages: ToPanel[];
}

/** From the webview to the host: what the user did, and where. */
export interface PageMessage {
  about: About;
  action: Action;
}

/** Actions that refer to the session that the user saw. The others refer to the window, or name a session themselves. */
const MEANS_SESSION = {
  ready: false,
  drawn: false,
  focused: false,
  newSession: false,
  listSessions: false,
  closeSessions: false,
  openSession: false,
  markSession: false,
  listArchived: false,
  decideServer: false,
  renameSession: false,
  deleteSession: false,
  draft: false,
  inspect: false,
  dismissNotice: false,
  attach: false,
  attachImage: false,
  attachUris: false,
  removeAttachment: false,
  selectMode: false,
  selectModel: false,
  mention: false,
  attachMention: false,
  toolName: false,
  prompts: false,
  open: false,
  copy: false,
  apply: false,
  insert: false,
  insertNew: false,
  highlight: false,
  command: false,
  slash: true,
  send: true,
  sendPrompt: true,
  cancel: true,
  decide: true,
  retry: true,
  regenerate: true,
  continue: true,
  acceptPlan: true,
  edit: true,
  rewind: true,
  rewindWith: true,
  rewindNot: true,
  undoRewind: true,
  rewindDiff: true,
  putBack: true,
  keepChanges: true,
  undoChanges: true,
  showChange: true,
  viewChanges: true,
  removeWaiting: true,
  abandon: true,
  rerun: true,
  branch: true,
  takeOver: true,
  compact: true,
  showVersion: true,
  undo: true,
  redo: true,
  editSummary: true,
  review: true,
  earlier: true,
  covered: true,
  wholeResult: true,
  stopCall: true,
  pin: true,
  unpin: true,
  exclude: true,
  forgetLimits: true,
  dismissWarning: true,
  diff: true,
} as const satisfies Record<Action["type"], boolean>;

export function meansSession({ type }: Action): boolean {
  return MEANS_SESSION[type];
}

/** The host's end. */
export class HostChannel {
  #page: string | undefined;
  #session = "";
  #generation = 0;

  /** True if there is a page that hears. */
  get isHeard(): boolean {
    return this.#page !== undefined;
  }

  /** A page begins: it has nothing. */
  open(page: string): void {
    this.#page = page;
    this.#generation += 1;
  }

  /** There is no page any more, or not yet: nothing may wait for the next one. */
  close(): void {
    this.#page = undefined;
  }

  /** A session begins to be shown; none where it is undefined. */
  show(session: string | undefined): void {
    this.#session = session ?? "";
    this.#generation += 1;
  }

  /** An envelope for the page; undefined where there is none. */
  seal(messages: ToPanel[]): HostMessage | undefined {
    if (this.#page === undefined) return undefined;
    return { about: { page: this.#page, session: this.#session, generation: this.#generation }, messages };
  }

  /** Tells if an action may be carried out while `session` is open here. */
  accepts({ about, action }: PageMessage, session: string | undefined): boolean {
    if (action.type === "ready") return true;
    if (about.page !== this.#page) return false;
    if (action.type === "drawn") return about.generation === this.#generation;
    // What is asked before there is a session is asked in the one that comes.
    return !meansSession(action) || about.session === "" || about.session === session;
  }
}

/** The webview's end. */
export class PageChannel {
  #about: About;

  constructor(page: string) {
    this.#about = { page, session: "", generation: 0 };
  }

  /** Classifies a message: dropped, more of the same, or the beginning of the same or another session. */
  take({ about }: HostMessage): "dropped" | "more" | "same session" | "other session" {
    const { page, session, generation } = this.#about;
    if (about.page !== page || about.generation < generation) return "dropped";
    if (about.generation === generation) return about.session === session ? "more" : "dropped";
    this.#about = about;
    return about.session === session ? "same session" : "other session";
  }

  /** The session that is shown; empty where there is none. */
  get session(): string {
    return this.#about.session;
  }

  /** An envelope for the host. */
  seal(action: Action): PageMessage {
    return { about: this.#about, action };
  }
}
