// Work that must not go on side by side, such as two changes of one file: done one after the other, by whatever it is
// about. What is done is others'.

export class InTurn {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does something when all that began earlier under this name is over, however that ended. */
  run<Done>(name: string, act: () => Promise<Done>): Promise<Done> {
    const done = (this.#last.get(name) ?? Promise.resolve()).then(act);
    const over = done.then(() => undefined, () => undefined).then(() => {
      if (this.#last.get(name) === over) this.#last.delete(name);
    });
    this.#last.set(name, over);
    return done;
  }

  /** Whether something goes on or waits under this name. */
  has(name: string): boolean {
    return this.#last.has(name);
  }
}
