//! A server in a process, as it misbehaves.

use crate::{CallError, Caller, Definition, Launch, Phase, Progress, Reply, Server, Sign};
use engine::message::{Content, ToolResult};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// A folder that is removed after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("threadhold-mcp-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn definition(folder: &Path, args: &[&str], timeout: Duration) -> Definition {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/server.py");
    Definition {
        identity: String::new(),
        name: "fake".to_owned(),
        launch: Launch::Command {
            program: "python3".to_owned(),
            args: [script].iter().chain(args).map(|arg| (*arg).to_owned()).collect(),
            env: vec![("TOKEN".to_owned(), "s3cret".into())],
            cwd: folder.to_owned(),
        },
        timeout,
        is_trusted: false,
    }
}

/// A server, and the number of changes of its status.
fn server(folder: &Folder, args: &[&str], timeout: Duration) -> (Arc<Server>, watch::Receiver<u32>) {
    let (told, changes) = watch::channel(0);
    let changed = move || told.send_modify(|changes| *changes += 1);
    (Server::new(definition(&folder.0, args, timeout), true, changed), changes)
}

fn said(text: &str) -> Result<ToolResult, CallError> {
    Ok(ToolResult { content: vec![Content::Text(text.into())], ..ToolResult::default() })
}

fn caller(session: &str, hear: impl Fn(Sign) + Send + Sync + 'static) -> Caller {
    Caller { session: session.to_owned(), hear: Arc::new(hear) }
}

fn nobody() -> Caller {
    caller("s", drop)
}

const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn tools_are_listed_and_called() {
    let folder = Folder::new("called");
    let (server, _) = server(&folder, &[], LONG);
    server.start().await.unwrap();
    let status = server.status();
    assert_eq!((status.phase, status.revision.as_deref()), (Phase::Ready, Some("2025-11-25")));
    let names: Vec<&str> = status.listing.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names.first(), Some(&"fake__ask"));
    assert_eq!(status.listing.left_out, ["bad: its schema is not that of an object"]);
    assert_eq!(server.call("fake__echo", "{\"a\":1}", nobody()).await, said("{\"a\": 1}"));
    let refused = server.call("fake__echo", "[1]", nobody()).await.unwrap_err().to_string();
    assert!(refused.starts_with("the arguments must be a JSON object"), "{refused}");
    let unknown = Err(CallError::NotSent("the server \"fake\" no longer has the tool fake__no".to_owned()));
    assert_eq!(server.call("fake__no", "{}", nobody()).await, unknown);
    server.close().await;
    assert_eq!(server.status().phase, Phase::Off);
}

#[tokio::test]
async fn environment_is_an_allow_list_and_secrets_are_masked() {
    let folder = Folder::new("environment");
    let (server, _) = server(&folder, &[], LONG);
    let Ok(result) = server.call("fake__environment", "", nobody()).await else { panic!() };
    let Content::Text(names) = &result.content[0] else { panic!() };
    assert!(
        names.split(' ').any(|name| name == "TOKEN") && names.split(' ').any(|name| name == "PATH"),
        "{names}"
    );
    // Cargo sets many variables for its tests.
    assert!(!names.contains("CARGO"), "{names}");
    let refused = Err(CallError::Refused("the token [secret] was refused".to_owned()));
    assert_eq!(server.call("fake__fail", "{}", nobody()).await, refused);
}

#[tokio::test]
async fn server_that_ends_in_a_call_is_started_again_at_the_next() {
    let folder = Folder::new("ends");
    let (server, mut changes) = server(&folder, &[], LONG);
    let ended = server.call("fake__die", "{}", nobody()).await;
    let words = "the server ended (exit status: 3); standard error: out of cheese, [secret]";
    assert_eq!(ended, Err(CallError::Ended(words.to_owned())));
    changes.wait_for(|_| server.status().phase == Phase::Failed(words.to_owned())).await.unwrap();
    assert_eq!(server.call("fake__echo", "{}", nobody()).await, said("{}"));
    assert_eq!(std::fs::read_to_string(folder.0.join("starts")).unwrap(), "xx");
}

#[tokio::test]
async fn server_that_cannot_be_started_says_why_and_is_not_tried_at_once() {
    let folder = Folder::new("broken");
    let (server, _) = server(&folder, &["--broken"], LONG);
    let why = "ended at its start (exit status: 2); standard error: no configuration";
    assert_eq!(server.start().await, Err(why.to_owned()));
    assert_eq!(server.start().await, Err(why.to_owned()));
    assert_eq!(server.start().await, Err(format!("{why}; it can be started again in 1 s")));
    assert_eq!(server.status().phase, Phase::Failed(why.to_owned()));
}

#[tokio::test]
async fn missing_program_and_folder_are_told() {
    let folder = Folder::new("missing");
    let mut no_program = definition(&folder.0, &[], LONG);
    let mut no_folder = no_program.clone();
    if let Launch::Command { program, .. } = &mut no_program.launch {
        *program = "no-such-program".to_owned();
    }
    if let Launch::Command { cwd, .. } = &mut no_folder.launch {
        *cwd = folder.0.join("gone");
    }
    let why = Server::new(no_program, false, || ()).start().await.unwrap_err();
    assert!(why.starts_with("cannot be started: "), "{why}");
    let why = Server::new(no_folder, false, || ()).start().await.unwrap_err();
    assert_eq!(why, format!("its working directory {} does not exist", folder.0.join("gone").display()));
}

#[tokio::test]
async fn call_without_an_answer_is_given_up_and_cancelled() {
    let folder = Folder::new("hangs");
    let (server, _) = server(&folder, &[], Duration::from_millis(300));
    let late = "no result within 0.3 s; the call was cancelled".to_owned();
    assert_eq!(server.call("fake__hang", "{}", nobody()).await, Err(CallError::Late(late)));
    // The server handles the cancellation before the next call.
    assert_eq!(server.call("fake__echo", "{}", nobody()).await, said("{}"));
    assert!(folder.0.join("cancelled").exists());
}

#[tokio::test]
async fn dropped_call_is_cancelled() {
    let folder = Folder::new("dropped");
    let (server, _) = server(&folder, &[], LONG);
    server.start().await.unwrap();
    let hanging = tokio::spawn({
        let server = server.clone();
        async move { server.call("fake__hang", "{}", nobody()).await }
    });
    // The call is sent before this one.
    tokio::task::yield_now().await;
    assert_eq!(server.call("fake__echo", "{}", nobody()).await, said("{}"));
    hanging.abort();
    drop(hanging.await);
    assert_eq!(server.call("fake__echo", "{}", nobody()).await, said("{}"));
    assert!(folder.0.join("cancelled").exists());
}

#[tokio::test]
async fn progress_extends_the_time_of_a_call() {
    let folder = Folder::new("progress");
    let (server, _) = server(&folder, &[], Duration::from_millis(700));
    assert_eq!(server.call("fake__progress", "{}", nobody()).await, said("done"));
}

#[tokio::test]
async fn each_call_hears_its_own_progress() {
    let folder = Folder::new("hears");
    let (server, _) = server(&folder, &[], LONG);
    server.start().await.unwrap();
    // Each call ends once it was heard.
    let heard = |name: &'static str, last: f64| {
        let (path, all) = (folder.0.join(name), Arc::new(Mutex::new(Vec::new())));
        let hear = {
            let all = all.clone();
            move |sign| {
                let Sign::Progress(progress) = sign else { return };
                if progress.done == last {
                    std::fs::write(&path, "").unwrap();
                }
                all.lock().unwrap().push(progress);
            }
        };
        (caller(name, hear), all)
    };
    let (one, told) = heard("told", 0.5);
    let (other, flooded) = heard("flooded", 1000.0);
    let both = tokio::join!(server.call("fake__tell", "{}", one), server.call("fake__flood", "{}", other));
    assert_eq!(both, (said("told"), said("flooded")));
    let progress =
        |done, total, message: Option<&str>| Progress { done, total, message: message.map(str::to_owned) };
    assert_eq!(*told.lock().unwrap(), [progress(0.5, None, Some("with [secret]"))]);
    let flooded = flooded.lock().unwrap();
    assert_eq!(flooded.last(), Some(&progress(1000.0, Some(1000.0), None)));
    assert!(flooded.len() < 100, "{}", flooded.len());
}

/// A caller whose user replies so, and the questions that it was asked.
fn replies(
    session: &str,
    reply: impl Fn() -> Option<Reply> + Send + Sync + 'static,
) -> (Caller, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let all = asked.clone();
    let caller = caller(session, move |sign| {
        let Sign::Question(question) = sign else { return };
        all.lock().unwrap().push(format!("{} {}", question.message, question.schema));
        if let Some(reply) = reply() {
            tokio::spawn(async move {
                // Longer than a call may be silent.
                tokio::time::sleep(2 * SHORT).await;
                question.reply.send(reply).unwrap();
            });
        }
    });
    (caller, asked)
}

#[tokio::test]
async fn question_of_a_server_reaches_its_call() {
    let folder = Folder::new("asks");
    let (server, _) = server(&folder, &[], SHORT);
    let name = || serde_json::json!({ "name": "Ada" }).as_object().cloned().unwrap();
    let (user, asked) = replies("s", move || Some(Reply::Accepted(name())));
    assert_eq!(server.call("fake__ask", "{}", user).await, said("accept {\"name\": \"Ada\"}"));
    let schema = r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;
    assert_eq!(*asked.lock().unwrap(), [format!("Who? {schema}")]);
    for (reply, said_by_it) in [
        (Some(Reply::Declined), "decline null"),
        (Some(Reply::Cancelled), "cancel null"),
        (None, "decline null"),
    ] {
        let (user, _) = replies("s", move || reply.clone());
        assert_eq!(server.call("fake__ask", "{}", user).await, said(said_by_it));
    }
    let refused = "elicitation by an address is not offered, only forms";
    assert_eq!(server.call("fake__ask_by_address", "{}", nobody()).await, said(refused));
}

#[tokio::test]
async fn requests_for_the_model_and_for_folders_are_refused_in_words() {
    let folder = Folder::new("refused");
    let (server, _) = server(&folder, &[], LONG);
    let message = serde_json::json!({ "role": "user", "content": { "type": "text", "text": "Who?" } });
    let sampling = serde_json::json!({
        "method": "sampling/createMessage", "params": { "messages": [message], "maxTokens": 9 },
    });
    let roots = serde_json::json!({ "method": "roots/list", "params": {} });
    for (asked, refused) in [
        (sampling, "sampling is not offered: a server may not ask the model"),
        (roots, "roots are not offered"),
    ] {
        assert_eq!(server.call("fake__request", &asked.to_string(), nobody()).await, said(refused));
    }
}

#[tokio::test]
async fn question_is_declined_if_two_sessions_could_be_meant() {
    let folder = Folder::new("whose");
    let (server, _) = server(&folder, &[], LONG);
    server.start().await.unwrap();
    let hanging = tokio::spawn({
        let server = server.clone();
        async move { server.call("fake__hang", "{}", caller("other", drop)).await }
    });
    tokio::task::yield_now().await;
    let (user, asked) = replies("s", || Some(Reply::Cancelled));
    assert_eq!(server.call("fake__ask", "{}", user).await, said("decline null"));
    assert_eq!(*asked.lock().unwrap(), [""; 0]);
    hanging.abort();
}

#[tokio::test]
async fn too_large_answer_is_an_error_at_once() {
    let folder = Folder::new("large");
    let (server, _) = server(&folder, &[], LONG);
    let Err(CallError::Refused(why)) = server.call("fake__large", "{}", nobody()).await else { panic!() };
    assert!(why.ends_with("bytes and the limit is 8388608; it was dropped"), "{why}");
    assert_eq!(server.call("fake__echo", "{}", nobody()).await, said("{}"));
}

#[tokio::test]
async fn changed_list_is_read_again() {
    let folder = Folder::new("grows");
    let (server, mut changes) = server(&folder, &[], LONG);
    assert_eq!(server.call("fake__grow", "{}", nobody()).await, said("grown"));
    changes.wait_for(|_| server.status().listing.names.contains_key("fake__grown")).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn end_of_a_server_is_noticed_without_a_call() {
    let folder = Folder::new("noticed");
    let (server, mut changes) = server(&folder, &[], LONG);
    server.start().await.unwrap();
    drop(server.call("fake__silent_die", "{}", nobody()).await);
    let words = "the server ended (exit status: 0)";
    changes.wait_for(|_| server.status().phase == Phase::Failed(words.to_owned())).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn close_interrupts_a_start() {
    let folder = Folder::new("closed");
    let mut silent = definition(&folder.0, &[], LONG);
    if let Launch::Command { program, args, .. } = &mut silent.launch {
        (*program, *args) = ("sleep".to_owned(), vec!["600".to_owned()]);
    }
    let (told, mut changes) = watch::channel(0);
    let server = Server::new(silent, false, move || told.send_modify(|changes| *changes += 1));
    let starting = tokio::spawn({
        let server = server.clone();
        async move { server.start().await }
    });
    changes.wait_for(|_| server.status().phase == Phase::Connecting).await.unwrap();
    server.close().await;
    assert_eq!(starting.await.unwrap(), Err("the server was ended".to_owned()));
    assert_eq!(server.status().phase, Phase::Off);
}
