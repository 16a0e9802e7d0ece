//! WebSockets that stay open between calls: a server on loopback answers each request, and tells what it was sent over which
//! connection.

use super::answers::{call, result, terms, user};
use crate::remote::{Clients, Remote};
use crate::{Model, ModelError};
use engine::delta::{Delta, Draft};
use engine::endpoint::{Endpoint, Wire};
use engine::message::Body;
use engine::prompt::item::{Item, ItemCall, ItemPart, Role};
use engine::prompt::request::{Answer, Request};
use futures_util::{SinkExt, StreamExt};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::protocol::Message;
use tokio_tungstenite::tungstenite::protocol::frame::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

const MODEL: &str = "gpt-6.1-sol";
/// Longer than any test takes.
const DEADLINE: Duration = Duration::from_secs(60);

/// What the server does with a request.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    /// Answers with a call of a tool.
    Answers,
    /// Answers, and sends an event behind the end.
    AnswersAndMore,
    /// Answers, and closes.
    AnswersAndCloses,
    /// Fails with this code.
    Fails(&'static str),
    /// Closes without a word.
    Closes,
    /// Closes because the request is too large.
    ClosesForSize,
    /// Sends the beginning of an answer and no more.
    Hangs,
}

/// A server that does these things in order, whatever the connection.
struct Server {
    url: String,
    /// The number of the connection and the message, of each request.
    asked: Arc<Mutex<Vec<(usize, Value)>>>,
}

impl Server {
    async fn start(does: &[Does]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<(usize, Value)>>> = Arc::default();
        let (does, seen) = (does.to_vec(), asked.clone());
        tokio::spawn(async move {
            let mut connection = 0;
            while let Ok((tcp, _)) = listener.accept().await {
                tokio::spawn(serve(tcp, connection, does.clone(), seen.clone()));
                connection += 1;
            }
        });
        Self { url, asked }
    }

    fn model(&self, clients: &mut Clients, key: &str) -> Remote {
        let endpoint = Endpoint {
            base_url: Some(self.url.clone()),
            socket: true,
            ..Endpoint::of(Wire::OpenaiResponses)
        };
        let client = clients.of(&endpoint).unwrap();
        let key = Some(SecretString::from(key));
        Remote::new(client, endpoint, key, terms(MODEL), DEADLINE).with_sockets(clients.sockets())
    }

    /// Connection, id of the response before and number of items, of each request.
    fn requests(&self) -> Vec<(usize, Option<String>, usize)> {
        let asked = self.asked.lock().unwrap();
        let one = |(connection, message): &(usize, Value)| {
            let previous = message["previous_response_id"].as_str().map(str::to_owned);
            (*connection, previous, message["input"].as_array().unwrap().len())
        };
        asked.iter().map(one).collect()
    }
}

async fn serve(
    tcp: tokio::net::TcpStream,
    connection: usize,
    does: Vec<Does>,
    seen: Arc<Mutex<Vec<(usize, Value)>>>,
) {
    let mut first = [0; 4];
    if tcp.peek(&mut first).await.is_ok() && &first == b"POST" {
        return posted(tcp, connection, &seen).await;
    }
    let Ok(mut socket) = accept_async(tcp).await else { return };
    while let Some(Ok(message)) = socket.next().await {
        // Pings are answered by the library.
        let Message::Text(text) = message else { continue };
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.push((connection, serde_json::from_str(&text).unwrap()));
            seen.len()
        };
        let what = does[number - 1];
        let mut events = Vec::new();
        match what {
            Does::Answers | Does::AnswersAndMore | Does::AnswersAndCloses => events.extend(answer(number)),
            Does::Hangs => events.extend(answer(number).into_iter().take(1)),
            Does::Fails(code) => {
                events.push(
                    json!({ "type": "error", "status": 400, "error": { "code": code, "message": "no" } }),
                );
            }
            Does::Closes | Does::ClosesForSize => {}
        }
        if what == Does::AnswersAndMore {
            events.push(json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "x" }));
        }
        for event in events {
            // The client may be gone.
            drop(socket.send(Message::text(event.to_string())).await);
        }
        match what {
            Does::Closes | Does::AnswersAndCloses => return,
            Does::ClosesForSize => {
                let frame = CloseFrame { code: CloseCode::Size, reason: "too big".into() };
                return drop(socket.close(Some(frame)).await);
            }
            _ => {}
        }
    }
}

/// Answers a POST.
async fn posted(mut tcp: tokio::net::TcpStream, connection: usize, seen: &Mutex<Vec<(usize, Value)>>) {
    let mut request = Vec::new();
    let body = loop {
        if tcp.read_buf(&mut request).await.unwrap() == 0 {
            return;
        }
        let text = String::from_utf8_lossy(&request);
        let body = text.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str::<Value>(body).ok());
        if let Some(body) = body {
            break body;
        }
    };
    let number = {
        let mut seen = seen.lock().unwrap();
        seen.push((connection, body));
        seen.len()
    };
    let events: String = answer(number).iter().map(|event| format!("data: {event}\n\n")).collect();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", events.len());
    tcp.write_all(format!("{head}{events}").as_bytes()).await.unwrap();
}

/// The events of an answer with thinking, words and a call.
fn answer(number: usize) -> [Value; 4] {
    let done = |at: usize, item: Value| json!({ "type": "response.output_item.done", "output_index": at, "item": item });
    let words = json!([{ "type": "output_text", "text": format!("I look, {number}.") }]);
    let call = json!({ "type": "function_call", "call_id": format!("c{number}"), "name": "read", "arguments": "{}" });
    [
        done(
            0,
            json!({ "type": "reasoning", "id": format!("rs_{number}"), "encrypted_content": "ZW5j", "summary": [] }),
        ),
        done(1, json!({ "type": "message", "phase": "commentary", "content": words })),
        done(2, call),
        json!({ "type": "response.completed", "response": { "id": format!("resp_{number}"), "status": "completed" } }),
    ]
}

/// A conversation with a model.
struct Talk {
    model: Remote,
    items: Vec<Item>,
}

impl Talk {
    fn new(model: Remote) -> Self {
        Self { model, items: vec![Item::made(Role::System, "Be brief.", 1), user("a")] }
    }

    async fn ask(&mut self) -> Result<(Draft, Answer), ModelError> {
        let mut draft = Draft::default();
        let request = Request { items: self.items.clone(), ..Request::default() };
        let mut hear = |said| {
            if let crate::Progress::Delta(delta) = said {
                draft.fold(delta).unwrap();
            }
        };
        let ended = self.model.answer(&request, &mut hear);
        let ended = tokio::time::timeout(DEADLINE, ended).await.unwrap()?;
        Ok((draft, ended))
    }

    /// Asks, and adds the answer and the result of its call.
    async fn round(&mut self) {
        let (draft, _) = self.ask().await.unwrap();
        let Body::Assistant { parts, calls, .. } = draft.body() else { panic!("an answer") };
        let made = |call: &engine::message::ToolCall| ItemCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        };
        let id = calls[0].id.as_str().to_owned();
        self.items.push(Item {
            parts: parts.iter().map(ItemPart::from).collect(),
            calls: calls.iter().map(made).collect(),
            ..Item::made(Role::Assistant, "", 1)
        });
        self.items.push(result(&id, vec![ItemPart::text("text")]));
    }
}

fn resp(number: usize) -> Option<String> {
    Some(format!("resp_{number}"))
}

#[tokio::test]
async fn next_request_sends_what_is_new_over_the_same_connection() {
    let server = Server::start(&[Does::Answers; 3]).await;
    let mut talk = Talk::new(server.model(&mut Clients::default(), "k"));
    talk.round().await;
    talk.round().await;
    talk.items.push(user("and on"));
    talk.round().await;
    assert_eq!(server.requests(), [(0, None, 2), (0, resp(1), 1), (0, resp(2), 2)]);
    let asked = server.asked.lock().unwrap();
    let message = &asked[1].1;
    assert_eq!(message["input"][0]["call_id"], "c1");
    assert_eq!((&message["type"], message.get("stream")), (&json!("response.create"), None));
}

#[tokio::test]
async fn changed_history_goes_whole() {
    let server = Server::start(&[Does::Answers; 4]).await;
    let mut talk = Talk::new(server.model(&mut Clients::default(), "k"));
    talk.round().await;
    talk.items[1] = user("b");
    talk.round().await;
    talk.items[2].parts.retain(|part| !matches!(part, ItemPart::Reasoning { .. }));
    talk.round().await;
    talk.items.truncate(4);
    talk.items.push(Item { calls: vec![call("c9", "{}")], ..Item::made(Role::Assistant, "", 1) });
    talk.items.push(result("c9", vec![ItemPart::text("text")]));
    talk.ask().await.unwrap();
    let whole: Vec<(usize, bool)> =
        server.requests().iter().map(|(connection, previous, _)| (*connection, previous.is_none())).collect();
    assert_eq!(whole, [(0, true), (0, true), (0, true), (0, true)]);
}

#[tokio::test]
async fn lost_socket_is_replaced_and_the_input_goes_whole() {
    for lost in [
        Does::Closes,
        Does::ClosesForSize,
        Does::Fails("previous_response_not_found"),
        Does::Fails("websocket_connection_limit_reached"),
    ] {
        let server = Server::start(&[Does::Answers, lost, Does::Answers]).await;
        let mut talk = Talk::new(server.model(&mut Clients::default(), "k").without_retries());
        talk.round().await;
        talk.round().await;
        assert_eq!(server.requests(), [(0, None, 2), (0, resp(1), 1), (1, None, 6)], "{lost:?}");
    }
    let server = Server::start(&[Does::AnswersAndCloses, Does::Answers]).await;
    let mut talk = Talk::new(server.model(&mut Clients::default(), "k").without_retries());
    talk.round().await;
    talk.round().await;
    assert_eq!(server.requests(), [(0, None, 2), (1, None, 6)], "closed between the calls");
}

/// An error of the request is the same over any socket.
#[tokio::test]
async fn rejection_over_an_open_socket_is_an_error() {
    let server = Server::start(&[Does::Answers, Does::Fails("invalid_prompt")]).await;
    let mut talk = Talk::new(server.model(&mut Clients::default(), "k").without_retries());
    talk.round().await;
    assert_eq!(talk.ask().await.unwrap_err().class(), "badRequest");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn socket_with_events_behind_its_answer_is_left() {
    let server = Server::start(&[Does::AnswersAndMore, Does::Answers]).await;
    let mut talk = Talk::new(server.model(&mut Clients::default(), "k").without_retries());
    talk.round().await;
    talk.round().await;
    assert_eq!(server.requests(), [(0, None, 2), (1, None, 6)]);
}

#[tokio::test]
async fn each_key_and_each_call_at_a_time_has_a_socket_of_its_own() {
    let server = Server::start(&[Does::Answers; 5]).await;
    let mut clients = Clients::default();
    let mut talks = ["k", "other"].map(|key| Talk::new(server.model(&mut clients, key)));
    for talk in &mut talks {
        talk.round().await;
    }
    assert_eq!(server.requests().iter().map(|asked| asked.0).collect::<Vec<_>>(), [0, 1]);
    let mut twin = Talk::new(server.model(&mut clients, "k"));
    twin.items.clone_from(&talks[0].items);
    let (one, two) = tokio::join!(talks[0].ask(), twin.ask());
    assert!(one.is_ok() && two.is_ok());
    let connections: std::collections::BTreeSet<usize> =
        server.requests()[2..].iter().map(|asked| asked.0).collect();
    assert_eq!(connections.len(), 2);
}

#[tokio::test]
async fn socket_of_a_cancelled_call_is_not_used_again() {
    let server = Server::start(&[Does::Answers, Does::Hangs, Does::Answers]).await;
    let mut talk = Talk::new(server.model(&mut Clients::default(), "k"));
    talk.round().await;
    let request = Request { items: talk.items.clone(), ..Request::default() };
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let mut hear = |said| drop(told.send(said));
    tokio::select! {
        _ = talk.model.answer(&request, &mut hear) => panic!("nobody ended it"),
        () = async { while !matches!(heard.recv().await, Some(crate::Progress::Delta(Delta::SetThinkingBlocks(_)))) {} } => {}
    }
    talk.round().await;
    assert_eq!(server.requests(), [(0, None, 2), (0, resp(1), 1), (1, None, 6)]);
}

/// The second such break in a row is no accident.
#[tokio::test]
async fn endpoint_whose_new_sockets_break_twice_is_asked_by_post() {
    let server = Server::start(&[Does::Closes, Does::Closes]).await;
    let mut talk = Talk::new(server.model(&mut Clients::default(), "k"));
    talk.round().await;
    talk.round().await;
    let streams: Vec<bool> =
        server.asked.lock().unwrap().iter().map(|(_, message)| message.get("stream").is_some()).collect();
    assert_eq!(streams, [false, false, true, true]);
}

#[tokio::test]
async fn one_broken_socket_among_whole_ones_is_asked_again() {
    let server = Server::start(&[Does::Closes, Does::AnswersAndCloses, Does::Closes, Does::Answers]).await;
    let mut talk = Talk::new(server.model(&mut Clients::default(), "k"));
    talk.round().await;
    talk.round().await;
    let streams =
        server.asked.lock().unwrap().iter().filter(|(_, message)| message.get("stream").is_some()).count();
    assert_eq!((streams, server.requests().len()), (0, 4));
}
