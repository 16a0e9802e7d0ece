// The two ends of what the host and the webview tell each other: each drops what is about something else than it shows. No
// editor is needed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { HostChannel, type HostMessage, PageChannel, type PageMessage } from "../../src/shared/envelope.ts";
import type { Action, ToPanel } from "../../src/shared/view.ts";

const WORDS: ToPanel = { type: "append", id: "answer m", text: "word", reasoning: "" };
const PIN: Action = { type: "pin", messageId: "m" };

function sealed(host: HostChannel): HostMessage {
  const told = host.seal([WORDS]);
  assert.ok(told !== undefined);
  return told;
}

test("nothing is told before a page hears", () => {
  const host = new HostChannel();
  host.show("s1");
  assert.equal(host.seal([WORDS]), undefined);
  host.open("p1");
  assert.deepEqual(sealed(host).about, { page: "p1", session: "s1", generation: 2 });
  host.close();
  assert.equal(host.seal([WORDS]), undefined);
});

test("a page takes what is about it and drops the rest", () => {
  const host = new HostChannel();
  const page = new PageChannel("p1");
  host.open("p0");
  const ofPageBefore = sealed(host);
  host.open("p1");
  const ofNoSession = sealed(host);
  host.show("s1");
  const ofFirst = sealed(host);
  host.show("s2");
  const ofSecond = sealed(host);
  host.show("s2");
  const again = sealed(host);
  const taken = [ofPageBefore, ofNoSession, ofFirst, ofFirst, ofSecond, ofFirst, ofSecond, again, ofSecond, again].map((told) =>
    page.take(told),
  );
  assert.deepEqual(taken, [
    "dropped",
    "same session",
    "other session",
    "more",
    "other session",
    "dropped",
    "more",
    "same session",
    "dropped",
    "more",
  ]);
});

test("an action meant for another session is not carried out", () => {
  const host = new HostChannel();
  const page = new PageChannel("p1");
  host.open("p1");
  const does = (action: Action): PageMessage => page.seal(action);
  page.take(sealed(host));
  assert.equal(
    host.accepts(does({ type: "send", text: "first words", urgent: false }), "s1"),
    true,
    "it is asked in the session that comes",
  );
  host.show("s1");
  page.take(sealed(host));
  const [pin, list, drawn] = [does(PIN), does({ type: "closeSessions" }), does({ type: "drawn" })];
  assert.deepEqual(
    [pin, list, drawn].map((done) => host.accepts(done, "s1")),
    [true, true, true],
  );
  host.show("s2");
  assert.deepEqual(
    [pin, list, drawn].map((done) => host.accepts(done, "s2")),
    [false, true, false],
  );
  host.open("p2");
  assert.deepEqual(
    [list, pin].map((done) => host.accepts(done, "s1")),
    [false, false],
    "a page that is gone does nothing",
  );
});
