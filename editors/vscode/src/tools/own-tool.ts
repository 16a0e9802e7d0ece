// The interface of this extension's tools, and their shared parts: checked arguments, and paths that stay in the folder.

import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { ToolInvokeResult, ToolKind } from "@threadhold/client";
import * as vscode from "vscode";
import type { Before } from "../rewind/before-images.ts";
import { openDocument, type TextFile } from "./text-file.ts";

export interface OwnTool {
  name: string;
  description: string;
  kind: ToolKind;
  /** Which setting of approvals holds for it. */
  group: "read" | "edit" | "run";
  inputSchema: object;
  guidelines?: string;
  run(given: Given, folder: vscode.Uri, signal: AbortSignal, listener: Listener): Promise<ToolInvokeResult>;
  /** Computes the change of a file without applying it. */
  preview?(given: Given, folder: vscode.Uri): Promise<Planned>;
}

export type Given = { [name: string]: unknown };

/** A file before and after an edit. */
export interface Change {
  uri: vscode.Uri;
  path: string;
  before: string;
  after: string;
  isNew: boolean;
}

/** A change that a tool is about to make. */
export interface Planned extends Change {
  /** Where the file really is, from the folder on, behind all links. */
  real: string;
  /** The file as it is, where there is one. */
  file?: TextFile;
}

/** Is told of a file before it is changed; what it answers, how the file came out of it. */
export type Keep = (before: Before) => Promise<(sha256: string) => Promise<void>>;

/** Is told of what a command prints, as it comes. */
export type Hear = (said: string) => void;

/** Who is told of what a call does while it runs. */
export interface Listener {
  keep?: Keep | undefined;
  hear: Hear;
}

/** A text that must be there. */
export function text(given: Given, name: string): string {
  const value = given[name];
  if (typeof value !== "string") throw new Error(`argument ${name} must be a string`);
  return value;
}

/** A text that may be missing. */
export function maybeText(given: Given, name: string): string | undefined {
  return given[name] === undefined || given[name] === null ? undefined : text(given, name);
}

/** A whole number from 1 on that may be missing. */
export function maybeCount(given: Given, name: string): number | undefined {
  const value = given[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1)
    throw new Error(`argument ${name} must be an integer of at least 1`);
  return value;
}

/** A file of the folder. What is outside, also behind a link, is refused: approvals hold for the folder. */
export async function inFolder(path: string, folder: vscode.Uri): Promise<{ uri: vscode.Uri; path: string; real: string }> {
  const wanted = isAbsolute(path) ? path : join(folder.fsPath, path);
  const refused = new Error(`${path} is outside the open folder`);
  // To look at such a path is to log in to the machine that it names, on Windows.
  if (/^[\\/]{2}/.test(path) && isOutside(relative(folder.fsPath, wanted))) throw refused;
  const [root, real] = await Promise.all([realpath(folder.fsPath), realOf(wanted)]);
  const inside = relative(root, real);
  if (isOutside(inside)) throw refused;
  return { uri: vscode.Uri.file(wanted), path: relative(folder.fsPath, wanted) || ".", real: inside };
}
function isOutside(path: string): boolean {
  return path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path);
}

/** Where a path leads, also where its end is not there yet. */
export async function realOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const parent = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || parent === path) throw error;
    // A link may be there though what it leads to is not.
    const link = await readlink(path).catch(() => undefined);
    return link === undefined ? join(await realOf(parent), basename(path)) : realOf(resolve(await realOf(parent), link));
  }
}

/** Text of a file, including unsaved changes; undefined if it does not exist. */
export async function read(uri: vscode.Uri): Promise<string | undefined> {
  const open = openDocument(uri);
  if (open !== undefined) return open.getText();
  let bytes: Uint8Array;
  try {
    bytes = await vscode.workspace.fs.readFile(uri);
  } catch (error) {
    if (error instanceof vscode.FileSystemError && error.code === "FileNotFound") return undefined;
    throw error;
  }
  try {
    if (!bytes.subarray(0, 8_000).includes(0)) return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // It is in another encoding.
  }
  // As the settings and its first bytes say. A program may look like a text in two bytes a letter, and has letters that none has.
  const said = await vscode.workspace.decode(bytes, { uri }).then(
    (text) => text,
    () => "\0",
  );
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no text has them, so they tell a binary file.
  if (/[\0-\x08]/.test(said.slice(0, 8_000))) throw new Error(`${vscode.workspace.asRelativePath(uri)} is not a text file`);
  return said;
}
