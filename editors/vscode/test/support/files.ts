// Files that fill a prompt.

/** A file of about this many tokens. */
export function long(name: string, tokens: number): string {
  const lines = [`// ${name}`];
  for (let line = 0; lines.length * 14 < tokens; line += 1) lines.push(`fn ${name}_${line}(input: &str) -> Option<Token> { scan(input, ${line}) }`);
  return `${lines.join("\n")}\n`;
}

/** A call of the scripted editor's tool that reads one. */
export const read = (id: string, path: string) => ({ id, name: "probe_read", input: { path } });
