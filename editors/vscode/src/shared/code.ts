// Colours of code between host and webview. Types only.

/** A piece of a block of code: whole lines, but for the end of the last one. */
export interface CodePiece {
  /** Id of the block; another one whenever it begins anew. */
  block: string;
  language: string;
  /** Characters of the block before the piece. */
  at: number;
  text: string;
}

/** Colours of a piece. */
export interface CodeColors {
  /** Pairs of a length in characters and a place in `styles`, -1 for plain text. */
  runs: number[];
  styles: TextStyle[];
}

export interface TextStyle {
  color?: string;
  italic?: boolean;
  bold?: boolean;
  underline?: boolean;
}
