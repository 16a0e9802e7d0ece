// Prompts of the workspace: files that are sent as a request by their names.

import * as vscode from "vscode";
import type { PromptItem } from "../shared/slash.ts";
import { frontMatter } from "./front-matter.ts";

const FOLDER = ".github/prompts";
const ENDING = ".prompt.md";
/** Prompts that are offered. */
const MOST_PROMPTS = 50;

/** The prompts of a folder by their names. */
export async function promptFiles(folder: vscode.Uri): Promise<PromptItem[]> {
  const entries = await vscode.workspace.fs.readDirectory(vscode.Uri.joinPath(folder, FOLDER)).then(undefined, () => []);
  const names = entries.map(([name]) => name).filter((name) => name.endsWith(ENDING));
  const prompts = names
    .sort()
    .slice(0, MOST_PROMPTS)
    .map(async (file): Promise<PromptItem> => {
      const name = file.slice(0, -ENDING.length);
      const { description } = await read(folder, name);
      return { name, about: description ?? `Prompt of ${FOLDER}/${file}` };
    });
  return Promise.all(prompts);
}

/** A prompt with its path; what its front matter says is not for the model. */
export async function promptFile(folder: vscode.Uri, name: string): Promise<{ path: string; text: string }> {
  // A name is no way out of the folder.
  if (!(await promptFiles(folder)).some((prompt) => prompt.name === name)) throw new Error(`the prompt ${name} is not in ${FOLDER}`);
  const { body } = await read(folder, name);
  return { path: `${FOLDER}/${name}${ENDING}`, text: body };
}

async function read(folder: vscode.Uri, name: string): Promise<ReturnType<typeof frontMatter>> {
  const bytes = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(folder, FOLDER, name + ENDING));
  return frontMatter(new TextDecoder().decode(bytes));
}
