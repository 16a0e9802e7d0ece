// Servers of the Model Context Protocol that files of the folder define: none starts before the user allowed exactly its
// definition. The sidecar keeps the decisions.

import type { Client, McpServerStatus } from "@threadhold/client";
import type { ServerConsent } from "../shared/view.ts";

/** Files in which the sidecar finds such servers, as a pattern below the folder. */
export const SERVER_FILES = "{.mcp.json,.vscode/mcp.json,.threadhold/config.toml}";

interface Place {
  client(): Promise<Client>;
  /** Path of the folder that is open; missing where none is. */
  folder(): string | undefined;
  changed(): void;
}

export class ToolServers {
  readonly #place: Place;
  #waiting: readonly ServerConsent[] = [];

  constructor(place: Place) {
    this.#place = place;
  }

  /** The first server that waits for consent. */
  get asked(): ServerConsent | undefined {
    return this.#waiting[0];
  }

  /** Looks again which servers wait. */
  async refresh(): Promise<void> {
    const workspaceFolder = this.#place.folder();
    if (workspaceFolder === undefined) return;
    const client = await this.#place.client();
    this.#take((await client.request("mcp/list", { workspaceFolder })).servers);
  }

  /** Allows or denies a server as it was shown; fails where its file defines it differently by now. */
  async decide(name: string, definition: string, decision: "allow" | "deny"): Promise<void> {
    const workspaceFolder = this.#place.folder();
    if (workspaceFolder === undefined) return;
    const client = await this.#place.client();
    try {
      this.#take((await client.request("mcp/allow", { workspaceFolder, name, definition, decision })).servers);
    } catch (error) {
      await this.refresh();
      throw error;
    }
  }

  #take(servers: readonly McpServerStatus[]): void {
    this.#waiting = servers.flatMap((server) => (server.state === "waiting" ? (consentOf(server) ?? []) : []));
    this.#place.changed();
  }
}

/** All that a server would be given, for the user. */
function consentOf({ name, definition, target, file, cwd, variables = [], keys = [] }: McpServerStatus): ServerConsent | undefined {
  if (definition === undefined || file === undefined) return undefined;
  const details = [
    target,
    cwd !== undefined && `Folder: ${cwd}`,
    variables.length > 0 && `Variables: ${variables.join(", ")}`,
    keys.length > 0 && `Gets the values of: ${keys.join(", ")}`,
  ];
  return { name, definition, file, details: details.filter((detail) => detail !== false) };
}
