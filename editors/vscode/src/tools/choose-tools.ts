// Ticking tools of the editor and of other extensions: none is offered that the user did not tick. The ticks are the user's
// own settings, which no folder can change.

import * as vscode from "vscode";
import { configuration } from "../configuration.ts";
import { knownTools } from "./toolbox.ts";

/** As many characters make about a token. */
const PER_TOKEN = 4;

/** Lets the user tick tools, and keeps what is ticked. */
export async function chooseTools(): Promise<void> {
  const set = configuration();
  const known = knownTools()
    .filter(({ name }) => !set.isExcluded(name))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  if (known.length === 0) return void vscode.window.showInformationMessage("The editor and other extensions provide no tools.");
  const items = known.map(({ name, description, inputSchema }) => ({
    label: name,
    description: `About ${Math.ceil(JSON.stringify({ name, description, inputSchema }).length / PER_TOKEN).toLocaleString("en-US")} tokens per prompt`,
    detail: description.replace(/\s+/g, " ").slice(0, 200),
    picked: set.isTicked(name),
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: "Choose Tools",
    placeHolder: "Select tools to offer in addition to this extension's own",
    canPickMany: true,
    matchOnDetail: true,
  });
  if (picked === undefined) return;
  // What is not there at the moment stays ticked.
  const listed = new Set(known.map(({ name }) => name));
  const away = set.tickedTools.filter((name) => !name.includes("*") && !listed.has(name));
  const ticked = [...away, ...picked.map(({ label }) => label)].sort();
  await vscode.workspace.getConfiguration("threadhold").update("tools.editor", ticked, vscode.ConfigurationTarget.Global);
}
