// Which links of a model lead anywhere: pages by https and files by their paths, whatever else they are written as.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Target, targetOf } from "../../src/shared/link.ts";

const file = (path: string, line?: number): Target => ({ kind: "file", path, ...(line !== undefined && { line }) });
const page = (address: string): Target => ({ kind: "page", address });

test("a link leads to a page or a file", () => {
  const told: Record<string, Target> = {
    "https://example.com": page("https://example.com/"),
    "HTTPS://Example.com/a?b=c#d": page("https://example.com/a?b=c#d"),
    "src/lexer.rs": file("src/lexer.rs"),
    "src/a%20b.rs": file("src/a b.rs"),
    "src/lexer.rs#L12": file("src/lexer.rs", 12),
    "src/lexer.rs#L12-L20": file("src/lexer.rs", 12),
    "src/lexer.rs:12": file("src/lexer.rs", 12),
    "src/lexer.rs:12:5": file("src/lexer.rs", 12),
    "README.md#where-to-begin": file("README.md"),
    "lexer.rs:12": file("lexer.rs", 12),
    "/folder/a.rs": file("/folder/a.rs"),
    "../a.rs": file("../a.rs"),
    "C:\\folder\\a.rs:3": file("C:\\folder\\a.rs", 3),
    "100%.md": file("100%.md"),
    "C%23/src/a.cs": file("C#/src/a.cs"),
    "notes%231.md#L3": file("notes#1.md", 3),
    "src/a.rs:4#L12": file("src/a.rs", 12),
  };
  for (const [href, target] of Object.entries(told)) assert.deepEqual(targetOf(href), target, href);
});

test("no other scheme and no other machine is a target", () => {
  const refused = [
    ...[
      "http://example.com",
      "vscode://file/etc/passwd",
      "command:workbench.action.quit",
      "file:///etc/passwd",
      "mailto:a@b.c",
      "javascript:alert(1)",
    ],
    ...["data:text/html,x", "VSCODE-INSIDERS://x", "command%3Aworkbench.action.quit", "vscode:extension/a.b", "ftp://example.com"],
    ...["//example.com/a", "\\\\example.com\\a", "%5C%5Cexample.com%5Ca", "/\\example.com/a", "https://", "https:"],
    ...["", "#place", "a%00b", "a%0Ab"],
    // What cannot be decoded behind the # does not keep the path from being looked at.
    ...["%2F%2Fexample.com%2Fa#%", "%5C%5Cexample.com%5Ca#%", "command%3Aworkbench.action.quit#%", "a%00b#%"],
  ];
  for (const href of refused) assert.equal(targetOf(href), undefined, href);
});
