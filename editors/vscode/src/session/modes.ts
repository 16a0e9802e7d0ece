// The mode of each session of the panel, and which mode its model was told last. All modes offer the same tools, so that a
// change of mode leaves the beginning of the prompt as it is; what a mode does not allow is denied.

import type { Attachment, Tool, TurnStartParams } from "@threadhold/client";
import type * as vscode from "vscode";
import { MODES, type Mode, nameOf } from "../shared/mode.ts";

/** The mode that was chosen last, for sessions that have none of their own. */
const LAST = "threadhold.mode";
const KEPT = "threadhold.modes";
/** Sessions whose modes are kept. */
const MOST_KEPT = 200;

interface Kept {
  mode: Mode;
  /** Missing before the first request. */
  told?: Mode;
}

const WORDS: Record<Mode, string> = {
  ask: "The user wants answers only: read what you need and answer. Edits and commands are denied.",
  plan:
    "The user wants a plan: read what you need, change nothing, and end with the plan as numbered steps, each with its files " +
    "and how to check it. Edits and commands are denied until the user accepts the plan.",
  agent: "Edits and commands are allowed again, as far as the user approves them.",
};

/** The user's request once a plan is accepted. */
export const ACCEPTED = "I accept the plan. Implement it.";

export class Modes {
  readonly #state: vscode.Memento;

  constructor(state: vscode.Memento) {
    this.#state = state;
  }

  /** The mode of a session; of one that is not there yet, the mode that it will have. */
  of(sessionId: string | undefined): Mode {
    const mode = sessionId === undefined ? undefined : this.#kept[sessionId]?.mode;
    return mode ?? MODES.find(({ mode }) => mode === this.#state.get<string>(LAST))?.mode ?? "agent";
  }

  /** Sets the mode of a session, and of those that begin after it. */
  async set(sessionId: string | undefined, mode: Mode): Promise<void> {
    await this.#state.update(LAST, mode);
    if (sessionId !== undefined) await this.#keep(sessionId, { ...this.#kept[sessionId], mode });
  }

  /** These tools as the session's mode allows them. */
  allowed(sessionId: string | undefined, tools: Tool[]): Tool[] {
    if (this.of(sessionId) === "agent") return tools;
    return tools.map((tool) => (onlyReads(tool) ? tool : { ...tool, policy: "deny" }));
  }

  /** Why one of these tools may not run now; undefined where it may. A request that began in another mode can call it. */
  refusal(sessionId: string, name: string, tools: readonly Tool[]): string | undefined {
    const mode = this.of(sessionId);
    const tool = tools.find((tool) => tool.name === name);
    if (mode === "agent" || (tool !== undefined && onlyReads(tool))) return undefined;
    return `${name} did not run: the user chose the mode ${nameOf(mode)}, in which nothing is changed`;
  }

  /** The tools of a request, and what it says of the mode, each time where that forbids something, else once after that; and others. */
  request(sessionId: string, tools: Tool[], others: Attachment[] = []): Pick<TurnStartParams, "tools" | "attachments"> {
    const mode = this.of(sessionId);
    const isSaid = mode !== "agent" || (this.#kept[sessionId]?.told ?? "agent") !== "agent";
    const attachments = [...(isSaid ? [{ name: "mode", text: WORDS[mode] }] : []), ...others];
    return { tools: this.allowed(sessionId, tools), ...(attachments.length > 0 && { attachments }) };
  }

  /** Notes that a request of this session was accepted, which was told this mode. */
  async told(sessionId: string, told: Mode): Promise<void> {
    await this.#keep(sessionId, { mode: this.of(sessionId), told });
  }

  /** True if the model was asked for a plan that the user has not accepted. */
  isPlanning(sessionId: string): boolean {
    const { mode, told } = this.#kept[sessionId] ?? {};
    return mode === "plan" && told === "plan";
  }

  get #kept(): Record<string, Kept> {
    return this.#state.get<Record<string, Kept>>(KEPT, {});
  }

  async #keep(sessionId: string, of: Kept): Promise<void> {
    const before = this.#kept;
    const { mode, told } = before[sessionId] ?? {};
    if (mode === of.mode && told === of.told) return;
    const others = Object.entries(before).filter(([id]) => id !== sessionId);
    await this.#state.update(KEPT, Object.fromEntries([...others.slice(1 - MOST_KEPT), [sessionId, of]]));
  }
}

function onlyReads({ kind }: Tool): boolean {
  return kind === "read" || kind === "search";
}
