// Items of a list that are tasks: `[ ]` and `[x]` as boxes that show how they stand.

import { el } from "../dom.ts";

/** Draws the boxes of a text that Markdown made. */
export function drawTasks(text: ParentNode): void {
  for (const item of text.querySelectorAll("li")) {
    const first = item.firstChild?.nodeName === "P" ? item.firstChild.firstChild : firstText(item);
    const [mark, state] = /^\[([ xX])\] /.exec(first?.nodeType === Node.TEXT_NODE ? (first.textContent ?? "") : "") ?? [];
    if (mark === undefined || first === null) continue;
    (first as Text).deleteData(0, mark.length);
    const isDone = state !== " ";
    const box = el("input", { aria: { label: isDone ? "Done" : "To do" } });
    box.type = "checkbox";
    box.checked = isDone;
    box.disabled = true;
    first.parentNode?.insertBefore(box, first);
    item.classList.add("task");
  }
}

/** What a list item begins with; between its tag and a paragraph is a line's end. */
function firstText(item: Element): Node | null {
  const paragraph = item.querySelector(":scope > p");
  return paragraph !== null && item.firstChild?.textContent?.trim() === "" ? paragraph.firstChild : item.firstChild;
}
