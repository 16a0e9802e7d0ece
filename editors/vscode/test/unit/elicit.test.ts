// Forms of tool servers: their fields as both revisions of the protocol write them, and what is typed into them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Field, fieldsOf, valueFor } from "../../src/elicit/fields.ts";

test("each kind of field is known, in either way of writing choices", () => {
  const schema = {
    type: "object",
    properties: {
      name: { type: "string", title: "Name", description: "Who asks", default: "me" },
      size: { type: "integer" },
      share: { type: "number" },
      sure: { type: "boolean" },
      color: { type: "string", enum: ["r", "g"], enumNames: ["Red"] },
      side: { type: "string", oneOf: [{ const: "l", title: "Left" }, { const: "r" }] },
      some: { type: "array", items: { type: "string", anyOf: [{ const: "a", title: "A" }] } },
    },
    required: ["name", "some"],
  };
  const kinds = fieldsOf(schema).map(({ name, kind, isRequired, options }) => [name, kind, isRequired, options.map(({ label }) => label)]);
  assert.deepEqual(kinds, [
    ["name", "text", true, []],
    ["size", "integer", false, []],
    ["share", "number", false, []],
    ["sure", "boolean", false, []],
    ["color", "choice", false, ["Red", "g"]],
    ["side", "choice", false, ["Left", "r"]],
    ["some", "choices", true, ["A"]],
  ]);
  assert.deepEqual(fieldsOf(schema)[0], {
    name: "name",
    title: "Name",
    about: "Who asks",
    kind: "text",
    options: [],
    isRequired: true,
    initial: "me",
  });
  for (const none of [undefined, null, {}, { properties: {} }]) assert.deepEqual(fieldsOf(none), []);
});

test("what is typed becomes a value of the field's kind, or says why it cannot", () => {
  const field = (kind: Field["kind"], isRequired = false): Field => ({
    name: "f",
    title: "f",
    about: "",
    kind,
    options: [],
    isRequired,
    initial: undefined,
  });
  assert.deepEqual(valueFor(field("text"), " as it is "), { value: " as it is " });
  assert.deepEqual(valueFor(field("text"), " "), {});
  assert.deepEqual(valueFor(field("text", true), " "), { wrong: "Enter a value" });
  assert.deepEqual(valueFor(field("integer"), " 12 "), { value: 12 });
  assert.deepEqual(valueFor(field("integer"), "1.5"), { wrong: "Enter a whole number" });
  assert.deepEqual(valueFor(field("number"), "1.5"), { value: 1.5 });
  assert.deepEqual(valueFor(field("number"), "much"), { wrong: "Enter a number" });
});
