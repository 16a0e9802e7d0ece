// The prompt: text, attachments, queued messages, send and stop. Its text goes to the host as a draft, so that a reload
// does not lose it.

import type { Frame } from "../shared/view.ts";
import type { PanelContext } from "./context.ts";
import { button, el, iconButton } from "./dom.ts";
import { drawPart } from "./part.ts";

/** How long after the last key a draft is told; a person does not notice it. */
const DRAFT_DELAY_MS = 250;

export class Composer {
  readonly element: HTMLElement;
  readonly #panel: PanelContext;
  readonly #area: HTMLTextAreaElement;
  readonly #waiting = el("ul", { class: "waiting", aria: { label: "Queued messages" } });
  readonly #attached = el("div", { class: "files", role: "list", aria: { label: "Attachments" } });
  readonly #send: HTMLButtonElement;
  readonly #stop: HTMLButtonElement;
  readonly #model: HTMLButtonElement;
  /** Data URLs of attached images, by attachment id. */
  readonly #pictures = new Map<string, string>();
  #session = "";
  /** True if something was typed or sent since that session is shown: its draft is older than that. */
  #isTouched = false;
  #busy = false;
  #wantsFocus = false;
  #unsent: ReturnType<typeof setTimeout> | undefined;

  constructor(panel: PanelContext) {
    this.#panel = panel;
    this.#area = el("textarea", { class: "prompt", aria: { label: "Ask the agent" }, data: { key: "prompt" } });
    this.#area.rows = 3;
    this.#area.placeholder = "Ask the agent (Enter to send, Shift+Enter for a new line)";
    this.#send = button("", () => this.#go(false), { class: "icon send", icon: "send", name: "Send", title: "Send (Enter)" });
    this.#stop = button("Stop", () => panel.post({ type: "cancel", queued: false }), {
      class: "stop",
      icon: "stop",
      title: "Stop (Escape)",
    });
    this.#model = button("", () => panel.post({ type: "selectModel" }), { class: "model", key: "model" });
    this.element = el(
      "div",
      { class: "composer" },
      this.#waiting,
      this.#attached,
      this.#area,
      el(
        "div",
        { class: "bar" },
        iconButton("Attach Files…", "attach", () => panel.post({ type: "attach" })),
        this.#model,
        el("span", { class: "room" }),
        this.#stop,
        this.#send,
      ),
    );
    this.#area.addEventListener("input", () => this.#typed());
    this.#area.addEventListener("keydown", (event) => this.#key(event));
    // Whoever goes elsewhere may not come back.
    this.#area.addEventListener("blur", () => this.#tellDraft());
    window.addEventListener("pagehide", () => this.#tellDraft());
    this.#area.addEventListener("paste", (event) => {
      const images = [...(event.clipboardData?.files ?? [])].filter(({ type }) => type.startsWith("image/"));
      if (images.length === 0) return;
      event.preventDefault();
      for (const image of images) void this.#attach(image);
    });
    this.element.addEventListener("dragover", (event) => event.preventDefault());
    this.element.addEventListener("drop", (event) => this.#drop(event));
  }

  /** Shows the draft of a session. */
  show(draft: string, session: string): void {
    const isOther = this.#session !== "" && this.#session !== session;
    if (isOther) this.#tellDraft();
    this.#session = session;
    if (isOther) this.#isTouched = false;
    // What somebody types stays, also where there was no session yet: it goes with the one that comes. What was sent does
    // not come back.
    if (this.#isTouched) return this.#area.value === "" ? undefined : this.#typed();
    this.#area.value = draft;
    this.#fit();
  }

  /** Words that could not be sent stand again before those that were typed since. */
  takeBack(text: string): void {
    this.#area.value = [text, this.#area.value].filter((words) => words !== "").join("\n");
    this.#typed();
  }

  /** Gives it the focus, as soon as it can be typed into. */
  focus(): void {
    this.#area.focus();
    this.#wantsFocus = this.#area.disabled;
  }

  /** Stores the data of an image that the next frame lists. */
  takePicture(id: string, source: string): void {
    this.#pictures.set(id, source);
  }

  draw(frame: Frame): void {
    this.#busy = frame.busy;
    this.#stop.hidden = !frame.busy;
    const held = frame.heldBy !== undefined || frame.sidecar.state !== "ready";
    this.#area.disabled = held;
    // Not where the user went elsewhere meanwhile, in the editor or in the panel.
    const { activeElement, body } = document;
    if (activeElement !== body && activeElement !== this.#area) this.#wantsFocus = false;
    if (this.#wantsFocus && !held && document.hasFocus()) this.focus();
    this.#send.disabled = held;
    this.#send.title = frame.busy ? "Add to Queue (Enter), Steer with Message (Ctrl+Enter)" : "Send (Enter)";
    drawPart(this.#model, frame.model, () => [el("span", {}, frame.model)]);
    this.#model.setAttribute("aria-label", `Model: ${frame.model}. Choose Model…`);
    this.#waiting.hidden = frame.queue.length === 0;
    drawPart(this.#waiting, frame.queue, () =>
      frame.queue.map(({ itemId, text, priority }) =>
        el(
          "li",
          {},
          el("span", { class: "note" }, priority ? "Next: " : "Queued: "),
          el("span", { class: "words" }, text),
          iconButton("Remove from Queue", "close", () => this.#panel.post({ type: "removeWaiting", itemId }), itemId),
        ),
      ),
    );
    const attached = new Set(frame.attachments.map(({ id }) => id));
    for (const id of this.#pictures.keys()) if (!attached.has(id)) this.#pictures.delete(id);
    this.#attached.hidden = frame.attachments.length === 0;
    drawPart(this.#attached, frame.attachments, () =>
      frame.attachments.map(({ id, label }) => {
        const source = this.#pictures.get(id);
        const chip = el("span", { class: "chip", role: "listitem" });
        if (source !== undefined) {
          const image = document.createElement("img");
          image.src = source;
          image.alt = "";
          chip.append(image);
        }
        chip.append(
          el("span", {}, label),
          iconButton(`Remove ${label}`, "close", () => this.#panel.post({ type: "removeAttachment", id }), id),
        );
        return chip;
      }),
    );
  }

  #go(urgent: boolean): void {
    const text = this.#area.value.trim();
    if (text === "" || this.#send.disabled) return;
    clearTimeout(this.#unsent);
    this.#unsent = undefined;
    this.#area.value = "";
    this.#isTouched = true;
    this.#fit();
    this.#panel.post({ type: "send", text, urgent });
  }

  #key(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) this.#go(this.#busy && (event.ctrlKey || event.metaKey));
    else if (event.key === "Escape" && this.#busy) this.#panel.post({ type: "cancel", queued: false });
    else return;
    event.preventDefault();
  }

  #typed(): void {
    this.#isTouched = true;
    this.#fit();
    clearTimeout(this.#unsent);
    this.#unsent = setTimeout(() => this.#tellDraft(), DRAFT_DELAY_MS);
  }

  /** Tells the words that were typed, where they were not told yet. */
  #tellDraft(): void {
    if (this.#unsent === undefined) return;
    clearTimeout(this.#unsent);
    this.#unsent = undefined;
    this.#panel.post({ type: "draft", text: this.#area.value, sessionId: this.#session });
  }

  /** As tall as its words, up to a third of the panel. */
  #fit(): void {
    this.#area.style.height = "auto";
    this.#area.style.height = `${Math.min(this.#area.scrollHeight, window.innerHeight / 3)}px`;
  }

  #drop(event: DragEvent): void {
    event.preventDefault();
    const uris = event.dataTransfer?.getData("application/vnd.code.uri-list") || event.dataTransfer?.getData("text/uri-list") || "";
    const listed = uris.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#"));
    if (listed.length > 0) this.#panel.post({ type: "attachUris", uris: listed });
    else for (const file of event.dataTransfer?.files ?? []) if (file.type.startsWith("image/")) void this.#attach(file);
  }

  async #attach(file: File): Promise<void> {
    const bytes = new Uint8Array(await file.arrayBuffer());
    let text = "";
    // In pieces, for a call takes only so many arguments.
    for (let at = 0; at < bytes.length; at += 32_768) text += String.fromCharCode(...bytes.subarray(at, at + 32_768));
    this.#panel.post({ type: "attachImage", mediaType: file.type, data: btoa(text), name: file.name || "picture" });
  }
}
