// The sidecar of this window: finds the program, starts it when it is first needed, and says what to do if it is not there.

import { access, chmod, constants } from "node:fs/promises";
import {
  Client,
  type ClientStatus,
  type Handlers,
  type Session,
  type Settings,
  SidecarError,
  type StorageUpdatedParams,
} from "@threadhold/client";
import { sidecar } from "@threadhold/client/node";
import * as vscode from "vscode";
import { configuration } from "../configuration.ts";
import type { Keys } from "../models/keys.ts";
import type { Models } from "../models/models.ts";
import { keyedSettings } from "../models/routes.ts";
import { errorText } from "../shared/text.ts";
import type { Button, Standing } from "../shared/view.ts";
import { startWithCurrent } from "./restart.ts";

/** Methods that the panel cannot do without: a program that lacks one is too old. */
const NEEDS = [
  "session/open",
  "session/list",
  "session/messages",
  "session/subscribe",
  "session/fork",
  "session/takeOver",
  "session/export",
  "message/truncate",
  "context/search",
  "turn/start",
  "turn/cancel",
  "turn/retry",
  "turn/regenerate",
  "tool/decide",
  "tool/result",
  "queue/remove",
  "draft/set",
  "context/inspect",
  "context/compact",
  "context/undo",
  "context/edit",
  "context/exclude",
  "context/pin",
  "context/unpin",
  "context/recall",
  "model/key",
] as const;

const SETTINGS: Button = { label: "Open Settings", action: { type: "command", command: "settings" } };
const LOG: Button = { label: "Show Log", action: { type: "command", command: "showLog" } };
const TRY_AGAIN: Button = { label: "Try Again", action: { type: "command", command: "restart" } };

/** Titles of the notice, by fault. */
const TITLES: Partial<Record<SidecarError["fault"], string>> = {
  missing: "The threadhold program was not found",
  notExecutable: "The threadhold program is not executable",
  diedAtStart: "The threadhold program exited during startup",
  noAnswer: "The threadhold program does not respond",
  notThreadhold: "The configured program is not threadhold",
  wrongVersion: "The threadhold program uses another protocol version",
  tooOld: "The threadhold program is too old",
  died: "The threadhold program exited repeatedly",
};

export class Backend implements vscode.Disposable {
  readonly #log: vscode.LogOutputChannel;
  readonly #keys: Keys;
  readonly #models: Models;
  readonly #handlers: Handlers;
  readonly #ownProgram: string;
  readonly #version: string;
  readonly #changed = new vscode.EventEmitter<void>();
  /** Fires when the standing changes. */
  readonly onChange = this.#changed.event;
  /** Fires when the client was replaced; sessions of the old one are closed. */
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

  /** Ends the sidecar after its sessions are stored. */
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

  /** Restarts the sidecar, also after the client gave up. */
  restart(): Promise<void> {
    // Whoever asks meanwhile, waits for the same one.
    this.#restarting ??= this.#startAgain().finally(() => (this.#restarting = undefined));
    return this.#restarting;
  }

  async #startAgain(): Promise<void> {
    const start = async () => {
      const client = await this.#client?.catch(() => undefined);
      // What is set may be another program now, so it is looked for anew.
      await client?.dispose();
      this.#client = undefined;
      return this.client();
    };
    await startWithCurrent(start, () => {
      const { binary, storage, log } = configuration();
      return JSON.stringify([binary, storage, log]);
    });
    this.#replaced.fire();
  }

  /** Has the sidecar follow the settings. */
  async configure(): Promise<void> {
    await (await this.#client)?.configure(this.#settings);
  }

  /** Settings of all sessions. A request may override the model. */
  get #settings(): Settings {
    const model = this.#models.chosen?.model;
    const { configuredModel, settings } = configuration();
    return { ...(model !== undefined && { model }), ...keyedSettings(configuredModel, settings, this.#keys.names) };
  }

  async #start(): Promise<Client> {
    const { binary, storage, log } = configuration();
    this.#setStanding({ state: "starting" });
    try {
      await this.#models.refresh();
      if (binary === "") await makeExecutable(this.#ownProgram);
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
          status: (status) => this.#onStatus(status),
          log: ({ level, message }) => this.#log[level === "warning" ? "warn" : level](message),
          "sessions/changed": () => this.#sessionsChanged.fire(),
          "storage/updated": (updated) => this.#onStorage(updated),
        },
      );
      this.#setStanding({ state: "ready" });
      return client;
    } catch (error) {
      this.#client = undefined;
      this.#setStanding(unavailable(error));
      throw error;
    }
  }

  #onStatus(status: ClientStatus): void {
    if (status.state === "running") this.#setStanding({ state: "ready" });
    else if (status.state === "restarting") {
      this.#log.warn(status.because.message);
      this.#setStanding({ state: "starting" });
    } else if (status.state === "stopped") this.#setStanding(unavailable(status.because));
  }

  #onStorage({ state, fault }: StorageUpdatedParams): void {
    const late = state === "ready" ? {} : { storage: { state, ...(fault !== undefined && { fault }) } };
    this.#setStanding({ state: "ready", ...late });
  }

  #setStanding(standing: Standing): void {
    this.#standing = standing;
    this.#changed.fire();
  }
}

/** Sets the executable bit, which some unpackers drop. A failure is ignored here; starting the program reports it. */
async function makeExecutable(program: string): Promise<void> {
  await access(program, constants.X_OK).catch(() => chmod(program, 0o755).catch(() => undefined));
}

/** Why there is no sidecar, and what to do. */
function unavailable(error: unknown): Standing {
  const text = errorText(error);
  const title = (error instanceof SidecarError ? TITLES[error.fault] : undefined) ?? "The threadhold program is not running";
  const kept = "Saved sessions are kept.";
  return { state: "none", title: `${title}. ${kept}`, text, actions: [TRY_AGAIN, SETTINGS, LOG] };
}
