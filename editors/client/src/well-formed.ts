// Strings that JavaScript cut within a surrogate pair, made ones that every reader of JSON takes.

import type { Message, MessageWriter } from "vscode-jsonrpc";

/** Node has it from version 20 on; what is built for es2023 does not know it. */
const { toWellFormed } = String.prototype as { toWellFormed?: (this: string) => string };

/** The text with U+FFFD in the place of each unpaired surrogate. */
export function wellFormedText(text: string, native: ((this: string) => string) | null = toWellFormed ?? null): string {
  return native === null ? text.replace(/\p{Surrogate}/gu, "\ufffd") : native.call(text);
}

/** The value with all its strings well-formed, names of fields too; the value itself where they are. */
export function wellFormed<Value>(value: Value): Value {
  return mended(value) as Value;
}

function mended(value: unknown): unknown {
  if (typeof value === "string") return wellFormedText(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(mended);
    return items.every((item, at) => item === value[at]) ? value : items;
  }
  // What says by itself how it is written is asked first, as JSON.stringify does.
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return mended((value as { toJSON(): unknown }).toJSON());
  const fields = Object.entries(value).map(([name, field]) => [wellFormedText(name), mended(field), field] as const);
  const isWhole = fields.every(([name, after, before]) => after === before && name in value);
  return isWhole ? value : Object.fromEntries(fields);
}

/** A writer of well-formed messages. */
export function wellFormedWriter(writer: MessageWriter): MessageWriter {
  return {
    onError: writer.onError,
    onClose: writer.onClose,
    write: (message: Message) => writer.write(wellFormed(message)),
    end: () => writer.end(),
    dispose: () => writer.dispose(),
  };
}
