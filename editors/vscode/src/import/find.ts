// Chats of a folder that other programs keep on this machine: where they are, and what each holds, as a person would look
// for it. Nothing is taken in here, and nothing is written.

import { createReadStream, existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { errorText } from "../shared/text.ts";
import { replayed } from "./chatlog.ts";

export type Source = "VS Code" | "Claude Code" | "pi";

/** Where each program keeps its chats. */
export type Places = { readonly [Of in Source]: readonly string[] };

/** A chat that was found. */
export interface Found {
  source: Source;
  path: string;
  /** The title or the first request, if there is one. */
  title: string | undefined;
  messages: number;
  /** When its file was written last, in milliseconds. */
  updatedAt: number;
  bytes: number;
}

/** The result of a search for chats. */
export interface Looked {
  found: Found[];
  /** Files that could not be read, and why. */
  failed: { path: string; why: string }[];
}

/** The usual places. `own` is the folder in which this editor keeps what belongs to workspaces. */
export function usualPlaces(own: string, environment: NodeJS.ProcessEnv = process.env): Places {
  const home = homedir();
  const settings =
    process.platform === "win32"
      ? (environment["APPDATA"] ?? join(home, "AppData/Roaming"))
      : process.platform === "darwin"
        ? join(home, "Library/Application Support")
        : (environment["XDG_CONFIG_HOME"] ?? join(home, ".config"));
  const editors = ["Code", "Code - Insiders", "VSCodium"].map((name) => join(settings, name, "User/workspaceStorage"));
  return {
    "VS Code": [...new Set([own, ...editors])],
    "Claude Code": [join(environment["CLAUDE_CONFIG_DIR"] ?? join(home, ".claude"), "projects")],
    pi: [join(environment["PI_CODING_AGENT_DIR"] ?? join(home, ".pi/agent"), "sessions")],
  };
}

/**
 * The chats of a folder, the newest first. `here` is where this editor keeps what belongs to the folder; an editor that
 * runs on a server does not write down there which folder that is.
 */
export async function find(folder: string, places: Places, here?: string): Promise<Looked> {
  const looked: Looked = { found: [], failed: [] };
  const look = async (source: Source, paths: string[], read: Read): Promise<void> => {
    for (const path of paths) {
      try {
        const told = await read(path, folder);
        if (told === undefined || told.messages === 0) continue;
        const { mtimeMs, size } = await stat(path);
        looked.found.push({ source, path, title: shortened(told.title), messages: told.messages, updatedAt: mtimeMs, bytes: size });
      } catch (error) {
        looked.failed.push({ path, why: errorText(error) });
      }
    }
  };
  const ofEditor = here === undefined ? [] : await filesBelow(join(here, "chatSessions"));
  for (const root of places["VS Code"]) ofEditor.push(...(await chatsOfEditor(root, folder)));
  await look("VS Code", [...new Set(ofEditor)], readChat);
  // Programs name the folder of a project after its path, each in its own way and not one to one: the files say whose they are.
  for (const root of places["Claude Code"])
    await look("Claude Code", await filesBelow(join(root, folder.replace(/[^a-zA-Z0-9]/g, "-"))), readClaude);
  for (const root of places.pi) {
    const projects = await namesIn(root);
    for (const project of projects) await look("pi", await filesBelow(join(root, project)), readPi);
  }
  looked.found.sort((one, other) => other.updatedAt - one.updatedAt);
  return looked;
}

/** Title and length of a chat, as its file states them. */
interface Told {
  title: string;
  messages: number;
}
type Read = (path: string, folder: string) => Promise<Told | undefined>;

/** A chat of the editor as "Export Chat" would write it. */
export async function chatOf(path: string): Promise<{ [key: string]: unknown }> {
  const text = await readFile(path, "utf8");
  const value = path.endsWith(".jsonl") ? replayed(text) : (JSON.parse(text) as unknown);
  if (typeof value !== "object" || value === null) throw new Error("not a chat");
  return value as { [key: string]: unknown };
}

async function chatsOfEditor(root: string, folder: string): Promise<string[]> {
  const paths: string[] = [];
  for (const name of await namesIn(root)) {
    if (await isOf(join(root, name, "workspace.json"), folder)) paths.push(...(await filesBelow(join(root, name, "chatSessions"))));
  }
  return paths;
}

/** True if a place of the editor belongs to the folder, on this machine or on a server that the editor reaches it by. */
async function isOf(path: string, folder: string): Promise<boolean> {
  try {
    const { folder: address } = JSON.parse(await readFile(path, "utf8")) as { folder?: string };
    if (address === undefined) return false;
    const { protocol, pathname } = new URL(address);
    const there = protocol === "file:" ? fileURLToPath(address) : protocol === "vscode-remote:" ? decodeURIComponent(pathname) : undefined;
    return there !== undefined && resolve(there) === resolve(folder);
  } catch {
    // A place without a folder, or of an editor that writes other things there.
    return false;
  }
}

async function namesIn(folder: string): Promise<string[]> {
  return existsSync(folder) ? (await readdir(folder)).sort() : [];
}

async function filesBelow(folder: string): Promise<string[]> {
  return (await namesIn(folder)).filter((name) => /\.jsonl?$/.test(name)).map((name) => join(folder, name));
}

async function readChat(path: string): Promise<Told> {
  const { requests, customTitle } = await chatOf(path);
  const all = Array.isArray(requests) ? (requests as { message?: { text?: string } | string; response?: unknown[] }[]) : [];
  const asked = all
    .map(({ message }) => ownWords((typeof message === "string" ? message : message?.text) ?? ""))
    .find((words) => words !== "");
  const answered = all.filter(({ response }) => Array.isArray(response) && response.length > 0).length;
  return { title: typeof customTitle === "string" ? customTitle : (asked ?? ""), messages: all.length + answered };
}

async function readClaude(path: string, folder: string): Promise<Told | undefined> {
  let messages = 0;
  let asked: string | undefined;
  let title: string | undefined;
  let summed: string | undefined;
  for await (const record of recordsOf(path)) {
    const { type, cwd, isSidechain, isMeta, message, summary, customTitle } = record;
    if (typeof cwd === "string" && messages === 0 && resolve(cwd) !== resolve(folder)) return undefined;
    if (type === "summary" && typeof summary === "string") summed ??= summary;
    if (typeof customTitle === "string") title = customTitle;
    if (isSidechain === true || (type !== "user" && type !== "assistant")) continue;
    messages += 1;
    if (type === "user" && isMeta !== true) asked ??= askedIn(message);
  }
  return { title: title ?? asked ?? summed ?? "", messages };
}

async function readPi(path: string, folder: string): Promise<Told | undefined> {
  let messages = 0;
  let asked: string | undefined;
  let title: string | undefined;
  for await (const { type, cwd, name, message } of recordsOf(path)) {
    if (type === "session" && (typeof cwd !== "string" || resolve(cwd) !== resolve(folder))) return undefined;
    if (type === "session_info" && typeof name === "string") title = name;
    if (type !== "message") continue;
    messages += 1;
    if ((message as { role?: string } | undefined)?.role === "user") asked ??= askedIn(message);
  }
  return { title: title ?? asked ?? "", messages };
}

type Fields = { readonly [name: string]: unknown };

/** The records of a file, a line each; what cannot be read is for the import to say. */
async function* recordsOf(path: string): AsyncGenerator<Fields> {
  for await (const line of createInterface({ input: createReadStream(path, "utf8"), crlfDelay: Infinity })) {
    try {
      const record = JSON.parse(line) as unknown;
      if (typeof record === "object" && record !== null) yield record as Fields;
    } catch {
      // The import names it.
    }
  }
}

function wordsIn(message: unknown): string[] {
  const { content } = (message ?? {}) as { content?: unknown };
  if (typeof content === "string") return [content];
  const parts = Array.isArray(content) ? (content as { type?: string; text?: string }[]) : [];
  return parts.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []));
}

/** The user's own words in a message; undefined for a slash command, which is no title. */
function askedIn(message: unknown): string | undefined {
  return wordsIn(message)
    .map(ownWords)
    .find((words) => words !== "" && !words.startsWith("/"));
}

/** Tags in which programs put a user's own words. */
const OWN = ["userRequest", "user_query", "user_request", "user_message", "user_input", "task"];

/** A user's own words behind what a program put before them: blocks such as `<environment_info>…</environment_info>`, each on lines of its own. */
export function ownWords(said: string): string {
  let rest = said.trim();
  for (;;) {
    const [opening, name] = /^<([\w-]+)(?:\s[^>]*)?>/.exec(rest) ?? [];
    if (opening === undefined || name === undefined) return rest;
    const closing = `</${name}>`;
    const end = rest.indexOf(closing);
    const behind = rest.slice(end + closing.length);
    if (end < 0 || !/^[ \t\r]*(?:$|[\n<])/.test(behind)) return rest;
    if (OWN.includes(name)) return rest.slice(opening.length, end).trim();
    rest = behind.trim();
  }
}

function shortened(title: string): string | undefined {
  const line = title.replace(/\s+/g, " ").trim();
  return line === "" ? undefined : line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
