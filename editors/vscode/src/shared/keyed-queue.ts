// Runs work that must not overlap, such as two edits of one file, one after the other by key.

export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does something when all that began earlier under this name is over, however that ended. */
  run<Done>(name: string, act: () => Promise<Done>): Promise<Done> {
    const done = (this.#last.get(name) ?? Promise.resolve()).then(act);
    const over = done
      .then(
        () => undefined,
        () => undefined,
      )
      .then(() => {
        if (this.#last.get(name) === over) this.#last.delete(name);
      });
    this.#last.set(name, over);
    return done;
  }

  /** True if something goes on or waits under this name. */
  has(name: string): boolean {
    return this.#last.has(name);
  }
}
