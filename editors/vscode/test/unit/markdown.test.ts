// Markdown of an answer as HTML: math between the signs that models use, and prices that are none.

import assert from "node:assert/strict";
import { test } from "node:test";
import { markdown } from "../../src/webview/markdown/rules.ts";

const inline = (source: string): string => `<code class="math inline">${source}</code>`;

test("math stands between dollars, or brackets behind a backslash", () => {
  assert.equal(markdown.renderInline("So $a_1 < b$ holds."), `So ${inline("a_1 &lt; b")} holds.`);
  assert.equal(markdown.renderInline("So \\(a*b*c\\) holds."), `So ${inline("a*b*c")} holds.`);
  const block = '<div class="math-block" tabindex="0"><code class="math block">x^2</code></div>\n';
  assert.equal(markdown.render("$$\nx^2\n$$\n"), block);
  assert.equal(markdown.render("\\[\nx^2\n\\]\n"), block);
});

test("prices, variables and code are no math", () => {
  for (const text of ["It costs $5 and $10.", "From $10-$20.", "Set $HOME to $PATH.", "A dollar: \\$5 or \\$6"]) {
    assert.equal(markdown.renderInline(text), text.replaceAll("\\", ""), text);
  }
  assert.equal(markdown.renderInline("`$a$`"), "<code>$a$</code>");
});
