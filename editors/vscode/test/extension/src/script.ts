// Files through which a test and the scripted model talk. Types only.

export interface Script {
  /** The model's window. Default: 16,000 tokens. */
  window?: number;
  /** The window of a second model, `large`. Default: there is none. */
  large?: number;
  /** One for each request of a turn, in order, also over a restart. */
  answers: Answer[];
  /** Answer to every request for a summary. */
  summary?: string;
  /** A file of the script's folder: summaries come when it is gone. */
  holdSummaryWhile?: string;
}

export interface Answer {
  say?: string;
  /** Text before the pieces. */
  first?: string;
  /** Many small pieces before it. */
  pieces?: { count: number; text: string };
  /** A file of the script's folder: the answer goes on when it is gone. */
  holdWhile?: string;
  /** Text that follows. */
  then?: string;
  calls?: { id: string; name: string; input: object }[];
  /** Fails with this message, after what it says. */
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
  /** Size of the request with its tools, in this model's tokens. */
  tokens: number;
}

/** Fields of the request that the editor passed to a participant. */
export interface Given {
  request: string[];
  context: string[];
}
