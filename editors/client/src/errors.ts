// What can go wrong, as types that a program can tell apart and words for people: what happened, what was kept, what to
// do. When each is thrown is for the files that throw it.

import type { ErrorData } from "./protocol.js";

/** Why there is no sidecar to talk to. */
export type SidecarFault =
  /** No file of that name was found. */
  | "missing"
  /** The file is there and cannot be run. */
  | "notExecutable"
  /** It ended before it answered `initialize`. */
  | "diedAtStart"
  /** It did not answer `initialize` in time. */
  | "noAnswer"
  /** It answers, and is another program. */
  | "notThreadhold"
  /** It speaks another version of the protocol. */
  | "wrongVersion"
  /** It speaks this version and lacks methods that the client needs. */
  | "tooOld"
  /** It refused what it was started with, such as the place for sessions. */
  | "refused"
  /** It ended while it was needed. */
  | "died"
  /** Somebody asked to have it started again. */
  | "restarted"
  /** It wrote what is no message, or could not be written to; it was ended. */
  | "brokenStream"
  /** The client was disposed. */
  | "disposed";

/** How a process ended. */
export interface Exit {
  /** Its exit code, where it has one. */
  code: number | null;
  /** The signal that ended it, where one did. */
  signal: string | null;
}

/** What is known of a process that failed. */
export interface Wreck {
  /** How it ended; missing where it did not begin, or did not end. */
  exit?: Exit;
  /** The last lines of its standard error, which is its log. */
  stderr?: readonly string[];
}

/** There is no sidecar to talk to. The message says why, and what to do. */
export class SidecarError extends Error {
  /** How its process ended; missing where it did not begin, or did not end. */
  readonly exit: Exit | undefined;
  /** The last lines of its standard error, which is its log. */
  readonly stderr: readonly string[];

  constructor(
    /** Why. */
    readonly fault: SidecarFault,
    message: string,
    { exit, stderr = [] }: Wreck = {},
  ) {
    const last = stderr.length > 0 ? `\nThe last lines of its log:\n${stderr.join("\n")}` : "";
    super(message + last);
    this.name = "SidecarError";
    this.exit = exit;
    this.stderr = stderr;
  }

  /** Whether it is of no use to start it again as it is. */
  get isLasting(): boolean {
    return LASTING.has(this.fault);
  }
}

const LASTING: ReadonlySet<SidecarFault> = new Set<SidecarFault>([
  "missing",
  "notExecutable",
  "notThreadhold",
  "wrongVersion",
  "tooOld",
  "refused",
  "disposed",
]);

/** How a process ended, in words. */
export function inWords({ code, signal }: Exit): string {
  return signal === null ? `with exit code ${code}` : `by ${signal}`;
}

/**
 * The sidecar ended before it answered. What it had acknowledged is on disk; whether this was carried out cannot be
 * said. It is started again, and `session/open` shows what is there.
 */
export class RequestLost extends Error {
  constructor(
    /** What was asked. */
    readonly method: string,
    /** Whether it can be sent again without harm: it has an `idempotencyKey`, or done twice is as done once. */
    readonly canBeSentAgain: boolean,
    /** Why the sidecar ended. */
    override readonly cause: SidecarError,
  ) {
    const advice = canBeSentAgain
      ? "Send it again as it is: it is not done twice."
      : "Look at the session's snapshot before you send it again.";
    super(`the sidecar ended before it answered ${method}. What it had acknowledged is kept. ${advice}`);
    this.name = "RequestLost";
  }
}

/** A word for a kind of error. */
export type ErrorKind = ErrorData["kind"];

/** The sidecar answered with an error. The message is its own, for people. */
export class ProtocolError<Kind extends ErrorKind = ErrorKind> extends Error {
  constructor(
    /** What was asked. */
    readonly method: string,
    /** The number of the error, see `ERROR_CODES`. */
    readonly code: number,
    message: string,
    /** What belongs to it; missing where the sidecar gave nothing that can be read. */
    readonly data: Extract<ErrorData, { kind: Kind }> | undefined,
  ) {
    super(message);
    this.name = "ProtocolError";
  }
}

/** Whether an error is the sidecar's, of this kind; then `data` has its fields. */
export function isProtocolError<Kind extends ErrorKind>(error: unknown, kind: Kind): error is ProtocolError<Kind> & {
  readonly data: Extract<ErrorData, { kind: Kind }>;
} {
  return error instanceof ProtocolError && error.data?.kind === kind;
}

/** Thrown by a model that finds its prompt too large: the sidecar compacts and asks again. */
export class ContextOverflow extends Error {
  constructor(
    message = "the prompt is too large for the model",
    /** The most that the provider takes, in its tokens, where it says so. */
    readonly limit?: number,
    /** What the prompt weighs, in its tokens, where it says so. */
    readonly needed?: number,
  ) {
    super(message);
    this.name = "ContextOverflow";
  }
}
