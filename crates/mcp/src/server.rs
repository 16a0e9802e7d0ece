//! A server: started at its first use, started again after its end, with growing pauses while it fails.

use crate::calls::Caller;
use crate::connection::{CONNECT, CallError, Connection, missing_folder};
use crate::contents::Contents;
use crate::definition::Definition;
use crate::listing::Listing;
use engine::message::{Content, ToolResult};
use rmcp::model::JsonObject;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::time::{Instant, timeout, timeout_at};

/// The longest pause between two starts.
const MOST_PAUSE: Duration = Duration::from_secs(60);

/// The longest time that the end of a server may take; its process group is killed then.
const MOST_END: Duration = Duration::from_secs(2);
/// The reason of a server that was ended.
const WAS_ENDED: &str = "the server was ended";

/// The state of a server's connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Not started yet, or ended by us.
    Off,
    /// Being started.
    Connecting,
    /// Connected, its tools listed.
    Ready,
    /// Could not be started, or ended; the reason.
    Failed(String),
}

/// The known facts about a server.
#[derive(Debug, Clone)]
pub struct Status {
    /// The state of the connection.
    pub phase: Phase,
    /// The revision of the protocol that it speaks, once known.
    pub revision: Option<String>,
    /// The tools as last listed.
    pub listing: Arc<Listing>,
    /// `true` once tools were listed.
    pub is_listed: bool,
}

/// A server. Calls may run side by side; starts take turns.
pub struct Server {
    definition: Definition,
    /// `true` if the user can be asked.
    asks: bool,
    status: Mutex<Status>,
    runs: AsyncMutex<Runs>,
    /// `true` once it is to be ended: a start under way is given up.
    ending: watch::Sender<bool>,
    /// Callback after each change of the status.
    changed: Box<dyn Fn() + Send + Sync>,
}

/// The connection, and the starts that led to it.
#[derive(Default)]
struct Runs {
    connection: Option<Arc<Connection>>,
    /// Starts and runs that failed since the last answer.
    failures: u32,
    /// Before this, it is not started again.
    not_before: Option<Instant>,
}

impl Server {
    /// A server that is not started. `asks`: it may ask the user. `changed` is called after each change of its status,
    /// from any thread.
    pub fn new(definition: Definition, asks: bool, changed: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        let status = Status { phase: Phase::Off, revision: None, listing: Arc::default(), is_listed: false };
        let (status, changed) = (Mutex::new(status), Box::new(changed));
        Arc::new(Self {
            definition,
            asks,
            status,
            runs: AsyncMutex::default(),
            ending: watch::Sender::new(false),
            changed,
        })
    }

    /// The definition that it was made with.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// The status now.
    pub fn status(&self) -> Status {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tell(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner));
        (self.changed)();
    }

    /// Starts it unless it runs. Returns once its tools are listed; the error is the reason why it does not run.
    pub async fn start(self: &Arc<Self>) -> Result<(), String> {
        self.connected().await.map(drop)
    }

    async fn connected(self: &Arc<Self>) -> Result<Arc<Connection>, String> {
        let mut runs = self.runs.lock().await;
        if let Some(connection) = runs.connection.as_ref().filter(|connection| connection.is_open()) {
            return Ok(connection.clone());
        }
        if *self.ending.borrow() {
            return Err(WAS_ENDED.to_owned());
        }
        if let Some(left) = runs.not_before.and_then(|then| then.checked_duration_since(Instant::now())) {
            let why = match self.status().phase {
                Phase::Failed(why) => why,
                _ => String::new(),
            };
            return Err(format!("{why}; it can be started again in {} s", left.as_secs() + 1));
        }
        runs.connection = None;
        self.tell(|status| status.phase = Phase::Connecting);
        let known = self.status().revision;
        let mut ending = self.ending.subscribe();
        // A start that is dropped ends its process.
        let opened = tokio::select! {
            opened = self.open(known.as_deref()) => opened,
            _ = ending.wait_for(|ending| *ending) => Err(WAS_ENDED.to_owned()),
        };
        match opened {
            Ok((connection, listing)) => {
                let connection = Arc::new(connection);
                runs.connection = Some(connection.clone());
                self.watch(&connection);
                self.tell(|status| {
                    status.phase = Phase::Ready;
                    status.revision = Some(connection.revision().to_owned());
                    status.listing = Arc::new(listing);
                    status.is_listed = true;
                });
                Ok(connection)
            }
            Err(why) => {
                runs.failed();
                self.tell(|status| {
                    status.phase = Phase::Failed(why.clone());
                    // It may have been replaced by a version that speaks another one.
                    status.revision = None;
                });
                Err(why)
            }
        }
    }

    async fn open(&self, revision: Option<&str>) -> Result<(Connection, Listing), String> {
        if let Some(folder) = missing_folder(&self.definition) {
            return Err(format!("its working directory {} does not exist", folder.display()));
        }
        let deadline = Instant::now() + CONNECT;
        let connection = Connection::open(&self.definition, revision, self.asks).await?;
        let listed = timeout_at(deadline, connection.tools(&self.definition)).await;
        match listed.unwrap_or_else(|_| Err("did not list its tools in time".to_owned())) {
            Ok(listing) => Ok((connection, listing)),
            Err(why) => {
                connection.close().await;
                Err(why)
            }
        }
    }

    /// Notices the end of a connection, and changes of its tools.
    fn watch(self: &Arc<Self>, connection: &Arc<Connection>) {
        let (server, connection) = (Arc::downgrade(self), Arc::downgrade(connection));
        let Some((closed, mut lists)) = connection.upgrade().map(|of| (of.closed(), of.lists())) else {
            return;
        };
        lists.mark_unchanged();
        tokio::spawn(async move {
            tokio::pin!(closed);
            loop {
                tokio::select! {
                    () = &mut closed => break,
                    changed = lists.changed() => if changed.is_err() {
                        break;
                    },
                }
                let (Some(server), Some(connection)) = (server.upgrade(), connection.upgrade()) else {
                    return;
                };
                // A list that cannot be read leaves the one that is known.
                if let Ok(listing) = connection.tools(&server.definition).await
                    && *server.status().listing != listing
                {
                    server.tell(|status| status.listing = Arc::new(listing));
                }
            }
            let (Some(server), Some(connection)) = (server.upgrade(), connection.upgrade()) else { return };
            let why = connection.end_reason().await;
            let mut runs = server.runs.lock().await;
            if *server.ending.borrow()
                || !runs.connection.as_ref().is_some_and(|now| Arc::ptr_eq(now, &connection))
            {
                return;
            }
            runs.connection = None;
            runs.failed();
            server.tell(|status| status.phase = Phase::Failed(why));
        });
    }

    /// Calls a tool by its name for models; starts the server first if it does not run. Dropped, the call is cancelled.
    pub async fn call(
        self: &Arc<Self>,
        name: &str,
        arguments: &str,
        caller: Caller,
    ) -> Result<ToolResult, CallError> {
        let arguments = self.arguments(arguments)?;
        let connection = self.connected().await.map_err(|why| self.not_running(&why))?;
        let listing = self.status().listing;
        let Some(own) = listing.names.get(name) else {
            let server = &self.definition.name;
            return Err(CallError::NotSent(format!("the server {server:?} no longer has the tool {name}")));
        };
        let done = connection.call(own, arguments, self.definition.timeout, caller).await;
        match &done {
            Err(CallError::Late(_)) => self.check(connection),
            Err(CallError::Ended(_)) => {}
            Ok(_) | Err(CallError::Refused(_) | CallError::NotSent(_)) => {
                self.runs.lock().await.failures = 0;
            }
        }
        done
    }

    /// Lists its prompts and resources; starts it first if it does not run. The error is the reason why there are none.
    pub async fn contents(self: &Arc<Self>) -> Result<Contents, String> {
        let connection = self.connected().await?;
        let listed = timeout(self.definition.timeout, connection.contents()).await;
        listed.unwrap_or_else(|_| Err("did not list its prompts and resources in time".to_owned()))
    }

    /// Reads a prompt as content of a message; starts it first if it does not run.
    pub async fn prompt(
        self: &Arc<Self>,
        name: &str,
        arguments: BTreeMap<String, String>,
    ) -> Result<Vec<Content>, CallError> {
        let arguments = arguments.into_iter().map(|(name, value)| (name, value.into())).collect();
        self.read(async |connection| connection.prompt(name, arguments).await).await
    }

    /// Reads a resource; starts the server first if it does not run.
    pub async fn resource(self: &Arc<Self>, uri: &str) -> Result<Vec<Content>, CallError> {
        self.read(async |connection| connection.resource(uri).await).await
    }

    async fn read(
        self: &Arc<Self>,
        reads: impl AsyncFnOnce(&Connection) -> Result<Vec<Content>, CallError>,
    ) -> Result<Vec<Content>, CallError> {
        let connection = self.connected().await.map_err(|why| self.not_running(&why))?;
        let read = timeout(self.definition.timeout, reads(&connection)).await;
        let late = || format!("no answer within {} s", self.definition.timeout.as_secs_f32());
        read.unwrap_or_else(|_| Err(CallError::Late(late())))
    }

    fn not_running(&self, why: &str) -> CallError {
        CallError::NotSent(format!("the server {:?} does not run: {why}", self.definition.name))
    }

    /// Ends a server that no longer answers anything, so that the next use starts it again.
    fn check(self: &Arc<Self>, connection: Arc<Connection>) {
        let server = self.clone();
        tokio::spawn(async move {
            if connection.answers().await {
                return;
            }
            let mut runs = server.runs.lock().await;
            if !runs.connection.as_ref().is_some_and(|now| Arc::ptr_eq(now, &connection)) {
                return;
            }
            runs.connection = None;
            runs.failed();
            let why = "the server answered nothing any more and was ended".to_owned();
            server.tell(|status| status.phase = Phase::Failed(why));
            drop(runs);
            if let Some(connection) = Arc::into_inner(connection) {
                connection.close().await;
            }
        });
    }

    fn arguments(&self, text: &str) -> Result<JsonObject, CallError> {
        let text = if text.trim().is_empty() { "{}" } else { text };
        engine::text::json::read(text)
            .map_err(|error| CallError::NotSent(format!("the arguments must be a JSON object: {error}")))
    }

    /// Ends it for good, within two seconds.
    pub async fn close(&self) {
        self.ending.send_replace(true);
        let closes = async {
            let connection = self.runs.lock().await.connection.take();
            if let Some(connection) = connection.and_then(Arc::into_inner) {
                connection.close().await;
            }
        };
        // A connection that is dropped kills its process group.
        drop(timeout(MOST_END, closes).await);
        self.tell(|status| status.phase = Phase::Off);
    }
}

impl Runs {
    /// The first failure after an answer costs no pause: a server that was killed comes back at once.
    fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
        let pause = match self.failures {
            0 | 1 => Duration::ZERO,
            more => Duration::from_secs(1 << (more - 2).min(6)).min(MOST_PAUSE),
        };
        self.not_before = Some(Instant::now() + pause);
    }
}
