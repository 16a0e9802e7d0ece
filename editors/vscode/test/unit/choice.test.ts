// The model of the next request: a choice that was made stays, whatever models come and go.

import assert from "node:assert/strict";
import { test } from "node:test";
import { chosenOf, exchanged } from "../../src/models/choice.ts";

const editor = (...names: string[]): ReadonlyMap<string, string> => new Map(names.map((name) => [name, name]));
const chosen = (
  setting: string,
  configured: string | undefined,
  models: ReadonlyMap<string, string>,
  before?: string,
): string | undefined => chosenOf({ setting, configured, editor: models, before })?.model;

test("a configured model stays when the editor gets models of its own", () => {
  assert.equal(chosen("", "mine", editor()), "mine");
  assert.equal(chosen("", "mine", editor("a", "b")), "mine");
  assert.equal(chosen("configured", "mine", editor("a")), "mine");
  assert.equal(chosen("configured", undefined, editor("a")), undefined);
});

test("a model that was taken without a setting stays while it is there", () => {
  assert.equal(chosen("", undefined, editor("b")), "b");
  assert.equal(chosen("", undefined, editor("a", "b"), "b"), "b");
  assert.equal(chosen("", undefined, editor("a"), "b"), "a");
  assert.equal(chosen("", undefined, editor()), undefined);
});

test("a model that the settings name is taken, and no other", () => {
  assert.equal(chosen("b", "mine", editor("a", "b"), "a"), "b");
  assert.equal(chosen("c", "mine", editor("a", "b"), "a"), undefined);
});

test("models that were set up stay to be chosen again, each once", () => {
  const claude = { wire: "anthropic", name: "claude" } as const;
  const local = { wire: "openai-chat", name: "local", baseUrl: "http://localhost:8080/v1" } as const;
  const other = { ...local, baseUrl: "http://localhost:8081/v1" };
  assert.deepEqual(exchanged(claude, undefined, []), []);
  assert.deepEqual(exchanged(local, claude, []), [claude]);
  assert.deepEqual(exchanged(claude, local, [claude, other]), [local, other]);
  assert.deepEqual(exchanged({ ...claude, effort: "high" }, claude, [local]), [local], "another effort is the same model");
});
