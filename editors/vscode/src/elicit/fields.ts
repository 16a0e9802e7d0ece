// The fields of a form that a tool server asks for, and the values that are typed into them. Imports no editor.

/** A field of a form. */
export interface Field {
  name: string;
  /** What it is called, and what it is for, in the server's words. */
  title: string;
  about: string;
  kind: "text" | "number" | "integer" | "boolean" | "choice" | "choices";
  /** For a choice: the values, each with its words. */
  options: { value: string; label: string }[];
  isRequired: boolean;
  initial: unknown;
}

/** A JSON Schema as servers may use it here. */
interface Schema {
  type?: unknown;
  title?: unknown;
  description?: unknown;
  default?: unknown;
  enum?: unknown;
  enumNames?: unknown;
  oneOf?: unknown;
  anyOf?: unknown;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: unknown;
}

const words = (value: unknown, other = ""): string => (typeof value === "string" ? value : other);
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** The fields of a form, in its order. */
export function fieldsOf(schema: unknown): Field[] {
  const { properties = {}, required } = (schema ?? {}) as Schema;
  return Object.entries(properties).map(([name, field]) => ({
    name,
    title: words(field.title, name),
    about: words(field.description),
    kind: kindOf(field),
    options: optionsOf(field.items ?? field),
    isRequired: list(required).includes(name),
    initial: field.default,
  }));
}

function kindOf(field: Schema): Field["kind"] {
  if (field.type === "array") return "choices";
  if (optionsOf(field).length > 0) return "choice";
  if (field.type === "number" || field.type === "integer" || field.type === "boolean") return field.type;
  return "text";
}

function optionsOf({ enum: values, enumNames, oneOf, anyOf }: Schema): Field["options"] {
  const names = list(enumNames);
  const listed = list(values).flatMap((value, at) => (typeof value === "string" ? [{ value, label: words(names[at], value) }] : []));
  const titled = [...list(oneOf), ...list(anyOf)].flatMap((one) => {
    const { const: value, title } = (one ?? {}) as { const?: unknown; title?: unknown };
    return typeof value === "string" ? [{ value, label: words(title, value) }] : [];
  });
  return [...listed, ...titled];
}

/** The value that a text stands for: undefined for a field that stays empty, a reason for one that cannot be. */
export function valueFor({ kind, isRequired }: Field, text: string): { value?: unknown } | { wrong: string } {
  const typed = text.trim();
  if (typed === "") return isRequired ? { wrong: "Enter a value" } : {};
  if (kind !== "number" && kind !== "integer") return { value: text };
  const value = Number(typed);
  if (!Number.isFinite(value)) return { wrong: "Enter a number" };
  return kind === "integer" && !Number.isInteger(value) ? { wrong: "Enter a whole number" } : { value };
}
