// The list of what others wrote and a package holds, with the terms of each: npm packages that are in the bundles, and
// crates that are in the program. Made of what is on disk, without a network; nothing is listed by hand but what no list
// knows.

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

const TERMS = /^(licen[cs]e|copying|unlicense|notice|copyright)/i;

/** A crate is only built with, but its vocabulary is in the program. */
const VOCABULARY = { name: "The vocabulary o200k_base, of OpenAI's tiktoken", license: "MIT", authors: ["2022 OpenAI"] };

/** What else no list of packages names. */
const BESIDE = [
  ["SQLite, in libsqlite3-sys", "It is in the public domain: its authors disclaim copyright to it."],
  [
    "The Rust standard library",
    "Copyright (c) The Rust Project Contributors. Under the MIT licence or the Apache licence 2.0, at your choice.",
  ],
];

/** A package that cannot be made, and what to do. */
export class Refused extends Error {}

/**
 * The whole list as text. `inputs` are the files of the bundles, `repository` holds Cargo.toml and our own licences, `triple`
 * is the program's platform. A package whose terms are not known is refused.
 */
export function notices({ inputs, repository, triple }) {
  const standard = standardTerms(repository);
  const packages = [...npmPackages(inputs), ...crates(repository, triple)].map(({ kind, name, version, license, authors, folder }) => {
    const terms = termsIn(folder, license) ?? standard({ name, license, authors });
    if (terms !== undefined) return { name: `${name} ${version} (${kind}, ${license ?? "see below"})`, terms };
    const named = license === undefined ? "names no licence" : `the words of the licence that it names, ${license}, are not known here`;
    throw new Refused(
      `The terms of ${name} ${version} (${kind}) are not known: ${folder} has no file with them, and ${named}.\n` +
        "What is packed must say under which terms it is: take a version that brings them, or do without it.",
    );
  });
  const byTerms = new Map();
  for (const { name, terms } of packages) byTerms.set(terms, [...(byTerms.get(terms) ?? []), name]);
  const head = "threadhold for VS Code holds what others wrote. Each is named here with the terms that its authors give.\n";
  const blocks = [...byTerms].map(([terms, names]) => `${names.join("\n")}\n\n${terms}\n`);
  const others = [[VOCABULARY.name, standard(VOCABULARY)], ...BESIDE];
  const beside = others.map(([name, terms]) => `${name}\n\n${terms}\n`);
  return { text: [head, ...blocks, ...beside].join(`\n${"-".repeat(80)}\n\n`), count: packages.length + others.length };
}

/** The packages that the files of a bundle come from. */
function npmPackages(inputs) {
  const folders = inputs.flatMap((input) => /^(.*node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(input)?.[1] ?? []);
  return [...new Set(folders)].sort().map((folder) => {
    const { name, version, license, author } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const authors = [typeof author === "string" ? author : author?.name].filter((author) => author !== undefined);
    return { kind: "npm", name, version, license: typeof license === "string" ? license : undefined, authors, folder };
  });
}

/** The crates that the program is linked from: what is only built or tested with is not in it. */
function crates(repository, triple) {
  const args = ["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", triple];
  const asked = spawnSync("cargo", args, { cwd: repository, encoding: "utf8", maxBuffer: 64_000_000 });
  if (asked.error !== undefined || asked.status !== 0) {
    const why = asked.error?.message ?? asked.stderr.trim();
    throw new Refused(
      `The licences of the crates are not known: cargo ${args.join(" ")}: ${why}\nInstall Rust and run \`cargo fetch\`, then try again.`,
    );
  }
  const { packages, resolve } = JSON.parse(asked.stdout);
  // A macro runs in the compiler; it and what it needs are not in the program.
  const macros = new Set(packages.filter(({ targets }) => targets.some(({ kind }) => kind.includes("proc-macro"))).map(({ id }) => id));
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const linked = new Set();
  const open = [resolve.root];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (linked.has(id) || macros.has(id)) continue;
    linked.add(id);
    const normal = nodes.get(id).deps.filter(({ dep_kinds: kinds }) => kinds.some(({ kind }) => kind === null));
    open.push(...normal.map(({ pkg }) => pkg));
  }
  linked.delete(resolve.root);
  return (
    packages
      // What has no source is ours.
      .filter(({ id, source }) => linked.has(id) && source !== null)
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.version < b.version ? -1 : 1))
      .map(({ name, version, license, manifest_path: manifest, authors }) => ({
        kind: "crate",
        name,
        version,
        license: license ?? undefined,
        authors,
        folder: dirname(manifest),
      }))
  );
}

/**
 * Answers the terms of a package that names a licence and brings no file: those whose words are the same for all, which are
 * those of our own two. Of licences to choose from, one of these.
 */
function standardTerms(repository) {
  const apache = readFileSync(join(repository, "LICENSE-APACHE"), "utf8").trim();
  const mit = readFileSync(join(repository, "LICENSE-MIT"), "utf8").trim();
  return ({ name, license = "", authors }) => {
    const choice = license.split(/ OR |\//);
    if (choice.includes("Apache-2.0")) return apache;
    const people = authors.map((author) => author.replace(/ <.*/, "")).join(", ") || `the authors of ${name}`;
    return choice.includes("MIT") ? mit.replace(/^Copyright .*$/m, `Copyright (c) ${people}`) : undefined;
  };
}

/** What a folder says of its terms, if it does; of licences to choose from, MIT's. */
function termsIn(folder, license = "") {
  const files = readdirSync(folder)
    .filter((name) => TERMS.test(name))
    .sort();
  const isChoice = / OR |\//.test(license) && /\bMIT\b/.test(license);
  const ofMit = files.filter((name) => /mit/i.test(name));
  const chosen = isChoice && ofMit.length > 0 ? files.filter((name) => ofMit.includes(name) || /^(notice|copyright)/i.test(name)) : files;
  const texts = chosen
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile())
    .map((file) => readFileSync(file, "utf8").replace(/\r\n/g, "\n").trim())
    .filter((text) => text !== "");
  return texts.length === 0 ? undefined : texts.join("\n\n");
}
