// What keeps people with a screen reader, or without a mouse, from using the panel, as far as a program can see it.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Frame, Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  id: string;
  impact: string | null;
  help: string;
  nodes: { html: string; failureSummary?: string }[];
}

/** True for what is scrolled by the keys of the prompt, which has the focus. */
const isOfPrompt = (id: string, html: string): boolean => id === "scrollable-region-focusable" && html.includes('class="prompt-menu"');

/** True for code in the colours of the user's theme, which are the same in the editor. */
const isOfTheme = (id: string, html: string): boolean => id === "color-contrast" && html.startsWith('<span style="color: rgb(');

/** The serious faults of the panel in this window, wherever it is shown, a line each; none where it is not open. */
export async function faultsOf(page: Page): Promise<string[]> {
  const panels = page.frames().filter((frame) => frame.parentFrame()?.url().includes("threadhold.threadhold") === true);
  return (await Promise.all(panels.map(faultsIn))).flat();
}

/** The serious faults of the panel's document, a line each. */
export async function faultsIn(panel: Frame): Promise<string[]> {
  // As a text, which the page's policy does not keep out.
  await panel.evaluate(AXE);
  const violations = await violationsIn(panel);
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, help, nodes }) =>
      nodes
        .filter(({ html }) => !isOfPrompt(id, html) && !isOfTheme(id, html))
        .map(({ html, failureSummary }) => `${id}: ${help}: ${html.slice(0, 300)}: ${failureSummary ?? ""}`),
    );
}

function violationsIn(panel: Frame): Promise<Violation[]> {
  return panel.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(on: Document, options: object): Promise<{ violations: Violation[] }> } };
    // Names begin with the words that are seen and go on in words where figures and signs are seen, so that who speaks to the
    // computer is understood; the rule also wants the figures and signs.
    const rules = { "label-content-name-mismatch": { enabled: false } };
    return (await axe.run(document, { resultTypes: ["violations"], rules })).violations;
  });
}
