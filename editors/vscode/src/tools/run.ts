// The tool that runs a command, in a terminal of the editor where the user sees it and can stop it with Ctrl+C. What it
// printed and how it ended goes to the model.

import * as vscode from "vscode";
import { visible, visibleLine } from "../shared/visible.ts";
import { inFolder, maybeText, type OwnTool, text } from "./own-tool.ts";
import { type Ended, type Running, start } from "./shell.ts";

const runCommand: OwnTool = {
  name: "run_command",
  description:
    "Runs a shell command in the workspace folder, in a terminal that the user sees. Returns its output and exit code. " +
    "The command cannot read input.",
  kind: "execute",
  group: "run",
  inputSchema: {
    type: "object",
    properties: {
      command: { type: "string", description: "Shell command to run." },
      folder: { type: "string", description: "Working directory, relative to the workspace folder. Default: the workspace folder." },
    },
    required: ["command"],
  },
  async run(given, folder, signal) {
    const command = text(given, "command");
    const { uri } = await inFolder(maybeText(given, "folder") ?? ".", folder);
    const { printed, code, remark } = await inTerminal(command, uri.fsPath, signal);
    const said = printed === "" ? "(no output)" : printed;
    return {
      content: remark === "" ? said : `${said}\n${remark}`,
      ...(code !== null && { exitCode: code }),
      isError: code !== 0,
    };
  },
};

export const RUN_TOOLS: readonly OwnTool[] = [runCommand];

/** Terminals of commands that are over, the newest last. */
const over: vscode.Terminal[] = [];
const MOST_TERMINALS = 5;
/** Ends what commands left running. */
const left = new Set<() => void>();
/** Commands that are over and left something running, which may still write files. */
const lingering = new Set<Running>();

/** True if something that an earlier command started still runs. */
export function isAnythingLeft(): boolean {
  for (const running of lingering) if (running.isOver()) lingering.delete(running);
  return lingering.size > 0;
}

/** Ends all that was begun here: no process outlives the window. */
export function stopAll(): void {
  for (const stop of left) stop();
}

async function inTerminal(command: string, cwd: string, signal: AbortSignal): Promise<Ended> {
  signal.throwIfAborted();
  const write = new vscode.EventEmitter<string>();
  // A terminal hears nothing before it is open.
  let unheard: string | undefined = `$ ${visible(command)}\n`;
  const show = (said: string): void => {
    if (unheard === undefined) write.fire(said.replace(/\r?\n/g, "\r\n"));
    else unheard += said;
  };
  const running = start(command, cwd, show);
  const { ended, stop } = running;
  left.add(stop);
  signal.addEventListener("abort", stop, { once: true });
  const terminal = vscode.window.createTerminal({
    name: `Agent: ${visibleLine(command, 40)}`,
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
  let isLeft = false;
  try {
    const how = await ended;
    ({ isLeft } = how);
    show(`\n[${how.code === null ? how.remark : `exit code ${how.code}`}]\n`);
    // What is left running is stopped by closing its terminal, so that stays.
    if (isLeft) lingering.add(running);
    else over.push(terminal);
    // What ran last stays to be read; the rest would only pile up.
    while (over.length > MOST_TERMINALS) over.shift()?.dispose();
    return how;
  } finally {
    signal.removeEventListener("abort", stop);
    if (!isLeft) left.delete(stop);
  }
}
