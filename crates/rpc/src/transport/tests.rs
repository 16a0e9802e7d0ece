//! The transport over an in-memory pipe, with a service whose handlers answer at once, wait or panic.

use super::*;
use crate::frame::{HEAD, head};
use crate::outgoing::{Outgoing, outgoing};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use std::sync::{Arc, Condvar, Mutex};
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tower_lsp::jsonrpc::Result as RpcResult;
use tower_lsp::lsp_types::{InitializeParams, InitializeResult};
use tower_lsp::{LanguageServer, LspService};

/// The timeout for each expected event.
const DEADLINE: Duration = Duration::from_secs(60);

/// The parameters that a handler forwards, with the sender for its reply.
type Forwarded = (Value, oneshot::Sender<Value>);

struct Backend {
    owner: mpsc::UnboundedSender<Forwarded>,
    written: WrittenResults,
}

#[tower_lsp::async_trait]
impl LanguageServer for Backend {
    async fn initialize(&self, _: InitializeParams) -> RpcResult<InitializeResult> {
        Ok(InitializeResult::default())
    }

    async fn shutdown(&self) -> RpcResult<()> {
        Ok(())
    }
}

impl Backend {
    async fn echo(&self, params: Value) -> RpcResult<Value> {
        Ok(params)
    }

    /// Leaves its parameters as text.
    async fn write(&self, params: Value) -> RpcResult<Value> {
        Ok(self.written.leave(to_raw_value(&params).unwrap()))
    }

    /// Forwards, then waits for its reply.
    async fn ask(&self, params: Value) -> RpcResult<Value> {
        let (reply, replied) = oneshot::channel();
        let _ = self.owner.send((params, reply));
        replied.await.map_err(|_| Error::internal_error())
    }

    /// Forwards, waits for its reply, and leaves it as text.
    async fn ask_written(&self, params: Value) -> RpcResult<Value> {
        let (reply, replied) = oneshot::channel();
        let _ = self.owner.send((params, reply));
        let reply: Value = replied.await.map_err(|_| Error::internal_error())?;
        Ok(self.written.leave(to_raw_value(&reply).unwrap()))
    }

    async fn panics(&self, params: Value) -> RpcResult<Value> {
        if params["late"] == json!(true) {
            tokio::task::yield_now().await;
        }
        panic!("a fault of the test's own")
    }
}

/// A running transport, from the client's side.
struct Served {
    stream: DuplexStream,
    read: FrameReader<DuplexStream>,
    outgoing: Outgoing,
    owner: mpsc::UnboundedReceiver<Forwarded>,
    answers: mpsc::UnboundedReceiver<Answer>,
    end: Option<oneshot::Sender<Ending>>,
    saved: Arc<Mutex<Vec<Ending>>>,
    task: JoinHandle<Ending>,
}

/// Starts a transport with buffers of `room` bytes in each direction.
fn serve(room: usize) -> Served {
    let (stream, input) = duplex(room);
    let (output, read) = duplex(room);
    let (sender, owner) = mpsc::unbounded_channel();
    let written = WrittenResults::default();
    let (service, socket) = LspService::build(|_| Backend { owner: sender, written: written.clone() })
        .custom_method("test/echo", Backend::echo)
        .custom_method("test/write", Backend::write)
        .custom_method("test/ask", Backend::ask)
        .custom_method("test/askWritten", Backend::ask_written)
        .custom_method("test/panics", Backend::panics)
        .finish();
    let (outgoing, queue) = outgoing();
    let (answered, answers) = mpsc::unbounded_channel();
    let (end, ended) = oneshot::channel();
    let saved = Arc::new(Mutex::new(Vec::new()));
    let transport = Transport {
        input,
        output,
        service,
        socket,
        outgoing: queue,
        answers: Box::new(move |answer| drop(answered.send(answer))),
        admit: Box::new(|request, open| match request.method() {
            "test/ask" if open >= 1000 => Err(Error::new(ErrorCode::ServerError(-1))),
            _ => Ok(()),
        }),
        written,
        typed: |error| error,
        well_formed: held,
        record: None,
        body_limit: 1 << 20,
    };
    let saved_here = Arc::clone(&saved);
    let ended = async { ended.await.unwrap_or(Ending::EndOfInput) };
    let task = tokio::spawn(run(transport, ended, async move |ending: &Ending| {
        tokio::task::yield_now().await;
        saved_here.lock().unwrap().push(ending.clone());
    }));
    let read = FrameReader::new(read, 64 << 20);
    Served { stream, read, outgoing, owner, answers, end: Some(end), saved, task }
}

impl Served {
    async fn initialized(room: usize) -> Self {
        let mut served = serve(room);
        served.request(0, "initialize", json!({ "capabilities": {} })).await;
        assert_eq!(served.next().await["id"], 0);
        served
    }

    async fn write(&mut self, bytes: &[u8]) {
        tokio::time::timeout(DEADLINE, self.stream.write_all(bytes)).await.unwrap().unwrap();
    }

    async fn send(&mut self, message: &Value) {
        self.write(framed(message).as_bytes()).await;
    }

    async fn request(&mut self, id: i64, method: &str, params: Value) {
        self.send(&request(id, method, &params)).await;
    }

    async fn next(&mut self) -> Value {
        match tokio::time::timeout(DEADLINE, self.read.next()).await.unwrap().unwrap() {
            Some(Frame::Body(body)) => serde_json::from_slice(&body).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    async fn forwarded(&mut self) -> Forwarded {
        tokio::time::timeout(DEADLINE, self.owner.recv()).await.unwrap().unwrap()
    }

    /// Waits for the end; returns it with all remaining output.
    async fn ended(self) -> (Ending, Vec<Value>) {
        let ending = tokio::time::timeout(DEADLINE, self.task).await.unwrap().unwrap();
        assert_eq!(self.saved.lock().unwrap().len(), 1);
        let mut read = self.read;
        let mut rest = Vec::new();
        while let Ok(Some(Frame::Body(body))) = read.next().await {
            rest.push(serde_json::from_slice(&body).unwrap());
        }
        (ending, rest)
    }
}

fn request(id: i64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn framed(message: &Value) -> String {
    let body = message.to_string();
    head(body.len()) + &body
}

#[tokio::test]
async fn handlers_forward_in_the_order_of_the_frames() {
    let mut served = Served::initialized(100).await;
    let writing: String = (1..=300).map(|id| framed(&request(id, "test/ask", &json!(id)))).collect();
    served.write(writing.as_bytes()).await;
    let mut replies = Vec::new();
    for id in 1..=300 {
        let (params, reply) = served.forwarded().await;
        assert_eq!(params, json!(id));
        replies.push(reply);
    }
    // Replies in reverse order among notifications: each keeps its place.
    for (at, reply) in replies.into_iter().enumerate().rev() {
        served.outgoing.notification("before", &at);
        served.outgoing.answer(reply, json!(at));
        served.outgoing.notification("after", &at);
    }
    for at in (0..300).rev() {
        assert_eq!(served.next().await, json!({ "jsonrpc": "2.0", "method": "before", "params": at }));
        assert_eq!(served.next().await, json!({ "jsonrpc": "2.0", "result": at, "id": at + 1 }));
        assert_eq!(served.next().await, json!({ "jsonrpc": "2.0", "method": "after", "params": at }));
    }
    assert_eq!(served.outgoing.waiting(), 0);
}

/// Handlers that wait leave their results in another order, some are cancelled, and one panics.
#[tokio::test]
async fn written_results_reach_the_requests_that_waited() {
    let mut served = Served::initialized(100).await;
    let mut replies = Vec::new();
    for id in 1..=60 {
        let method = if id % 3 == 0 { "test/ask" } else { "test/askWritten" };
        served.request(id, method, json!(id)).await;
        replies.push((id, served.forwarded().await.1));
    }
    for id in [7, 9, 20] {
        served.send(&json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": id } })).await;
        assert_eq!(served.next().await["error"]["code"], -32800);
    }
    served.request(100, "test/panics", json!({ "late": true })).await;
    assert_eq!(served.next().await["id"], 100);
    for (id, reply) in replies.into_iter().rev() {
        served.outgoing.answer(reply, json!({ "of": id }));
        if ![7, 9, 20].contains(&id) {
            let expected = json!({ "jsonrpc": "2.0", "result": { "of": id }, "id": id });
            assert_eq!(served.next().await, expected);
        }
    }
}

/// Results that are text reach their own requests as they were written, among those that are values.
#[tokio::test]
async fn written_results_stay_as_they_are() {
    let mut served = Served::initialized(100).await;
    for id in 1..=100 {
        let params = format!(r#"{{"z":{id}.50,"a":"\u00e9","z2":[{id}]}}"#);
        let call = |id: i64, method: &str, params: &str| {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
            head(body.len()) + &body
        };
        // The other one's own result is a number that stood for a result before.
        let both = call(id, "test/write", &params) + &call(-id, "test/echo", &id.to_string());
        served.write(both.as_bytes()).await;
        for (id, result) in [(id, format!(r#"{{"z":{id}.5,"a":"é","z2":[{id}]}}"#)), (-id, id.to_string())] {
            let written = tokio::time::timeout(DEADLINE, served.read.next()).await.unwrap().unwrap();
            let expected = format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{id}}}"#);
            match written {
                Some(Frame::Body(body)) => assert_eq!(String::from_utf8(body).unwrap(), expected),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn requests_are_read_from_a_client_that_does_not_read() {
    let mut served = Served::initialized(100).await;
    for id in 1..=100 {
        served.outgoing.notification("noise", &"x".repeat(1000));
        served.request(id, "test/ask", json!({ "id": id })).await;
        assert_eq!(served.forwarded().await.0["id"], id);
    }
    assert!(served.outgoing.waiting() > 90_000);
    // Each handler lost its reply channel and reported an error, after the other output.
    let mut seen = [0, 0];
    while seen != [100, 100] {
        seen[usize::from(served.next().await.get("error").is_some())] += 1;
    }
    assert_eq!(served.outgoing.waiting(), 0);
}

#[tokio::test]
async fn client_answers_arrive_in_order_even_late_ones() {
    let mut served = Served::initialized(10_000).await;
    served.outgoing.request(7, "tool/invoke", &json!({ "name": "t" }));
    assert_eq!(served.next().await, request(7, "tool/invoke", &json!({ "name": "t" })));
    for (id, result) in [(7, json!(1)), (7, json!(2)), (99, json!(3))] {
        served.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result })).await;
    }
    for (id, result) in [(7, 1), (7, 2), (99, 3)] {
        let answer = tokio::time::timeout(DEADLINE, served.answers.recv()).await.unwrap().unwrap();
        assert_eq!(answer, Answer { id: Id::Number(id), outcome: Ok(json!(result)) });
    }
    served.outgoing.cancel(7);
    assert_eq!(served.next().await["method"], "$/cancelRequest");
}

#[tokio::test]
async fn waiting_request_can_be_cancelled() {
    let mut served = Served::initialized(10_000).await;
    served.request(1, "test/ask", json!({})).await;
    let (_, reply) = served.forwarded().await;
    served.send(&json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 1 } })).await;
    let response = served.next().await;
    assert_eq!((&response["id"], &response["error"]["code"]), (&json!(1), &json!(-32800)));
    // The reply arrives too late and is dropped.
    served.outgoing.answer(reply, json!(1));
    served.request(1, "test/echo", json!(2)).await;
    assert_eq!(served.next().await["result"], 2);
}

#[tokio::test]
async fn panic_is_answered_and_serving_continues() {
    let mut served = Served::initialized(10_000).await;
    for late in [false, true, true] {
        served.request(1, "test/panics", json!({ "late": late })).await;
        let response = served.next().await;
        assert_eq!((&response["id"], &response["error"]["code"]), (&json!(1), &json!(-32603)));
        assert!(
            response["error"]["message"].as_str().unwrap().contains("threadhold keeps running"),
            "{response}"
        );
    }
    served.request(1, "test/echo", json!(2)).await;
    assert_eq!(served.next().await["result"], 2);
}

#[tokio::test]
async fn bad_frames_are_answered_between_good_ones() {
    let mut served = Served::initialized(10_000).await;
    served.request(1, "test/ask", json!({})).await;
    let (_, reply) = served.forwarded().await;
    served.write(format!("nonsense\r\n{}", head(3)).as_bytes()).await;
    served.write(b"{\"a").await;
    for _ in 0..2 {
        let response = served.next().await;
        assert_eq!((&response["id"], &response["error"]["code"]), (&Value::Null, &json!(-32700)));
    }
    // An open request keeps its id.
    served.request(1, "test/echo", json!(2)).await;
    assert_eq!(served.next().await["error"]["code"], -32600);
    served.outgoing.answer(reply, json!("kept"));
    assert_eq!(served.next().await["result"], "kept");
    served.request(2, "exit", json!({})).await;
    assert_eq!(served.next().await["error"]["code"], -32600);
    let large = json!({ "jsonrpc": "2.0", "id": 5, "result": "x".repeat(2 << 20) }).to_string();
    assert!(large.len() > HEAD);
    served.write(head(large.len()).as_bytes()).await;
    served.write(large.as_bytes()).await;
    let answer = tokio::time::timeout(DEADLINE, served.answers.recv()).await.unwrap().unwrap();
    assert_eq!(answer.id, Id::Number(5));
    let error = answer.outcome.unwrap_err();
    assert_eq!(error.data.unwrap()["limit"], 1 << 20);
}

#[tokio::test]
async fn only_requests_over_the_limit_are_refused() {
    let mut served = Served::initialized(1 << 20).await;
    for id in 1..=1001 {
        served.request(id, "test/ask", json!({})).await;
    }
    let response = served.next().await;
    assert_eq!((&response["id"], &response["error"]["code"]), (&json!(1001), &json!(-1)));
    served.request(2000, "test/echo", json!(2)).await;
    assert_eq!(served.next().await["result"], 2);
}

#[tokio::test]
async fn each_ending_has_its_exit_code() {
    let exit = framed(&json!({ "jsonrpc": "2.0", "method": "exit" }));
    let shutdown = framed(&json!({ "jsonrpc": "2.0", "id": 1, "method": "shutdown" }));
    for (bytes, ending, code) in [
        (shutdown.clone() + &exit, Ending::Exit { after_shutdown: true }, 0),
        (exit.clone(), Ending::Exit { after_shutdown: false }, 1),
        (String::new(), Ending::EndOfInput, 0),
        ("Content-Le".into(), Ending::Unframeable(crate::frame::Unframeable::EndInside), 2),
        ("x".repeat(2 << 20), Ending::Unframeable(crate::frame::Unframeable::EndInside), 2),
    ] {
        let mut served = Served::initialized(1 << 10).await;
        // The transport may end before it has read everything.
        let _ = tokio::time::timeout(DEADLINE, served.stream.write_all(bytes.as_bytes())).await.unwrap();
        served.stream.shutdown().await.unwrap();
        let (ended, rest) = served.ended().await;
        assert_eq!((&ended, ended.code()), (&ending, code), "{rest:?}");
    }
    let mut served = Served::initialized(1000).await;
    served.end.take().unwrap().send(Ending::Signal("SIGTERM")).unwrap();
    assert_eq!(served.ended().await.0.code(), 0);
}

#[tokio::test]
async fn exit_before_initialize_ends() {
    let mut served = serve(1000);
    served.send(&json!({ "jsonrpc": "2.0", "method": "exit" })).await;
    assert_eq!(served.ended().await.0, Ending::Exit { after_shutdown: false });
}

#[tokio::test]
async fn waiting_requests_are_cancelled_and_output_flushed_at_the_end() {
    let mut served = Served::initialized(10_000).await;
    served.request(1, "test/ask", json!({})).await;
    served.request(2, "test/ask", json!({})).await;
    let ((_, _kept), (_, replied)) = (served.forwarded().await, served.forwarded().await);
    served.outgoing.answer(replied, json!("in time"));
    served.outgoing.notification("last", &json!({}));
    served.send(&json!({ "jsonrpc": "2.0", "id": 3, "method": "shutdown" })).await;
    served.send(&json!({ "jsonrpc": "2.0", "method": "exit" })).await;
    let (ending, rest) = served.ended().await;
    assert_eq!(ending.code(), 0);
    let of = |id: i64| rest.iter().find(|frame| frame["id"] == id).unwrap();
    assert_eq!(of(1)["error"]["code"], -32800);
    assert_eq!(of(2)["result"], "in time");
    assert!(of(3).get("result").is_some());
    assert!(rest.iter().any(|frame| frame["method"] == "last"));
}

#[tokio::test]
async fn closed_output_ends_serving() {
    let mut served = Served::initialized(1000).await;
    let (_, nobody) = duplex(1);
    drop(std::mem::replace(&mut served.read, FrameReader::new(nobody, 1)));
    served.outgoing.notification("anybody", &json!({}));
    let ending = tokio::time::timeout(DEADLINE, served.task).await.unwrap().unwrap();
    assert_eq!((ending.clone(), ending.code()), (Ending::OutputClosed, 0));
}

#[tokio::test]
async fn flush_at_the_end_has_a_timeout() {
    let served = Served::initialized(100).await;
    served.outgoing.notification("noise", &"x".repeat(1000));
    let Served { stream, read, task, .. } = served;
    drop(stream);
    let ending = tokio::time::timeout(DEADLINE, task).await.unwrap().unwrap();
    assert_eq!(ending, Ending::EndOfInput);
    // Only the start of a frame fitted into the buffer.
    let mut read = read;
    assert!(matches!(read.next().await, Err(ReadError::Unframeable(_))));
}

/// Holds back the parsing of large bodies.
static HELD: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

fn held(body: Vec<u8>) -> (Vec<u8>, usize) {
    if body.len() >= LARGE {
        drop(HELD.1.wait_while(HELD.0.lock().unwrap(), |held| *held).unwrap());
    }
    (body, 0)
}

#[tokio::test]
async fn large_body_holds_back_frames_behind_it_and_nothing_else() {
    let mut served = Served::initialized(1 << 20).await;
    served.request(1, "test/ask", json!("before")).await;
    let (_, reply) = served.forwarded().await;
    *HELD.0.lock().unwrap() = true;
    let large = json!("x".repeat(LARGE));
    served.request(2, "test/echo", large.clone()).await;
    served.request(3, "test/echo", json!("behind")).await;
    served.outgoing.answer(reply, json!("answered"));
    assert_eq!(served.next().await, json!({ "jsonrpc": "2.0", "result": "answered", "id": 1 }));
    *HELD.0.lock().unwrap() = false;
    HELD.1.notify_all();
    assert_eq!(served.next().await["result"], large);
    assert_eq!(served.next().await["result"], "behind");
}
