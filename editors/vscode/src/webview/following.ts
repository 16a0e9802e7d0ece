// Decides if the end of the list is followed, from the user's input alone (wheel, touch, keys, scrollbar, focus,
// selection). The scroll position says nothing by itself, because growing and late rows move it too.

/** So near to the end whoever went down has arrived, in pixels. */
const NEAR = 32;

const UP = new Set(["ArrowUp", "PageUp", "Home"]);
const DOWN = new Set(["ArrowDown", "PageDown", "End"]);

export class Following {
  readonly #element: HTMLElement;
  readonly #changed: () => void;
  #isOn = true;
  /** The last input scrolls down; following resumes once it reaches the end. */
  #goesDown = false;
  /** The scrollbar is being dragged. */
  #isDragged = false;
  #isTabbed = false;
  #touchedAt = 0;
  #top = 0;

  constructor(element: HTMLElement, changed: () => void) {
    this.#element = element;
    this.#changed = changed;
    const passive = { passive: true } as const;
    element.addEventListener("wheel", (event) => this.#wheel(event), passive);
    element.addEventListener("touchstart", ({ touches }) => (this.#touchedAt = touches[0]?.clientY ?? 0), passive);
    element.addEventListener("touchmove", ({ touches }) => this.#touch(touches[0]?.clientY ?? 0), passive);
    element.addEventListener("keydown", (event) => this.#key(event));
    element.addEventListener("pointerdown", (event) => {
      // Right of what it shows is the scrollbar.
      this.#isDragged = event.target === element && event.offsetX >= element.clientWidth;
      this.#top = element.scrollTop;
    });
    // No event says that a scrollbar is let go of; the next one of the pointer comes without a button.
    for (const type of ["pointermove", "pointerup"] as const) {
      window.addEventListener(type, ({ buttons }) => (this.#isDragged &&= buttons !== 0), passive);
    }
    element.addEventListener("scroll", () => this.#scrolled());
    document.addEventListener("keydown", ({ key }) => (this.#isTabbed = key === "Tab"), { capture: true });
    document.addEventListener("pointerdown", () => (this.#isTabbed = false), { capture: true });
    element.addEventListener("focusin", ({ target }) => this.#focused(target as Element));
    document.addEventListener("selectionchange", () => this.#selected());
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** The user wants to see the end. */
  start(): void {
    this.#goesDown = false;
    this.#set(true);
  }

  /** The user wants to see something else. */
  stop(): void {
    this.#goesDown = false;
    this.#set(false);
  }

  #set(isOn: boolean): void {
    if (isOn === this.#isOn) return;
    this.#isOn = isOn;
    this.#changed();
  }

  #up(): void {
    // Where all is seen there is nothing to go up to. The browser may have scrolled to the start before this is told.
    if (this.#element.scrollHeight <= this.#element.clientHeight) return;
    this.stop();
  }

  /** The user goes down, and arrives at the end or does not. */
  goDown(): void {
    if (this.#isAtEnd()) this.start();
    else this.#goesDown = true;
  }

  #isAtEnd(): boolean {
    const { scrollHeight, scrollTop, clientHeight } = this.#element;
    return scrollHeight - scrollTop - clientHeight <= NEAR;
  }

  #wheel({ deltaY, ctrlKey }: WheelEvent): void {
    // With Ctrl it zooms.
    if (ctrlKey || deltaY === 0) return;
    if (deltaY < 0) this.#up();
    else this.goDown();
  }

  #touch(at: number): void {
    if (at === this.#touchedAt) return;
    if (at > this.#touchedAt) this.#up();
    else this.goDown();
    this.#touchedAt = at;
  }

  #key({ key, shiftKey, target }: KeyboardEvent): void {
    const { tagName } = target as Element;
    if (tagName === "TEXTAREA" || tagName === "INPUT") return;
    const isSpace = key === " " && !["BUTTON", "SUMMARY", "A"].includes(tagName);
    if (UP.has(key) || (isSpace && shiftKey)) this.#up();
    else if (DOWN.has(key) || isSpace) this.goDown();
  }

  /** A scroll alone means nothing: it counts where the user holds the scrollbar, or arrives where they went. */
  #scrolled(): void {
    const { scrollTop } = this.#element;
    const before = this.#top;
    this.#top = scrollTop;
    const isAtEnd = this.#isAtEnd();
    if (this.#isDragged && scrollTop < before && !isAtEnd) this.stop();
    if ((this.#isDragged || this.#goesDown) && scrollTop > before && isAtEnd) this.start();
  }

  /** The user tabbed to something that is above what is seen; the browser scrolls there. */
  #focused(target: Element): void {
    if (!this.#isTabbed) return;
    this.#isTabbed = false;
    if (target.getBoundingClientRect().top < this.#element.getBoundingClientRect().top) this.#up();
  }

  /** Stops following while text is selected. */
  #selected(): void {
    const selection = document.getSelection();
    if (selection !== null && !selection.isCollapsed && this.#element.contains(selection.anchorNode)) this.#up();
  }
}
