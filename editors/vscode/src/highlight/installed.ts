// The grammars and the theme of this editor: of the extensions that run beside this one, and of the user's settings.

import * as vscode from "vscode";
import { Contributions, type Manifest } from "./contributions.ts";
import { Highlighter } from "./highlighter.ts";
import type { ThemeRule } from "./theme.ts";

/** A theme's `uiTheme` and the setting that names it if the editor follows the system, by the kind of the theme in use. */
const KINDS: Record<vscode.ColorThemeKind, { uiTheme: string; setting: string }> = {
  [vscode.ColorThemeKind.Light]: { uiTheme: "vs", setting: "preferredLightColorTheme" },
  [vscode.ColorThemeKind.Dark]: { uiTheme: "vs-dark", setting: "preferredDarkColorTheme" },
  [vscode.ColorThemeKind.HighContrast]: { uiTheme: "hc-black", setting: "preferredHighContrastColorTheme" },
  [vscode.ColorThemeKind.HighContrastLight]: { uiTheme: "hc-light", setting: "preferredHighContrastLightColorTheme" },
};

/** A highlighter with the editor's own colours; `changed` is called when they are others. */
export function installedHighlighter(changed: () => void): { highlighter: Highlighter; watch: vscode.Disposable } {
  const highlighter = new Highlighter({ contributions: () => new Contributions(manifests()), theme });
  const renew = (): void => {
    highlighter.forget();
    changed();
  };
  const watch = vscode.Disposable.from(
    vscode.window.onDidChangeActiveColorTheme(renew),
    vscode.extensions.onDidChange(renew),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("editor.tokenColorCustomizations")) renew();
    }),
  );
  return { highlighter, watch };
}

function manifests(): Manifest[] {
  return vscode.extensions.all.map(({ extensionPath, packageJSON }) => {
    const { languages = [], grammars = [], themes = [] } = (packageJSON as { contributes?: Partial<Manifest> }).contributes ?? {};
    return { folder: extensionPath, languages, grammars, themes };
  });
}

function theme(): { file: string | undefined; rules: readonly ThemeRule[] } {
  const { uiTheme, setting } = KINDS[vscode.window.activeColorTheme.kind];
  const workbench = vscode.workspace.getConfiguration("workbench");
  const follows = vscode.workspace.getConfiguration("window").get<boolean>("autoDetectColorScheme") === true;
  const name = workbench.get<string>(follows ? setting : "colorTheme") ?? "";
  const file = new Contributions(manifests()).themeFile(name, uiTheme);
  const own = vscode.workspace.getConfiguration("editor").get<{ textMateRules?: ThemeRule[] }>("tokenColorCustomizations");
  return { file, rules: own?.textMateRules ?? [] };
}
