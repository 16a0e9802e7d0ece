// The menu of commands over the prompt, while one is being typed. The prompt keeps the focus and sends its keys here.

import { type SlashCommand, type SlashName, slashesFor } from "../shared/slash.ts";
import { el } from "./dom.ts";

export class SlashMenu {
  readonly element = el("ul", { class: "slash", role: "listbox", aria: { label: "Commands" } });
  readonly #input: HTMLTextAreaElement;
  readonly #run: (name: SlashName) => void;
  #shown: SlashCommand[] = [];
  #at = 0;
  /** The text for which the user closed the menu. */
  #closedAt: string | undefined;

  /** `run` is called for a chosen command that takes nothing more. */
  constructor(input: HTMLTextAreaElement, run: (name: SlashName) => void) {
    this.#input = input;
    this.#run = run;
    this.element.id = "slash-commands";
    this.element.hidden = true;
    input.setAttribute("aria-controls", this.element.id);
    input.setAttribute("aria-autocomplete", "list");
    input.addEventListener("blur", () => this.#show([]));
  }

  /** The text of the prompt changed. */
  typed(): void {
    const { value } = this.#input;
    if (value !== this.#closedAt) this.#closedAt = undefined;
    this.#at = 0;
    this.#show(this.#closedAt === undefined ? slashesFor(value) : []);
  }

  /** Takes a key, if the menu is open and knows it. */
  key(event: KeyboardEvent): boolean {
    const chosen = this.#shown[this.#at];
    if (chosen === undefined) return false;
    switch (event.key) {
      case "ArrowDown":
      case "ArrowUp":
        this.#at = (this.#at + (event.key === "ArrowDown" ? 1 : this.#shown.length - 1)) % this.#shown.length;
        this.#show(this.#shown);
        return true;
      case "Tab":
      case "Enter":
        if (event.shiftKey) return false;
        this.#choose(chosen);
        return true;
      case "Escape":
        this.#closedAt = this.#input.value;
        this.#show([]);
        return true;
      default:
        return false;
    }
  }

  #choose({ name, takes }: SlashCommand): void {
    this.#show([]);
    if (takes === undefined || this.#input.value === `/${name}`) return this.#run(name);
    this.#input.value = `/${name} `;
    this.#input.dispatchEvent(new Event("input"));
  }

  #show(commands: SlashCommand[]): void {
    this.#shown = commands;
    this.element.hidden = commands.length === 0;
    this.element.replaceChildren(
      ...commands.map(({ name, about, takes }, at) => {
        const option = el(
          "li",
          { class: at === this.#at ? "chosen" : "", role: "option", aria: { selected: at === this.#at } },
          el("span", { class: "name" }, `/${name}`),
          takes !== undefined && el("span", { class: "takes" }, takes),
          el("span", { class: "note" }, about),
        );
        option.id = `slash-${name}`;
        // Before the prompt loses the focus.
        option.addEventListener("mousedown", (event) => {
          event.preventDefault();
          this.#choose({ name, about, ...(takes !== undefined && { takes }) });
        });
        return option;
      }),
    );
    const chosen = commands[this.#at];
    if (chosen === undefined) this.#input.removeAttribute("aria-activedescendant");
    else {
      this.#input.setAttribute("aria-activedescendant", `slash-${chosen.name}`);
      this.element.children[this.#at]?.scrollIntoView({ block: "nearest" });
    }
  }
}
