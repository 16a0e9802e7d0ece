// Bundles the extension: the host's half (dist/extension.cjs) and the panel's (dist/panel.js, dist/panel.css). What goes
// into a bundle is decided by the imports of the two entries; nothing is listed here.

import { build } from "esbuild";

const shared = { bundle: true, minify: true, sourcemap: process.argv.includes("--sourcemap"), logLevel: "warning" };
await build({
  ...shared,
  entryPoints: { extension: "src/extension.ts" },
  outdir: "dist",
  platform: "node",
  target: "node20",
  format: "cjs",
  outExtension: { ".js": ".cjs" },
  external: ["vscode"],
});
await build({
  ...shared,
  entryPoints: { panel: "src/webview/main.ts" },
  outdir: "dist",
  platform: "browser",
  target: "es2022",
  format: "iife",
});
