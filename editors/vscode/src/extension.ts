import * as vscode from "vscode";
export function activate(context: vscode.ExtensionContext): void {
  context.subscriptions.push(vscode.window.registerWebviewViewProvider("threadhold.panel", { resolveWebviewView(view) { view.webview.html = "<h1>hello</h1>"; } }));
}
