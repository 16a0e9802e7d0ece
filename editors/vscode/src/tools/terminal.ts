// The terminal of the agent: one for all of its commands. It is not shown by itself, since a command's row shows what it
// prints; Ctrl+C in it stops the command that writes, and closing it stops all of them.

import * as vscode from "vscode";
import { lastCharacters } from "../shared/terminal-text.ts";
import { type Screen, Screens } from "./screens.ts";

/** Characters that are kept until the terminal is opened. */
const MOST_UNHEARD = 200_000;

class AgentTerminal {
  readonly #written = new vscode.EventEmitter<string>();
  /** What it hears once it is open; it hears nothing before. */
  #unheard: string | undefined = "";
  readonly #screens = new Screens((text) => {
    if (this.#unheard === undefined) this.#written.fire(text.replace(/\r?\n/g, "\r\n"));
    else this.#unheard = lastCharacters(this.#unheard + text, MOST_UNHEARD);
  });
  /** Ends commands that run, the one that writes first, then what others left running. */
  readonly #stops = new Set<() => void>();
  readonly terminal: vscode.Terminal;

  constructor(closed: () => void) {
    this.terminal = vscode.window.createTerminal({
      name: "Agent",
      iconPath: new vscode.ThemeIcon("comment-discussion"),
      // It has nothing to show after a reload of the window.
      isTransient: true,
      pty: {
        onDidWrite: this.#written.event,
        open: () => {
          const said = this.#unheard ?? "";
          this.#unheard = undefined;
          if (said !== "") this.#written.fire(said.replace(/\r?\n/g, "\r\n"));
        },
        close: () => {
          closed();
          for (const stop of this.#stops) stop();
        },
        handleInput: (key: string) => {
          const [first] = this.#stops;
          if (key === "\x03") first?.();
        },
      },
    });
  }

  begin(text: string, stop: () => void): Screen & { leave(): void } {
    this.#stops.add(stop);
    const screen = this.#screens.begin(text);
    return {
      write: screen.write,
      end: (text) => {
        screen.end(text);
        this.#stops.delete(stop);
        this.#stops.add(stop);
      },
      leave: () => this.#stops.delete(stop),
    };
  }
}

let agent: AgentTerminal | undefined;

/** A place on the terminal for a command, which `stop` ends; `leave` says that there is nothing to stop any more. */
export function onTerminal(text: string, stop: () => void): Screen & { leave(): void } {
  agent ??= new AgentTerminal(() => {
    agent = undefined;
  });
  return agent.begin(text, stop);
}

/** Shows the terminal; answers false if no command ran since it was closed. */
export function showTerminal(): boolean {
  agent?.terminal.show(true);
  return agent !== undefined;
}
