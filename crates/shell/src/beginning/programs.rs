//! Programs of which rules can be made, and their options that no rule covers.

/// Programs with commands of their own, and those of which a rule may be made. The others run programs that their
/// arguments name, or set what later commands run.
pub(super) const SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("brew", &["info", "list", "outdated", "search"]),
    ("bun", &["add", "install", "test"]),
    (
        "cargo",
        &[
            "add",
            "audit",
            "b",
            "bench",
            "build",
            "c",
            "check",
            "clean",
            "clippy",
            "d",
            "deny",
            "doc",
            "fetch",
            "fmt",
            "info",
            "locate-project",
            "machete",
            "metadata",
            "nextest",
            "r",
            "remove",
            "run",
            "search",
            "t",
            "test",
            "tree",
            "update",
            "version",
        ],
    ),
    ("deno", &["check", "fmt", "info", "lint", "test"]),
    ("docker", &["images", "inspect", "logs", "port", "ps", "stats", "top", "version"]),
    ("dotnet", &["build", "clean", "format", "list", "restore", "test"]),
    (
        "git",
        &[
            "add",
            "blame",
            "branch",
            "checkout",
            "cherry-pick",
            "commit",
            "describe",
            "diff",
            "fetch",
            "grep",
            "log",
            "ls-files",
            "ls-tree",
            "merge",
            "merge-base",
            "mv",
            "pull",
            "push",
            "reflog",
            "reset",
            "restore",
            "rev-list",
            "rev-parse",
            "revert",
            "rm",
            "shortlog",
            "show",
            "stash",
            "status",
            "switch",
            "tag",
        ],
    ),
    ("go", &["build", "doc", "fmt", "list", "mod", "test", "version", "vet"]),
    ("kubectl", &["describe", "get", "logs", "top", "version"]),
    ("mix", &["compile", "deps.get", "format", "test"]),
    (
        "npm",
        &[
            "audit",
            "ci",
            "i",
            "info",
            "install",
            "list",
            "ls",
            "outdated",
            "search",
            "t",
            "test",
            "uninstall",
            "view",
            "why",
        ],
    ),
    ("pip", &["check", "freeze", "install", "list", "show"]),
    ("pnpm", &["add", "audit", "i", "install", "list", "ls", "outdated", "t", "test", "why"]),
    ("ruff", &["check", "format"]),
    ("rustup", &["show", "which"]),
    ("swift", &["build", "package", "test"]),
    ("systemctl", &["is-active", "list-units", "status"]),
    ("uv", &["lock", "sync", "tree", "version"]),
    ("yarn", &["add", "audit", "info", "install", "list", "outdated", "test", "why"]),
];
/// Programs that run what a file of the project says under a name.
pub(super) const TARGETS: &[&str] = &["gmake", "gradle", "gradlew", "just", "make", "rake", "task"];
/// Programs whose `run` runs a script of the package by its name.
pub(super) const SCRIPTS: &[&str] = &["bun", "npm", "pnpm", "yarn"];
/// Modules of Python that make a rule.
pub(super) const MODULES: &[&str] =
    &["black", "compileall", "flake8", "mypy", "pylint", "pytest", "ruff", "unittest"];

/// Programs of which no rule is made, because they run what their arguments or their input say, change what later
/// commands mean, reach other machines, or stop what is not theirs.
// A word a line would be too long a list.
#[rustfmt::skip]
pub(super) const NEVER: &[&str] = &[
    // Shells and their own commands.
    ".", ":", "[", "alias", "ash", "bash", "bind", "builtin", "busybox", "cmd", "command", "complete",
    "csh", "dash", "declare", "elvish", "enable", "eval", "exec", "export", "fc", "fish", "function",
    "getopts", "hash", "history", "ksh", "let", "local", "mapfile", "mksh", "nu", "oksh", "osh", "posh",
    "powershell", "printf", "pwsh", "rbash", "read", "readarray", "readonly", "set", "setopt", "sh",
    "shopt", "source", "tcsh", "test", "toybox", "trap", "typeset", "unalias", "unset", "xonsh", "yash",
    "ysh", "zmodload", "zsh",
    // Programs that run another one.
    "7z", "ansible", "ant", "apply_patch", "applypatch", "asdf", "at", "batch", "bazel", "bazelisk",
    "bsdtar", "buck", "bundle", "bundler", "bunx", "cabal", "caffeinate", "chronic", "choom", "chroot", "chrt",
    "cmake", "code", "composer", "concurrently", "conda", "coproc", "corepack", "cpulimit", "cross-env", "cross-env-shell", "crontab", "ctest", "dart",
    "dbus-launch", "dbus-run-session", "devenv", "direnv", "doas", "docker-compose", "dotenv", "dtach",
    "dune", "electron", "entr", "env", "expect", "faketime", "fakeroot", "firejail", "flock", "flutter", "fnm", "gem",
    "gosu", "gtar", "gtimeout", "hatch", "hyperfine", "ionice", "launchctl", "ldd", "lein", "lerna",
    "login", "ltrace", "lxc", "mamba", "man", "meson", "mise", "moreutils", "mvn", "mvnw", "nerdctl",
    "newgrp", "nice", "ninja", "nix", "nix-shell", "nodemon", "nohup", "nox", "npm-run-all", "npx", "nsenter", "numactl", "nvm", "nx",
    "op", "opam", "parallel", "pdm", "perf", "pipenv", "pipx", "pkexec", "pnpx", "podman", "prlimit", "poetry",
    "proot", "proxychains", "pyenv", "rails", "rbenv", "rclone", "rlwrap", "rsync", "rtx", "run-parts",
    "runuser", "sbt", "scons", "screen", "script", "setarch", "setpriv", "setsid", "sg", "split",
    "ssh-agent", "stack", "start-stop-daemon", "stdbuf", "strace", "su", "su-exec", "sudo", "systemd-run",
    "tar", "taskset", "time", "timeout", "tmux", "torsocks", "tox", "turbo", "unbuffer", "unshare", "unzip",
    "uniq", "uvx", "vagrant", "valgrind", "volta", "watch", "watchexec", "wsl", "xargs", "xvfb-run", "xxd", "zip",
    // Interpreters, compilers, debuggers and editors.
    "awk", "bpython", "c++", "cc", "clang", "clang++", "clisp", "cpp", "dc", "duckdb", "ed", "elixir", "emacs", "erl",
    "ex", "g++", "gawk", "gcc", "gdb", "ghc", "ghci", "gnuplot", "groovy", "gsed", "guile", "iex", "ipython", "irb",
    "java", "jshell", "julia", "kotlin", "ld", "less", "lldb", "lua", "luajit", "m4", "mawk", "more",
    "mysql", "nano", "nawk", "node", "nodejs", "nvim", "ocaml", "octave", "osascript", "perl", "php",
    "psql", "pypy", "python", "python2", "python3", "r", "racket", "rlang", "rscript", "ruby", "runghc",
    "rust-script", "rustc", "rustdoc", "scala", "scheme", "sed", "sqlite", "swiftc", "tclsh", "ts-node",
    "tsx", "vi", "vim", "wish", "zig",
    // Other machines, other processes, the system.
    "aws", "az", "curl", "firebase", "fly", "ftp", "gcloud", "glab", "helm", "heroku", "hg", "http", "hub",
    "kill", "killall", "mosh", "nc", "ncat", "netcat", "netlify", "open", "pkill", "poweroff", "pulumi",
    "reboot", "scp", "sftp", "shutdown", "socat", "ssh", "sshpass", "telnet", "terraform", "vercel", "wget",
    "xdg-open", "xh",
];

/// Options with which a program runs another one, takes its instructions from elsewhere, or writes to a file. `=` stands
/// for a word that sets a variable.
pub(super) const ESCAPES: &[(&str, &[&str])] = &[
    ("bun", &["--shell", "--eval", "--cwd", "--preload", "-e", "-r"]),
    ("cargo", &["--config", "-Z"]),
    ("fd", &["--exec", "--exec-batch", "-x", "-X"]),
    ("fdfind", &["--exec", "--exec-batch", "-x", "-X"]),
    ("find", &["-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"]),
    (
        "git",
        &[
            "--config",
            "--exec",
            "--ext-diff",
            "--open-files-in-pager",
            "--output",
            "--receive-pack",
            "--textconv",
            "--upload-pack",
            "-O",
            "-c",
        ],
    ),
    ("gmake", MAKE),
    (
        "go",
        &[
            "-asmflags",
            "-C",
            "-exec",
            "-gccgoflags",
            "-gcflags",
            "-ldflags",
            "-modfile",
            "-o",
            "-overlay",
            "-toolexec",
            "-vettool",
        ],
    ),
    ("gradle", GRADLE),
    ("gradlew", GRADLE),
    ("just", &["--command", "--justfile", "--set", "--shell", "--working-directory", "-c", "-d", "-f", "="]),
    ("make", MAKE),
    ("npm", PACKAGES),
    ("pnpm", PACKAGES),
    ("pylint", &["--init-hook", "--load-plugins"]),
    ("rake", &["--execute", "--rakefile", "--require", "-E", "-e", "-f", "-p", "-r", "="]),
    ("rg", &["--hostname-bin", "--pre"]),
    ("sort", &["--compress-program", "--output", "-o"]),
    ("task", &["--dir", "--taskfile", "-d", "-t", "="]),
    ("tree", &["-o"]),
    ("yarn", PACKAGES),
];
const MAKE: &[&str] =
    &["--directory", "--eval", "--file", "--include-dir", "--makefile", "-C", "-E", "-I", "-f", "="];
const GRADLE: &[&str] =
    &["--build-file", "--include-build", "--init-script", "--project-dir", "-I", "-b", "-p"];
const PACKAGES: &[&str] =
    &["--cwd", "--dir", "--node-options", "--prefix", "--script-shell", "--shell", "-C"];
