// Approvals of commands by their beginning, in words.

/** How the commands begin that such a pattern covers, as in `cargo test` and `tail`; undefined for a pattern of another kind. */
export function beginningsIn(pattern: string): string | undefined {
  const text = /^[^=]+\^=(?<text>.*)$/su.exec(pattern)?.groups?.["text"];
  const all = text?.split(";").map((one) => `\`${one.trim()}\``);
  return all && [all.slice(0, -1).join(", "), all.at(-1)].filter((part) => part !== "").join(" or ");
}
