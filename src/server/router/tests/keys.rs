//! A panic while a key is held and a call with it is under way: no trace of the key is left.

use super::*;
use crate::server::log;
use std::io::{self, Write};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tracing_subscriber::fmt::MakeWriter;

const KEY: &str = "sk-planted-panic-3f0a9c17";

/// The log of this thread.
#[derive(Debug, Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl Write for Logged {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Logged {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Logged {
    /// Captures what this thread logs from now on, with panics as the server logs them.
    fn start(&self) -> (tracing::subscriber::DefaultGuard, tracing::Dispatch) {
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(self.clone())
            .finish();
        let (this, usual) = (std::thread::current().id(), std::panic::take_hook());
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().id() == this {
                log::note(panic);
            }
            // The usual hook shows why a test failed.
            usual(panic);
        }));
        // With one subscriber alone, a line that another test's thread logs first counts as disabled.
        let second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::new());
        (tracing::subscriber::set_default(subscriber), second)
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[test]
fn panic_leaves_no_trace_of_a_held_key() {
    let logged = Logged::default();
    let _guard = logged.start();
    let mut rig = Rig::new();
    let listener = rig.runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    rig.ask::<methods::ModelKey>(json!({ "name": "PLANTED", "value": KEY })).unwrap();
    let headers = json!({ "x-gate": "open", "api-key": { "keyEnv": "PLANTED" } });
    let model = json!({ "wire": "openai-chat", "baseUrl": url, "keyEnv": "PLANTED", "name": "m", "extraHeaders": headers });
    rig.ask::<methods::SessionOpen>(
        json!({ "workspaceFolder": "", "sessionId": "s", "settings": { "model": model, "titles": "request" } }),
    )
    .unwrap();
    rig.start("s", "Hello.").unwrap();
    let asked = rig.runtime.block_on(async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        while !asked.windows(6).any(|bytes| bytes == b"Hello.") {
            assert_ne!(socket.read_buf(&mut asked).await.unwrap(), 0);
        }
        // The session panics on this, while its provider still holds the connection.
        let said = json!({ "choices": [{ "delta": { "content": "BOOM" }, "finish_reason": "stop" }] });
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        let answer = format!("{head}data: {said}\n\ndata: [DONE]\n\n");
        socket.write_all(answer.as_bytes()).await.unwrap();
        (String::from_utf8(asked).unwrap(), socket)
    });
    for header in [format!("Bearer {KEY}"), format!("api-key: {KEY}"), "x-gate: open".to_owned()] {
        assert!(asked.0.contains(&header), "it was sent");
    }
    let told = rig.frame("window/logMessage");
    assert!(told["params"]["message"].as_str().unwrap().contains("session \"s\""), "{told}");
    // Nor does a panic whose text contains it, as a bug of ours might have it.
    let text = format!("a defect at {KEY}");
    std::panic::catch_unwind(|| std::panic::panic_any(text)).unwrap_err();

    let again = format!("{:?}", rig.start("s", "Hello again."));
    let log = logged.text();
    for line in ["a defect of the test's own", "a panic ended this session", "(text left out)", "TRACE"] {
        assert!(log.contains(line), "{line}: {log}");
    }
    let stored = format!("{:?}", SqliteStore::in_memory(&rig.world).unwrap().load(&SessionId::new("s")));
    assert!(stored.contains("Hello."));
    let frames = json!(rig.frames).to_string();
    for (place, text) in
        [("log", log), ("store", stored), ("frames", frames), ("answer", again), ("told", told.to_string())]
    {
        assert!(!text.contains("sk-planted"), "{place}: {text}");
    }
}
