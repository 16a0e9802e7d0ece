//! Models called over their own wires: their connections, their keys, and the delivery of answers to
//! sessions. Sessions decide what to ask and what follows from an answer.

use crate::server::client::Used;
use crate::server::mailbox::Mailbox;
use crate::server::outside;
use crate::server::settings::Listed;
use engine::endpoint::options::HeaderValue;
use engine::endpoint::{Endpoint, Wire};
use engine::id::SessionId;
use engine::message::Usage;
use engine::prompt::request::{Answer, Failure, Request};
use models::listed::pages::ListedModel;
use models::remote::{Clients, Remote, StreamDeadlines};
use models::scripted::Scripted;
use models::used::UsageSoFar;
use models::wire::Terms;
use models::{Model, ModelError, Progress, known};
use models::{address, check};
use secrecy::SecretString;
use session::Session;
use session::input::{Input, ModelCallId, Retry};
use session::settings::ModelFacts;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::task::AbortHandle;

/// The deadline for a provider's list of models.
const LIST_DEADLINE: Duration = Duration::from_secs(30);

/// The deadline for a provider's count of a prompt: its user waits.
const COUNT_DEADLINE: Duration = Duration::from_secs(10);

/// The deadline for the answer to a check: its user waits.
const CHECK_DEADLINE: Duration = Duration::from_secs(30);

/// Why a provider did not answer, for people.
pub(in crate::server) struct Explained {
    /// The class of the error.
    pub class: &'static str,
    /// The error.
    pub message: String,
    /// What a person can do about it.
    pub advice: String,
}

/// Connections, keys and fixtures, which are kept between calls.
pub(in crate::server) struct Models {
    mailbox: Mailbox<ModelEvent>,
    /// What providers list of models, with the receiver of changes.
    listed: Option<(Listed, Mailbox<()>)>,
    clients: Clients,
    /// Keys that the client gave, by name. They are kept nowhere else.
    keys: BTreeMap<String, SecretString>,
    /// Fixtures, by their paths: their answers are used up.
    scripted: BTreeMap<String, Scripted>,
}

/// An event of a model for a call of a session.
pub(in crate::server) struct ModelEvent {
    /// The session.
    pub session: SessionId,
    /// The session's id of the call.
    pub call: ModelCallId,
    /// The answer, or a piece of it.
    pub what: ModelEventKind,
}

/// The kinds of [`ModelEvent`].
pub(in crate::server) enum ModelEventKind {
    /// A piece of the answer.
    Progress(Progress),
    /// The end of the call.
    Replied(Box<Replied>),
}

/// The outcome of a call.
pub(in crate::server) struct Replied {
    /// The request, for `model/usage`.
    pub used: Used,
    /// Tokens used, as far as the provider reported them.
    pub usage: Option<Usage>,
    /// The answer, or why there is none.
    pub answer: Result<Answer, Failure>,
}

impl Models {
    pub fn new(mailbox: Mailbox<ModelEvent>) -> Self {
        let (keys, scripted) = (BTreeMap::new(), BTreeMap::new());
        Self { mailbox, listed: None, clients: Clients::default(), keys, scripted }
    }

    /// Keeps what providers list of models in `listed`, and sends a message when that changes.
    pub fn list_into(&mut self, listed: Listed, changed: Mailbox<()>) {
        self.listed = Some((listed, changed));
    }

    /// Sets a key, or removes it.
    pub fn set_key(&mut self, name: String, key: Option<SecretString>) {
        match key {
            Some(key) => drop(self.keys.insert(name, key)),
            None => drop(self.keys.remove(&name)),
        }
    }

    /// The key of this name: the client's, else the environment's.
    pub fn key(&self, name: &str) -> Option<SecretString> {
        let given = self.keys.get(name).cloned();
        given.or_else(|| outside::key(name))
    }

    /// The model for one call.
    fn model(
        &mut self,
        endpoint: &Endpoint,
        terms: Terms,
        silence: StreamDeadlines,
    ) -> Result<Box<dyn Model>, ModelError> {
        if endpoint.wire == Wire::Scripted {
            return Ok(Box::new(self.scripted(endpoint.base_url.as_deref())?));
        }
        let remote = self.remote(endpoint, terms.clone(), silence)?;
        if let Some((listed, changed)) = self.listed.clone()
            && let Some(question) = listed.due(endpoint, &terms.model)
        {
            // A model of its own, because the call takes the other one.
            let asking = self.remote(endpoint, terms, LIST_DEADLINE.into())?;
            tokio::spawn(async move {
                let limits = asking.listed_limits().await;
                if let Err(error) = &limits {
                    tracing::info!(%error, "the limits of a model could not be looked up");
                }
                if listed.tell(question, limits.ok()) {
                    changed.send(());
                }
            });
        }
        Ok(Box::new(remote))
    }

    fn remote(
        &mut self,
        endpoint: &Endpoint,
        terms: Terms,
        silence: StreamDeadlines,
    ) -> Result<Remote, ModelError> {
        let client = self.clients.of(endpoint)?;
        let key = endpoint.key_name().and_then(|name| self.key(name));
        if let Some(name) = endpoint.key_name().filter(|_| key.is_none() && endpoint.is_usual()) {
            let reason = format!("it is missing: neither model/key nor the environment has {name}");
            return Err(ModelError::Auth { status: None, reason });
        }
        let mut keyed = Vec::new();
        for (header, value) in &endpoint.options.extra_headers {
            let HeaderValue::Key { key_env } = value else { continue };
            let missing = || {
                let reason = format!(
                    "the key of {header} is missing: neither model/key nor the environment has {key_env}"
                );
                ModelError::Auth { status: None, reason }
            };
            keyed.push((header.clone(), self.key(key_env).ok_or_else(missing)?));
        }
        let model = Remote::new(client, endpoint.clone(), key, terms, silence);
        Ok(model.with_keys(keyed).with_sockets(self.clients.sockets()))
    }

    fn scripted(&mut self, path: Option<&str>) -> Result<Scripted, ModelError> {
        let Some(path) = path else { return Ok(Scripted::echo()) };
        if !self.scripted.contains_key(path) {
            let fixture = Scripted::at(Some(path))?;
            self.scripted.insert(path.to_owned(), fixture);
        }
        Ok(self.scripted.get_mut(path).map(Scripted::take_next).unwrap_or_else(Scripted::echo))
    }

    /// The facts of an endpoint that advice depends on.
    fn asked(&self, endpoint: &Endpoint) -> check::Asked {
        let has_key = endpoint.key_name().is_some_and(|name| self.key(name).is_some());
        check::Asked::of(endpoint, has_key, false)
    }

    /// Asks a provider for its list of models, and passes on what came of it.
    pub fn list(
        &mut self,
        endpoint: &Endpoint,
        answer: impl FnOnce(Result<Vec<ListedModel>, Explained>) + Send + 'static,
    ) {
        let asked = self.asked(endpoint);
        let terms = terms(&ModelFacts::default(), endpoint.wire, None);
        let made = self.remote(endpoint, terms, LIST_DEADLINE.into());
        tokio::spawn(async move {
            let listed = match made {
                Ok(remote) => remote.listed_models().await,
                Err(error) => Err(error.into()),
            };
            answer(listed.map_err(|no_list| Explained {
                class: no_list.class(),
                message: no_list.to_string(),
                advice: asked.advice_without_list(&no_list),
            }));
        });
    }

    /// Asks a model one small question, without retries, and passes on what came of it: the input tokens that the provider
    /// counted, if it counted any, or why there is no answer.
    pub fn check(
        &mut self,
        facts: &ModelFacts,
        endpoint: &Endpoint,
        answer: impl FnOnce(Result<Option<u32>, Explained>) + Send + 'static,
    ) {
        let asked = self.asked(endpoint);
        let made: Result<Box<dyn Model>, ModelError> = match endpoint.wire {
            Wire::Scripted => Scripted::at(endpoint.base_url.as_deref()).map(|model| Box::new(model) as _),
            _ => {
                let terms = terms(facts, endpoint.wire, None);
                let remote = self.remote(endpoint, terms, CHECK_DEADLINE.into());
                remote.map(|remote| Box::new(remote.without_retries()) as _)
            }
        };
        tokio::spawn(async move {
            let answered = match made {
                Ok(mut model) => check::ask(&mut *model).await,
                Err(error) => Err(error),
            };
            answer(answered.map_err(|error| Explained {
                class: error.class(),
                message: error.to_string(),
                advice: asked.advice(&error),
            }));
        });
    }

    /// Starts a call over the model's own wire. Aborting the handle ends it.
    pub fn ask(&mut self, session: &Session, endpoint: &Endpoint, asked: Call) -> AbortHandle {
        let Call { call, model, used, count_up_to, request } = asked;
        let (settings, head) = (session.settings(), session.head());
        // A little earlier than the session's own deadline, and with a reason.
        let before = |ms: u64| Duration::from_millis(ms.saturating_sub(100).max(1));
        let first = before(settings.first_word_ms(&model));
        let silence = StreamDeadlines { first, later: before(settings.model_deadline_ms) };
        let cache_key = format!("{}.{}", head.id, head.generation.0);
        let terms = terms(&model, endpoint.wire, Some(cache_key));
        let made = self.model(endpoint, terms, silence);
        let (endpoint, mailbox, id) = (endpoint.clone(), self.mailbox.clone(), head.id.clone());
        let task = tokio::spawn(async move {
            let tell = |what| mailbox.send(ModelEvent { session: id.clone(), call, what });
            let mut used_so_far = UsageSoFar::default();
            let mut hear = |said| {
                used_so_far.hear(&said);
                tell(ModelEventKind::Progress(said));
            };
            let answer = match made {
                Ok(mut model) => match too_many(&mut *model, &request, count_up_to).await {
                    Some(counted) => Err(Failure { counted: Some(counted), ..Failure::default() }),
                    None => {
                        let answer = model.answer(&request, &mut hear).await;
                        answer.map_err(|error| address::advised(error, &endpoint))
                    }
                },
                Err(error) => Err(Failure::from(error)),
            };
            let usage = used_so_far.with(answer.as_ref().ok().and_then(|answer| answer.usage));
            tell(ModelEventKind::Replied(Box::new(Replied { used, usage, answer })));
        });
        task.abort_handle()
    }
}

/// The terms of a call.
fn terms(model: &ModelFacts, wire: Wire, cache_key: Option<String>) -> Terms {
    let name = model.name.clone().unwrap_or_default();
    Terms {
        window: model.window,
        max_output: model.max_output.or_else(|| known::told_limit(wire, &name)),
        model: name,
        tool_choice_none: model.tool_choice_none,
        images: model.images,
        cache_key,
    }
}

/// The provider's count of a request, if it is larger than `most`. A request that cannot be counted is sent.
async fn too_many(model: &mut dyn Model, request: &Request, most: Option<u32>) -> Option<u32> {
    let most = most?;
    match tokio::time::timeout(COUNT_DEADLINE, model.count_tokens(request)).await {
        Ok(Ok(counted)) => counted.filter(|counted| *counted > most),
        Ok(Err(error)) => {
            tracing::info!(%error, "a prompt could not be counted by its provider");
            None
        }
        Err(_) => {
            tracing::info!("a prompt was not counted by its provider in {COUNT_DEADLINE:?}");
            None
        }
    }
}

/// A model call to make.
pub(in crate::server) struct Call {
    /// The session's id of the call.
    pub call: ModelCallId,
    /// The model.
    pub model: ModelFacts,
    /// The request, for `model/usage`.
    pub used: Used,
    /// See [`session::effect::AskModel::count_up_to`].
    pub count_up_to: Option<u32>,
    /// The request to the model.
    pub request: Request,
}

/// Converts a piece of an answer to an input.
pub(in crate::server) fn input(call: ModelCallId, said: Progress) -> Input {
    match said {
        Progress::Delta(delta) => Input::ModelDelta(call, delta),
        Progress::Alive => Input::ModelAlive(call),
        Progress::Retrying(again) => {
            let retry = Retry { attempt: again.attempt, delay_ms: again.delay_ms, reason: again.reason };
            Input::ModelRetries(call, retry)
        }
    }
}
