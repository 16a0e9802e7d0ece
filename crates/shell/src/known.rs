//! Programs that leave the files of a worktree alone. Every other program without a rule of its own may change files.

use crate::options::{NONE, Options};
use crate::word::Word;

/// Programs that only show, compute, or change what is no file's content. Builds and tests write their own output.
const HARMLESS: &[&str] = &[
    ":",
    "[",
    "ack",
    "ag",
    "alias",
    "arch",
    "awk",
    "base64",
    "basename",
    "bg",
    "break",
    "cal",
    "cargo-nextest",
    "cd",
    "chmod",
    "chown",
    "cksum",
    "clear",
    "cmp",
    "column",
    "comm",
    "continue",
    "ctest",
    "cut",
    "date",
    "df",
    "diff",
    "dig",
    "dirname",
    "dirs",
    "disown",
    "du",
    "echo",
    "egrep",
    "exa",
    "exit",
    "expand",
    "export",
    "expr",
    "eza",
    "fc",
    "fd",
    "fdfind",
    "fg",
    "fgrep",
    "file",
    "flake8",
    "fmt",
    "fold",
    "free",
    "getconf",
    "getent",
    "getopts",
    "gh",
    "grep",
    "groups",
    "gron",
    "hash",
    "hexdump",
    "hexyl",
    "history",
    "host",
    "hostname",
    "htop",
    "id",
    "info",
    "jobs",
    "join",
    "jq",
    "kill",
    "killall",
    "last",
    "ldd",
    "let",
    "local",
    "locale",
    "logname",
    "look",
    "ls",
    "lsb_release",
    "lscpu",
    "lsof",
    "man",
    "mapfile",
    "md5",
    "md5sum",
    "mktemp",
    "mypy",
    "netstat",
    "nm",
    "nproc",
    "nslookup",
    "objdump",
    "od",
    "otool",
    "paste",
    "pgrep",
    "ping",
    "pkill",
    "popd",
    "printenv",
    "printf",
    "ps",
    "pstree",
    "pushd",
    "pwd",
    "pyright",
    "read",
    "readarray",
    "readelf",
    "readlink",
    "realpath",
    "return",
    "rev",
    "rg",
    "ripgrep",
    "sed",
    "seq",
    "set",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "shasum",
    "shellcheck",
    "shift",
    "shopt",
    "shuf",
    "size",
    "sleep",
    "ss",
    "stat",
    "stty",
    "strings",
    "sum",
    "sw_vers",
    "sync",
    "sysctl",
    "tail",
    "test",
    "times",
    "tokei",
    "top",
    "tput",
    "tr",
    "tree",
    "true",
    "false",
    "tty",
    "type",
    "typeset",
    "declare",
    "readonly",
    "ulimit",
    "umask",
    "unalias",
    "uname",
    "unexpand",
    "uniq",
    "unset",
    "uptime",
    "users",
    "vm_stat",
    "w",
    "wait",
    "wc",
    "whatis",
    "whereis",
    "which",
    "who",
    "whoami",
    "xxd",
    "yes",
    "zcat",
    "zgrep",
    "scc",
    "cloc",
    "lsblk",
    "cat",
    "compgen",
    "complete",
    "enable",
    "ts",
    "pbpaste",
];
/// Runners of tests and checks: they leave sources alone unless told to update or to fix them.
const CHECKERS: &[&str] = &[
    "actionlint",
    "biome",
    "black",
    "clippy-driver",
    "eslint",
    "gofmt",
    "goimports",
    "isort",
    "jest",
    "karma",
    "mocha",
    "mypy",
    "oxlint",
    "phpunit",
    "playwright",
    "prettier",
    "pylint",
    "pytest",
    "rspec",
    "ruff",
    "rustfmt",
    "shfmt",
    "staticcheck",
    "stylelint",
    "tox",
    "tsc",
    "typos",
    "vitest",
    "clang-format",
    "clang-tidy",
    "golangci-lint",
];
/// Programs that write sources unless an option says that they only check.
const FORMATTERS: &[&str] = &["black", "isort", "rustfmt", "ruff format", "cargo fmt"];
/// Options with which a formatter only checks.
const CHECKING: &[&str] = &["check", "check-only", "diff", "l", "list-different", "c"];
/// Options with which a checker changes files.
const CHANGING: &[&str] = &[
    "fix",
    "fix-dry-run",
    "fix-only",
    "unsafe-fixes",
    "write",
    "w",
    "u",
    "update",
    "updateSnapshot",
    "update-snapshots",
    "apply",
    "bless",
    "snapshot-update",
    "i",
    "write-changes",
    "emit",
    "init",
    "outFile",
    "outDir",
    "out",
];
/// Commands of programs that leave sources alone.
const COMMANDS: &[(&str, &[&str])] = &[
    (
        "cargo",
        &[
            "audit",
            "b",
            "bench",
            "build",
            "c",
            "check",
            "clippy",
            "d",
            "deny",
            "doc",
            "fmt",
            "help",
            "info",
            "locate-project",
            "metadata",
            "nextest",
            "pkgid",
            "search",
            "t",
            "test",
            "tree",
            "verify-project",
            "version",
            "expand",
            "machete",
            "bloat",
        ],
    ),
    ("go", &["build", "doc", "env", "help", "list", "test", "tool", "version", "vet"]),
    (
        "npm",
        &[
            "audit", "help", "info", "list", "ls", "outdated", "ping", "root", "search", "t", "test", "view",
            "whoami", "config", "bin", "explain", "why",
        ],
    ),
    ("pnpm", &["audit", "list", "ls", "outdated", "root", "t", "test", "why"]),
    ("yarn", &["audit", "info", "list", "outdated", "test", "why"]),
    ("bun", &["test"]),
    ("deno", &["check", "info", "lint", "test"]),
    ("pip", &["check", "freeze", "list", "show"]),
    ("pip3", &["check", "freeze", "list", "show"]),
    ("docker", &["images", "inspect", "logs", "port", "ps", "stats", "top", "version"]),
    ("kubectl", &["describe", "get", "logs", "top", "version"]),
    ("systemctl", &["status", "is-active", "list-units"]),
    ("rustup", &["show", "which"]),
    ("gradle", &["test", "check", "build"]),
    ("gradlew", &["test", "check", "build"]),
    ("mvn", &["test", "verify", "compile"]),
    ("dotnet", &["test", "build"]),
    ("swift", &["test", "build"]),
    ("mix", &["test", "compile"]),
    ("uv", &["tree", "version"]),
];
/// Scripts of packages that leave sources alone if they do what they are called; before a colon.
const SCRIPTS: &[&str] = &["check", "test", "type-check", "typecheck"];
/// Python modules that run as programs and leave sources alone.
const MODULES: &[&str] =
    &["json.tool", "mypy", "pytest", "unittest", "pyflakes", "compileall", "flake8", "pylint"];
/// Parts of `gh` that write files.
const GH_WRITES: &[(&str, &str)] = &[
    ("pr", "checkout"),
    ("repo", "clone"),
    ("repo", "sync"),
    ("release", "download"),
    ("run", "download"),
    ("gist", "clone"),
];

/// `true` if a program may change files that its arguments do not name. `words` are those after its name.
pub(crate) fn may_change(program: &str, words: &[Word]) -> bool {
    let options = Options::of(words, &NONE);
    let texts: Vec<&str> = words.iter().map(|word| &*word.text).collect();
    let is_informing = matches!(texts.as_slice(), ["--version" | "-V" | "--help" | "-h" | "version"]);
    let command = options.operands.first().map_or("", |word| &*word.text);
    let changes = || texts.iter().any(|word| is_changing(word));
    if is_informing {
        return false;
    }
    if let Some((_, commands)) = COMMANDS.iter().find(|(known, _)| *known == program) {
        // `cargo +nightly test`
        let command = options.operands.iter().map(|word| &*word.text).find(|word| !word.starts_with('+'));
        let command = command.unwrap_or_default();
        let is_formatting = FORMATTERS.contains(&format!("{program} {command}").as_str());
        let script = options.operands.get(1).and_then(|word| word.text.split(':').next()).unwrap_or_default();
        let has_script = command == "run" && SCRIPTS.contains(&script);
        let is_known = (command.is_empty() && program != "yarn") || commands.contains(&command) || has_script;
        return !is_known || changes() || (is_formatting && !options.has(CHECKING));
    }
    match program {
        "python" | "python3" => {
            let module = texts.iter().skip_while(|word| **word != "-m").nth(1);
            module.is_none_or(|module| !MODULES.contains(module))
        }
        "make" | "gmake" | "just" | "rsync" => !options.has(&["n", "dry-run", "just-print", "l", "list"]),
        "tar" => !(texts.first().is_some_and(|first| first.contains('t')) || options.has(&["t", "list"])),
        "unzip" => !options.has(&["l", "t", "Z", "p"]),
        "wget" => !options.has(&["spider"]) && !texts.iter().any(|word| word.ends_with("O-")),
        "tsc" => !options.has(&["noEmit"]) && !texts.contains(&"--noEmit"),
        "prettier" | "biome" | "shfmt" | "gofmt" | "goimports" | "clang-format" => changes(),
        "ruff" => (command == "format" && !options.has(CHECKING)) || changes(),
        "gh" => {
            let pair = options.operands.get(1).map(|second| (command, &*second.text));
            pair.is_some_and(|pair| GH_WRITES.contains(&pair))
        }
        _ if FORMATTERS.contains(&program) => !options.has(CHECKING),
        _ if CHECKERS.contains(&program) => changes(),
        _ => !HARMLESS.contains(&program),
    }
}

/// `true` for an option, as a word of its own, with which a checker changes files.
fn is_changing(word: &str) -> bool {
    let (option, value) = word.split_once('=').unwrap_or((word, ""));
    let name = option.strip_prefix("--").filter(|name| name.len() > 1).or_else(|| option.strip_prefix('-'));
    name.is_some_and(|name| CHANGING.contains(&name)) && !["false", "no", "off"].contains(&value)
}

/// `true` for a program whose success is a condition for what follows `&&`.
pub(crate) fn is_condition(program: &str) -> bool {
    [
        "[", "cmp", "command", "diff", "egrep", "false", "fgrep", "grep", "hash", "pgrep", "rg", "test",
        "type", "which",
    ]
    .contains(&program)
}
