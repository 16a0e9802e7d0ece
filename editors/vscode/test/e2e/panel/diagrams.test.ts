// Diagrams in answers: drawn once an answer is finished, in the colours of the theme, with their source at hand; what cannot
// be drawn stays a block of code, and hostile sources do nothing.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { chromium, type Locator } from "playwright-core";
import type { HostMessage, PageMessage } from "../../../src/shared/envelope.ts";
import type { AnswerRow, Frame, ToPanel } from "../../../src/shared/view.ts";
import { CHROMIUM, Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const fenced = (source: string): string => `\`\`\`mermaid\n${source}\n\`\`\`\n\n`;

const FLOW = `flowchart TD
    A[Client request] -->|HTTP| B{Valid?}
    B -- yes --> C[(Database)]
    B -- no --> D["Return 400<br/>with an error"]
    C --> E([Response])
    subgraph workers [Background workers]
      F[Queue] --> G[[Job]]
    end
    E -.-> F
    click A "https://example.com"`;
const SEQUENCE = `sequenceDiagram
    autonumber
    participant U as User
    participant W as Web App
    U->>W: Log in
    alt known
      W-->>U: Token
    else unknown
      W-->>U: 401
    end
    Note over U,W: The session lasts an hour`;
const OTHERS = [
  `classDiagram
    class Animal {
      <<abstract>>
      +String name
      +eat(food) void
    }
    Animal <|-- Dog
    Animal "1" --> "*" Leg : has`,
  `stateDiagram-v2
    [*] --> Idle
    Idle --> Running : start
    state Running {
      [*] --> Fast
      Fast --> Slow
    }
    Running --> [*]`,
  `erDiagram
    CUSTOMER ||--o{ ORDER : places
    CUSTOMER {
      string name PK
      int age
    }`,
  `gantt
    title A plan
    dateFormat YYYY-MM-DD
    section One
    First :a1, 2024-01-01, 30d
    Second :after a1, 20d`,
  `pie title Pets
    "Dogs" : 386
    "Cats" : 85`,
  `gitGraph
    commit
    branch develop
    commit id: "fix"
    checkout main
    merge develop`,
];

/** Average brightness of a picture, 0 to 255, drawn over black. */
function brightness(image: Locator): Promise<number> {
  return image.evaluate(async (image: HTMLImageElement) => {
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    const context = canvas.getContext("2d");
    context?.drawImage(image, 0, 0);
    const { data } = context?.getImageData(0, 0, canvas.width, canvas.height) ?? { data: [] };
    let [sum, drawn] = [0, 0];
    for (let at = 0; at < data.length; at += 4) {
      if ((data[at + 3] ?? 0) < 200) continue;
      sum += ((data[at] ?? 0) + (data[at + 1] ?? 0) + (data[at + 2] ?? 0)) / 3;
      drawn += 1;
    }
    return sum / drawn;
  });
}

test("diagrams are drawn once the answer is finished", async () => {
  const broken = "flowchart TD\n  A --> [";
  const first = `The flow:\n\n${fenced(FLOW)}${fenced(broken)}${fenced("nothing known")}`;
  using probe = new Probe({
    answers: [{ say: first, holdWhile: "held", then: `Then:\n\n${fenced(SEQUENCE)}` }, { say: OTHERS.map(fenced).join("") }],
  });
  probe.hold("held");
  const settings = { ...SCRIPTED, "workbench.colorTheme": "Default Dark Modern" };
  await using editor = await Editor.start({ extensions: PACKAGES, shared: true, settings, environment: { PROBE: probe.folder } });
  const panel = await Panel.open(editor);
  await panel.ask("Show me.");
  const answer = panel.answer("The flow:");
  await until(async () => (await answer.locator(".code").count()) === 3, "the sources are there");
  assert.equal(await answer.locator(".diagram").count(), 0, "nothing is drawn while the answer is written");
  probe.release("held");
  const flow = answer.getByRole("img", { name: "Flowchart" });
  await flow.waitFor();
  const sequence = answer.getByRole("img", { name: "Sequence diagram" });
  await sequence.waitFor();
  const blocks = answer.locator(".code");
  const isDrawn = await blocks.evaluateAll((all) =>
    all.map((block) => block.querySelector<HTMLElement>(".diagram:not([hidden])") !== null),
  );
  assert.deepEqual(isDrawn, [true, false, false, true]);
  assert.equal((await blocks.nth(1).locator("pre").textContent())?.trim(), broken, "what cannot be read stays as it was written");
  assert.equal(await answer.getByRole("button", { name: "Show Source" }).count(), 2);
  assert.equal(await panel.frame.locator(".notice").count(), 0);

  const pre = blocks.first().locator("pre");
  await panel.toStart();
  await blocks.first().getByRole("button", { name: "Show Source" }).click();
  const back = blocks.first().getByRole("button", { name: "Show Diagram" });
  await back.waitFor();
  assert.ok(await pre.isVisible());
  assert.equal((await pre.textContent())?.trim(), FLOW);
  assert.equal(await flow.count(), 0);
  await back.press("Enter");
  await flow.waitFor();
  assert.equal(await pre.isVisible(), false);
  await flow.click();

  await panel.toStart();
  await editor.shoot("diagrams-1-dark");
  const dark = await brightness(flow);
  const light = { ...SCRIPTED, "workbench.colorTheme": "Default Light Modern" };
  await editor.change(light, panel.frame.locator("body.vscode-light").waitFor());
  await until(async () => (await brightness(flow)) > dark + 50, "the picture has the colours of the other theme");
  await panel.toStart();
  await editor.shoot("diagrams-2-light");

  await panel.ask("And the others?");
  const others = panel.frame.locator(".row.answer").last().locator(".diagram img");
  await until(async () => (await others.count()) === OTHERS.length, "all kinds are drawn");
  const names = await others.evaluateAll((all) => all.map((image) => (image as HTMLImageElement).alt));
  assert.deepEqual(names, ["Class diagram", "State diagram", "Entity relationship diagram", "Gantt chart", "Pie chart", "Git graph"]);
  await Panel.resize(editor, 700);
  await editor.shoot("diagrams-3-others-light");
  await panel.wheel(-700);
  await editor.shoot("diagrams-4-others-light");
  await panel.toStart();
  await Panel.resize(editor, 220);
  const sticksOut = await panel.feed.evaluate((feed) => feed.scrollWidth - feed.clientWidth);
  assert.equal(sticksOut, 0, "a wide one scrolls in its frame");
  await editor.shoot("diagrams-5-narrow");
  const contrast = { ...SCRIPTED, "workbench.colorTheme": "Default High Contrast" };
  await editor.change(contrast, panel.frame.locator("body.vscode-high-contrast").waitFor());
  await until(async () => (await brightness(flow)) < 128, "it has those of a high contrast theme");
  await Panel.resize(editor, 700);
  await editor.shoot("diagrams-6-contrast");
});

const FRAME: Frame = {
  sidecar: { state: "ready" },
  title: "A session",
  state: "idle",
  activity: "",
  busy: false,
  mode: "agent",
  asked: [],
  attachments: [],
  queue: [],
};

/** The page's policy, as the host writes it, for an address of a test. */
const ADDRESS = "https://panel.example";
const POLICY = `default-src 'none'; script-src 'nonce-n'; style-src ${ADDRESS}; img-src data:; base-uri 'none'; form-action 'none';`;
const PAGE = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${POLICY}">
<link rel="stylesheet" href="/panel.css"><title>Agent</title></head><body><script nonce="n" src="/panel.js"></script></body></html>`;

const answer = (id: string, source: string): AnswerRow => {
  return { kind: "answer", id, rev: 1, messageId: id, text: fenced(source), reasoning: "", streaming: false, shown: "whole" };
};

interface Drawn {
  /** `drawn` or `code`, by the name of the source. */
  became: Record<string, string>;
  /** Pixels. */
  widths: Record<string, number>;
  /** What the sources did beside. */
  done: string[];
}

/** What sources become in the panel's page. */
async function drawn(sources: Record<string, string>): Promise<Drawn> {
  const dist = join(import.meta.dirname, "../../../dist");
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  try {
    const page = await browser.newPage({ viewport: { width: 220, height: 700 } });
    const done: string[] = [];
    page.on("dialog", (dialog) => done.push(`said ${dialog.message()}`) && void dialog.dismiss());
    page.on("pageerror", ({ message }) => done.push(`threw ${message}`));
    await page.route("**", (route) => {
      const { pathname, origin } = new URL(route.request().url());
      if (origin !== ADDRESS) {
        done.push(`fetched ${route.request().url()}`);
        return route.abort();
      }
      if (pathname === "/") return route.fulfill({ contentType: "text/html", body: PAGE });
      return route.fulfill({ path: join(dist, pathname) });
    });
    await page.addInitScript(() => {
      const posted: unknown[] = [];
      const acquireVsCodeApi = () => ({
        postMessage: (told: unknown) => posted.push(told),
        getState: () => undefined,
        setState: () => undefined,
      });
      Object.assign(globalThis, { posted, acquireVsCodeApi, ran: 0 });
    });
    await page.goto(ADDRESS);
    const posted = (): Promise<PageMessage[]> => page.evaluate("posted");
    const [ready] = await posted();
    const about = { page: ready?.about.page ?? "", session: "s1", generation: 1 };
    const tell = (...messages: ToPanel[]): Promise<void> => {
      const told: HostMessage = { about, messages };
      return page.evaluate((told) => window.postMessage(told, "*"), told);
    };
    await tell({ type: "frame", frame: FRAME });
    const became: Record<string, string> = {};
    const widths: Record<string, number> = {};
    for (const [at, [name, source]] of Object.entries(sources).entries()) {
      // Its diagram is drawn behind the other one.
      const rows = [answer(name, source), answer(`after ${name}`, `pie\n  "${name}": 1`)];
      await tell({ type: "rows", at: 0, remove: at === 0 ? 0 : 2, rows });
      await page.locator(`[data-row="after ${name}"] .diagram img`).waitFor();
      const row = page.locator(`[data-row="${name}"]`);
      assert.equal((await row.locator("pre").textContent())?.trim(), source.trim(), `nothing of ${name} is lost`);
      const images = row.locator(".diagram img");
      became[name] = (await images.count()) === 1 ? "drawn" : "code";
      for (const image of await images.all()) {
        await image.click();
        widths[name] = Number(await image.getAttribute("width"));
        if (decodeURIComponent((await image.getAttribute("src")) ?? "").includes("foreignObject")) done.push(`HTML in ${name}`);
      }
    }
    const places = await page.locator(".diagram-place").count();
    if (places > 0) done.push(`left ${places} elements`);
    assert.deepEqual(await page.evaluate("[ran, ({}).polluted]"), [0, undefined]);
    for (const { action } of await posted()) if (action.type === "open") done.push(`opened ${action.href}`);
    return { became, widths, done };
  } finally {
    await browser.close();
  }
}

test("hostile diagrams do nothing", async () => {
  const lines = (count: number, line: (at: number) => string): string => Array.from({ length: count }, (_, at) => line(at)).join("\n");
  const names = (letter: string): string => Array.from({ length: 13 }, (_, at) => `${letter}${at}`).join(" & ");
  const { became, done } = await drawn({
    script:
      'flowchart TD\n A["<script>ran=1</script><img src=x onerror=ran=1>"] --> B\n click A call alert(1)\n click B "javascript:ran=1"',
    settings:
      '%%{init: {"securityLevel": "loose", "maxEdges": 100000, "htmlLabels": true, "flowchart": {"htmlLabels": true}, "themeCSS": "* { background: url(https://other.example/x) }"}}%%\nflowchart TD\n A["<iframe src=https://other.example/y></iframe>"]',
    prototype: '%%{init: {"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}}%%\nflowchart TD\n A --> B',
    names: "flowchart TD\n __proto__ --> constructor\n constructor --> toString[hasOwnProperty]",
    edges: `flowchart TD\n ${names("a")} --> ${names("b")}`,
    statements: `gantt\n dateFormat YYYY-MM-DD\n${lines(200, (at) => ` t${at} :2024-01-01, 1d`)}`,
    deep: `flowchart TD\n${lines(70, (at) => `subgraph s${at}`)}\n a --> b\n${lines(70, () => "end")}`,
    long: `flowchart TD\n A[${"x".repeat(10_000)}]`,
    dates: "gantt\n dateFormat YYYY-MM-DD\n excludes weekends\n a :a, 0001-01-01, 9000y",
    packet: 'packet-beta\n 0-15: "x"',
    blocks: "block-beta\n columns 1\n space:1000000000",
    control: "flowchart TD\n A[\u0001\u00a0&nbsp;&amp;\ud800] --> B",
    spaces: 'flowchart TD\n A["a\u00a0b & <c>"] --> B',
  });
  assert.deepEqual(done, []);
  assert.deepEqual(became, {
    script: "drawn",
    settings: "drawn",
    prototype: "drawn",
    names: "code",
    edges: "code",
    statements: "code",
    deep: "code",
    long: "code",
    dates: "code",
    packet: "code",
    blocks: "code",
    control: "code",
    spaces: "drawn",
  });
});

test("text is measured with the styles that it is drawn with", async () => {
  const source = "flowchart TD\n A[A node]";
  const large = `${source}\n classDef large font-size:39px\n class A large`;
  const themed = `%%{init: {"theme": "forest", "themeVariables": {"fontSize": "39px"}, "themeCSS": ".node { font-size: 39px }"}}%%\n${source}`;
  const { widths } = await drawn({ source, large, themed });
  assert.equal(widths["themed"], widths["source"], "the theme is the editor's");
  assert.ok((widths["large"] ?? 0) > 1.4 * (widths["source"] ?? 0), JSON.stringify(widths));
});
