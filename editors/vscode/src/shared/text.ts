// Text functions for messages to people.

/** A text as a sentence: its first letter large, a full stop at its end. */
export function sentence(text: string): string {
  return ended(text.charAt(0).toUpperCase() + text.slice(1));
}

/** A text with a full stop at its end; one that begins with the name of a file stays so. */
export function ended(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** The author of a message, as people call it; the role itself where it is of a later version. */
export function authorOf(role: string): string {
  return (
    new Map([
      ["user", "You"],
      ["assistant", "Agent"],
      ["tool", "Result"],
    ]).get(role) ?? role
  );
}

/** Message of an error. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A text for a notification of the editor, which would make links of `[words](command:…)` in it. */
export function escapeLinks(text: string): string {
  return text.replaceAll("](", "] (");
}

/** A text for a list of the editor, which would draw `$(name)` in it as a picture, or as nothing. */
export function escapeIcons(text: string): string {
  return text.replaceAll("$(", "\\$(");
}
