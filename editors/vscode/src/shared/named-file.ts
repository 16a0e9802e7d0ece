// The file that a block of code names: behind its fence, or in the line before it. No editor and no document here.

/** Files of a name without an ending. */
const BARE = /^(?:Makefile|Dockerfile|Containerfile|Justfile|Gemfile|Rakefile|Procfile|LICENSE|README|\.[\w.-]+)$/;

/**
 * The path that a block names; undefined where it names none. `info` is all that stands behind the fence, such as
 * `ts src/a.ts` or `ts title="src/a.ts"`; `before` is the Markdown of the line before it.
 */
export function namedFile(info: string, before: string): string | undefined {
  const [first = "", ...words] = info.trim().split(/\s+/);
  // Behind a colon, after the language or after lines: `ts:src/a.ts`, `12:20:src/a.ts`.
  const behind = /^(?:[\w+#-]+:)+(.+)$/.exec(first)?.[1];
  const given = words.map((word) => word.replace(/^\{?(?:title|file|filename|path|name)=/i, "").replace(/\}$/, ""));
  // A language alone may look like a file (`asp.net`), but not like one in a folder.
  const alone = words.length === 0 && (first.includes("/") || BARE.test(first) || /^[\w-]+\.[a-z]{1,4}$/i.test(first)) ? [first] : [];
  return [...(behind === undefined ? [] : [behind]), ...given, ...alone].map(pathIn).find((path) => path !== undefined) ?? ofLine(before);
}

/** The path in a line: its last code, or all of it. */
function ofLine(line: string): string | undefined {
  const codes = [...line.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => pathIn(code));
  const named = codes.findLast((path) => path !== undefined);
  const bare = line
    .replace(/^[#>*\-\s]+|[*_\s]+$/g, "")
    .replace(/[*_]*:?[*_]*$/, "")
    .replace(/^(?:file|path)(?:name)?:\s*/i, "");
  return named ?? pathIn(bare);
}

/** A word as a path, without what is put around it; undefined where it is none. */
function pathIn(word: string): string | undefined {
  const path = word
    .trim()
    .replace(/^["'(]|["'),]$/g, "")
    // The line in it is not meant: the block stands for the file.
    .replace(/:\d+(?:[:-]\d+)*$/, "")
    .replace(/^\.\//, "");
  if (path === "" || /[\s<>:"|?*`]|:\/\//.test(path)) return undefined;
  const name = path.split(/[\\/]/).at(-1) ?? "";
  return BARE.test(name) || /^[^.].*\.[A-Za-z]\w*$/.test(name) ? path : undefined;
}
