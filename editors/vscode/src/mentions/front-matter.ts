// The head of a Markdown file between two lines of dashes. No editor here.

/** The text behind the head, and the description in it. */
export function frontMatter(text: string): { description?: string; body: string } {
  const [whole, head] = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)^---[ \t]*(?:\r?\n|$)/m.exec(text) ?? [];
  if (whole === undefined || head === undefined || !text.startsWith(whole)) return { body: text.trim() };
  const [, given] = /^description:[ \t]*(.*?)[ \t]*\r?$/m.exec(head) ?? [];
  const description = given?.replace(/^(["'])(.*)\1$/, "$2");
  return { ...(description !== undefined && description !== "" && { description }), body: text.slice(whole.length).trim() };
}
