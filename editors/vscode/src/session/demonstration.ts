// A session that shows a compaction without a key and without a model: a recorded conversation, a scripted summary, and
// everything else as it always is. It can be looked at, undone, made again; nobody answers in it.

import { copyFile, mkdir, rm } from "node:fs/promises";
import type { Model, Session, Settings } from "@threadhold/client";
import * as vscode from "vscode";
import { isBusy } from "../panel/frame.ts";
import type { Backend } from "./backend.ts";
import type { Chat } from "./chat.ts";

const KEPT = "threadhold.demonstration";
/** A window that the recorded conversation nearly fills. */
const WINDOW = 3_000;
const QUESTION = "What did we say about the format of the output, and do the tests pass?";

interface Kept {
  sessionId: string;
  /** The script of its model, which answers in order: each session has one of its own. */
  script: string;
}

export class Demonstration {
  readonly #context: vscode.ExtensionContext;
  readonly #backend: Backend;
  readonly #chat: Chat;

  constructor(context: vscode.ExtensionContext, backend: Backend, chat: Chat) {
    this.#context = context;
    this.#backend = backend;
    this.#chat = chat;
  }

  /** True if this is the session that shows it. */
  is(sessionId: string | undefined): boolean {
    return sessionId !== undefined && this.#kept?.sessionId === sessionId;
  }

  /** Parameters of the demo session: no tools, because it must not touch the folder. */
  openOverrides(sessionId: string | undefined): { tools: []; sections: []; settings: Settings } | undefined {
    const kept = this.#kept;
    if (kept === undefined || !this.is(sessionId)) return undefined;
    const settings: Settings = { model: modelOf(kept), compaction: "auto", limitHistory: "off", triggers: { background: false } };
    return { tools: [], sections: [], settings };
  }

  /** Begins it anew in the folder that is open, and shows it. Answers false where no folder is open. */
  async show(): Promise<boolean> {
    const { folder } = this.#chat;
    const { storageUri, extensionUri } = this.#context;
    if (folder === undefined || storageUri === undefined) return false;
    const client = await this.#backend.client();
    const media = (name: string): vscode.Uri => vscode.Uri.joinPath(extensionUri, "media/demo", name);
    const before = this.#kept;
    const data = Buffer.from(await vscode.workspace.fs.readFile(media("session.jsonl"))).toString("utf8");
    const { sessionId } = await client.request("session/import", { workspaceFolder: folder.uri.fsPath, data });
    await mkdir(storageUri.fsPath, { recursive: true });
    const script = vscode.Uri.joinPath(storageUri, `demonstration-${sessionId}.json`).fsPath;
    await copyFile(media("model.json").fsPath, script);
    await this.#keep({ sessionId, script });
    const session = await this.#chat.show(sessionId);
    if (before !== undefined) await this.#forget(before);
    await ask(session, modelOf({ sessionId, script }));
    return true;
  }

  get #kept(): Kept | undefined {
    return this.#context.workspaceState.get<Kept>(KEPT);
  }

  async #keep(kept: Kept): Promise<void> {
    await this.#context.workspaceState.update(KEPT, kept);
  }

  /** Takes an earlier one away: all that was in it is in this extension. */
  async #forget({ sessionId, script }: Kept): Promise<void> {
    const client = await this.#backend.client();
    // The user may have deleted it.
    await client.request("session/delete", { sessionId }).catch(() => undefined);
    await rm(script, { force: true });
  }
}

function modelOf({ script }: Kept): Model {
  return { name: "Demo", wire: "scripted", baseUrl: script, window: WINDOW };
}

/** Asks, and waits for the answer: by then there is a compaction. */
async function ask(session: Session, model: Model): Promise<void> {
  const answered = new Promise<void>((done) => {
    const heard = session.onChange(({ fields }) => {
      if (!fields.has("state") || isBusy(session.view.snapshot)) return;
      heard.dispose();
      done();
    });
  });
  await session.ask([{ type: "text", text: QUESTION }], { tools: [], model });
  await answered;
}
