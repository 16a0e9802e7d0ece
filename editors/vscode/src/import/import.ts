// The command "Import Chats…": shows the chats of the folder that other programs keep, takes those in that the user
// chooses, says what could not be read, opens what came of it. Finding them is find.ts's, reading them the sidecar's.

import { basename, join } from "node:path";
import { type Client, isProtocolError, type SessionImportResult } from "@threadhold/client";
import * as vscode from "vscode";
import type { App } from "../commands/actions.ts";
import { configuration } from "../configuration.ts";
import { counted } from "../panel/compaction-row.ts";
import { knownSessions } from "../session/session-list.ts";
import { ended, errorText, escapeLinks } from "../shared/text.ts";
import { chatOf, type Found, find, type Places, type Source, usualPlaces } from "./find.ts";
import { type LeftOut, showLeftOut } from "./skipped-document.ts";

const IMPORTED = "threadhold.imported";
const UNTITLED = "Untitled chat";

/** Imported files by path, with the size and time they had, to tell whether they changed since. */
type Imported = { [path: string]: { sessionId: string; bytes: number; updatedAt: number } };

interface Item extends vscode.QuickPickItem {
  found?: Found;
}

/** A file that the user picked, with the format that the user chose for it. */
interface Picked {
  path: string;
  format?: string;
}

/** A chat that was found, or a file that the user picked. */
type Wanted = Found | Picked;

/** Shows, lets choose, imports. */
export async function importChats(app: App, context: vscode.ExtensionContext): Promise<void> {
  const { folder } = app.chat;
  if (folder === undefined) throw new Error("No folder is open. Chats are imported into a folder: open a folder, then try again.");
  const places = placesOf(context);
  const here = context.storageUri === undefined ? undefined : join(context.storageUri.fsPath, "..");
  const looking = { location: vscode.ProgressLocation.Window, title: "Looking for chats of this folder" };
  const { found, failed } = await vscode.window.withProgress(looking, () => find(folder.uri.fsPath, places, here));
  for (const { path, why } of failed) app.log.warn(`${path} cannot be read: ${why}`);
  const client = await app.backend.client();
  const before = await stillThere(client, folder.uri.fsPath, context.workspaceState.get<Imported>(IMPORTED, {}));
  const wanted = found.length === 0 ? await nothingFound(places) : await choose(found, before, failed.length);
  if (wanted === undefined || wanted.length === 0) return;
  const taking = { location: vscode.ProgressLocation.Notification, title: "Importing chats", cancellable: true };
  for (let next: Wanted[] | undefined = wanted; next !== undefined; ) {
    const these: Wanted[] = next;
    const taken = await vscode.window.withProgress(taking, (progress, token) =>
      takeIn(client, folder.uri.fsPath, these, before, (message, increment) => progress.report({ message, increment }), token),
    );
    Object.assign(before, taken.imported);
    await context.workspaceState.update(IMPORTED, before);
    if (taken.last !== undefined) {
      await app.panel.open();
      await app.chat.show(taken.last);
    }
    next = await tell(app, context, client, taken);
  }
}

/** Where is looked: as it is set, else the usual places. */
function placesOf(context: vscode.ExtensionContext): Places {
  const usual = usualPlaces(join(context.globalStorageUri.fsPath, "../../workspaceStorage"));
  const set = configuration().importFolders;
  return { "VS Code": set.vscode ?? usual["VS Code"], "Claude Code": set.claudeCode ?? usual["Claude Code"], pi: set.pi ?? usual.pi };
}

/** Of what was imported, that whose session is still there. */
async function stillThere(client: Client, workspaceFolder: string, imported: Imported): Promise<Imported> {
  if (Object.keys(imported).length === 0) return {};
  const known = await knownSessions(client, workspaceFolder);
  return Object.fromEntries(Object.entries(imported).filter(([, { sessionId }]) => known.has(sessionId)));
}

function isSame(found: Wanted, before: Imported): boolean {
  const known = before[found.path];
  return known !== undefined && "bytes" in found && known.bytes === found.bytes && known.updatedAt === found.updatedAt;
}

async function choose(found: Found[], before: Imported, failed: number): Promise<Wanted[] | undefined> {
  const time = (at: number): string => new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  const items = (["VS Code", "Claude Code", "pi"] satisfies Source[]).flatMap((source): Item[] => {
    const of = found.filter((one) => one.source === source);
    if (of.length === 0) return [];
    const rows = of.map((one): Item => {
      const again = isSame(one, before)
        ? " · already imported; opens the existing session"
        : before[one.path] === undefined
          ? ""
          : " · changed since it was imported";
      return {
        label: one.title ?? UNTITLED,
        detail: `${source} · ${counted(one.messages, "message")} · ${time(one.updatedAt)}${again}`,
        found: one,
      };
    });
    return [{ label: source, kind: vscode.QuickPickItemKind.Separator }, ...rows];
  });
  const pick = vscode.window.createQuickPick<Item>();
  const file: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("folder-opened"), tooltip: "Import File…" };
  pick.title = "Import Chats";
  pick.placeholder = failed > 0 ? `Choose chats to import (${failed} could not be read; see the log)` : "Choose chats to import";
  pick.canSelectMany = true;
  pick.matchOnDetail = true;
  pick.items = items;
  pick.buttons = [file];
  try {
    return await new Promise<Wanted[] | undefined>((resolve) => {
      pick.onDidAccept(() => resolve(pick.selectedItems.flatMap(({ found }) => found ?? [])));
      pick.onDidTriggerButton(() => resolve(chooseFiles()));
      pick.onDidHide(() => resolve(undefined));
      pick.show();
    });
  } finally {
    pick.dispose();
  }
}

async function chooseFiles(): Promise<Wanted[]> {
  const files = await vscode.window.showOpenDialog({ canSelectMany: true, openLabel: "Import", title: "Import Chats from Files" });
  return (files ?? []).map(({ fsPath: path }) => ({ path }));
}

async function nothingFound(places: Places): Promise<Wanted[]> {
  const where = Object.values(places).flat().join(", ");
  const answer = await vscode.window.showInformationMessage(`No chats for this folder were found in ${where}.`, "Choose File…");
  return answer === undefined ? [] : chooseFiles();
}

/** The outcome of an import. */
interface Taken {
  imported: Imported;
  /** The session to show. */
  last?: string;
  chats: number;
  messages: number;
  opened: number;
  /** Parts that could not be read, with their chats. */
  skipped: LeftOut[];
  failed: string[];
  /** Files that the user picked and that can be read in another format: it was not recognized, or perhaps wrongly. */
  picked: (Picked & { isUnrecognized: boolean })[];
}

async function takeIn(
  client: Client,
  workspaceFolder: string,
  wanted: Wanted[],
  before: Imported,
  report: (message: string, increment: number) => void,
  token: vscode.CancellationToken,
): Promise<Taken> {
  const taken: Taken = { imported: {}, chats: 0, messages: 0, opened: 0, skipped: [], failed: [], picked: [] };
  // The newest is shown at the end.
  for (const one of [...wanted].reverse()) {
    if (token.isCancellationRequested) break;
    const name = ("title" in one ? one.title : undefined) ?? basename(one.path);
    report(name, 100 / wanted.length);
    const known = before[one.path];
    if (known !== undefined && isSame(one, before)) {
      taken.last = known.sessionId;
      taken.opened += 1;
      continue;
    }
    try {
      const { sessionId, messages, skipped } = await importOne(client, workspaceFolder, one);
      if (!("source" in one) && one.format === undefined) taken.picked.push({ path: one.path, isUnrecognized: false });
      if ("bytes" in one) taken.imported[one.path] = { sessionId, bytes: one.bytes, updatedAt: one.updatedAt };
      taken.last = sessionId;
      taken.chats += 1;
      taken.messages += messages;
      taken.skipped.push(...skipped.map((what) => ({ chat: name, what })));
    } catch (error) {
      taken.failed.push(`${name}: ${errorText(error)}`);
      const isUnrecognized = isProtocolError(error, "UnsupportedFormat");
      if (!("source" in one)) taken.picked.push({ path: one.path, isUnrecognized });
    }
  }
  return taken;
}

async function importOne(client: Client, workspaceFolder: string, wanted: Wanted): Promise<SessionImportResult> {
  if (!("source" in wanted)) return client.request("session/import", { workspaceFolder, ...wanted });
  const { source, path, title } = wanted;
  // The editor's own file may be a log of changes.
  const from = source === "VS Code" ? { data: JSON.stringify(await chatOf(path)) } : { path };
  return client.request("session/import", { workspaceFolder, ...(title !== undefined && { title }), ...from });
}

/** Tells what came of an import. Returns the files to import again, in a format that the user chose. */
async function tell({ log }: App, context: vscode.ExtensionContext, client: Client, taken: Taken): Promise<Wanted[] | undefined> {
  const { chats, messages, opened, skipped, failed, picked } = taken;
  for (const line of [...failed, ...skipped.map(({ chat, what }) => `${chat}: ${what}`)]) log.warn(`import: ${line}`);
  const said = [
    ...(chats > 0 ? [`Imported ${counted(chats, "chat")} with ${counted(messages, "message")}.`] : []),
    ...(opened > 0 ? [`Already imported: ${counted(opened, "chat")}.`] : []),
    ...(failed.length > 0 ? [`Not imported: ${failed.map(ended).join(" ")}`] : []),
    ...(skipped.length > 0
      ? [`${counted(skipped.length, "part")} could not be read and ${skipped.length === 1 ? "was" : "were"} skipped.`]
      : []),
  ].join(" ");
  if (said === "") return undefined;
  const show = failed.length > 0 ? vscode.window.showWarningMessage : vscode.window.showInformationMessage;
  // Those that were not recognized alone, if there are any.
  const unrecognized = picked.filter(({ isUnrecognized }) => isUnrecognized);
  const [again, chooseFormat] = unrecognized.length > 0 ? [unrecognized, "Choose Format…"] : [picked, "Import as Other Format…"];
  const showSkipped = "Show Skipped Parts";
  const buttons = [...(again.length > 0 ? [chooseFormat] : []), ...(skipped.length > 0 ? [showSkipped] : [])];
  const answer = await show(escapeLinks(said), ...buttons);
  if (answer === showSkipped) await showLeftOut(context, skipped);
  if (answer !== chooseFormat) return undefined;
  const names = again.map(({ path }) => basename(path)).join(", ");
  const format = await vscode.window.showQuickPick(formats(client), {
    title: `Format of ${names}`,
    placeHolder: "Choose the program that wrote it",
    // As the message with the button goes, the editor gives the focus to the next one.
    ignoreFocusOut: true,
  });
  return format === undefined ? undefined : again.map(({ path }) => ({ path, format }));
}

/** The names of the formats that the sidecar reads, which it tells where it knows none of the name. */
async function formats(client: Client): Promise<string[]> {
  try {
    await client.request("session/import", { workspaceFolder: "", format: "", data: "" });
    return [];
  } catch (error) {
    if (isProtocolError(error, "UnsupportedFormat")) return error.data.known;
    throw error;
  }
}
