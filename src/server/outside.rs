//! Settings that come neither over the wire nor from a policy: flags, the environment, files. Covers their
//! sources and syntax; `settings` covers their meaning.

use super::settings::{Fault, Layer, is_policy_file, names, nearest, other_names};
use super::watch::{Found, Look};
use secrecy::SecretString;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::de::Error as NoToml;

/// Settings of the command line.
#[derive(Debug, Clone, Default)]
pub struct Flags(pub(super) Layer);

/// A flag that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// The argument is not a name with a value.
    #[error("--set takes name=value, such as --set triggers.messages=40")]
    NoPair,
    /// The setting cannot be used.
    #[error("{0}")]
    Setting(String),
}

impl Flags {
    /// Parses `--policy` and each `--set`.
    ///
    /// # Errors
    /// Fails with the first flag that cannot be used.
    pub fn read(policy: Option<&str>, set: &[String]) -> Result<Self, FlagError> {
        let mut given: Vec<Given> = Vec::new();
        let policy = policy.map(|policy| ("policy", policy, "--policy"));
        let pairs = set.iter().map(|pair| pair.split_once('=').ok_or(FlagError::NoPair));
        let pairs: Vec<(&str, &str)> = pairs.collect::<Result<_, _>>()?;
        // The last one of a name wins, as usual on a command line.
        for (name, text, place) in policy.into_iter().chain(pairs.into_iter().map(|(n, v)| (n, v, "--set"))) {
            let (name, text) = (name.trim().to_owned(), text.to_owned());
            given.retain(|earlier| earlier.name != name);
            given.push(Given { name, text, place: place.to_owned() });
        }
        let (layer, faults) = layer(given);
        match faults.first() {
            Some(fault) => Err(FlagError::Setting(fault.to_string())),
            None => Ok(Self(layer)),
        }
    }
}

/// A setting as a line of text.
struct Given {
    name: String,
    text: String,
    place: String,
}

/// Variables that are not named after a setting, with their settings.
const OTHER_NAMES: &[(&str, &str)] =
    &[("OPENAI_SUMMARY_MODEL", "summaryModel"), ("OPENAI_SUMMARY_URL", "summaryBaseUrl")];

const PREFIX: &str = "THREADHOLD_";

/// Variables of the project's own tools and tests, which may reach a sidecar: they are not reported as
/// unknown.
const OF_TOOLS: &[&str] = &[
    "THREADHOLD_BIN",
    "THREADHOLD_COPIES",
    "THREADHOLD_CORPUS",
    "THREADHOLD_CRASHES",
    "THREADHOLD_EDITOR",
    "THREADHOLD_KILLS",
    "THREADHOLD_SHOTS",
    "THREADHOLD_TEST_STORE",
    "THREADHOLD_TEST_UPGRADE",
    "THREADHOLD_TURNS",
    "THREADHOLD_WIRE_COMPARE",
    "THREADHOLD_WIRE_ONLY",
    "THREADHOLD_WIRE_SERVER",
];

/// The variable that names the user's file.
pub(super) const USERS_FILE: &str = "THREADHOLD_CONFIG";

/// Parses settings in variables. Returns them with their faults. An empty variable counts as not set.
pub(super) fn environment(variables: impl Iterator<Item = (String, String)>) -> (Layer, Vec<String>) {
    let is_ours =
        |name: &str| name.starts_with(PREFIX) || OTHER_NAMES.iter().any(|(other, _)| *other == name);
    let is_a_tools = |name: &String| OF_TOOLS.contains(&name.as_str());
    let mut ours: BTreeMap<String, String> =
        variables.filter(|(name, value)| is_ours(name) && !value.is_empty()).collect();
    let is_storage = |name: &String| storage_variables().any(|(variable, _)| variable == *name);
    ours.retain(|name, _| name != USERS_FILE && !is_a_tools(name) && !is_storage(name));
    if ours.is_empty() {
        return (Layer::default(), Vec::new());
    }
    let documents = OTHER_NAMES.iter().map(|(variable, name)| ((*variable).to_owned(), (*name).to_owned()));
    let others = other_names().map(|(other, _)| (variable(other), other.to_owned()));
    let named = names().map(|name| (variable(&name), name));
    let known: Vec<(String, String)> = documents.chain(others).chain(named).collect();
    // Ours last: they win.
    let mut given: Vec<Given> = Vec::new();
    for (variable, name) in &known {
        if let Some(text) = ours.get(variable) {
            given.retain(|earlier| earlier.name != *name);
            given.push(Given { name: name.clone(), text: text.clone(), place: variable.clone() });
        }
    }
    let unknown = ours.keys().filter(|name| known.iter().all(|(variable, _)| variable != *name));
    let unknown = unknown.map(|name| {
        let bare = |name: &str| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
        let near = nearest(&bare(name), known.iter().map(|(variable, _)| bare(variable)));
        let near: Vec<String> = near.iter().map(|bare| format!("{PREFIX}{bare}")).collect();
        let near = if near.is_empty() { String::new() } else { format!("; similar: {}", near.join(", ")) };
        format!("{name}: unknown setting{near}")
    });
    let unknown: Vec<String> = unknown.collect();
    let (layer, faults) = layer(given);
    (layer, faults.iter().map(Fault::to_string).chain(unknown).collect())
}

/// The variable of a setting: `triggers.preTurnTokens` is `THREADHOLD_TRIGGERS_PRE_TURN_TOKENS`.
pub(super) fn variable(name: &str) -> String {
    let mut variable = PREFIX.to_owned();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            variable.push('_');
        }
        variable.push(if c == '.' { '_' } else { c.to_ascii_uppercase() });
    }
    variable
}

/// Parses settings given as text. Parts of one setting are parsed together.
fn layer(given: Vec<Given>) -> (Layer, Vec<Fault>) {
    let (mut layer, mut faults) = (Layer::default(), Vec::new());
    let mut parts: BTreeMap<String, (Map<String, Value>, String)> = BTreeMap::new();
    for Given { name, text, place } in given {
        let whole =
            name.split_once('.').map(|(whole, _)| whole).filter(|whole| names().any(|name| name == *whole));
        if let Some(whole) = whole {
            let (all, _) = parts.entry(whole.to_owned()).or_insert_with(|| (Map::new(), place));
            all.insert(name, values(&text).into_iter().next().unwrap_or_default());
            continue;
        }
        let tried = values(&text)
            .into_iter()
            .map(|value| Layer::written([(name.clone(), value)].into_iter().collect(), Some(&place)));
        let tried: Vec<(Layer, Vec<Fault>)> = tried.collect();
        let good = tried.iter().position(|(_, faults)| faults.is_empty()).unwrap_or(0);
        if let Some((one, found)) = tried.into_iter().nth(good) {
            layer = layer.under(one);
            faults.extend(found);
        }
    }
    for (all, place) in parts.into_values() {
        let (one, found) = Layer::written(all, Some(&place));
        layer = layer.under(one);
        faults.extend(found);
    }
    (layer, faults)
}

/// Possible readings of a text, the likeliest first: a JSON literal, a string, a list of strings.
fn values(text: &str) -> Vec<Value> {
    let items = text.split(',').map(|item| Value::from(item.trim()));
    let list = Value::Array(items.filter(|item| item != "").collect());
    let literal = serde_json::from_str::<Value>(text).ok().filter(|value| !value.is_null());
    literal.into_iter().chain([Value::from(text), list]).collect()
}

/// The user's file: the one that `THREADHOLD_CONFIG` names, none if that is empty, else the one in the
/// platform's configuration folder.
pub(super) fn user_file(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    if let Some(named) = variable(USERS_FILE) {
        let file = (!named.is_empty()).then(|| PathBuf::from(named))?;
        // Absolute, because it is watched and the working directory may change.
        return Some(std::path::absolute(&file).unwrap_or(file));
    }
    let set = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = if cfg!(windows) {
        set("APPDATA")
    } else {
        set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")))
    };
    Some(base?.join("threadhold").join("config.toml"))
}

/// The table of the user's file that says where sessions are stored. No setting: it holds from the start of the process.
const STORAGE: &str = "storage";

/// The names of what can be said about storage.
pub(super) const STORAGE_OPTIONS: [&str; 9] = [
    "backend",
    "path",
    "url",
    "passwordEnv",
    "tenant",
    "workspaceBy",
    "workspaceKey",
    "hostName",
    "notifications",
];

/// The variables of these, each with its option.
pub(super) fn storage_variables() -> impl Iterator<Item = (String, &'static str)> {
    STORAGE_OPTIONS.iter().map(|option| (variable(&format!("{STORAGE}.{option}")), *option))
}

/// The table of the user's file about storage, with the file's path.
pub(super) fn storage_of_file() -> Option<(String, Map<String, Value>)> {
    let file = user_file(|name| std::env::var(name).ok())?;
    // A file that cannot be used is reported with the other settings in it.
    let Found::Text { text, .. } = of_user(&file).now() else { return None };
    match table(&text).ok()?.remove(STORAGE)? {
        Value::Object(options) => Some((file.display().to_string(), options)),
        _ => None,
    }
}

/// Most bytes of a settings file that are read.
pub(super) const MOST_BYTES: u64 = 1 << 20;

/// The user's file. It may be a link: people keep their settings elsewhere.
pub(super) fn of_user(file: &Path) -> Look {
    let above = file.parent().unwrap_or(file);
    // Our own folder in the platform's may not exist yet.
    let base = if above.ends_with("threadhold") { above.parent().unwrap_or(above) } else { above };
    Look { file: file.to_owned(), base: base.to_owned(), may_leave: true, most: MOST_BYTES }
}

/// A key of the environment.
pub(super) fn key(name: &str) -> Option<SecretString> {
    std::env::var(name).ok().filter(|key| !key.is_empty()).map(SecretString::from)
}

/// Parses the text of the user's file.
///
/// # Errors
/// Fails if the text is not TOML: names the line, and no content.
pub(super) fn users_file(text: &str, place: &str) -> Result<(Layer, Vec<Fault>), String> {
    let mut settings = table(text)?;
    settings.remove(STORAGE);
    Ok(Layer::written(seen_from(place, settings), Some(place)))
}

/// Parses the text of a workspace's file.
///
/// # Errors
/// As [`users_file`].
pub(super) fn workspaces_file(text: &str, place: &str) -> Result<(Layer, Vec<Fault>), String> {
    let mut settings = table(text)?;
    // It would send sessions, and a password of the environment, to a server that the repository names.
    let storage = settings.remove(STORAGE).map(|_| Fault::ignored(STORAGE.to_owned()));
    let (layer, faults) = Layer::of_workspace(settings, place);
    Ok((layer, storage.into_iter().chain(faults).collect()))
}

fn table(text: &str) -> Result<Map<String, Value>, String> {
    toml::from_str(text).map_err(|error: NoToml| {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let before = text.as_bytes().get(..at).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("not TOML at line {line}")
    })
}

/// Makes a policy's path relative to the file that names it.
fn seen_from(place: &str, mut raw: Map<String, Value>) -> Map<String, Value> {
    if let (Some(Value::String(policy)), Some(folder)) = (raw.get_mut("policy"), Path::new(place).parent())
        && is_policy_file(policy)
    {
        *policy = folder.join(&*policy).display().to_string();
    }
    raw
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::settings::Layers;
    use protocol::settings::Settings;
    use serde_json::json;

    /// A value for a setting that is not its default.
    fn other(name: &str) -> Value {
        match name {
            "model" => json!({ "window": 9000, "name": "m" }),
            "model.window" => json!(9000),
            "model.roles" => json!(["user"]),
            "model.toolChoiceNone" | "model.usage" | "model.countTokens" | "model.images" => json!(false),
            "model.maxOutput" => json!(500),
            "policy" => json!("limiter"),
            "threshold" => json!(20_000),
            "summaryMode" => json!("simple"),
            "summaryBreakpoints" => json!("strip"),
            "summarize" | "compaction" | "limitHistory" => json!("off"),
            "summaryEnabled" | "triggers.providerOverflow" | "triggers.modelChanged" => json!(false),
            "triggers" => json!({ "messages": 7 }),
            "retention" => json!({ "messages": 7 }),
            "placement" => json!("systemMessage"),
            "titles" => json!("model"),
            "systemPrompt" => json!("perTurn"),
            "thinkingInPrompt" => json!("strip"),
            "iterationBudget" | "coreMemories" | "knowledge" | "sessionSummaryToMemory" => json!(true),
            "identity" | "role" | "toolRules" | "toolkitHints" | "project" => json!("To be careful."),
            "synchronous" => json!("normal"),
            "trajectory" => json!("workspace"),
            "transcript" => json!("finalOnly"),
            "ownTools" => json!(["recall"]),
            "instructionFiles" => json!(["CLAUDE.md"]),
            "model.name" | "model.keyEnv" | "summaryModel" | "summaryKeyEnv" => json!("m"),
            "model.wire" => json!("openai-chat"),
            "model.price" | "summaryPrice" => json!({ "input": 1.5, "output": 2.5, "cacheRead": 0.5 }),
            "model.webSocket" => json!(true),
            "model.effort" => json!("high"),
            "model.thinking" => json!("adaptive"),
            "model.cacheTtl" => json!("1h"),
            "model.fallbacks" => json!("default"),
            "model.providerCompaction" => json!(60_000),
            "model.lookUpLimits" => json!(true),
            "model.manners" => json!("openrouter"),
            "model.extraBody" => json!({ "service_tier": "flex" }),
            "model.extraHeaders" => json!({ "x-title": "m" }),
            "model.query" => json!({ "api-version": "2026-01-01" }),
            "model.baseUrl" | "summaryBaseUrl" => json!("https://models.example/v1"),
            share if share.ends_with("Share") || share.ends_with("Budget") || share.ends_with("Ratio") => {
                json!(0.31)
            }
            "autoSummarizeThreshold" => json!(31),
            "budgetExit" | "triggers.preTurnTokens" | "triggers.background" | "retention.tokenTail" => {
                json!(0.31)
            }
            "mcp" => json!({ "servers": { "a": { "command": "c", "args": ["d"] } } }),
            "mcp.servers" => {
                json!({ "b": { "url": "http://c/mcp", "headers": { "X-Key": { "keyEnv": "K" } } } })
            }
            "mcp.workspaceFiles" => json!("ask"),
            "workspaceTrusted" => json!(false),
            "agentPresets" => json!([{ "name": "reader", "tools": ["read"] }]),
            _ => json!(77),
        }
    }

    fn in_force(layers: &Layers) -> Settings {
        layers.merged("/w", &Settings::default()).unwrap()
    }

    #[test]
    fn every_setting_means_the_same_from_each_source() {
        // The parts of a price hold together only.
        for name in names().filter(|name| !name.starts_with("summaryPrice.")) {
            let value = other(&name);
            // Some settings belong to one wire.
            let wire = match &*name {
                "model.cacheTtl" | "model.fallbacks" => "anthropic",
                "model.manners" => "openai-chat",
                _ => "openai-responses",
            };
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let raw: Map<String, Value> = match name.split_once('.') {
                Some(("model", part)) => {
                    // Some parts are invalid without others.
                    let mut model = json!({ "window": 9000, "wire": wire, "name": "n" });
                    model[part] = value;
                    [("model".to_owned(), model)].into_iter().collect()
                }
                Some((group, part)) => [(group.to_owned(), json!({ part: value }))].into_iter().collect(),
                None => [(name.clone(), value)].into_iter().collect(),
            };
            // What must be set beside it.
            let beside: &[(&str, &str)] = match &*name {
                "summaryPrice" => &[("summaryModel", "n")],
                name if name.starts_with("model.") => {
                    &[("model.window", "9000"), ("model.wire", wire), ("model.name", "n")]
                }
                _ => &[],
            };
            let plain = beside.iter().filter(|(beside, _)| !beside.contains('.'));
            let raw: Map<String, Value> = raw
                .into_iter()
                .chain(plain.map(|(name, value)| ((*name).to_owned(), json!(value))))
                .collect();
            let given: Settings = serde_json::from_value(Value::Object(raw.clone())).unwrap();
            let given = in_force(&Layers { initialize: Layer::of(&given).unwrap(), ..Layers::default() });
            assert_ne!(given, in_force(&Layers::default()), "{name}");

            let toml = toml_of(&raw);
            let (user, faults) = users_file(&toml, "config.toml").unwrap();
            assert_eq!(faults, [], "{name}: {toml}");
            assert_eq!(in_force(&Layers { user, ..Layers::default() }), given, "{name} in a file");

            let mut variables = vec![(variable(&name), text.clone())];
            let mut set = vec![format!("{name}={text}")];
            for (beside, of) in beside.iter().filter(|(beside, _)| *beside != name) {
                variables.push((variable(beside), (*of).to_owned()));
                set.insert(0, format!("{beside}={of}"));
            }
            let (environment, faults) = environment(variables.into_iter());
            assert_eq!(faults, Vec::<String>::new(), "{name}");
            assert_eq!(in_force(&Layers { environment, ..Layers::default() }), given, "{name} in a variable");
            let Flags(flags) = Flags::read(None, &set).unwrap();
            assert_eq!(in_force(&Layers { flags, ..Layers::default() }), given, "{name} as a flag");
        }
    }

    /// TOML with inline tables, as a person writes it.
    fn toml_of(raw: &Map<String, Value>) -> String {
        fn value(of: &Value) -> String {
            match of {
                Value::Object(parts) => {
                    let parts: Vec<_> = parts.iter().map(|(k, v)| format!("{k} = {}", value(v))).collect();
                    format!("{{ {} }}", parts.join(", "))
                }
                Value::Array(items) => {
                    let items: Vec<_> = items.iter().map(value).collect();
                    format!("[{}]", items.join(", "))
                }
                other => other.to_string(),
            }
        }
        raw.iter().map(|(name, of)| format!("{name} = {}\n", value(of))).collect()
    }

    #[test]
    fn toml_error_names_the_line_and_no_content() {
        let error = users_file("roundLimit = 7\nkey = sk-planted-0x5ec2e7 = 1\n", "config.toml").unwrap_err();
        assert_eq!(error, "not TOML at line 2");
    }

    #[test]
    fn fault_names_setting_and_choices_and_the_rest_applies() {
        let text = "roundLimit = 7\nthreshold = 50\nroundlimit = 3\ntitles = \"sk-planted-0x5ec2e7\"\n\
                    [triggers]\nmessages = -1\nmesages = 3\nbackground = false\n[summarization]\nenabled = false\non = 1\n\
                    [model]\nwindow = 9000\nwidth = 3\n";
        let (layer, faults) = users_file(text, "config.toml").unwrap();
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        expect_test::expect![[r#"
            [
                "unknown setting \"roundlimit\"; similar: roundLimit",
                "unknown setting \"summarization.on\"",
                "unknown setting \"triggers.mesages\"; similar: triggers.messages, retention.messages",
                "triggers.messages: must be at least 0",
                "unknown setting \"model.width\"; similar: model.window, model.wire",
                "threshold: threshold 50 is neither a ratio above 0 and up to 1 nor a count of at least 100 tokens",
                "titles: must be \"request\" or \"model\"",
            ]
        "#]]
        .assert_debug_eq(&faults);
        assert_eq!(
            layer.together(),
            json!({
                "model": { "window": 9000 }, "roundLimit": 7, "summarize": "off", "triggers": { "background": false }
            })
        );
    }

    #[test]
    fn invalid_flag_is_an_error_and_the_last_one_wins() {
        let read = |set: &[&str]| {
            let set: Vec<String> = set.iter().map(|pair| (*pair).to_owned()).collect();
            Flags::read(Some("limiter"), &set).map_err(|error| error.to_string())
        };
        assert_eq!(
            read(&["roundLimit=7", "policy=off", "ownTools=recall,todo", "roundLimit=8"])
                .unwrap()
                .0
                .together(),
            json!({ "ownTools": ["recall", "todo"], "policy": "off", "roundLimit": 8 })
        );
        assert_eq!(read(&["roundLimit"]).unwrap_err(), FlagError::NoPair.to_string());
        assert_eq!(read(&["rounds=7"]).unwrap_err(), "unknown setting \"rounds\"");
        assert_eq!(read(&["roundLimit=much"]).unwrap_err(), "roundLimit: must be an integer, not a string");
    }

    #[test]
    fn other_names_of_variables_are_read_and_ours_win() {
        let read = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            environment(variables).0.together()
        };
        let documents =
            [("OPENAI_SUMMARY_MODEL", "small"), ("OPENAI_SUMMARY_URL", "https://models.example/v1")];
        assert_eq!(
            read(&documents),
            json!({ "summaryBaseUrl": "https://models.example/v1", "summaryModel": "small" })
        );
        let ours = [documents[0], ("THREADHOLD_SUMMARY_MODEL", "4"), ("THREADHOLD_POLICY", "")];
        assert_eq!(read(&ours), json!({ "summaryModel": "4" }));
    }

    #[test]
    fn variables_of_own_tools_are_not_reported_as_unknown() {
        let of = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect();
        let faults = |variables: Vec<(String, String)>| environment(variables.into_iter()).1;
        let tools = ["THREADHOLD_BIN", "THREADHOLD_CORPUS", "THREADHOLD_EDITOR", "THREADHOLD_SHOTS"];
        assert_eq!(faults(of(&tools)), [""; 0]);
        assert_eq!(faults(of(&["THREADHOLD_BINS", tools[0]])), ["THREADHOLD_BINS: unknown setting"]);
    }

    #[test]
    fn the_users_file_is_where_the_platform_keeps_configuration() {
        let at = |set: &[(&str, &str)]| {
            user_file(|name| set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned()))
        };
        if !cfg!(windows) {
            let file = |path: &str| Some(PathBuf::from(path));
            assert_eq!(at(&[("HOME", "/h")]), file("/h/.config/threadhold/config.toml"));
            assert_eq!(at(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c")]), file("/c/threadhold/config.toml"));
            assert_eq!(at(&[("HOME", "/h"), ("THREADHOLD_CONFIG", "/x.toml")]), file("/x.toml"));
            assert_eq!(at(&[("HOME", "/h"), ("THREADHOLD_CONFIG", "")]), None);
            assert_eq!(at(&[]), None);
        }
    }
}
