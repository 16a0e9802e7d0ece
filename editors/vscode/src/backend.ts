// The sidecar of this window: found, started when it is first needed, kept running by the client library, spoken of in
// words that say what to do where it is not there. What is asked of it is for others.

import { access, chmod, constants } from "node:fs/promises";
import * as vscode from "vscode";
import { Client, type ClientStatus, type Handlers, type Settings, SidecarError, type Session } from "@threadhold/client";
import { sidecar } from "@threadhold/client/node";
import { configuration } from "./configuration.ts";
import type { Keys } from "./keys.ts";
import type { Models } from "./models.ts";
import { keyedSettings } from "./routes.ts";
import type { Button, Standing } from "./view.ts";
import { wordsOf } from "./words.ts";

/** Methods that the panel cannot do without: a program that lacks one is too old. */
const NEEDS = [
  "session/open", "session/list", "session/messages", "session/subscribe", "session/fork", "session/takeOver", "session/export",
  "message/truncate", "context/search", "turn/start", "turn/cancel", "turn/retry",
  "turn/regenerate", "tool/decide", "tool/result", "queue/remove", "draft/set", "context/inspect", "context/compact", "context/undo",
  "context/edit", "context/exclude", "context/pin", "context/unpin", "context/recall", "model/key",
] as const;

const SETTINGS: Button = { label: "Open settings", action: { type: "command", command: "settings" } };
const LOG: Button = { label: "Show log", action: { type: "command", command: "showLog" } };
const AGAIN: Button = { label: "Try again", action: { type: "command", command: "restart" } };

/** What was wrong, in a line. */
const TITLES: Partial<Record<SidecarError["fault"], string>> = {
  missing: "The program threadhold was not found",
  notExecutable: "The program threadhold may not be run",
  diedAtStart: "The program threadhold ended at its start",
  noAnswer: "The program threadhold does not answer",
  notThreadhold: "The program that is set is not threadhold",
  wrongVersion: "The program threadhold speaks another version",
  tooOld: "The program threadhold is too old",
  died: "The program threadhold ended again and again",
};

export class Backend implements vscode.Disposable {
  readonly #log: vscode.LogOutputChannel;
  readonly #keys: Keys;
  readonly #models: Models;
  readonly #handlers: Handlers;
  readonly #ownProgram: string;
  readonly #version: string;
  readonly #changed = new vscode.EventEmitter<void>();
  /** Told when the standing changed. */
  readonly onChange = this.#changed.event;
  /** Told when there is another client: sessions of the one before are over. */
  readonly #replaced = new vscode.EventEmitter<void>();
  readonly onReplace = this.#replaced.event;
  readonly #sessionsChanged = new vscode.EventEmitter<void>();
  readonly onSessions = this.#sessionsChanged.event;
  #standing: Standing = { state: "starting" };
  #client: Promise<Client> | undefined;
  #restarting: Promise<void> | undefined;

  constructor(context: vscode.ExtensionContext, log: vscode.LogOutputChannel, keys: Keys, models: Models, handlers: Handlers) {
    this.#log = log;
    this.#keys = keys;
    this.#models = models;
    this.#handlers = handlers;
    this.#ownProgram = vscode.Uri.joinPath(context.extensionUri, "bin", "threadhold").fsPath;
    this.#version = String((context.extension.packageJSON as { version: string }).version);
  }

  dispose(): void {
    this.#changed.dispose();
    this.#replaced.dispose();
    this.#sessionsChanged.dispose();
  }

  /** Ends the sidecar, with everything on disk. */
  async end(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await (await client?.catch(() => undefined))?.dispose();
  }

  get standing(): Standing {
    return this.#standing;
  }

  /** The client, started if it is not there. */
  client(): Promise<Client> {
    this.#client ??= this.#start();
    return this.#client;
  }

  /** Opens a session. */
  async open(params: Parameters<Client["openSession"]>[0]): Promise<Session> {
    return (await this.client()).openSession(params);
  }

  /** Starts it again, also after it was given up. */
  restart(): Promise<void> {
    // Whoever asks meanwhile, waits for the same one.
    this.#restarting ??= this.#startAgain().finally(() => (this.#restarting = undefined));
    return this.#restarting;
  }

  async #startAgain(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    // What is set may be another program now, so it is looked for anew.
    await client?.dispose();
    this.#client = undefined;
    await this.client();
    this.#replaced.fire();
  }

  /** Has the sidecar follow the settings. */
  async configure(): Promise<void> {
    await (await this.#client)?.configure(this.#settings);
  }

  /** What holds for all sessions; the model, until one is asked with another. */
  get #settings(): Settings {
    const model = this.#models.chosen?.model;
    const { configuredModel, settings } = configuration();
    return { ...(model !== undefined && { model }), ...keyedSettings(configuredModel, settings, this.#keys.names) };
  }

  async #start(): Promise<Client> {
    const { binary, storage, log } = configuration();
    this.#stand({ state: "starting" });
    try {
      await this.#models.refresh();
      if (binary === "") await letRun(this.#ownProgram);
      const client = await Client.start(
        {
          launch: sidecar({
            command: binary === "" ? [this.#ownProgram, "threadhold"] : binary,
            env: { RUST_LOG: `threadhold=${log}` },
          }),
          client: { name: "vscode", version: this.#version },
          handlers: this.#handlers,
          workspaceFolders: (vscode.workspace.workspaceFolders ?? []).map(({ uri, name }) => ({ uri: uri.toString(), name })),
          settings: this.#settings,
          needs: NEEDS,
          keys: () => this.#keys.all(),
          ...(storage !== "" && { storage: { path: storage } }),
        },
        {
          status: (status) => this.#followed(status),
          log: ({ level, message }) => this.#log[level === "warning" ? "warn" : level](message),
          "sessions/changed": () => this.#sessionsChanged.fire(),
        },
      );
      this.#stand({ state: "ready" });
      return client;
    } catch (error) {
      this.#client = undefined;
      this.#stand(inWords(error));
      throw error;
    }
  }

  #followed(status: ClientStatus): void {
    if (status.state === "running") this.#stand({ state: "ready" });
    else if (status.state === "restarting") {
      this.#log.warn(status.because.message);
      this.#stand({ state: "starting" });
    } else if (status.state === "stopped") this.#stand(inWords(status.because));
  }

  #stand(standing: Standing): void {
    this.#standing = standing;
    this.#changed.fire();
  }
}

/** Some of what unpacks a package loses the bit that lets its program run. Where it cannot be set, whoever starts it says so. */
async function letRun(program: string): Promise<void> {
  await access(program, constants.X_OK).catch(() => chmod(program, 0o755).catch(() => undefined));
}

/** Why there is no sidecar, and what to do. */
function inWords(error: unknown): Standing {
  const text = wordsOf(error);
  const title = (error instanceof SidecarError ? TITLES[error.fault] : undefined) ?? "There is no sidecar";
  const lost = "Nothing is lost: sessions are on disk.";
  return { state: "none", title: `${title}. ${lost}`, text, actions: [AGAIN, SETTINGS, LOG] };
}
