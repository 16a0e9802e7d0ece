// What a webview is told as its page begins.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Session } from "@threadhold/client";
import { EMPTY, sentLast } from "../../src/panel/frame.ts";
import { Place, type PlaceContent } from "../../src/panel/place.ts";
import type { HostMessage, PageMessage } from "../../src/shared/envelope.ts";

/** Types of the messages that a page is told as it begins, after something was done with its place. */
function toldAfter(act: (place: Place) => void): string[] {
  const session = { id: "s1", view: { snapshot: { messages: [], queue: [] } } } as unknown as Session;
  const chat = { session, shownId: "s1", draftOf: () => "", attachments: { pictures: [] }, running: new Map(), outputs: new Map() };
  const content = {
    chat,
    session: () => session,
    frame: () => EMPTY,
    rows: () => [],
    act: (_action: unknown, place: Place) => place.begin(),
  };
  const told: string[] = [];
  let hear: (done: PageMessage) => void = () => undefined;
  const webview = {
    html: "",
    onDidReceiveMessage: (listener: typeof hear) => (hear = listener),
    postMessage: ({ messages }: HostMessage) => told.push(...messages.map(({ type }) => type)),
  };
  const place = new Place(content as unknown as PlaceContent);
  place.attach(webview as never, "");
  act(place);
  hear({ about: { page: "p1", session: "", generation: 0 }, action: { type: "ready" } });
  return told;
}

test("a page that begins gives the prompt the focus that it was to have", () => {
  assert.deepEqual(
    toldAfter((place) => place.focus()),
    ["draft", "frame", "focus"],
  );
});

test("a row that is to be shown has the focus, also where the page begins only then", () => {
  const told = toldAfter((place) => {
    place.focus();
    place.reveal("c1");
  });
  assert.deepEqual(told, ["draft", "frame", "reveal"]);
});

test("a page is told of the newest request and of those that wait", () => {
  const says = (role: "user" | "assistant", text: string) => ({ role, parts: [{ type: "text", text }] });
  const messages = [says("user", "first"), says("user", "second"), says("assistant", "answer")];
  const queue = [{ content: [{ type: "text", text: "third" }] }, { method: "turn/regenerate" }];
  assert.deepEqual(sentLast({ messages, queue } as never), ["second", "third"]);
});
