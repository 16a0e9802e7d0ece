// The agent panel as a person uses it: its frame in the window, and what can be done there. Names are those that a screen
// reader says.

import type { FrameLocator, Locator, Page } from "playwright-core";
import { type Editor, PATIENCE, until } from "./editor.ts";

/** Where the panel is shown, by what its frame says of itself. */
const FRAMES = { view: '[src*="purpose=webviewView"]', tab: ':not([src*="purpose=webviewView"])' };

export class Panel {
  /** Part of what a window stores that shows the side bar of the panel. */
  static readonly STORED = "workbench.auxiliaryBar.hidden=false";
  /** Part of what it stores that shows the tab. The type alone is stored elsewhere too, as soon as a tab is opened. */
  static readonly STORED_TAB = "mainThreadWebview-threadhold.editor";
  readonly frame: FrameLocator;
  readonly #editor: Editor;
  readonly #page: Page;

  private constructor(editor: Editor, page: Page, place: keyof typeof FRAMES) {
    this.#editor = editor;
    this.#page = page;
    this.frame = page.frameLocator(`iframe.webview[src*="threadhold.threadhold"]${FRAMES[place]}`).frameLocator("#active-frame");
  }

  /** Opens the panel by its command. */
  static async open(editor: Editor, page = editor.page): Promise<Panel> {
    await editor.command("threadhold: Open Agent Panel", page);
    return Panel.on(editor, page);
  }

  /** The side bar that it is in. */
  static sideBar(editor: Editor): Locator {
    return editor.page.locator(".part.auxiliarybar");
  }

  /** Makes the side bar so wide. */
  static async resize(editor: Editor, width: number): Promise<void> {
    const { mouse } = editor.page;
    const box = await Panel.sideBar(editor).boundingBox();
    if (box === null) throw new Error("The side bar is not open.");
    await mouse.move(box.x - 1, 450);
    await mouse.down();
    await mouse.move(box.x + box.width - width, 450, { steps: 5 });
    await mouse.up();
  }

  /** The panel that something else opens, such as a link. */
  static async on(editor: Editor, page = editor.page, place: keyof typeof FRAMES = "view"): Promise<Panel> {
    const panel = new Panel(editor, page, place);
    await panel.prompt.waitFor({ timeout: PATIENCE });
    return panel;
  }

  get prompt(): Locator {
    return this.frame.getByRole("textbox", { name: "Ask the agent" });
  }

  /** Rows of the conversation that are drawn. */
  get rows(): Locator {
    return this.frame.locator("[data-row]");
  }

  /** The conversation. */
  get feed(): Locator {
    return this.frame.getByRole("feed", { name: "Conversation" });
  }

  /** Waits for an error above the conversation; where it never comes, tells what stands there and what was logged. */
  async error(words: string): Promise<Locator> {
    const notice = this.frame.locator(".notices .notice.error");
    try {
      await notice.getByText(words).waitFor();
    } catch (cause) {
      const shown = await this.frame.locator(".notices").textContent({ timeout: 1000 }).catch(String);
      throw new Error(`The panel says: ${shown}\nThe log: ${this.#editor.extensionLog()}`, { cause });
    }
    return notice;
  }

  /** Turns the wheel over the conversation, by so many pixels. */
  async wheel(pixels: number): Promise<void> {
    await this.feed.hover();
    await this.#page.mouse.wheel(0, pixels);
  }

  /** Turns it up to the beginning of what is there. Without the wheel the list would go back to the end that it follows. */
  async toStart(): Promise<void> {
    await until(async () => {
      // Rows that turn out taller than thought push the start away.
      await this.wheel(-10_000_000);
      return (await this.feed.evaluate(({ scrollTop }) => scrollTop)) === 0;
    }, "it is at the start");
  }

  /** Types words and sends them. */
  async ask(words: string): Promise<void> {
    await this.prompt.click();
    await this.prompt.fill(words);
    // A page that another one took the place of meanwhile would send nothing, and nothing would say so.
    await until(async () => (await this.prompt.inputValue()) === words, `"${words}" stays in the prompt`);
    await this.prompt.press("Enter");
  }

  /** An answer of the agent with these words. */
  answer(words: string | RegExp): Locator {
    return this.frame.locator(".row.answer").filter({ hasText: words });
  }

  /** Calls of a tool, or those that say these words. */
  call(name: string): Locator {
    const called = this.frame.locator(`.row.call[data-tool=${JSON.stringify(name)}]`);
    return called.or(this.frame.locator(".row.call").filter({ hasText: name }));
  }

  get cards(): Locator {
    return this.frame.locator(".row.compaction");
  }

  /** Decides about the call that waits, and about later ones, by the name of the button. */
  async decideForLater(button: string): Promise<void> {
    await this.frame.getByText("Later Calls", { exact: true }).last().click();
    await this.button(button).click();
  }

  get meter(): Locator {
    return this.frame.locator(".meter summary");
  }

  /** Compacts by the button in the panel's title, with a focus. */
  async compactNow(editor: Editor, focus: string): Promise<void> {
    await Panel.sideBar(editor).locator(".pane-header, .composite.title").first().hover();
    await editor.page.getByRole("button", { name: "Compact Conversation…" }).first().click();
    const input = editor.page.locator(".quick-input-widget input");
    await editor.page.locator(".quick-input-widget").getByText("Compact Conversation").waitFor();
    await input.fill(focus);
    await editor.page.keyboard.press("Enter");
  }

  /** Restores the version of the session whose removed or replaced words begin so. */
  async restoreVersion(editor: Editor, words: string): Promise<void> {
    await editor.command("threadhold: Restore Previous Version");
    await editor.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: words }).first().click();
  }

  /** Presses a button of a row that opens a place to type, waits until that has the focus, and writes there. */
  async write(button: Locator, words: string): Promise<void> {
    await button.click();
    // In one go: what is chosen with the keyboard is chosen by the editor, later than the next keys come.
    await this.frame.locator(".form textarea:focus").fill(words);
  }

  button(name: string | RegExp): Locator {
    return this.frame.getByRole("button", { name, exact: true });
  }
}
