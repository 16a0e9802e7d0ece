// Runs of calls that only look at things, as one row: sixty files that were read are not sixty rows.

import type { CallGroupRow, CallRow, Row } from "../shared/view.ts";

/** So many in a row make a group; fewer are as short by themselves. */
const FEWEST = 3;

type Look = "read" | "searched" | "listed";

/** Tools that only look, of this extension and of the programs whose chats can be imported. */
const LOOKS: Readonly<Record<string, Look>> = {
  read_file: "read",
  Read: "read",
  read: "read",
  copilot_readFile: "read",
  search_text: "searched",
  Grep: "searched",
  Glob: "searched",
  grep: "searched",
  find: "searched",
  copilot_findTextInFiles: "searched",
  copilot_findFiles: "searched",
  list_files: "listed",
  LS: "listed",
  ls: "listed",
  copilot_listDirectory: "listed",
};

/** A group before it has its number. */
export type Group = Omit<CallGroupRow, "rev">;

/** The rows, with each run of calls that look and need nobody in one of them. */
export function grouped(rows: readonly Row[]): (Row | Group)[] {
  const out: (Row | Group)[] = [];
  for (let at = 0; at < rows.length; ) {
    const run = runAt(rows, at);
    const [first] = run;
    if (first !== undefined && run.length >= FEWEST) out.push(groupOf(first, run));
    else out.push(...rows.slice(at, at + Math.max(1, run.length)));
    at += Math.max(1, run.length);
  }
  return out;
}

/** The calls from a place on that belong together. */
function runAt(rows: readonly Row[], from: number): CallRow[] {
  const run: CallRow[] = [];
  for (let at = from; at < rows.length; at += 1) {
    const row = rows[at];
    if (row?.kind !== "call" || LOOKS[row.name] === undefined) break;
    // What the user has to see, or has said, stands by itself.
    if (row.state !== "done" && row.state !== "failed" && row.state !== "running") break;
    run.push(row);
  }
  return run;
}

function groupOf(first: CallRow, calls: CallRow[]): Group {
  const failed = calls.filter(({ state }) => state === "failed").length;
  const running = calls.some(({ state }) => state === "running");
  const changed = calls.filter(({ shown }) => shown !== "whole").length;
  return {
    kind: "calls",
    id: `calls ${first.callId}`,
    title: titleOf(calls),
    running,
    failed,
    shortened: changed,
    calls,
    ...(first.held === true && { held: true }),
  };
}

/** What was looked at, such as `Read 12 files, searched 3 times`. */
function titleOf(calls: readonly CallRow[]): string {
  const about: Record<Look, string[]> = { read: [], searched: [], listed: [] };
  for (const call of calls) {
    const look = LOOKS[call.name];
    if (look !== undefined) about[look].push(call.about);
  }
  const files = new Set(about.read).size;
  const said = [
    ...(files > 0 ? [`read ${files === 1 ? "1 file" : `${files} files`}`] : []),
    ...(about.searched.length > 0 ? [`searched ${times(about.searched.length)}`] : []),
    ...(about.listed.length > 0 ? [`listed files ${times(about.listed.length)}`] : []),
  ].join(", ");
  return said.charAt(0).toUpperCase() + said.slice(1);
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
