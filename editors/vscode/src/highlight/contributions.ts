// Languages, grammars and colour themes that installed extensions contribute. No editor here: a function of their manifests.

import { join } from "node:path";

/** An installed extension, as far as it is about languages and colours. */
export interface Manifest {
  /** Folder of its files. */
  folder: string;
  languages: readonly { id: string; aliases?: readonly string[]; extensions?: readonly string[] }[];
  grammars: readonly { language?: string; scopeName: string; path: string; injectTo?: readonly string[] }[];
  themes: readonly { id?: string; label?: string; uiTheme: string; path: string }[];
}

/** Contributions of all extensions. */
export class Contributions {
  readonly #manifests: readonly Manifest[];
  readonly #files = new Map<string, string>();
  readonly #injected = new Map<string, string[]>();
  /** Languages that have a grammar, by their lower-case names: ids, aliases, file extensions. */
  readonly #languages = new Map<string, { id: string; scope: string }>();

  constructor(manifests: readonly Manifest[]) {
    this.#manifests = manifests;
    const ofLanguage = new Map<string, string>();
    for (const { folder, grammars } of manifests) {
      for (const { language, scopeName, path, injectTo = [] } of grammars) {
        this.#files.set(scopeName, join(folder, path));
        if (language !== undefined) ofLanguage.set(language, scopeName);
        for (const into of injectTo) this.#injected.set(into, [...(this.#injected.get(into) ?? []), scopeName]);
      }
    }
    const languages = manifests.flatMap(({ languages }) => languages);
    const name = (names: readonly string[], id: string): void => {
      const scope = ofLanguage.get(id);
      if (scope === undefined) return;
      for (const key of names.map((name) => name.toLowerCase())) if (!this.#languages.has(key)) this.#languages.set(key, { id, scope });
    };
    // An id means its own language, whatever another language has as an alias or an extension.
    for (const { id } of languages) name([id], id);
    for (const { id, aliases = [] } of languages) name(aliases, id);
    for (const { id, extensions = [] } of languages)
      name(
        extensions.map((extension) => extension.replace(/^\./, "")),
        id,
      );
  }

  /** Id and scope of a language as people write it behind a fence, such as `rs` or `TypeScript`. */
  language(name: string): { id: string; scope: string } | undefined {
    return this.#languages.get(name.toLowerCase());
  }

  /** File of the grammar of a scope. */
  fileOf(scope: string): string | undefined {
    return this.#files.get(scope);
  }

  /** Scopes of grammars that extend the grammar of this scope. */
  injectionsOf(scope: string): string[] {
    return this.#injected.get(scope) ?? [];
  }

  /** File of a theme by its name in the settings, or of one that fits if that is not installed here. */
  themeFile(name: string, uiTheme: string): string | undefined {
    const themes = this.#manifests.flatMap(({ folder, themes }) => themes.map((theme) => ({ ...theme, file: join(folder, theme.path) })));
    // Earlier editors have "Default" before the names of their own themes.
    const bare = name.replace(/^Default /, "");
    const named = themes.find(({ id, label }) => id === name || label === name) ?? themes.find(({ id }) => id === bare);
    const fitting = themes.filter((theme) => theme.uiTheme === uiTheme);
    if (named?.uiTheme === uiTheme) return named.file;
    return (fitting.find(({ id }) => id?.endsWith("Modern") === true) ?? fitting[0])?.file;
  }
}
