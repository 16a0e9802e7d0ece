//! Requests about models that concern no session: their keys, and a check of one.

use crate::server::router::Router;
use crate::server::services::models::Checked;
use crate::server::settings::model_facts;
use crate::server::wire::to_value;
use ::session::input::ReplyTo;
use models::address;
use protocol::error::ProtocolError;
use protocol::model::{ModelCheckParams, ModelCheckResult, ModelKeyParams, ModelKeyResult, ModelProblem};
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
    router.answer(to, to_value(&ModelKeyResult {}));
    Ok(())
}

/// Asks a model one small question.
pub(super) fn check(
    router: &mut Router,
    to: ReplyTo,
    params: &ModelCheckParams,
) -> Result<(), ProtocolError> {
    let facts = model_facts(&params.model)?;
    let Some(endpoint) = &facts.endpoint else {
        let reason = "must be given: a model without it is called by the client itself";
        return Err(ProtocolError::invalid("model.wire", reason));
    };
    let pending = router.replies.pending(to, &router.hosts);
    router.models.check(&facts, endpoint, move |checked| {
        pending.answer(to_value(&result(checked)));
    });
    Ok(())
}

fn result(checked: Checked) -> ModelCheckResult {
    match checked {
        Ok(input_tokens) => ModelCheckResult { problem: None, input_tokens },
        Err(failure) => {
            let (class, message) = (failure.error.class().to_owned(), failure.error.to_string());
            let problem = ModelProblem { class, message, advice: failure.advice };
            ModelCheckResult { problem: Some(problem), input_tokens: None }
        }
    }
}
