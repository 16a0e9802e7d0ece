// Commands that are typed into the prompt behind a slash: their names, and reading one. No editor and no document here.

/** A command of the prompt. */
export interface SlashCommand {
  name: SlashName;
  /** What it does, for its entry in the menu. */
  about: string;
  /** What may be typed behind its name. */
  takes?: string;
}

export type SlashName = "compact" | "cost" | "find" | "help" | "mode" | "model" | "new" | "pin" | "rewind" | "sessions" | "undo";

/** A prompt of the workspace or of a tool server. */
export interface PromptItem {
  name: string;
  about: string;
  /** Its arguments, as they are typed behind its name. */
  takes?: string;
}

/** A tool that a request may name. */
export interface ToolItem {
  name: string;
  about: string;
  /** What its definition costs in each prompt, in words. */
  cost: string;
}

/** All of them, in the order of the menu. */
export const SLASH: readonly SlashCommand[] = [
  { name: "compact", about: "Summarize earlier rounds now", takes: "what the summary must keep" },
  { name: "cost", about: "Show what the prompt holds and what the session cost" },
  { name: "find", about: "Find in this session" },
  { name: "help", about: "Open the walkthrough" },
  { name: "mode", about: "Choose what the agent may do: ask, plan, or agent" },
  { name: "model", about: "Choose the model" },
  { name: "new", about: "Start a new session" },
  { name: "pin", about: "Include a text unchanged in every prompt", takes: "the text" },
  { name: "rewind", about: "Rewind to before your last message" },
  { name: "sessions", about: "Show the sessions of this folder" },
  { name: "undo", about: "Undo the last compaction" },
];

/** The command that a text is, with what is typed behind it; undefined for any other text, such as a path. */
export function slashOf(text: string): { name: SlashName; rest: string } | undefined {
  const [, name, rest = ""] = /^\/([a-z]+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  const known = SLASH.find((command) => command.name === name);
  // What takes nothing more is a sentence that begins like it.
  if (known === undefined || (known.takes === undefined && rest !== "")) return undefined;
  return { name: known.name, rest: rest.trim() };
}

/** The prompt that a text asks for, with what is typed behind its name. A command of the same name comes first. */
export function promptOf(text: string, prompts: readonly PromptItem[]): { name: string; rest: string } | undefined {
  const [, name, rest = ""] = /^\/(\S+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  const isCommand = SLASH.some((command) => command.name === name);
  return name === undefined || isCommand || !prompts.some((prompt) => prompt.name === name) ? undefined : { name, rest: rest.trim() };
}

/** The prompts that a text may become: one of a server also by its own name, behind that of the server. */
export function promptsFor(text: string, prompts: readonly PromptItem[]): PromptItem[] {
  const [, name] = /^\/(\S*)$/.exec(text.toLowerCase()) ?? [];
  if (name === undefined) return [];
  const begins = (known: string): boolean => known.startsWith(name);
  return prompts.filter((prompt) => {
    const known = prompt.name.toLowerCase();
    return begins(known) || begins(known.slice(known.indexOf(":") + 1));
  });
}

/** A command as it is typed. */
export function textOf({ name, rest }: { name: string; rest: string }): string {
  return rest === "" ? `/${name}` : `/${name} ${rest}`;
}

/** The commands that a text may become; none once a name is whole and more is typed. */
export function slashesFor(text: string): SlashCommand[] {
  const [, name] = /^\/([a-z]*)$/.exec(text) ?? [];
  return name === undefined ? [] : SLASH.filter((command) => command.name.startsWith(name));
}
