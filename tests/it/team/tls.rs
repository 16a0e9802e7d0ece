//! A server that speaks TLS, with certificates of an authority that only the test knows.

use super::doctor::doctor;
use super::{Tenant, started};
use crate::wire::client::{Start, Wire};
use crate::wire::script::Editor;
use serde_json::json;
use store::testing::postgres::Server;
use uuid::Uuid;

/// Makes an authority, and a certificate of it for this address. Needs `openssl`.
fn certificates(server: &Server, address: &str) {
    let script = format!(
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=authority &&
         openssl req -newkey rsa:2048 -nodes -keyout tls.key -out tls.csr -subj /CN=server &&
         printf 'subjectAltName=IP:{address}\\nbasicConstraints=CA:FALSE\\n' > extensions &&
         openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out tls.crt &&
         chmod 600 tls.key"
    );
    let made = server.run("sh").arg("-c").arg(script).output().expect("sh");
    assert!(made.status.success(), "openssl: {}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn certificate_must_be_of_a_known_authority_for_the_name() {
    // Every address of this network is the machine's own, so nobody else listens there.
    let [a, b, c, ..] = Uuid::new_v4().into_bytes();
    let (address, other) = (format!("127.{a}.{b}.{}", c / 2 + 1), format!("127.{a}.{b}.{}", c / 2 + 128));
    let settings = |server: &Server| {
        certificates(server, &address);
        let file = |name: &str| server.folder().join(name).display().to_string();
        vec![
            format!("listen_addresses={address},{other}"),
            "ssl=on".to_owned(),
            format!("ssl_cert_file={}", file("tls.crt")),
            format!("ssl_key_file={}", file("tls.key")),
        ]
    };
    let Some(server) = Server::start_with(settings) else { return };
    let url = |host: &str, mode: &str| format!("postgres://threadhold@{host}/threadhold?sslmode={mode}");
    let authority = server.folder().join("ca.crt").display().to_string();
    let known = [("SSL_CERT_FILE", authority.as_str())];

    let (code, said) = doctor(&url(&address, "require"), "t", &[]);
    assert!(code == Some(1) && said.contains("UnknownIssuer") && said.contains("SSL_CERT_FILE"), "{said}");
    let (code, said) = doctor(&url(&other, "verify-full"), "t", &known);
    assert!(code == Some(1) && said.contains("not valid for name") && said.contains(&other), "{said}");
    let (code, said) = doctor(&url(&address, "verify-full"), "t", &known);
    assert!(code == Some(0) && said.contains("can be used"), "{said}");

    // A sidecar says the same.
    let tenant = Tenant::at(url(&address, "require"));
    let settings = || json!({ "model": { "name": "m", "window": 16_000 } });
    let mut stranger = Editor::stored(started(), &tenant.on("laptop"), settings());
    let error =
        stranger.refused("session/open", json!({ "workspaceFolder": "/code/parser", "sessionId": "s" }));
    assert_eq!(error["data"]["kind"], "StorageError");
    let words = error["message"].as_str().unwrap_or_default();
    assert!(words.contains("UnknownIssuer") && words.contains("SSL_CERT_FILE"), "{error}");
    let trusting =
        Start::new(Wire::Pipes).without("PGPASSWORD").variable("SSL_CERT_FILE", &authority).start();
    let mut editor = Editor::stored(trusting, &tenant.on("laptop"), settings());
    editor.open("s", None);
    editor.turn(json!({ "sessionId": "s", "content": "One." }));
    let encrypted = "SELECT count(*) > 0 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                     WHERE ssl AND datname = 'threadhold'";
    assert_eq!(server.sql(encrypted), "t");
}
