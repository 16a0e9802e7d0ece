// Sessions that the user pinned or archived in the list. They are kept by the editor, per folder, and change nothing of a
// session.

import type * as vscode from "vscode";
import type { SessionMark } from "../shared/view.ts";

const KEPT = "threadhold.sessionMarks";
/** Of each mark: what is older is forgotten. */
const MOST_KEPT = 1_000;
const MARKS: readonly SessionMark[] = ["pinned", "archived"];

export class SessionMarks {
  readonly #state: vscode.Memento;

  constructor(state: vscode.Memento) {
    this.#state = state;
  }

  /** Sessions with this mark, the newest last. */
  all(mark: SessionMark): readonly string[] {
    return this.#kept[mark] ?? [];
  }

  of(sessionId: string): SessionMark | undefined {
    return MARKS.find((mark) => this.all(mark).includes(sessionId));
  }

  /** Marks a session, or takes the mark away. What is archived is not pinned, and the other way round. */
  async set(sessionId: string, mark: SessionMark, on: boolean): Promise<void> {
    const without = (of: SessionMark): string[] => this.all(of).filter((id) => id !== sessionId);
    const other: SessionMark = mark === "pinned" ? "archived" : "pinned";
    const marked = on ? [...without(mark), sessionId].slice(-MOST_KEPT) : without(mark);
    await this.#state.update(KEPT, { [mark]: marked, [other]: on ? without(other) : this.all(other) });
  }

  /** Forgets a session that was deleted. */
  async forget(sessionId: string): Promise<void> {
    const mark = this.of(sessionId);
    if (mark !== undefined) await this.set(sessionId, mark, false);
  }

  get #kept(): Partial<Record<SessionMark, string[]>> {
    return this.#state.get<Partial<Record<SessionMark, string[]>>>(KEPT) ?? {};
  }
}
