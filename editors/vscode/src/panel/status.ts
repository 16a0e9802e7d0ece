// The status item: how full the prompt is, and that something waits for the user, also while the panel is closed.

import * as vscode from "vscode";
import type { Models } from "../models/models.ts";
import type { Backend } from "../session/backend.ts";
import type { Chat } from "../session/chat.ts";
import { activityOf } from "./frame.ts";

export class Status implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem("threadhold.status", vscode.StatusBarAlignment.Right, 50);
  readonly #backend: Backend;
  readonly #chat: Chat;
  readonly #models: Models;

  constructor(backend: Backend, chat: Chat, models: Models) {
    this.#backend = backend;
    this.#chat = chat;
    this.#models = models;
    this.#item.name = "threadhold";
    this.#item.command = "threadhold.focus";
    this.update();
    this.#item.show();
  }

  dispose(): void {
    this.#item.dispose();
  }

  update(): void {
    const { standing } = this.#backend;
    const { session } = this.#chat;
    // Without a model nobody knows the window.
    const size = this.#models.chosen === undefined ? undefined : this.#chat.size;
    const activity = session === undefined ? "" : activityOf(session.view);
    const waits = session?.view.snapshot.pause !== undefined || this.#chat.reviews.shown !== undefined;
    const share = size === undefined ? "" : ` ${Math.round((100 * size.tokens) / Math.max(1, size.limit))}%`;
    const picture =
      standing.state === "none" ? "$(error)" : waits ? "$(bell-dot)" : activity === "" ? "$(comment-discussion)" : "$(sync~spin)";
    this.#item.text = `${picture} Agent${share}`;
    this.#item.backgroundColor = waits || standing.state === "none" ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    const lines = [
      standing.state === "none" ? standing.title : activity,
      size === undefined ? "" : `${size.tokens.toLocaleString("en-US")} of ${size.limit.toLocaleString("en-US")} tokens in the prompt`,
      "Open Agent Panel",
    ];
    this.#item.tooltip = lines.filter((line) => line !== "").join("\n");
    this.#item.accessibilityInformation = { label: `Agent${share}. ${lines.filter((line) => line !== "").join(". ")}` };
  }
}
