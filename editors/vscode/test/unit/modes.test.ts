// Modes: which tools a request may use, what it tells the model, and what is kept of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Tool } from "@threadhold/client";
import { Modes } from "../../src/session/modes.ts";
import { memento } from "./support/memento.ts";

const TOOLS: Tool[] = [
  { name: "read_file", description: "", kind: "read", policy: "allow" },
  { name: "search_text", description: "", kind: "search", policy: "ask" },
  { name: "edit_file", description: "", kind: "edit", policy: "allow" },
  { name: "mcp_tool", description: "", policy: "allow" },
];

const policies = (modes: Modes, session: string): unknown[] => (modes.request(session, TOOLS).tools ?? []).map(({ policy }) => policy);
const said = (modes: Modes, session: string): string | undefined => modes.request(session, TOOLS).attachments?.[0]?.text.split(".")[0];

test("all modes offer the same tools, and those that may change something are denied unless the agent may", async () => {
  const modes = new Modes(memento());
  assert.deepEqual(policies(modes, "s"), ["allow", "ask", "allow", "allow"]);
  for (const mode of ["ask", "plan"] as const) {
    await modes.set("s", mode);
    assert.deepEqual(policies(modes, "s"), ["allow", "ask", "deny", "deny"]);
    const refused = ["read_file", "edit_file", "mcp_tool", "unknown"].map((name) => modes.refusal("s", name, TOOLS) !== undefined);
    assert.deepEqual(refused, [false, true, true, true]);
  }
  await modes.set("s", "agent");
  assert.equal(modes.refusal("s", "edit_file", TOOLS), undefined);
});

test("a mode that forbids is told with each request, and the usual one once after it", async () => {
  const modes = new Modes(memento());
  const ask = async (mode: "ask" | "plan" | "agent"): Promise<string | undefined> => {
    await modes.set("s", mode);
    const words = said(modes, "s");
    await modes.told("s", mode);
    return words;
  };
  assert.equal(await ask("agent"), undefined);
  const plan =
    "The user wants a plan: read what you need, change nothing, and end with the plan as numbered steps, each with its files and how to check it";
  const heard = [await ask("plan"), await ask("plan"), await ask("ask"), await ask("agent"), await ask("agent")];
  assert.deepEqual(heard, [
    plan,
    plan,
    "The user wants answers only: read what you need and answer",
    "Edits and commands are allowed again, as far as the user approves them",
    undefined,
  ]);
});

test("each session has its mode, and a new one has that which was chosen last", async () => {
  const state = memento();
  const modes = new Modes(state);
  await modes.told("old", "agent");
  await modes.set("shown", "plan");
  assert.deepEqual([modes.of("old"), modes.of("shown"), modes.of("new"), modes.of(undefined)], ["agent", "plan", "plan", "plan"]);
  assert.equal(modes.refusal("old", "edit_file", TOOLS), undefined, "what goes on in another session goes on");
  const again = new Modes(state);
  assert.deepEqual([again.of("old"), again.of("shown")], ["agent", "plan"]);
});

test("a plan can be accepted only if the model was asked for one", async () => {
  const modes = new Modes(memento());
  await modes.set("s", "plan");
  assert.equal(modes.isPlanning("s"), false);
  await modes.told("s", "plan");
  assert.equal(modes.isPlanning("s"), true);
  await modes.set("s", "agent");
  assert.equal(modes.isPlanning("s"), false);
});

test("the modes of two hundred sessions are kept", async () => {
  const modes = new Modes(memento());
  for (let at = 0; at < 201; at += 1) await modes.set(`s${at}`, "plan");
  await modes.set(undefined, "agent");
  assert.deepEqual([modes.of("s0"), modes.of("s1"), modes.of("s200")], ["agent", "plan", "plan"]);
});
