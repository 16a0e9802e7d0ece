// The strip of the agent's todos above the prompt: what it does now and how far it is, and on demand all of them.

import type { Frame, TodoItem } from "../shared/view.ts";
import { visible } from "../shared/visible.ts";
import { button, el, type IconName, icon } from "./dom.ts";
import { drawPart } from "./part.ts";

const STATES: Record<TodoItem["status"], { icon: IconName; said: string }> = {
  completed: { icon: "check", said: "Done" },
  inProgress: { icon: "right", said: "In progress" },
  pending: { icon: "open", said: "Open" },
};

export class TodosView {
  readonly element = el("section", { class: "strip todos", aria: { label: "Todo list" } });
  #todos: readonly TodoItem[] | undefined;
  #isOpen = false;

  constructor() {
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.#isOpen) this.#open(false);
    });
  }

  draw({ todos }: Frame): void {
    this.#todos = todos;
    this.#draw();
  }

  #draw(): void {
    const todos = this.#todos;
    this.element.hidden = todos === undefined;
    drawPart(this.element, [todos, this.#isOpen], () =>
      todos === undefined ? [] : [this.#head(todos), ...(this.#isOpen ? [itemsOf(todos)] : [])],
    );
  }

  #open(isOpen: boolean): void {
    this.#isOpen = isOpen;
    this.#draw();
  }

  #head(todos: readonly TodoItem[]): HTMLElement {
    const done = todos.filter(({ status }) => status === "completed").length;
    const now = todos.find(({ status }) => status === "inProgress") ?? todos.find(({ status }) => status === "pending");
    const count = `Todos ${done} of ${todos.length}`;
    const text = now === undefined ? "" : visible(now.text);
    const toggle = button("", () => this.#open(!this.#isOpen), {
      class: "toggle",
      name: text === "" ? `${count} done` : `${count} done. Next: ${text}`,
      title: text,
      expanded: this.#isOpen,
      icon: this.#isOpen ? "down" : "right",
      key: "todos",
    });
    toggle.append(el("span", { class: "words" }, count), el("span", { class: "now" }, text));
    return el("div", { class: "head" }, toggle);
  }
}

function itemsOf(todos: readonly TodoItem[]): HTMLElement {
  const items = todos.map(({ text, status }) => {
    const { icon: picture, said } = STATES[status];
    const state = el("span", { class: "state", role: "img", aria: { label: said } }, icon(picture));
    return el("li", { class: `item ${status}` }, state, el("span", {}, visible(text)));
  });
  return el("div", { class: "list" }, el("ul", { class: "items", aria: { label: "Todos" } }, ...items));
}
