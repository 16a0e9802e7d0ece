// What the tests need of Node, so that the package needs no types of it.

declare module "node:test" {
  export default function test(name: string, run: () => void): void;
}

declare module "node:assert/strict" {
  export function deepEqual(actual: unknown, expected: unknown, message?: string): void;
  export function equal(actual: unknown, expected: unknown, message?: string): void;
  export function ok(value: unknown, message?: string): void;
}

declare module "node:fs" {
  export function readFileSync(file: URL, encoding: "utf8"): string;
  export function readdirSync(folder: URL): string[];
}

declare class URL {
  constructor(path: string, base: string | URL);
}

interface ImportMeta {
  readonly url: string;
}
