// The tool that runs a command. The user sees what it prints in its row and in the agent's terminal, and can stop it in
// both. What it printed and how it ended goes to the model.

import { errorText } from "../shared/text.ts";
import { visible } from "../shared/visible.ts";
import { type Hear, inFolder, maybeText, type OwnTool, text } from "./own-tool.ts";
import { type Ended, type Running, start } from "./shell.ts";
import { onTerminal } from "./terminal.ts";

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
  async run(given, folder, signal, { hear }) {
    const command = text(given, "command");
    const { uri } = await inFolder(maybeText(given, "folder") ?? ".", folder);
    const { printed, code, remark } = await inTerminal(command, uri.fsPath, signal, hear);
    const said = [printed === "" ? "(no output)" : printed, remark, signal.aborted ? "Stopped by the user." : ""];
    return {
      content: said.filter((part) => part !== "").join("\n"),
      ...(code !== null && { exitCode: code }),
      isError: code !== 0,
    };
  },
};

export const RUN_TOOLS: readonly OwnTool[] = [runCommand];

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

async function inTerminal(command: string, cwd: string, signal: AbortSignal, hear: Hear): Promise<Ended> {
  signal.throwIfAborted();
  // What a command prints comes later than it is started.
  let screen: ReturnType<typeof onTerminal> | undefined;
  const running = start(command, cwd, (said) => {
    screen?.write(said);
    hear(said);
  });
  const { ended, stop } = running;
  screen = onTerminal(`$ ${visible(command)}\n`, stop);
  left.add(stop);
  signal.addEventListener("abort", stop, { once: true });
  let isLeft = false;
  try {
    const how = await ended;
    ({ isLeft } = how);
    screen.end(`\n[${how.code === null ? how.remark : `exit code ${how.code}`}]\n`);
    // What is left running is stopped in the terminal.
    if (isLeft) lingering.add(running);
    return how;
  } catch (error) {
    screen.end(`\n[${errorText(error)}]\n`);
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
    if (!isLeft) {
      left.delete(stop);
      screen.leave();
    }
  }
}
