//! Faults of a provider over real connections: each has its class and its number of requests, and earlier
//! deltas are kept. Silence is tested on pieces in memory, with a paused clock.

use super::requests::terms;
use super::{Heard, join, read};
use crate::remote::{self, Clients, Remote};
use crate::testing::{Act, Asked, Reply, Server, chunk, done, event, usage};
use crate::wire::Stream;
use crate::{Model, Progress, Retrying};
use engine::delta::Delta;
use engine::endpoint::{Endpoint, Wire};
use engine::prompt::item::{Item, Role};
use engine::prompt::request::Request;
use expect_test::expect;
use futures_util::{StreamExt, stream};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

/// Longer than any answer here takes.
const IDLE: Duration = Duration::from_secs(60);
const KEY: &str = "sk-planted-0123456789";

fn model(server: &Server, wire: Wire, idle: Duration) -> Remote {
    at(server.url(), wire, idle)
}

pub(super) fn at(url: String, wire: Wire, idle: Duration) -> Remote {
    let endpoint = Endpoint { base_url: Some(url), ..Endpoint::of(wire) };
    let client = Clients::default().of(&endpoint).unwrap();
    Remote::new(client, endpoint, Some(SecretString::from(KEY)), terms(), idle)
}

fn request() -> Request {
    Request { items: vec![Item::made(Role::User, "Hello", 1)], ..Request::default() }
}

/// Requests one answer; returns its deltas and end, and the retries. Deltas of a broken attempt stand until the next one
/// has content, as in a session.
pub(super) async fn ask(model: &mut Remote) -> (Heard, Vec<Retrying>) {
    let (mut deltas, mut retrying, mut next) = (Vec::new(), Vec::new(), None);
    let request = request();
    let mut hear = |said| match (said, &mut next) {
        (Progress::Retrying(again), _) => {
            retrying.push(again);
            next = Some(Vec::new());
        }
        (said @ Progress::Delta(_), Some(held)) => {
            join(held, said);
            if held.iter().any(Delta::is_content) {
                deltas = next.take().unwrap_or_default();
            }
        }
        (said, _) => join(&mut deltas, said),
    };
    let end = model.answer(&request, &mut hear).await;
    (Heard { deltas, end }, retrying)
}

fn says(text: &str) -> Act {
    chunk(&json!({ "content": text }), None)
}

fn send(text: &str) -> Act {
    Act::Send(text.as_bytes().to_vec())
}

/// A call whose arguments are cut.
fn cut_call() -> Act {
    let function = json!({ "name": "read", "arguments": "{\"path\": \"a" });
    chunk(
        &json!({ "tool_calls": [{ "index": 0, "id": "c", "type": "function", "function": function }] }),
        None,
    )
}

fn error(status: u16) -> Reply {
    Reply::body(status, "{\"error\": {\"message\": \"no\"}}").with("retry-after-ms", "1")
}

fn well() -> Reply {
    Reply::says(&["We", "ll."])
}

/// Names of faults, with the server's responses.
fn faults() -> Vec<(&'static str, Vec<Reply>)> {
    let overloaded = json!({"error": {"code": 529, "message": "Overloaded, retry after 1ms"}});
    let ms = Duration::from_millis(20);
    let slow = ["S", "lo", "w."].iter().flat_map(|text| [says(text), Act::Wait(ms)]);
    let slow: Vec<Act> = slow.chain([chunk(&json!({}), Some("stop")), usage(), done()]).collect();
    let halves: Vec<Act> =
        "data: {\"choices\":[{\"delta\":{\"content\":\"Hä\"},\"finish_reason\":\"stop\"}]}\n\n"
            .bytes()
            .map(|byte| Act::Send(vec![byte]))
            .collect();
    let limited = |body: &str| Reply::body(429, body);
    let plain = "{\"error\": {\"message\": \"slow down\"}}";
    vec![
        ("well-behaved", vec![well()]),
        ("well-behaved, a call", vec![Reply::calls("call_1", "read", "{}")]),
        ("slow", vec![Reply::stream(slow)]),
        ("byte by byte, no [DONE]", vec![Reply::stream(halves)]),
        ("cut before anything", vec![Reply::stream(vec![Act::Cut]), well()]),
        ("cut in the middle", vec![Reply::stream(vec![says("Half"), Act::Cut]), well()]),
        (
            "cut within an event",
            vec![Reply::stream(vec![says("Half"), send("data: {\"cho"), Act::Cut]), well()],
        ),
        ("cut in the middle, then refused", vec![Reply::stream(vec![says("Half"), Act::Cut]), error(401)]),
        (
            "cut in the middle, then in its call",
            vec![
                Reply::stream(vec![says("Half"), Act::Cut]),
                Reply::stream(vec![says("Ha"), cut_call(), Act::Cut]),
                well(),
            ],
        ),
        ("ended without an end", vec![Reply::stream(vec![says("Half")]), well()]),
        (
            "cut after the end",
            vec![Reply::stream(vec![says("Whole"), chunk(&json!({}), Some("stop")), Act::Cut])],
        ),
        ("reset before anything", vec![Reply::torn(), well()]),
        ("reset in the middle", vec![Reply::stream(vec![says("Half"), Act::Reset]), well()]),
        (
            "429 retry-after-ms",
            vec![limited(plain).with("retry-after-ms", "2").with("retry-after", "50"), well()],
        ),
        ("429 retry-after: 0.003", vec![limited(plain).with("retry-after", "0.003"), well()]),
        (
            "429 retry-after: a date in the past",
            vec![limited(plain).with("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), well()],
        ),
        ("429 retry-after: an hour", vec![limited(plain).with("retry-after", "3600"), well()]),
        (
            "429 a delay in the text",
            vec![limited("{\"error\": {\"message\": \"Please try again in 4ms.\"}}"), well()],
        ),
        ("429 no hint", vec![limited(plain), well()]),
        ("429 x-should-retry: false", vec![limited(plain).with("x-should-retry", "false"), well()]),
        ("400 x-should-retry: true", vec![error(400).with("x-should-retry", "true"), well()]),
        ("429 for ever", vec![error(429)]),
        (
            "429 quota",
            vec![limited("{\"error\": {\"code\": \"insufficient_quota\", \"message\": \"pay\"}}"), well()],
        ),
        ("400", vec![error(400), well()]),
        ("401", vec![error(401), well()]),
        ("500, then well", vec![error(500), well()]),
        ("500 for ever", vec![error(500)]),
        ("529, 503, then well", vec![error(529), error(503), well()]),
        (
            "400 overflow",
            vec![Reply::body(
                400,
                "{\"error\": {\"code\": 400, \"message\": \"request (2009 tokens) exceeds the available context size (512 tokens)\"}}",
            )],
        ),
        ("307 to elsewhere", vec![Reply::body(307, "").with("location", "http://127.0.0.1:1/"), well()]),
        ("overloaded first in a stream", vec![Reply::stream(vec![event(&overloaded)]), well()]),
        ("overloaded after usage alone", vec![Reply::stream(vec![usage(), event(&overloaded)]), well()]),
        ("overloaded inside a stream for ever", vec![Reply::stream(vec![says("Half"), event(&overloaded)])]),
        ("overloaded inside a stream", vec![Reply::stream(vec![says("Half"), event(&overloaded)]), well()]),
        (
            "error chunk in a 200",
            vec![Reply::stream(vec![
                event(&json!({"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}})),
                done(),
            ])],
        ),
        (
            "error body with a 200",
            vec![Reply::body(200, "{\"error\": {\"code\": 401, \"message\": \"no\"}}")],
        ),
        ("garbage", vec![Reply::body(200, "<html>Sign in</html>")]),
        ("garbage within a stream", vec![Reply::stream(vec![says("Half"), send("data: \u{1}{\n\n")])]),
        ("no text", vec![Reply::stream(vec![says("Half"), Act::Send(b"data: \xff\xfe\n\n".to_vec())])]),
        ("empty stream", vec![Reply::stream(Vec::new()), well()]),
        ("an endless line", vec![Reply::stream(vec![says("Half"), Act::Endless(vec![b'x'; 1 << 18])])]),
        (
            "endless comments",
            vec![Reply::stream(vec![says("Half"), Act::Endless(b": ping\n".repeat(1 << 15))])],
        ),
        ("an endless error", vec![error(400).endless(vec![b'x'; 1 << 12])]),
    ]
}

#[tokio::test]
async fn faults_have_their_class_and_keep_earlier_deltas() {
    let mut table = String::new();
    for (name, replies) in faults() {
        let server = Server::replies(replies);
        let mut model = model(&server, Wire::OpenaiChat, IDLE);
        let (heard, retrying) = ask(&mut model).await;
        let said = super::said(&super::draft(&heard.deltas));
        let end = match &heard.end {
            Ok(answer) => format!("{:?}", answer.stop),
            Err(error) => error.class().to_owned(),
        };
        let asked = server.asked();
        writeln!(table, "{name:<38} {end:<16} requests {} heard {said:?}", asked.len()).unwrap();
        let attempts: Vec<u32> = retrying.iter().map(|again| again.attempt).collect();
        let told: Vec<u32> = (2..).take(attempts.len()).collect();
        assert_eq!(attempts, told, "{name}");
        assert_eq!(asked.len(), attempts.len() + 1, "{name}: each further request was announced");
        assert!(retrying.iter().all(|again| !again.reason.is_empty()), "{name}");
        assert!(asked.windows(2).all(|two| two[0].body == two[1].body), "{name}: the same is asked again");
    }
    println!("{table}");
    expect![[r#"
        well-behaved                           End              requests 1 heard "Well."
        well-behaved, a call                   ToolUse          requests 1 heard ""
        slow                                   End              requests 1 heard "Slow."
        byte by byte, no [DONE]                End              requests 1 heard "Hä"
        cut before anything                    End              requests 2 heard "Well."
        cut in the middle                      End              requests 2 heard "Well."
        cut within an event                    End              requests 2 heard "Well."
        cut in the middle, then refused        auth             requests 2 heard "Half"
        cut in the middle, then in its call    End              requests 3 heard "Well."
        ended without an end                   End              requests 2 heard "Well."
        cut after the end                      End              requests 1 heard "Whole"
        reset before anything                  End              requests 2 heard "Well."
        reset in the middle                    End              requests 2 heard "Well."
        429 retry-after-ms                     End              requests 2 heard "Well."
        429 retry-after: 0.003                 End              requests 2 heard "Well."
        429 retry-after: a date in the past    End              requests 2 heard "Well."
        429 retry-after: an hour               rateLimited      requests 1 heard ""
        429 a delay in the text                End              requests 2 heard "Well."
        429 no hint                            End              requests 2 heard "Well."
        429 x-should-retry: false              rateLimited      requests 1 heard ""
        400 x-should-retry: true               End              requests 2 heard "Well."
        429 for ever                           rateLimited      requests 5 heard ""
        429 quota                              quota            requests 1 heard ""
        400                                    badRequest       requests 1 heard ""
        401                                    auth             requests 1 heard ""
        500, then well                         End              requests 2 heard "Well."
        500 for ever                           overloaded       requests 5 heard ""
        529, 503, then well                    End              requests 3 heard "Well."
        400 overflow                           contextOverflow  requests 1 heard ""
        307 to elsewhere                       badRequest       requests 1 heard ""
        overloaded first in a stream           End              requests 2 heard "Well."
        overloaded after usage alone           End              requests 2 heard "Well."
        overloaded inside a stream for ever    overloaded       requests 5 heard "Half"
        overloaded inside a stream             End              requests 2 heard "Well."
        error chunk in a 200                   contextOverflow  requests 1 heard ""
        error body with a 200                  auth             requests 1 heard ""
        garbage                                corruptStream    requests 1 heard ""
        garbage within a stream                corruptStream    requests 1 heard "Half"
        no text                                corruptStream    requests 1 heard "Half"
        empty stream                           End              requests 2 heard "Well."
        an endless line                        corruptStream    requests 1 heard "Half"
        endless comments                       corruptStream    requests 1 heard "Half"
        an endless error                       badRequest       requests 1 heard ""
    "#]]
    .assert_eq(&table);
}

/// The provider gets a valid name; the call has the editor's name.
#[tokio::test]
async fn a_tool_is_called_by_its_own_name() {
    let server = Server::start(|_, asked| {
        let name = asked.body["tools"][0]["function"]["name"].as_str().expect("a name");
        Reply::calls("c1", name, "{}")
    });
    let tool = engine::prompt::item::Tool {
        name: "fs.read/file".to_owned(),
        description: String::new(),
        input_schema: json!({}),
        kind: None,
        guidelines: None,
        approval: Default::default(),
        rules: Vec::new(),
        ends_turn: None,
        origin: None,
    };
    let request = Request { tools: [tool].into(), ..request() };
    let mut deltas = Vec::new();
    let mut model = model(&server, Wire::OpenaiChat, IDLE);
    let end = model.answer(&request, &mut |said| join(&mut deltas, said)).await;
    assert!(end.is_ok() && super::draft(&deltas).calls[0].name == "fs.read/file", "{deltas:?}");
    assert_ne!(server.asked()[0].body["tools"][0]["function"]["name"], "fs.read/file");
}

/// An invalid address is not a network error.
#[tokio::test]
async fn invalid_request_is_not_retried() {
    let endpoint = Endpoint { base_url: Some("http://[bad".to_owned()), ..Endpoint::of(Wire::OpenaiChat) };
    let client = Clients::default().of(&endpoint).unwrap();
    let (heard, retrying) = ask(&mut Remote::new(client, endpoint, None, terms(), IDLE)).await;
    assert_eq!((heard.end.expect_err("no address").class(), retrying.len()), ("badRequest", 0));
}

/// The requested delay is kept, with up to a tenth more.
#[tokio::test]
async fn provider_hints_set_the_delay() {
    for (name, reply, delay) in [
        ("ms", error(429).with("retry-after", "7"), 1),
        ("seconds", Reply::body(503, "").with("retry-after", "0.017"), 17),
        ("text", Reply::body(429, "{\"error\": {\"message\": \"Please try again in 19ms\"}}"), 19),
        (
            "text in a stream",
            Reply::stream(vec![event(&json!({"error": {"code": 429, "message": "try again in 23ms"}}))]),
            23,
        ),
    ] {
        let server = Server::replies(vec![reply, well()]);
        let (heard, retrying) = ask(&mut model(&server, Wire::OpenaiChat, IDLE)).await;
        assert!(heard.end.is_ok(), "{name}");
        assert_eq!(retrying.len(), 1, "{name}");
        assert!((delay..=delay + delay / 10).contains(&retrying[0].delay_ms), "{name}: {retrying:?}");
    }
    let server = Server::replies(vec![Reply::body(500, ""), well()]);
    let (_, retrying) = ask(&mut model(&server, Wire::OpenaiChat, IDLE)).await;
    assert!((375..=500).contains(&retrying[0].delay_ms), "{retrying:?}");
}

#[tokio::test]
async fn a_call_that_is_dropped_closes_its_connection() {
    for first in [vec![says("Half")], Vec::new()] {
        let is_said = !first.is_empty();
        let server = Server::replies(vec![Reply::stream(first.into_iter().chain([Act::Hold]).collect())]);
        let mut model = model(&server, Wire::OpenaiChat, IDLE);
        let (heard_in, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let request = request();
        let mut hear = |said| drop(heard_in.send(said));
        let answering = model.answer(&request, &mut hear);
        let half = async {
            if is_said {
                while !matches!(heard.recv().await, Some(Progress::Delta(_))) {}
            } else {
                while server.asked().is_empty() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        };
        tokio::select! {
            _ = answering => panic!("it never ends"),
            () = half => {}
        }
        server.gone(1).await;
        assert_eq!(server.asked().len(), 1);
    }
}

#[tokio::test]
async fn the_key_is_in_its_header_and_in_no_error() {
    for (wire, header, value) in [
        (Wire::OpenaiChat, "authorization", format!("Bearer {KEY}")),
        (Wire::Ollama, "authorization", format!("Bearer {KEY}")),
    ] {
        // The server repeats the request's headers, as a body and within a stream.
        for in_stream in [false, true] {
            let server = Server::start(move |_, asked: &Asked| {
                let message = format!("{:?}, try again in 1ms", asked.headers);
                let said = json!({"error": {"message": message, "code": 500}});
                match (in_stream, wire) {
                    (false, _) => Reply::body(500, &said.to_string()).with("retry-after-ms", "1"),
                    (true, Wire::Ollama) => Reply::body(200, &said.to_string()),
                    (true, _) => Reply::stream(vec![says("Half"), event(&said)]),
                }
            });
            let (heard, retrying) = ask(&mut model(&server, wire, IDLE)).await;
            let asked = server.asked();
            assert!(asked.iter().all(|asked| asked.header(header) == Some(&value)), "{asked:?}");
            let error = heard.end.unwrap_err();
            let told = format!("{error} {error:?} {retrying:?}");
            assert!(told.contains(header) && !told.contains("planted"), "{told}");
        }
    }
}

#[tokio::test]
async fn each_wire_posts_to_its_path() {
    for (wire, line, reply) in [
        (Wire::OpenaiChat, "POST /chat/completions", well()),
        (
            Wire::Ollama,
            "POST /api/chat",
            Reply::body(200, "{\"message\":{\"content\":\"Well.\"},\"done\":true,\"done_reason\":\"stop\"}"),
        ),
    ] {
        let server = Server::replies(vec![reply]);
        let (heard, retrying) = ask(&mut model(&server, wire, IDLE)).await;
        assert_eq!(super::said(&super::draft(&heard.deltas)), "Well.");
        assert!(heard.end.is_ok() && retrying.is_empty());
        let asked = &server.asked()[0];
        assert_eq!((asked.line.as_str(), asked.header("content-type")), (line, Some("application/json")));
        assert_eq!(asked.body["messages"], json!([{"role": "user", "content": "Hello"}]));
        assert_ne!(asked.body["stream"], Value::Null);
    }
}

/// Ten minutes of silence, after content and before any; the paused clock makes times exact.
#[tokio::test(start_paused = true)]
async fn silence_is_a_broken_connection() {
    let idle = Duration::from_secs(600);
    let half = b"data: {\"choices\":[{\"delta\":{\"content\":\"Half\"}}]}\n\n";
    let pauses = [Duration::from_secs(599); 3];
    for first in [&half[..], b": ping\n\n"] {
        let begun = tokio::time::Instant::now();
        // Any data keeps it alive, even a comment.
        let alive = stream::iter(pauses).then(|pause| async move {
            tokio::time::sleep(pause).await;
            Ok(first)
        });
        let mut deltas = Vec::new();
        let mut hear = |said| join(&mut deltas, said);
        let stream = Stream::new(Wire::OpenaiChat).unwrap();
        let end = remote::read(stream, alive.chain(stream::pending()).boxed(), idle, &mut hear).await;
        let error = end.unwrap_err();
        assert_eq!((error.class(), error.to_string().contains("600 s")), ("network", true));
        assert_eq!(begun.elapsed().as_secs(), 3 * 599 + 600);
        let pieces = [first; 3];
        assert_eq!(deltas, read(Wire::OpenaiChat, pieces).deltas, "earlier deltas are kept");
    }
}

/// A silent server is given up after the deadline. It may still be working, so it is not asked again.
#[tokio::test]
async fn a_silent_server_is_not_asked_again() {
    let server = Server::replies(vec![Reply::stream(vec![Act::Hold]), well()]);
    let (heard, retrying) = ask(&mut model(&server, Wire::OpenaiChat, Duration::from_millis(300))).await;
    let error = heard.end.unwrap_err();
    assert_eq!((error.class(), error.is_passing(), retrying.len()), ("network", false, 0), "{error}");
    assert!(error.to_string().contains("modelDeadlineMs"), "{error}");
    server.gone(1).await;
    assert_eq!(server.asked().len(), 1);
}

/// Reading the prompt and thinking may take longer than a pause later; a comment is no content.
#[tokio::test(start_paused = true)]
async fn silence_before_the_first_word_may_be_longer() {
    let silence = remote::StreamDeadlines { first: Duration::from_secs(300), later: Duration::from_secs(60) };
    let half = &b"data: {\"choices\":[{\"delta\":{\"content\":\"Half\"}}]}\n\n"[..];
    for (first, most) in [(&b": ping\n\n"[..], 300), (half, 60)] {
        let begun = tokio::time::Instant::now();
        let pieces = stream::iter([Ok(first)]).chain(stream::pending());
        let stream = Stream::new(Wire::OpenaiChat).unwrap();
        let end = remote::read(stream, pieces.boxed(), silence, &mut drop).await;
        assert!(end.is_err());
        assert_eq!(begun.elapsed().as_secs(), most);
    }
}
