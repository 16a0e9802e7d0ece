// What all that is drawn shares: telling the host what the user did, and what of the drawing is the webview's own (what
// is folded open, what is being typed into a row). Nothing of the session is kept here.

import type { Action, Original } from "../view.ts";

/** What of the drawing of a session is the webview's own. */
export class Kept {
  /** What is folded open, by its row and its name. */
  readonly open = new Set<string>();
  /** Words that are being typed into rows, by row and field: they outlive a redraw. */
  readonly typed = new Map<string, string>();
  /** What was chosen: messages to be brought back, by compaction; files to be restored, by the row that asks. */
  readonly chosen = new Map<string, Set<string>>();
  /** What the host told of what compactions cover. */
  readonly originals = new Map<string, { told: Original[]; before?: number }>();
  /** Results that were asked for whole, by call. */
  readonly results = new Map<string, string>();
}

/** Of the session that is shown. */
export interface Desk extends Kept {
  post(action: Action): void;
  /** Draws a row again. */
  redraw(rowId: string): void;
  copy(text: string): void;
}
