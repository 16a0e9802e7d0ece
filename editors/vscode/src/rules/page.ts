// The page of approval rules, in an editor tab: what is allowed or rejected without a question, by the user's settings, in the
// folder, and in the session that is shown.

import type { Client } from "@threadhold/client";
import * as vscode from "vscode";
import { configuration } from "../configuration.ts";
import { iconOf, optionsOf, pageOf } from "../panel/html.ts";
import type { Chat } from "../session/chat.ts";
import type { ApprovalRule, PolicyKind, RulePlace, RulesAction, RulesOutcome, RulesView } from "../shared/rules.ts";
import { errorText, sentence } from "../shared/text.ts";
import { offered, ownTool } from "../tools/toolbox.ts";

const KINDS: readonly PolicyKind[] = ["read", "edit", "run", "editor"];
/** Wait for further changes of the session before the rules are read again. */
const DELAY_MS = 200;

export class RulesPage implements vscode.Disposable {
  readonly #extension: vscode.Uri;
  readonly #chat: Chat;
  readonly #client: () => Promise<Client>;
  #tab: vscode.WebviewPanel | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #ends: vscode.Disposable[];

  constructor(extension: vscode.Uri, chat: Chat, client: () => Promise<Client>) {
    this.#extension = extension;
    this.#chat = chat;
    this.#client = client;
    this.#ends = [
      // A decision in the panel may have made a rule.
      chat.onChange(({ streamingOnly }) => {
        if (!streamingOnly) this.#soon();
      }),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("threadhold")) this.#soon();
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#tab?.dispose();
    for (const end of this.#ends) end.dispose();
  }

  /** Shows the page. */
  open(): void {
    if (this.#tab !== undefined) return this.#tab.reveal();
    const tab = vscode.window.createWebviewPanel(
      "threadhold.rules",
      "Approval Rules",
      vscode.ViewColumn.Active,
      optionsOf(this.#extension),
    );
    this.#tab = tab;
    tab.iconPath = iconOf(this.#extension);
    tab.webview.onDidReceiveMessage((action: RulesAction) => void this.#act(action));
    tab.onDidDispose(() => (this.#tab = undefined));
    tab.webview.html = pageOf(tab.webview, this.#extension, "rules", "Approval Rules");
  }

  #soon(): void {
    clearTimeout(this.#timer);
    if (this.#tab !== undefined) this.#timer = setTimeout(() => void this.#show(), DELAY_MS);
  }

  async #act(action: RulesAction): Promise<void> {
    try {
      if (action.type === "policy") await configuration().setPolicy(action.kind, action.policy);
      if (action.type === "add") await this.#rules(action.to, { add: [action.rule] });
      if (action.type === "remove") await this.#rules(action.from, { revoke: [action.rule] });
      await this.#show({ of: action.type });
    } catch (error) {
      await this.#show({ of: action.type, fault: sentence(inWords(errorText(error))) });
    }
  }

  async #show(outcome?: RulesOutcome): Promise<void> {
    const unknown = (error: unknown): RulesView => ({ ...this.#settings(), outcome: { fault: sentence(errorText(error)) } });
    const view = await this.#view().catch(unknown);
    await this.#tab?.webview.postMessage({ ...view, ...(outcome !== undefined && { outcome }) });
  }

  async #view(): Promise<RulesView> {
    const { folder, session } = this.#chat;
    if (folder === undefined) return this.#settings();
    const snapshot = session?.view.snapshot;
    const mode = this.#chat.modes.of(session?.id);
    return {
      ...this.#settings(),
      folder: { name: folder.name, rules: await this.#rules("folder") },
      // Whoever writes the session elsewhere has its rules.
      ...(snapshot !== undefined &&
        snapshot.heldBy === undefined && { session: { title: snapshot.title ?? "New session", rules: await this.#rules("session") } }),
      ...(mode !== "agent" && { mode }),
    };
  }

  #settings(): RulesView {
    const settings = configuration();
    const tools = offered().map(({ name }) => ({ name, isCommand: ownTool(name)?.kind === "execute" }));
    return { policies: KINDS.map((kind) => ({ kind, policy: settings.policy(kind) })), tools };
  }

  /** Changes the rules of the folder or the session, and lists them. */
  async #rules(of: RulePlace, change: { add?: ApprovalRule[]; revoke?: ApprovalRule[] } = {}): Promise<ApprovalRule[]> {
    const { folder, session } = this.#chat;
    if (folder === undefined || (of === "session" && session === undefined)) throw new Error("nothing is open that has such rules");
    const where = of === "session" && session !== undefined ? { sessionId: session.id } : { workspaceFolder: folder.uri.fsPath };
    return (await (await this.#client()).request("tool/approvals", { ...where, ...change })).decisions;
  }
}

/** What the sidecar says of a rule, without the fields of the request, which nobody sees on the page. */
function inWords(fault: string): string {
  return fault.replace(/^add\[0\]\.\w+: /, "the command ").replace("`command^=", "`");
}
