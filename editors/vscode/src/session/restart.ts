// Starts a program anew until it runs with the settings of now. No editor here.

/**
 * Starts a program, and once more where what it is started with changed meanwhile: whoever changed that waits for this
 * start too. A start that failed with settings that no longer hold does not count.
 */
export async function startWithCurrent<T>(start: () => Promise<T>, settings: () => string): Promise<T> {
  for (;;) {
    const before = settings();
    const started = await start().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    if (settings() !== before) continue;
    if ("error" in started) throw started.error;
    return started.value;
  }
}
