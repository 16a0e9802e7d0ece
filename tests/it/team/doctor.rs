//! `threadhold doctor --storage URL`: each fault of a database is told in a sentence, with what to do.

use super::Tenant;
use super::proxy::{Faults, Proxy};
use std::fs;
use std::process::Command;
use store::testing::postgres::{Server, server};

/// Runs the doctor with these variables; returns the exit code and the output.
pub fn doctor(url: &str, tenant: &str, variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_threadhold"));
    command
        .args(["doctor", "--storage", url, "--tenant", tenant])
        .env("THREADHOLD_CONFIG", "")
        .env_remove("PGPASSWORD");
    let output = command.envs(variables.iter().copied()).output().expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout) + &text(output.stderr))
}

/// Expects a fault with these words.
fn is_wrong(url: &str, words: &str) {
    let (code, said) = doctor(url, "t", &[]);
    assert!(code == Some(1) && said.contains("wrong ") && said.contains(words), "{url}: {code:?} {said}");
    assert!(!said.contains("ok  "), "{said}");
}

#[test]
fn usable_database_is_described() {
    let Some(server) = server() else { return };
    let database = server.database();
    let url = server.url("threadhold", &database);
    let (code, said) = doctor(&url, "t", &[]);
    assert!(
        code == Some(0) && said.contains("none in \"public\" yet") && said.contains("can be used"),
        "{said}"
    );
    Tenant { url: url.clone(), name: "t".to_owned() }.editor("laptop").open("s", None);
    // As the settings name it.
    let settings = [("THREADHOLD_STORAGE_URL", url.as_str())];
    let (code, said) = doctor("postgres", "t", &settings);
    assert!(code == Some(0) && said.contains("this program knows"), "{said}");
    let (code, said) = doctor(&server.url("postgres", &database), "t", &[]);
    assert!(code == Some(0) && said.contains("above row-level security"), "{said}");
    let deaf = [("THREADHOLD_STORAGE_NOTIFICATIONS", "off")];
    let (code, said) = doctor(&url, "t", &deaf);
    assert!(code == Some(0) && said.contains("storage.notifications is \"off\""), "{said}");
    // Usage that is wrong is no fault of the database.
    let (code, said) = doctor(&url, "a b", &[]);
    assert!(code == Some(2) && said.contains("storage.tenant"), "{said}");
    let (code, said) = doctor("postgres://ann:hunter2@db.example/sessions", "t", &[]);
    assert!(code == Some(2) && said.contains("PGPASSWORD") && !said.contains("hunter2"), "{said}");
}

#[test]
fn each_fault_of_a_database_is_named() {
    let Some(server) = server() else { return };
    is_wrong("postgres://ann@nowhere.invalid/sessions", "\"nowhere.invalid\" of the server has no address");
    is_wrong("postgres://ann@127.0.0.1:1/sessions", "nothing listens");
    is_wrong("postgres://ann@%2Fno%2Fsuch%2Ffolder/sessions", "the socket is not there");
    is_wrong(&server.url("threadhold", "nothing"), "has no database \"nothing\"");
    is_wrong(&server.url("nobody_of_these", "threadhold"), "does not let \"nobody_of_these\" in");
    let proxy = Proxy::start(server.folder(), Faults::default(), 1);
    is_wrong(
        &proxy
            .url("threadhold", "threadhold&sslmode=require")
            .replace("&sslmode=require", "")
            .replace("?", "?sslmode=require&"),
        "server does not support TLS; enable TLS on the server, or set sslmode=disable in the url",
    );

    let database = server.database();
    let url = server.url("threadhold", &database);
    Tenant { url: url.clone(), name: "t".to_owned() }.editor("laptop").open("s", None);
    let role = format!("reader_{database}");
    server.sql(&format!("CREATE ROLE {role} LOGIN"));
    let reader = server.url(&role, &database);
    is_wrong(&reader, "may not read threadhold_schema");
    let run = |sql: &str| server.sql_in("threadhold", &database, sql).expect("sql");
    run(&format!("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}"));
    is_wrong(&reader, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES");
    run("UPDATE threadhold_schema SET version = 99");
    is_wrong(&url, "a newer version wrote the tables (schema 99");
    server.sql(&format!("ALTER DATABASE {database} WITH CONNECTION LIMIT 0"));
    is_wrong(&url, "no connection left");
}

#[test]
fn password_is_asked_for_and_never_shown() {
    let Some(server) = Server::start() else { return };
    let rules = server.folder().join("data/pg_hba.conf");
    let before = fs::read_to_string(&rules).expect("rules");
    fs::write(&rules, format!("local all locked scram-sha-256\n{before}")).expect("rules");
    server.sql("CREATE ROLE locked LOGIN PASSWORD 'hunter2'");
    server.sql("ALTER DATABASE threadhold OWNER TO locked");
    server.sql("SELECT pg_reload_conf()");
    let url = server.url("locked", "threadhold");
    let told = |variables: &[(&str, &str)]| {
        let (code, said) = doctor(&url, "t", variables);
        assert!(!said.contains("hunter"), "{said}");
        (code, said)
    };
    let (code, said) = told(&[]);
    assert!(code == Some(1) && said.contains("asks \"locked\" for a password"), "{said}");
    let (code, said) = told(&[("PGPASSWORD", "hunter3")]);
    assert!(code == Some(1) && said.contains("refuses the password of \"locked\""), "{said}");
    let (code, said) = told(&[("PGPASSWORD", "hunter2")]);
    assert_eq!(code, Some(0), "{said}");
    let named = [("THREADHOLD_STORAGE_PASSWORD_ENV", "TEAM_PASSWORD"), ("TEAM_PASSWORD", "hunter2")];
    assert_eq!(told(&named).0, Some(0));
    super::options::password_can_come_from_the_client(&url);
}
