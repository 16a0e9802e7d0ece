// Modes of the panel: what the agent may do with the next request. Names and words only; no editor and no document here.

export type Mode = "ask" | "plan" | "agent";

/** All modes, from the strictest on, in words for people. */
export const MODES: readonly { mode: Mode; name: string; about: string }[] = [
  { mode: "ask", name: "Ask", about: "Reads files and answers; changes nothing" },
  { mode: "plan", name: "Plan", about: "Reads files and ends with a plan; changes nothing" },
  { mode: "agent", name: "Agent", about: "Uses all tools; changes and commands ask first, as your settings say" },
];

/** The name of a mode for people. */
export function nameOf(mode: Mode): string {
  return MODES.find((known) => known.mode === mode)?.name ?? mode;
}
