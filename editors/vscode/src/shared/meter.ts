// How full the prompt is and what is in it, for the meter. Types only.

/** How full the prompt is. */
export interface Meter {
  tokens: number;
  limit: number;
  untilCompaction: number;
  /** Where a compaction begins, as a share of the limit; missing where none is set off by size. */
  thresholdAt?: number;
  estimator: string;
  sections: Section[];
  pins: { pinId: string; label: string; tokens: number }[];
  excluded: number;
  /** True if the details below were asked for and are there. */
  detailed: boolean;
  window?: number;
  /** The share of the window that stays free, since its use is estimated. */
  margin?: number;
  /** Where the window's size is from, in a sentence; missing where the settings state it. */
  windowFrom?: string;
  usage?: string;
  /** What the session cost so far; missing where that is not known. */
  spent?: string;
  /** What was learned from the provider's rejections; missing where nothing was. */
  learned?: string;
  triggers: { name: string; now: string; at: string }[];
  /** Instruction files that are in the prompt; missing where there are none. */
  instructions?: string;
}

export interface Section {
  channel: string;
  name: string;
  tokens: number;
}
