// A session of thousands of rounds, imported into an editor whose model is scripted.

import { Editor } from "./editor.ts";
import { Panel } from "./panel.ts";
import type { Probe } from "./probe.ts";
import { PACKAGES, SCRIPTED } from "./settings.ts";
import { importSession } from "./sidecar.ts";

export const ROUNDS = 5_000;

/** An editor with the session. */
export function longEditor(probe: Probe): Promise<Editor> {
  return Editor.start({
    extensions: PACKAGES,
    // A model is to sum up; shortening old results would do.
    settings: { ...SCRIPTED, "threadhold.sidecarSettings": { limitHistory: "off" } },
    environment: { PROBE: probe.folder },
    before: ({ folder, environment }) => importSession(folder, environment, [...longSession()]),
  });
}

/** Opens the panel, and waits for the end of the session. */
export async function longPanel(editor: Editor): Promise<Panel> {
  const panel = await Panel.open(editor);
  await panel.answer("Answer 499.").waitFor();
  return panel;
}

/** A request every ten rounds; a round is a call with its result. */
function* longSession(): Generator<object> {
  for (let round = 0; round < ROUNDS; round += 1) {
    if (round % 10 === 0) yield { role: "user", parts: [{ type: "text", text: `Question ${round / 10}` }] };
    const call = { type: "toolCall", id: `c${round}`, name: "read", arguments: JSON.stringify({ path: `file-${round}.rs` }) };
    yield { role: "assistant", parts: [{ type: "text", text: `Round ${round}: I read **file ${round}**.` }, call] };
    yield {
      role: "tool",
      parts: [{ type: "toolResult", toolCallId: `c${round}`, content: [{ type: "text", text: `fn f${round}() {}` }] }],
    };
    if (round % 10 === 9) yield { role: "assistant", parts: [{ type: "text", text: `Answer ${(round - 9) / 10}.` }] };
  }
}
