// Symbols of a made-up language, as an extension for a language would give them: a function from `def NAME` to `end`, in
// files that end in `.made`.

import * as vscode from "vscode";

interface Found {
  uri: vscode.Uri;
  name: string;
  range: vscode.Range;
}

function symbolsIn(uri: vscode.Uri, text: string): Found[] {
  const lines = text.split("\n");
  return lines.flatMap((line, at) => {
    const name = /^def (\w+)/.exec(line)?.[1];
    const end = lines.findIndex((line, behind) => behind > at && line === "end");
    return name === undefined ? [] : [{ uri, name, range: new vscode.Range(at, 0, end, 3) }];
  });
}

export function symbolProviders(): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.languages.registerWorkspaceSymbolProvider({
      async provideWorkspaceSymbols() {
        const files = await vscode.workspace.findFiles("**/*.made");
        const documents = await Promise.all(files.map((uri) => vscode.workspace.openTextDocument(uri)));
        return documents
          .flatMap((document) => symbolsIn(document.uri, document.getText()))
          .map(
            ({ uri, name, range: { start } }) =>
              // As most languages do: where the name is, and not how far the function goes.
              new vscode.SymbolInformation(name, vscode.SymbolKind.Function, "", new vscode.Location(uri, new vscode.Range(start, start))),
          );
      },
    }),
    vscode.languages.registerDocumentSymbolProvider(
      { pattern: "**/*.made" },
      {
        provideDocumentSymbols: (document) =>
          symbolsIn(document.uri, document.getText()).map(
            ({ name, range }) => new vscode.DocumentSymbol(name, "", vscode.SymbolKind.Function, range, range),
          ),
      },
    ),
  );
}
