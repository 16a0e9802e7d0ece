// An answer that is being written: takes the operations of `streamDelta` into what a snapshot calls `streaming`. Holds
// the same rules as the sidecar (src/engine/delta.rs), proved equal by fixtures/delta. No editor's interface, and no
// order of events: `seq` is for whoever reads them.

import type { DeltaOp, Part, Streaming } from "./protocol.js";

type Fields = { [key: string]: unknown };
type Thinking = Extract<Part, { type: "reasoning" }>;

/** The deepest objects of `extra` that are merged; the top is the first level. Below, the later one replaces. */
const MERGED_LEVELS = 64;

/** The counters of a report of what was used. */
const USAGE = ["inputTokens", "outputTokens", "cachedInputTokens", "cacheWriteInputTokens", "reasoningTokens"] as const;

/** Arguments came for a call that was never set. The draft is as it was before. */
export class UnknownCall extends Error {
  constructor(readonly callId: string) {
    super(`arguments for unknown call "${callId}"`);
    this.name = "UnknownCall";
  }
}

/**
 * Takes an operation in. The draft is changed in place, so that a long answer costs its length and not its square, and
 * it is given back; the operation is left as it is. A draft from a snapshot can be folded on.
 */
export function fold(draft: Streaming, op: DeltaOp): Streaming {
  const { parts } = draft;
  // Calls stand behind all that was said.
  const firstCall = parts.findIndex((part) => part.type === "toolCall");
  const end = firstCall < 0 ? parts.length : firstCall;
  const last = parts[end - 1];
  switch (op.op) {
    case "appendContent":
      if (last?.type === "text") last.text += op.text;
      else if (op.text !== "") parts.splice(end, 0, { type: "text", text: op.text });
      break;
    case "appendReasoning":
      if (last?.type === "reasoning" && isOpen(last)) last.text += op.text;
      else if (op.text !== "") parts.splice(end, 0, { type: "reasoning", text: op.text });
      break;
    case "setToolCalls": {
      const calls = op.toolCalls.map(({ id, name, arguments: given }): Part => {
        return { type: "toolCall", id, name, arguments: argumentText(given) };
      });
      parts.splice(end, parts.length, ...calls);
      break;
    }
    case "appendToolArguments": {
      const call = parts.find((part) => part.type === "toolCall" && part.id === op.callId);
      if (call?.type !== "toolCall") throw new UnknownCall(op.callId);
      call.arguments = argumentText(call.arguments) + op.text;
      break;
    }
    case "setThinkingBlocks":
      setBlocks(parts, end, op.blocks);
      break;
    case "addCitation":
      draft.citations ??= [];
      draft.citations.push(op.citation);
      break;
    case "addServerContentBlock":
      parts.splice(end, 0, { type: "raw", wire: op.block });
      break;
    case "setUsage": {
      // A counter never goes back.
      draft.usage ??= {};
      const { usage } = draft;
      for (const counter of USAGE) {
        const later = op.usage[counter];
        if (typeof later === "number") usage[counter] = Math.max(usage[counter] ?? 0, later);
      }
      break;
    }
    case "mergeExtra":
      if (Object.keys(op.extra).length > 0) {
        draft.extra ??= {};
        merge(draft.extra, op.extra, 1);
      }
      break;
    default:
      // An operation of a later version.
      break;
  }
  return draft;
}

function argumentText(given: string | Fields): string {
  return typeof given === "string" ? given : JSON.stringify(given);
}

/** The one deep merge: objects key by key, of anything else the later value. */
function merge(into: Fields, later: Fields, level: number): void {
  for (const [key, value] of Object.entries(later)) {
    const known = Object.hasOwn(into, key) ? into[key] : undefined;
    if (isFields(known) && isFields(value) && level < MERGED_LEVELS) merge(known, value, level + 1);
    // A copy, for what is merged later must not change this operation.
    else put(into, key, copy(value));
  }
}

function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy);
  if (!isFields(value)) return value;
  const fields: Fields = {};
  for (const [key, field] of Object.entries(value)) put(fields, key, copy(field));
  return fields;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Sets a field, `__proto__` too, which an assignment would not. */
function put(into: Fields, key: string, value: unknown): void {
  Object.defineProperty(into, key, { value, writable: true, enumerable: true, configurable: true });
}

/**
 * Takes a provider's blocks in, each into the part that it is a later form of, else as a new part. A block is the one
 * with its type and index, else type and id, else type and signature; else the first thinking without any of these
 * whose text it repeats or goes on with. So text that was streamed is not said twice once its signature comes.
 */
function setBlocks(parts: Part[], end: number, blocks: readonly Fields[]): void {
  // Two blocks of one list are two blocks, even if nothing tells them apart.
  const taken = new Set<Thinking>();
  for (const later of blocks.map(thinkingOf)) {
    if (later.text === "" && later.signature === undefined && later.block === undefined) continue;
    const all = parts.filter((part) => part.type === "reasoning");
    const known =
      all.find((known) => shares(known, later, "index")) ??
      all.find((known) => shares(known, later, "id")) ??
      all.find((known) => sharesSignature(known, later)) ??
      all.find((known) => !taken.has(known) && isMeant(known, later));
    taken.add(known ?? later);
    if (known) mergeThinking(known, later);
    else parts.splice(end++, 0, later);
  }
}

/** A provider's block as a part. Its text is `thinking` or, where there is none, `text`. */
function thinkingOf(of: Fields): Thinking {
  const block = { ...of };
  const text = takeText(block, "thinking") ?? takeText(block, "text") ?? "";
  const signature = takeText(block, "signature");
  if (block["type"] === "thinking") delete block["type"];
  return {
    type: "reasoning",
    text,
    ...(signature ? { signature } : {}),
    ...(Object.keys(block).length > 0 ? { block } : {}),
  };
}

/** Takes the text under a key out; null is no text, and any other value stays as it is. */
function takeText(block: Fields, key: string): string | undefined {
  const value = block[key];
  if (typeof value !== "string" && value !== null) return undefined;
  delete block[key];
  return value ?? undefined;
}

/** True if text that comes next belongs to it: what is signed, or cannot be read, is whole. */
function isOpen(thinking: Thinking): boolean {
  return thinking.signature === undefined && kindOf(thinking) !== "redacted_thinking";
}

function kindOf(thinking: Thinking): string {
  const kind = thinking.block?.["type"];
  return typeof kind === "string" ? kind : "thinking";
}

function keyOf(thinking: Thinking, name: "index" | "id"): string | number | undefined {
  const key = thinking.block?.[name];
  return typeof key === "string" || typeof key === "number" ? key : undefined;
}

function shares(known: Thinking, later: Thinking, name: "index" | "id"): boolean {
  const key = keyOf(known, name);
  return key !== undefined && key === keyOf(later, name) && kindOf(known) === kindOf(later);
}

function sharesSignature(known: Thinking, later: Thinking): boolean {
  const { signature } = known;
  return signature !== undefined && signature === later.signature && kindOf(known) === kindOf(later);
}

/** True if thinking that nothing tells apart is what a block speaks of. */
function isMeant(known: Thinking, later: Thinking): boolean {
  if (known.signature !== undefined) return false;
  if (keyOf(known, "index") !== undefined || keyOf(known, "id") !== undefined) return false;
  const kind = kindOf(known);
  const isKind = kind === "thinking" || kind === kindOf(later);
  const agrees = later.text.startsWith(known.text) || known.text.startsWith(later.text);
  return (isKind && agrees && kindOf(later) !== "redacted_thinking") || isSame(known, later);
}

/** Takes a later form of the same thinking in. Text is never lost. */
function mergeThinking(known: Thinking, later: Thinking): void {
  if (later.text.startsWith(known.text)) known.text = later.text;
  else if (!known.text.startsWith(later.text)) known.text += later.text;
  if (later.signature !== undefined) known.signature = later.signature;
  if (later.block === undefined) return;
  known.block ??= {};
  for (const [key, value] of Object.entries(later.block)) put(known.block, key, value);
}

/** True if two values of JSON are equal, in whatever order their keys are. */
function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((value, at) => isSame(value, b[at]));
  }
  if (!isFields(a) || !isFields(b)) return a === b;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]));
}
