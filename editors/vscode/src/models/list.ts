// Offers the models that a provider lists. One that is not listed is named by the user, and so is any where there is no list.

import { type Client, isProtocolError, type ListedModel, type Model, type ModelKeyParams } from "@threadhold/client";
import * as vscode from "vscode";
import { ended, errorText, escapeIcons, escapeLinks } from "../shared/text.ts";

/** A provider to list models of. */
export interface Listing {
  /** Title of the questions. */
  title: string;
  /** The provider for people. */
  provider: string;
  /** A name such as its models have. */
  example: string;
  /** The wire, the address and the name of the key. */
  model: Model;
  /** The key, where the sidecar does not have it yet. */
  key?: ModelKeyParams;
  client: () => Promise<Client>;
}

/** The list, or why there is none; nothing where the sidecar knows no lists. */
type List = { models: readonly ListedModel[] } | { reason: string } | undefined;

/** What was done with the list: a model was chosen, or its name is to be asked for, beginning with what was typed. */
type Choice = { model: ListedModel } | { typed: string; reason?: string };

interface Item extends vscode.QuickPickItem {
  model?: ListedModel;
}

const OTHER: Item = { label: "Enter Name…", description: "A model that is not listed", alwaysShow: true };
const SEPARATOR: Item = { label: "", kind: vscode.QuickPickItemKind.Separator };

/** The longest reason that is told, in characters. */
const MOST_REASON = 240;

/** Has the user choose a listed model, or name one; undefined where they left. */
export async function chooseListed(listing: Listing): Promise<ListedModel | undefined> {
  const choice = await pick(listing);
  if (choice === undefined || "model" in choice) return choice?.model;
  const name = await vscode.window.showInputBox({
    title: listing.title,
    prompt: `${choice.reason === undefined ? "" : `${choice.reason} `}Name of the model, as the provider spells it`,
    value: choice.typed,
    placeHolder: listing.example,
    ignoreFocusOut: true,
    validateInput: (value) => (value.trim() === "" ? "Enter a name" : undefined),
  });
  return name === undefined ? undefined : { name: name.trim() };
}

/** Shows the list as soon as it is there. A name can be entered at once. */
function pick(listing: Listing): Promise<Choice | undefined> {
  const { title, provider } = listing;
  const abort = new AbortController();
  const shown = vscode.window.createQuickPick<Item>();
  Object.assign(shown, { title, busy: true, ignoreFocusOut: true, matchOnDescription: true, items: [OTHER] });
  shown.placeholder = `Loading the models of ${provider}…`;
  const choice = new Promise<Choice | undefined>((resolve) => {
    shown.onDidHide(() => resolve(undefined));
    shown.onDidAccept(() => {
      const [item] = shown.selectedItems;
      if (item !== undefined) resolve(item.model === undefined ? { typed: shown.value.trim() } : { model: item.model });
    });
    void listOf(listing, abort.signal).then((list) => {
      if (list === undefined) resolve({ typed: shown.value.trim() });
      else if ("reason" in list) resolve({ typed: shown.value.trim(), reason: list.reason });
      else {
        shown.busy = false;
        shown.placeholder = "Choose the model";
        shown.items = [...list.models.map(itemOf), SEPARATOR, OTHER];
      }
    });
  });
  shown.show();
  return choice.finally(() => {
    abort.abort();
    shown.dispose();
  });
}

/** Asks the provider for its list. Never fails. */
async function listOf({ provider, model, key, client: started }: Listing, signal: AbortSignal): Promise<List> {
  try {
    const client = await started();
    if (key !== undefined) await client.request("model/key", key);
    const { models, problem } = await client.request("model/list", { model }, { signal });
    return problem === undefined ? { models } : { reason: reasonOf(provider, problem.message) };
  } catch (error) {
    return isProtocolError(error, "MethodNotFound") ? undefined : { reason: reasonOf(provider, errorText(error)) };
  }
}

/** One sentence; the words of a provider may be a page. */
function reasonOf(provider: string, message: string): string {
  const words = message.replace(/\s+/gu, " ");
  const short = words.length > MOST_REASON ? `${words.slice(0, MOST_REASON)}…` : words;
  return escapeIcons(escapeLinks(ended(`The models of ${provider} could not be listed: ${short}`)));
}

function itemOf(model: ListedModel): Item {
  const { name, label, window } = model;
  return {
    label: escapeIcons(name),
    ...(label !== undefined && { description: escapeIcons(label) }),
    ...(window !== undefined && { detail: `Context window of ${window.toLocaleString("en-US")} tokens` }),
    model,
  };
}
