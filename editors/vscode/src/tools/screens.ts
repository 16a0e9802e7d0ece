// Several commands on one screen. Of those that run at the same time, one writes and the others wait for its end, so that
// no line is torn. No editor here.

/** Characters of a command that waits for the screen; of more, the last. */
const MOST_WAITING = 200_000;

/** Output of one command. */
export interface Screen {
  write(text: string): void;
  /** Nothing comes any more but what the command left running. */
  end(text: string): void;
}

export class Screens {
  readonly #write: (text: string) => void;
  /** Commands that run, the one that writes first, with what waits of the others. */
  readonly #running: { text: string }[] = [];
  /** Commands that ended before it was their turn. */
  readonly #ended = new Set<{ text: string }>();

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  begin(text: string): Screen {
    const one = { text: "" };
    this.#running.push(one);
    const put = (text: string): void => {
      if (this.#running[0] === one || !this.#running.includes(one)) this.#write(text);
      else one.text = (one.text + text).slice(-MOST_WAITING);
    };
    put(text);
    return {
      write: put,
      end: (text) => {
        put(text);
        this.#ended.add(one);
        this.#next();
      },
    };
  }

  /** Gives the screen to the next command that runs. */
  #next(): void {
    for (let [first] = this.#running; first !== undefined && this.#ended.delete(first); [first] = this.#running) {
      this.#running.shift();
      const text = this.#running[0]?.text;
      if (text !== undefined) this.#write(text);
    }
  }
}
