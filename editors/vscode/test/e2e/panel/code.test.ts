// Code in answers: coloured as the editor would colour it, in each theme, also while it is written; and put where the user
// wants it.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const RUST = `/// Scans the input, /* and */ "quotes" in it.
fn scan(input: &str, from: usize) -> Option<Token> {
    let rest = &input[from..]; // what is left
    Some(Token::new(rest, 42))
}
`;
const ANSWER = `Here it is:

\`\`\`rust
${RUST}\`\`\`

And a piece of a page:

\`\`\`html
<p class="note">One <b>word</b></p>
<script>const a = "text"; // and a comment</script>
\`\`\`

1. An item with code:

   \`\`\`ts
   type Name = "a" | "b";
   \`\`\`

\`\`\`
no language
\`\`\`
`;

const THEMES = { dark: "Default Dark Modern", light: "Default Light Modern", contrast: "Default High Contrast" };

/** The colour of a word in a block of code, as the browser says it. */
const colorOf = (block: Locator, word: string): Promise<string> =>
  block
    .locator("span", { hasText: word })
    .first()
    .evaluate((span) => getComputedStyle(span).color);

test("code has the colours of the editor's theme, and goes into a new file", async () => {
  using probe = new Probe({ answers: [{ say: ANSWER }] });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    files: { "a.rs": RUST },
    settings: { ...SCRIPTED, "workbench.colorTheme": THEMES.dark, "editor.semanticHighlighting.enabled": false },
    environment: { PROBE: probe.folder },
  });
  const panel = await Panel.open(editor);
  await panel.ask("Show me code.");
  const block = (language: string) => panel.frame.getByRole("group", { name: `Code, ${language}`, exact: true }).locator("pre");
  await block("rust").locator("span", { hasText: "fn" }).first().waitFor();
  assert.equal(await block("rust").textContent(), RUST, "the text is as it was written");
  await editor.open("a.rs");
  const inEditor = (word: string): Promise<string> =>
    editor.page
      .locator(".monaco-editor .view-line span span")
      .filter({ hasText: new RegExp(`^\\s*${word}`) })
      .first()
      .evaluate((span) => getComputedStyle(span).color);
  const seen: Record<string, string> = {};
  for (const [name, theme] of Object.entries(THEMES)) {
    const kind = { light: "vscode-light", dark: "vscode-dark", contrast: "vscode-high-contrast" }[name] ?? "";
    const settings = { ...SCRIPTED, "workbench.colorTheme": theme, "editor.semanticHighlighting.enabled": false };
    await editor.change(settings, panel.frame.locator(`body.${kind}`).waitFor());
    for (const word of ["fn", "let", "///", "42"]) {
      await until(
        async () => (await colorOf(block("rust"), word).catch(String)) === (await inEditor(word)),
        `${word} is as in the editor, ${name}`,
      );
    }
    seen[name] = await colorOf(block("rust"), "fn");
    await block("html").locator("span", { hasText: "const" }).waitFor();
    await block("ts").locator("span", { hasText: "type" }).waitFor();
    await editor.shoot(`code-1-${name}`);
  }
  assert.notEqual(seen["light"], seen["dark"], "the colours follow the theme");
  assert.equal(await panel.frame.getByRole("group", { name: "Code", exact: true }).locator("pre span").count(), 0);

  await panel.frame.getByRole("group", { name: "Code, rust" }).getByRole("button", { name: "Insert into New File" }).click();
  await editor.page.locator(".tab", { hasText: "Untitled-1" }).waitFor();
  await until(
    async () => (await editor.page.locator(".statusbar").textContent())?.includes("Rust") ?? false,
    "it is a file of its language",
  );
});

test("a long block is coloured while it is written", async () => {
  const lines = 600;
  using probe = new Probe({
    answers: [
      {
        first: "```ts\n/* A comment over two\nlines */\n",
        pieces: { count: lines, text: "const a = call(1);\n" },
        holdWhile: "held",
        then: "const last = 2;\n``` not the end\n```\nBehind the **code**.",
      },
    ],
  });
  probe.hold("held");
  await using editor = await Editor.start({ extensions: PACKAGES, shared: true, settings: SCRIPTED, environment: { PROBE: probe.folder } });
  const panel = await Panel.open(editor);
  await panel.ask("Write much.");
  const block = panel.frame.getByRole("group", { name: "Code, ts" }).locator("pre");
  await until(async () => (await block.locator("span", { hasText: "const" }).count()) >= lines, "all that is there has colours");
  probe.release("held");
  await panel.answer("Behind the code.").waitFor();
  await panel.frame.locator(".markdown strong", { hasText: "code" }).waitFor();
  await panel.button("Stop").waitFor({ state: "hidden" });
  await until(async () => (await block.locator("span", { hasText: "const" }).count()) === lines + 1, "the whole block has colours");
  const text = (await block.textContent()) ?? "";
  assert.equal(text.split("\n").length, lines + 5);
  assert.ok(text.endsWith("const last = 2;\n``` not the end\n"), text.slice(-60));
  await editor.shoot("code-2-long");
});
