//! Models that are asked over their own wires: their connections, their keys, and what they say on its way to a session.
//! What a session asks for, and what follows from an answer, is not here.

use super::inbox::{Event, Replied};
use super::main_loop::MainLoop;
use super::perform::Used;
use engine::delta::{Delta, Draft};
use engine::endpoint::{Endpoint, Wire};
use engine::id::SessionId;
use engine::prompt::request::{Failure, Request};
use models::address;
use models::remote::{Clients, Remote, Silence};
use models::scripted::Scripted;
use models::wire::Terms;
use models::{Model, ModelError, Said, known};
use protocol::model::{ModelPurpose, UsageSource};
use secrecy::SecretString;
use session::input::{Input, ModelCallId, Retry};
use session::settings::ModelFacts;
use std::collections::BTreeMap;
use std::time::Duration;

/// What is kept between calls.
#[derive(Default)]
pub(super) struct Models {
    /// Connections.
    clients: Clients,
    /// Keys that the client gave, by their names. They are nowhere else.
    keys: BTreeMap<String, SecretString>,
    /// Fixtures, by their paths: their answers are used up.
    scripted: BTreeMap<String, Scripted>,
}

impl Models {
    /// Takes a key, or forgets one.
    pub fn set_key(&mut self, name: String, key: Option<SecretString>) {
        match key {
            Some(key) => drop(self.keys.insert(name, key)),
            None => drop(self.keys.remove(&name)),
        }
    }

    /// The key of this name: what the client gave, else the environment's.
    fn key(&self, name: &str) -> Option<SecretString> {
        let given = self.keys.get(name).cloned();
        given.or_else(|| std::env::var(name).ok().filter(|key| !key.is_empty()).map(SecretString::from))
    }

    /// The model for one call. `is_read` is whether somebody reads what it says while it answers.
    fn model(
        &mut self,
        endpoint: &Endpoint,
        terms: Terms,
        silence: Silence,
        is_read: bool,
    ) -> Result<Box<dyn Model>, ModelError> {
        if endpoint.wire == Wire::Scripted {
            return Ok(Box::new(self.scripted(endpoint.base_url.as_deref())?));
        }
        let client = self.clients.of(endpoint)?;
        let key = endpoint.key_name().and_then(|name| self.key(name));
        if let Some(name) = endpoint.key_name().filter(|_| key.is_none() && endpoint.is_usual()) {
            let reason = format!("there is none: neither model/key nor the environment has {name}");
            return Err(ModelError::Auth { status: None, reason });
        }
        let remote = Remote::new(client, endpoint.clone(), key, terms, silence);
        Ok(Box::new(if is_read { remote } else { remote.unread() }))
    }

    fn scripted(&mut self, path: Option<&str>) -> Result<Scripted, ModelError> {
        let Some(path) = path else { return Ok(Scripted::echo()) };
        if !self.scripted.contains_key(path) {
            let fixture = Scripted::at(Some(path))?;
            self.scripted.insert(path.to_owned(), fixture);
        }
        Ok(self.scripted.get_mut(path).map(Scripted::take_next).unwrap_or_else(Scripted::echo))
    }
}

/// A call of a model that is to be made.
pub(super) struct Call {
    /// The session's name for it.
    pub call: ModelCallId,
    /// The model.
    pub model: ModelFacts,
    /// What its use is told with.
    pub used: Used,
    /// What it is asked.
    pub request: Request,
}

impl MainLoop {
    /// Asks a model over its own wire.
    pub(super) fn ask_remote(&mut self, id: &SessionId, endpoint: &Endpoint, asked: Call) {
        let Call { call, model, used, request } = asked;
        let Some(live) = self.live(id) else { return };
        let (settings, head) = (live.session.settings(), live.session.head());
        // The session's own deadline is the end of it; this one says why.
        let before = |ms: u64| Duration::from_millis(ms.saturating_sub(100).max(1));
        let first = before(settings.first_word_ms(&model));
        let silence = Silence { first, later: before(settings.model_deadline_ms) };
        let name = model.name.clone().unwrap_or_default();
        let terms = Terms {
            window: model.window,
            max_output: model.max_output.or_else(|| known::told_limit(endpoint.wire, &name)),
            model: name,
            tool_choice_none: model.tool_choice_none,
            images: model.images,
            cache_key: Some(format!("{id}.{}", head.generation.0)),
        };
        let made = self.models.model(endpoint, terms, silence, used.purpose == ModelPurpose::Turn);
        let endpoint = endpoint.clone();
        let (inbox, session) = (self.inbox.clone(), id.clone());
        let task = tokio::spawn(async move {
            // Some say what was used while they answer, some at the end.
            let mut used_so_far = Draft::default();
            let mut hear = |said| {
                if let Said::Delta(delta @ Delta::SetUsage(_)) = &said {
                    drop(used_so_far.fold(delta.clone()));
                }
                drop(inbox.send(Event::Said(session.clone(), call, said)));
            };
            let answer = match made {
                Ok(mut model) => {
                    let answer = model.answer(&request, &mut hear).await;
                    answer.map_err(|error| address::advised(error, &endpoint))
                }
                Err(error) => Err(Failure::from(error)),
            };
            let mut beside = used_so_far.beside;
            beside.merge_usage(answer.as_ref().ok().and_then(|answer| answer.usage));
            let replied = Replied { used, usage: beside.usage, answer };
            drop(inbox.send(Event::Replied(session, call, Box::new(replied))));
        });
        if let Some(live) = self.live(id) {
            live.remotes.insert(call, task.abort_handle());
        }
    }

    /// A model said a little more.
    pub(super) fn said(&mut self, id: &SessionId, call: ModelCallId, said: Said) {
        let input = match said {
            Said::Delta(delta) => Input::ModelDelta(call, delta),
            Said::Alive => Input::ModelAlive(call),
            Said::Retrying(again) => {
                let retry = Retry { attempt: again.attempt, delay_ms: again.delay_ms, reason: again.reason };
                Input::ModelRetries(call, retry)
            }
        };
        self.run_input(id, input);
    }

    /// A model is done.
    pub(super) fn replied(&mut self, id: &SessionId, call: ModelCallId, replied: Replied) {
        let Some(live) = self.live(id) else { return };
        if live.remotes.remove(&call).is_none() {
            return tracing::info!(session = %id, "an answer came late and was dropped");
        }
        if let Err(failure) = &replied.answer {
            tracing::warn!(session = %id, class = failure.cause.word, "a model did not answer: {}", failure.why);
        }
        if let Some(usage) = replied.usage {
            self.tell_usage(id, replied.used, usage.into(), UsageSource::Provider);
        }
        self.run_input(id, Input::ModelDone(call, replied.answer));
    }
}
