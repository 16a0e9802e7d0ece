// Which model answers the next request, and which others were set up. Imports no editor.

import type { Model } from "@threadhold/client";

/** What there is to choose from. */
interface Choice<Of> {
  /** The setting: the name of a model of the editor, `configured`, or nothing. */
  setting: string;
  /** The configured model, if there is one. */
  configured: Of | undefined;
  /** The editor's models, by name, in its order. */
  editor: ReadonlyMap<string, Of>;
  /** The name of the editor's model that was taken before without a setting. */
  before: string | undefined;
}

/**
 * The model, with its name if it is one of the editor's. Without a setting that is the configured one, which the user
 * described, otherwise the one that was taken before, otherwise the editor's first: models that the editor gets later
 * replace none.
 */
export function chosenOf<Of>({ setting, configured, editor, before }: Choice<Of>): { model: Of; name?: string } | undefined {
  if (setting === "configured" || (setting === "" && configured !== undefined)) {
    return configured === undefined ? undefined : { model: configured };
  }
  const first: string | undefined = [...editor.keys()][0];
  const name = setting !== "" ? setting : before !== undefined && editor.has(before) ? before : first;
  const model = name === undefined ? undefined : editor.get(name);
  return model === undefined || name === undefined ? undefined : { model, name };
}

/** The models that stay beside this one: the former one first, and none that is the same but for its effort and the like. */
export function exchanged(model: Model, former: Model | undefined, others: readonly Model[]): Model[] {
  const all = former === undefined ? others : [former, ...others];
  const seen = new Set([identity(model)]);
  return all.filter((one) => !seen.has(identity(one)) && seen.add(identity(one)));
}

function identity({ wire, name, baseUrl }: Model): string {
  return JSON.stringify([wire, name, baseUrl]);
}
