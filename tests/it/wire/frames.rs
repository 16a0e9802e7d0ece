//! Invalid frames, and frames at the wrong moment: each gets its typed error, and the stream continues.

use super::client::{Client, Start, Wire};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A test's file, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("wire-{name}-{}", std::process::id());
        Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path of text")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

/// The error code of the next response with this id, which may be null.
fn code_for(client: &mut Client, id: &Value) -> i64 {
    let response = client
        .wait(&format!("an error for {id}"), |frame| frame.get("method").is_none() && frame["id"] == *id);
    assert!(response["error"]["data"]["kind"].is_string(), "every error names its kind: {response}");
    response["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {response}"))
}

/// Checks that the server still answers.
fn goes_on(client: &mut Client) {
    let error = client.call("no/suchMethod", json!({})).expect_err("there is no such method");
    let data = json!({ "kind": "MethodNotFound", "method": "no/suchMethod" });
    assert_eq!((&error["code"], &error["data"]), (&json!(-32601), &data));
}

fn framed(body: &[u8]) -> Vec<u8> {
    [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

#[test]
fn bad_input_gets_its_error_and_the_stream_continues() {
    for wire in Wire::ALL {
        let mut client = Client::new(wire);
        for (bytes, id, code) in [
            // Before initialize.
            (framed(br#"{"jsonrpc":"2.0","id":"early","method":"shutdown"}"#), json!("early"), -32002),
            (framed(br#"{"jsonrpc":"2.0","id":"b","method":"m","params":{]}}"#), json!("b"), -32700),
            (
                framed(b"{\"jsonrpc\":\"2.0\",\"id\":\"u\",\"method\":\"m\",\"params\":\"\xff\xfe\"}"),
                json!("u"),
                -32700,
            ),
            (framed(b"not json"), Value::Null, -32700),
            (framed(b""), Value::Null, -32700),
            (framed(br#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#), Value::Null, -32600),
            (framed(br#"{"jsonrpc":"2.0","id":"n"}"#), json!("n"), -32600),
            (framed(br#"{"jsonrpc":"1.0","id":"v","method":"m"}"#), json!("v"), -32600),
            (framed(br#"{"jsonrpc":"2.0","id":{},"method":"m"}"#), Value::Null, -32600),
            (framed(br#"{"jsonrpc":"2.0","id":"x","method":"exit"}"#), json!("x"), -32600),
            (b"hello\r\n".to_vec(), Value::Null, -32700),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}".to_vec(), Value::Null, -32700),
            (b"Content-Length: many\r\n\r\n{}".to_vec(), Value::Null, -32700),
            (b"Content-Type: application/json\r\n\r\n{}".to_vec(), Value::Null, -32700),
        ] {
            client.send_raw(&bytes).expect("the server reads");
            assert_eq!(code_for(&mut client, &id), code, "{wire:?} {:?}", String::from_utf8_lossy(&bytes));
            goes_on(&mut client);
        }
        client.initialize(json!({ "capabilities": {} }));
        let again = client.call("initialize", json!({ "capabilities": {} })).expect_err("it is initialized");
        assert_eq!(again["code"], -32600);
        let params = client.call("initialize", json!([])).expect_err("it is initialized");
        assert!(params["code"].is_i64(), "{params}");
        // Unknown notifications and unexpected responses are ignored.
        client.notify("no/suchMethod", json!({}));
        client.respond(&json!(77), json!({}));
        client.respond_error(&json!("77"), 1, "no");
        goes_on(&mut client);
        assert_eq!(client.call("shutdown", Value::Null), Ok(Value::Null));
        let late = client.call("textDocument/hover", json!({})).expect_err("it is shut down");
        assert_eq!(late["code"], -32600);
        client.notify("exit", Value::Null);
        assert_eq!(client.wait_exit(), Some(0));
    }
}

#[test]
fn body_above_64_mib_is_refused_and_skipped() {
    const LIMIT: usize = 64 << 20;
    let mut client = Client::new(Wire::Pipes);
    let start = r#"{"jsonrpc":"2.0","id":"large","method":"m","params":{"a":""#;
    let body = |length: usize| format!("{start}{}\"}}}}", "x".repeat(length - start.len() - 3));
    client.send_raw(&framed(body(LIMIT + 1).as_bytes())).expect("the server reads");
    let response = client.wait("the refusal", |frame| frame["id"] == "large");
    let data = json!({ "kind": "TooLarge", "what": "body", "limit": LIMIT, "actual": LIMIT + 1 });
    assert_eq!(response["error"]["data"], data);
    goes_on(&mut client);
    client.send_raw(&framed(body(LIMIT).as_bytes())).expect("the server reads");
    assert_eq!(code_for(&mut client, &json!("large")), -32601);
}

/// Longer than any buffer. The stream continues, whether the length comes before or after the long line.
#[test]
fn long_headers_are_skipped() {
    let mut client = Client::new(Wire::Pipes);
    let long = "x".repeat(1 << 20);
    let lines = "A: b\r\n".repeat(1 << 20);
    for bytes in [
        format!("X-Long: {long}\r\n\r\n"),
        format!("Content-Length: 2\r\nX-Long: {long}{long}\r\n\r\n{{}}"),
        long,
        lines,
    ] {
        client.send_raw(bytes.as_bytes()).expect("the server reads");
        assert_eq!(code_for(&mut client, &Value::Null), -32700);
        goes_on(&mut client);
    }
    let unanswered = |frame: &Value| frame.get("method").is_none() && frame["id"].is_null();
    assert_eq!(client.frames().iter().filter(|frame| unanswered(frame)).count(), 4, "one error for each");
}

/// Output and log are read only after all was written: both are larger than any buffer on the way.
#[test]
fn client_that_reads_nothing_is_still_read() {
    for wire in Wire::ALL {
        let mut client = Start::new(wire).variable("RUST_LOG", "trace").held().start();
        let ids: Vec<i64> = (0..5000).map(|_| client.request("no/suchMethod", json!({}))).collect();
        client.read_on();
        for id in ids {
            assert_eq!(client.wait_response(id)["error"]["code"], -32601);
        }
    }
}

/// The client accepts nothing but frames on standard output.
#[test]
fn output_has_only_frames_and_log_has_no_content() {
    let mut client = Start::new(Wire::Pipes).variable("RUST_LOG", "trace").start();
    client.initialize(json!({ "capabilities": {}, "rootPath": "planted-secret" }));
    for bytes in [&b"planted-secret\r\n"[..], &framed(b"{planted-secret"), &framed(b"{\"planted-secret\":")] {
        client.send_raw(bytes).expect("the server reads");
        assert_eq!(code_for(&mut client, &Value::Null), -32700);
    }
    client.respond(&json!(1), json!("planted-secret"));
    client.wait_log("invalid header line");
    assert_eq!(client.call("shutdown", Value::Null), Ok(Value::Null));
    client.notify("exit", Value::Null);
    assert_eq!(client.wait_exit(), Some(0));
    client.wait_end_of_output();
    client.wait_log("ending: the client sent exit");
    assert!(client.log().contains("TRACE"), "{}", client.log());
    assert!(!client.log().contains("planted-secret"), "{}", client.log());
}

#[test]
fn a_recording_holds_each_frame_of_both_sides_in_order() {
    let file = Scratch::new("record");
    let mut client = Start::new(Wire::Pipes).argument("--record").argument(file.path()).start();
    client.initialize(json!({ "capabilities": {} }));
    client
        .send_raw(&framed(b"{\n  \"jsonrpc\": \"2.0\",\r\n  \"method\": \"a\"\n}"))
        .expect("the server reads");
    client.send_raw(&framed(b"{\"a\\\xff\n")).expect("the server reads");
    assert_eq!(code_for(&mut client, &Value::Null), -32700);
    // The frame is recorded before its response is sent, and survives a kill.
    client.kill();
    assert_eq!(client.wait_exit(), None);
    let text = std::fs::read_to_string(file.path()).expect("a recording");
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    for line in &mut lines {
        assert!(line["at"].is_u64(), "{line}");
        line.as_object_mut().expect("an object").remove("at");
    }
    assert_eq!(lines.len(), 6, "{text}");
    assert_eq!((&lines[0]["from"], &lines[0]["frame"]["method"]), (&json!("client"), &json!("initialize")));
    assert_eq!((&lines[1]["from"], &lines[1]["frame"]["id"]), (&json!("server"), &json!(1)));
    assert_eq!(lines[2]["frame"]["method"], "initialized");
    assert_eq!(lines[3], json!({ "from": "client", "frame": { "jsonrpc": "2.0", "method": "a" } }));
    assert_eq!((&lines[4]["from"], &lines[4]["body"]), (&json!("client"), &json!("{\"a\\\\\\xff\n")));
    assert!(lines[4]["note"].as_str().is_some_and(|note| note.contains("UTF-8")), "{text}");
    assert_eq!(lines[5]["frame"]["error"]["code"], -32700);
}

/// An accepted frame can be masked and recorded.
#[test]
fn recording_holds_no_unpaired_surrogate_and_no_key_beside_one() {
    let file = Scratch::new("record-surrogate");
    let mut client = Start::new(Wire::Pipes).argument("--record").argument(file.path()).start();
    client.initialize(json!({ "capabilities": {} }));
    let key = br#"{"jsonrpc":"2.0","id":"k","method":"model/key","params":{"name":"A \ud83d","value":"sk-planted-\udc00"}}"#;
    client.send_raw(&framed(key)).expect("the server reads");
    client.wait("the answer", |frame| frame["id"] == "k");
    client.kill();
    assert_eq!(client.wait_exit(), None);
    let text = std::fs::read_to_string(file.path()).expect("a recording");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let recorded = lines.iter().find(|line| line["frame"]["method"] == "model/key").expect("the frame");
    assert_eq!(recorded["frame"]["params"], json!({ "name": "A \u{fffd}", "value": "[key]" }));
    assert!(!text.contains("sk-planted"), "{text}");
}

#[test]
fn unwritable_recording_is_logged_and_serving_continues() {
    // A path below a file, and a device that is always full.
    let full = if cfg!(target_os = "linux") { "/dev/full" } else { "/dev/null/record" };
    for file in ["/dev/null/record", full] {
        let mut client = Start::new(Wire::Pipes).argument("--record").argument(file).start();
        goes_on(&mut client);
        client.wait_log("recording");
        goes_on(&mut client);
    }
}

#[test]
fn without_a_command_a_program_at_standard_input_is_served() {
    let mut client = Start::new(Wire::Pipes).program(env!("CARGO_BIN_EXE_threadhold"), []).start();
    client.initialize(json!({ "capabilities": {} }));
}

/// Files: neither pipes nor sockets.
#[test]
fn files_serve_as_standard_input_and_output() {
    let (input, output) = (Scratch::new("input"), Scratch::new("output"));
    let frames: Vec<u8> = [
        &br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#[..],
        br#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#,
        br#"{"jsonrpc":"2.0","method":"exit"}"#,
    ]
    .iter()
    .flat_map(|body| framed(body))
    .collect();
    std::fs::write(&input.0, frames).expect("a file");
    let status = Command::new(env!("CARGO_BIN_EXE_threadhold"))
        .arg("serve")
        .stdin(File::open(&input.0).expect("the file"))
        .stdout(File::create(&output.0).expect("a file"))
        .status()
        .expect("the binary starts");
    assert_eq!(status.code(), Some(0));
    let text = std::fs::read_to_string(&output.0).expect("frames");
    assert!(text.contains(r#""result":null,"id":2}"#), "{text}");
}

/// Non-blocking mode belongs to the open file, which other processes may share.
#[cfg(target_os = "linux")]
#[test]
fn pipes_and_sockets_keep_their_blocking_mode() {
    fn is_blocking(end: &impl AsFd) -> bool {
        let path = format!("/proc/self/fdinfo/{}", end.as_fd().as_raw_fd());
        let text = std::fs::read_to_string(path).expect("a descriptor of ours");
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:")).expect("flags");
        u64::from_str_radix(flags.trim(), 8).expect("octal") & 0o4000 == 0
    }
    let serve = |stdin: Stdio, stdout: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_threadhold"));
        command.arg("serve").stdin(stdin).stdout(stdout);
        assert_eq!(command.status().expect("the binary starts").code(), Some(1));
    };
    let exit = framed(br#"{"jsonrpc":"2.0","method":"exit"}"#);
    let fd = |end: &dyn AsFd| end.as_fd().try_clone_to_owned().expect("a descriptor");

    let (input, mut ours) = std::io::pipe().expect("a pipe");
    let (mut from, output) = std::io::pipe().expect("a pipe");
    std::io::Write::write_all(&mut ours, &exit).expect("room for a frame");
    serve(Stdio::from(fd(&input)), Stdio::from(fd(&output)));
    assert!(is_blocking(&input) && is_blocking(&output));
    drop(output);
    from.read_to_end(&mut Vec::new()).expect("nobody else has it");

    for was_blocking in [true, false] {
        let (mut ours, its) = std::os::unix::net::UnixStream::pair().expect("sockets");
        its.set_nonblocking(!was_blocking).expect("a socket");
        std::io::Write::write_all(&mut ours, &exit).expect("room for a frame");
        serve(Stdio::from(fd(&its)), Stdio::from(fd(&its)));
        assert_eq!(is_blocking(&its), was_blocking);
    }
}
