// Checks a key when it is set: its model is asked one small question, and what comes of it is told.

import type { Client } from "@threadhold/client";
import * as vscode from "vscode";
import { errorText, escapeLinks, sentence } from "../shared/text.ts";
import type { Route } from "./routes.ts";

/** Checks the key of a route, which the sidecar has. Offers to set another one where it does not work. */
export async function checkKey(client: Client, { label, model }: Route): Promise<void> {
  const title = `Checking the API key for ${label}…`;
  const problem = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, async () => {
    try {
      return (await client.request("model/check", { model })).problem;
    } catch (error) {
      return { class: "unknown", message: errorText(error), advice: "" };
    }
  });
  if (problem === undefined) {
    void vscode.window.showInformationMessage(escapeLinks(`The API key works: ${label} answered.`));
    return;
  }
  const again = "Set API Key…";
  const text = `${sentence(`${label} could not be asked: ${problem.message}`)} ${problem.advice}`.trim();
  void vscode.window.showErrorMessage(escapeLinks(text), again).then((choice) => {
    if (choice === again) void vscode.commands.executeCommand("threadhold.setKey");
  });
}
