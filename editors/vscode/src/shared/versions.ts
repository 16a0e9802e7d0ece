// Versions of a message, as its row shows them. Types only.

/** Versions of a message: which of how many is shown, and the revisions that have those beside it. */
export interface MessageVersions {
  at: number;
  count: number;
  previous?: string;
  next?: string;
}
