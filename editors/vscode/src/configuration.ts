// The user's settings in the sidecar's terms. API keys are never among them.

import { homedir } from "node:os";
import type { Model, Section, Settings, ToolPolicy } from "@threadhold/client";
import * as vscode from "vscode";

/** What the user is told of sessions that they do not see. */
export type Notify = "never" | "decisions" | "decisionsAndAnswers";

/** The current settings. */
export function configuration(): Configuration {
  return new Configuration(vscode.workspace.getConfiguration("threadhold"));
}

export class Configuration {
  readonly #from: vscode.WorkspaceConfiguration;

  constructor(from: vscode.WorkspaceConfiguration) {
    this.#from = from;
  }

  /** The path of the program; empty where it is looked for. */
  get binary(): string {
    return this.#path("binary");
  }

  get storage(): string {
    return this.#path("storage");
  }

  get log(): string {
    return this.#from.get("log", "warn");
  }

  /** The model of new requests: `VENDOR/ID`, `configured`, or empty. */
  get model(): string {
    return this.#text("model");
  }

  /** A model that the sidecar asks by itself, where one is described. */
  get configuredModel(): Model | undefined {
    return described(this.#from.get<Model>("configuredModel", {}));
  }

  /** Models that were set up beside it. */
  get otherModels(): Model[] {
    return this.#from.get<Model[]>("otherModels", []).flatMap((model) => described(model) ?? []);
  }

  get warnBeforeCompaction(): boolean {
    return this.#from.get("warnBeforeCompaction", true);
  }

  get notify(): Notify {
    return this.#from.get<Notify>("notify", "decisions");
  }

  get showDiff(): boolean {
    return this.#from.get("showDiff", true);
  }

  /** True if snapshots tell what commands change, for rewinds. */
  get rewindsCommands(): boolean {
    return this.rewindBytes > 0 && this.#from.get("rewind.commands", true);
  }

  /** How many bytes of earlier texts of files are kept for rewinds. */
  get rewindBytes(): number {
    return 1_000_000 * Math.max(0, this.#from.get("rewind.keepMegabytes", 50));
  }

  get ownTools(): boolean {
    return this.#from.get("tools.own", true);
  }

  /** The tools of the editor and of other extensions that the user ticked, by names or patterns. */
  get tickedTools(): string[] {
    const ticked = this.#from.get<unknown>("tools.editor", []);
    // Whoever wrote that all are wanted, before single ones could be ticked, ticked all of them.
    if (ticked === true) return ["*"];
    return Array.isArray(ticked) ? ticked.filter((name) => typeof name === "string") : [];
  }
  isTicked(name: string): boolean {
    return isNamed(name, this.tickedTools);
  }
  isExcluded(name: string): boolean {
    return isNamed(name, this.#from.get<string[]>("tools.exclude", []));
  }

  /** The sidecar's own tools to offer in the panel. */
  get sidecarTools(): string[] {
    const given = this.#from.get<Settings>("sidecarSettings", {}).ownTools;
    return given ?? (this.#from.get("tools.todo", true) ? ["todo"] : []);
  }

  /** Approval policy for tools of a kind. */
  policy(kind: "read" | "edit" | "run" | "editor"): ToolPolicy {
    return this.#from.get<ToolPolicy>(`approve.${kind}`, kind === "read" ? "allow" : "ask");
  }

  /** Writes the approval policy for tools of a kind into the user's settings. */
  async setPolicy(kind: "read" | "edit" | "run" | "editor", policy: ToolPolicy): Promise<void> {
    await this.#from.update(`approve.${kind}`, policy, vscode.ConfigurationTarget.Global);
  }

  /** The user's instructions, as a section of the prompt. */
  get sections(): Section[] {
    const instructions = this.#text("instructions");
    return instructions === "" ? [] : [{ name: "instructions", content: instructions }];
  }

  /** Where chats of other programs are looked for, by program; missing where they usually are. */
  get importFolders(): { vscode?: string[]; claudeCode?: string[]; pi?: string[] } {
    return this.#from.get("importFolders", {});
  }

  /** Settings of all sessions. */
  get settings(): Settings {
    const threshold = this.#from.get<number | null>("threshold", null);
    return {
      compaction: this.#from.get("compaction", "auto"),
      ...(threshold !== null && { threshold }),
      ...this.#from.get<Settings>("sidecarSettings", {}),
    };
  }

  /** A path; a tilde is the user's home. */
  #path(name: string): string {
    return this.#text(name).replace(/^~(?=\/|\\|$)/, homedir());
  }

  #text(name: string): string {
    return this.#from.get<string>(name, "").trim();
  }
}

/** True if a name is one of these, in which `*` stands for any characters. */
function isNamed(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${parts.join(".*")}$`).test(name);
  });
}

/** A model with what all of them have; undefined where it says too little. */
function described({ wire, ...model }: Model): Model | undefined {
  return wire === undefined ? undefined : { ...model, wire };
}
