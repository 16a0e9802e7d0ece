// Tracks the rows and the frame that the webview has, and computes the updates that it needs. Imports no editor.

import type { Snapshot } from "@threadhold/client";
import type { AnswerRow, Frame, Row, ToPanel } from "../shared/view.ts";
import { Conversation, type RowContext, textIn } from "./conversation.ts";

export class PanelUpdates {
  readonly #conversation = new Conversation();
  /** The rows that the webview has. */
  #rows: Row[] = [];
  #frame = "";
  #pictures: ReadonlyMap<string, string> = new Map();

  /** The webview has nothing. */
  forget(): void {
    this.#rows = [];
    this.#frame = "";
    this.#pictures = new Map();
  }

  /** A frame, where it is another than before; and what attached pictures look like that it is the first to have. */
  frame(frame: Frame, pictures: ReadonlyMap<string, string>): ToPanel[] {
    const text = JSON.stringify(frame);
    if (text === this.#frame) return [];
    this.#frame = text;
    const others = [...pictures].filter(([id]) => !this.#pictures.has(id));
    this.#pictures = pictures;
    return [...others.map(([id, source]): ToPanel => ({ type: "picture", id, source })), { type: "frame", frame }];
  }

  /** There is no session. */
  nothing(): ToPanel[] {
    return this.#changed(0, []);
  }

  rows(snapshot: Snapshot, beside: RowContext): ToPanel[] {
    return this.#changed(0, this.#conversation.rows(snapshot, beside));
  }

  /** Updates if only the streamed answer changed since the last rows. */
  grown(snapshot: Pick<Snapshot, "streaming">): ToPanel[] {
    return this.#appended(snapshot) ?? this.#changedTail(snapshot);
  }

  /** How the words of the answer went on; undefined where that is not all. */
  #appended({ streaming }: Pick<Snapshot, "streaming">): ToPanel[] | undefined {
    const at = this.#rows.findLastIndex((row) => row.kind === "answer" && row.streaming);
    const row = this.#rows[at] as AnswerRow | undefined;
    if (streaming === undefined || row === undefined || row.messageId !== streaming.messageId) return undefined;
    if (streaming.parts.some(({ type }) => type === "toolCall")) return undefined;
    const { text, reasoning } = textIn(streaming.parts);
    if (!text.startsWith(row.text) || !reasoning.startsWith(row.reasoning)) return undefined;
    this.#rows[at] = { ...row, text, reasoning };
    return [{ type: "append", id: row.id, text: text.slice(row.text.length), reasoning: reasoning.slice(row.reasoning.length) }];
  }

  #changedTail(snapshot: Pick<Snapshot, "streaming">): ToPanel[] {
    const { at, rows } = this.#conversation.tail(snapshot);
    return this.#changed(at, rows);
  }

  /** Has these rows stand from a place on, and tells those that are others than before. */
  #changed(from: number, rows: readonly Row[]): ToPanel[] {
    const before = this.#rows.splice(from);
    for (const row of rows) this.#rows.push(row);
    let same = 0;
    while (same < rows.length && same < before.length && isSame(rows[same], before[same])) same += 1;
    let tail = 0;
    while (tail < rows.length - same && tail < before.length - same && isSame(rows.at(-1 - tail), before.at(-1 - tail))) tail += 1;
    const remove = before.length - same - tail;
    const put = rows.slice(same, rows.length - tail);
    return remove === 0 && put.length === 0 ? [] : [{ type: "rows", at: from + same, remove, rows: put }];
  }
}

function isSame(one: Row | undefined, other: Row | undefined): boolean {
  return one?.id === other?.id && one?.rev === other?.rev;
}
