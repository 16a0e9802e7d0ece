// Makes the package of the extension for one platform, with the sidecar's program in it: builds the bundles, lays all that
// goes in into a folder, has vsce pack that folder, and reports sizes. What a platform is stands in targets.mjs.
//
//   npm run package                             for machines like this one, with ../../target/release/threadhold
//   npm run package -- --target win32-x64       for all of a platform: the program is looked for in THREADHOLD_BINARIES,
//                                               and one that does not start wherever the editor does is refused
//   npm run package -- --binary FILE            with this program
//   npm run package -- --pictures URL           the README's pictures are at URL/media/readme: the editor's page of an
//                                               extension shows those of the web only, a preview of the README any
//
// THREADHOLD_BINARIES names a folder with TRIPLE/threadhold (or threadhold.exe) for each platform.

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { bundle } from "../build.mjs";
import { notices, Refused } from "./notices.mjs";
import { glibcOf, host, misfit, TARGETS, tooNew } from "./targets.mjs";

const root = resolve(import.meta.dirname, "..");
const repository = resolve(root, "../..");
const stage = join(root, "dist/stage");

async function main() {
  const options = { target: { type: "string" }, binary: { type: "string" }, pictures: { type: "string" } };
  const { target: named, binary, pictures } = parseArgs({ options }).values;
  const target = named ?? host();
  if (!(target in TARGETS))
    throw new Refused(`There is no package for ${target}. There are packages for ${Object.keys(TARGETS).join(", ")}.`);
  const program = programFor(target, binary);
  const why = named === undefined ? undefined : tooNew(program, target);
  if (why !== undefined) throw new Refused(why);
  const inputs = await bundle();
  const { text, count } = notices({ inputs: inputs.map((input) => join(root, input)), repository, triple: TARGETS[target].triple });
  lay(target, program, text);
  const name = named === undefined ? "threadhold.vsix" : `threadhold-${target}.vsix`;
  const out = join(root, "dist", name);
  // What npm puts into .bin is, on Windows, nothing that can be spawned.
  const vsce = join(root, "node_modules/@vscode/vsce/vsce");
  const links = pictures === undefined ? ["--no-rewrite-relative-links"] : ["--baseImagesUrl", pictures];
  const args = ["package", "--target", target, "--no-dependencies", "--allow-missing-repository", ...links, "--out", out];
  const packed = spawnSync(process.execPath, [vsce, ...args], { cwd: stage, encoding: "utf8" });
  const said = `${packed.stdout}${packed.stderr}`;
  if (packed.status !== 0) throw new Refused(`vsce did not pack: ${said}`);
  if (/\bWARNING\b/.test(said)) throw new Refused(`vsce packed, and has something to say of it: ${said}`);
  report(target, program, out, count);
}

/** The program that goes in. */
function programFor(target, given) {
  const { triple, program } = TARGETS[target];
  const folder = process.env["THREADHOLD_BINARIES"];
  const built = resolve(repository, process.env["CARGO_TARGET_DIR"] ?? "target");
  const places =
    given !== undefined
      ? [resolve(given)]
      : [
          ...(folder === undefined ? [] : [resolve(folder, triple, program)]),
          join(built, triple, "release", program),
          ...(target === host() ? [join(built, "release", program)] : []),
        ];
  const found = places.find((place) => existsSync(place));
  if (found === undefined) {
    const looked = places.map((place) => relative(process.cwd(), place)).join(", ");
    throw new Refused(
      `There is no program for ${target}; it was looked for at ${looked}.\nBuild it with \`cargo build --release --target ${triple}\`, ` +
        `or name a folder that has ${triple}/${program} in THREADHOLD_BINARIES.`,
    );
  }
  const why = misfit(found, target);
  if (why !== undefined) throw new Refused(`${why} Name another one with --binary.`);
  return found;
}

/** Lays all that goes in into a folder of its own, so that what lies about here cannot come along. */
function lay(target, program, notices) {
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(join(stage, "dist"), { recursive: true });
  mkdirSync(join(stage, "bin"));
  for (const name of ["extension.cjs", "panel.js", "panel.css", "math.js", "diagrams.js", "rules.js", "rules.css"])
    copyFileSync(join(root, "dist", name), join(stage, "dist", name));
  cpSync(join(root, "media"), join(stage, "media"), { recursive: true });
  copyFileSync(join(root, "README.md"), join(stage, "README.md"));
  copyFileSync(join(repository, "CHANGELOG.md"), join(stage, "CHANGELOG.md"));
  const bundled = join(stage, "bin", TARGETS[target].program);
  copyFileSync(program, bundled);
  chmodSync(bundled, 0o755);
  const { scripts: _, devDependencies: __, private: ___, ...manifest } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  writeFileSync(join(stage, "package.json"), JSON.stringify(manifest, null, 2));
  const own = ["MIT", "APACHE"].map((name) => readFileSync(join(repository, `LICENSE-${name}`), "utf8").trim());
  const choice = `threadhold is under ${manifest.license}: one of these, at your choice. What it holds of others is in ThirdPartyNotices.txt.`;
  writeFileSync(join(stage, "LICENSE.txt"), `${[choice, ...own].join(`\n\n${"-".repeat(80)}\n\n`)}\n`);
  writeFileSync(join(stage, "ThirdPartyNotices.txt"), notices);
  // All that is here goes in.
  writeFileSync(join(stage, ".vscodeignore"), ".vscodeignore\n");
}

function report(target, program, out, count) {
  const files = readdirSync(stage, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const sizes = files.map((file) => ({ name: relative(stage, file), size: statSync(file).size })).sort((a, b) => b.size - a.size);
  const line = (name, size) => console.log(`${(size / 1000).toFixed(1).padStart(10)} kB  ${name}`);
  for (const { name, size } of sizes.filter(({ size }) => size >= 10_000)) line(name, size);
  const small = sizes.filter(({ size }) => size < 10_000);
  line(
    `${small.length} smaller files`,
    small.reduce((sum, { size }) => sum + size, 0),
  );
  line(relative(process.cwd(), out), statSync(out).size);
  const glibc = glibcOf(program);
  const needs =
    glibc === undefined
      ? ""
      : `, which needs glibc ${glibc}${tooNew(program, target) === undefined ? "" : ": it may not start on other machines"}`;
  console.log(`${target}, with ${relative(process.cwd(), program)}${needs}; terms of ${count} packages of others`);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.error(`editors/vscode: ${error.message}`);
  process.exitCode = 1;
}
