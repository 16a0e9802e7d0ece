// Recognizes failures of an editor's model that pass. The editor has no error codes for them and every vendor words them
// differently, so it goes by the words.

const LIMITED = /\b429\b|rate.?limit|too many requests/i;
const OVERLOADED = /\b(500|502|503|504|529)\b|overloaded|unavailable|bad gateway|gateway time-?out|internal server error/i;
const NETWORK = /\bnet::|\bE(CONN[A-Z]+|PIPE|TIMEDOUT|AI_AGAIN|NOTFOUND)\b|socket hang up|fetch failed|premature close|network/i;

/** Waiting for seconds does not help. */
const LASTING = /quota|premium|billing|allowance|per (day|month)|not (allowed|permitted|authorized)|unauthorized|forbidden|filtered/i;

/**
 * The class of a failure in these words after which the model may be asked again; undefined for any other. An answer that
 * had begun was accepted, so what broke it is its connection unless the words say otherwise.
 */
export function passing(words: string, isBegun: boolean): "network" | "overloaded" | "rateLimited" | undefined {
  if (LASTING.test(words)) return undefined;
  if (LIMITED.test(words)) return "rateLimited";
  if (OVERLOADED.test(words)) return "overloaded";
  return isBegun || NETWORK.test(words) ? "network" : undefined;
}
