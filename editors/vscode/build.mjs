// Bundles the extension: the host's half (dist/extension.cjs), the panel's (dist/panel.js, dist/panel.css), what that
// loads later (dist/math.js, dist/diagrams.js), and the page of approval rules (dist/rules.js, dist/rules.css). What goes into
// a bundle is decided by the imports of the entries; nothing is listed here.

import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Makes both, and answers the files that are in them, from here on. */
export async function bundle(sourcemap = false) {
  const shared = { absWorkingDir: import.meta.dirname, bundle: true, minify: true, sourcemap, metafile: true, logLevel: "warning" };
  const made = await Promise.all([
    build({
      ...shared,
      entryPoints: { extension: "src/extension.ts" },
      outdir: "dist",
      platform: "node",
      target: "node20",
      format: "cjs",
      outExtension: { ".js": ".cjs" },
      external: ["vscode"],
    }),
    build({
      ...shared,
      entryPoints: {
        panel: "src/webview/main.ts",
        rules: "src/webview/rules/main.ts",
        math: "src/webview/markdown/math-library.ts",
        diagrams: "src/webview/markdown/diagram-library.ts",
      },
      outdir: "dist",
      platform: "browser",
      target: "es2022",
      format: "iife",
    }),
  ]);
  return made.flatMap(({ metafile }) => Object.keys(metafile.inputs));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundle(process.argv.includes("--sourcemap"));
