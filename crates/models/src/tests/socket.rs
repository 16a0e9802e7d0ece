//! Responses over a WebSocket: a server on loopback plays recorded turns, which give the same events as over
//! a POST.

use super::answers::{everything, terms, value};
use super::{Heard, join, read, responses};
use crate::remote::{Clients, Remote};
use crate::testing::{Act, Reply, Server};
use crate::wire::{post, stamped};
use crate::{Model, Progress};
use engine::endpoint::{Endpoint, Wire};
use futures_util::{SinkExt, StreamExt};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::Message;

const MODEL: &str = "gpt-5.6-sol";
const KEY: &str = "sk-planted";
/// Longer than any test takes.
const DEADLINE: Duration = Duration::from_secs(60);

/// The request that a server received, and whether its client disconnected on its own.
struct Asked {
    line: String,
    authorization: String,
    message: Value,
    is_gone: bool,
}

/// Sends these messages to the first client. `holds`: the server then waits for the client to disconnect.
#[allow(clippy::result_large_err, reason = "the error of a handshake is the library's")]
async fn play(listener: &TcpListener, messages: Vec<Message>, holds: bool) -> Asked {
    let (tcp, _) = listener.accept().await.unwrap();
    let mut asked =
        Asked { line: String::new(), authorization: String::new(), message: Value::Null, is_gone: false };
    let look = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        asked.line = request.uri().to_string();
        asked.authorization = request.headers()["authorization"].to_str().unwrap().to_owned();
        Ok(response)
    };
    let mut socket = accept_hdr_async(tcp, look).await.unwrap();
    let first = socket.next().await.unwrap().unwrap();
    asked.message = serde_json::from_str(first.to_text().unwrap()).unwrap();
    for message in messages {
        // The client may have disconnected after the end.
        drop(socket.send(message).await);
    }
    if holds {
        while let Some(Ok(_)) = socket.next().await {}
        asked.is_gone = true;
    }
    asked
}

/// Requests an answer from a server that sends these messages.
fn asks(messages: Vec<Message>, holds: bool) -> (Heard, Asked) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let talk = async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut model = socket(&format!("http://{}/v1", listener.local_addr().unwrap())).without_retries();
        let server = tokio::spawn(async move { play(&listener, messages, holds).await });
        let mut deltas = Vec::new();
        let request = everything();
        let end = model.answer(&request, &mut |said| join(&mut deltas, said)).await;
        // With the last model of an endpoint its sockets are closed.
        drop(model);
        (Heard { deltas, end }, server.await.unwrap())
    };
    runtime.block_on(async { tokio::time::timeout(DEADLINE, talk).await.unwrap() })
}

fn socket(url: &str) -> Remote {
    let endpoint =
        Endpoint { base_url: Some(url.to_owned()), socket: true, ..Endpoint::of(Wire::OpenaiResponses) };
    let client = Clients::default().of(&endpoint).unwrap();
    Remote::new(client, endpoint, Some(SecretString::from(KEY)), terms(MODEL), DEADLINE)
}

/// The events of the same turn over a POST.
fn over_a_post(events: &[String]) -> Heard {
    let plain = read(Wire::OpenaiResponses, [super::answers::stream(events).as_bytes()]);
    let mut deltas = Vec::new();
    for delta in plain.deltas {
        join(&mut deltas, stamped(Progress::Delta(delta), Wire::OpenaiResponses, MODEL));
    }
    Heard { deltas, end: plain.end }
}

fn texts(events: &[String]) -> Vec<Message> {
    events.iter().map(|event| Message::text(event.clone())).collect()
}

#[test]
fn a_recorded_turn_gives_the_same_events_over_a_socket() {
    let Some(turns) = responses::answers("openai-responses-encrypted-reasoning.events.jsonl") else { return };
    for events in turns {
        // Pings and line breaks within JSON are harmless.
        let pretty = events.iter().map(|event| Message::text(format!("{:#}", value(event))));
        let messages = pretty.flat_map(|event| [Message::Ping("x".into()), event]).collect();
        let (heard, asked) = asks(messages, true);
        assert_eq!(heard, over_a_post(&events));
        assert!(asked.is_gone, "the connection ends with the model");
        assert_eq!((&*asked.line, &*asked.authorization), ("/v1/responses", "Bearer sk-planted"));
        // Not at OpenAI's own address, where other fields are known.
        let elsewhere = Some("http://127.0.0.1:1/v1".to_owned());
        let endpoint = Endpoint { base_url: elsewhere, ..Endpoint::of(Wire::OpenaiResponses) };
        let mut body = post(&endpoint, &everything(), &terms(MODEL)).unwrap().body;
        body.as_object_mut().unwrap().shift_remove("stream");
        body["type"] = json!("response.create");
        assert_eq!(asked.message, body);
    }
}

/// The next connection plays the turn from its beginning.
#[tokio::test]
async fn turn_whose_socket_breaks_is_asked_again_and_is_whole() {
    let Some(turns) = responses::answers("openai-responses-encrypted-reasoning.events.jsonl") else { return };
    let mut resumed = 0;
    for events in turns {
        for cut in [1, events.len() / 2, events.len() - 1] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut model = socket(&format!("http://{}/v1", listener.local_addr().unwrap()));
            let server = async {
                for sent in [cut, events.len()] {
                    play(&listener, texts(&events[..sent]), false).await;
                }
            };
            let ((heard, retrying), ()) = tokio::join!(super::faults::ask(&mut model), server);
            assert_eq!((heard, retrying.len()), (over_a_post(&events), 1), "cut at {cut}");
            resumed += 1;
        }
    }
    assert!(resumed > 0);
}

/// A server or a proxy that does not know WebSockets is asked by POST, from then on at once.
#[tokio::test]
async fn refused_socket_becomes_a_post() {
    let answer = || {
        let events = [
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": "It is."}),
            json!({"type": "response.completed", "response": {"status": "completed", "output": []}}),
        ];
        Reply::stream(
            events.iter().map(|event| Act::Send(format!("data: {event}\n\n").into_bytes())).collect(),
        )
    };
    let refusals: [fn() -> Reply; 4] = [
        || Reply::body(404, "no such page"),
        || Reply::body(405, ""),
        || Reply::body(426, ""),
        || Reply::body(200, "<html></html>"),
    ];
    for refusal in refusals {
        let server = Server::replies(vec![refusal(), answer(), answer()]);
        let mut model = socket(&server.url());
        let (heard, retrying) = super::faults::ask(&mut model).await;
        assert!(heard.end.is_ok(), "{:?}", heard.end);
        let [retry] = &retrying[..] else { panic!("{retrying:?}") };
        assert_eq!((retry.attempt, retry.delay_ms), (2, 0));
        assert!(retry.reason.ends_with("; asking without it"), "{}", retry.reason);
        let (heard, retrying) = super::faults::ask(&mut model).await;
        assert!(heard.end.is_ok() && retrying.is_empty());
        let asked = server.asked();
        let methods: Vec<&str> =
            asked.iter().filter_map(|asked| asked.line.split_whitespace().next()).collect();
        assert_eq!(methods, ["GET", "POST", "POST"]);
    }
    // Of a key that is not accepted, a POST would be told the same.
    let server = Server::replies(vec![Reply::body(401, r#"{"error":{"message":"no such key"}}"#)]);
    let (heard, retrying) = super::faults::ask(&mut socket(&server.url())).await;
    assert_eq!((heard.end.unwrap_err().class(), retrying.len(), server.asked().len()), ("auth", 0, 1));
    // Who wants the first error gets it.
    let server = Server::replies(vec![Reply::body(404, "no such page")]);
    let (heard, _) = super::faults::ask(&mut socket(&server.url()).without_retries()).await;
    assert!(heard.end.is_err());
}

#[test]
fn socket_errors_have_the_class_of_posted_ones() {
    let class = |messages: Vec<Message>| {
        let (heard, _) = asks(messages, false);
        let error = heard.end.unwrap_err();
        assert!(!error.to_string().contains(KEY), "{error}");
        error.class()
    };
    let text = |event: Value| vec![Message::text(event.to_string())];
    let begun = || text(json!({"type": "response.output_text.delta", "output_index": 0, "delta": "It"}));
    let error =
        json!({"type": "error", "status": 400, "error": {"code": "context_length_exceeded", "message": KEY}});
    assert_eq!(class(text(error)), "contextOverflow");
    let quota =
        json!({"type": "error", "status": 429, "error": {"code": "insufficient_quota", "message": KEY}});
    assert_eq!(class(text(quota)), "quota");
    assert_eq!(class(begun()), "network", "the connection ended in the middle");
    assert_eq!(
        class([begun(), vec![Message::Close(None)]].concat()),
        "network",
        "the socket was closed in the middle"
    );
    assert_eq!(class([begun(), vec![Message::text("garbage")]].concat()), "corruptStream");
    assert_eq!(class([begun(), vec![Message::binary(vec![0, 1])]].concat()), "corruptStream");
}

#[test]
fn cancelled_call_closes_its_socket() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let talk = async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut model = socket(&format!("http://{}/v1", listener.local_addr().unwrap()));
        let events =
            vec![json!({"type": "response.output_text.delta", "output_index": 0, "delta": "It"}).to_string()];
        let server = tokio::spawn(async move { play(&listener, texts(&events), true).await });
        let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let request = everything();
        let mut hear = |said| drop(told.send(said));
        tokio::select! {
            _ = model.answer(&request, &mut hear) => panic!("nobody ended it"),
            () = async { while !matches!(heard.recv().await, Some(Progress::Delta(_))) {} } => {}
        }
        server.await.unwrap()
    };
    let asked = runtime.block_on(async { tokio::time::timeout(DEADLINE, talk).await.unwrap() });
    assert!(asked.is_gone);
}

#[test]
fn rejected_handshake_reports_the_http_error() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let talk = async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut model = socket(&format!("http://{}/v1", listener.local_addr().unwrap()));
        let server = tokio::spawn(async move {
            let (mut tcp, _) = listener.accept().await.unwrap();
            let mut seen = Vec::new();
            while !seen.ends_with(b"\r\n\r\n") {
                seen.push(tcp.read_u8().await.unwrap());
            }
            let body = "{\"error\":{\"message\":\"no such key\"}}";
            let head = format!("HTTP/1.1 401 Unauthorized\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            tcp.write_all(head.as_bytes()).await.unwrap();
        });
        let end = model.answer(&everything(), &mut |_| {}).await;
        server.await.unwrap();
        end
    };
    let end = runtime.block_on(async { tokio::time::timeout(DEADLINE, talk).await.unwrap() });
    assert_eq!(end.unwrap_err().class(), "auth");
}
