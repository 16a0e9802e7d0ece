//! The schema: made and upgraded by one of several that start at once; a newer one is left alone.

use super::unique;
use crate::Store;
use crate::error::StoreError;
use crate::postgres::migrate::MIGRATIONS;
use crate::postgres::{Opener, Options};
use crate::testing::postgres::{self, Server};
use std::thread;

fn options(server: &Server, database: &str) -> Options {
    Options::new(&server.url("threadhold", database), None, &unique("t")).unwrap()
}

/// Opens stores on a database at once; returns its schema's version then.
fn open_at_once(server: &'static Server, database: &str) -> String {
    let opening: Vec<_> = (0..6)
        .map(|_| {
            let options = options(server, database);
            thread::spawn(move || {
                Opener::new(options).open().map(|mut store| store.list(&Default::default()))
            })
        })
        .collect();
    for opened in opening {
        opened.join().unwrap().unwrap().unwrap();
    }
    server.sql_in("threadhold", database, "SELECT version FROM threadhold_schema").unwrap()
}

#[test]
fn many_open_an_empty_database_at_once() {
    let Some(server) = postgres::server() else { return };
    assert_eq!(open_at_once(server, &server.database()), MIGRATIONS.len().to_string());
}

#[test]
fn many_open_a_database_of_an_older_schema_at_once() {
    let Some(server) = postgres::server() else { return };
    let database = server.database();
    let old = format!(
        "{}; CREATE TABLE threadhold_schema (only_one boolean PRIMARY KEY DEFAULT true, version bigint NOT NULL);
         INSERT INTO threadhold_schema (version) VALUES (1)",
        MIGRATIONS[0]
    );
    server.sql_in("threadhold", &database, &old).unwrap();
    assert_eq!(open_at_once(server, &database), MIGRATIONS.len().to_string());
}

#[test]
fn newer_schema_is_refused_untouched() {
    let Some(server) = postgres::server() else { return };
    let database = server.database();
    assert_eq!(open_at_once(server, &database), MIGRATIONS.len().to_string());
    server.sql_in("threadhold", &database, "UPDATE threadhold_schema SET version = 99").unwrap();
    let options = options(server, &database);
    let path = options.place().clone();
    let known = u32::try_from(MIGRATIONS.len()).unwrap();
    let error = Opener::new(options).open().unwrap_err();
    assert_eq!(error, StoreError::NewerSchema { path, found: 99, known });
    let version = server.sql_in("threadhold", &database, "SELECT version FROM threadhold_schema");
    assert_eq!(version, Ok("99".to_owned()));
}

#[test]
fn errors_of_opening_name_the_cause_and_no_password() {
    let Some(server) = postgres::server() else { return };
    let fails = |role: &str, database: &str| {
        let options = Options::new(&server.url(role, database), Some("secret"), "t").unwrap();
        let error = Opener::new(options).open().unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
        error
    };
    assert!(fails("threadhold", "nowhere").contains("database \"nowhere\" does not exist"));
    assert!(fails("nobody_known", "threadhold").contains("role \"nobody_known\" does not exist"));
    let options = Options::new("postgres://u@127.0.0.1:1/d", Some("secret"), "t").unwrap();
    let error = Opener::new(options).open().unwrap_err();
    assert!(matches!(error, StoreError::Away { .. }) && error.to_string().contains("refused"), "{error}");
    // The owner of no schema cannot make one.
    let (database, role) = (server.database(), format!("r{}", unique("x").replace('-', "")));
    server.sql(&format!("CREATE ROLE {role} LOGIN"));
    assert!(fails(&role, &database).contains("permission denied"));
}
