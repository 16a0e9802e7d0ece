// Errors as types that a program can tell apart, with messages for people: what happened, what was kept, what to do.

import type { ErrorData } from "./protocol.js";

/** Why there is no sidecar to talk to. */
export type SidecarFault =
  /** No file of that name was found. */
  | "missing"
  /** The file is there and cannot be run. */
  | "notExecutable"
  /** The process exited before it answered `initialize`. */
  | "diedAtStart"
  /** No answer to `initialize` in time. */
  | "noAnswer"
  /** Another program answered. */
  | "notThreadhold"
  /** Another version of the protocol. */
  | "wrongVersion"
  /** A method that the client needs is missing. */
  | "tooOld"
  /** The sidecar rejected its parameters, such as the storage folder. */
  | "refused"
  /** The process exited while it was in use. */
  | "died"
  /** Somebody asked to have it started again. */
  | "restarted"
  /** The process wrote an invalid message or took none, and was stopped. */
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

/** Details of a process that failed. */
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
    const last = stderr.length > 0 ? `\nLast lines of its log:\n${stderr.join("\n")}` : "";
    super(message + last);
    this.name = "SidecarError";
    this.exit = exit;
    this.stderr = stderr;
  }

  /** True if a restart would fail in the same way. */
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
  return signal === null ? `with exit code ${code}` : `on ${signal}`;
}

/**
 * The sidecar ended before it answered. What it had acknowledged is on disk; whether this was carried out cannot be
 * said. It is started again, and `session/open` shows what is there.
 */
export class RequestLost extends Error {
  constructor(
    /** Method of the request. */
    readonly method: string,
    /** It can be sent again safely: it has an `idempotencyKey` or is idempotent. */
    readonly canBeSentAgain: boolean,
    /** Why the sidecar ended. */
    override readonly cause: SidecarError,
  ) {
    const advice = canBeSentAgain
      ? "Send it again unchanged; it is not executed twice."
      : "Check the session's snapshot before sending it again.";
    super(`the sidecar exited before it answered ${method}. Acknowledged changes are saved. ${advice}`);
    this.name = "RequestLost";
  }
}

/** A word for a kind of error. */
export type ErrorKind = ErrorData["kind"];

/** The sidecar answered with an error. The message is its own, for people. */
export class ProtocolError<Kind extends ErrorKind = ErrorKind> extends Error {
  constructor(
    /** Method of the request. */
    readonly method: string,
    /** The number of the error, see `ERROR_CODES`. */
    readonly code: number,
    message: string,
    /** Typed details; undefined if the sidecar sent none that can be read. */
    readonly data: Extract<ErrorData, { kind: Kind }> | undefined,
  ) {
    super(message);
    this.name = "ProtocolError";
  }
}

/** True if an error is the sidecar's, of this kind; then `data` has its fields. */
export function isProtocolError<Kind extends ErrorKind>(
  error: unknown,
  kind: Kind,
): error is ProtocolError<Kind> & {
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
    /** Size of the prompt in the provider's tokens, if known. */
    readonly needed?: number,
  ) {
    super(message);
    this.name = "ContextOverflow";
  }
}

/** Thrown by a model whose failure passes, such as a connection that broke: the sidecar asks again after a delay. */
export class ModelUnavailable extends Error {
  constructor(
    message: string,
    /** Class of the failure. */
    readonly kind: "network" | "overloaded" | "rateLimited" = "network",
    /** Delay that the provider wants, in milliseconds. Default: the sidecar's own, which doubles. */
    readonly retryAfterMs?: number,
  ) {
    super(message);
    this.name = "ModelUnavailable";
  }
}
