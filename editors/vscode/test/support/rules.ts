// The page of approval rules in its tab. Names are those that a screen reader says.

import type { FrameLocator, Locator } from "playwright-core";
import type { Editor } from "./editor.ts";

export class RulesPage {
  readonly frame: FrameLocator;

  private constructor(editor: Editor) {
    this.frame = editor.page
      .frameLocator('iframe.webview[src*="threadhold.threadhold"]:not([src*="purpose=webviewView"])')
      .frameLocator("#active-frame");
  }

  /** Opens it by its command. */
  static async open(editor: Editor): Promise<RulesPage> {
    await editor.command("threadhold: Manage Approval Rules");
    return RulesPage.on(editor);
  }

  /** The page that something else opens. */
  static async on(editor: Editor): Promise<RulesPage> {
    const page = new RulesPage(editor);
    await page.frame.getByRole("heading", { name: "Approval Rules" }).waitFor();
    return page;
  }

  /** The rules of a place, or those of them that say this. */
  rules(place: "Folder" | "Session", words: string | RegExp = ""): Locator {
    return this.frame
      .getByRole("region", { name: `In This ${place}` })
      .getByRole("listitem")
      .filter({ hasText: words });
  }

  /** Takes a rule away, and waits until it is gone. */
  async remove(rule: Locator): Promise<void> {
    await rule.getByRole("button", { name: /^Remove Rule/ }).click();
    await rule.waitFor({ state: "detached" });
  }
}
