// Keys of models that the sidecar asks itself: in the editor's secret storage, handed to a sidecar when it starts, never
// in a setting, a log or a file of ours. Only their names are listed. Which model a key goes to is routes.ts's.

import * as vscode from "vscode";
import type { Route } from "./routes.ts";

const NAMES = "threadhold.keyNames";

export class Keys {
  readonly #secrets: vscode.SecretStorage;
  readonly #state: vscode.Memento;

  constructor({ secrets, globalState }: vscode.ExtensionContext) {
    this.#secrets = secrets;
    this.#state = globalState;
  }

  get names(): string[] {
    return this.#state.get<string[]>(NAMES, []);
  }

  /** All of them, by name. */
  async all(): Promise<{ [name: string]: string }> {
    const keys: { [name: string]: string } = {};
    for (const name of this.names) {
      const value = await this.#secrets.get(idOf(name));
      if (value !== undefined) keys[name] = value;
    }
    return keys;
  }

  /** Asks for the key of a route and keeps it; undefined where the user left. */
  async ask({ label, host, keyName }: Route): Promise<{ name: string; value: string } | undefined> {
    const value = await vscode.window.showInputBox({
      title: `Key of ${label}`,
      prompt: `Sent to ${host} and to nobody else, kept in the editor's secret storage as ${keyName}`,
      password: true,
      ignoreFocusOut: true,
      validateInput: (value) => (value.trim() === "" ? "A key is not empty" : undefined),
    });
    if (value === undefined) return undefined;
    await this.#secrets.store(idOf(keyName), value.trim());
    await this.#state.update(NAMES, [...new Set([...this.names, keyName])].sort());
    return { name: keyName, value: value.trim() };
  }

  /** Asks which key goes, and forgets it. */
  async forget(): Promise<string | undefined> {
    if (this.names.length === 0) {
      void vscode.window.showInformationMessage("No key is kept.");
      return undefined;
    }
    const name = await vscode.window.showQuickPick(this.names, { title: "Which key is to be deleted?" });
    if (name === undefined) return undefined;
    await this.#secrets.delete(idOf(name));
    await this.#state.update(NAMES, this.names.filter((known) => known !== name));
    return name;
  }
}

function idOf(name: string): string {
  return `key:${name}`;
}
