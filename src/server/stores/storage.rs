//! Where sessions are stored: the options of the client, the environment and the user's file, merged and validated once,
//! at `initialize`. A workspace's file is never asked.

use super::keys::Naming;
use crate::server::outside::{STORAGE_OPTIONS, key, storage_of_file, storage_variables, variable};
use crate::server::settings::nearest;
use models::address::is_key_name;
use protocol::error::ProtocolError;
use protocol::methods::read;
use protocol::server::{StorageBackend, StorageNotifications, StorageOptions, WorkspaceBy};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use store::postgres::{Options, OptionsError};

/// The name of the password, unless another one is given.
const USUAL_PASSWORD: &str = "PGPASSWORD";
/// The longest workspace key and host name, in bytes.
const LONGEST_NAME: usize = 200;

/// A place for sessions that can be used, as far as that is known without opening it.
#[derive(Debug, Clone)]
pub(in crate::server) enum Storage {
    /// Files: in this folder, else in the platform's data folder.
    Sqlite(Option<PathBuf>),
    /// Nowhere: sessions end with the process.
    Memory,
    /// A database of several machines.
    Postgres(Database),
}

/// A database and how it is used.
#[derive(Debug, Clone)]
pub(in crate::server) struct Database {
    /// May have a password, if it comes from the environment.
    url: SecretString,
    tenant: String,
    host: Option<String>,
    notifications: StorageNotifications,
    /// The name of the password.
    pub password: String,
    /// The names of folders in the database.
    pub naming: Naming,
}

impl Default for Storage {
    fn default() -> Self {
        Self::Sqlite(None)
    }
}

impl Database {
    /// The options of a store with this password.
    pub fn options(&self, password: Option<&SecretString>) -> Result<Options, OptionsError> {
        let password = password.map(ExposeSecret::expose_secret);
        let mut options = Options::new(self.url.expose_secret(), password, &self.tenant)?;
        if self.notifications == StorageNotifications::Off {
            options = options.without_notifications();
        }
        Ok(match &self.host {
            Some(host) => options.held_by(&user_name(), host),
            None => options,
        })
    }

    /// The database, without credentials.
    pub fn place(&self) -> PathBuf {
        self.options(None).map(|options| options.place().clone()).unwrap_or_default()
    }
}

/// The place that options come from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OptionSource {
    File(String),
    Environment,
    Client,
}

impl OptionSource {
    /// Where an option was written, as the end of a sentence.
    fn of(&self, field: &str) -> String {
        match self {
            Self::File(file) => format!(" (in {file})"),
            Self::Environment => format!(" (in {})", variable(&format!("storage.{field}"))),
            Self::Client => String::new(),
        }
    }
}

/// Options that were given outside of the wire, the weakest first.
#[derive(Debug, Clone, Default)]
pub(in crate::server) struct StorageOutside(Vec<(OptionSource, Map<String, Value>)>);

impl StorageOutside {
    /// Options of the environment, and those that the user's file has in its table `storage`.
    pub fn of(
        file: Option<(String, Map<String, Value>)>,
        variables_of: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let set = |(name, field): (String, &'static str)| {
            let value = variables_of(&name).filter(|value| !value.is_empty())?;
            Some((field.to_owned(), Value::from(value)))
        };
        let environment: Map<String, Value> = storage_variables().filter_map(set).collect();
        let file = file.map(|(name, options)| (OptionSource::File(name), options));
        Self(file.into_iter().chain([(OptionSource::Environment, environment)]).collect())
    }

    /// Those of this process.
    pub fn now() -> Self {
        Self::of(storage_of_file(), |name| std::env::var(name).ok())
    }

    /// The place for sessions of a client with these options.
    ///
    /// # Errors
    /// `InvalidParams` with the option, what it must be, and where it was written; never with a password.
    pub fn with(&self, client: Option<&StorageOptions>) -> Result<Storage, ProtocolError> {
        let client = client.map(serde_json::to_value).and_then(Result::ok);
        let client = client.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
        let mut merged = Merged::default();
        for (place, options) in self.0.iter().chain([&(OptionSource::Client, client)]) {
            merged.add(place, options)?;
        }
        merged.validated()
    }
}

/// The database that these options name, with what the environment and the user's file add and the password of the
/// environment.
///
/// # Errors
/// As `initialize`.
pub fn database(options: &StorageOptions) -> Result<Options, ProtocolError> {
    match StorageOutside::now().with(Some(options))? {
        Storage::Postgres(database) => {
            let options = database.options(key(&database.password).as_ref());
            options.map_err(|error| ProtocolError::invalid("storage", error.to_string()))
        }
        Storage::Sqlite(_) | Storage::Memory => {
            Err(ProtocolError::invalid("storage.backend", "must be postgres"))
        }
    }
}

/// Options of several places, and the place of each.
#[derive(Default)]
struct Merged {
    kind: Option<StorageBackend>,
    options: Map<String, Value>,
    places: BTreeMap<String, OptionSource>,
}

impl Merged {
    /// Adds stronger options. Those of another kind of store take the place of all before them.
    fn add(&mut self, place: &OptionSource, options: &Map<String, Value>) -> Result<(), ProtocolError> {
        if let Some(unknown) = options.keys().find(|field| !STORAGE_OPTIONS.contains(&field.as_str())) {
            let near = nearest(unknown, STORAGE_OPTIONS.iter().map(|field| (*field).to_owned()));
            let near = if near.is_empty() { STORAGE_OPTIONS.join(", ") } else { near.join(", ") };
            return Err(invalid(unknown, &format!("unknown option; possible: {near}"), place));
        }
        let read: StorageOptions = read(Value::Object(options.clone())).map_err(|error| {
            let protocol::error::ErrorData::InvalidParams { field, reason } = error.data else {
                return error;
            };
            invalid(&field, &reason, place)
        })?;
        let kind = read.backend.or(match (&read.path, &read.url) {
            (Some(_), _) => Some(StorageBackend::Sqlite),
            (None, Some(_)) => Some(StorageBackend::Postgres),
            (None, None) => None,
        });
        if kind.is_some() && self.kind.is_some() && kind != self.kind {
            *self = Self::default();
        }
        self.kind = kind.or(self.kind);
        for (field, value) in options.iter().filter(|(_, value)| !value.is_null()) {
            self.options.insert(field.clone(), value.clone());
            self.places.insert(field.clone(), place.clone());
        }
        Ok(())
    }

    fn place(&self, field: &str) -> &OptionSource {
        self.places.get(field).unwrap_or(&OptionSource::Client)
    }

    fn invalid(&self, field: &str, reason: &str) -> ProtocolError {
        invalid(field, reason, self.place(field))
    }

    fn validated(self) -> Result<Storage, ProtocolError> {
        let kind = self.kind.unwrap_or(StorageBackend::Sqlite);
        let foreign =
            STORAGE_OPTIONS.iter().filter(|field| self.options.contains_key(**field)).find(|field| {
                let is_of_postgres = !matches!(**field, "backend" | "path");
                is_of_postgres && kind != StorageBackend::Postgres
                    || **field == "path" && kind == StorageBackend::Postgres
            });
        if let Some(field) = foreign {
            let (needed, given) =
                if *field == "path" { ("sqlite", "postgres") } else { ("postgres", name(kind)) };
            return Err(self.invalid(field, &format!("needs the backend {needed}; the backend is {given}")));
        }
        let options: StorageOptions = read(Value::Object(self.options.clone()))?;
        match kind {
            StorageBackend::Memory => Ok(Storage::Memory),
            StorageBackend::Sqlite => Ok(Storage::Sqlite(options.path.map(PathBuf::from))),
            StorageBackend::Postgres => Ok(Storage::Postgres(self.database(options)?)),
        }
    }

    fn database(&self, options: StorageOptions) -> Result<Database, ProtocolError> {
        let url = options.url.ok_or_else(|| {
            self.invalid(
                "url",
                "is missing; the backend postgres needs one, such as postgres://user@host/database",
            )
        })?;
        if has_password(&url) && *self.place("url") != OptionSource::Environment {
            let reason = "must not contain a password; give it in the environment variable that storage.passwordEnv \
                          names, PGPASSWORD by default";
            return Err(self.invalid("url", reason));
        }
        let tenant = options.tenant.ok_or_else(|| {
            self.invalid(
                "tenant",
                "is missing; the backend postgres needs the name of a tenant, such as \"team\"",
            )
        })?;
        let password = options.password_env.unwrap_or_else(|| USUAL_PASSWORD.to_owned());
        if !is_key_name(&password) {
            let reason =
                "must be the name of a variable: letters, digits and underscores; never the password";
            return Err(self.invalid("passwordEnv", reason));
        }
        if let Some(host) = options.host_name.as_deref().filter(|host| !is_plain(host)) {
            return Err(self.invalid("hostName", &unfit(host)));
        }
        let naming = match (options.workspace_key, options.workspace_by.unwrap_or_default()) {
            (Some(key), _) if !is_plain(&key) => return Err(self.invalid("workspaceKey", &unfit(&key))),
            (Some(_), WorkspaceBy::Remote) => {
                return Err(self.invalid("workspaceKey", "cannot be given beside workspaceBy \"remote\""));
            }
            (Some(key), WorkspaceBy::Path) => Naming::Key(key),
            (None, WorkspaceBy::Remote) => Naming::Remote,
            (None, WorkspaceBy::Path) => Naming::Path,
        };
        let (host, notifications) = (options.host_name, options.notifications.unwrap_or_default());
        let database = Database { url: url.into(), tenant, host, notifications, password, naming };
        database.options(None).map_err(|error| {
            let words = error.to_string();
            match error {
                OptionsError::Tenant { .. } => {
                    self.invalid("tenant", words.trim_start_matches("storage.tenant "))
                }
                OptionsError::Url { .. } | OptionsError::Missing { .. } => {
                    self.invalid("url", words.trim_start_matches("the storage url "))
                }
            }
        })?;
        Ok(database)
    }
}

fn invalid(field: &str, reason: &str, place: &OptionSource) -> ProtocolError {
    ProtocolError::invalid(format!("storage.{field}"), format!("{reason}{}", place.of(field)))
}

/// The user of this process, for others.
fn user_name() -> String {
    let set = ["USER", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    set.unwrap_or_else(|| "unknown".to_owned())
}

fn name(kind: StorageBackend) -> &'static str {
    match kind {
        StorageBackend::Sqlite => "sqlite",
        StorageBackend::Postgres => "postgres",
        StorageBackend::Memory => "memory",
    }
}

fn is_plain(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len()) && !name.contains(char::is_control)
}

fn unfit(name: &str) -> String {
    let shown: String = name.chars().take(LONGEST_NAME).collect();
    format!("is {shown:?}; it must have 1 to {LONGEST_NAME} bytes without control characters")
}

/// `true` if a URL carries a password, in front of the host or as a parameter.
fn has_password(url: &str) -> bool {
    let (before, parameters) = url.split_once('?').unwrap_or((url, ""));
    let authority = before.split_once("://").map_or("", |(_, behind)| behind);
    let authority = authority.split('/').next().unwrap_or_default();
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
        || parameters.split('&').any(|parameter| parameter.to_ascii_lowercase().starts_with("password="))
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::error::ErrorData;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    /// The storage by a file, variables and a client; the place or the error's field and reason.
    fn chosen(file: Value, variables: &[(&str, &str)], client: Value) -> Result<Storage, (String, String)> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let outside = StorageOutside::of(Some(("config.toml".to_owned(), map(file))), variable);
        outside.with(Some(&serde_json::from_value(client).unwrap())).map_err(|error| match error.data {
            ErrorData::InvalidParams { field, reason } => (field, reason),
            other => panic!("{other:?}"),
        })
    }

    fn of_client(client: Value) -> Result<Storage, (String, String)> {
        chosen(json!({}), &[], client)
    }

    #[test]
    fn unusable_options_name_field_value_and_choices() {
        let url = "postgres://ann@db.example/sessions";
        let told: Vec<String> = [
            json!({ "backend": "postgres" }),
            json!({ "url": url }),
            json!({ "url": url, "tenant": "a b" }),
            json!({ "url": url, "tenant": "" }),
            json!({ "url": "mysql://ann@db.example/sessions", "tenant": "t" }),
            json!({ "url": "postgres://ann@db.example", "tenant": "t" }),
            json!({ "url": "postgres://db.example/sessions", "tenant": "t" }),
            json!({ "url": "postgres:///sessions?user=ann", "tenant": "t" }),
            json!({ "url": "postgres://ann@db.example/sessions?sslmode=maybe", "tenant": "t" }),
            json!({ "backend": "sqlite", "url": url }),
            json!({ "path": "/sessions", "tenant": "t" }),
            json!({ "backend": "memory", "tenant": "t" }),
            json!({ "backend": "postgres", "url": url, "tenant": "t", "path": "/sessions" }),
            json!({ "url": url, "tenant": "t", "passwordEnv": "my password" }),
            json!({ "url": url, "tenant": "t", "workspaceKey": "a\nb" }),
            json!({ "url": url, "tenant": "t", "workspaceKey": "a", "workspaceBy": "remote" }),
            json!({ "url": url, "tenant": "t", "hostName": "" }),
            json!({ "backend": "sqlite", "notifications": "off" }),
        ]
        .into_iter()
        .map(|client| {
            let (field, reason) = of_client(client.clone()).expect_err(&client.to_string());
            format!("{field}: {reason}")
        })
        .collect();
        expect_test::expect![[r#"
            storage.url: is missing; the backend postgres needs one, such as postgres://user@host/database
            storage.tenant: is missing; the backend postgres needs the name of a tenant, such as "team"
            storage.tenant: "a b" is not 1 to 64 of the characters A-Z, a-z, 0-9, _ and -
            storage.tenant: "" is not 1 to 64 of the characters A-Z, a-z, 0-9, _ and -
            storage.url: is not a PostgreSQL url: it begins with neither postgres:// nor postgresql://
            storage.url: names no database; write postgres://user@host/database
            storage.url: names no user; write postgres://user@host/database
            storage.url: names no host; write postgres://user@host/database
            storage.url: is not a PostgreSQL url: invalid value for option `sslmode`
            storage.url: needs the backend postgres; the backend is sqlite
            storage.tenant: needs the backend postgres; the backend is sqlite
            storage.tenant: needs the backend postgres; the backend is memory
            storage.path: needs the backend sqlite; the backend is postgres
            storage.passwordEnv: must be the name of a variable: letters, digits and underscores; never the password
            storage.workspaceKey: is "a\nb"; it must have 1 to 200 bytes without control characters
            storage.workspaceKey: cannot be given beside workspaceBy "remote"
            storage.hostName: is ""; it must have 1 to 200 bytes without control characters
            storage.notifications: needs the backend postgres; the backend is sqlite"#]].assert_eq(&told.join("\n"));
    }

    #[test]
    fn password_in_a_setting_is_refused_and_not_repeated() {
        for url in [
            "postgres://ann:hunter2@db.example/sessions",
            "postgres://db.example/sessions?user=ann&password=hunter2",
            "postgresql://ann:hunter2@db.example",
            "mysql://ann:hunter2@db.example/sessions",
        ] {
            for (file, client) in [
                (json!({}), json!({ "url": url, "tenant": "t" })),
                (json!({ "url": url, "tenant": "t" }), json!({})),
            ] {
                let (field, reason) = chosen(file, &[], client).expect_err(url);
                assert_eq!(field, "storage.url");
                assert!(!reason.contains("hunter2") && reason.contains("PGPASSWORD"), "{reason}");
            }
        }
        let variables = [
            ("THREADHOLD_STORAGE_URL", "postgres://ann:hunter2@db.example/sessions"),
            ("THREADHOLD_STORAGE_TENANT", "t"),
        ];
        let storage = chosen(json!({}), &variables, json!({})).unwrap();
        assert!(!format!("{storage:?}").contains("hunter2"));
        let wrong = [("THREADHOLD_STORAGE_URL", "postgres://ann:hunter2@db.example"), variables[1]];
        let (_, reason) = chosen(json!({}), &wrong, json!({})).unwrap_err();
        assert!(reason.contains("THREADHOLD_STORAGE_URL") && !reason.contains("hunter2"), "{reason}");
    }

    #[test]
    fn stronger_place_wins_and_another_kind_replaces_all() {
        let of_file =
            json!({ "url": "postgres://ann@db.example/sessions", "tenant": "a", "workspaceBy": "remote" });
        let place = |storage: Storage| match storage {
            Storage::Sqlite(path) => format!("sqlite {path:?}"),
            Storage::Memory => "memory".to_owned(),
            Storage::Postgres(database) => {
                let options = database.options(None).unwrap();
                format!(
                    "{} {} {:?} {}",
                    options.place().display(),
                    database.tenant,
                    database.naming,
                    database.password
                )
            }
        };
        let chosen =
            |variables: &[(&str, &str)], client| place(chosen(of_file.clone(), variables, client).unwrap());
        let of_database = "postgres://db.example:5432/sessions a Remote PGPASSWORD";
        assert_eq!(chosen(&[], json!({})), of_database);
        assert_eq!(
            chosen(&[("THREADHOLD_STORAGE_TENANT", "")], json!({ "backend": "postgres" })),
            of_database
        );
        assert_eq!(
            chosen(&[("THREADHOLD_STORAGE_TENANT", "b")], json!({ "passwordEnv": "DB_PASSWORD" })),
            "postgres://db.example:5432/sessions b Remote DB_PASSWORD"
        );
        let named = [("THREADHOLD_STORAGE_PASSWORD_ENV", "DB_PASSWORD")];
        let client = json!({ "url": "postgres://ann@db.example/sessions", "tenant": "b" });
        assert_eq!(
            place(super::tests::chosen(json!({}), &named, client).unwrap()),
            "postgres://db.example:5432/sessions b Path DB_PASSWORD"
        );
        assert_eq!(
            chosen(&[("THREADHOLD_STORAGE_TENANT", "b")], json!({ "path": "/s" })),
            "sqlite Some(\"/s\")"
        );
        assert_eq!(chosen(&[("THREADHOLD_STORAGE_BACKEND", "memory")], json!({})), "memory");
        assert_eq!(place(of_client(json!({})).unwrap()), "sqlite None");
    }

    #[test]
    fn wrong_option_of_a_file_or_a_variable_is_named_with_its_place() {
        let told = |file, variables: &[(&str, &str)]| chosen(file, variables, json!({})).unwrap_err();
        expect_test::expect![[r#"
            [
                (
                    "storage.backend",
                    "must be \"sqlite\" or \"postgres\" or \"memory\" (in config.toml)",
                ),
                (
                    "storage.backend",
                    "must be \"sqlite\" or \"postgres\" or \"memory\", not a number (in config.toml)",
                ),
                (
                    "storage.notifications",
                    "must be \"auto\" or \"off\" (in THREADHOLD_STORAGE_NOTIFICATIONS)",
                ),
                (
                    "storage.urll",
                    "unknown option; possible: url (in config.toml)",
                ),
                (
                    "storage.backend",
                    "must be \"sqlite\" or \"postgres\" or \"memory\" (in THREADHOLD_STORAGE_BACKEND)",
                ),
                (
                    "storage.tenant",
                    "needs the backend postgres; the backend is sqlite (in THREADHOLD_STORAGE_TENANT)",
                ),
            ]
        "#]]
        .assert_debug_eq(&[
            told(json!({ "backend": "mysql" }), &[]),
            told(json!({ "backend": 7 }), &[]),
            told(json!({}), &[("THREADHOLD_STORAGE_NOTIFICATIONS", "never")]),
            told(json!({ "urll": "postgres://ann@db.example/sessions" }), &[]),
            told(json!({}), &[("THREADHOLD_STORAGE_BACKEND", "oracle")]),
            told(json!({}), &[("THREADHOLD_STORAGE_TENANT", "t")]),
        ]);
    }
}
