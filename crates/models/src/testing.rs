//! A provider on loopback for tests, of this crate and of others (feature `testing`): answers as a test tells it to, and
//! keeps what it was asked. Speaks just enough HTTP for that: one request for a connection.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::string_slice,
    reason = "helpers of tests fail as tests do"
)]

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};

/// Longer than anything here takes.
const DEADLINE: Duration = Duration::from_secs(60);

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Method and path.
    pub line: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; null where it was no JSON.
    pub body: Value,
}

impl Asked {
    /// A header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What the server does once the head of its answer is sent.
#[derive(Debug, Clone)]
pub enum Act {
    /// A piece of the body.
    Send(Vec<u8>),
    /// Nothing for a while.
    Wait(Duration),
    /// Nothing, until the client goes.
    Hold,
    /// The same piece again and again, until the client goes.
    Endless(Vec<u8>),
    /// The connection ends, in the middle of the body.
    Cut,
    /// The connection is torn.
    Reset,
}

/// How a request is answered. What follows the acts is a proper end.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    acts: Vec<Act>,
    /// The connection is torn before any answer.
    is_torn: bool,
}

impl Reply {
    /// An answer of this status and body.
    pub fn body(status: u16, body: &str) -> Self {
        let acts = vec![Act::Send(body.as_bytes().to_vec())];
        Self { status, headers: Vec::new(), acts, is_torn: false }
    }

    /// A stream that does this.
    pub fn stream(acts: Vec<Act>) -> Self {
        Self { status: 200, headers: Vec::new(), acts, is_torn: false }
    }

    /// No answer: the connection is torn.
    pub fn torn() -> Self {
        Self { is_torn: true, ..Self::stream(Vec::new()) }
    }

    /// With a header more.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a body that has no end.
    pub fn endless(mut self, piece: Vec<u8>) -> Self {
        self.acts.push(Act::Endless(piece));
        self
    }

    /// Chat Completions: an answer that says this, in these pieces.
    pub fn says(pieces: &[&str]) -> Self {
        let mut acts: Vec<Act> =
            pieces.iter().map(|piece| chunk(&json!({ "content": piece }), None)).collect();
        acts.extend([chunk(&json!({}), Some("stop")), usage(), done()]);
        Self::stream(acts)
    }

    /// Chat Completions: an answer that calls a tool.
    pub fn calls(id: &str, name: &str, arguments: &str) -> Self {
        let function = json!({ "name": name, "arguments": arguments });
        let calls = json!([{ "index": 0, "id": id, "type": "function", "function": function }]);
        let call = chunk(&json!({ "tool_calls": calls }), None);
        Self::stream(vec![call, chunk(&json!({}), Some("tool_calls")), usage(), done()])
    }
}

/// Chat Completions: a chunk of a stream.
pub fn chunk(delta: &Value, finish_reason: Option<&str>) -> Act {
    event(&json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish_reason }] }))
}

/// A server-sent event.
pub fn event(data: &Value) -> Act {
    Act::Send(format!("data: {data}\n\n").into_bytes())
}

/// Chat Completions: the usage.
pub fn usage() -> Act {
    event(&json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 10 } }))
}

/// Chat Completions: the end.
pub fn done() -> Act {
    Act::Send(b"data: [DONE]\n\n".to_vec())
}

type Answering = Box<dyn FnMut(usize, &Asked) -> Reply + Send>;

/// A server that runs until it is dropped.
pub struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    /// How many clients went before their answer was whole.
    gone: watch::Receiver<usize>,
    /// Dropped with it, which ends the server.
    _stop: oneshot::Sender<()>,
}

/// What the connections share.
struct Shared {
    asked: Arc<Mutex<Vec<Asked>>>,
    answering: Mutex<Answering>,
    gone: watch::Sender<usize>,
}

impl Server {
    /// A server that answers the requests so, each with its number from 0 on. It runs on a thread of its own, so it also
    /// serves other processes.
    pub fn start(answering: impl FnMut(usize, &Asked) -> Reply + Send + 'static) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (gone_in, gone) = watch::channel(0);
        let (stop, stopped) = oneshot::channel();
        let (address_in, address) = std::sync::mpsc::channel();
        let shared = Arc::new(Shared {
            asked: asked.clone(),
            answering: Mutex::new(Box::new(answering)),
            gone: gone_in,
        });
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
                address_in.send(listener.local_addr().expect("an address")).expect("somebody waits");
                let serve = async {
                    while let Ok((socket, _)) = listener.accept().await {
                        tokio::spawn(serve(socket, shared.clone()));
                    }
                };
                tokio::select! {
                    () = serve => {}
                    _ = stopped => {}
                }
            });
        });
        let address = address.recv_timeout(DEADLINE).expect("the server runs");
        Self { address, asked, gone, _stop: stop }
    }

    /// A server that answers with these in turn, and with the last one from then on.
    pub fn replies(replies: Vec<Reply>) -> Self {
        Self::start(move |at, _| replies[at.min(replies.len() - 1)].clone())
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no test failed").clone()
    }

    /// Waits until so many clients went before their answer was whole.
    pub async fn gone(&self, count: usize) {
        let mut gone = self.gone.clone();
        let waited = tokio::time::timeout(DEADLINE, gone.wait_for(|now| *now >= count)).await;
        waited.expect("the client goes").expect("the server runs");
    }
}

async fn serve(mut socket: TcpStream, shared: Arc<Shared>) {
    let Some(asked) = request(&mut socket).await else { return };
    let reply = {
        let mut all = shared.asked.lock().expect("no test failed");
        all.push(asked.clone());
        let mut answering = shared.answering.lock().expect("no test failed");
        answering(all.len() - 1, &asked)
    };
    if reply.is_torn {
        socket.set_zero_linger().expect("a socket");
        return;
    }
    if answer(&mut socket, reply).await.is_err() {
        shared.gone.send_modify(|gone| *gone += 1);
    }
}

/// Sends an answer. An error says that the client went before it was whole.
async fn answer(socket: &mut TcpStream, reply: Reply) -> std::io::Result<()> {
    let mut head =
        format!("HTTP/1.1 {} Status\r\ntransfer-encoding: chunked\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    socket.write_all(format!("{head}\r\n").as_bytes()).await?;
    for act in reply.acts {
        match act {
            Act::Send(piece) => send(socket, &piece).await?,
            Act::Wait(time) => tokio::time::sleep(time).await,
            Act::Hold => {
                // Nothing is sent after a request, so what comes is its end.
                socket.read_u8().await?;
            }
            Act::Endless(piece) => loop {
                send(socket, &piece).await?;
            },
            Act::Cut => return Ok(()),
            Act::Reset => {
                // What was sent before is to arrive.
                socket.flush().await?;
                tokio::time::sleep(Duration::from_millis(50)).await;
                return socket.set_zero_linger();
            }
        }
    }
    socket.write_all(b"0\r\n\r\n").await?;
    socket.shutdown().await
}

async fn send(socket: &mut TcpStream, piece: &[u8]) -> std::io::Result<()> {
    socket.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
    socket.write_all(piece).await?;
    socket.write_all(b"\r\n").await
}

/// Reads a request; nothing where none came.
async fn request(socket: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let mut lines = head.split("\r\n");
    let line = lines.next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_lowercase(), value.trim().to_owned()))
    };
    let headers: Vec<(String, String)> = lines.filter_map(header).collect();
    let mut asked = Asked { line, headers, body: Value::Null };
    let length: usize = asked.header("content-length").map_or(0, |length| length.parse().expect("a number"));
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        if socket.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    asked.body = serde_json::from_slice(&body).unwrap_or_default();
    Some(asked)
}
