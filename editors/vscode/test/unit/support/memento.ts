// What the editor keeps for an extension, without an editor.

import type * as vscode from "vscode";

/** A window's state, as the editor keeps it: as JSON. */
export function memento(): vscode.Memento {
  const kept = new Map<string, string>();
  return {
    keys: () => [...kept.keys()],
    get: <Value>(key: string, other?: Value) => {
      const text = kept.get(key);
      return text === undefined ? other : (JSON.parse(text) as Value);
    },
    update: async (key: string, value: unknown) => void kept.set(key, JSON.stringify(value)),
  };
}
