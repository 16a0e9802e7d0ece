// What all that is drawn shares: telling the host what the user did, and what of the drawing is the webview's own (what
// is folded open, what is being typed into a row). Nothing of the session is kept here.

import type { Action, Original } from "../view.ts";

export interface Desk {
  post(action: Action): void;
  /** What is folded open, by its row and its name. */
  open: Set<string>;
  /** Words that are being typed into rows, by row and field: they outlive a redraw. */
  typed: Map<string, string>;
  /** What was chosen: messages to be brought back, by compaction; files to be restored, by the row that asks. */
  chosen: Map<string, Set<string>>;
  /** What the host told of what compactions cover. */
  originals: Map<string, { told: Original[]; before?: number }>;
  /** Results that were asked for whole, by call. */
  results: Map<string, string>;
  /** Draws a row again. */
  redraw(rowId: string): void;
  copy(text: string): void;
}
