// Making elements in few words. Styles are classes of style.css: the panel's policy takes no style attributes.

type Child = Node | string | undefined | false;

interface Properties {
  class?: string;
  title?: string;
  /** `aria-` attributes by their names, and `role`. */
  aria?: Record<string, string | number | boolean | undefined>;
  role?: string;
  /** `data-` attributes. */
  data?: Record<string, string>;
  tabIndex?: number;
}

/** An element with its children. */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  if (properties.class !== undefined) made.className = properties.class;
  if (properties.title !== undefined) made.title = properties.title;
  if (properties.role !== undefined) made.setAttribute("role", properties.role);
  if (properties.tabIndex !== undefined) made.tabIndex = properties.tabIndex;
  for (const [name, value] of Object.entries(properties.aria ?? {})) {
    if (value !== undefined) made.setAttribute(`aria-${name}`, String(value));
  }
  for (const [name, value] of Object.entries(properties.data ?? {})) made.dataset[name] = value;
  made.append(...children.filter((child) => child !== undefined && child !== false));
  return made;
}

interface ButtonProperties {
  class?: string;
  /** Accessible name, if it differs from the label. */
  name?: string;
  title?: string;
  icon?: IconName;
  disabled?: boolean;
  pressed?: boolean;
  expanded?: boolean;
  /** Under which the focus finds it again when its row is drawn anew. */
  key?: string;
}

/** A button with a label, a picture, or both. A picture alone needs `name`. */
export function button(label: string, onClick: () => void, properties: ButtonProperties = {}): HTMLButtonElement {
  const made = el("button", {
    class: properties.class ?? "",
    aria: { label: properties.name, pressed: properties.pressed, expanded: properties.expanded },
    ...(properties.title !== undefined && { title: properties.title }),
    data: { key: properties.key ?? label },
  });
  made.type = "button";
  made.disabled = properties.disabled ?? false;
  if (properties.icon !== undefined) made.append(icon(properties.icon));
  if (label !== "") made.append(el("span", {}, label));
  made.addEventListener("click", (event) => {
    event.stopPropagation();
    onClick();
  });
  return made;
}

/** A small picture button of which a screen reader says the name. */
export function iconButton(name: string, picture: IconName, onClick: () => void, key = name): HTMLButtonElement {
  return button("", onClick, { class: "icon", icon: picture, name, title: name, key });
}

const PATHS = {
  send: "M2 8l12-6-4 12-2.5-4.5z",
  stop: "M4 4h8v8H4z",
  archive: "M2 3h12v3H2zM3 6v7h10V6M6.5 9h3",
  pin: "M8 2v7M4.5 9h7M5.5 2h5M8 9v5",
  code: "M5 4L1.5 8 5 12M11 4l3.5 4-3.5 4",
  copy: "M6 6h7v8H6zM3 10V2h7",
  edit: "M3 13l1-3 7-7 2 2-7 7z",
  retry: "M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3",
  branch: "M4 2v12M4 10c6 0 8-2 8-6M10 6l2-2 2 2",
  hide: "M2 8s2.5-4 6-4 6 4 6 4-2.5 4-6 4-6-4-6-4zM3 13L13 3",
  attach: "M12 6l-5 5a2 2 0 0 1-3-3l6-6a3 3 0 0 1 4 4l-6 6",
  close: "M4 4l8 8M12 4l-8 8",
  fold: "M3 2h10M3 14h10M8 4v3M6 5l2 2 2-2M8 12V9M6 11l2-2 2 2",
  undo: "M4 6h6a3 3 0 0 1 0 7H6M4 6l3-3M4 6l3 3",
  list: "M3 4h10M3 8h10M3 12h10",
  add: "M8 3v10M3 8h10",
  warn: "M8 2l6.5 12h-13zM8 7v3M8 12v.5",
  insert: "M2 8h7M6 5l3 3-3 3M11 3h3M12.5 3v10M11 13h3",
  apply: "M4 2h5l3 3v3M4 2v12h4M9 2v3h3M9.5 12l1.5 2 3.5-4",
  folder: "M2 4h4l2 2h6v7H2z",
  symbol: "M8 2l5 3v6l-5 3-5-3V5zM8 8l5-3M8 8L3 5M8 8v6",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  search: "M7 3a4 4 0 1 0 .01 0M10 10l4 4",
  write: "M4 2h5l3 3v9H4zM8 7v4M6 9h4",
  terminal: "M2 3h12v10H2zM4.5 6l2 2-2 2M8 10h3",
  tool: "M13 4a3 3 0 0 1-4 4l-5 5-1.5-1.5 5-5a3 3 0 0 1 4-4l-2 2 1.5 1.5z",
  check: "M3 8.5l3.5 3.5L13 4.5",
  open: "M8 3a5 5 0 1 0 .01 0",
  left: "M10 3l-5 5 5 5",
  right: "M6 3l5 5-5 5",
  down: "M3 6l5 5 5-5",
  diff: "M8 2v7M4.5 5.5h7M4.5 13h7",
  trash: "M3 4h10M6 4V2h4v2M5 4l.5 10h5L11 4",
} as const;

export type IconName = keyof typeof PATHS;

/** A picture in the colour of the text around it. No screen reader speaks of it. */
export function icon(name: IconName): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("picture");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

/** A section that can be expanded, and stays so when its row is redrawn. */
export function foldable(open: Set<string>, key: string, label: string, content: () => Child[], className = ""): HTMLDetailsElement {
  const details = el("details", { class: className });
  const summary = el("summary", { data: { key } }, label);
  details.append(summary);
  const fill = (): void => {
    if (details.open && details.childElementCount === 1) {
      details.append(...content().filter((child) => child !== undefined && child !== false));
    }
  };
  details.open = open.has(key);
  fill();
  details.addEventListener("toggle", () => {
    if (details.open) open.add(key);
    else open.delete(key);
    fill();
  });
  return details;
}

/** A number of tokens as people read it. */
export function tokens(count: number): string {
  return count.toLocaleString("en-US");
}

/** How long something took. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
