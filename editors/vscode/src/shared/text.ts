// Text functions for messages to people.

/** A text as a sentence: its first letter large, a full stop at its end. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
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
