// Runs a program between a client and the test: tee.mjs LOG PROGRAM [ARGUMENT...]. Each line of either side is passed on
// as it is, and added to the log before it is passed on; so is the end of the program.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [log, program, ...args] = process.argv.slice(2);
// One write a line: several agents of a client share the log.
const note = (line) => appendFileSync(log, `${JSON.stringify({ pid: process.pid, ...line })}\n`);
const agent = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });

function pass(from, input, output) {
  createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
    .on("line", (line) => {
      note({ from, message: JSON.parse(line) });
      output.write(`${line}\n`);
    })
    .on("close", () => output.end());
}

pass("client", process.stdin, agent.stdin);
pass("agent", agent.stdout, process.stdout);
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => agent.kill(signal));
agent.on("close", (code) => {
  note({ exit: code });
  process.exit(code ?? 1);
});
