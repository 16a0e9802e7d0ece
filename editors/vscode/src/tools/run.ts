// The tool that runs a command, in a terminal of the editor where the user sees it and can stop it with Ctrl+C. What it
// printed and how it ended goes to the model.

import { spawn } from "node:child_process";
import * as vscode from "vscode";
import { inFolder, maybeText, type OwnTool, text } from "./own.ts";

/** Characters that are kept of what a command prints; the sidecar shortens what the model sees by itself. */
const MOST_CHARACTERS = 2_000_000;

const runCommand: OwnTool = {
  name: "run_command",
  description:
    "Runs a command with the shell in the folder, in a terminal that the user sees, and answers what it printed and its " +
    "exit code. It cannot ask anything.",
  kind: "run",
  group: "run",
  inputSchema: {
    type: "object",
    properties: {
      command: { type: "string", description: "The command." },
      folder: { type: "string", description: "Where it runs, from the folder on. Default: the folder." },
    },
    required: ["command"],
  },
  async run(given, folder, signal) {
    const command = text(given, "command");
    const { uri } = await inFolder(maybeText(given, "folder") ?? ".", folder);
    const { printed, code, ended } = await inTerminal(command, uri.fsPath, signal);
    const said = printed === "" ? "It printed nothing." : printed;
    return {
      content: ended === "" ? said : `${said}\n${ended}`,
      ...(code !== null && { exitCode: code }),
      isError: code !== 0,
    };
  },
};

export const RUN_TOOLS: readonly OwnTool[] = [runCommand];

/** Terminals of commands that ended, the newest last. */
const over: vscode.Terminal[] = [];
const MOST_TERMINALS = 5;

interface Ran {
  printed: string;
  code: number | null;
  /** How it ended, where no exit code says it. */
  ended: string;
}

function inTerminal(command: string, cwd: string, signal: AbortSignal): Promise<Ran> {
  const write = new vscode.EventEmitter<string>();
  const done = Promise.withResolvers<Ran>();
  const windows = process.platform === "win32";
  const child = spawn(command, {
    cwd,
    shell: windows ? true : (process.env["SHELL"] ?? "/bin/sh"),
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that all of it can be stopped.
    detached: !windows,
    env: { ...process.env, TERM: "dumb", NO_COLOR: "1", PAGER: "cat", GIT_PAGER: "cat" },
  });
  let printed = "";
  let unkept = 0;
  // A terminal hears nothing before it is open.
  let unheard: string | undefined = `$ ${command}\n`;
  const show = (said: string): void => {
    if (unheard === undefined) write.fire(said.replace(/\r?\n/g, "\r\n"));
    else unheard += said;
  };
  const take = (said: string): void => {
    const kept = said.slice(0, MOST_CHARACTERS - printed.length);
    printed += kept;
    unkept += said.length - kept.length;
    show(said);
  };
  // A character may come in two pieces.
  child.stdout.setEncoding("utf8").on("data", take);
  child.stderr.setEncoding("utf8").on("data", take);
  const stop = (): void => {
    if (child.pid === undefined || child.exitCode !== null) return;
    if (windows) child.kill();
    else process.kill(-child.pid, "SIGTERM");
  };
  signal.addEventListener("abort", stop, { once: true });
  const terminal = vscode.window.createTerminal({
    name: `Agent: ${command.slice(0, 40)}`,
    pty: {
      onDidWrite: write.event,
      open: () => {
        const said = unheard ?? "";
        unheard = undefined;
        show(said);
      },
      close: stop,
      handleInput: (key: string) => {
        if (key === "\x03") stop();
      },
    },
  });
  terminal.show(true);
  child.once("error", (error) => done.reject(error));
  child.once("close", (code, by) => {
    signal.removeEventListener("abort", stop);
    const ended = by === null ? "" : `It was stopped by ${by}.`;
    show(`\n[${ended === "" ? `exit code ${code}` : ended}]\n`);
    // What ran last stays to be read; the rest would only pile up.
    over.push(terminal);
    while (over.length > MOST_TERMINALS) over.shift()?.dispose();
    done.resolve({ printed: unkept === 0 ? printed : `${printed}\n… and ${unkept} characters more.`, code, ended });
  });
  return done.promise;
}
