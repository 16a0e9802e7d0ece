// What a test and the scripted model say to each other, in files. Types only.

export interface Script {
  /** The model's window. Default: 16,000 tokens. */
  window?: number;
  /** The window of a second model, `large`. Default: there is none. */
  large?: number;
  /** One for each request of a turn, in order, also over a restart. */
  answers: Answer[];
  /** What every request for a summary gets. */
  summary?: string;
  /** A file of the script's folder: summaries come when it is gone. */
  holdSummaryWhile?: string;
}

export interface Answer {
  say?: string;
  /** Many small pieces before it. */
  pieces?: { count: number; text: string };
  /** A file of the script's folder: the answer goes on when it is gone. */
  holdWhile?: string;
  /** What comes then. */
  then?: string;
  calls?: { id: string; name: string; input: object }[];
  /** It fails with these words. */
  fail?: string;
}

/** A request as the editor handed it to the model. */
export interface Asked {
  /** The model's id. */
  model: string;
  /** Roles by the editor's own names, such as `User`. */
  messages: { role: string; parts: unknown[] }[];
  tools: string[];
  /** By the editor's own names, such as `Auto`. */
  toolMode: string;
  summary: boolean;
  /** What all of it weighs, with its tools, as this model counts. */
  tokens: number;
}

/** What the editor gave a participant: the names of the fields that are there. */
export interface Given {
  request: string[];
  context: string[];
}
