// What is selected in the editor's terminal. No stable API has it, but a command copies it.

import * as vscode from "vscode";

/** The selected text. The clipboard has its own text again afterwards. */
export async function terminalSelection(): Promise<string> {
  const { clipboard } = vscode.env;
  const before = await clipboard.readText();
  // Tells a selection from what was copied before.
  await clipboard.writeText("");
  try {
    await vscode.commands.executeCommand("workbench.action.terminal.copySelection");
    const text = await clipboard.readText();
    if (text === "") throw new Error("no text is selected in the terminal");
    return text;
  } finally {
    await clipboard.writeText(before);
  }
}
