//! `threadhold doctor` with providers on loopback: an error is named by its class, with advice, and the exit
//! code shows whether there is one.

use super::{WIRES, answer};
use models::testing::{Act, Reply, Server};
use std::process::Command;

const KEY: &str = "sk-planted-doctor-9911";

/// Runs the doctor; returns the exit code and the output.
fn doctor(model: &str, url: &str, has_key: bool) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_threadhold"));
    command.args(["doctor", "--model", model, "--base-url", url, "--key-env", "PLANTED_KEY"]);
    command.env_remove("PLANTED_KEY");
    if has_key {
        command.env("PLANTED_KEY", KEY);
    }
    let output = command.output().expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout) + &text(output.stderr))
}

#[test]
fn working_provider_passes_all_checks() {
    for wire in WIRES {
        let server = Server::replies(vec![answer(wire, "ready", &[])]);
        let (code, said) = doctor(&format!("{wire}:m"), &server.url(), true);
        assert_eq!(code, Some(0), "{wire}: {said}");
        assert!(
            said.contains("PLANTED_KEY is set") && said.contains("ok       the model answered"),
            "{wire}: {said}"
        );
        assert_eq!(server.asked().len(), 1, "{wire}");
        assert_eq!(server.asked()[0].body["model"], "m", "{wire}");
        assert!(!said.contains(KEY), "{wire}");
    }
}

#[test]
fn doctor_names_the_error_and_advice() {
    let repeats = format!("{{\"error\": {{\"message\": \"Incorrect API key provided: {KEY}\"}}}}");
    let plain = |status| Reply::body(status, "{\"error\": {\"message\": \"no\"}}");
    let page = Reply::stream(vec![Act::Send(b"<html>Welcome</html>".to_vec())]);
    for (reply, has_key, class, advice) in [
        (Reply::body(401, &repeats), true, "auth", "The key in PLANTED_KEY was rejected"),
        (plain(401), false, "auth", "Set PLANTED_KEY"),
        (plain(404), true, "badRequest", "Unknown model or address"),
        (plain(400), true, "badRequest", "Check the model's name"),
        (plain(307).with("location", "http://127.0.0.1:1/"), true, "badRequest", "redirects to another one"),
        (plain(429), true, "rateLimited", "Wait, then try again"),
        (plain(402), true, "quota", "quota is used up"),
        (plain(503), true, "overloaded", "Try again later"),
        (page, true, "corruptStream", "not an answer of the wire openai-chat"),
    ] {
        let server = Server::replies(vec![reply]);
        let (code, said) = doctor("openai-chat:m", &server.url(), has_key);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(&format!("failed   {class}: ")) && said.contains(advice), "{class}: {said}");
        assert_eq!(server.asked().len(), 1, "{class}: it is asked once");
        assert!(!said.contains(KEY), "{said}");
    }
    // The server has no TLS.
    let server = Server::replies(vec![plain(200)]);
    let (code, said) = doctor("openai-chat:m", &server.url().replace("http:", "https:"), true);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("failed   network: ") && said.contains("http or https"), "{said}");
    // A missing fixture.
    let (code, said) = doctor("scripted:nowhere.json", "http://127.0.0.1:1", false);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("nowhere.json: ") && said.contains("Check that the file exists"), "{said}");
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let (code, said) = doctor("openai-chat:m", &url, true);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("failed   network: ") && said.contains("Nothing listens at"), "{said}");
}

/// Arguments that may contain a secret are rejected and not repeated.
#[test]
fn doctor_rejects_keys_in_addresses_and_names() {
    for (url, named) in [
        (&*format!("http://me:{KEY}@127.0.0.1:1/v1"), "PLANTED_KEY"),
        (&format!("http://127.0.0.1:1/v1?key={KEY}"), "PLANTED_KEY"),
        ("http://127.0.0.1:99999/v1", "PLANTED_KEY"),
        ("http://127.0.0.1:1/v1", KEY),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_threadhold"));
        command.args(["doctor", "--model", "openai-chat:m", "--base-url", url, "--key-env", named]);
        let output = command.output().expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("must be") && !said.contains(KEY), "{said}");
    }
}

/// The provider's usual key is not sent to another address, and a proxy is not used for this machine.
#[test]
fn doctor_sends_no_key_or_proxy_request_to_loopback() {
    let server = Server::replies(vec![answer("openai-chat", "ready", &[])]);
    let run = |url: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_threadhold"));
        command.args(["doctor", "--model", "openai-chat:m", "--base-url", url]);
        command.env("OPENAI_API_KEY", KEY).env("HTTP_PROXY", "http://127.0.0.1:1");
        command.env_remove("NO_PROXY").env_remove("no_proxy").env_remove("http_proxy");
        let output = command.output().expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (output.status.code(), said.into_owned())
    };
    // The address already has the wire's path.
    let (code, said) = run(&format!("{}/v1/chat/completions/", server.url()));
    assert_eq!(code, Some(0), "{said}");
    let asked = server.asked();
    assert_eq!((asked.len(), &*asked[0].line), (1, "POST /v1/chat/completions"), "{said}");
    assert_eq!(asked[0].header("authorization"), None);
    let (code, said) = run("http://models.example/v1");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("failed   network: ") && said.contains("HTTP_PROXY names a proxy"), "{said}");
}

#[test]
fn unusable_model_argument_gets_advice() {
    for (model, why) in [
        ("gpt-4o", "expected WIRE:NAME"),
        ("openai-chat:", "the model's name is missing: openai-chat:NAME"),
        ("openai-chart:m", "did you mean openai-chat?"),
        ("telegraph:m", "wires are openai-chat, "),
    ] {
        let (code, said) = doctor(model, "http://127.0.0.1:1", true);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(&format!("--model {model}: ")) && said.contains(why), "{said}");
    }
}
