// Lines that a regular expression of a model finds, looked for beside the editor's own work: an expression may take for
// ever, and then only the search ends.

import { Worker } from "node:worker_threads";

/** How long one search may take in all. */
const TIMEOUT_MS = 20_000;

const WORK = `
const { parentPort, workerData } = require("node:worker_threads");
const expression = new RegExp(workerData);
parentPort.on("message", (lines) => {
  const found = [];
  for (let at = 0; at < lines.length; at += 1) if (expression.test(lines[at])) found.push(at);
  parentPort.postMessage(found);
});`;

/** Looks for one expression in many texts. */
export class Matcher {
  readonly #worker: Worker;
  readonly #query: string;
  readonly #timer: NodeJS.Timeout;
  #give: ((found: number[]) => void) | undefined;
  #refuse: ((error: Error) => void) | undefined;
  #broken: Error | undefined;

  constructor(query: string, signal: AbortSignal, patience = TIMEOUT_MS) {
    // An expression that is none is refused here, in the words of the language.
    new RegExp(query);
    this.#query = query;
    this.#worker = new Worker(WORK, { eval: true, workerData: query });
    this.#worker.on("message", (found: number[]) => this.#give?.(found));
    this.#worker.on("error", (error) => this.#break(error));
    this.#timer = setTimeout(
      () => this.#break(new Error(`the regular expression ${this.#query} takes too long; use a simpler one, or search fewer files`)),
      patience,
    );
    signal.addEventListener("abort", () => this.#break(new Error("the search was cancelled")), { once: true });
  }

  /** The places of the lines that are like it. */
  async find(lines: readonly string[]): Promise<number[]> {
    if (this.#broken !== undefined) throw this.#broken;
    return new Promise((resolve, reject) => {
      [this.#give, this.#refuse] = [resolve, reject];
      this.#worker.postMessage(lines);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.#worker.terminate();
  }

  #break(error: Error): void {
    this.#broken ??= error;
    void this.#worker.terminate();
    this.#refuse?.(this.#broken);
  }
}
