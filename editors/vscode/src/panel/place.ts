// One webview in which the panel is shown: sending it updates as fast as it draws them. Changes in between are sent together.

import type { Session } from "@threadhold/client";
import type * as vscode from "vscode";
import type { Changed, Chat } from "../session/chat.ts";
import type { CodeColors, CodePiece } from "../shared/code.ts";
import { HostChannel, type PageMessage } from "../shared/envelope.ts";
import { textOf } from "../shared/slash.ts";
import type { Action, Frame, ToPanel } from "../shared/view.ts";
import { sentLast } from "./frame.ts";
import { PanelUpdates } from "./updates.ts";

/** What all places show. */
export interface PlaceContent {
  chat: Chat;
  /** Session that the places are told of. */
  session(): Session | undefined;
  frame(): Frame;
  rows(updates: PanelUpdates): ToPanel[];
  /** Has an action of the user carried out. */
  act(action: Action, place: Place): void;
}

export class Place {
  readonly #content: PlaceContent;
  readonly #updates = new PanelUpdates();
  readonly #end = new HostChannel();
  #webview: vscode.Webview | undefined;
  /** The webview is still drawing the last update. */
  #drawing = false;
  #behind: "nothing" | "streaming" | "all" = "nothing";
  /** Calls that printed something since the last update. */
  readonly #printed = new Set<string>();
  /** The webview still needs the session's draft. */
  #owesDraft = true;
  /** A message or a compaction that is to be shown, and its session. */
  #revealed: { session: Session | undefined; of: string } | undefined;
  #wantsFocus = false;

  constructor(content: PlaceContent) {
    this.#content = content;
  }

  /** Begins to be shown in a webview, which is drawn by the script of `html`. */
  attach(webview: vscode.Webview, html: string): void {
    this.#webview = webview;
    // What is posted before a page says that it is there would wait for it, and be drawn beside what it asks for.
    this.#end.close();
    webview.html = html;
    webview.onDidReceiveMessage((done: PageMessage) => {
      if (this.#webview === webview) this.#hear(done);
    });
  }

  /** Ends with its webview; another one may have taken the place of that. */
  detach(webview: vscode.Webview): void {
    if (this.#webview !== webview) return;
    this.#webview = undefined;
    this.#end.close();
  }

  /** Has an action carried out that is meant for what is shown. */
  #hear(done: PageMessage): void {
    const { about, action } = done;
    if (action.type === "ready") this.#end.open(about.page);
    if (this.#end.accepts(done, this.#content.chat.shownId)) this.#content.act(action, this);
    // What the user typed is theirs, whatever is shown by now.
    else if (action.type === "send" || action.type === "edit") this.giveBack(action.text);
    else if (action.type === "slash" || action.type === "sendPrompt") this.giveBack(textOf(action));
  }

  /** Gives the prompt the focus, as soon as there is one. */
  focus(): void {
    this.#post([{ type: "focus" }]);
    this.#wantsFocus = !this.#end.isHeard;
  }

  /** Puts words into the prompt that could not be sent. */
  giveBack(text: string): void {
    this.#post([{ type: "unsent", text }]);
  }

  /** The webview begins: it has nothing. */
  begin(): void {
    this.#forget();
    this.update({ streamingOnly: false });
    // Behind the frame, which says whether the prompt can be typed into already.
    if (this.#wantsFocus) this.focus();
  }

  /** The webview drew what it was told. */
  drawn(): void {
    this.#drawing = false;
    if (this.#behind !== "nothing" || this.#printed.size > 0) this.#tell();
  }

  /** Something changed. */
  update({ streamingOnly }: Pick<Changed, "streamingOnly">): void {
    if (this.#behind !== "all") this.#behind = streamingOnly ? "streaming" : "all";
    if (!this.#drawing) this.#tell();
  }

  /** A call of a command printed something. */
  printed(callId: string): void {
    // A page that begins is told of all that run.
    if (!this.#end.isHeard) return;
    this.#printed.add(callId);
    if (!this.#drawing) this.#tell();
  }

  /** Another session is shown, or the same one through another sidecar. */
  show(session: Session | undefined): void {
    this.#end.show(session?.id);
    this.#forget();
  }

  /** Shows what is being typed in another place. */
  follow(text: string, sessionId: string): void {
    this.#post([{ type: "typed", text, sessionId }]);
  }

  /** Shows a message or a compaction of the session that is shown, as soon as it is drawn. */
  reveal(id: string): void {
    // That has the focus then, however late the page begins.
    this.#wantsFocus = false;
    this.#revealed = { session: this.#content.chat.session, of: id };
    this.update({ streamingOnly: false });
  }

  /** Tells something of a session beside its rows; nothing where another one is shown by now. */
  tell(sessionId: string, message: ToPanel): void {
    if (sessionId === this.#content.session()?.id) this.#post([message]);
  }

  /** Offers what something may become that is being typed into the prompt. */
  offer(message: Extract<ToPanel, { type: "mentions" | "tools" | "prompts" }>): void {
    this.#post([message]);
  }

  /** Gives colours of a piece of code that the webview asked for. */
  color(piece: CodePiece, colors: CodeColors | undefined): void {
    this.#post([{ type: "colors", block: piece.block, at: piece.at, ...(colors !== undefined && { colors }) }]);
  }

  /** Other colours hold from now on. */
  recolor(): void {
    this.#post([{ type: "recolor" }]);
  }

  /** The one way to the webview. */
  #post(messages: ToPanel[]): void {
    const told = this.#end.seal(messages);
    if (told !== undefined) void this.#webview?.postMessage(told);
  }

  #forget(): void {
    this.#updates.forget();
    this.#drawing = false;
    this.#behind = "all";
    this.#owesDraft = true;
    for (const callId of this.#content.chat.running.keys()) this.#printed.add(callId);
  }

  #tell(): void {
    if (!this.#end.isHeard) return;
    const session = this.#content.session();
    const behind = this.#behind;
    const streaming = behind === "streaming" ? session?.view.snapshot : undefined;
    this.#behind = "nothing";
    const told = behind === "nothing" ? [] : streaming === undefined ? this.#content.rows(this.#updates) : this.#updates.grown(streaming);
    // While words follow words, nothing around them changes.
    if (behind !== "nothing" && told[0]?.type !== "append")
      told.push(...this.#updates.frame(this.#content.frame(), this.#content.chat.attachments.pictures));
    // While the sidecar restarts, no session is shown, and the prompt stays with the one that was.
    if (this.#owesDraft && session !== undefined) {
      told.unshift({ type: "draft", text: this.#content.chat.draftOf(session), sent: sentLast(session.view.snapshot) });
      this.#owesDraft = false;
    }
    if (this.#revealed !== undefined && this.#revealed.session === session) told.push({ type: "reveal", of: this.#revealed.of });
    this.#revealed = undefined;
    told.push(...this.#outputs());
    if (told.length === 0) return;
    this.#drawing = true;
    this.#post(told);
  }

  /** What calls of the session printed that still run. */
  #outputs(): ToPanel[] {
    const told: ToPanel[] = [];
    for (const callId of this.#printed) {
      const text = this.#content.chat.outputs.of(callId);
      if (text !== undefined && this.#content.chat.running.get(callId)?.sessionId === this.#content.session()?.id)
        told.push({ type: "output", callId, text });
    }
    this.#printed.clear();
    return told;
  }
}
