// The panel's page alone in a browser, told what the host would tell it: what the user does there outlasts all that comes
// meanwhile, and what is about another page or another session is not drawn. No editor is started.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { chromium, type Page } from "playwright-core";
import type { About, HostMessage, PageMessage } from "../../../src/shared/envelope.ts";
import type { AnswerRow, CallRow, Frame, Row, ToPanel } from "../../../src/shared/view.ts";
import type { TypedDraft } from "../../../src/webview/composer.ts";
import { faultsIn } from "../../support/accessibility.ts";
import { CHROMIUM, until } from "../../support/editor.ts";

const dist = join(import.meta.dirname, "../../../dist");

const FRAME: Frame = {
  sidecar: { state: "ready" },
  title: "A session",
  state: "generating",
  activity: "Answering",
  busy: true,
  model: "m",
  mode: "agent",
  asked: [],
  attachments: [],
  queue: [{ itemId: "q1", text: "And then this", priority: false }],
};

const answer = (at: number): AnswerRow => ({
  kind: "answer",
  id: `answer ${at}`,
  rev: 1,
  messageId: `m${at}`,
  text: `Said ${at}. ${"word ".repeat(100)}`,
  reasoning: "",
  streaming: false,
  shown: "whole",
});
const asked = (callId: string, name: string, isCommand: boolean): CallRow => ({
  kind: "call",
  id: `call ${callId}`,
  rev: 1,
  callId,
  messageId: "m",
  name,
  icon: "terminal",
  phrases: [{ text: "Run a command" }],
  about: "",
  arguments: "{}",
  state: "asked",
  hasDiff: true,
  isCommand,
  shown: "whole",
});

/** Tells the page something of its first session, and draws it. */
type Tell = (...told: ToPanel[]) => Promise<void>;
/** The same of whatever page and session. */
type TellOf = (about: Partial<About>, ...told: ToPanel[]) => Promise<void>;

/** The page, as wide as a side bar; `state` is what the editor kept of the one before it. */
async function opened(use: (page: Page, tell: Tell, tellOf: TellOf) => Promise<void>, state?: TypedDraft): Promise<void> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 300, height: 700 } });
    await page.setContent('<!DOCTYPE html><html lang="en"><title>Chat</title><body></body></html>');
    await page.evaluate((state) => {
      const posted: unknown[] = [];
      const editor = { posted, state };
      const acquireVsCodeApi = () => ({
        postMessage: (done: unknown) => posted.push(done),
        getState: () => editor.state,
        setState: (state: TypedDraft | undefined) => (editor.state = state),
      });
      Object.assign(globalThis, { posted, editor, acquireVsCodeApi });
    }, state);
    await page.addStyleTag({ content: readFileSync(join(dist, "panel.css"), "utf8") });
    await page.addScriptTag({ content: readFileSync(join(dist, "panel.js"), "utf8") });
    const [ready] = await posted(page);
    assert.equal(ready?.action.type, "ready");
    const first: About = { page: ready.about.page, session: "s1", generation: 1 };
    const tellOf: TellOf = async (about, ...messages) => {
      const drawn = async (): Promise<number> => (await posted(page)).filter(({ action }) => action.type === "drawn").length;
      const before = await drawn();
      const told: HostMessage = { about: { ...first, ...about }, messages };
      await page.evaluate((told) => window.postMessage(told, "*"), told);
      await page.waitForFunction(`posted.filter(({ action }) => action.type === "drawn").length > ${before}`);
      // What is drawn is measured, and where that changed something drawn again.
      await page.evaluate(
        () =>
          new Promise<void>((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))),
      );
    };
    await use(page, (...told) => tellOf({}, ...told), tellOf);
  } finally {
    await browser.close();
  }
}

/** Shows what can be decided about later calls, in each row that asks. */
async function showLater(page: Page): Promise<void> {
  for (const fold of await page.getByText("Later Calls", { exact: true }).all()) await fold.click();
}

/** Drafts that the page told the host so far. */
async function drafts(page: Page): Promise<string[]> {
  return (await posted(page)).flatMap(({ action }) => (action.type === "draft" ? [action.text] : []));
}

/** Messages from the page to the host so far. */
function posted(page: Page): Promise<PageMessage[]> {
  return page.evaluate<PageMessage[]>("posted");
}

test("before the first frame nothing is shown that cannot be named", async () => {
  await opened(async (page, tell) => {
    assert.deepEqual(await faultsIn(page.mainFrame()), []);
    const mode = page.getByRole("button", { name: /^Mode: / });
    assert.equal(await mode.isVisible(), false);
    await tell({ type: "frame", frame: FRAME });
    assert.equal(await mode.isVisible(), true);
  });
});

test("a tool server of the folder is shown whole before it is allowed", async () => {
  await opened(async (page, tell) => {
    const server = { name: "one", definition: "hash", file: ".mcp.json", details: ["run \u202egnp.exe", "Variables: TOKEN"] };
    await tell({ type: "frame", frame: { ...FRAME, server } });
    const notice = (await page.locator(".notices .notice").textContent()) ?? "";
    assert.match(notice, /\.mcp\.json defines the tool server one\. It starts only if you allow it\./);
    assert.match(notice, /run \[U\+202E\]gnp\.exe\nVariables: TOKEN/);
    await page.getByRole("button", { name: "Allow Server" }).click();
    await page.getByRole("button", { name: "Deny Server" }).click();
    assert.deepEqual(
      (await posted(page)).slice(-2).map(({ action }) => action),
      ["allow", "deny"].map((decision) => ({ type: "decideServer", name: "one", definition: "hash", decision })),
    );
    assert.deepEqual(await faultsIn(page.mainFrame()), []);
  });
});

test("a database that is away is told above the conversation until it is back", async () => {
  await opened(async (page, tell) => {
    const notice = page.locator(".notices .notice");
    const stands = async (sidecar: Frame["sidecar"]): Promise<string[]> => {
      await tell({ type: "frame", frame: { ...FRAME, sidecar } });
      return notice.allInnerTexts();
    };
    const [waiting] = await stands({ state: "ready", storage: { state: "waiting", fault: "no route to db.example" } });
    assert.match(waiting ?? "", /^The database cannot be reached\. The turn goes on;.*no route to db\.example/s);
    assert.equal(await page.locator(".prompt").isEnabled(), true, "what is typed is queued");
    const [failed] = await stands({ state: "ready", storage: { state: "failed" } });
    assert.match(failed ?? "", /^The database could not be reached in time\./);
    assert.deepEqual(await stands({ state: "ready" }), []);
  });
});

test("what stands around the rows is left alone while an answer is written", async () => {
  await opened(async (page, tell) => {
    await tell({ type: "frame", frame: { ...FRAME, warning: "It is nearly full.", asked: ["c1", "c2"] } });
    assert.equal(await page.locator(".feed").getAttribute("aria-busy"), "false", "a screen reader need not wait for the end of a turn");
    const kept = await page.$$(".waiting button, .decisions button, .notices .notice");
    assert.equal(kept.length, 4);
    for (const name of ["Allow All…", "Remove from Queue"]) {
      const button = page.getByRole("button", { name });
      await button.focus();
      await tell({ type: "frame", frame: { ...FRAME, warning: "It is nearly full.", asked: ["c1", "c2"], activity: `Running ${name}` } });
      assert.ok(await button.evaluate((element) => element === document.activeElement), `${name} has the focus`);
    }
    for (const element of kept) assert.ok(await element.evaluate(({ isConnected }) => isConnected), "it is the same");
    // What says something else is drawn anew, and the focus is on the same thing.
    await tell({ type: "frame", frame: { ...FRAME, queue: [...FRAME.queue, { itemId: "q2", text: "And this", priority: false }] } });
    assert.ok(
      await page
        .locator(".waiting button")
        .first()
        .evaluate((element) => element === document.activeElement),
    );
  });
});

test("a row in which somebody types stays, wherever the conversation goes on", async () => {
  await opened(async (page, tell) => {
    const rows: Row[] = [asked("c1", "run_command", true), ...Array.from({ length: 60 }, (_, at) => answer(at))];
    await tell({ type: "frame", frame: FRAME }, { type: "rows", at: 0, remove: 0, rows });
    const feed = page.locator(".feed");
    await feed.hover();
    await until(async () => {
      await page.mouse.wheel(0, -1_000_000);
      return (await feed.evaluate(({ scrollTop }) => scrollTop)) === 0;
    }, "it is at the start");
    await page.getByRole("button", { name: "Reject…" }).click();
    await page.locator(".form textarea:focus").fill("Rather not");
    const typed = await page.$(".form textarea");
    const isFocused = () => typed?.evaluate((element) => element === document.activeElement);
    await feed.evaluate((element) => (element.scrollTop = element.scrollHeight));
    await page.getByText("Said 59.").waitFor();
    assert.equal(await page.getByText("Said 20.").count(), 0, "what is between is not drawn");
    assert.ok(await isFocused(), "it has the focus far away");
    const seen = await feed.evaluate((element) => element.scrollTop);
    await tell({ type: "rows", at: 61, remove: 0, rows: [60, 61, 62].map(answer) });
    assert.ok(await isFocused());
    assert.equal(await feed.evaluate((element) => element.scrollTop), seen, "who types is not taken to the end");
    await feed.evaluate((element) => (element.scrollTop = 0));
    await page.getByText("Said 0.").waitFor();
    assert.ok(await isFocused(), "and back");
    assert.deepEqual(
      await page.locator("[data-row]").evaluateAll((rows) => rows.slice(0, 3).map((row) => (row as HTMLElement).dataset["row"])),
      ["call c1", "answer 0", "answer 1"],
    );
  });
});

test("what is allowed or rejected for good is said, and fits", async () => {
  await opened(async (page, tell) => {
    const name = "an_extension_that_has_a_long_name_and_a_tool_with_a_long_name";
    await tell(
      { type: "frame", frame: FRAME },
      { type: "rows", at: 0, remove: 0, rows: [asked("c1", "run_command", true), asked("c2", name, false)] },
    );
    await showLater(page);
    for (const label of ["Allow", "Reject"].flatMap((verb) => [`Always ${verb} This Command`, `Always ${verb} ${name}`])) {
      const box = await page.getByRole("button", { name: label }).boundingBox();
      assert.ok(box !== null && box.x >= 0 && box.x + box.width <= 300, `${label}: ${JSON.stringify(box)}`);
    }
    const reject = page.getByRole("button", { name: "Always Reject This Command" });
    assert.equal(await reject.getAttribute("title"), "Rejects exactly this command in this folder from now on");
    await reject.focus();
    await page.keyboard.press("Enter");
    assert.deepEqual((await posted(page)).at(-1)?.action, { type: "decide", callIds: ["c1"], decision: "rejectAlways" });
  });
});

test("an approval by beginning shows all of what it covers, and gives just that", async () => {
  await opened(async (page, tell) => {
    const pattern = "command^=cd; a-program-with-a-name-that-is-long a-subcommand-that-is-longer-still; tail";
    const row = { ...asked("c1", "run_command", true), pattern };
    await tell({ type: "frame", frame: FRAME }, { type: "rows", at: 0, remove: 0, rows: [row, asked("c2", "run_command", true)] });
    await showLater(page);
    const button = page.getByRole("button", { name: /^Always Allow Commands Beginning With/ });
    const label =
      "Always Allow Commands Beginning With `cd`, `a-program-with-a-name-that-is-long a-subcommand-that-is-longer-still` or `tail`";
    assert.deepEqual(await button.allTextContents(), [label], "where the sidecar proposes none, none is offered");
    const box = await button.boundingBox();
    assert.ok(box !== null && box.x >= 0 && box.x + box.width <= 300, JSON.stringify(box));
    assert.ok(await button.evaluate((element) => element.scrollWidth <= element.clientWidth), "nothing of it is cut off");
    await button.click();
    assert.deepEqual((await posted(page)).at(-1)?.action, { type: "decide", callIds: ["c1"], decision: "allowAlways", pattern });
  });
});

test("a call is allowed for this session, by what the sidecar proposes where it proposes something", async () => {
  await opened(async (page, tell) => {
    const pattern = "command^=cargo test";
    const rows = [{ ...asked("c1", "run_command", true), pattern }, asked("c2", "write", false)];
    await tell({ type: "frame", frame: FRAME }, { type: "rows", at: 0, remove: 0, rows });
    await showLater(page);
    await page.getByRole("button", { name: "Allow Commands Beginning With `cargo test` in This Session" }).click();
    await page.getByRole("button", { name: "Allow write in This Session" }).click();
    const decided = (await posted(page)).slice(-2).map(({ action }) => action);
    assert.deepEqual(decided, [
      { type: "decide", callIds: ["c1"], decision: "allowForSession", pattern },
      { type: "decide", callIds: ["c2"], decision: "allowForSession" },
    ]);
  });
});

test("a command is edited before it is allowed; its other arguments stay", async () => {
  await opened(async (page, tell) => {
    const row = { ...asked("c1", "run_command", true), arguments: JSON.stringify({ command: "rm -rf /", seconds: 5 }) };
    await tell({ type: "frame", frame: FRAME }, { type: "rows", at: 0, remove: 0, rows: [row, asked("c2", "write", false)] });
    const edit = page.getByRole("button", { name: "Edit…" });
    assert.equal(await edit.count(), 1, "of a call without a command nothing is edited");
    await edit.click();
    const command = page.getByRole("textbox", { name: "Command to run instead" });
    assert.equal(await command.inputValue(), "rm -rf /");
    await command.fill("rm -rf target");
    await command.press("Control+Enter");
    const edited = JSON.stringify({ command: "rm -rf target", seconds: 5 });
    assert.deepEqual((await posted(page)).at(-1)?.action, { type: "decide", callIds: ["c1"], decision: "allowOnce", arguments: edited });
  });
});

test("the call that has the focus is allowed or rejected by a key", async () => {
  await opened(async (page, tell) => {
    await tell(
      { type: "frame", frame: FRAME },
      { type: "rows", at: 0, remove: 0, rows: [asked("c1", "run_command", true), asked("c2", "run_command", true)] },
    );
    const decided = async () => (await posted(page)).flatMap(({ action }) => (action.type === "decide" ? [action] : []));
    await page.locator("[data-row]").nth(1).focus();
    await page.keyboard.press("Control+Enter");
    assert.deepEqual(await decided(), [{ type: "decide", callIds: ["c2"], decision: "allowOnce" }]);
    // On a button, too, and once.
    await page.getByRole("button", { name: "Allow", exact: true }).first().focus();
    await page.keyboard.press("Control+Enter");
    assert.deepEqual((await decided()).slice(1), [{ type: "decide", callIds: ["c1"], decision: "allowOnce" }]);
    await page.getByRole("button", { name: "Show Diff" }).first().focus();
    await page.keyboard.press("Control+Enter");
    assert.equal((await decided()).length, 2, "another button is not Allow");
    await page.keyboard.press("Escape");
    await page.getByRole("textbox", { name: "What should the agent do instead?" }).fill("Look first.");
    await page.keyboard.press("Enter");
    assert.deepEqual((await decided()).slice(2), [{ type: "decide", callIds: ["c1"], decision: "rejectOnce", note: "Look first." }]);
  });
});

test("a run of calls that look is one row, which expands to them", async () => {
  const call = (at: number): CallRow => ({ ...asked(`c${at}`, "read_file", false), about: `${at}.rs`, state: "done" });
  const calls = Array.from({ length: 60 }, (_, at) => call(at));
  const group: Row = { kind: "calls", id: "calls c0", rev: 1, title: "Read 60 files", running: false, failed: 0, shortened: 0, calls };
  await opened(async (page, tell) => {
    await tell({ type: "frame", frame: FRAME }, { type: "rows", at: 0, remove: 0, rows: [group] });
    assert.equal(await page.locator("[data-row]").count(), 1);
    await page.getByText("Read 60 files").click();
    await until(async () => (await page.locator(".call.done .phrase").count()) === 60, "its calls are shown");
    // It stays expanded while another call comes in, and shows the one that something is about.
    const result = { messageId: "m61", text: "fn main() {}", characters: 12, images: [], changed: [] };
    const more = { ...call(60), result };
    await tell({ type: "rows", at: 0, remove: 1, rows: [{ ...group, rev: 2, calls: [...calls, more] }] }, { type: "reveal", of: "m61" });
    await page.getByText("fn main() {}").waitFor();
    assert.equal(await page.locator(".call.done .phrase").count(), 61);
  });
});

test("a call says in words what it did, and keeps the name of its tool within reach", async () => {
  const phrases = [{ text: "Ran " }, { text: "cargo test", isCode: true }, { text: " in sub" }];
  const row: CallRow = { ...asked("c1", "run_command", true), phrases, state: "done", arguments: '{"command":"cargo test"}' };
  await opened(async (page, tell) => {
    await tell({ type: "frame", frame: FRAME }, { type: "rows", at: 0, remove: 0, rows: [row, asked("c2", "run_command", true)] });
    const [done, waits] = [page.locator(".call.done"), page.locator(".call.asked")];
    assert.equal(await done.locator("summary .phrase").textContent(), "Ran cargo test in sub");
    assert.equal(await done.locator("summary code").textContent(), "cargo test");
    assert.equal(await done.locator("summary .phrase").getAttribute("title"), "run_command: Ran cargo test in sub");
    assert.match((await page.locator("[data-row]").first().getAttribute("aria-label")) ?? "", /^Ran cargo test in sub: done/);
    await done.locator("summary").click();
    await done.getByText("Tool: run_command").waitFor();
    assert.equal(await waits.locator(".title .phrase").textContent(), "Run a command");
    assert.equal(await waits.locator(".title .name").textContent(), "run_command");
  });
});

test("what a command printed stands in its row, its end first, all of it on request", async () => {
  const ended = (callId: string, text: string, exitCode: number, characters = text.length): CallRow => {
    const result = { messageId: `m${callId}`, text, characters, images: [], changed: [], isOutput: true, exitCode };
    return { ...asked(callId, "run_command", true), state: exitCode === 0 ? "done" : "failed", result };
  };
  const lines = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => `line ${from + at}`).join("\n");
  const rows = [
    ended("c1", "\u001b[31mno such file\u001b[0m\u202e\n", 2),
    ended("c2", `${lines(1, 30)}\n`, 0),
    ended("c3", lines(1_001, 1_100), 0, 20_000),
  ];
  await opened(async (page, tell) => {
    await tell({ type: "frame", frame: FRAME }, { type: "rows", at: 0, remove: 0, rows });
    const row = (at: number) => page.locator("[data-row]").nth(at);
    const printed = (at: number) => row(at).locator(".printed").textContent();
    const shows = (at: number, text: string) => until(async () => (await printed(at)) === text, `row ${at} shows it`);
    assert.equal(await printed(0), "no such fileU+202E");
    assert.equal(await row(0).locator(".printed .unseen").textContent(), "U+202E", "what is not seen is marked");
    assert.equal(await row(0).locator(".stands").textContent(), "exit code 2");
    assert.equal(await row(0).getByRole("button").count(), 0);
    assert.equal(await printed(1), lines(23, 30));
    const all = row(1).getByRole("button", { name: "Show All 30 Lines" });
    assert.equal(await all.getAttribute("aria-expanded"), "false");
    await all.focus();
    await page.keyboard.press("Enter");
    await shows(1, lines(1, 30));
    const less = row(1).getByRole("button", { name: "Show Only the End" });
    assert.ok(await less.evaluate((element) => element === document.activeElement), "the focus stays");
    await page.keyboard.press("Enter");
    await shows(1, lines(23, 30));
    // What the row does not hold is asked for.
    await row(2).getByRole("button", { name: "Show All 20,000 Characters" }).click();
    assert.deepEqual((await posted(page)).at(-1)?.action, { type: "wholeResult", callId: "c3" });
    await tell({ type: "wholeResult", callId: "c3", text: lines(1, 1_100) });
    await shows(2, lines(1, 1_100));
    // In a group, too.
    const calls = [{ ...ended("c4", lines(1, 30), 0), name: "grep" }];
    const group: Row = { kind: "calls", id: "calls c4", rev: 1, title: "Searched once", running: false, failed: 0, shortened: 0, calls };
    await tell({ type: "rows", at: 3, remove: 0, rows: [group] });
    await row(3).getByText("Searched once").click();
    await row(3).getByRole("button", { name: "Show All 30 Lines" }).click();
    await shows(3, lines(1, 30));
  });
});

test("a block of code says its language, and is copied or inserted", async () => {
  const text = "So:\n\n```rust\nfn main() {}\n```\n\n```\nplain\n```\n";
  const rows: Row[] = [{ ...answer(0), text }];
  await opened(async (page, tell) => {
    const last = async () => (await posted(page)).at(-1)?.action;
    await tell({ type: "frame", frame: FRAME }, { type: "rows", at: 0, remove: 0, rows });
    const rust = page.getByRole("group", { name: "Code, rust" });
    assert.equal(await rust.locator(".language").textContent(), "rust");
    await rust.getByRole("button", { name: "Copy Code" }).click();
    assert.deepEqual(await last(), { type: "copy", text: "fn main() {}" });
    await rust.getByRole("button", { name: "Insert at Cursor" }).click();
    assert.deepEqual(await last(), { type: "insert", text: "fn main() {}" });
    const other = page.getByRole("group", { name: "Code", exact: true });
    await other.getByRole("button", { name: "Copy Code" }).click();
    assert.deepEqual(await last(), { type: "copy", text: "plain" });
    // While an answer is written, too, in the block that goes on.
    await tell({ type: "rows", at: 1, remove: 0, rows: [{ ...answer(1), text: "```py\nx", streaming: true }] });
    await tell({ type: "append", id: "answer 1", text: " = 1\n```\n", reasoning: "" });
    await page.getByRole("group", { name: "Code, py" }).getByRole("button", { name: "Insert at Cursor" }).click();
    assert.deepEqual(await last(), { type: "insert", text: "x = 1" });
  });
});

const user = (messageId: string, text: string): Row => ({
  kind: "user",
  id: `user ${messageId}`,
  rev: 1,
  messageId,
  text,
  images: [],
  files: [],
  shown: "whole",
});

test("what is about another page or another session is not drawn", async () => {
  await opened(async (page, tell, tellOf) => {
    const words = () => page.locator(".row .words").allTextContents();
    const put = (at: number, text: string): ToPanel => ({ type: "rows", at, remove: 0, rows: [user(`m${at}`, text)] });
    await tellOf({ page: "the page before", generation: 7 }, put(0, "of the page before"));
    assert.deepEqual(await words(), []);
    await tell({ type: "frame", frame: FRAME }, put(0, "of the first session"));
    await tellOf({ session: "s2", generation: 1 }, put(1, "of no generation"));
    await tellOf({ session: "s2", generation: 2 }, { type: "frame", frame: FRAME }, put(0, "of the second session"));
    await tell(put(1, "of the first session, late"), { type: "wholeResult", callId: "c", text: "late" });
    assert.deepEqual(await words(), ["of the second session"]);
    // The same session again: all of its rows are told again.
    await tellOf({ session: "s2", generation: 3 }, put(0, "of the second session"), put(1, "and more"));
    assert.deepEqual(await words(), ["of the second session", "and more"]);
  });
});

test("a row that comes with earlier ones is shown at once", async () => {
  await opened(async (page, tell) => {
    const newest = Array.from({ length: 60 }, (_, at) => answer(at));
    await tell({ type: "frame", frame: FRAME }, { type: "rows", at: 0, remove: 0, rows: newest });
    const earlier = Array.from({ length: 1_000 }, (_, at) => user(`m${at}`, `Earlier ${at}.`));
    await tell({ type: "rows", at: 0, remove: 0, rows: earlier }, { type: "frame", frame: FRAME }, { type: "reveal", of: "m500" });
    const row = page.locator('[data-row="user m500"]');
    await row.waitFor();
    assert.ok(await row.evaluate((element) => element === document.activeElement), "it has the focus");
    const [box, feed] = [await row.boundingBox(), await page.locator(".feed").boundingBox()];
    assert.ok(
      box !== null && feed !== null && box.y >= feed.y && box.y < feed.y + feed.height,
      `it is seen: ${JSON.stringify([box, feed])}`,
    );
  });
});

test("what a user does says in which session", async () => {
  await opened(async (page, tell, tellOf) => {
    const rows: ToPanel = { type: "rows", at: 0, remove: 0, rows: [user("m0", "Words in both sessions")] };
    const edit = async (): Promise<void> => {
      // What can be done with a row is there while it is pointed at.
      await page.locator(".row.user").hover();
      await page.getByRole("button", { name: "Edit and Ask Again" }).click();
    };
    const done = async (): Promise<unknown> => {
      await edit();
      await page.locator(".form textarea:focus").press("Control+Enter");
      const { about, action } = (await posted(page)).filter(({ action }) => action.type === "edit").at(-1) ?? {};
      return { session: about?.session, generation: about?.generation, action };
    };
    await tell({ type: "frame", frame: FRAME }, rows);
    assert.deepEqual(await done(), {
      session: "s1",
      generation: 1,
      action: { type: "edit", messageId: "m0", text: "Words in both sessions" },
    });
    await edit();
    await page.locator(".form textarea:focus").fill("Typed in the first");
    await tellOf({ session: "s2", generation: 2 }, rows);
    assert.equal(await page.locator(".form").count(), 0, "what is typed into the same message of another session is not here");
    assert.deepEqual(await done(), {
      session: "s2",
      generation: 2,
      action: { type: "edit", messageId: "m0", text: "Words in both sessions" },
    });
    await tellOf({ session: "s1", generation: 3 }, rows);
    assert.equal(await page.locator(".form textarea").inputValue(), "Typed in the first", "back there, it still is");
  });
});

test("sessions are pinned and archived in the list, whose titles keep their room in a narrow side bar", async () => {
  await opened(async (page, tell) => {
    const session = { updatedAt: "today", messages: 2, summarized: 0, current: false };
    const items = [
      { ...session, sessionId: "s1", title: "Fix the parser", mark: "pinned" as const },
      { ...session, sessionId: "s2", title: "Fix the lexer" },
    ];
    await tell({ type: "frame", frame: { ...FRAME, sessions: { query: "", items, more: false, loading: false, archived: "hidden" } } });
    await page.getByRole("button", { name: "Unpin Fix the parser" }).click();
    await page.getByRole("button", { name: "Archive Fix the lexer" }).click();
    await page.getByRole("button", { name: "Show Archived Sessions" }).click();
    const told = (await posted(page)).slice(-3).map(({ action }) => action);
    assert.deepEqual(told, [
      { type: "markSession", sessionId: "s1", mark: "pinned", on: false },
      { type: "markSession", sessionId: "s2", mark: "archived", on: true },
      { type: "listArchived", on: true },
    ]);
    await page.setViewportSize({ width: 220, height: 700 });
    await page.mouse.move(110, 600);
    await page.locator("body").click({ position: { x: 5, y: 5 } });
    const titles = page.locator(".sessions .open .title");
    for (const title of await titles.all()) assert.ok(await title.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth));
    assert.deepEqual(await faultsIn(page.mainFrame()), []);
  });
});

test("a narrow side bar names the file of an ended call before the time that it took", async () => {
  const result = { messageId: "m9", text: "", characters: 0, images: [], changed: ["src/greet.py"] };
  const phrases = [{ text: "Edited src/greet.py" }];
  const row: CallRow = { ...asked("c1", "edit_file", false), phrases, state: "done", durationMs: 584, result };
  await opened(async (page, tell) => {
    await tell({ type: "frame", frame: FRAME }, { type: "rows", at: 0, remove: 0, rows: [row] });
    const phrase = page.locator(".call .phrase");
    const isWhole = (): Promise<boolean> => phrase.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth);
    assert.ok(await isWhole(), "the name is not cut");
    await page.setViewportSize({ width: 400, height: 700 });
    assert.ok(await page.locator(".call .took").isVisible());
    assert.ok(await isWhole());
  });
});

test("what a rejection says is seen while it is typed, and in the row of the call after that", async () => {
  const words = "No, this folder is the program itself. Delete only what the tests made, and tell me first.";
  await opened(async (page, tell) => {
    const row = asked("c1", "run_command", true);
    await tell({ type: "frame", frame: FRAME }, { type: "rows", at: 0, remove: 0, rows: [row] });
    assert.equal(
      await page.locator(".later > summary").evaluate((summary) => getComputedStyle(summary).listStyleType),
      "disclosure-closed",
    );
    await page.getByRole("button", { name: "Reject…" }).click();
    const area = page.locator(".form textarea:focus");
    const one = (await area.boundingBox())?.height ?? 0;
    await area.fill(words);
    assert.ok(await area.evaluate(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight), "all lines are seen");
    assert.ok(((await area.boundingBox())?.height ?? 0) > one);
    await tell({ type: "rows", at: 0, remove: 1, rows: [{ ...row, rev: 2, state: "rejected", note: words }] });
    await page.locator(".call.rejected").getByText(words).waitFor();
  });
});

test("words that a search found are seen in the list, and the row in which they are is marked until it loses the focus", async () => {
  const before = "…from the beginning of the line, ";
  const snippet = { text: `${before}unheard words, and what comes after them`, marks: [[before.length, before.length + 13]] } as const;
  const hits = [
    {
      messageId: "m1",
      ord: 1,
      who: "Agent",
      snippet: { ...snippet, marks: snippet.marks.map(([from, to]) => [from, to] as [number, number]) },
    },
  ];
  const item = { sessionId: "s1", title: "One", updatedAt: "today", messages: 2, summarized: 0, current: true, hits };
  const sessions = { query: "unheard words", items: [item], more: false, loading: false };
  await opened(async (page, tell) => {
    const rows = Array.from({ length: 3 }, (_, at) => answer(at));
    await tell({ type: "frame", frame: { ...FRAME, sessions } }, { type: "rows", at: 0, remove: 0, rows });
    const [hit, mark] = [await page.locator(".hit").boundingBox(), await page.locator(".hit mark").boundingBox()];
    assert.ok(hit !== null && mark !== null);
    assert.ok(mark.x + mark.width <= hit.x + hit.width && mark.y + mark.height <= hit.y + hit.height, "the words are not cut off");
    // Chosen with the mouse, which no keyboard's outline follows.
    await page.locator(".hit").click();
    await tell({ type: "frame", frame: FRAME }, { type: "reveal", of: "m1" });
    assert.deepEqual(await page.locator(".row.found").evaluateAll((all: HTMLElement[]) => all.map(({ dataset }) => dataset["row"])), [
      "answer 1",
    ]);
    await page.locator(".prompt").focus();
    assert.equal(await page.locator(".row.found").count(), 0);
  });
});

test("a panel without a model offers to choose one, and none once there is one", async () => {
  await opened(async (page, tell) => {
    const { model = "", ...none } = FRAME;
    await tell({ type: "frame", frame: none });
    const offer = page.locator(".empty").getByRole("button", { name: "Choose or Set Up Model…" });
    await offer.click();
    assert.deepEqual((await posted(page)).at(-1)?.action, { type: "selectModel" });
    assert.deepEqual(await faultsIn(page.mainFrame()), []);
    await tell({ type: "frame", frame: { ...none, model } });
    assert.equal(await offer.isVisible(), false);
  });
});

test("colours of code are asked for piece by piece, each line once, and kept for the row that is drawn again", async () => {
  await opened(async (page, tell) => {
    const asked = async () => (await posted(page)).flatMap(({ action }) => (action.type === "highlight" ? [action] : []));
    const color = async (at: number, text: string): Promise<void> => {
      const last = (await asked()).at(-1);
      assert.deepEqual({ at: last?.at, text: last?.text, language: last?.language }, { at, text, language: "ts" });
      const runs = text.split(/(?<=\n)/).flatMap((line) => [3, 0, line.length - 3, -1]);
      await tell({ type: "colors", block: last?.block ?? "", at, colors: { runs, styles: [{ color: "rgb(1, 2, 3)", bold: true }] } });
    };
    const spans = page.locator(".code span[style]");
    const text = "```ts\nlet a;\nlet b";
    await tell({ type: "frame", frame: FRAME }, { type: "rows", at: 0, remove: 0, rows: [{ ...answer(0), text, streaming: true }] });
    const first = await page.$(".code pre");
    await tell({ type: "append", id: "answer 0", text: " = 1;\nlet c;\n", reasoning: "" });
    assert.equal((await asked()).length, 1, "one piece is asked for at a time");
    await color(0, "let a;\n");
    await color(7, "let b = 1;\nlet c;\n");
    assert.equal(await spans.count(), 3);
    assert.equal(await page.locator(".code pre").textContent(), "let a;\nlet b = 1;\nlet c;\n");
    assert.ok(await first?.evaluate(({ isConnected }) => isConnected), "the block goes on and is not drawn anew");
    await tell({ type: "append", id: "answer 0", text: "let d;\n```\nBehind **it**", reasoning: "" });
    await color(25, "let d;\n");
    assert.equal(await page.locator(".markdown strong").textContent(), "it");
    const whole = `${text} = 1;\nlet c;\nlet d;\n\`\`\`\nBehind **it**`;
    await tell({ type: "rows", at: 0, remove: 1, rows: [{ ...answer(0), rev: 2, text: whole }] });
    assert.equal((await asked()).length, 3, "what is known is not asked for again");
    assert.equal(await spans.count(), 4);
    assert.deepEqual(
      await spans.evaluateAll((all) => all.map((span) => [span.textContent, getComputedStyle(span).color])),
      Array.from({ length: 4 }, () => ["let", "rgb(1, 2, 3)"]),
    );
    // Another theme: all of it anew. Where the host has no colours, it is plain text.
    await tell({ type: "recolor" });
    assert.equal(await spans.count(), 0);
    const again = (await asked()).at(-1);
    assert.deepEqual([again?.at, again?.text], [0, "let a;\nlet b = 1;\nlet c;\nlet d;\n"]);
    await tell({ type: "colors", block: again?.block ?? "", at: 0 });
    assert.equal((await asked()).length, 4);
    assert.equal(await page.locator(".code pre").textContent(), "let a;\nlet b = 1;\nlet c;\nlet d;\n");
  });
});

test("prompts of the workspace are asked for once for a command that is typed", async () => {
  await opened(async (page, tell) => {
    await tell({ type: "frame", frame: FRAME });
    const asked = async () => (await posted(page)).filter(({ action }) => action.type === "prompts").length;
    await page.locator(".prompt").focus();
    await page.keyboard.type("/");
    assert.equal(await asked(), 1);
    await tell({ type: "prompts", items: [{ name: "review", about: "Reviews" }] });
    assert.equal(await asked(), 1);
    await page.keyboard.type("rev");
    await page.getByRole("option", { name: "/review" }).waitFor();
    assert.equal(await asked(), 1);
  });
});

test("words that were typed as their page ended are in the next one", async () => {
  const input = (page: Page) => page.getByRole("textbox", { name: "Ask the agent" });
  let kept: TypedDraft | undefined;
  await opened(async (page, tell) => {
    await tell({ type: "draft", text: "half", sent: [] }, { type: "frame", frame: FRAME });
    // Before the draft is told, however busy the machine is.
    await page.evaluate(() => Object.assign(window, { setTimeout: () => 1 }));
    await input(page).fill("half a thought");
    kept = await page.evaluate<TypedDraft>("editor.state");
    assert.deepEqual([kept, await drafts(page)], [{ text: "half a thought", session: "s1", draft: "half" }, []]);
  });
  await opened(async (page, tell, tellOf) => {
    await tell({ type: "draft", text: "half", sent: [] }, { type: "frame", frame: FRAME });
    assert.equal(await input(page).inputValue(), "half a thought");
    await until(async () => (await drafts(page)).includes("half a thought"), "the draft is told");
    assert.equal(await page.evaluate("editor.state"), undefined);
    await tellOf({ session: "s2", generation: 2 }, { type: "draft", text: "of the other", sent: [] });
    assert.equal(await input(page).inputValue(), "of the other");
  }, kept);
});

test("what the editor kept of an earlier page is sorted by what became of it since", async () => {
  const input = (page: Page) => page.getByRole("textbox", { name: "Ask the agent" });
  const shown = async (kept: Omit<TypedDraft, "session">, draft: string, ...sent: string[]): Promise<string> => {
    let value = "";
    const see = async (page: Page, tell: Tell): Promise<void> => {
      await tell({ type: "draft", text: draft, sent }, { type: "frame", frame: FRAME });
      value = await input(page).inputValue();
      await until(async () => value === draft || (await drafts(page)).at(-1) === value, "the host is told of what it does not know");
    };
    await opened(see, { ...kept, session: "s1" });
    return value;
  };
  assert.equal(await shown({ text: "Change it.\n", draft: "" }, "", "Change it."), "", "it was sent");
  assert.equal(await shown({ text: "Change it.", draft: "" }, "And this", "Change it."), "And this", "something else is typed since");
  assert.equal(await shown({ text: "Hel", draft: "" }, "Hello"), "Hello", "it was typed on");
  assert.equal(await shown({ text: "the big bug", draft: "the bug" }, "the bug", "Earlier"), "the big bug", "nobody was told of it");
  assert.equal(await shown({ text: "", draft: "the bug" }, "the bug"), "", "it was taken away");
  assert.equal(await shown({ text: "Hello", draft: "Hell" }, "Hel"), "Hello", "the host did not keep the last");
  assert.equal(await shown({ text: "one", draft: "" }, "another"), "another\none", "neither is lost");
});

test("words that are typed before a session is shown, or given back as one begins, go behind its draft", async () => {
  await opened(async (page, _tell, tellOf) => {
    const input = page.getByRole("textbox", { name: "Ask the agent" });
    await tellOf({ session: "" }, { type: "frame", frame: FRAME });
    await input.fill("typed early");
    await tellOf({ generation: 2 }, { type: "draft", text: "kept", sent: [] });
    assert.equal(await input.inputValue(), "kept\ntyped early");
    await until(async () => (await drafts(page)).includes("kept\ntyped early"), "the draft is told");
    await tellOf({ session: "s2", generation: 3 }, { type: "unsent", text: "given back" });
    await tellOf({ session: "s2", generation: 3 }, { type: "draft", text: "kept there", sent: [] });
    assert.equal(await input.inputValue(), "kept there\ngiven back");
  });
});

test("what is sent while the sidecar starts stays in the prompt until it runs, unless it is changed or nothing starts", async () => {
  await opened(async (page, tell) => {
    const prompt = page.getByRole("textbox", { name: "Ask the agent" });
    const told = (sidecar: Frame["sidecar"]): Promise<void> => tell({ type: "frame", frame: { ...FRAME, busy: false, sidecar } });
    const sent = async (): Promise<string[]> => (await posted(page)).flatMap(({ action }) => (action.type === "send" ? [action.text] : []));
    const ask = async (words: string): Promise<void> => {
      await prompt.fill(words);
      await prompt.press("Enter");
    };

    // Before the page knows anything, and while it starts: the words wait where they can be seen.
    await ask("A question");
    await told({ state: "starting" });
    assert.deepEqual([await prompt.inputValue(), await prompt.isEnabled(), await sent()], ["A question", true, []]);
    await told({ state: "ready" });
    assert.deepEqual([await prompt.inputValue(), await sent()], ["", ["A question"]]);
    await told({ state: "ready" });
    assert.deepEqual(await sent(), ["A question"], "it is sent once");

    // What was changed since is not what was sent.
    await told({ state: "starting" });
    await ask("Another");
    await prompt.press("End");
    await prompt.pressSequentially(" one");
    await told({ state: "ready" });
    assert.deepEqual([await prompt.inputValue(), await sent()], ["Another one", ["A question"]]);

    // Long after it could not be started, nobody expects it any more.
    await told({ state: "starting" });
    await prompt.press("Enter");
    await told({ state: "none", title: "Not found", text: "Install it.", actions: [] });
    assert.equal(await prompt.isEnabled(), false);
    await told({ state: "ready" });
    assert.deepEqual([await prompt.inputValue(), await sent()], ["Another one", ["A question"]]);
    await prompt.press("Enter");
    assert.deepEqual(await sent(), ["A question", "Another one"]);
  });
});

test("a conversation that is told while nobody sees the panel is no feed without articles", async () => {
  await opened(async (page, tell) => {
    const feed = page.getByLabel("Conversation");
    const style = await page.addStyleTag({ content: ".feed { flex: none !important; height: 0 !important; padding: 0 !important; }" });
    await tell({ type: "frame", frame: FRAME }, { type: "rows", at: 0, remove: 0, rows: [answer(1)] });
    assert.deepEqual([await feed.getAttribute("role"), await page.getByRole("article").count()], [null, 0]);
    assert.deepEqual(await faultsIn(page.mainFrame()), []);
    await style.evaluate((style) => (style as HTMLStyleElement).remove());
    await page.getByRole("feed").getByRole("article").waitFor();
  });
});
