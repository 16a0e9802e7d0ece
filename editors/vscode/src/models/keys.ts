// API keys for models that the sidecar calls itself: in the editor's secret storage, passed to the sidecar when it starts,
// never in a setting, a log or a file of ours. Only their names are listed.

import type { ModelKeyParams } from "@threadhold/client";
import * as vscode from "vscode";
import { keyLabel, type Route } from "./routes.ts";

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

  /** Asks for the key of a route and keeps it; without a value where there may be none and is none, undefined where the user left. */
  async ask({ label, host, keyName }: Route, isOptional = false): Promise<ModelKeyParams | undefined> {
    const value = await vscode.window.showInputBox({
      title: `API Key for ${label}`,
      prompt: `${isOptional ? "Leave it empty if the server needs no key. " : ""}Stored in the editor's secret storage and sent only to ${host}`,
      password: true,
      ignoreFocusOut: true,
      validateInput: (value) => (value.trim() === "" && !isOptional ? "Enter an API key" : undefined),
    });
    if (value === undefined) return undefined;
    if (value.trim() === "") return { name: keyName };
    await this.#secrets.store(idOf(keyName), value.trim());
    await this.#state.update(NAMES, [...new Set([...this.names, keyName])].sort());
    return { name: keyName, value: value.trim() };
  }

  /** Asks which key goes, and forgets it. */
  async forget(): Promise<string | undefined> {
    if (this.names.length === 0) {
      void vscode.window.showInformationMessage("No API keys are stored.");
      return undefined;
    }
    const items = this.names.map((name) => ({ label: keyLabel(name), name }));
    const name = (await vscode.window.showQuickPick(items, { title: "Delete API Key", placeHolder: "Choose the key to delete" }))?.name;
    if (name === undefined) return undefined;
    await this.#secrets.delete(idOf(name));
    await this.#state.update(
      NAMES,
      this.names.filter((known) => known !== name),
    );
    return name;
  }
}

function idOf(name: string): string {
  return `key:${name}`;
}
