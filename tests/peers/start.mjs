// Programs that the tests beside this file start: the sidecar, and clients and servers of others.
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The sidecar's binary. */
export const THREADHOLD = process.env.THREADHOLD_BIN ?? here("../../target/debug/threadhold");

/** A program that an npm package brings, as arguments of this Node. */
export const npm = (name) => [process.execPath, here(`node_modules/.bin/${name}`)];

/** The Python that has the packages of requirements.txt. */
export const PYTHON = here(".venv/bin/python");

const ends = new WeakMap();

/** Does something when the test ends, before what was asked for earlier: a program ends before its folder goes. */
export function atEnd(test, act) {
  const known = ends.get(test);
  if (known) {
    known.push(act);
    return;
  }
  const acts = [act];
  ends.set(test, acts);
  test.after(async () => {
    for (const act of acts.toReversed()) await act();
  });
}
