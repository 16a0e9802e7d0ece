// The editor's own file of a chat: a JSON value, or a log of changes to one, a line for each. Read into the JSON value that
// the editor's "Export Chat" writes too. What the value says is the sidecar's to read.

/** A change: 0 begins with a value, 1 sets one, 2 cuts a list at `i` and adds to it, 3 takes a value away. */
interface Change {
  kind: number;
  k?: (string | number)[];
  v?: unknown;
  i?: number;
}

/** The value that a log comes to. Fails where it is no such log; a last line that was cut off is left out. */
export function replayed(log: string): unknown {
  const lines = log.split("\n").filter((line) => line.trim() !== "");
  let value: unknown;
  for (const [at, line] of lines.entries()) {
    let change: Change;
    try {
      change = JSON.parse(line) as Change;
    } catch (error) {
      if (at > 0 && at + 1 === lines.length) break;
      throw error;
    }
    value = changed(value, change);
  }
  return value;
}

function changed(value: unknown, { kind, k = [], v, i }: Change): unknown {
  if (kind === 0) return v;
  const last = k.at(-1);
  if (last === undefined) throw new Error("invalid chat log: a change without a key");
  const holder = k.slice(0, -1).reduce<unknown>((inner, key) => fieldsOf(inner, key)[key], value);
  const fields = fieldsOf(holder, last);
  if (kind === 1) fields[last] = v;
  else if (kind === 3) delete fields[last];
  else if (kind === 2) {
    const before = fields[last];
    const list: unknown[] = Array.isArray(before) ? before : [];
    fields[last] = [...(i === undefined ? list : list.slice(0, i)), ...(Array.isArray(v) ? (v as unknown[]) : [])];
  } else throw new Error(`invalid chat log: unknown change ${kind}`);
  return value;
}

/** A list or an object, for a key of its own: a file may name whatever it likes. */
function fieldsOf(value: unknown, key: string | number): { [key: string | number]: unknown } {
  const isPlace = Array.isArray(value)
    ? typeof key === "number" && Number.isInteger(key) && key >= 0 && key <= value.length
    : typeof value === "object" && value !== null && (Object.hasOwn(value, key) || !(key in value));
  if (!isPlace) throw new Error("invalid chat log: a change to a missing place");
  return value as { [key: string]: unknown };
}
