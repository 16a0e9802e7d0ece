// Runs a shell command to its end, or stops it with everything that it started.

import { spawn, spawnSync } from "node:child_process";

/** Characters that are kept of what a command prints; the sidecar shortens what the model sees by itself. */
const MOST_CHARACTERS = 2_000_000;
/** How long output is waited for when a command has ended: what it left running may never close it. */
const LINGER_MS = 1_000;
/** How long a command may take to end when it is asked to. */
const GRACE_MS = 5_000;

/** How a command ended. */
export interface Ended {
  printed: string;
  code: number | null;
  /** Note beside the exit code; may be empty. */
  remark: string;
  /** True if something that it started still runs. */
  isLeft: boolean;
}

/** A command that runs. */
export interface Running {
  ended: Promise<Ended>;
  /** Ends it and what it started; does nothing when all of that is over. */
  stop(): void;
  /** True once it and what it started is over. */
  isOver(): boolean;
}

const isWindows = process.platform === "win32";

/** Starts a command; `hear` is told what it prints, also of what it leaves running. */
export function start(command: string, cwd: string, hear: (said: string) => void): Running {
  const child = spawn(command, {
    cwd,
    shell: isWindows ? true : (process.env["SHELL"] ?? "/bin/sh"),
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that all of it can be stopped.
    detached: !isWindows,
    env: { ...process.env, TERM: "dumb", NO_COLOR: "1", PAGER: "cat", GIT_PAGER: "cat" },
  });
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  let printed = "";
  let unkept = 0;
  let isOver = false;
  const take = (said: string): void => {
    const kept = said.slice(0, MOST_CHARACTERS - printed.length);
    printed += kept;
    unkept += said.length - kept.length;
    hear(said);
  };
  // A character may come in two pieces.
  child.stdout.setEncoding("utf8").on("data", take);
  child.stderr.setEncoding("utf8").on("data", take);

  const settle = (isLeft: boolean): void => {
    const by = child.signalCode;
    const remarks = [
      unkept > 0 && `… and ${unkept} more characters.`,
      by !== null && `Terminated by ${by}.`,
      isLeft && "A background process is still running; its output appears in the terminal.",
    ];
    resolve({ printed, code: child.exitCode, remark: remarks.filter((remark) => remark !== false).join("\n"), isLeft });
  };
  child.once("error", (error) => {
    isOver = true;
    reject(error);
  });
  child.once("exit", () => void setTimeout(() => settle(true), LINGER_MS).unref());
  child.once("close", () => {
    isOver = true;
    settle(false);
  });

  const signal = (name: NodeJS.Signals): void => {
    if (isOver || child.pid === undefined) return;
    if (isWindows) spawnSync("taskkill", ["/pid", String(child.pid), "/T", "/F"]);
    else {
      try {
        process.kill(-child.pid, name);
      } catch {
        // All of it ended meanwhile.
      }
    }
  };
  const stop = (): void => {
    signal("SIGTERM");
    setTimeout(() => signal("SIGKILL"), GRACE_MS).unref();
  };
  return { ended: promise, stop, isOver: () => isOver };
}
