// The prompt: text, commands behind a slash, attachments, queued messages, send and stop. Its text goes to the host as a draft, so that a reload
// does not lose it.

import { type Mentionable, type MentionItem, mentionAt, mentioned, toolAt } from "../shared/mention.ts";
import { nameOf } from "../shared/mode.ts";
import {
  type PromptItem,
  promptOf,
  promptsFor,
  type SlashCommand,
  type SlashName,
  slashesFor,
  slashOf,
  type ToolItem,
} from "../shared/slash.ts";
import type { Frame } from "../shared/view.ts";
import type { PanelContext } from "./context.ts";
import { button, el, type IconName, iconButton } from "./dom.ts";
import { drawPart } from "./part.ts";
import { PromptMenu } from "./prompt-menu.ts";

/** Delay from the last key until the draft is sent to the host: short for a person, and no message per key. */
const DRAFT_DELAY_MS = 250;

const MENTION_ICONS: Record<Mentionable["kind"], IconName> = {
  file: "file",
  folder: "folder",
  symbol: "symbol",
  resource: "open",
  selection: "edit",
  problems: "warn",
  changes: "diff",
  terminal: "terminal",
};

/** Words that were typed, and the session in which; empty where none was shown yet. */
export interface TypedDraft {
  text: string;
  session: string;
  /** The draft that they were typed into, as the host knew it. */
  draft: string;
}

/** What the editor keeps of a page for the one that takes its place. */
export interface PageState {
  getState(): TypedDraft | undefined;
  setState(typed: TypedDraft | undefined): void;
}

/** The last name of a path, with the slash of a folder. */
function lastName(path: string): string {
  return /[^/]*\/?$/.exec(path)?.[0] ?? path;
}

/**
 * The prompt after a page that kept these words. Where the editor crashed, they are some seconds old: they may have been sent
 * since, or be typed on, which the host knows. Where that is not certain, neither text is lost.
 */
function promptAfter({ text, draft: known }: TypedDraft, draft: string, sent: readonly string[]): string {
  if (sent.some((request) => request.trim() === text.trim())) return draft;
  if (draft === known || text.startsWith(draft)) return text;
  return draft.startsWith(text) ? draft : `${draft}\n${text}`;
}

export class Composer {
  readonly element: HTMLElement;
  readonly #panel: PanelContext;
  readonly #input: HTMLTextAreaElement;
  readonly #queued = el("ul", { class: "waiting", aria: { label: "Queued messages" } });
  readonly #attached = el("div", { class: "files", role: "list", aria: { label: "Attachments" } });
  readonly #send: HTMLButtonElement;
  readonly #stop: HTMLButtonElement;
  readonly #mode: HTMLButtonElement;
  readonly #model: HTMLButtonElement;
  readonly #menu: PromptMenu;
  /** Data URLs of attached images, by attachment id. */
  readonly #pictures = new Map<string, string>();
  readonly #showCost: () => boolean;
  readonly #state: PageState;
  /** Prompts of the workspace and of tool servers, as they were told last. */
  #prompts: readonly PromptItem[] | undefined;
  #session = "";
  /** True until the session's draft was told: what is typed before that is no version of it. */
  #isDraftDue = true;
  /** True if something was typed or sent since the session is shown: a draft from the host is older. */
  #isTouched = false;
  /** The draft as the host knows it. */
  #draft = "";
  /** What a page before this one kept, until the session's draft is told. */
  #kept: TypedDraft | undefined;
  #busy = false;
  /** True until the sidecar runs, as far as it is known. */
  #isStarting = true;
  /** What was sent while it starts. It stays in the prompt, and is sent once it runs if it is still there. */
  #due: { text: string; urgent: boolean } | undefined;
  #wantsFocus = false;
  #unsent: ReturnType<typeof setTimeout> | undefined;

  /** `showCost` opens what the prompt holds and costs; false where nothing is known yet. */
  constructor(panel: PanelContext, showCost: () => boolean, state: PageState) {
    this.#panel = panel;
    this.#showCost = showCost;
    this.#state = state;
    this.#input = el("textarea", { class: "prompt", aria: { label: "Ask the agent" }, data: { key: "prompt" } });
    this.#input.rows = 3;
    this.#input.placeholder = "Ask the agent (/ for commands, @ for context, # for tools)";
    this.#send = button("", () => this.#submit(false), { class: "icon send", icon: "send", name: "Send", title: "Send (Enter)" });
    this.#stop = button("Stop", () => panel.post({ type: "cancel", queued: false }), {
      class: "stop",
      icon: "stop",
      title: "Stop (Escape)",
    });
    this.#mode = button("", () => panel.post({ type: "selectMode" }), { class: "mode", key: "mode" });
    this.#model = button("", () => panel.post({ type: "selectModel" }), { class: "model", key: "model" });
    // Nothing is known of the session before its first frame.
    for (const unknown of [this.#stop, this.#mode, this.#model]) unknown.hidden = true;
    this.#menu = new PromptMenu(this.#input);
    this.element = el(
      "div",
      { class: "composer" },
      this.#queued,
      this.#attached,
      this.#menu.element,
      this.#input,
      el(
        "div",
        { class: "bar" },
        iconButton("Attach Files…", "attach", () => panel.post({ type: "attach" })),
        this.#mode,
        this.#model,
        el("span", { class: "room" }),
        this.#stop,
        this.#send,
      ),
    );
    this.#input.addEventListener("input", () => this.#onInput());
    this.#input.addEventListener("keydown", (event) => this.#onKey(event));
    // The window may be closed before the user returns.
    this.#input.addEventListener("blur", () => this.#sendDraft());
    window.addEventListener("pagehide", () => this.#postDraft());
    this.#input.addEventListener("paste", (event) => {
      const images = [...(event.clipboardData?.files ?? [])].filter(({ type }) => type.startsWith("image/"));
      if (images.length === 0) return;
      event.preventDefault();
      for (const image of images) void this.#attachImage(image);
    });
    this.element.addEventListener("dragover", (event) => event.preventDefault());
    this.element.addEventListener("drop", (event) => this.#onDrop(event));
    this.#restore();
  }

  /** Goes on with what was typed into the page before this one, and reached nobody. */
  #restore(): void {
    const typed = this.#state.getState();
    if (typed === undefined) return;
    this.#input.value = typed.text;
    this.#session = typed.session;
    this.#isTouched = true;
    // It was typed into that session's draft, which is told next.
    this.#isDraftDue = typed.session === "";
    this.#draft = typed.draft;
    if (typed.session !== "") this.#kept = typed;
    this.#unsent = setTimeout(() => this.#sendDraft(), DRAFT_DELAY_MS);
  }

  /** A session begins to be shown, whose draft is told next; while none is, the prompt stays with the one that was. */
  begin(session: string): void {
    if (session === "" || session === this.#session) return;
    if (this.#session !== "") {
      this.#sendDraft();
      this.#input.value = "";
      this.#isTouched = false;
      this.#isDraftDue = true;
      this.#kept = undefined;
    }
    this.#session = session;
  }

  /** Shows the draft of the session that is shown, whose last requests are given. */
  show(draft: string, sent: readonly string[]): void {
    const { value } = this.#input;
    const kept = this.#kept;
    this.#kept = undefined;
    const isDue = this.#isDraftDue;
    this.#isDraftDue = false;
    this.#draft = draft;
    if (kept?.text === value) {
      this.#input.value = promptAfter(kept, draft, sent);
      if (this.#input.value === draft) {
        this.#forget();
        this.#isTouched = false;
        this.#fitHeight();
      } else this.#onInput();
    } else if (!this.#isTouched) {
      this.#input.value = draft;
      this.#fitHeight();
    } else if (value !== "" || kept !== undefined) {
      // What was typed before any session was shown, or given back since this one is, goes behind its draft.
      if (isDue && draft !== "" && draft !== value) this.#input.value = `${draft}\n${value}`;
      this.#onInput();
    }
    // Text that was sent does not come back.
  }

  /** Shows what is typed into the same draft elsewhere. */
  follow(text: string, session: string): void {
    if (session !== this.#session) return;
    this.#clear();
    this.#draft = text;
    this.#input.value = text;
    this.#fitHeight();
  }

  /** Puts back text that could not be sent, before what was typed since. */
  takeBack(text: string): void {
    this.#input.value = [text, this.#input.value].filter((words) => words !== "").join("\n");
    this.#onInput();
  }

  /** Focuses the prompt, or does so once it is enabled. */
  focus(): void {
    this.#input.focus();
    this.#wantsFocus = this.#input.disabled;
  }

  /** Stores the data of an image that the next frame lists. */
  takePicture(id: string, source: string): void {
    this.#pictures.set(id, source);
  }

  draw(frame: Frame): void {
    this.#busy = frame.busy;
    this.#stop.hidden = !frame.busy;
    const { state } = frame.sidecar;
    this.#isStarting = state === "starting";
    // Whoever types while it starts loses no key.
    const isDisabled = frame.heldBy !== undefined || state === "none";
    this.#input.disabled = isDisabled;
    // Not if the user moved the focus elsewhere meanwhile, in the editor or in the panel.
    const { activeElement, body } = document;
    if (activeElement !== body && activeElement !== this.#input) this.#wantsFocus = false;
    if (this.#wantsFocus && !isDisabled && document.hasFocus()) this.focus();
    this.#send.disabled = isDisabled;
    if (this.#isStarting) this.#send.title = "Send Once the Sidecar Runs (Enter)";
    else this.#send.title = frame.busy ? "Add to Queue (Enter), Steer with Message (Ctrl+Enter)" : "Send (Enter)";
    const mode = nameOf(frame.mode);
    drawPart(this.#mode, mode, () => [el("span", {}, mode)]);
    this.#mode.setAttribute("aria-label", `Mode: ${mode}. Choose Mode…`);
    const model = frame.model ?? "Choose Model";
    drawPart(this.#model, model, () => [el("span", {}, model)]);
    for (const known of [this.#mode, this.#model]) known.hidden = false;
    this.#model.setAttribute("aria-label", `Model: ${model}. Choose Model…`);
    this.#queued.hidden = frame.queue.length === 0;
    drawPart(this.#queued, frame.queue, () =>
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
    if (!this.#isStarting) this.#sendDue();
  }

  /** Sends what was sent while the sidecar started, unless the prompt holds something else by now or takes nothing. */
  #sendDue(): void {
    const due = this.#due;
    this.#due = undefined;
    if (due !== undefined && due.text === this.#input.value.trim()) this.#submit(due.urgent);
  }

  #submit(urgent: boolean): void {
    const text = this.#input.value.trim();
    if (text === "" || this.#send.disabled) return;
    if (this.#isStarting) {
      this.#due = { text, urgent };
      return;
    }
    const slash = slashOf(text);
    if (slash !== undefined) return this.#runSlash(slash.name, slash.rest);
    const prompt = promptOf(text, this.#prompts ?? []);
    this.#clear();
    if (prompt !== undefined) return this.#panel.post({ type: "sendPrompt", ...prompt, urgent });
    this.#panel.post({ type: "send", text, urgent });
  }

  #clear(): void {
    this.#forget();
    this.#draft = "";
    this.#input.value = "";
    this.#isTouched = true;
    this.#fitHeight();
  }

  /** What is in the prompt is no draft, or none that is newer than the host's. */
  #forget(): void {
    clearTimeout(this.#unsent);
    this.#unsent = undefined;
    this.#state.setState(undefined);
  }

  #runSlash(name: SlashName, rest: string): void {
    this.#clear();
    // What was typed so far may be the draft by now.
    this.#panel.post({ type: "draft", text: "", sessionId: this.#session });
    if (name !== "cost" || !this.#showCost()) this.#panel.post({ type: "slash", name, rest });
  }

  #onKey(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (this.#menu.key(event)) return event.preventDefault();
    if (event.key === "Enter" && !event.shiftKey) this.#submit(this.#busy && (event.ctrlKey || event.metaKey));
    else if (event.key === "Escape" && this.#busy) this.#panel.post({ type: "cancel", queued: false });
    else return;
    event.preventDefault();
  }

  #onInput(): void {
    this.#isTouched = true;
    this.#fitHeight();
    const { value } = this.#input;
    // The page may end before the draft is told.
    this.#state.setState({ text: value, session: this.#session, draft: this.#draft });
    // The files may be others by now; a name may be pasted whole.
    if (value === "/" || (value.startsWith("/") && this.#prompts === undefined)) this.#panel.post({ type: "prompts" });
    this.#complete();
    clearTimeout(this.#unsent);
    this.#unsent = setTimeout(() => this.#sendDraft(), DRAFT_DELAY_MS);
  }

  /** Offers what a command or a mention that is being typed may become. */
  #complete(): void {
    const { value, selectionStart } = this.#input;
    const mention = mentionAt(value, selectionStart);
    if (mention !== undefined) return this.#panel.post({ type: "mention", query: mention.query });
    const tool = toolAt(value, selectionStart);
    if (tool !== undefined) return this.#panel.post({ type: "toolName", query: tool.query });
    const choose = ({ name, takes }: SlashCommand): void => {
      if (takes === undefined || this.#input.value === `/${name}`) return this.#runSlash(name, "");
      this.#type(`/${name} `, name.length + 2);
    };
    const options = slashesFor(value).map((command) => ({
      ...command,
      name: `/${command.name}`,
      note: command.about,
      choose: () => choose(command),
    }));
    const prompts = promptsFor(value, this.#prompts ?? []).map(({ name, about, takes }) => ({
      name: `/${name}`,
      note: about,
      ...(takes !== undefined && { takes }),
      choose: () => this.#type(`/${name} `, name.length + 2),
    }));
    const names = new Set(options.map(({ name }) => name));
    this.#menu.offer("Commands", [...options, ...prompts.filter(({ name }) => !names.has(name))]);
  }

  /** Takes the prompts, and offers them if a command is being typed. */
  takePrompts(items: readonly PromptItem[]): void {
    this.#prompts = items;
    if (document.activeElement === this.#input && this.#input.value.startsWith("/")) this.#complete();
  }

  /** Offers tools for the name that is being typed, if it is still that one. */
  offerTools(query: string, items: readonly ToolItem[]): void {
    const { value, selectionStart } = this.#input;
    const tool = toolAt(value, selectionStart);
    if (tool?.query !== query || document.activeElement !== this.#input) return;
    const options = items.map(({ name, about, cost }) => {
      const choose = (): void => {
        const { text, cursor } = mentioned(this.#input.value, tool, name);
        this.#type(text, cursor);
      };
      return { name, note: [cost, about].filter((words) => words !== "").join(" · "), icon: "tool" as const, choose };
    });
    this.#menu.offer("Tools", options);
  }

  /** Offers what the mention that is being typed may mean, if it is still that one. What is chosen is attached. */
  offer(query: string, items: readonly MentionItem[]): void {
    const { value, selectionStart } = this.#input;
    const mention = mentionAt(value, selectionStart);
    if (mention?.query !== query || document.activeElement !== this.#input) return;
    const options = items.map(({ path, of, note = path, name = lastName(path) }) => {
      const choose = (): void => {
        const { text, cursor } = mentioned(this.#input.value, mention, path);
        this.#type(text, cursor);
        this.#panel.post({ type: "attachMention", of });
      };
      return { name, note, icon: MENTION_ICONS[of.kind], choose };
    });
    this.#menu.offer("Mentions", options);
  }

  #type(text: string, cursor: number): void {
    this.#input.value = text;
    this.#input.setSelectionRange(cursor, cursor);
    this.#onInput();
  }

  /** Sends the draft to the host, if it changed since it was sent last. */
  #sendDraft(): void {
    if (this.#postDraft()) this.#state.setState(undefined);
  }

  /** The same where the page may end before it is heard. Answers whether there was something to send. */
  #postDraft(): boolean {
    // Nothing is known yet of the session that it is the draft of.
    if (this.#unsent === undefined || this.#session === "" || this.#kept !== undefined) return false;
    clearTimeout(this.#unsent);
    this.#unsent = undefined;
    this.#draft = this.#input.value;
    this.#panel.post({ type: "draft", text: this.#input.value, sessionId: this.#session });
    return true;
  }

  /** Fits the height to the text, up to a third of the panel. */
  #fitHeight(): void {
    this.#input.style.height = "auto";
    this.#input.style.height = `${Math.min(this.#input.scrollHeight, window.innerHeight / 3)}px`;
  }

  #onDrop(event: DragEvent): void {
    event.preventDefault();
    const uris = event.dataTransfer?.getData("application/vnd.code.uri-list") || event.dataTransfer?.getData("text/uri-list") || "";
    const listed = uris.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#"));
    if (listed.length > 0) this.#panel.post({ type: "attachUris", uris: listed });
    else for (const file of event.dataTransfer?.files ?? []) if (file.type.startsWith("image/")) void this.#attachImage(file);
  }

  async #attachImage(file: File): Promise<void> {
    const bytes = new Uint8Array(await file.arrayBuffer());
    let text = "";
    // In chunks, because engines limit the number of arguments of a call.
    for (let at = 0; at < bytes.length; at += 32_768) text += String.fromCharCode(...bytes.subarray(at, at + 32_768));
    this.#panel.post({ type: "attachImage", mimeType: file.type, data: btoa(text), name: file.name || "picture" });
  }
}
