// Sentences about changes that are not the agent's and that restoring a file would lose.

import type { Others } from "./view.ts";

export const OTHERS: Record<Others, string> = {
  since: "Changed since then outside the agent. Those changes would be lost.",
  between: "Also changed between the agent's edits. Those changes would be lost.",
  unsaved: "Has unsaved changes, which would be lost.",
  unknown: "May have changed since then outside the agent.",
};
