//! A provider on loopback for tests of this crate and of others (feature `testing`): answers as scripted, and
//! records its requests. Minimal HTTP: one request per connection.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::string_slice,
    reason = "helpers of tests fail as tests do"
)]

use crate::{Model, ModelError, Progress};
use engine::delta::Draft;
use engine::prompt::request::{Completion, Request};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};

/// Longer than any test takes.
const DEADLINE: Duration = Duration::from_secs(60);

/// Requests one answer and returns it as text.
pub async fn complete(model: &mut dyn Model, request: &Request) -> Result<Completion, ModelError> {
    let mut draft = Draft::default();
    let mut fold = |progress| match progress {
        // Arguments of an unknown call fail to fold; they are dropped.
        Progress::Delta(delta) => drop(draft.fold(delta)),
        Progress::Retrying(_) => draft = Draft::default(),
        Progress::Alive => {}
    };
    let answer = model.answer(request, &mut fold).await?;
    Ok(answer.completion(&draft))
}

/// A recorded request.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Method and path.
    pub line: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; null if it was not JSON.
    pub body: Value,
}

impl Asked {
    /// The header of this name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A step of the server after the head of a response.
#[derive(Debug, Clone)]
pub enum Act {
    /// Sends a piece of the body.
    Send(Vec<u8>),
    /// Waits.
    Wait(Duration),
    /// Waits until the client disconnects.
    Hold,
    /// Sends the same piece until the client disconnects.
    Endless(Vec<u8>),
    /// Closes the connection in the middle of the body.
    Cut,
    /// Resets the connection.
    Reset,
}

/// A response: its head and its steps. A proper end follows the last step.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    acts: Vec<Act>,
    /// Resets the connection before any response.
    is_torn: bool,
}

impl Reply {
    /// A response with this status and body.
    pub fn body(status: u16, body: &str) -> Self {
        let acts = vec![Act::Send(body.as_bytes().to_vec())];
        Self { status, headers: Vec::new(), acts, is_torn: false }
    }

    /// A response with status 200 and these steps.
    pub fn stream(acts: Vec<Act>) -> Self {
        Self { status: 200, headers: Vec::new(), acts, is_torn: false }
    }

    /// No response: the connection is reset.
    pub fn torn() -> Self {
        Self { is_torn: true, ..Self::stream(Vec::new()) }
    }

    /// Adds a header.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Closes the connection after so many of its steps.
    pub fn cut_after(mut self, steps: usize) -> Self {
        self.acts.truncate(steps);
        self.acts.push(Act::Cut);
        self
    }

    /// Adds an endless body.
    pub fn endless(mut self, piece: Vec<u8>) -> Self {
        self.acts.push(Act::Endless(piece));
        self
    }

    /// Chat Completions: a text answer in these pieces.
    pub fn says(pieces: &[&str]) -> Self {
        let mut acts: Vec<Act> =
            pieces.iter().map(|piece| chunk(&json!({ "content": piece }), None)).collect();
        acts.extend([chunk(&json!({}), Some("stop")), usage(), done()]);
        Self::stream(acts)
    }

    /// Chat Completions: an answer with a tool call.
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

/// Chat Completions: the usage, 100 prompt and 10 completion tokens.
pub fn usage() -> Act {
    event(&json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 10 } }))
}

/// Chat Completions: the end marker.
pub fn done() -> Act {
    Act::Send(b"data: [DONE]\n\n".to_vec())
}

type Answering = Box<dyn FnMut(usize, &Asked) -> Reply + Send>;

/// A server that runs until it is dropped.
pub struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    /// The number of clients that disconnected before their response was complete.
    gone: watch::Receiver<usize>,
    /// Ends the server when dropped.
    _stop: oneshot::Sender<()>,
}

/// State shared by the connections.
struct Shared {
    asked: Arc<Mutex<Vec<Asked>>>,
    answering: Mutex<Answering>,
    gone: watch::Sender<usize>,
}

impl Server {
    /// Starts a server that answers each request, numbered from 0, with the result of `answering`. Its own
    /// thread lets it serve other processes too.
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

    /// Starts a server that sends these responses in turn, and the last one from then on.
    pub fn replies(replies: Vec<Reply>) -> Self {
        Self::start(move |at, _| replies[at.min(replies.len() - 1)].clone())
    }

    /// The base URL, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no test failed").clone()
    }

    /// Waits until `count` clients disconnected before their response was complete.
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

/// Sends a response. Fails if the client disconnects before its end.
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
                // A client sends nothing after its request, so this returns when it disconnects.
                socket.read_u8().await?;
            }
            Act::Endless(piece) => loop {
                send(socket, &piece).await?;
            },
            Act::Cut => return Ok(()),
            Act::Reset => {
                // Lets the data sent so far arrive.
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

/// Reads a request, or `None` if the client sent none.
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
