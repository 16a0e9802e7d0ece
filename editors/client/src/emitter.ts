// Event listeners. Each owner of an `Emitter` decides what it emits and when.

/** Something that can be ended. */
export interface Disposable {
  /** Ends it. A second time does nothing. */
  dispose(): void;
}

/** Those who listen, in the order in which they began. */
export class Emitter<Told> {
  #listeners = new Set<(told: Told) => void>();

  /** A listener that fails is `onFault`'s; the others are told all the same. */
  constructor(private readonly onFault: (error: unknown) => void) {}

  /** Has a listener told from now on. */
  on(listener: (told: Told) => void): Disposable {
    // One function may listen twice, and each ends by itself.
    const own = (told: Told) => listener(told);
    this.#listeners.add(own);
    return { dispose: () => void this.#listeners.delete(own) };
  }

  /** Tells all of them. */
  tell(told: Told): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(told);
      } catch (error) {
        this.onFault(error);
      }
    }
  }
}
