// The platforms for which there is a package: what VS Code calls each, and what Rust does. A platform is added here and
// nowhere else. Building a binary is not done here.

import { existsSync, readFileSync } from "node:fs";

/** The oldest glibc that VS Code's own server runs on: with a program that asks for no newer one, who has the editor has all. */
const GLIBC = "2.28";

/** By VS Code's name: Rust's triple, the program's file name, how a program for it begins, the newest glibc that it may need. */
export const TARGETS = {
  "linux-x64": { triple: "x86_64-unknown-linux-gnu", program: "threadhold", is: elf(0x3e), glibc: GLIBC },
  "linux-arm64": { triple: "aarch64-unknown-linux-gnu", program: "threadhold", is: elf(0xb7), glibc: GLIBC },
  "alpine-x64": { triple: "x86_64-unknown-linux-musl", program: "threadhold", is: elf(0x3e) },
  "alpine-arm64": { triple: "aarch64-unknown-linux-musl", program: "threadhold", is: elf(0xb7) },
  "darwin-x64": { triple: "x86_64-apple-darwin", program: "threadhold", is: mach(0x01000007) },
  "darwin-arm64": { triple: "aarch64-apple-darwin", program: "threadhold", is: mach(0x0100000c) },
  "win32-x64": { triple: "x86_64-pc-windows-msvc", program: "threadhold.exe", is: pe(0x8664) },
  "win32-arm64": { triple: "aarch64-pc-windows-msvc", program: "threadhold.exe", is: pe(0xaa64) },
};

/** The platform of this machine, in VS Code's words. */
export function host() {
  const system = process.platform === "linux" && existsSync("/etc/alpine-release") ? "alpine" : process.platform;
  return `${system}-${process.arch}`;
}

/** Says why a file is no program for a platform; undefined where it is one. */
export function misfit(file, target) {
  const bytes = readFileSync(file);
  if (!TARGETS[target].is(bytes)) return `${file} is no program for ${target}.`;
  const libc = bytes.includes("ld-linux-") ? "glibc" : bytes.includes("ld-musl-") ? "musl" : undefined;
  if (target.startsWith("alpine-") && libc === "glibc") return `${file} needs glibc, which ${target} does not have.`;
  if (target.startsWith("linux-") && libc === "musl") return `${file} needs musl as a library, which ${target} does not have.`;
  return undefined;
}

/** Says why a program does not start on some machines of a platform, and what to do; undefined where it starts on all. */
export function tooNew(file, target) {
  const { glibc: floor, triple } = TARGETS[target];
  const asked = glibcOf(file);
  if (floor === undefined || asked === undefined || minor(asked) <= minor(floor)) return undefined;
  return (
    `${file} needs glibc ${asked}, and ${target} is promised from glibc ${floor} on, as the editor itself is.\n` +
    `Build it with \`cargo zigbuild --release --target ${triple}.${floor}\`. For machines like this one, pack it without --target.`
  );
}

function minor(version) {
  return Number(version.split(".")[1]);
}

/** The newest glibc that a program asks for, such as 2.34; undefined where it asks for none. */
export function glibcOf(file) {
  const asked = [...readFileSync(file, "latin1").matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor));
  return asked.length === 0 ? undefined : `2.${Math.max(...asked)}`;
}

function elf(machine) {
  return (bytes) => bytes.length >= 64 && bytes.readUInt32BE(0) === 0x7f454c46 && bytes.readUInt16LE(18) === machine;
}

function mach(cpu) {
  return (bytes) => bytes.length >= 32 && bytes.readUInt32LE(0) === 0xfeedfacf && bytes.readUInt32LE(4) === cpu;
}

function pe(machine) {
  return (bytes) => {
    if (bytes.length < 64 || bytes.readUInt16LE(0) !== 0x5a4d) return false;
    const header = bytes.readUInt32LE(0x3c);
    return bytes.length >= header + 6 && bytes.readUInt32BE(header) === 0x50450000 && bytes.readUInt16LE(header + 4) === machine;
  };
}
