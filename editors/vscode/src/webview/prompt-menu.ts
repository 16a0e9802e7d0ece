// The menu over the prompt while a command or a mention is being typed. The prompt keeps the focus and sends its keys here.

import { el, type IconName, icon } from "./dom.ts";

/** What can be chosen. */
export interface Option {
  /** What it is called, unique in its menu. */
  name: string;
  /** What may be typed behind it. */
  takes?: string;
  note: string;
  icon?: IconName;
  choose(): void;
}

export class PromptMenu {
  readonly element = el("ul", { class: "prompt-menu", role: "listbox" });
  readonly #input: HTMLTextAreaElement;
  #options: readonly Option[] = [];
  #at = 0;
  /** The text for which the options were offered. */
  #offeredAt: string | undefined;
  /** The text for which the user closed the menu. */
  #closedAt: string | undefined;

  constructor(input: HTMLTextAreaElement) {
    this.#input = input;
    this.element.id = "prompt-menu";
    this.element.hidden = true;
    input.setAttribute("aria-controls", this.element.id);
    input.setAttribute("aria-autocomplete", "list");
    input.addEventListener("blur", () => this.hide());
  }

  /** Offers these, under this name, unless the user closed the menu at this text. */
  offer(label: string, options: readonly Option[]): void {
    const { value } = this.#input;
    if (value !== this.#closedAt) this.#closedAt = undefined;
    // What is offered may come in two pieces; the user may have gone on in the first.
    const chosen = this.#options[this.#at]?.name;
    this.#at =
      value === this.#offeredAt
        ? Math.max(
            0,
            options.findIndex(({ name }) => name === chosen),
          )
        : 0;
    this.#offeredAt = value;
    this.element.setAttribute("aria-label", label);
    this.#show(this.#closedAt === undefined ? options : []);
  }

  hide(): void {
    this.#show([]);
  }

  /** Takes a key, if the menu is open and knows it. */
  key(event: KeyboardEvent): boolean {
    const chosen = this.#options[this.#at];
    if (chosen === undefined) return false;
    switch (event.key) {
      case "ArrowDown":
      case "ArrowUp":
        this.#at = (this.#at + (event.key === "ArrowDown" ? 1 : this.#options.length - 1)) % this.#options.length;
        this.#show(this.#options);
        return true;
      case "Tab":
      case "Enter":
        if (event.shiftKey) return false;
        this.#choose(chosen);
        return true;
      case "Escape":
        this.#closedAt = this.#input.value;
        this.hide();
        return true;
      default:
        return false;
    }
  }

  #choose(option: Option): void {
    this.hide();
    option.choose();
  }

  #show(options: readonly Option[]): void {
    this.#options = options;
    this.element.hidden = options.length === 0;
    this.element.replaceChildren(
      ...options.map((option, at) => {
        const element = el(
          "li",
          { class: at === this.#at ? "chosen" : "", role: "option", aria: { selected: at === this.#at } },
          option.icon !== undefined && icon(option.icon),
          el("span", { class: "name" }, option.name),
          option.takes !== undefined && el("span", { class: "takes" }, option.takes),
          el("span", { class: "note" }, option.note),
        );
        element.id = `prompt-option-${at}`;
        // Before the prompt loses the focus.
        element.addEventListener("mousedown", (event) => {
          event.preventDefault();
          this.#choose(option);
        });
        return element;
      }),
    );
    const chosen = this.element.children[this.#at];
    if (chosen === undefined) this.#input.removeAttribute("aria-activedescendant");
    else {
      this.#input.setAttribute("aria-activedescendant", chosen.id);
      chosen.scrollIntoView({ block: "nearest" });
    }
  }
}
