//! One session through each channel: `serve`, `chat` and `acp` send the same prompts for it, and `replay` renders the
//! same prompt from its export.

use crate::corpus::transcripts;
use crate::wire::client::{Client, Start, Wire};
use crate::wire::script::Folder;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The request that each channel sends.
const REQUEST: &str = "Go on.";
/// The transcript in this repository.
const TIDY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/replay/tidy-session/session.jsonl");

/// All transcripts that there are.
fn fixtures() -> Vec<PathBuf> {
    let corpus = transcripts().map(|folder| fs::read_dir(folder).expect("the transcripts"));
    let files = corpus.into_iter().flatten().map(|file| file.expect("a file").path());
    let mut all: Vec<_> = files.filter(|file| file.extension().is_some_and(|kind| kind != "md")).collect();
    all.push(TIDY.into());
    all.sort();
    all
}

/// An imported session in a store of its own, with a model that answers each request by its content.
struct Imported {
    folder: Folder,
    /// The folder of the session, which copies share.
    workspace: String,
    session: String,
}

impl Imported {
    /// Imports a transcript.
    fn of(transcript: &Path, window: u32) -> Self {
        let name = transcript.file_name().and_then(|name| name.to_str()).expect("a name");
        let folder = Folder::new(&format!("channels-{window}-{name}"));
        let workspace = folder.path().join("workspace");
        fs::create_dir_all(&workspace).expect("a folder");
        let model = format!("[model]\nwire = \"scripted\"\nwindow = {window}\n");
        fs::write(folder.path().join("config.toml"), model).expect("a file");
        let workspace = workspace.display().to_string();
        let mut imported = Self { folder, workspace, session: String::new() };
        let said = ended(
            imported.command(&["import"], "store").arg("--folder").arg(&imported.workspace).arg(transcript),
        );
        let id = said.strip_prefix("session ").and_then(|said| said.split_once(':'));
        imported.session = id.unwrap_or_else(|| panic!("{said}")).0.to_owned();
        imported
    }

    fn at(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// The binary with the settings of this folder, and this store.
    fn command(&self, arguments: &[&str], store: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_threadhold"));
        command.args(arguments).args(["--storage", &self.at(store)]);
        command
            .env("THREADHOLD_CONFIG", self.at("config.toml"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The same session for another channel.
    fn copy(&self, channel: &str) -> Self {
        let folder = self.folder.copy(&format!("{}-{channel}", self.name()));
        Self { folder, workspace: self.workspace.clone(), session: self.session.clone() }
    }

    fn name(&self) -> String {
        self.folder.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The prompts of a channel up to that of its turn, with their purposes, as bytes.
    fn prompts(&self) -> Vec<(String, String)> {
        let mut prompts = self.dumps();
        let turn = prompts.iter().position(|(purpose, _)| purpose == "turn").expect("a turn");
        // A summary may be prepared after it.
        prompts.truncate(turn + 1);
        prompts
    }

    /// All prompts that were written down.
    fn dumps(&self) -> Vec<(String, String)> {
        let files = fs::read_dir(self.at("dumps")).expect("dumps").map(|file| file.expect("a file").path());
        let mut files: Vec<_> = files.collect();
        files.sort();
        let purpose = |file: &Path| {
            let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            name.rsplit('-').next().unwrap_or_default().to_owned()
        };
        files.iter().map(|file| (purpose(file), fs::read_to_string(file).expect("a text"))).collect()
    }

    fn chat(&self) -> Vec<(String, String)> {
        let dumps = self.at("dumps");
        let arguments = ["chat", "--session", &self.session, "--dump-prompts", &dumps];
        let mut chat = self.command(&arguments, "store");
        let mut chat = chat.arg("--folder").arg(&self.workspace).spawn().expect("it starts");
        writeln!(chat.stdin.take().expect("a pipe"), "{REQUEST}").expect("it reads");
        finish(chat);
        self.prompts()
    }

    fn acp(&self) -> Vec<(String, String)> {
        let dumps = self.at("dumps");
        let mut acp = self.command(&["acp", "--dump-prompts", &dumps], "store").spawn().expect("it starts");
        let mut input = acp.stdin.take().expect("a pipe");
        let mut lines = BufReader::new(acp.stdout.take().expect("a pipe")).lines();
        let session = &self.session;
        let prompt = json!([{ "type": "text", "text": REQUEST }]);
        let requests = [
            ("initialize", json!({ "protocolVersion": 1 })),
            ("session/load", json!({ "sessionId": session, "cwd": &self.workspace, "mcpServers": [] })),
            ("session/prompt", json!({ "sessionId": session, "prompt": prompt })),
        ];
        for (method, params) in requests {
            let request = json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params });
            writeln!(input, "{request}").expect("it reads");
            let answer = lines.find_map(|line| {
                let line: Value = serde_json::from_str(&line.expect("a line")).expect("a message");
                (line["id"] == method).then_some(line)
            });
            assert!(answer.as_ref().is_some_and(|answer| answer.get("error").is_none()), "{answer:?}");
        }
        drop(input);
        finish(acp);
        self.prompts()
    }

    /// The prompts of `serve`, whose client offers these tools, and the session's export.
    fn serve(&self, tools: &Value) -> (Vec<(String, String)>, String) {
        let start = Start::new(Wire::Pipes).variable("THREADHOLD_CONFIG", &self.at("config.toml"));
        let mut client: Client = start.argument("--dump-prompts").argument(&self.at("dumps")).start();
        let ours = json!({ "protocolVersion": 1, "storage": { "path": self.at("store") } });
        client.initialize(json!({ "capabilities": {}, "initializationOptions": { "threadhold": ours } }));
        let session = &self.session;
        let open = json!({ "sessionId": session, "workspaceFolder": &self.workspace, "tools": tools });
        client.call("session/open", open).expect("it opens");
        client.call("turn/start", json!({ "sessionId": session, "content": REQUEST })).expect("it starts");
        client.wait_notification("the end of the turn", |frame| frame["params"]["type"] == "turnCompleted");
        let export = client.call("session/export", json!({ "sessionId": session, "format": "jsonl" }));
        let export = export.expect("an export")["data"].as_str().expect("a text").to_owned();
        (self.prompts(), export)
    }

    /// The last prompt of a replay of an export.
    fn replay(&self, export: &str, window: u32) -> String {
        fs::write(self.at("export.jsonl"), export).expect("a file");
        let window = window.to_string();
        let mut replay = Command::new(env!("CARGO_BIN_EXE_threadhold"));
        replay.args(["replay", "--recorded", "--window", &window, "--dump-prompts", &self.at("dumps")]);
        ended(replay.arg(self.at("export.jsonl")).stdout(Stdio::piped()).stderr(Stdio::piped()));
        self.dumps().pop().expect("a prompt").1
    }
}

/// Runs a program to its end and returns what it printed.
fn ended(command: &mut Command) -> String {
    finish(command.spawn().expect("it starts"))
}

fn finish(child: Child) -> String {
    let output = child.wait_with_output().expect("its end");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("a text")
}

/// Fails at the first difference of two prompts, without printing both whole.
fn same(what: &str, prompts: &[(String, String)], expected: &[(String, String)]) {
    let purposes =
        |prompts: &[(String, String)]| prompts.iter().map(|(purpose, _)| purpose.clone()).collect();
    let (found, wanted): (Vec<_>, Vec<_>) = (purposes(prompts), purposes(expected));
    assert_eq!(found, wanted, "{what}");
    for ((_, found), (_, wanted)) in prompts.iter().zip(expected) {
        let parted = found.bytes().zip(wanted.bytes()).position(|(a, b)| a != b);
        let at = parted.unwrap_or(found.len().min(wanted.len()));
        let excerpt = |text: &str| {
            let bytes = text.as_bytes();
            String::from_utf8_lossy(&bytes[at.saturating_sub(40)..(at + 80).min(bytes.len())]).into_owned()
        };
        assert!(found == wanted, "{what}: at byte {at}:\n{}\n{}", excerpt(found), excerpt(wanted));
    }
}

/// Sends a request for each fixture through each channel, in this window.
fn each_channel_sends_the_same(window: u32, is_replayed: bool) {
    for transcript in fixtures() {
        let name = transcript.display();
        let imported = Imported::of(&transcript, window);
        let chat = imported.copy("chat").chat();
        same(&format!("acp, {name}"), &imported.copy("acp").acp(), &chat);
        let last = &chat.last().expect("a prompt").1;
        let prompt: Value = serde_json::from_str(last).expect("a dump");
        let (served, export) = imported.copy("serve").serve(&prompt["tools"]);
        same(&format!("serve, {name}"), &served, &chat);
        if is_replayed {
            let replayed = imported.copy("replay").replay(&export, window);
            // A dump of a replay has its limit and its compaction after all that.
            let shared = last.strip_suffix('}').expect("an object");
            let start = replayed.get(..shared.len()).unwrap_or(&replayed).to_owned();
            same(
                &format!("replay, {name}"),
                &[(String::new(), start)],
                &[(String::new(), shared.to_owned())],
            );
        }
    }
}

#[test]
fn channels_and_replay_render_the_same_prompts() {
    each_channel_sends_the_same(128_000, true);
}

/// A replay makes each compaction where it first was needed, so it is left out.
#[test]
fn channels_compact_to_the_same_prompts() {
    each_channel_sends_the_same(16_000, false);
}
