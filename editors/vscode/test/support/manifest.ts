// The extension's manifest, as its tests read it. They run in the extension's folder.

import { readFileSync } from "node:fs";

interface Manifest {
  contributes: {
    commands: { title: string }[];
    configuration: { properties: Record<string, { scope?: string }> }[];
  };
  capabilities: { untrustedWorkspaces: { supported: boolean } };
}

export const { contributes, capabilities } = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;

/** The extension's settings: their names, and who may set each. */
export const settings = contributes.configuration.flatMap(({ properties }) => Object.entries(properties));
