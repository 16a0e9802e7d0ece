// What goes over the connections between other clients and the agent, as `tee.mjs` writes it down.
import assert from "node:assert/strict";
import { existsSync, readFileSync, watch } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { faults } from "./acp.mjs";
import { THREADHOLD } from "./start.mjs";

const TEE = fileURLToPath(new URL("tee.mjs", import.meta.url));

export class Recording {
  /** A recording in the folder of a test. */
  constructor(on) {
    this.file = on.at("recording.jsonl");
  }

  /** The words of a command that runs the agent with its connection on the recording. */
  command(args) {
    return [process.execPath, TEE, this.file, THREADHOLD, ...args];
  }

  /** The lines of each process of the agent, in the order in which the processes began, and their ends. */
  connections() {
    const text = existsSync(this.file) ? readFileSync(this.file, "utf8") : "";
    const all = new Map();
    for (const line of text.split("\n").slice(0, -1)) {
      const { pid, exit, ...said } = JSON.parse(line);
      const one = all.get(pid) ?? { log: [] };
      all.set(pid, one);
      if (exit === undefined) one.log.push(said);
      else one.exit = exit;
    }
    return [...all.values()];
  }

  /** The requests of each connection that opened a session. */
  openings() {
    const isOne = (method) => /^session\/(new|load|resume)$/.test(method);
    return this.connections().map(({ log }) => log.map(({ message }) => message.method).filter(isOne));
  }

  /** Waits until an agent wrote a line that has it. */
  said(is) {
    return this.#until((all) => all.some(({ log }) => log.some(({ from, message }) => from === "agent" && is(message))));
  }

  /** Waits until every agent has ended. */
  ended() {
    return this.#until((all) => all.every(({ exit }) => exit !== undefined));
  }

  #until(is) {
    return new Promise((resolve) => {
      const look = () => {
        if (!is(this.connections())) return;
        watcher.close();
        resolve();
      };
      const watcher = watch(dirname(this.file), look);
      look();
    });
  }

  /** Holds all lines in both directions against the published schema. */
  isSound(version = 1) {
    const all = this.connections();
    assert.ok(all.length > 0, "the recording is empty");
    assert.deepEqual(
      all.flatMap(({ log }) => faults(log, version)),
      [],
    );
  }
}
