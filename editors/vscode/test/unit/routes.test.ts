// The names of keys by the models that they go to. No editor is needed.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Model } from "@threadhold/client";
import { keyed, keyedSettings, keyLabel, routeOf, routesOf } from "../../src/models/routes.ts";

const nameOf = (model: Model): string | undefined => routeOf({ name: "m", ...model })?.keyName;

test("each address has a name of its own for its key", () => {
  const names = [
    nameOf({ wire: "anthropic" }),
    nameOf({ wire: "openai-responses", baseUrl: "https://api.openai.com" }),
    nameOf({ wire: "openai-chat", baseUrl: "https://models.example/v1", keyEnv: "MINE" }),
    nameOf({ wire: "openai-chat", baseUrl: "https://models.example/v1" }),
    nameOf({ wire: "anthropic", baseUrl: "https://models.example/other" }),
    nameOf({ wire: "openai-chat", baseUrl: "http://models.example/v1" }),
    nameOf({ wire: "openai-chat", baseUrl: "https://my-models.example:8443" }),
    nameOf({ wire: "openai-chat", baseUrl: "https://my.2d.models.example" }),
    nameOf({ wire: "openai-responses", baseUrl: "wss://models.example" }),
    nameOf({ wire: "ollama" }),
    nameOf({ wire: "editor" }),
    nameOf({ wire: "scripted" }),
    nameOf({ wire: "openai-chat", baseUrl: "no address" }),
  ];
  assert.deepEqual(names, [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "MINE",
    "KEY_OF_MODELS_EXAMPLE",
    "KEY_OF_MODELS_EXAMPLE",
    "KEY_OF_HTTP_MODELS_EXAMPLE",
    "KEY_OF_MY__2D_MODELS_EXAMPLE__3A_8443",
    "KEY_OF_MY_2D_MODELS_EXAMPLE",
    "KEY_OF_MODELS_EXAMPLE",
    "KEY_OF_HTTP_127_0_0_1__3A_11434",
    undefined,
    undefined,
    undefined,
  ]);
});

test("a key is called by its address where its name was made of one", () => {
  const labelOf = (baseUrl: string): string => keyLabel(nameOf({ wire: "openai-chat", baseUrl }) ?? "");
  const hosts = ["my-models.example:8443", "my.2d.models.example", "[::1]:1"];
  for (const host of hosts) {
    assert.equal(labelOf(`https://${host}/v1`), host);
    assert.equal(labelOf(`http://${host}/v1`), `http://${host}`);
  }
  assert.deepEqual(["OPENAI_API_KEY", "MINE", "KEY_OF"].map(keyLabel), ["OPENAI_API_KEY", "MINE", "KEY_OF"]);
});

test("a model names the key that is kept for its address and no other", () => {
  const model: Model = { wire: "openai-chat", name: "m", baseUrl: "https://models.example/v1" };
  assert.deepEqual(keyed(model, ["KEY_OF_MODELS_EXAMPLE"]), { ...model, keyEnv: "KEY_OF_MODELS_EXAMPLE" });
  assert.deepEqual(keyed(model, ["OPENAI_API_KEY"]), model);
  assert.deepEqual(keyed({ ...model, keyEnv: "MINE" }, ["KEY_OF_MODELS_EXAMPLE"]), { ...model, keyEnv: "MINE" });
});

test("a model that sums up elsewhere has a key of its own", () => {
  const main: Model = { wire: "openai-chat", name: "m", baseUrl: "https://models.example/v1", keyEnv: "MINE" };
  const settings = { summaryModel: "s", summaryBaseUrl: "https://other.example" };
  assert.deepEqual(routesOf(main, settings), [
    { label: "m", host: "models.example", keyName: "MINE", model: main },
    {
      label: "s",
      host: "other.example",
      keyName: "KEY_OF_OTHER_EXAMPLE",
      model: { wire: "openai-chat", name: "s", baseUrl: "https://other.example", keyEnv: "KEY_OF_OTHER_EXAMPLE" },
    },
  ]);
  assert.deepEqual(keyedSettings(main, settings, ["KEY_OF_OTHER_EXAMPLE"]), { ...settings, summaryKeyEnv: "KEY_OF_OTHER_EXAMPLE" });
  assert.deepEqual(
    routesOf(main, { ...settings, summaryBaseUrl: "https://models.example/v2" }).length,
    1,
    "at the same place it has the same key",
  );
  assert.deepEqual(routesOf(undefined, {}), []);
});
