// Parts of the panel that are loaded when they are needed.

// While this runs, it is the panel's own script: the page's policy lets in what has its nonce.
const own = document.currentScript as HTMLScriptElement | null;
const loaded = new Map<string, Promise<void>>();

/** Loads a script that lies beside the panel's own, once. */
export function loadScript(name: string): Promise<void> {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const promise = new Promise<void>((resolve, reject) => {
    const script = document.createElement("script");
    script.nonce = own?.nonce ?? "";
    script.src = new URL(name, own?.src).href;
    script.addEventListener("load", () => resolve());
    script.addEventListener("error", () => reject(new Error(`${name} could not be loaded`)));
    document.head.append(script);
  });
  loaded.set(name, promise);
  return promise;
}
