// Checks a model when its key is set, or when it is set up: it is asked one small question, and what comes of it is told.

import type { Client, Model } from "@threadhold/client";
import * as vscode from "vscode";
import { ended, errorText, escapeLinks } from "../shared/text.ts";
import { labelOf } from "./routes.ts";

/** Checks a model, whose key the sidecar has, and says `done` if it answers. Offers to set another key if it does not. */
export async function checkModel(client: Client, model: Model, done: string): Promise<void> {
  const label = labelOf(model);
  const title = `Checking ${label}…`;
  const problem = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, async () => {
    try {
      return (await client.request("model/check", { model })).problem;
    } catch (error) {
      return { class: "unknown", message: errorText(error), advice: "" };
    }
  });
  if (problem === undefined) {
    void vscode.window.showInformationMessage(escapeLinks(done));
    return;
  }
  const again = "Set API Key…";
  // A name of a model stays as it is spelled.
  const text = `${ended(`${label} could not be asked: ${problem.message}`)} ${problem.advice}`.trim();
  void vscode.window.showErrorMessage(escapeLinks(text), again).then((choice) => {
    if (choice === again) void vscode.commands.executeCommand("threadhold.setKey");
  });
}
