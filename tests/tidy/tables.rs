//! Permitted dependencies between crates, modules of the sidecar and modules of the engine, and trees above a
//! limit of shape.

/// Permitted dependencies of each crate, without tests. A crate that is not listed may have none.
pub const CRATES: &[(&str, &[&str])] = &[
    ("engine", &["regex", "schemars", "serde", "serde_json", "sha2", "shell", "thiserror", "toml"]),
    ("session", &["engine", "serde", "serde_json", "thiserror"]),
    ("protocol", &["engine", "schemars", "serde", "serde_json", "thiserror"]),
    (
        "store",
        &[
            "engine",
            "humantime",
            "rusqlite",
            "serde",
            "serde_json",
            "session",
            "thiserror",
            "tracing",
            "uuid",
        ],
    ),
    (
        "models",
        &[
            "engine",
            "futures-util",
            "httpdate",
            "reqwest",
            "rustls",
            "secrecy",
            "serde",
            "serde_json",
            "thiserror",
            "tokio",
            "tokio-tungstenite",
            "toml",
        ],
    ),
    ("shell", &["tree-sitter", "tree-sitter-bash"]),
    ("worktree", &["engine", "thiserror"]),
    ("import", &["engine", "humantime", "serde", "serde_json", "thiserror"]),
    (
        "rpc",
        &[
            "futures-util",
            "serde",
            "serde_json",
            "thiserror",
            "tokio",
            "tower-lsp",
            "tower-service",
            "tracing",
        ],
    ),
];

/// Modules and crates that the sidecar's modules may name. A module that is not listed may name none.
pub const LAYERS: &[(&str, &[&str])] = &[
    ("main", &["commands"]),
    ("lib", &[]),
    (
        "commands",
        &[
            "convert",
            "engine",
            "import",
            "models",
            "protocol",
            "replay",
            "rpc",
            "server",
            "session",
            "shell",
            "store",
            "tokenizer",
            "tool",
            "trajectory",
        ],
    ),
    (
        "server",
        &[
            "convert",
            "engine",
            "import",
            "models",
            "protocol",
            "replay",
            "rpc",
            "session",
            "store",
            "tokenizer",
            "tool",
            "trajectory",
            "worktree",
        ],
    ),
    ("convert", &["engine", "protocol", "session", "shell", "worktree"]),
    ("trajectory", &["engine", "import"]),
    ("replay", &["engine", "import", "models", "session"]),
    ("tool", &["engine"]),
    ("tokenizer", &["engine"]),
];

/// Edges between the engine's modules. `compact::record` is separate because it is vocabulary: the transcript
/// stores it, and prompts are rendered from it.
pub const ENGINE: &[(&str, &[&str])] = &[
    ("id", &[]),
    ("cost", &[]),
    ("endpoint", &[]),
    ("words", &[]),
    ("settings", &["id"]),
    ("estimate", &["settings"]),
    ("text", &[]),
    ("tokens", &[]),
    ("message", &["cost", "id", "text", "tokens"]),
    ("compact::record", &["cost", "id", "message"]),
    ("delta", &["message"]),
    ("approval", &["message", "text"]),
    ("scope", &["message", "text"]),
    ("search", &["id", "message", "text"]),
    ("memory", &["id", "message", "search", "text", "tokens"]),
    ("transcript", &["compact::record", "id", "message", "text", "tokens"]),
    (
        "prompt",
        &[
            "approval",
            "compact::record",
            "delta",
            "id",
            "message",
            "settings",
            "text",
            "tokens",
            "transcript",
        ],
    ),
    (
        "compact",
        &["compact::record", "id", "message", "prompt", "scope", "settings", "text", "tokens", "transcript"],
    ),
];
