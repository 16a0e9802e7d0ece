// Draws media/icon.png, which lists of extensions show, from media/icon.svg, which the activity bar shows. It is run by
// hand after the drawing changed: node packaging/icon.mjs. CHROMIUM names another browser.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

const media = resolve(import.meta.dirname, "../media");
const SIZE = 128;

const browser = await chromium.launch({ executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: SIZE, height: SIZE } });
// The drawing has the colour of the text around it; a ground of its own shows it on light and on dark.
await page.setContent(`<style>
  body { margin: 0 }
  main { width: ${SIZE}px; height: ${SIZE}px; display: grid; place-items: center; border-radius: 24px; background: #1f4e5f; color: #f4f1e8 }
  svg { width: 96px; height: 96px }
</style><main>${readFileSync(join(media, "icon.svg"), "utf8")}</main>`);
await page.screenshot({ path: join(media, "icon.png"), omitBackground: true });
await browser.close();
