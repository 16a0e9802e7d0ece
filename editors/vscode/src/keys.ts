// Keys of models that the sidecar asks itself: in the editor's secret storage, handed to a sidecar when it starts, never
// in a setting, a log or a file of ours. Only their names are listed.

import * as vscode from "vscode";

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

  /** Asks for a key and keeps it. Answers its name, and undefined where the user left. */
  async ask(suggested: string): Promise<{ name: string; value: string } | undefined> {
    const name = await vscode.window.showInputBox({
      title: "Name of the key",
      prompt: "As keyEnv of the configured model names it",
      value: suggested,
      validateInput: (name) => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? undefined : "Letters, digits and underscores, such as OPENAI_API_KEY"),
    });
    if (name === undefined) return undefined;
    const value = await vscode.window.showInputBox({
      title: `Key ${name}`,
      prompt: "It is kept in the editor's secret storage",
      password: true,
      ignoreFocusOut: true,
      validateInput: (value) => (value.trim() === "" ? "A key is not empty" : undefined),
    });
    if (value === undefined) return undefined;
    await this.#secrets.store(idOf(name), value.trim());
    await this.#state.update(NAMES, [...new Set([...this.names, name])].sort());
    return { name, value: value.trim() };
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
