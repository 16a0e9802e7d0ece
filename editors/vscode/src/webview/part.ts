// Drawing what stands around the rows again, and no more of it than is others than before: what is thrown away takes the
// focus, a click that has begun, and the silence of an alert that was read out with it.

/** Data that each part was last drawn from, as JSON. */
const drawn = new WeakMap<Element, string>();

/** Draws a part, where it is to say something else than before. The focus stays on the same thing, found by its key. */
export function drawPart(part: HTMLElement, data: unknown, nodes: () => readonly (Node | string)[]): void {
  const text = JSON.stringify(data) ?? "";
  if (drawn.get(part) === text) return;
  drawn.set(part, text);
  const focused = document.activeElement;
  const key = focused instanceof HTMLElement && focused !== part && part.contains(focused) ? focused.dataset["key"] : undefined;
  part.replaceChildren(...nodes());
  if (key !== undefined) part.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)?.focus();
}
