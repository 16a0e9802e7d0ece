//! One connection to a server: the handshake in either revision, its tools, its end. `calling` has its calls.

mod calling;

use crate::calls::RunningCalls;
use crate::content;
use crate::contents::{Contents, MOST as MOST_CONTENTS, MOST_PAGES as MOST_CONTENT_PAGES};
use crate::definition::{Definition, Launch};
use crate::handler::Handler;
use crate::lines;
use crate::listing::{Listing, MOST_BYTES, MOST_TOOLS};
use crate::pace::Paced;
use crate::process::{Process, Start, StderrTail};
use engine::message::Content;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect;
use rmcp::model::{
    ContentBlock, GetPromptRequestParams, JsonObject, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ServerCapabilities, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, RoleClient, RunningService,
    RunningServiceCancellationToken, ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use secrecy::ExposeSecret;
use std::collections::HashMap;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// The time in which a server must be ready: the probe for the newer revision alone may take ten seconds.
pub(crate) const CONNECT: Duration = Duration::from_secs(45);
/// The time without a change after which a list of tools counts as settled.
const QUIET: Duration = Duration::from_millis(150);
/// Most times that a list is read again because it changed meanwhile.
const MOST_READS: usize = 5;
/// The time in which a server must answer a list of its tools, after a call was not answered.
const PROBE: Duration = Duration::from_secs(5);
/// Bytes of listed tools after which no more pages are read.
const MOST_PAGES: usize = 4 * MOST_BYTES;
/// Bytes between the process's output and the reader of the protocol.
const BETWEEN: usize = 64 << 10;

/// Reason that a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The server answered with an error.
    #[error("the server answered with an error: {0}")]
    Refused(String),
    /// No answer came in time.
    #[error("{0}")]
    Late(String),
    /// The connection ended.
    #[error("{0}")]
    Ended(String),
    /// The call could not be made.
    #[error("{0}")]
    NotSent(String),
}

/// A connection with a server.
pub(crate) struct Connection {
    peer: Peer<RoleClient>,
    revision: String,
    /// The number of changes of the list of tools.
    lists: watch::Receiver<u64>,
    calls: RunningCalls,
    tail: StderrTail,
    /// `true` once the connection has ended.
    closed: watch::Receiver<bool>,
    stop: Option<RunningServiceCancellationToken>,
    process: Option<Process>,
    tasks: Vec<AbortHandle>,
}

impl Connection {
    /// Connects. `revision` is the one that the server spoke before.
    /// `asks`: the user can be asked.
    pub async fn open(definition: &Definition, revision: Option<&str>, asks: bool) -> Result<Self, String> {
        let tail = StderrTail::new(definition.secrets());
        match timeout(CONNECT, Self::connect(definition, (revision, asks), &tail)).await {
            Ok(connected) => connected.map_err(|why| tail.after(&why)),
            Err(_) => Err(tail.after(&format!("not ready within {} s", CONNECT.as_secs()))),
        }
    }

    async fn connect(
        definition: &Definition,
        (revision, asks): (Option<&str>, bool),
        tail: &StderrTail,
    ) -> Result<Self, String> {
        let (sender, lists) = watch::channel(0);
        let calls = RunningCalls::new(asks);
        let handler = Handler { lists: sender.clone(), calls: calls.clone() };
        let (service, process, mut tasks) = match &definition.launch {
            Launch::Command { program, args, env, cwd } => {
                let start = Start { program, args, env, cwd };
                let (process, service, task) = over_pipes(handler, &start, tail, revision).await?;
                (service, Some(process), vec![task])
            }
            Launch::Http { url, headers } => {
                let transport = Paced::new(http(url, headers)?);
                let service = handler.serve_with_lifecycle(transport, mode(revision)).await;
                (service.map_err(|error| why_not(&error))?, None, Vec::new())
            }
        };
        let peer = service.peer().clone();
        let info = peer.peer_info();
        let revision = info.as_ref().map(|info| info.protocol_version.to_string()).unwrap_or_default();
        let is_newer =
            info.as_ref().is_some_and(|info| info.protocol_version >= ProtocolVersion::NO_INITIALIZE);
        let changes = info.as_ref().and_then(|info| info.capabilities.tools.as_ref()?.list_changed);
        if is_newer && changes == Some(true) {
            tasks.push(tokio::spawn(subscribe(peer.clone(), sender)).abort_handle());
        }
        let stop = service.cancellation_token();
        let (tell, closed) = watch::channel(false);
        tokio::spawn(async move {
            drop(service.waiting().await);
            tell.send_replace(true);
        });
        let tail = tail.clone();
        Ok(Self { peer, revision, lists, calls, tail, closed, stop: Some(stop), process, tasks })
    }

    /// The revision of the protocol that the server speaks.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// `true` while nothing is known of an end.
    pub fn is_open(&self) -> bool {
        !*self.closed.borrow() && self.exit().is_none()
    }

    fn exit(&self) -> Option<ExitStatus> {
        self.process.as_ref().and_then(|process| *process.ended.borrow())
    }

    /// Waits for the end of the connection.
    pub fn closed(&self) -> impl Future<Output = ()> + use<> {
        let (mut closed, ended) =
            (self.closed.clone(), self.process.as_ref().map(|process| process.ended.clone()));
        async move {
            let closes = async { drop(closed.wait_for(|closed| *closed).await) };
            match ended {
                Some(mut ended) => tokio::select! {
                    () = closes => {}
                    _ = ended.wait_for(Option::is_some) => {}
                },
                None => closes.await,
            }
        }
    }

    /// The number of changes of the list of tools, as the server tells of them.
    pub fn lists(&self) -> watch::Receiver<u64> {
        self.lists.clone()
    }

    /// Reason for the end of the connection, for people and models.
    pub async fn end_reason(&self) -> String {
        // The status and standard error come a moment after the end of the output.
        if let Some(process) = &self.process {
            let mut ended = process.ended.clone();
            drop(timeout(QUIET, ended.wait_for(Option::is_some)).await);
        }
        match self.exit() {
            Some(status) => self.tail.after(&format!("the server ended ({status})")),
            None => self.tail.after("the connection to the server ended"),
        }
    }

    /// Lists the tools, once the list has not changed for a moment: some servers add tools while they start.
    pub async fn tools(&self, definition: &Definition) -> Result<Listing, String> {
        let mut lists = self.lists.clone();
        for _ in 0..MOST_READS {
            lists.mark_unchanged();
            let listing = match timeout(definition.timeout, self.all_tools()).await {
                Ok(tools) => Listing::of(definition, tools?),
                Err(_) => return Err(self.tail.after("did not list its tools in time")),
            };
            if timeout(QUIET, lists.changed()).await.is_err() {
                return Ok(listing);
            }
        }
        Err("its list of tools keeps changing".to_owned())
    }

    /// `true` if the server answers a request in time.
    pub async fn answers(&self) -> bool {
        let answer = timeout(PROBE, self.peer.list_tools(None)).await;
        !matches!(answer, Err(_) | Ok(Err(ServiceError::TransportClosed)))
    }

    async fn all_tools(&self) -> Result<Vec<rmcp::model::Tool>, String> {
        let (mut all, mut cursor, mut bytes) = (Vec::new(), None, 0);
        if self.peer.peer_info().is_some_and(|info| info.capabilities.tools.is_none()) {
            return Ok(all);
        }
        loop {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let page = self.peer.list_tools(Some(params)).await.map_err(|error| {
                self.tail.after(&format!("its tools could not be listed: {}", service_error(&error)))
            })?;
            let is_empty = page.tools.is_empty();
            bytes += page.tools.iter().map(size).sum::<usize>();
            all.extend(page.tools);
            match page.next_cursor {
                // A list that does not end is cut where no tool would be offered anyway.
                Some(next) if !is_empty && all.len() <= MOST_TOOLS && bytes <= MOST_PAGES => {
                    cursor = Some(next)
                }
                _ => break,
            }
        }
        Ok(all)
    }

    /// Lists prompts and resources, as far as the server says that it has them.
    pub async fn contents(&self) -> Result<Contents, String> {
        let info = self.peer.peer_info();
        let has =
            |has: fn(&ServerCapabilities) -> bool| info.as_ref().is_some_and(|info| has(&info.capabilities));
        let (mut prompts, mut resources) = (Vec::new(), Vec::new());
        let failed = |error: ServiceError| self.tail.after(&service_error(&error));
        if has(|able| able.prompts.is_some()) {
            let mut cursor = None;
            for _ in 0..MOST_CONTENT_PAGES {
                let params = PaginatedRequestParams::default().with_cursor(cursor.take());
                let page = self.peer.list_prompts(Some(params)).await.map_err(failed)?;
                prompts.extend(page.prompts);
                cursor = page.next_cursor;
                if cursor.is_none() || prompts.len() > MOST_CONTENTS {
                    break;
                }
            }
        }
        if has(|able| able.resources.is_some()) {
            let mut cursor = None;
            for _ in 0..MOST_CONTENT_PAGES {
                let params = PaginatedRequestParams::default().with_cursor(cursor.take());
                let page = self.peer.list_resources(Some(params)).await.map_err(failed)?;
                resources.extend(page.resources);
                cursor = page.next_cursor;
                if cursor.is_none() || resources.len() > MOST_CONTENTS {
                    break;
                }
            }
        }
        Ok(Contents::of(prompts, resources))
    }

    /// Reads a prompt by the server's own name, all its messages in order.
    pub async fn prompt(&self, name: &str, arguments: JsonObject) -> Result<Vec<Content>, CallError> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let prompt = self.peer.get_prompt(params).await.map_err(|error| self.refused(&error))?;
        Ok(content::parts(prompt.messages.into_iter().map(|message| message.content)))
    }

    /// Reads a resource.
    pub async fn resource(&self, uri: &str) -> Result<Vec<Content>, CallError> {
        let read = self.peer.read_resource(ReadResourceRequestParams::new(uri)).await;
        let read = read.map_err(|error| self.refused(&error))?;
        Ok(content::parts(read.contents.into_iter().map(ContentBlock::resource)))
    }

    fn refused(&self, error: &ServiceError) -> CallError {
        CallError::Refused(self.tail.masked(&service_error(error)))
    }

    /// Ends the connection and the server's process.
    pub async fn close(mut self) {
        if let Some(stop) = self.stop.take() {
            stop.cancel();
        }
        if let Some(process) = self.process.take() {
            process.end().await;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
        if let Some(stop) = self.stop.take() {
            stop.cancel();
        }
    }
}

/// Starts a server and speaks with it over its pipes.
async fn over_pipes(
    handler: Handler,
    start: &Start<'_>,
    tail: &StderrTail,
    revision: Option<&str>,
) -> Result<(Process, RunningService<RoleClient, Handler>, AbortHandle), String> {
    let started = Process::start(start, tail.clone());
    let (process, stdin, stdout) = started.map_err(|error| format!("cannot be started: {error}"))?;
    let (ours, theirs) = tokio::io::duplex(BETWEEN);
    let passing = tokio::spawn(lines::pass(stdout, theirs, lines::MOST_LINE)).abort_handle();
    let mut ended = process.ended.clone();
    let served = handler.serve_with_lifecycle((ours, stdin), mode(revision));
    let served = tokio::select! {
        served = served => Some(served),
        _ = ended.wait_for(Option::is_some) => None,
    };
    let error = match served {
        Some(Ok(service)) => return Ok((process, service, passing)),
        Some(Err(error)) => why_not(&error),
        None => String::new(),
    };
    // The status and standard error come a moment after the end of the output, and the other way round.
    drop(timeout(QUIET, ended.wait_for(Option::is_some)).await);
    tokio::time::sleep(QUIET).await;
    let status = *process.ended.borrow();
    Err(status.map_or(error, |status| format!("ended at its start ({status})")))
}

/// The handshake: the one of the revision that is known, or both in turn.
fn mode(revision: Option<&str>) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::LATEST];
    match revision {
        Some(known) if known == ProtocolVersion::LATEST.as_str() => {
            ClientLifecycleMode::Discover { preferred_versions }
        }
        Some(_) => ClientLifecycleMode::Initialize,
        None => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
    }
}

fn http(
    url: &str,
    headers: &[(String, secrecy::SecretString)],
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    // Fails only if a provider is installed already.
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let header =
            HeaderName::try_from(name.as_str()).map_err(|_| format!("{name:?} is no name of a header"))?;
        let mut value = HeaderValue::try_from(value.expose_secret())
            .map_err(|_| format!("the header {name:?} has characters that no header can have"))?;
        value.set_sensitive(true);
        custom.insert(header, value);
    }
    let client = reqwest::Client::builder()
        .connect_timeout(Duration::from_secs(10))
        // An idle connection may be closed by the server at any time.
        .pool_max_idle_per_host(0)
        .redirect(redirect::Policy::custom(|attempt| {
            // Headers may carry a key, which no other server must get.
            let is_same =
                attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
            if is_same && attempt.previous().len() < 5 { attempt.follow() } else { attempt.stop() }
        }))
        .user_agent(concat!("threadhold/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| error.to_string())?;
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(custom)
        .max_json_response_size(lines::MOST_LINE)
        .max_sse_event_size(lines::MOST_LINE);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Counts changes of the list of tools, which newer servers tell subscribers only.
async fn subscribe(peer: Peer<RoleClient>, lists: watch::Sender<u64>) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let Ok(mut changes) = peer.listen(filter).await else { return };
    while let Ok(Some(_)) = changes.next().await {
        lists.send_modify(|lists| *lists += 1);
    }
}

/// An error of the handshake, without the messages that it may hold.
fn why_not(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            "its answer to the handshake is none".to_owned()
        }
        ClientInitializeError::JsonRpcError(error) => format!("refused the handshake: {}", error.message),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => why_not(fallback),
        error => error.to_string(),
    }
}

fn service_error(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => error.message.to_string(),
        ServiceError::UnexpectedResponse => "its answer has another form than the protocol's".to_owned(),
        ServiceError::TransportClosed => "the connection ended".to_owned(),
        error => error.to_string(),
    }
}

/// The bytes of a tool as JSON.
fn size(tool: &rmcp::model::Tool) -> usize {
    serde_json::to_string(tool).map_or(0, |text| text.len())
}

/// The folder in which a server of this definition works, if it exists.
pub(crate) fn missing_folder(definition: &Definition) -> Option<&Path> {
    match &definition.launch {
        Launch::Command { cwd, .. } if !cwd.is_dir() => Some(cwd),
        _ => None,
    }
}
