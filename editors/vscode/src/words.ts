// Words of the sidecar as the panel says them. No editor.

/** A reason as a sentence: with a capital and a full stop. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}
