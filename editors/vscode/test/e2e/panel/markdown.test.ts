// Task lists and math in answers: drawn as such, also while they are written; what is no math stays as it was written.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const ANSWER = `The plan:

- [x] Read *the* file
- [ ] Write a test
  - [ ] for the lexer
- [link](a.md)

The mean is \\(\\bar{x} = \\frac{1}{n} \\sum_{i=1}^{n} x_i\\), and $e^{i\\pi} = -1$. It costs $5 and $10.

$$
\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix} \\cdot \\int_0^1 \\sqrt{x}\\,dx
$$

This is broken: $\\frac{1$. So is $\\href{https://example.com}{x}$.
`;

test("tasks and math are drawn", async () => {
  using probe = new Probe({ answers: [{ say: ANSWER, holdWhile: "held", then: "\nAnd $c$ at last." }] });
  probe.hold("held");
  const settings = { ...SCRIPTED, "workbench.colorTheme": "Default Dark Modern" };
  await using editor = await Editor.start({ extensions: PACKAGES, shared: true, settings, environment: { PROBE: probe.folder } });
  const panel = await Panel.open(editor);
  await panel.ask("Show me.");
  const answer = panel.answer("The plan:");
  await until(async () => (await answer.locator("math").count()) === 3, "math is drawn while the answer is written");
  probe.release("held");
  await answer.getByText("at last.").waitFor();
  await until(async () => (await answer.locator("math").count()) === 4, "all of it");
  const boxes = answer.getByRole("checkbox");
  const stands = await boxes.evaluateAll((all) => all.map((box) => [box.ariaLabel, (box as HTMLInputElement).checked]));
  assert.deepEqual(stands, [
    ["Done", true],
    ["To do", false],
    ["To do", false],
  ]);
  assert.match((await answer.textContent()) ?? "", /It costs \$5 and \$10\./);
  assert.deepEqual(await answer.locator("code.math").allTextContents(), ["\\frac{1", "\\href{https://example.com}{x}"]);
  assert.equal(await answer.locator("math a, math [href]").count(), 0);
  await editor.shoot("markdown-1-dark");
  const { tall, view } = await panel.frame.locator("body").evaluate((body) => ({ tall: body.scrollHeight, view: body.clientHeight }));
  assert.equal(tall, view, "nothing sticks out below");
  await editor.change({ ...SCRIPTED, "workbench.colorTheme": "Default Light Modern" }, panel.frame.locator("body.vscode-light").waitFor());
  await editor.shoot("markdown-2-light");
});
