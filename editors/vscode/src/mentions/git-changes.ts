// The changes of the folder that are not committed, from the editor's own git extension.

import * as vscode from "vscode";

/** Characters of a diff for a prompt. */
const MOST_CHARACTERS = 100_000;
/** The extension's number for a file that git does not know. */
const UNTRACKED = 7;

/** The extension's API, as far as it is used. */
interface Git {
  repositories: readonly Repository[];
}

interface Repository {
  rootUri: vscode.Uri;
  state: { indexChanges: readonly Change[]; workingTreeChanges: readonly Change[]; untrackedChanges?: readonly Change[] };
  /** Of the working tree to the index, or of the index to the last commit. */
  diff(cached: boolean): Promise<string>;
}

interface Change {
  uri: vscode.Uri;
  status: number;
}

/** The number of changed files; 0 where there is no git or no repository. */
export async function changedFiles(folder: vscode.Uri): Promise<number> {
  const repository = await repositoryOf(folder);
  return repository === undefined ? 0 : new Set(changesOf(repository).map(({ uri }) => uri.toString())).size;
}

/** The changes as a diff, first what is staged, and the names of new files. */
export async function gitChanges(folder: vscode.Uri): Promise<string> {
  const repository = await repositoryOf(folder);
  if (repository === undefined) throw new Error("the folder has no git repository that the editor knows");
  const diffs = await Promise.all([repository.diff(true), repository.diff(false)]);
  const added = changesOf(repository)
    .filter(({ status }) => status === UNTRACKED)
    .map(({ uri }) => `New file, not known to git: ${vscode.workspace.asRelativePath(uri)}`);
  const text = [...diffs.map((diff) => diff.trimEnd()), added.join("\n")].filter((part) => part !== "").join("\n");
  const rest = text.length - MOST_CHARACTERS;
  return rest <= 0 ? text : `${text.slice(0, MOST_CHARACTERS)}\n… and ${rest} more characters`;
}

function changesOf({ state }: Repository): Change[] {
  return [...state.indexChanges, ...state.workingTreeChanges, ...(state.untrackedChanges ?? [])];
}

/** The repository that the folder is in, else the first one in the folder. */
async function repositoryOf(folder: vscode.Uri): Promise<Repository | undefined> {
  const extension = vscode.extensions.getExtension<{ getAPI(version: 1): Git }>("vscode.git");
  let known: readonly Repository[];
  try {
    known = (await extension?.activate())?.getAPI(1).repositories ?? [];
  } catch {
    // Git is turned off in the settings, or is not installed.
    return undefined;
  }
  const isIn = (inner: vscode.Uri, outer: vscode.Uri): boolean => `${inner.path}/`.startsWith(`${outer.path}/`);
  const around = known.filter(({ rootUri }) => isIn(folder, rootUri)).sort((a, b) => b.rootUri.path.length - a.rootUri.path.length);
  return around[0] ?? known.find(({ rootUri }) => isIn(rootUri, folder));
}
