// Services and state that everything drawn in the panel shares: messages to the host, and the view state that only the
// webview knows (expanded sections, text being typed into a row).

import type { Action, Original } from "../shared/view.ts";
import type { CodeActions } from "./markdown/code-block.ts";

/** View state of one session that the host does not know. */
export class SessionState {
  /** Keys of expanded sections. */
  readonly open = new Set<string>();
  /** Text being typed into rows, by row and field; outlives a redraw. */
  readonly typed = new Map<string, string>();
  /** Selections: messages to restore by compaction id, files to restore by row id. */
  readonly chosen = new Map<string, Set<string>>();
  /** Original messages by compaction id, as far as they were loaded; `before` loads earlier ones. */
  readonly originals = new Map<string, { messages: Original[]; before?: number }>();
  /** The end of what calls printed that run, by call id. */
  readonly outputs = new Map<string, string>();
  /** Whole results, where the user expanded a shortened one, by call id. */
  readonly results = new Map<string, string>();
}

/** The panel's services, with the view state of the session that is shown. */
export interface PanelContext extends SessionState, CodeActions {
  post(action: Action): void;
  /** Draws a row again. */
  redraw(rowId: string): void;
}
