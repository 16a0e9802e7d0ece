// Starts the sidecar as a process of Node: the only file here that needs Node. Whether it answers as it should is
// `life.ts`'s.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";
import { type Exit, SidecarError } from "./errors.js";
import type { Launch, Launched } from "./launch.js";

export * from "./index.js";

/** How a sidecar is started. */
export interface SidecarOptions {
  /**
   * The program: a path, or a name that is looked for in `PATH`. Several are tried in their order, such as the one that
   * an extension brings and then `threadhold`. Default: the variable `THREADHOLD`, else `threadhold`.
   */
  command?: string | readonly string[];
  /** Arguments behind `serve`, such as `--record FILE`. */
  args?: readonly string[];
  /** Variables of its environment, beside ours. */
  env?: { readonly [name: string]: string | undefined };
  /** The folder that it runs in, and that relative paths begin at. Default: ours. */
  cwd?: string;
}

/** Lines of standard error that are kept for the words of an error. */
const KEPT_LINES = 20;
const ON_WINDOWS = process.platform === "win32";

/** Starts `threadhold serve`, for `Client.start`. */
export function sidecar(options: SidecarOptions = {}): Launch {
  return (onLine) => start(options, onLine);
}

/**
 * The path of the first of these programs that is there and can be run. Fails with a `SidecarError` that names where it
 * was looked for.
 */
export function findProgram({ command, env, cwd }: SidecarOptions = {}): string {
  const variables = { ...process.env, ...env };
  const wanted = typeof command === "string" ? [command] : (command ?? [variables["THREADHOLD"] || "threadhold"]);
  const places = wanted.flatMap((name) => placesOf(name, variables["PATH"] ?? "", cwd));
  const there = places.filter(isFile);
  const found = there.find(canRun);
  if (found !== undefined) return found;
  const [first] = there;
  if (first !== undefined) {
    const advice = ON_WINDOWS ? "" : ` Run \`chmod +x ${first}\`, or set another program in the settings.`;
    throw new SidecarError("notExecutable", `${first} is not executable.${advice}`);
  }
  const names = wanted.join(", ");
  const where = wanted.some((name) => !hasFolder(name)) ? " and is not in PATH" : "";
  throw new SidecarError("missing", `The program ${names} does not exist${where}. Install threadhold, or set its path in the settings.`);
}

function placesOf(name: string, path: string, cwd = process.cwd()): string[] {
  const folders = hasFolder(name) ? [""] : path.split(delimiter).filter((folder) => folder !== "");
  const endings = ON_WINDOWS && !/\.(exe|cmd|bat)$/i.test(name) ? [".exe", ""] : [""];
  const inFolder = (folder: string) => (folder === "" ? resolve(cwd, name) : join(folder, name));
  return folders.flatMap((folder) => endings.map((ending) => inFolder(folder) + ending));
}

function hasFolder(name: string): boolean {
  return isAbsolute(name) || name.includes("/") || (ON_WINDOWS && name.includes("\\"));
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

async function start(options: SidecarOptions, onLine: (line: string) => void): Promise<Launched> {
  const name = findProgram(options);
  const child: Child = spawn(name, ["serve", ...(options.args ?? [])], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ...options.env },
    cwd: options.cwd,
    windowsHide: true,
  });
  await new Promise<void>((begun, failed) => {
    child.once("spawn", begun);
    child.once("error", (error: NodeJS.ErrnoException) => failed(notStarted(name, error)));
  });
  return launched(name, child, onLine);
}

/** Why the system would not run it, though it may be run. */
function notStarted(name: string, error: NodeJS.ErrnoException): SidecarError {
  const advice = "It may be damaged or built for another platform. Install threadhold for this platform.";
  return new SidecarError("notExecutable", `${name} cannot be run: ${error.message}. ${advice}`);
}

function launched(name: string, child: Child, onLine: (line: string) => void): Launched {
  const lines: string[] = [];
  createInterface({ input: child.stderr, crlfDelay: Infinity }).on("line", (line) => {
    lines.push(line);
    if (lines.length > KEPT_LINES) lines.shift();
    onLine(line);
  });
  // Whoever writes is told by the stream's own error; a process has none that matters after it began.
  child.on("error", () => {});
  const ended = new Promise<Exit>((resolve) => child.once("close", (code, signal) => resolve({ code, signal })));
  const stop = async (patienceMs: number): Promise<Exit> => {
    child.stdin.end();
    const timer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
    try {
      return await ended;
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    name,
    ...(child.pid === undefined ? {} : { pid: child.pid }),
    parentPid: process.pid,
    reader: new StreamMessageReader(child.stdout),
    writer: new StreamMessageWriter(child.stdin),
    ended,
    lastLines: () => [...lines],
    stop,
  };
}
