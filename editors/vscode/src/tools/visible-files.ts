// Files of the folder that the read tools see: without those that the settings hide from search or that git ignores.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as vscode from "vscode";

/** Files that are looked through, at most; beyond it the editor's own search would be slow too. */
const MOST_LOOKED_AT = 50_000;
/** Bytes of a list of files that git may print. */
const MOST_LISTED = 64_000_000;

const run = promisify(execFile);

/** Files like this pattern, by their paths from the folder on, in order. */
export async function visibleFiles(folder: vscode.Uri, pattern: string, signal: AbortSignal): Promise<{ path: string; uri: vscode.Uri }[]> {
  const [found, ignored] = await Promise.all([
    vscode.workspace.findFiles(new vscode.RelativePattern(folder, pattern), hidden(folder), MOST_LOOKED_AT),
    ignoredByGit(folder, signal),
  ]);
  signal.throwIfAborted();
  return found
    .map((uri) => ({ path: vscode.workspace.asRelativePath(uri, false), uri }))
    .filter(({ path }) => !isIn(ignored, path))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** One glob pattern for everything that the settings hide from lists and searches. */
function hidden(folder: vscode.Uri): string | null {
  const patterns = ["files.exclude", "search.exclude"].flatMap((name) => {
    const set = vscode.workspace.getConfiguration(undefined, folder).get<Record<string, unknown>>(name, {});
    return Object.entries(set).flatMap(([pattern, isHidden]) => (isHidden === true ? [pattern] : []));
  });
  return patterns.length === 0 ? null : `{${[...new Set(patterns)].join(",")}}`;
}

/** Files that git ignores, and folders of which it ignores all, with a slash at their end; none where it cannot say. */
async function ignoredByGit(folder: vscode.Uri, signal: AbortSignal): Promise<Set<string>> {
  try {
    const listed = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
    const { stdout } = await run("git", listed, { cwd: folder.fsPath, maxBuffer: MOST_LISTED, signal });
    return new Set(stdout.split("\0"));
  } catch {
    // No git here, or no repository: nothing is ignored.
    return new Set();
  }
}

function isIn(ignored: ReadonlySet<string>, path: string): boolean {
  if (ignored.has(path)) return true;
  for (let end = path.indexOf("/"); end >= 0; end = path.indexOf("/", end + 1)) {
    if (ignored.has(path.slice(0, end + 1))) return true;
  }
  return false;
}
