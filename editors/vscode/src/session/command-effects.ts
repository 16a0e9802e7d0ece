// What shell commands do to files, as the sidecar reads it in their text. Nothing is read here: an approval, a rewind and
// the ledger must not differ.

import type { Client, CommandEffect, CommandEffectsResult, CommandUnknown } from "@threadhold/client";

/** Reads a command that starts in a folder; undefined if the sidecar does not answer. */
export type ReadEffects = (command: string, cwd: string) => Promise<CommandEffectsResult | undefined>;

/** How long an answer is waited for: a card stands without it, and a sidecar that is down may come back late. */
const ANSWER_MS = 3_000;
/** Commands whose sentences are kept; those of older cards are asked for again. */
const MOST_KNOWN = 200;
/** Effects that a card names. */
const MOST_NAMED = 12;

const UNREAD: readonly string[] = ["The effects of this command on files were not read. Check the whole command."];

const KINDS: Record<Exclude<CommandEffect["kind"], "read" | "move">, string> = {
  create: "Creates",
  write: "Writes",
  delete: "Deletes",
  makeFolder: "Creates the folder",
};

/** What is not known of a part of a command, by reason. */
const UNKNOWN: Record<CommandUnknown["reason"], (part: string) => string> = {
  program: (part) => `${part} may change files; which is not known`,
  worktree: (part) => `${part} may change any file of the worktree`,
  path: (part) => `${part} has a path that is known only when it runs`,
  dynamic: (part) => `${part} runs something that is known only when it runs`,
  syntax: (part) => `The command was not read whole: a syntax error near ${part}`,
  shell: (part) => `${part} is not written for a POSIX shell`,
  limit: (part) => `${part} is too long or too deeply nested to be read whole`,
};

export class CommandEffects {
  readonly #client: () => Promise<Client>;
  readonly #changed: () => void;
  /** By command and folder; undefined while the sidecar is asked. */
  readonly #known = new Map<string, readonly string[] | undefined>();

  /** `changed` is called when sentences are known that were asked for. */
  constructor(client: () => Promise<Client>, changed: () => void) {
    this.#client = client;
    this.#changed = changed;
  }

  readonly read: ReadEffects = async (command, cwd) => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), ANSWER_MS);
    });
    const asked = this.#client().then((client) => client.request("command/effects", { command, cwd, shell: shell() }));
    // A sidecar that is down, or one that does not know the method.
    const answered = asked.catch(() => undefined);
    try {
      return await Promise.race([answered, late]);
    } finally {
      clearTimeout(timer);
    }
  };

  /** Sentences for the card of a command; undefined until the sidecar has answered. */
  sentences(command: string, cwd: string): readonly string[] | undefined {
    const key = `${cwd}\n${command}`;
    if (this.#known.has(key)) return this.#known.get(key);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size < MOST_KNOWN) break;
      this.#known.delete(oldest);
    }
    this.#known.set(key, undefined);
    void this.read(command, cwd).then((found) => {
      this.#known.set(key, found === undefined ? UNREAD : sentencesOf(found, cwd));
      this.#changed();
    });
    return undefined;
  }
}

/** The shell that runs commands here. */
function shell(): string {
  return process.platform === "win32" ? (process.env["ComSpec"] ?? "cmd.exe") : (process.env["SHELL"] ?? "/bin/sh");
}

/** What a command does to files, in sentences; paths in the folder are shown without it. */
export function sentencesOf({ effects, unknown }: CommandEffectsResult, cwd: string): readonly string[] {
  const short = (path: string): string => (path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path);
  const sentence = (effect: CommandEffect): string => {
    const { kind, path, from, ifFolder, certain, pattern } = effect;
    if (kind === "read") return "";
    const target = `${short(path)}${ifFolder === undefined ? "" : ` or ${short(ifFolder)}`}`;
    const does = kind === "move" ? `Moves ${short(from ?? "")} to ${target}` : `${KINDS[kind]} ${target}`;
    return `${does}${pattern === true ? " (pattern)" : ""}${certain ? "" : ", under a condition"}`;
  };
  const named = effects.map(sentence).filter((text) => text !== "");
  const more = named.length - MOST_NAMED;
  if (more > 0) named.splice(MOST_NAMED, more, `And ${more} more effects on files`);
  return [...named, ...unknown.map(({ part, reason }) => UNKNOWN[reason](`"${part}"`))];
}
