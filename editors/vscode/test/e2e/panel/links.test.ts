// Links in what a model said. The webview's host acts on each link that it sees clicked, before anybody is asked; so it must
// see none. A page of the web is opened after the editor's own question, a file of the folder in the editor, and
// nothing else is a link.

import assert from "node:assert/strict";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const SAID = `Here they are:

- [the page](https://page.invalid/tokens?of=a), <https://auto.invalid/>, https://bare.invalid/ and ![a picture](https://picture.invalid/p.png)
- [the file](src/lexer.rs), [its line](src/lexer.rs#L2), [the same line](src/lexer.rs:2)
- [above](../secret.txt), [behind a link](linked.txt)
- [opener](vscode://file/etc/passwd), [command](command:workbench.action.files.newUntitledFile), [file scheme](file:///etc/passwd)
- [no lock](http://plain.invalid/), [mail](mailto:a@b.invalid), [share](//share.invalid/x), [backslashes](%5C%5Cshare.invalid%5Cx)
- [script](javascript:alert(1)), [data](data:text/html,x), [place](#x), README.md, plain.invalid, ![data](data:image/png;base64,AA==)`;

const LINKS = [
  "the page",
  "https://auto.invalid/",
  "https://bare.invalid/",
  "a picture",
  "the file",
  "its line",
  "the same line",
  "above",
  "behind a link",
];

/** Has each message kept that a webview sends when its host sees a link clicked. */
async function watchClicks(page: Page): Promise<() => Promise<unknown[]>> {
  await page.addInitScript(`{
    const post = MessagePort.prototype.postMessage;
    globalThis.followed = [];
    MessagePort.prototype.postMessage = function (message, ...more) {
      if (message?.channel === "did-click-link") globalThis.followed.push(message.data);
      return post.call(this, message, ...more);
    };
  }`);
  return async () => (await Promise.all(page.frames().map((frame) => frame.evaluate<unknown[]>("globalThis.followed ?? []")))).flat();
}

test("a link opens what it may, once, and only after the question", async () => {
  using probe = new Probe({ answers: [{ say: SAID }] });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    files: { "src/lexer.rs": "// one\n// two\n" },
    settings: SCRIPTED,
    environment: { PROBE: probe.folder },
    before: async ({ folder, root }) => {
      writeFileSync(join(root, "secret.txt"), "secret\n");
      symlinkSync(join(root, "secret.txt"), join(folder, "linked.txt"));
    },
  });
  const { page } = editor;
  const followed = await watchClicks(page);
  const panel = await Panel.open(editor);
  await panel.ask("Where is it?");
  const answer = panel.answer("Here they are");
  await answer.getByText("script").waitFor();
  await editor.shoot("links-1-answer");
  assert.deepEqual(await answer.getByRole("link").allTextContents(), LINKS);
  assert.equal(await answer.locator("[href], [src], img").count(), 0, "nothing has an address that a browser acts on");

  const link = (name: string) => answer.getByRole("link", { name, exact: true });
  const question = page.locator(".monaco-dialog-box");
  const pages = (): string[] =>
    page
      .context()
      .pages()
      .map((one) => one.url());
  const tabs = page.locator(".tabs-container .tab");
  const before = pages();

  // The middle button, the keys of a browser, and dragging do what they do with words: nothing.
  await link("the page").click({ button: "middle" });
  await link("the page").dragTo(panel.prompt);
  await panel.prompt.fill("");
  assert.equal(await question.count(), 0);

  for (const how of [{}, { modifiers: ["Control" as const] }, { modifiers: ["Shift" as const] }]) {
    await link("the page").click(how);
    await question.getByText("https://page.invalid/tokens?of").waitFor();
    assert.deepEqual(pages(), before, "nothing is opened while the question stands");
    await question.getByRole("button", { name: "Cancel" }).click();
    await question.waitFor({ state: "detached" });
  }
  assert.deepEqual(pages(), before);

  await link("its line").focus();
  await page.keyboard.press("Enter");
  await tabs.filter({ hasText: "lexer.rs" }).waitFor();
  await page.getByText("Ln 2, Col 1").waitFor();
  await link("the file").click();
  await until(async () => await panel.frame.locator("body").evaluate(() => !document.hasFocus()), "the file has the focus");
  assert.equal(await tabs.count(), 1);

  for (const name of ["above", "behind a link"]) {
    await link(name).click();
    await panel.frame.getByText("is outside the open folder.").waitFor();
    await panel.button("Dismiss").click();
  }
  assert.deepEqual(await tabs.allTextContents().then((names) => names.map((name) => name.trim())), ["lexer.rs"]);

  const [opened] = await Promise.all([
    page.context().waitForEvent("page"),
    link("the page")
      .press("Enter")
      .then(() => question.getByRole("button", { name: "Open", exact: true }).click()),
  ]);
  await until(() => pages().length === before.length + 1, "one page is open");
  await opened.close();
  assert.deepEqual(await followed(), [], "the webview's host saw no link");
});
