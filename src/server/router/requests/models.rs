//! Requests about models that concern no session: their keys, a check of one, and what a provider lists.

use crate::server::router::Router;
use crate::server::services::models::Explained;
use crate::server::settings::{model_endpoint, model_facts};
use crate::server::wire::to_json;
use ::session::input::ReplyTo;
use engine::endpoint::{Endpoint, Wire};
use models::address;
use models::listed::pages;
use protocol::context::WindowSource;
use protocol::error::ProtocolError;
use protocol::model::{
    ListedModel, ModelCheckParams, ModelCheckResult, ModelKeyParams, ModelKeyResult, ModelListParams,
    ModelListResult, ModelProblem,
};
use secrecy::SecretString;

/// Sets a key, or forgets it.
pub(super) fn set_key(router: &mut Router, to: ReplyTo, params: ModelKeyParams) -> Result<(), ProtocolError> {
    if !address::is_key_name(&params.name) {
        let reason = "must be the name of a key: letters, digits and underscores";
        return Err(ProtocolError::invalid("name", reason));
    }
    let key = params.value.map(|key| SecretString::from(key.0));
    router.stores.key_given(&params.name, key.clone());
    router.models.set_key(params.name, key);
    router.answer(to, to_json(&ModelKeyResult {}));
    Ok(())
}

/// Asks a model one small question.
pub(super) fn check(
    router: &mut Router,
    to: ReplyTo,
    params: &ModelCheckParams,
) -> Result<(), ProtocolError> {
    let facts = model_facts(&params.model)?;
    let endpoint = called(facts.endpoint.as_ref())?;
    let pending = router.replies.pending(to, &router.hosts);
    router.models.check(&facts, endpoint, move |checked| {
        pending.answer(to_json(&match checked {
            Ok(input_tokens) => ModelCheckResult { problem: None, input_tokens },
            Err(explained) => ModelCheckResult { problem: Some(problem(explained)), input_tokens: None },
        }));
    });
    Ok(())
}

/// Asks a provider which models it lists.
pub(super) fn list(router: &mut Router, to: ReplyTo, params: &ModelListParams) -> Result<(), ProtocolError> {
    let endpoint = model_endpoint(&params.model)?;
    let endpoint = called(endpoint.as_ref())?;
    if endpoint.wire == Wire::Scripted {
        let reason = "must be the wire of a provider: scripted has no list of models";
        return Err(ProtocolError::invalid("model.wire", reason));
    }
    let pending = router.replies.pending(to, &router.hosts);
    router.models.list(endpoint, move |listed| {
        pending.answer(to_json(&match listed {
            Ok(models) => ModelListResult { models: models.into_iter().map(shown).collect(), problem: None },
            Err(explained) => ModelListResult { models: Vec::new(), problem: Some(problem(explained)) },
        }));
    });
    Ok(())
}

/// The endpoint of a model that the sidecar calls itself.
fn called(endpoint: Option<&Endpoint>) -> Result<&Endpoint, ProtocolError> {
    let reason = "must be given: a model without it is called by the client itself";
    endpoint.ok_or_else(|| ProtocolError::invalid("model.wire", reason))
}

fn shown(model: pages::ListedModel) -> ListedModel {
    let pages::ListedModel { name, label, window, is_listed } = model;
    let source = if is_listed { WindowSource::Provider } else { WindowSource::Table };
    ListedModel { name, label, window, window_source: window.map(|_| source) }
}

fn problem(explained: Explained) -> ModelProblem {
    let Explained { class, message, advice } = explained;
    ModelProblem { class: class.to_owned(), message, advice }
}
