// The strip of files that the agent changed and the user has neither kept nor undone: how many, and on demand a row for each.

import type { ChangedFiles, ChangedItem, Frame, Others } from "../shared/view.ts";
import { visible } from "../shared/visible.ts";
import type { PanelContext } from "./context.ts";
import { button, el, iconButton } from "./dom.ts";
import { drawPart } from "./part.ts";

const KINDS: Record<ChangedItem["kind"], string | undefined> = { edited: undefined, created: "created", deleted: "deleted" };

/** Whose changes are in a file beside the agent's. Undo asks about them. */
const ALSO: Record<Others, string> = {
  since: "Also changed outside the agent since then",
  between: "Also changed outside the agent between its edits",
  unsaved: "Has unsaved changes",
  unknown: "May have changed outside the agent since then",
};

export class ChangesView {
  readonly element = el("section", { class: "strip changed", aria: { label: "Changed files" } });
  readonly #panel: PanelContext;
  readonly #leave: () => void;
  #changes: ChangedFiles | undefined;
  #isOpen = false;

  /** `leave` takes the focus when all files are gone from the strip. */
  constructor(panel: PanelContext, leave: () => void) {
    this.#panel = panel;
    this.#leave = leave;
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.#isOpen) this.#open(false);
    });
  }

  draw({ changes }: Frame): void {
    this.#changes = changes;
    const focused = document.activeElement;
    const hadFocus = this.element.contains(focused);
    const at = [...this.element.querySelectorAll(".item")].findIndex((item) => item.contains(focused));
    this.#draw();
    if (!hadFocus || this.element.contains(document.activeElement)) return;
    // The row that had it is gone: on to the one that stands in its place, or before it.
    const rows = [...this.element.querySelectorAll<HTMLElement>(".item .open")];
    const next = at < 0 ? undefined : (rows[at] ?? rows.at(-1));
    const found = next ?? this.element.querySelector<HTMLElement>(".toggle");
    if (found === null) this.#leave();
    else found.focus();
  }

  #draw(): void {
    const changes = this.#changes;
    this.element.hidden = changes === undefined;
    drawPart(this.element, [changes, this.#isOpen], () =>
      changes === undefined ? [] : [this.#head(changes), ...(this.#isOpen ? [this.#list(changes)] : [])],
    );
  }

  #open(isOpen: boolean): void {
    this.#isOpen = isOpen;
    this.#draw();
  }

  #head({ files, added, removed }: ChangedFiles): HTMLElement {
    const words = files === 1 ? "1 file" : `${files} files`;
    const toggle = button("", () => this.#open(!this.#isOpen), {
      class: "toggle",
      name: `${words} changed, ${linesOf(added, removed)}`,
      expanded: this.#isOpen,
      icon: this.#isOpen ? "down" : "right",
      key: "changed",
    });
    toggle.append(el("span", { class: "words" }, words, el("span", { class: "verb" }, " changed")), counts(added, removed));
    return el(
      "div",
      { class: "head" },
      toggle,
      el(
        "div",
        { class: "all" },
        button("Keep All", () => this.#panel.post({ type: "keepChanges" }), { class: "primary" }),
        button("Undo All", () => this.#panel.post({ type: "undoChanges" })),
      ),
    );
  }

  #list({ files, items }: ChangedFiles): HTMLElement {
    const more = files - items.length;
    return el(
      "div",
      { class: "list" },
      el("ul", { class: "items", aria: { label: "Changed files" } }, ...items.map((item) => this.#item(item))),
      more > 0 && el("div", { class: "note" }, `${more} more ${more === 1 ? "file" : "files"}`),
      el(
        "div",
        { class: "buttons" },
        button("View All Changes", () => this.#panel.post({ type: "viewChanges" })),
      ),
    );
  }

  #item({ path, kind, added, removed, others, lost }: ChangedItem): HTMLElement {
    const shown = visible(path);
    const at = Math.max(shown.lastIndexOf("/"), shown.lastIndexOf("\\")) + 1;
    const said = [shown, KINDS[kind], added !== undefined && removed !== undefined ? linesOf(added, removed) : "not a text file"];
    const open = button("", () => this.#panel.post({ type: "showChange", path }), {
      class: "open",
      name: `${said.filter((words) => words !== undefined).join(", ")}. Show diff`,
      title: shown,
      key: `${path}/show`,
    });
    open.append(el("span", { class: "name" }, shown.slice(at)));
    if (at > 0) open.append(el("span", { class: "where" }, shown.slice(0, at - 1)));
    if (KINDS[kind] !== undefined) open.append(el("span", { class: "kind" }, KINDS[kind]));
    const undo = iconButton(`Undo ${shown}`, "undo", () => this.#panel.post({ type: "undoChanges", paths: [path] }), `${path}/undo`);
    undo.disabled = lost !== undefined;
    const note = lost === undefined ? others && ALSO[others] : `Cannot be undone: ${lost}.`;
    return el(
      "li",
      { class: "item" },
      el(
        "div",
        { class: "file" },
        open,
        added !== undefined && removed !== undefined && counts(added, removed),
        iconButton(`Keep ${shown}`, "check", () => this.#panel.post({ type: "keepChanges", paths: [path] }), `${path}/keep`),
        undo,
      ),
      note !== undefined && el("div", { class: "note warning" }, note),
    );
  }
}

function counts(added: number, removed: number): HTMLElement {
  return el(
    "span",
    { class: "counts", aria: { hidden: true } },
    el("span", { class: "added" }, `+${added}`),
    el("span", { class: "removed" }, `−${removed}`),
  );
}

function linesOf(added: number, removed: number): string {
  const lines = (count: number): string => `${count} ${count === 1 ? "line" : "lines"}`;
  return `${lines(added)} added, ${lines(removed)} removed`;
}
