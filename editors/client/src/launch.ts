// The interface of a process to the client, whoever starts it. `node.ts` starts a real one.

import type { Streams } from "./connection.js";
import type { Exit } from "./errors.js";

/** A process that was started. */
export interface Launched extends Streams {
  /** Its number, where it has one. */
  readonly pid?: number;
  /** The number of the process that it must not outlive. */
  readonly parentPid?: number;
  /** Name for messages, such as the path of the program. */
  readonly name: string;
  /** Comes once it has ended and all that it wrote was read. Never fails. */
  readonly ended: Promise<Exit>;
  /** The last lines of its standard error. */
  lastLines(): string[];
  /** Closes its input, which ends it; ends it by force where that takes longer than this. Comes once it has ended. */
  stop(patienceMs: number): Promise<Exit>;
}

/** Starts a sidecar. Fails with a `SidecarError`. `onLine` is told each line of its standard error. */
export type Launch = (onLine: (line: string) => void) => Promise<Launched>;
