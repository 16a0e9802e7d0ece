// The editor's own chat as a person uses it: its view, the list of its sessions, a chat that is opened as an editor.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { type Editor, PATIENCE, until } from "./editor.ts";

export class ChatView {
  readonly page: Page;
  readonly #editor: Editor;
  readonly #root: Locator;

  /** The chat beside the editors, or the one that is opened among them. */
  private constructor(editor: Editor, part: "auxiliarybar" | "editor" = "auxiliarybar") {
    this.#editor = editor;
    this.page = editor.page;
    this.#root = this.page.locator(`.part.${part} .interactive-session`);
  }

  /** Opens the view. */
  static async open(editor: Editor): Promise<ChatView> {
    const chat = new ChatView(editor);
    await editor.command("Chat: Open Chat");
    await chat.input.waitFor({ timeout: PATIENCE });
    await chat.#isReady();
    return chat;
  }

  /** Opens a chat again from the list of all, by keyboard. */
  static async openFromList(editor: Editor, words: string): Promise<ChatView> {
    const chat = new ChatView(editor);
    await editor.command("Focus Agent Sessions");
    await chat.page.locator(".agent-session-item-row").first().waitFor();
    const wanted = chat.page.locator(`.focused[aria-label*=${JSON.stringify(words)}]`);
    await until(async () => {
      await chat.page.keyboard.press("ArrowDown");
      await chat.page.waitForTimeout(200);
      return (await wanted.count()) > 0;
    }, `the list of sessions has ${words}`);
    await chat.page.keyboard.press("Enter");
    await chat.requests.first().waitFor();
    await chat.#isReady();
    return chat;
  }

  /** Opens a chat again by its address, as an editor. */
  static async openByAddress(editor: Editor): Promise<ChatView> {
    const chat = new ChatView(editor, "editor");
    await editor.command("Probe: Open the Chat of the Test");
    await chat.requests.first().waitFor();
    await chat.#isReady();
    return chat;
  }

  /** A participant is asked only once its extension has begun; before, its name is a word like others. */
  async #isReady(): Promise<void> {
    await this.page.locator(".statusbar-item").filter({ hasText: "Agent" }).first().waitFor({ timeout: PATIENCE });
  }

  get input(): Locator {
    return this.#root.locator(".chat-input-container .monaco-editor").last();
  }

  get requests(): Locator {
    return this.#root.locator(".interactive-request");
  }

  /** The last answer. */
  get answer(): Locator {
    return this.#root.locator(".interactive-response").last();
  }

  /** The link below an answer to its compaction. */
  get compacted(): Locator {
    return this.#root
      .locator(".interactive-response a")
      .filter({ hasText: /Compacted: [\d,]+ → [\d,]+ tokens/ })
      .first();
  }

  /** Types words and sends them. */
  async send(words: string): Promise<void> {
    await this.input.click();
    // The participant that was asked last stands there already.
    await this.page.keyboard.press("Control+A");
    await this.page.keyboard.type(words);
    // The name of a participant that the editor knows is marked.
    await this.input.locator(".view-line [class*=ced-]").first().waitFor();
    // The list of completions would take the Enter.
    await this.page.waitForTimeout(700);
    await this.page.keyboard.press("Escape");
    await this.page.keyboard.press("Enter");
  }

  /** Sends an earlier request again, as it was. */
  async sendAgain(words: string): Promise<void> {
    // A click begins to edit it.
    await this.requests.filter({ hasText: words }).first().click();
    await this.page.waitForTimeout(700);
    await this.page.keyboard.press("Enter");
  }

  /** Sends words, and waits for an answer with others. */
  async ask(words: string, answer: string): Promise<void> {
    await this.send(words);
    await this.answered(answer);
  }

  /** Waits for an answer with these words, to its end: a request that is sent before it would wait in a queue. */
  async answered(answer: string): Promise<void> {
    const last = this.answer.and(this.#root.locator(":not(.chat-response-loading)"));
    await last.filter({ hasText: answer }).waitFor({ timeout: PATIENCE });
  }

  /** Waits until the editor has an answer on disk, with its metadata, and the chat in its list; it writes every five seconds. */
  async stored(answer: string): Promise<void> {
    const found = () => chatFiles(this.#editor).find(({ text }) => text.includes(answer));
    await until(() => found() !== undefined, `${answer} is on disk`);
    // The list leaves out what was empty when it was stored.
    await this.#editor.stored(new RegExp(`"sessionId":"${found()?.id}"((?!"sessionId").)*"isEmpty":false`));
  }
}

/** The chats of the editor on disk. */
export function chatFiles(editor: Editor): { id: string; text: string }[] {
  const storage = join(editor.root, "user/User/workspaceStorage");
  return readdirSync(storage).flatMap((workspace) => {
    const folder = join(storage, workspace, "chatSessions");
    try {
      return readdirSync(folder).map((name) => ({ id: name.replace(/\.jsonl?$/, ""), text: readFileSync(join(folder, name), "utf8") }));
    } catch {
      return [];
    }
  });
}

/** The address under which the editor opens a chat. */
export function addressOf(id: string): string {
  return `vscode-chat-session://local/${Buffer.from(id).toString("base64")}`;
}
