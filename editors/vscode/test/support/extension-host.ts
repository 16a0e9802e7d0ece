// The installed editor with only what a user's VS Code gives an extension. code-server answers every question of whether an
// extension may use a proposed API with yes; here it is asked of the manifest again. The installed files stay as they
// are: tests run a copy of hard links. How an editor is driven is editor.ts's.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** `stable`: the API without proposals. `withoutAddress`: also without the address of a chat, as in older editors. */
export type Variant = "stable" | "withoutAddress";

/** A place in a shipped file that is replaced. */
export interface Edit {
  file: string;
  /** Name for the error message if it is not found. */
  what: string;
  find: RegExp;
  put: string;
}

const OUT = "node_modules/code-server/lib/vscode/out";
const HOST = `${OUT}/vs/workbench/api/node/extensionHostProcess.js`;
const WORKER = `${OUT}/vs/workbench/api/worker/extensionHostWorkerMain.js`;
const WORKBENCH = `${OUT}/vs/code/browser/workbench/workbench.js`;

/** Found by the function behind it, which throws if the check fails. */
const IS_PROPOSAL_ENABLED =
  /function ([\w$]+)\(([\w$]+),([\w$]+)\)\{return!0\}(?=function [^{]*\{if\(!\1\([^)]*\)\)throw new Error\(`Extension '[^']*' CANNOT use API proposal)/g;

const CHECK: Edit[] = [
  ...[HOST, WORKER, WORKBENCH].map((file) => ({
    file,
    what: "the check whether an extension may use a proposed API",
    find: IS_PROPOSAL_ENABLED,
    put: "function $1($2,$3){return $2.enabledApiProposals?.includes($3)??!1}",
  })),
  // What is installed and not the editor's own gets none, even where its manifest asks.
  {
    file: WORKBENCH,
    what: "the switch that enables proposed APIs for all",
    find: /this\._envEnablesProposedApiForAll=!0/g,
    put: "this._envEnablesProposedApiForAll=!1",
  },
];

const ADDRESS: Edit[] = [
  {
    file: HOST,
    what: "the address of the chat in a request to a participant",
    find: /(sessionId:[\w$]+,)sessionResource:[\w$]+\.sessionResource,(?=references:)/g,
    put: "$1",
  },
  { file: HOST, what: "the chat in the context of a request", find: /chatSessionContext:[\w$]+,(?=get yieldRequested)/g, put: "" },
];

const EDITS: Record<Variant, Edit[]> = { stable: CHECK, withoutAddress: [...CHECK, ...ADDRESS] };

/** The folder of a copy of the editor that is installed in `home`; made where it is not there yet. */
export function editorCopy(home: string, variant: Variant): string {
  const short = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);
  const edits = EDITS[variant];
  const installed = short(readFileSync(join(home, ".installed"), "utf8"));
  const patch = short(JSON.stringify(edits.map(({ file, find, put }) => [file, find.source, put])));
  // Beside the installation, since a hard link does not reach another file system.
  const copies = join(home, ".copies");
  const copy = join(copies, `${installed}-${patch}`);
  if (existsSync(copy)) return copy;
  mkdirSync(copies, { recursive: true });
  // Copies of an installation that is gone would keep all of it on disk.
  for (const name of readdirSync(copies).filter((name) => !name.startsWith(installed)))
    rmSync(join(copies, name), { recursive: true, force: true });
  const unfinished = `${copy}.${process.pid}`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished);
  try {
    const linked = spawnSync("cp", ["-al", join(home, "node_modules"), unfinished], { encoding: "utf8" });
    if (linked.status !== 0) throw new Error(`The editor in ${home} cannot be copied by hard links: ${linked.stderr}`);
    for (const file of new Set(edits.map(({ file }) => file))) {
      const path = join(unfinished, file);
      const text = edited(
        readFileSync(path, "utf8"),
        edits.filter((edit) => edit.file === file),
      );
      // Written anew: to write into a hard link is to write into what is installed.
      rmSync(path);
      writeFileSync(path, text);
    }
    renameSync(unfinished, copy);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    // Another run was faster; its copy is the same.
    if (!existsSync(copy)) throw error;
  }
  return copy;
}

/** A shipped file with each edit made in the one place that it is meant for. */
export function edited(text: string, edits: Edit[]): string {
  return edits.reduce((before, { file, what, find, put }) => {
    const found = before.match(find)?.length ?? 0;
    if (found === 1) return before.replace(find, put);
    throw new Error(
      `In ${file}, ${what} was found ${found} times and not once. The installed editor is another one than this was written for: ` +
        "look how it reads there now, and change the pattern in test/support/extension-host.ts.",
    );
  }, text);
}
