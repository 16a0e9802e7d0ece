// The page of a webview. Its policy lets in this extension's own script and style, and pictures that are data.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

/** Options of a webview that shows such a page. */
export function optionsOf(extension: vscode.Uri): vscode.WebviewOptions {
  return { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(extension, "dist")] };
}

/** Picture of an editor tab. It is no mask there, so it needs a colour for dark themes. */
export function iconOf(extension: vscode.Uri): { light: vscode.Uri; dark: vscode.Uri } {
  const own = (file: string): vscode.Uri => vscode.Uri.joinPath(extension, "media", file);
  return { light: own("icon.svg"), dark: own("icon-dark.svg") };
}

/** A page that is drawn by a script in `dist`, with the style of the same name. */
export function pageOf(webview: vscode.Webview, extension: vscode.Uri, name: "panel" | "rules", title: string): string {
  const nonce = randomBytes(18).toString("base64url");
  const own = (file: string): string => webview.asWebviewUri(vscode.Uri.joinPath(extension, "dist", file)).toString();
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${webview.cspSource}; img-src data:; base-uri 'none'; form-action 'none';`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${own(`${name}.css`)}">
<title>${title}</title>
</head>
<body>
<script nonce="${nonce}" src="${own(`${name}.js`)}"></script>
</body>
</html>`;
}
