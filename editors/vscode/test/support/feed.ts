// How the conversation is scrolled, once what was told is drawn.

import type { Panel } from "./panel.ts";

/** A page of a feed, and how it is scrolled. */
export interface Place {
  fromEnd: number;
  isAtEnd: boolean;
}

/** How far it is from its end. */
export const placeOf = (panel: Panel): Promise<Place> =>
  panel.feed.evaluate((feed) => {
    const fromEnd = feed.scrollHeight - feed.scrollTop - feed.clientHeight;
    return { fromEnd, isAtEnd: Math.abs(fromEnd) <= 2 };
  });

/** Waits until what was told last is drawn, and measured, and drawn again. */
export const drawn = (panel: Panel): Promise<void> =>
  panel.feed.evaluate(
    () =>
      new Promise<void>((resolve) => {
        let frames = 0;
        const next = (): void => {
          frames += 1;
          if (frames > 10) resolve();
          else requestAnimationFrame(next);
        };
        next();
      }),
  );
