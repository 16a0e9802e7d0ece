// Calls whose arguments are not a JSON object. None of them runs: the toolbox answers each with what is wrong, so that the
// model writes it again. The sidecar lets them wait for approval like others, which asks the user about nothing.

import { argumentsOf, type Session } from "@threadhold/client";

const passed = new WeakMap<Session, Set<string>>();

/** Passes such calls that wait for approval on to the toolbox, each once. */
export function passUnreadable(session: Session): void {
  const { pause, heldBy } = session.view.snapshot;
  if (pause === undefined || heldBy !== undefined) return;
  const known = passed.get(session) ?? new Set<string>();
  passed.set(session, known);
  const calls = pause.reasons.filter((call) => argumentsOf(call) === undefined && !known.has(call.toolCallId));
  if (calls.length === 0) return;
  const decisions = calls.map(({ toolCallId }) => ({ toolCallId, decision: "allowOnce" as const }));
  for (const { toolCallId } of decisions) known.add(toolCallId);
  // Where it cannot be told, the user decides.
  void session.request("tool/decide", { decisions }).catch(() => undefined);
}
