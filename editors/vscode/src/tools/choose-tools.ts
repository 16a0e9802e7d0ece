// Ticking tools of the editor and of other extensions: none is offered that the user did not tick. The ticks are the user's
// own settings, which no folder can change.

import * as vscode from "vscode";
import { configuration } from "../configuration.ts";
import { knownTools, tokensOf } from "./toolbox.ts";

interface Item extends vscode.QuickPickItem {
  /** About what it costs in each prompt. */
  tokens: number;
}

/** Lets the user tick tools, and keeps what is ticked. */
export async function chooseTools(): Promise<void> {
  const set = configuration();
  const known = knownTools()
    .filter(({ name }) => !set.isExcluded(name))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  if (known.length === 0) return void vscode.window.showInformationMessage("The editor and other extensions provide no tools.");
  const items = known.map(({ name, description, inputSchema }): Item => {
    const tokens = tokensOf({ name, description, inputSchema });
    return {
      label: name,
      description: `About ${tokens.toLocaleString("en-US")} tokens per prompt`,
      detail: description.replace(/\s+/g, " ").slice(0, 200),
      tokens,
    };
  });
  // What is not there at the moment stays ticked.
  const listed = new Set(known.map(({ name }) => name));
  const away = set.tickedTools.filter((name) => !name.includes("*") && !listed.has(name));
  await pickFrom(
    items,
    items.filter(({ label }) => set.isTicked(label)),
    async (picked) => {
      const ticked = [...away, ...picked.map(({ label }) => label)].sort();
      await vscode.workspace.getConfiguration("threadhold").update("tools.editor", ticked, vscode.ConfigurationTarget.Global);
    },
  );
}

/** Lets the user tick some of these, and closes once they are kept; the title says what the ticked ones cost together. */
function pickFrom(items: Item[], ticked: Item[], keep: (picked: readonly Item[]) => Promise<void>): Promise<void> {
  const pick = vscode.window.createQuickPick<Item>();
  const total = (chosen: readonly Item[]): void => {
    const tokens = chosen.reduce((sum, item) => sum + item.tokens, 0);
    pick.title = chosen.length === 0 ? "Choose Tools" : `Choose Tools: about ${tokens.toLocaleString("en-US")} tokens per prompt`;
  };
  pick.placeholder = "Select tools to offer in addition to this extension's own";
  pick.canSelectMany = true;
  pick.matchOnDetail = true;
  pick.items = items;
  pick.selectedItems = ticked;
  total(ticked);
  return new Promise((resolve, reject) => {
    pick.onDidChangeSelection(total);
    pick.onDidAccept(() => {
      pick.enabled = false;
      // What is asked as soon as it is closed has what was ticked.
      void keep(pick.selectedItems)
        .then(resolve, reject)
        .finally(() => pick.hide());
    });
    pick.onDidHide(() => {
      resolve();
      pick.dispose();
    });
    pick.show();
  });
}
